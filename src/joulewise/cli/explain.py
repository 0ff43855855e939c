"""`joulewise explain`: one policy, key of a study or a plan, output column, generator, kernel or figure in full."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, print_json


def explain(
    name: Annotated[str, typer.Argument(help="A policy, section or key of a study or plan, output column, word.")],
    as_json: AsJson = False,
) -> None:
    """Explain a policy, a key, a column or another name."""
    from joulewise.cli.catalogue import lists
    from joulewise.errors import InputError, unknown_name

    entries = [entry for entries in lists().values() for entry in entries()]
    meant = [entry for entry in entries if name in entry.names]
    if not meant:
        problem = unknown_name("explain", name, sorted({each for entry in entries for each in entry.names}))
        raise InputError(
            replace(problem, found=f"nothing is called {name!r}", allowed="`joulewise list` names what there is")
        )
    if as_json:
        print_json([{"kind": entry.kind, **entry.facts} for entry in meant])
        return
    for number, entry in enumerate(meant):
        print("\n" * (number > 0) + f"{entry.names[0]} ({entry.kind})")
        for fact, value in entry.facts.items():
            if value not in ("", None):
                print(fill(f"{fact}: {value}", width=100, initial_indent="  ", subsequent_indent="    "))
