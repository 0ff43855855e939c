"""`joulewise verify`: hold stored results against their study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.codes import OUR_FAULT
from joulewise.cli.output import AsJson, FolderPath, note, print_json, print_table, progress

if TYPE_CHECKING:
    from joulewise.study import Verdict, Verification

TrustedCode = Annotated[
    Path | None,
    typer.Option(
        "--trust-code",
        metavar="FOLDER",
        help="Take the study's files from this folder and run code that they hold. Without it, no code is run.",
        show_default=False,
    ),
]


def verify(folder: FolderPath, code: TrustedCode = None, as_json: AsJson = False) -> None:
    """Check stored results against their study.

    Worlds are made and runs are computed again, proofs of bounds are checked, and every column is compared but for
    those that measure the computer.
    """
    from joulewise.study import to_verify

    work = to_verify(folder, code)
    if not as_json:
        note(_what_comes(work))
    with progress("Verifying", quiet=as_json) as move:
        verdicts = work.verdicts(move)
    if as_json:
        print_json([vars(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    if any(verdict.problems for verdict in verdicts):
        raise typer.Exit(OUR_FAULT)


def _what_comes(work: Verification) -> str:
    """What is computed again, and how long that takes."""
    from joulewise.units import count, noun, roughly

    n = len(work.again)
    took = f"; {noun(n, 'it', 'they')} took {roughly(work.seconds)}" if n else ""
    return f"Computing {count(n, 'run')} of {len(work.stored):,} again{took}."


def _show(verdicts: list[Verdict]) -> None:
    from joulewise.study.case import NOT_CHECKED
    from joulewise.units import noun

    unchecked = [verdict for verdict in verdicts if any(line.startswith(NOT_CHECKED) for line in verdict.notes)]
    holds = {False: ("holds",), True: ()}
    rows = [
        {
            "run": verdict.run[:12],
            "what": verdict.title,
            "verdict": "; ".join((*(verdict.problems or holds[verdict in unchecked]), *verdict.notes)),
        }
        for verdict in verdicts
    ]
    n, n_stored = len(verdicts), sum(verdict.has_records for verdict in verdicts)
    n_whole = sum(not verdict.problems and verdict not in unchecked for verdict in verdicts)
    print_table(f"{n_whole} of {n} {noun(n, 'run holds', 'runs hold')}", rows)
    print(f"{n_stored} of {n} {noun(n, 'run has', 'runs have')} stored detail tables, which were compared as well.")
