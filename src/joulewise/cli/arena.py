"""`joulewise arena`: compare a policy with all others on the same worlds, each with a proven bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from joulewise.cli.codes import OUR_FAULT, SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, note, print_cells, print_json, print_table, say, working

if TYPE_CHECKING:
    import polars as pl

    from joulewise.errors import Problem
    from joulewise.present.arena.tables import Board
    from joulewise.study import Study
    from joulewise.study.arena.entry import Entry, Held
    from joulewise.study.arena.sets import Place, WorldSet

FOLDER = Path("results") / "arena"


def arena(
    policy: Annotated[
        str | None,
        typer.Argument(
            metavar="[POLICY]", help='A policy by its name, or "file.py:function"; left out: lists the sets.'
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show how all policies of our tables stand.")] = False,
    only: Annotated[list[str] | None, typer.Option("--set", help="A set of worlds; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One trial of each world: no intervals, no entry.")] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Worlds to tune on: they judge nothing, and nothing is compared.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a page, a file that ends in .html.")] = None,
    entry: Annotated[Path | None, typer.Option(help=f"Where the entry goes, if not {FOLDER}/POLICY.json.")] = None,
    verify: Annotated[Path | None, typer.Option(metavar="ENTRY", help="Run an entry again and say what holds.")] = None,
    code: Annotated[
        Path | None,
        typer.Option("--trust-code", metavar="FOLDER", help="Run the code of an entry, taken from this folder."),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="With --all: run what is missing, and keep it in the package.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="With --all: write the tables into the marked parts of this page.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as processors if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a policy with the published ones and ours.

    A policy for tasks meets sets of tasks, one for jobs sets of jobs. Its share of the proven bound is told with
    intervals, its place among all policies with ties, and each world with the best of the others. What came out is
    written as an entry: one file, which --verify runs again on any machine.
    """
    from joulewise.errors import raise_if_any

    asked = {"POLICY": policy, "--all": every, "--verify": verify, "--quick": quick, "--tune": tune, "--out": out,
             "--entry": entry, "--trust-code": code, "--write": write, "--page": page, "--set": only}  # fmt: skip
    raise_if_any((*_misplaced({name for name, value in asked.items() if value}), *_unwritable(out)))
    extent = Extent("quick" if quick else "tuning" if tune else "judging", workers, out, as_json)
    if verify is not None:
        _verify(verify, code, extent)
    elif every:
        _all(_chosen(only), extent, page, writes=write)
    elif policy is not None:
        _compete(policy, _chosen(only), extent, entry)
    else:
        _list(as_json)


_GOES_WITH: Mapping[str, Sequence[str]] = {
    "--quick": ("POLICY",), "--tune": ("POLICY",), "--entry": ("POLICY",), "--trust-code": ("--verify",),
    "--write": ("--all",), "--page": ("--all",), "--out": ("POLICY", "--all"), "--set": ("POLICY", "--all"),
}  # fmt: skip
_APART = (("POLICY", "--all"), ("POLICY", "--verify"), ("--all", "--verify"), ("--quick", "--tune"),
          ("--quick", "--entry"), ("--tune", "--entry"), ("--tune", "--out"))  # fmt: skip


def _misplaced(given: set[str]) -> Iterator[Problem]:
    """Options that say nothing where they stand, or contradict each other."""
    from joulewise.errors import Problem

    for name, others in _GOES_WITH.items():
        if name in given and not given.intersection(others):
            yield Problem(name, "found alone", f"goes with {' or '.join(others)}", "leave it out")
    for one, other in _APART:
        if {one, other} <= given:
            yield Problem(one, f"found with {other}", "one of them at a time", "leave one out")


def _unwritable(out: Path | None) -> Iterator[Problem]:
    """Why the page cannot be written: told before anything is run."""
    from joulewise.present.arena.page import check_place

    if out is not None:
        yield from check_place(out)


def _chosen(only: Sequence[str] | None) -> list[str]:
    """The sets that are asked for, all by default; InputError for others."""
    from joulewise.errors import raise_if_any, unknown_name
    from joulewise.study.arena.sets import SETS

    raise_if_any(unknown_name("--set", name, SETS) for name in only or () if name not in SETS)
    return list(only or SETS)


