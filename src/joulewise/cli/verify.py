"""`joulewise verify`: hold stored results against their study."""

from __future__ import annotations

import typer

from joulewise.cli.codes import OUR_FAULT
from joulewise.cli.output import AsJson, FolderPath, print_json, print_table, progress


def verify(folder: FolderPath, as_json: AsJson = False) -> None:
    """Check stored results against their study.

    Worlds are made again, every stored allocation is checked, runs without one are computed again, and
    utilities, energies, percentages and bounds are computed a second time.
    """
    from joulewise.study import verify as judge
    from joulewise.study.case import NOT_CHECKED

    with progress("Verifying", quiet=as_json) as move:
        verdicts = judge(folder, move)
    broken = [verdict for verdict in verdicts if verdict.problems]
    unchecked = [verdict for verdict in verdicts if any(note.startswith(NOT_CHECKED) for note in verdict.notes)]
    if as_json:
        print_json([vars(verdict) for verdict in verdicts])
    else:
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
        runs_hold, runs_have = ("run holds", "run has") if n == 1 else ("runs hold", "runs have")
        print_table(f"{n - len(broken) - len(unchecked)} of {n} {runs_hold}", rows)
        others = "; the others were computed again" if n_stored < n else ""
        print(f"{n_stored} of {n} {runs_have} stored allocations{others}.")
    if broken:
        raise typer.Exit(OUR_FAULT)
