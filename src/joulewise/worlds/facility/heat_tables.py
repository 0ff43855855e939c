"""The air of a room from files: shares by taker and source, listed or as a matrix, or a heat distribution matrix."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats
from joulewise.model.room import AIR_J_PER_M3_K, HeatFlow
from joulewise.worlds.facility.rooms import Links, balanced, flow_of
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table

_TAKER = InputColumn("taker", "", "node or CRAC unit that takes the air in", True)
_SOURCE = InputColumn("source", "", "node or CRAC unit that it comes from", True)
_SHARE = InputColumn("share", "", "share of all that the taker takes in", True)

HEAT_COLUMNS = (_TAKER, _SOURCE, _SHARE)

_MOST_MATRIX = 10_000
_TOLERANCE, _ROUNDING = 1e-6, 1e-12


class RoomPlaces(NamedTuple):
    """The nodes and then the CRAC units of a room by name, and the air through each."""

    names: tuple[str, ...]
    m3_per_s: Floats
    n_nodes: int


class HeatReading(NamedTuple):
    """The air of a room, and what had to be changed for it."""

    flow: HeatFlow
    notes: tuple[str, ...]


class _IntakeShares(NamedTuple):
    """Shares of what places take in, as read: `where` says where in the file a place's row is."""

    taker: Counts
    source: Counts
    share: Floats
    where: tuple[str, ...]


class _PlaceMatrix(NamedTuple):
    """Numbers by place, [row, column], and where in the file each row is."""

    values: Floats
    where: tuple[str, ...]


def read_heat(name: str, folder: Path, places: RoomPlaces, within: float) -> HeatReading:
    """The air that a file of shares describes; InputError where rows or flows are off by more than `within`."""
    shares = _read_shares(name, folder, places.names)
    raise_if_any(_share_problems(name, shares, places, max(within, _TOLERANCE)))
    return _balanced(name, Links(*shares[:2], shares.share * places.m3_per_s[shares.taker]), places)


def read_distribution(name: str, folder: Path, places: RoomPlaces) -> HeatReading:
    """The air that a file of kelvins per watt implies, [node that heats up, node that draws]."""
    matrix = _matrix(name, _cells(name, folder), places.names[: places.n_nodes])
    links, notes = links_of_distribution(matrix.values, places.m3_per_s, name)
    balanced = _balanced(name, links, places)
    return balanced._replace(notes=(*notes, *balanced.notes, *_off_inlets(name, matrix.values, balanced.flow, places)))


def _off_inlets(name: str, d_k_per_w: Floats, flow: HeatFlow, places: RoomPlaces) -> Iterator[str]:
    """By how much inlets differ from those of the matrix, with one power at all nodes, if that is worth a word."""
    n = places.n_nodes
    between = np.zeros((n, n))
    is_inner = (flow.taker < n) & (flow.source < n)
    between[flow.taker[is_inner], flow.source[is_inner]] = flow.share[is_inner]
    outlet = np.linalg.solve(np.eye(n) - between, 1 / (AIR_J_PER_M3_K * places.m3_per_s[:n]))
    asked = d_k_per_w.sum(axis=1)
    off = np.abs(between @ outlet - asked).max() / np.abs(asked).max()
    if off > _TOLERANCE:
        yield f"{name}: with one power at all nodes, inlets are off by up to {100 * off:.3g} % of the largest rise"


def _balanced(name: str, links: Links, places: RoomPlaces) -> HeatReading:
    even = balanced(links, places.m3_per_s, places.n_nodes)
    moved = np.abs(even.m3_per_s - links.m3_per_s).sum() / 2 / places.m3_per_s.sum()
    note = f"{name}: {100 * moved:.3g} % of the air was moved so that no place loses any"
    return HeatReading(flow_of(even, places.m3_per_s), (note,) if moved > _TOLERANCE else ())


def _read_shares(name: str, folder: Path, places: Sequence[str]) -> _IntakeShares:
    if Path(name).suffix.lower() == ".parquet":
        return _listed_shares(read_table(name, folder), places)
    rows = _cells(name, folder)
    if {cell.strip() for cell in rows[0]} == {column.name for column in HEAT_COLUMNS}:
        return _listed_shares(read_table(name, folder), places)
    matrix = _matrix(name, rows, places)
    taker, source = np.nonzero(matrix.values)
    return _IntakeShares(taker, source, matrix.values[taker, source], matrix.where)


