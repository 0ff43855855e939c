"""`joulewise schema`: the JSON schema of study files, for editors."""

from __future__ import annotations

from joulewise.cli.output import print_json


def schema() -> None:
    """Print the JSON schema of study files.

    Editors complete and check studies with it.
    """
    from joulewise.study.schema import json_schema

    print_json(json_schema())
