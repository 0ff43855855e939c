"""`joulewise list`: what there is to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from joulewise.cli.output import AsJson, print_json, print_table


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="kinds, policies, job-policies, methods, generators, figures, experiments, kernels, keys, "
            "plan-sections, plan-keys, columns, words, rules or values.",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List policies, generators, figures, ..."""
    from joulewise.cli.catalogue import KINDS, SHORT
    from joulewise.errors import InputError, unknown_name

    if kind and kind not in KINDS:
        raise InputError(unknown_name("list", kind, KINDS))
    found = {name: [entry.row for entry in KINDS[name]()] for name in ([kind] if kind else SHORT)}
    if as_json:
        print_json(found)
        return
    for name, rows in found.items():
        print_table(name, rows)
    if not kind:
        others = ", ".join(name for name in KINDS if name not in SHORT)
        print(f"`joulewise explain NAME` tells more about one; `joulewise list KIND` also has {others}.")
