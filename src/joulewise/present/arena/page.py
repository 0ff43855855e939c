"""The page of the arena: how policies stand on each set, where they win and lose, and what a bound is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from joulewise._version import __version__
from joulewise.errors import Problem, raise_if_any
from joulewise.files import write_atomic
from joulewise.present.arena.figures import FIGURES
from joulewise.present.arena.tables import (
    Board,
    Gap,
    board_tables,
    gaps,
    place_text,
    points_text,
    share_text,
    worlds_table,
)
from joulewise.present.findings import Finding
from joulewise.present.glossary import STATISTICS
from joulewise.present.html import libraries
from joulewise.present.parts import unchecked
from joulewise.present.report import Draft, Plate, plate_of
from joulewise.study.arena.standings import FORESIGHT
from joulewise.units import count

_INTERVAL = "95 % confidence interval"
GLOSSARY = {
    "Set": "A fixed list of worlds. Its name ends with a number; other worlds are another set.",
    "World": "A system with its work and its supply, drawn anew in each trial, and how it is managed.",
    "Bound": "What no policy can exceed in a world, not even one that knows the future. It is proven for each drawing.",
    "% of bound": "100 x what a policy earned / the bound, mean over the worlds of a trial, then over trials.",
    _INTERVAL: STATISTICS[_INTERVAL],
    "Places": "From the first place that a policy may have, by all pairs that the trials tell apart, to the last one.",
    "Clairvoyant": "Decides otherwise where another future comes, and so by what it cannot know. It has no place.",
    "ms per event": "What a mapping event took on the computer that ran it, on the mean. It is not verified.",
}


def check_place(path: Path) -> Iterator[Problem]:
    """Why no page can be written into a file."""
    if path.suffix != ".html":
        yield Problem(str(path), "found another ending", "must be a file that ends in .html")


def write_arena(boards: Sequence[Board], path: Path) -> Path:
    """Write the page of some boards; InputError where it is not to be an HTML file."""
    raise_if_any(check_place(path))
    with unchecked():
        plates = tuple(_plates(boards))
    own = next((board.own for board in boards if board.own), "")
    values = {
        "about": {"name": own or "All policies", "description": "", "version": __version__},
        "facts": [f"{board.name}: {count(board.standings.rows.height, 'run')}" for board in boards],
        "libraries": libraries(),
        "findings": [finding for board in boards for finding in findings(board)],
        "tables": [table for board in boards for table in (*board_tables(board), worlds_table(board))],
        "glossary": GLOSSARY,
        "stamps": [board.world_set.stamp for board in boards],
    }
    write_atomic(path, Draft(plates, values, "arena.html").html())
    return path


def _plates(boards: Sequence[Board]) -> Iterator[Plate]:
    for board in boards:
        for figure in FIGURES:
            yield plate_of(f"{board.world_set.name}-{figure.name}", f"{figure.title}, {board.name}", figure.draw(board))


def findings(board: Board) -> Iterator[Finding]:
    """Who is first on a set, and how the own policy stands there."""
    best = board.standings.of(board.own or board.best)
    lead = f"{board.title(str(best['policy']))} earns {share_text(best)} % of the proven bound on {board.name}."
    n_placed = board.standings.table["first"].count()
    places = f"Its places: {place_text(best)} of {n_placed}." if best["first"] is not None else ""
    if best["n_failed"]:
        places = (
            f"It has no place, as {best['n_failed']} of its {best['n']} runs have no result: this is of the others."
        )
    if best[FORESIGHT] is not None:
        places = f"It has no place, as it decides by what is still to come: {best[FORESIGHT]}."
    yield Finding(lead, places)
    met = gaps(board) if board.own and board.own != board.best else ()
    ranked = sorted((gap for gap in met if not math.isnan(gap.points)), key=lambda gap: gap.points)
    if ranked:
        yield Finding(
            f"Against the best of the others it stands best in {_named(board, ranked[-1])}.",
            f"Worst is {_named(board, ranked[0])}.",
        )


def _named(board: Board, gap: Gap) -> str:
    """A world with the difference to the best of the others."""
    return f"{gap.world} ({points_text(gap)} points against {board.title(gap.best['policy'])})"
