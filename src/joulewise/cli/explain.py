"""`joulewise explain`: one policy, key of a study or a plan, output column, generator, kernel or figure in full."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, print_json


def explain(
    name: Annotated[str, typer.Argument(help="A policy, key of a study or a plan, output column, generator, ...")],
    as_json: AsJson = False,
) -> None:
    """Explain a policy, key, column, ..."""
    from joulewise.cli.catalogue import KINDS
    from joulewise.errors import InputError, unknown_name

    entries = [entry for entries in KINDS.values() for entry in entries()]
    found = [entry for entry in entries if name in entry.names]
    if not found:
        problem = unknown_name("explain", name, sorted({known for entry in entries for known in entry.names}))
        raise InputError(
            replace(problem, found=f"nothing is called {name!r}", allowed="`joulewise list` names what there is")
        )
    if as_json:
        print_json([{"kind": entry.kind, **entry.facts} for entry in found])
        return
    for number, entry in enumerate(found):
        print("\n" * (number > 0) + f"{entry.names[0]} ({entry.kind})")
        for fact, value in entry.facts.items():
            if value not in ("", None):
                print(fill(f"{fact}: {value}", width=100, initial_indent="  ", subsequent_indent="    "))