def _list(as_json: bool) -> None:
    from joulewise.study.arena.sets import SETS

    rows = [
        {"set": each.name, "version": each.stamp, "worlds": "; ".join(each.worlds) or _NO_LOGS}
        for each in SETS.values()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table("Sets of worlds", rows)


_NO_LOGS = "none here: JOULEWISE_DATA names the folder of real logs"


# --- a policy ----------------------------------------------------------------------------------------------------


class Extent(NamedTuple):
    """How much is run by how many processes, and how it is told."""

    stage: str
    workers: int | None
    out: Path | None
    as_json: bool


def _compete(policy: str, names: Sequence[str], extent: Extent, entry: Path | None) -> None:
    """Run a policy on its sets, and show how it stands."""
    from joulewise.study.arena.entry import entry_of, source_of
    from joulewise.study.arena.sets import JUDGING, place_of

    place, name = place_of(policy), _file_name(policy)
    sets, source = _sets_of(place, names), source_of(place)
    rows = [(each, _run(each, place, FOLDER / name, extent)) for each in sets]
    boards = [_board(each, own, place[1], extent) for each, own in rows]
    written = {}
    if extent.stage == JUDGING:
        written["entry"] = entry or FOLDER / f"{name}.json"
        entry_of(place, source, rows).write(written["entry"])
    _show(boards, written, extent)
    if any(own["error"].count() for _, own in rows):
        raise typer.Exit(SOME_RUNS_FAILED)


def _file_name(policy: str) -> str:
    """A name for what is written of a policy, which files of one name in several folders do not share."""
    return re.sub(r"[^\w.+-]", "_", policy.replace("/", "+"))


def _board(each: WorldSet, own: pl.DataFrame, policy: str, extent: Extent) -> Board:
    """The board of a set with a policy and all others; with that alone where it is tuned."""
    from joulewise.present.arena.tables import Board
    from joulewise.study.arena.kept import kept_rows
    from joulewise.study.arena.sets import TUNING
    from joulewise.study.arena.standings import Standings, together

    if extent.stage == TUNING:
        return Board(each, Standings(own, policy))
    if not extent.as_json:
        _say_unkept(each)
    return Board(each, Standings(together(own, kept_rows(each)), policy))


def _sets_of(place: Place, names: Sequence[str]) -> list[WorldSet]:
    """The sets of those names that a policy is for; InputError where none is."""
    from joulewise.errors import InputError, Problem
    from joulewise.study.arena.sets import SETS, sets_for

    fitting = sets_for(place)
    systems = {each.system for each in fitting}
    for each in SETS.values():
        if each.name in names and each.system in systems and not each.is_there:
            note(f"{each.name}: {_NO_LOGS}.")
    found = [each for each in fitting if each.name in names]
    if not found:
        allowed = f"{place[1]!r} is for {' and '.join(each.name for each in fitting)}"
        raise InputError(Problem("--set", f"found {', '.join(names)}", allowed, "leave --set out"))
    return found


def _run(each: WorldSet, place: Place, folder: Path, extent: Extent) -> pl.DataFrame:
    """What a policy comes to on a set."""
    code, policy = place
    return _rows(each.study([policy], extent.stage, code), folder / f"{each.name}-{extent.stage}", extent)


def _rows(study: Study, folder: Path, extent: Extent) -> pl.DataFrame:
    """What the policies of a study come to, after a word on how long that takes."""
    from joulewise.cli.run import run_shown
    from joulewise.processes import available_cpus
    from joulewise.study.arena.foresight import foresight
    from joulewise.study.arena.rows import rows_of
    from joulewise.study.arena.sets import JUDGING
    from joulewise.study.running.estimate import estimate
    from joulewise.units import count, roughly

    if not extent.as_json:
        work = estimate(study, folder)
        takes = f", which takes about {roughly(work.seconds + work.compile_s)}" if work.n_missing else ""
        note(f"{study.name}: {count(work.n_missing, 'run')} to compute{takes}.")
    results = run_shown(study, folder, extent.workers, quiet=extent.as_json)
    if extent.stage != JUDGING:
        return rows_of(results)
    with working("Looking whether policies know what is still to come", quiet=extent.as_json):
        return rows_of(results, foresight(results, extent.workers or available_cpus()))


# --- what is shown -----------------------------------------------------------------------------------------------


def _show(boards: Sequence[Board], written: dict[str, Path], extent: Extent) -> None:
    """Print how policies stand, and write the page if that is asked for."""
    from joulewise.present.arena.page import write_arena

    if extent.out is not None:
        written["page"] = write_arena(boards, extent.out)
    if extent.as_json:
        places = {name: str(path) for name, path in written.items()}
        print_json({"sets": [_as_json(board) for board in boards], **places})
        return
    for board in boards:
        _print_board(board)
    for name, path in written.items():
        print(f"{f'{name.capitalize()}:':8} {path}")


def _print_board(board: Board) -> None:
    from joulewise.present.arena.tables import board_tables
    from joulewise.present.tables import WORDS

    for table in board_tables(board):
        cells = [[name, *(cell.text for cell in row)] for name, row in table.rows]
        kinds = table.rows[0][1] if table.rows else ()
        are_numbers = [False, *(cell.kind != WORDS for cell in kinds)]
        print_cells(table.caption, [table.corner, *table.columns], cells, are_numbers=are_numbers)
        if table.note:
            say(table.note)


def _as_json(board: Board) -> dict[str, Any]:
    """How policies stand on a set, for programs."""
    standings = board.standings
    worlds = {world: standings.in_world(world).table.to_dicts() for world in standings.worlds}
    failed = standings.failed.select("policy", "world", "trial", "error").to_dicts()
    return {"set": board.world_set.stamp, "standings": standings.table.to_dicts(), "worlds": worlds, "failed": failed}


# --- all policies ------------------------------------------------------------------------------------------------


def _all(names: Sequence[str], extent: Extent, page: Path | None, *, writes: bool) -> None:
    """Show how all policies of our tables stand, after running those that are missing if that is asked for."""
    from joulewise.errors import InputError, Problem
    from joulewise.files import write_changed
    from joulewise.present.arena.marked import filled
    from joulewise.present.arena.tables import kept_boards
    from joulewise.study.arena.sets import SETS
    from joulewise.study.parsing.file import read_source

    sets = [SETS[name] for name in names]
    for each in sets:
        if each.is_there:
            _complete(each, extent, writes=writes)
    boards = kept_boards(sets)
    if not boards:
        raise InputError(Problem("--all", "nothing is kept of these sets", advice="--all --write runs all policies"))
    written = {}
    if page is not None:
        write_changed(page, filled(read_source(page, "give a page with marked parts"), boards))
        written["tables"] = page
    _show(boards, written, extent)


def _say_unkept(each: WorldSet) -> None:
    """Say of how many policies nothing is kept that others could be compared with."""
    from joulewise.study.arena.kept import unkept
    from joulewise.units import count

    if missing := unkept(each):
        some = count(len(missing), "policy", "policies")
        note(
            f"{each.name}: nothing is kept of {some}, such as {missing[0]}; `joulewise arena --all --write` runs them."
        )


def _complete(each: WorldSet, extent: Extent, *, writes: bool) -> None:
    """Run the policies of which nothing is kept, and keep what they come to; or say which these are."""
    from joulewise.study.arena.kept import keep, unkept

    if writes and (missing := unkept(each)):
        keep(each, _rows(each.study(missing), FOLDER / "all" / each.name, extent))
    _say_unkept(each)


# --- an entry ----------------------------------------------------------------------------------------------------


def _verify(path: Path, code: Path | None, extent: Extent) -> None:
    """Run an entry again, and say row by row what holds."""
    from joulewise.study.arena.entry import place_to_run, raise_if_rows_are_missing, read_entry, told_of

    entry = read_entry(path)
    place = place_to_run(entry, path, code)
    raise_if_rows_are_missing(entry, path, place)
    said = list(told_of(entry))
    held = _held(entry, place, extent)
    if extent.as_json:
        print_json({"policy": entry.policy, "notes": said, "rows": [vars(each) for each in held]})
    else:
        _show_held(entry, said, held)
    if any(each.problems for each in held):
        raise typer.Exit(OUR_FAULT)


def _held(entry: Entry, place: Place, extent: Extent) -> list[Held]:
    """What holds of each row of an entry, given what comes out in a folder that nobody has written to before."""
    import polars as pl

    from joulewise.study.arena.entry import held_against
    from joulewise.study.arena.sets import SETS

    with TemporaryDirectory() as folder:
        anew = {name: _run(SETS[name], place, Path(folder), extent) for name in entry.sets}
    named = (rows.select(pl.lit(name).alias("set"), pl.all()) for name, rows in anew.items())
    return held_against(entry.rows, pl.concat(named))


def _show_held(entry: Entry, said: Sequence[str], held: Sequence[Held]) -> None:
    for line in said:
        note(line)
    n_hold = sum(not each.problems for each in held)
    rows = [
        {"set": each.set, "world": each.world, "trial": each.trial, "verdict": "; ".join(each.problems) or "holds"}
        for each in held
    ]
    print_table(f"{entry.policy}: {n_hold:,} of {len(held):,} rows hold", rows, numbers=("trial",))
