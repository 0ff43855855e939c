"""Tables of the arena: how policies stand on a set of worlds, where one wins and loses, and what it earned when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from joulewise.present.formats import MISSING, fixed, signed
from joulewise.present.tables import BEST, WORDS, Cell, Table, plus_minus
from joulewise.study.arena.kept import kept_rows
from joulewise.study.arena.rows import N_SLICES
from joulewise.study.arena.sets import WorldSet
from joulewise.study.arena.standings import FORESIGHT, SHARE, Standings
from joulewise.units import count

PLACES = (
    "A policy of places 2 to 4 is worse than one policy for sure, and better than all but four; the trials do not tell "
    "it from those between. All pairs are told apart together with 95 % (Holm)."
)
CLAIRVOYANT = "clairvoyant"
"""What stands in the place of the places of a policy that decides by what is still to come."""
_HOURS = 24 // N_SLICES


@dataclass(frozen=True)
class Board:
    """The board of a set: how policies stand on it, and what they are called."""

    world_set: WorldSet
    standings: Standings

    @property
    def name(self) -> str:
        """The name of the set, with its number."""
        return self.world_set.stamp.partition(",")[0]

    @property
    def own(self) -> str:
        """The policy that all is told about; "" where it is all of them."""
        return self.standings.own

    @property
    def best(self) -> str:
        """The policy that all is compared with: the first that is not the own one, if there is any."""
        return str(next((name for name in self.standings.table["policy"] if name != self.own), self.own))

    def title(self, policy: str) -> str:
        """What a policy is called."""
        return self.world_set.table().get(policy, policy)


def kept_boards(sets: Iterable[WorldSet]) -> list[Board]:
    """The boards of what the package keeps of all policies; sets of which it keeps nothing are left out."""
    kept = ((each, kept_rows(each)) for each in sets)
    return [Board(each, Standings(rows)) for each, rows in kept if not rows.is_empty()]


def board_tables(board: Board) -> Iterator[Table]:
    """All tables of a set, the most important first."""
    yield standings_table(board)
    if board.best != board.own != "":
        yield own_table(board)
    elif board.own or not board.standings.has_places:
        yield worlds_table(board)
    if not board.standings.failed.is_empty():
        yield from failures_table(board)
    yield from foresight_table(board)


def standings_table(board: Board) -> Table:
    """Every policy with its place and its share of the bound over all worlds."""
    standings = board.standings
    rows = tuple((board.title(row["policy"]), _cells(board, row)) for row in standings.table.iter_rows(named=True))
    caption = f"{board.name}: percent of the proven bound, mean over {count(len(standings.worlds), 'world')}"
    note = PLACES if standings.has_places else "One trial: no intervals and no places."
    return Table(caption, "Policy", _STANDING, rows, note)


_STANDING = ("Places", "% of bound", "No result", "ms per event")


def _cells(board: Board, row: Mapping[str, Any]) -> tuple[Cell, ...]:
    failed = f"{row['n_failed']} of {row['n']}" if row["n_failed"] else ""
    texts = (place_text(row), share_text(row), failed, _small(row["event_ms"]))
    return tuple(Cell(text, BEST if row["policy"] == board.own else "") for text in texts)


def place_text(row: Mapping[str, Any]) -> str:
    """The places of a policy, with ties told."""
    if row[FORESIGHT] is not None:
        return CLAIRVOYANT
    if row["first"] is None:
        return MISSING
    return str(row["first"]) if row["first"] == row["last"] else f"{row['first']} to {row['last']}"


def share_text(row: Mapping[str, Any]) -> str:
    """A share with half of its interval."""
    return plus_minus({"mean": row[SHARE], "low": row["low"], "high": row["high"]})


def _small(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2g}"


class Gap(NamedTuple):
    """How the own policy stands in a world, and the best of the others there."""

    world: str
    own: Mapping[str, Any]
    best: Mapping[str, Any]

    @property
    def points(self) -> float:
        """By how many percentage points of the bound the own policy earns more; NaN where one has no result."""
        own, best = (math.nan if row[SHARE] is None else float(row[SHARE]) for row in (self.own, self.best))
        return own - best


def gaps(board: Board) -> Iterator[Gap]:
    """How the own policy stands in each world."""
    for world in board.standings.worlds:
        here = board.standings.in_world(world)
        others = here.table.filter(pl.col("policy") != board.own)
        yield Gap(world, here.of(board.own), others.row(0, named=True))


def own_table(board: Board) -> Table:
    """Where the own policy wins and loses: each world with the best of the others, and the difference to it."""
    rows = tuple((gap.world, _gap_cells(board, gap)) for gap in gaps(board))
    caption = f"{board.title(board.own)} in each world of {board.name}"
    return Table(caption, "World", ("Places", "% of bound", "Best of the others", "Its %", "Difference"), rows)


def _gap_cells(board: Board, gap: Gap) -> tuple[Cell, ...]:
    places, share = place_text(gap.own), share_text(gap.own)
    other = Cell(board.title(gap.best["policy"]), WORDS)
    return Cell(places), Cell(share), other, Cell(share_text(gap.best)), Cell(points_text(gap))


def points_text(gap: Gap) -> str:
    """A difference in percentage points."""
    return MISSING if math.isnan(gap.points) else signed(gap.points, 1)


def failures_table(board: Board) -> Iterator[Table]:
    """Which policies have no result where, and why; of a board of one policy, only where that has none."""
    failed = board.standings.failed.group_by("policy", "error", maintain_order=True).agg(
        worlds=pl.col("world").unique(maintain_order=True).str.join("; "), n=pl.len()
    )
    shown = failed.filter(pl.col("policy") == board.own) if board.own else failed
    rows = tuple(
        (board.title(row["policy"]), (Cell(row["worlds"], WORDS), Cell(str(row["n"])), Cell(_why(row["error"]), WORDS)))
        for row in shown.iter_rows(named=True)
    )
    if rows:
        yield Table(f"No result on {board.name}", "Policy", ("Worlds", "Runs", "Why"), rows)


def foresight_table(board: Board) -> Iterator[Table]:
    """Which policies decide by what is still to come, with what shows it; of a board of one policy, only that."""
    rows = board.standings.rows.drop_nulls(FORESIGHT)
    shown = rows.filter(pl.col("policy") == board.own) if board.own else rows
    cells = tuple(
        (board.title(row["policy"]), (Cell(row["world"], WORDS), Cell(row[FORESIGHT], WORDS)))
        for row in shown.iter_rows(named=True)
    )
    if cells:
        caption = f"Decided by what is still to come on {board.name}"
        yield Table(caption, "Policy", ("World", "What shows it"), cells, _NO_PLACE)


_NO_PLACE = "One trial of each world is decided again, with another future. Such policies have no place among others."


def _why(error: str | None) -> str:
    return error or "the bound is 0"


def worlds_table(board: Board) -> Table:
    """The share of each policy in each world, the best of a world marked."""
    worlds = board.standings.worlds
    shares = {
        world: dict(board.standings.in_world(world).table.select("policy", SHARE).iter_rows()) for world in worlds
    }
    best = {
        world: max((share for share in of.values() if share is not None), default=None) for world, of in shares.items()
    }
    rows = tuple(
        (board.title(policy), tuple(_share_cell(shares[world][policy], best[world]) for world in worlds))
        for policy in board.standings.table["policy"]
    )
    return Table(f"{board.name}: percent of the proven bound by world", "Policy", tuple(worlds), rows)


def _share_cell(share: float | None, best: float | None) -> Cell:
    return Cell(MISSING) if share is None else Cell(fixed(share, 1), BEST if share == best else "")


def slice_names() -> list[str]:
    """The hours of the slices of a day."""
    return [f"{_HOURS * number:02d}-{_HOURS * (number + 1):02d} h" for number in range(N_SLICES)]


def markdown(table: Table) -> str:
    """A table in Markdown."""
    lines: Sequence[Sequence[str]] = [
        (table.corner, *table.columns),
        ["---"] * (1 + len(table.columns)),
        *((name, *(cell.text for cell in cells)) for name, cells in table.rows),
    ]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