def _listed_shares(table: InputTable, places: Sequence[str]) -> _IntakeShares:
    table.check_columns(HEAT_COLUMNS)
    raise_if_any(table.problems)
    ends = [table.codes(column.name, places, "node or CRAC unit").astype(np.int64) for column in (_TAKER, _SOURCE)]
    share = table.quantity(_SHARE)
    repeated = np.ones(share.size, bool)
    repeated[np.unique(ends[0] * len(places) + ends[1], return_index=True)[1]] = False
    table.report_rows(_SHARE.name, repeated & (np.minimum(*ends) >= 0), "each taker and source may have one row")
    raise_if_any(table.problems)
    where = tuple(f"{table.name}: taker {place}" for place in places)
    return _IntakeShares(ends[0], ends[1], share, where)


def _share_problems(name: str, shares: _IntakeShares, places: RoomPlaces, within: float) -> Iterator[Problem]:
    """Shares below 0, rows that do not add up to 1, and places whose air gets lost or comes from nowhere."""
    through, n = places.m3_per_s, len(places.names)
    for at in np.flatnonzero(shares.share < 0)[:MAX_LISTED]:
        where = f"{shares.where[shares.taker[at]]} from {places.names[shares.source[at]]}"
        yield Problem(where, f"found {shares.share[at]:g}", "a share must be 0 or more")
    sums = np.bincount(shares.taker, shares.share, n)
    for at in np.flatnonzero(np.abs(sums - 1) > within)[:MAX_LISTED]:
        found = f"found shares that add up to {sums[at]:.9g}"
        yield Problem(shares.where[at], found, "must add up to 1", _advice(np.abs(sums - 1)))
    if (np.abs(sums - 1) > within).any():
        return
    taken = np.bincount(shares.source, shares.share * through[shares.taker], n)
    off = np.abs(taken / through - 1)
    for at in np.flatnonzero(off > within)[:MAX_LISTED]:
        found = f"found {through[at]:.6g} m3/s that leave it, and {taken[at]:.6g} m3/s taken in from it"
        verb = "get lost" if taken[at] < through[at] else "come from nowhere"
        advice = f"{abs(taken[at] - through[at]):.3g} m3/s {verb}; {_advice(off)}".removesuffix("; ")
        yield Problem(f"{name}: source {places.names[at]}", found, "must be equal", advice)


def _advice(off: Floats) -> str:
    least = math.ceil(1e4 * off.max()) / 1e4
    return f"balance_within = {least:g} lets it be balanced" if least <= 0.5 else ""


def links_of_distribution(
    d_k_per_w: Floats, m3_per_s: Floats, name: str = "heat_k_per_w"
) -> tuple[Links, tuple[str, ...]]:
    """The air that a heat distribution matrix D implies, and what was changed for it; InputError if there is none.

    `m3_per_s` is the air through the nodes, and then the CRAC units. Inlets are supply + D x power. With K the kelvin
    by which a watt heats a node's air, D = (I - A)^-1 A diag(K), so that A = B (I + B)^-1 with B = D diag(1/K). What a
    node does not take from nodes comes from the CRAC units, and what nodes do not take from it goes there, by the flows
    of the units, as D knows one supply only. Shares below 0, as fits have them, are set to 0, and the others of the
    row made smaller, so that a node takes in as much hot air as before.
    """
    n = len(d_k_per_w)
    of_nodes, of_units = m3_per_s[:n], m3_per_s[n:]
    b = d_k_per_w * (AIR_J_PER_M3_K * of_nodes)
    shares: Floats = np.asarray(np.linalg.solve((np.eye(n) + b).T, b.T).T, np.float64)
    between = _without_negatives(shares) * of_nodes[:, None]
    supplied, returned = of_nodes - between.sum(axis=1), of_nodes - between.sum(axis=0)
    raise_if_any(_distribution_problems(name, supplied / of_nodes, returned / of_nodes))
    raise_if_any(_supply_problems(name, float(supplied.sum()), float(of_units.sum())))
    part = of_units / of_units.sum()
    around = np.diag(np.maximum(of_units - part * supplied.sum(), 1e-9 * of_units))
    table = np.block([[between, np.outer(supplied, part)], [np.outer(part, np.maximum(returned, 0.0)), around]])
    taker, source = np.nonzero(table)
    return Links(taker, source, table[taker, source]), _negatives(name, shares)


