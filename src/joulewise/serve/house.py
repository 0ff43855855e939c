"""Which boards there are: of every study, of our systems by their names, and of installed packages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from joulewise.errors import Problem
from joulewise.serve.board import Board
from joulewise.serve.subject import Subject
from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.kinds.packages import loaded

ENTRY_POINTS = "joulewise.boards"
"""The group of entry points by which other packages bring boards."""

_SYSTEMS = {kind: system for system, kinds in BUILT_IN.items() for kind in kinds}


class InstalledBoards(NamedTuple):
    """The boards of installed packages, and why others are none."""

    boards: tuple[Board, ...]
    problems: tuple[Problem, ...]


def boards_of(subject: Subject) -> list[Board]:
    """The boards of a study: those of its system, of installed packages, and of every study; none of a broken one."""
    if not subject.is_readable:
        return []
    return [board for board in _candidates(subject.kind) if board.fits(subject)]


def board_of(subject: Subject, name: str) -> Board | None:
    """The board of a study with this name, if it has one."""
    return next((board for board in boards_of(subject) if board.name == name), None)


def _candidates(kind: str) -> Sequence[Board]:
    from joulewise.serve.general import BOARDS

    return (*_of_system(_SYSTEMS.get(kind, "")), *installed_boards().boards, *BOARDS)


def _of_system(system: str) -> tuple[Board, ...]:
    """The boards of one of our systems, loaded when they are first asked for."""
    if not system:
        return ()
    boards: tuple[Board, ...] = import_module(f"joulewise.serve.{system}.boards").BOARDS
    return boards


@cache
def installed_boards() -> InstalledBoards:
    """What installed packages bring; one that is broken keeps nobody else from working."""
    boards: list[Board] = []
    problems: list[Problem] = []
    for point in entry_points(group=ENTRY_POINTS):
        found = loaded(point, "board", Board, partial(_flaws, others=boards))
        boards += [found] if isinstance(found, Board) else []
        problems += [found] if isinstance(found, Problem) else []
    return InstalledBoards(tuple(boards), tuple(problems))


def _flaws(board: Board, others: Collection[Board]) -> Iterator[str]:
    """What keeps a board from being used beside others."""
    if not board.name.replace("-", "").isalnum():
        yield f"is called {board.name!r}, and must be called with letters, digits and hyphens"
    if any(board.name == other.name for other in others):
        yield f"the board {board.name!r} is there already"
