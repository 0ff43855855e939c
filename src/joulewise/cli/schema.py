"""`joulewise schema`: the JSON schema of study files, for editors."""

from __future__ import annotations

from joulewise.cli.output import note, print_json


def schema() -> None:
    """Print the JSON schema of study files.

    Editors complete and check studies with it.
    """
    from joulewise.study.kinds.systems import installed
    from joulewise.study.parsing.schema import json_schema

    print_json(json_schema())
    for problem in installed().problems:
        note(f"Left out: {problem}")