def _without_negatives(shares: Floats) -> Floats:
    positive = np.maximum(shares, 0.0)
    sums = positive.sum(axis=1)
    kept = np.divide(shares.sum(axis=1), sums, out=np.zeros_like(sums), where=sums > 0)
    return np.asarray(positive * np.maximum(kept, 0.0)[:, None])


def _negatives(name: str, shares: Floats) -> tuple[str, ...]:
    is_below = shares < -_ROUNDING
    if not is_below.any():
        return ()
    part = 100 * -shares[is_below].sum() / np.abs(shares).sum()
    return (f"{name}: {is_below.sum()} shares below 0 (the least {shares.min():.2g}) set to 0, {part:.3g} % of all",)


def _distribution_problems(name: str, supplied: Floats, returned: Floats) -> Iterator[Problem]:
    """Nodes that would take in, or give on, more hot air than goes through them."""
    advice = "the flow of the nodes, or the unit of the matrix (K/W), may be wrong"
    for at in np.flatnonzero(supplied <= 0)[:MAX_LISTED]:
        found = f"found {100 * (1 - supplied[at]):.4g} % of the air of this node to come from nodes"
        yield Problem(f"{name}: row {at + 1}", found, "must be below 100 %", advice)
    for at in np.flatnonzero(returned < -0.05)[:MAX_LISTED]:
        found = f"found {100 * (1 - returned[at]):.4g} % of what this node blows out to be taken in by nodes"
        yield Problem(f"{name}: column {at + 1}", found, "must be at most 100 %", advice)


def _supply_problems(name: str, supplied_m3_per_s: float, blown_m3_per_s: float) -> Iterator[Problem]:
    if supplied_m3_per_s > blown_m3_per_s * (1 + _TOLERANCE):
        found = f"found {supplied_m3_per_s:.4g} m3/s that nodes take from CRAC units which blow {blown_m3_per_s:.4g}"
        yield Problem(name, found, "the units must blow as much at least", "raise their flow")


def _cells(name: str, folder: Path) -> list[list[str]]:
    """The cells of a CSV file, without blank lines; InputError where it cannot be read."""
    try:
        text = (folder / name).read_text(encoding="utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text), strict=True) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem(name, f"cannot be read: {error}", "must be a CSV file")) from error
    if not rows:
        raise InputError(Problem(name, "is empty", "must hold a matrix"))
    return rows


def _matrix(name: str, rows: list[list[str]], places: Sequence[str]) -> _PlaceMatrix:
    """A square matrix, in the order of the places: numbers only, or with their names above and before the numbers."""
    n, columns = len(places), list(range(len(places)))
    where = tuple(f"{name}: row {at + 1}, {place}" for at, place in enumerate(places))
    if not _is_number(rows[0][-1]):
        columns = _order(f"{name}: header", [cell.strip() for cell in rows[0][1:]], places)
        order = _order(f"{name}: first column", [row[0].strip() for row in rows[1:]], places)
        rows = [rows[1 + at][1:] for at in order]
        where = tuple(f"{name}: {place}" for place in places)
    if len(rows) != n or n > _MOST_MATRIX:
        advice = "list taker, source and share of a larger room"
        raise InputError(Problem(name, f"found {len(rows)} rows", f"must be {n}, and at most {_MOST_MATRIX:,}", advice))
    raise_if_any(_cell_problems(where, rows, n))
    return _PlaceMatrix(np.array(rows, np.float64)[:, columns], where)


def _order(where: str, names: list[str], places: Sequence[str]) -> list[int]:
    """Where each place is among the names, which must be theirs."""
    if sorted(names) != sorted(places):
        odd = sorted(set(names) ^ set(places)) or sorted({name for name in names if names.count(name) > 1})
        found = f"found {len(names)} names; missing, unknown or repeated: {', '.join(map(repr, odd[:MAX_LISTED]))}"
        raise InputError(Problem(where, found, f"must be the names of the {len(places)} places"))
    at = {name: position for position, name in enumerate(names)}
    return [at[place] for place in places]


def _cell_problems(where: Sequence[str], rows: list[list[str]], n: int) -> Iterator[Problem]:
    for of_row, row in zip(where, rows, strict=True):
        if len(row) != n:
            yield Problem(of_row, f"found {len(row)} numbers", f"must be {n}")
        wrong = [(at, cell) for at, cell in enumerate(row) if not _is_number(cell)]
        for at, cell in wrong[:1]:
            yield Problem(f"{of_row}, column {at + 1}", f"found {cell!r}", "must be a finite number")


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
