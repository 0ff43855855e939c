"""What verbs share when they print: tables for people, JSON for programs, progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TextIO

import typer

from joulewise.cli.interrupts import last_words
from joulewise.errors import printable
from joulewise.progress import Progress
from joulewise.units import roughly

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")]
StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file.", show_default=False)]
FolderPath = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The results folder of a study.", show_default=False)
]

Row = Mapping[str, Any]

LINE_EVERY_S = 60.0
"""How often work tells off a terminal how far it is."""

_OFF_TERMINAL = 100
"""How wide tables are in files and pipes, unless their numbers need more."""

_LONGEST_WORD = 30
"""Words that are longer, such as paths, may be broken to fit."""

_GAP = 3


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    is_unicode = sys.stdout.encoding.lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=not is_unicode))


def print_paths(paths: Sequence[Path], *, as_json: bool) -> None:
    """Print where files were written, a line each, or as JSON."""
    if as_json:
        print_json([str(path) for path in paths])
        return
    for path in paths:
        print(path)


def print_table(
    title: str,
    rows: Sequence[Row],
    *,
    numbers: Sequence[str] = (),
    header: bool = True,
    as_named: bool = False,
) -> None:
    """Print rows with equal keys as a table; `numbers` are columns to set right, headings the keys as they are or read.

    Text is broken between words to fit a terminal. Where words are too long for that, rows stand below each other.
    """
    names = list(rows[0]) if rows else []
    headings = names if as_named else [name.replace("_", " ") for name in names]
    are_numbers = [name in numbers for name in names]
    print_cells(title, headings, [list(row.values()) for row in rows], are_numbers=are_numbers, header=header)


def print_cells(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    are_numbers: Sequence[bool],
    header: bool = True,
) -> None:
    """Print a table, as `print_table` does, with a heading for each cell of a row; headings need not differ."""
    cells = [["" if value is None else printable(str(value)) for value in row] for row in rows]
    columns = [
        _TextColumn(printable(heading), is_number, i == 0 or is_number, [row[i] for row in cells])
        for i, (heading, is_number) in enumerate(zip(headings, are_numbers, strict=True))
    ]
    least = sum(column.least + _GAP for column in columns)
    place = console(at_least=least)
    if title:
        place.print(printable(title), style="bold")
    if least <= place.width:
        place.print(_grid(columns, place.width, header=header))
    else:
        _print_below(columns, place.width, header=header)


@dataclass(frozen=True)
class _TextColumn:
    """One column of a table: its heading, whether it is set right, whether its cells stay whole, and its cells."""

    heading: str
    is_number: bool
    is_whole: bool
    cells: Sequence[str]

    @property
    def most(self) -> int:
        """The width at which nothing need be broken."""
        return max(map(len, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        """The width at which no word need be broken, and no cell that stays whole."""
        words = [*self.heading.split(), *(word for cell in self.cells for word in cell.split())]
        cells = self.cells if self.is_whole else ()
        return max(min(max(map(len, words), default=1), _LONGEST_WORD), *map(len, cells), 1)


def _grid(columns: Sequence[_TextColumn], width: int, *, header: bool) -> Table:
    """The columns beside each other, in a width that they fit into."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
    for column, wide in zip(columns, _widths(columns, width), strict=True):
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        table.add_column(column.heading, justify=justify, width=wide, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*row)
    return table


def _widths(columns: Sequence[_TextColumn], width: int) -> list[int]:
    """How wide columns are: the widest give way until all fit."""
    widths = [column.most for column in columns]
    while sum(widths) + _GAP * len(widths) > width:
        slack = [wide if wide > column.least else 0 for column, wide in zip(columns, widths, strict=True)]
        widths[slack.index(max(slack))] -= 1
    return widths


def _print_below(columns: Sequence[_TextColumn], width: int, *, header: bool) -> None:
    """Print rows below each other, a line or more for each cell that says something."""
    for row in zip(*(column.cells for column in columns), strict=True):
        for column, cell in zip(columns, row, strict=True):
            heading = f"{column.heading}: " if header and column.heading else ""
            if cell:
                print(fill(f"{heading}{cell}", width=max(width, 2), subsequent_indent=" "))
        print()


def console(*, stderr: bool = False, at_least: int = 0) -> Console:
    """A console on standard output or error, `at_least` this wide where no width is given; brackets are text."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command, which ends quietly; rich would exit with 1."""
            raise BrokenPipeError

    width = None if _has_width(sys.stderr if stderr else sys.stdout) else max(_OFF_TERMINAL, at_least)
    return Ours(stderr=stderr, markup=False, highlight=False, width=width)


def _has_width(stream: TextIO) -> bool:
    """Whether a width is given: by a terminal, or by COLUMNS."""
    columns = os.environ.get("COLUMNS", "")
    return stream.isatty() or (columns.isdecimal() and int(columns) > 0)


def say(text: str) -> None:
    """Print a sentence, broken between words where a width is given."""
    print(fill(text, width=max(console().width, 2)) if _has_width(sys.stdout) else text)


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


@contextmanager
def working(title: str, *, quiet: bool) -> Iterator[None]:
    """A sign on standard error that something takes its time; silent off a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(title):
        yield


class Move(Protocol):
    """Moves a bar: how much is done, of how much as far as that is known, what is being done, and how long that takes.

    Where nothing is said of that, it follows from how long what is done took.
    """

    def __call__(self, done: int, total: int | None, doing: str = "", left_s: float | None = None) -> None: ...


@dataclass
class _ProgressLines:
    """What stands for a bar off a terminal: a line every now and then, none of work that is soon done."""

    title: str
    next_s: float
    began_s: float = field(default_factory=time.monotonic)

    def __call__(self, done: int, total: int | None, doing: str = "", left_s: float | None = None) -> None:
        """Say how far it is, if nothing was said for a while."""
        if time.monotonic() < self.next_s:
            return
        now_s = time.monotonic()
        self.next_s = now_s + LINE_EVERY_S
        of = f": {done:,} of {total:,}" if total else ""
        if left_s is None:
            left_s = (now_s - self.began_s) / done * (total - done) if total and done else 0.0
        of += f", about {roughly(left_s)} left" if left_s >= 1 else ""
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
    from rich.text import Text

    class Left(bars.TimeRemainingColumn):
        """The time left as it is told, where it is."""

        max_refresh = 0.0

        def render(self, task: bars.Task) -> Text:
            left_s = task.fields["left_s"]
            return (
                super().render(task) if left_s is None else Text(f"about {roughly(left_s)} left" if left_s >= 1 else "")
            )

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), Left(),
               bars.TextColumn("{task.fields[doing]}", markup=False))  # fmt: skip
    with bars.Progress(*columns, console=console(stderr=True), transient=True, refresh_per_second=1) as bar:
        task = bar.add_task(title, total=None, doing="", left_s=None)

        def move(done: int, total: int | None, doing: str = "", left_s: float | None = None) -> None:
            bar.update(task, completed=done, total=total, doing=doing, left_s=left_s)

        yield move


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
            move(now.n_done, now.n_total or None, now.doing, now.left_s)

        yield follow
