"""`joulewise verify`: hold stored results against their study."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.codes import NOT_ALL_CHECKED, OUR_FAULT, SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, FolderPath, note, print_json, print_table, progress, say

if TYPE_CHECKING:
    from joulewise.study import Verdict, Verification

_SURE_PERCENT = 99.9
"""Chances above this are not told apart."""

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


EveryRun = Annotated[
    bool, typer.Option("--all", help="Compute every run again, also where that takes longer than half of running them.")
]
DrawSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="Draw the runs that are computed again as the verification that told this number did; else nobody knows "
        "them beforehand.",
        show_default=False,
    ),
]


def verify(
    folder: FolderPath,
    code: TrustedCode = None,
    files: StudyFiles = None,
    every: EveryRun = False,
    seed: DrawSeed = None,
    as_json: AsJson = False,
) -> None:
    """Check stored results against their study.

    Of every run it is checked that it is the study's, and that its tables and the proof of its bound are there. Then
    worlds are made and runs are computed again, proofs of bounds are checked, and every column is compared but for
    those that measure the computer: of all runs where that is told to take a minute at most, else of as many, drawn by
    chance, as half the time of running the study allows. That runs are not drawn does not change the exit code.
    """
    from joulewise.study import to_verify

    work = to_verify(folder, code, files, every=every, seed=seed)
    if not as_json:
        note(_what_comes(work))
    with progress("Verifying", quiet=as_json) as move:
        verdicts = work.verdicts(move)
    if as_json:
        print_json({**_planned(work), "verdicts": [vars(verdict) for verdict in verdicts]})
    else:
        _show(work, verdicts)
    if code_of := _exit_code(work, verdicts):
        raise typer.Exit(code_of)


def _planned(work: Verification) -> dict[str, Any]:
    """What is computed again and what that says, for programs."""
    drawing = work.drawing
    (n_judged, n_can_be_judged), (n_worlds, n_worlds_in_all) = drawing.n_judged, drawing.n_worlds
    return {
        "n_runs": work.n_runs,
        "n_can_be_judged": n_can_be_judged,
        "n_judged": n_judged,
        "n_computed_again": work.n_again,
        "n_worlds": n_worlds_in_all,
        "n_worlds_judged": n_worlds,
        "seconds": work.seconds,
        "seed": None if drawing.is_whole else drawing.seed,
        "n_altered": drawing.n_altered,
        "chance_that_one_is_found": drawing.found,
        "problems": list(work.problems),
    }


def _exit_code(work: Verification, verdicts: list[Verdict]) -> int:
    """What is worst of all runs: one that does not hold, one that cannot be checked, one without a result."""
    from joulewise.study.kinds.case import FAILED_BEFORE, FAILS_AGAIN

    worst = {
        OUR_FAULT: any((work.problems, *(verdict.problems for verdict in verdicts))),
        NOT_ALL_CHECKED: any(map(_why_unchecked, verdicts)),
        SOME_RUNS_FAILED: any({FAILS_AGAIN, FAILED_BEFORE}.intersection(verdict.notes) for verdict in verdicts),
    }
    return next((code for code, is_so in worst.items() if is_so), 0)


def _why_unchecked(verdict: Verdict) -> str:
    """Why a run was not checked; nothing where it was."""
    from joulewise.study.kinds.case import NOT_CHECKED

    start = f"{NOT_CHECKED}: "
    return next((line.removeprefix(start) for line in verdict.notes if line.startswith(start)), "")


def _what_comes(work: Verification) -> str:
    """What is computed again, how long that takes, and, where not all is, what is found by that."""
    from joulewise.units import count, roughly

    n = work.n_again
    takes = f", which takes about {roughly(work.seconds)}" if n else ""
    said = [f"Computing {count(n, 'run')} of {work.n_runs:,} again{takes}{_of_worlds(work)}."]
    if not work.drawing.is_whole:
        said.append(
            f"{_found(work)} --all computes all of them again; --seed {work.drawing.seed} draws the same again."
        )
    return "\n".join(said)


def _of_worlds(work: Verification) -> str:
    """In how many worlds runs are judged, where that is not all of them."""
    n, n_in_all = work.drawing.n_worlds
    return "" if n == n_in_all else f", in {n:,} of {n_in_all:,} worlds"


def _found(work: Verification) -> str:
    """What a drawing would find, in a sentence; a chance is never told as certain."""
    from joulewise.units import count, noun

    drawing = work.drawing
    n, percent = drawing.n_altered, 100 * drawing.found
    told = f"with {percent:.1f} %" if percent < _SURE_PERCENT else f"with more than {_SURE_PERCENT:g} %"
    runs = f"1 % of the runs ({n:,}) were" if n > 1 else f"{count(n, 'run')} was"
    return f"If {runs} altered at random, {noun(n, 'it', 'one of them')} is found {told}."


def _show(work: Verification, verdicts: list[Verdict]) -> None:
    from joulewise.units import noun

    told = [each for each in verdicts if each.problems or each.notes]
    rows = [{"run": each.run[:12], "what": _title(each), "verdict": _words(each)} for each in told]
    drawn = [verdict for verdict in verdicts if verdict.is_drawn]
    n, n_stored = len(drawn), sum(verdict.has_records for verdict in drawn)
    print_table(_headline(work, drawn), rows)
    for problem in work.problems:
        say(f"{problem}.")
    of = f"of {n:,} {noun(n, 'run has', 'runs have')}"
    say(f"{n_stored:,} {of} stored detail tables, which were compared as well.")
    for why, n_unchecked in Counter(filter(None, map(_why_unchecked, verdicts))).items():
        say(f"{n_unchecked:,} of {work.n_runs:,} {noun(work.n_runs, 'run was', 'runs were')} not checked: {why}.")


def _headline(work: Verification, drawn: list[Verdict]) -> str:
    """How many runs hold, of those that were judged."""
    from joulewise.units import count, noun

    n, n_hold = len(drawn), sum(map(_holds, drawn))
    if work.drawing.is_whole:
        return f"{n_hold:,} of {n:,} {noun(n, 'run holds', 'runs hold')}"
    hold = noun(n_hold, "holds", "hold") if n_hold == n else f"{n_hold:,} of them {noun(n_hold, 'holds', 'hold')}"
    were = noun(n, "was", "were")
    left = work.n_runs - n
    others = f"{left:,} {noun(left, 'was', 'were')} not computed again"
    return f"{n:,} of {count(work.n_runs, 'run')} {were} computed again, and {hold}; {others}"


def _holds(verdict: Verdict) -> bool:
    """Whether a run was judged whole, and nothing is wrong with it."""
    return verdict.is_drawn and not verdict.problems and not _why_unchecked(verdict)


def _title(verdict: Verdict) -> str:
    """What a person calls the run: the values of the swept keys and the trial."""
    from joulewise.cli.result import cell_of

    return ", ".join([*(cell_of(*cell) for cell in verdict.point.items()), f"trial {verdict.trial}"])


def _words(verdict: Verdict) -> str:
    return "; ".join((*verdict.problems, *(["holds"] if _holds(verdict) else []), *verdict.notes))
