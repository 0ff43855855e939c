"""`joulewise list`: what there is to choose from."""

from __future__ import annotations

from textwrap import fill
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, print_json, print_table


def list_(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="One list in full; a plain `joulewise list` names them all."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List policies, generators, figures and what else there is."""
    from joulewise.cli.catalogue import lists, short_lists
    from joulewise.errors import InputError, unknown_name

    offered, short = lists(), short_lists()
    if kind and kind not in offered:
        raise InputError(unknown_name("list", kind, offered))
    listed = {name: [entry.row for entry in offered[name]()] for name in ([kind] if kind else short)}
    if as_json:
        print_json(listed)
        return
    for name, rows in listed.items():
        print_table(name, rows)
    if not kind:
        others = ", ".join(name for name in offered if name not in short)
        more = f"`joulewise explain NAME` tells more about one; `joulewise list KIND` also has {others}."
        print(fill(more, 100, break_on_hyphens=False))
