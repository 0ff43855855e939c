"""What verbs share when they print: tables for people, JSON for programs, progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import typer

from joulewise.cli.interrupts import last_words
from joulewise.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")]
StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file.", show_default=False)]
FolderPath = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The results folder of a study.", show_default=False)
]

Row = Mapping[str, Any]

LINE_EVERY_S = 60.0
"""How often work tells off a terminal how far it is."""

_WIDE = 1000


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    title: str,
    rows: Sequence[Row],
    *,
    numbers: Sequence[str] = (),
    header: bool = True,
) -> None:
    """Print rows with equal keys as a table; `numbers` are columns to set right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
    table.title, table.title_justify, table.title_style = title, "left", "bold"
    for i, name in enumerate(rows[0] if rows else ()):
        justify: Literal["left", "right"] = "right" if name in numbers else "left"
        keep_whole = i == 0 or name in numbers
        table.add_column(name.replace("_", " "), justify=justify, no_wrap=keep_whole, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    console().print(table)


def console(*, stderr: bool = False) -> Console:
    """A console on standard output or error, as wide as need be off a terminal; brackets are text."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command, which ends quietly; rich would exit with 1."""
            raise BrokenPipeError

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Ours(stderr=stderr, markup=False, highlight=False, width=None if is_terminal else _WIDE)


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    print(text, file=sys.stderr)


@contextmanager
def working(title: str, *, quiet: bool) -> Iterator[None]:
    """A sign on standard error that something takes its time; silent off a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(title):
        yield


class Move(Protocol):
    """Moves a bar: how much is done, of how much as far as that is known, and what is being done."""

    def __call__(self, done: int, total: int | None, doing: str = "") -> None: ...


@dataclass
class _ProgressLines:
    """What stands for a bar off a terminal: a line every now and then, none of work that is soon done."""

    title: str
    next_s: float

    def __call__(self, done: int, total: int | None, doing: str = "") -> None:
        """Say how far it is, if nothing was said for a while."""
        if time.monotonic() < self.next_s:
            return
        self.next_s = time.monotonic() + LINE_EVERY_S
        of = f": {done:,} of {total:,}" if total else ""
        note(f"{self.title}{of}{f' ({doing})' if doing else ''}")


@contextmanager
def progress(title: str, *, quiet: bool) -> Iterator[Move]:
    """A bar with the time left on standard error, moved by (done, total, doing); off a terminal, a line a minute.

    It is drawn once a second: more often would take the time of what is being measured.
    """
    if quiet or not sys.stderr.isatty():
        yield _ProgressLines(title, math.inf if quiet else time.monotonic() + LINE_EVERY_S)
        return
    from rich import progress as bars

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(),
               bars.TimeRemainingColumn(), bars.TextColumn("{task.fields[doing]}", markup=False))  # fmt: skip
    with bars.Progress(*columns, console=console(stderr=True), transient=True, refresh_per_second=1) as bar:
        task = bar.add_task(title, total=None, doing="")
        yield lambda done, total, doing="": bar.update(task, completed=done, total=total, doing=doing)


@contextmanager
def following(title: str, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar that follows runs; after Ctrl-C, says how many are kept and how to go on, and exits."""
    last = Progress(0, 0, 0, 0)

    def words() -> str:
        kept = f" ({last.kept})" if last.kept else ""
        return f"\nInterrupted; finished runs are kept{kept}. To go on from there, run the same command again."

    with last_words(words), progress(title, quiet=quiet) as move:

        def follow(now: Progress) -> None:
            nonlocal last
            last = now
            move(now.n_done, now.n_total or None, now.doing)

        yield follow
