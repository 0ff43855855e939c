"""`joulewise verify`: hold stored results against their study."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.codes import NOT_ALL_CHECKED, OUR_FAULT, SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, FolderPath, note, print_json, print_table, progress, say

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
StudyFiles = Annotated[
    Path | None,
    typer.Option(
        "--files",
        metavar="FOLDER",
        help="Take the study's files from this folder; else only from below the current folder or the results.",
        show_default=False,
    ),
]


def verify(folder: FolderPath, code: TrustedCode = None, files: StudyFiles = None, as_json: AsJson = False) -> None:
    """Check stored results against their study.

    Worlds are made and runs are computed again, proofs of bounds are checked, and every column is compared but for
    those that measure the computer.
    """
    from joulewise.study import to_verify

    work = to_verify(folder, code, files)
    if not as_json:
        note(_what_comes(work))
    with progress("Verifying", quiet=as_json) as move:
        verdicts = work.verdicts(move)
    if as_json:
        print_json([vars(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    if code_of := _exit_code(verdicts):
        raise typer.Exit(code_of)


def _exit_code(verdicts: list[Verdict]) -> int:
    """What is worst of all runs: one that does not hold, one that was not checked, one without a result."""
    from joulewise.study.kinds.case import FAILS_AGAIN

    worst = {
        OUR_FAULT: any(verdict.problems for verdict in verdicts),
        NOT_ALL_CHECKED: any(map(_why_unchecked, verdicts)),
        SOME_RUNS_FAILED: any(FAILS_AGAIN in verdict.notes for verdict in verdicts),
    }
    return next((code for code, is_so in worst.items() if is_so), 0)


def _why_unchecked(verdict: Verdict) -> str:
    """Why a run was not checked; nothing where it was."""
    from joulewise.study.kinds.case import NOT_CHECKED

    start = f"{NOT_CHECKED}: "
    return next((line.removeprefix(start) for line in verdict.notes if line.startswith(start)), "")


def _what_comes(work: Verification) -> str:
    """What is computed again, and how long that takes."""
    from joulewise.units import count, roughly

    n = len(work.again)
    takes = f", which takes about {roughly(work.seconds)}" if n else ""
    return f"Computing {count(n, 'run')} of {len(work.stored):,} again{takes}."


def _show(verdicts: list[Verdict]) -> None:
    from joulewise.units import noun

    told = [each for each in verdicts if each.problems or each.notes]
    rows = [{"run": each.run[:12], "what": _title(each), "verdict": _words(each)} for each in told]
    n, n_stored = len(verdicts), sum(verdict.has_records for verdict in verdicts)
    n_whole = sum(not verdict.problems and not _why_unchecked(verdict) for verdict in verdicts)
    print_table(f"{n_whole} of {n} {noun(n, 'run holds', 'runs hold')}", rows)
    say(f"{n_stored} of {n} {noun(n, 'run has', 'runs have')} stored detail tables, which were compared as well.")
    for why, n_unchecked in Counter(filter(None, map(_why_unchecked, verdicts))).items():
        say(f"{n_unchecked} of {n} {noun(n, 'run was', 'runs were')} not checked: {why}.")


def _title(verdict: Verdict) -> str:
    """What a person calls the run: the values of the swept keys and the trial."""
    from joulewise.cli.result import cell_of

    return ", ".join([*(cell_of(*cell) for cell in verdict.point.items()), f"trial {verdict.trial}"])


def _words(verdict: Verdict) -> str:
    holds = not verdict.problems and not _why_unchecked(verdict)
    return "; ".join((*verdict.problems, *(["holds"] if holds else []), *verdict.notes))
