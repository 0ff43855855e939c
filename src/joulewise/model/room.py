"""A room: how air flows between nodes and CRAC units, how hot it may be, and what cooling costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields, frozen
from joulewise.visible import Visible

AIR_J_PER_M3_K = 1.19 * 1005.0
"""What a cubic metre of air takes up per kelvin: density 1.19 kg/m3, heat capacity 1005 J/(kg K)."""

_STEPS, _LEAST_FALL = 32, 1e-6
_SHARES_TOLERANCE, _FLOW_TOLERANCE = 1e-6, 1e-6


class HeatFlow(NamedTuple):
    """Where the air that each place takes in comes from: rows of shares, kept where they are not 0.

    Places are the nodes, then the CRAC units. Row j is from `start[j]` to `start[j + 1]`: of the air that place j takes
    in, the share `share[e]` left place `source[e]`.
    """

    start: Counts
    source: Ints
    share: Floats

    @property
    def n_places(self) -> int:
        return self.start.size - 1

    @property
    def taker(self) -> Counts:
        """The place that takes in each entry's share."""
        return np.repeat(np.arange(self.n_places), np.diff(self.start))


def heat_flow(table: Floats) -> HeatFlow:
    """The flow that a full table of shares [taker, source] describes."""
    taker, source = np.nonzero(table)
    start = np.searchsorted(taker, np.arange(len(table) + 1))
    return HeatFlow(frozen(start, np.int64), frozen(source, np.int32), frozen(table[taker, source], np.float64))


def _curve_problems(curve: CopCurve) -> Iterator[Problem]:
    if curve.coefficients.ndim != 1 or curve.coefficients.size == 0 or not np.isfinite(curve.coefficients).all():
        yield Problem("CoP", f"found {curve.coefficients.tolist()}", "must be one or more finite numbers")
    if curve.at_c is not None:
        if curve.at_c.shape != curve.coefficients.shape:
            yield Problem("CoP", f"found {curve.at_c.size} temperatures", "must be one for each value")
        elif not (np.diff(curve.at_c) > 0).all():
            yield Problem("CoP", f"found temperatures {curve.at_c.tolist()}", "must rise")


@dataclass(frozen=True, eq=False)
class CopCurve:
    """The coefficient of performance by supply temperature: joules of heat removed per joule of electricity.

    Either a polynomial, with the coefficients of 1, t, t^2, ... in `coefficients`, or, with `at_c`, straight lines
    through the points (at_c, coefficients), level before the first and after the last.
    """

    coefficients: Floats
    at_c: Floats | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, {"coefficients": np.float64, "at_c": np.float64})
        raise_if_any(_curve_problems(self))

    def __call__(self, supply_c: Floats | float) -> Floats:
        if self.at_c is None:
            powers = np.asarray(supply_c, np.float64)[..., None] ** np.arange(self.coefficients.size)
            return np.asarray(powers @ self.coefficients)
        return np.asarray(np.interp(supply_c, self.at_c, self.coefficients))

    def least_slope(self, low_c: float, high_c: float) -> float:
        """The least change per degree anywhere from one temperature to another."""
        if self.at_c is not None:
            inside = self.at_c[(self.at_c > low_c) & (self.at_c < high_c)]
            at_c = np.concatenate(([low_c], inside, [high_c]))
            return float((np.diff(self(at_c)) / np.diff(at_c)).min())
        slope = np.polynomial.Polynomial(self.coefficients).deriv()
        turns = np.real(slope.deriv().roots())
        at_c = np.concatenate(([low_c, high_c], turns[(turns > low_c) & (turns < high_c)]))
        return float(slope(at_c).min())

    def turns_c(self) -> Floats:
        """The temperatures at which the curve may stop rising or falling."""
        if self.at_c is not None:
            return self.at_c
        return np.asarray(np.real(np.polynomial.Polynomial(self.coefficients).deriv().roots()))

    def is_same(self, other: CopCurve) -> bool:
        """Whether two curves are one."""
        same = np.array_equal(self.coefficients, other.coefficients)
        points = [() if curve.at_c is None else tuple(curve.at_c) for curve in (self, other)]
        return same and points[0] == points[1]


HP_UTILITY_DATA_CENTER = CopCurve(np.array([0.458, 0.0008, 0.0068]))
"""The curve of a chilled-water CRAC unit that Moore et al. (2005) measured, and Oxley et al. use."""


@dataclass(frozen=True, eq=False)
class Room(Visible, looks="facility"):
    """Nodes and CRAC units with the air that flows between them.

    Flows are in cubic metres a second. A node may take in air of `redline_c` at most; each CRAC unit can blow air from
    `coldest_c` to `hottest_c`, and has its own curve in `cop`. `place_m` is where each node stands, [node, (x, y,
    height)], for maps; empty where that is not known. With `may_heat` a unit that takes in colder air than it blows is
    a heater that is paid for its heat, as the equations have it word for word; otherwise no plan may have one. Names
    are what people call nodes and units, their numbers where nothing is given. Raises InputError with every problem
    found: shares of a row that do not add up to 1, or air that does not come back to where it leaves.
    """

    flow: HeatFlow
    node_m3_per_s: Floats
    crac_m3_per_s: Floats
    redline_c: Floats
    coldest_c: Floats
    hottest_c: Floats
    cop: Sequence[CopCurve]
    place_m: Floats
    may_heat: bool = False
    node_names: tuple[str, ...] = ()
    crac_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = ("node_m3_per_s", "crac_m3_per_s", "redline_c", "coldest_c", "hottest_c", "place_m")
        freeze_fields(self, dict.fromkeys(names, np.float64))
        for name, n in (("node_names", self.n_nodes), ("crac_names", self.n_cracs)):
            object.__setattr__(self, name, getattr(self, name) or tuple(map(str, range(n))))
        raise_if_any(_room_problems(self))

    @property
    def n_nodes(self) -> int:
        return self.node_m3_per_s.size

    @property
    def n_cracs(self) -> int:
        return self.crac_m3_per_s.size

    @property
    def m3_per_s(self) -> Floats:
        """The air through every place."""
        return np.concatenate((self.node_m3_per_s, self.crac_m3_per_s))

    def falls(self, supply_c: Floats, weight: Floats) -> tuple[float, float]:
        """By how much, about, 1 / CoP falls with each degree, colder and warmer than these supplies; never quite 0.

        Root mean squares over what all units can blow, by their weights.
        """
        dearer2, warmer2 = np.zeros(2), np.zeros(2)
        for unit, curve in enumerate(self.cop):
            low_c, high_c = float(self.coldest_c[unit]), float(self.hottest_c[unit])
            at_c = np.concatenate((np.linspace(low_c, high_c, _STEPS + 1), np.clip(curve.turns_c(), low_c, high_c)))
            warmer = at_c - supply_c[unit]
            dearer = 1.0 / curve(at_c) - 1.0 / curve(supply_c[unit])
            for side, is_there in enumerate((warmer < 0.0, warmer > 0.0)):
                dearer2[side] += weight[unit] * float((dearer[is_there] ** 2).sum())
                warmer2[side] += weight[unit] * float((warmer[is_there] ** 2).sum())
        falls = np.sqrt(np.divide(dearer2, warmer2, out=np.zeros(2), where=warmer2 > 0.0))
        return float(max(falls[0], _LEAST_FALL)), float(max(falls[1], _LEAST_FALL))

    @property
    def has_one_rising_curve(self) -> bool:
        """Whether all CRAC units have the same curve, and it falls nowhere from the coldest to the hottest supply."""
        ends_c = float(self.coldest_c.min()), float(self.hottest_c.max())
        return self.has_one_curve and (ends_c[0] == ends_c[1] or self.cop[0].least_slope(*ends_c) >= 0.0)

    @property
    def has_one_curve(self) -> bool:
        """Whether all CRAC units have the same curve."""
        return all(curve.is_same(self.cop[0]) for curve in self.cop)

    def place_name(self, place: int) -> str:
        """How messages call a place."""
        return f"node {place}" if place < self.n_nodes else f"CRAC {place - self.n_nodes}"

    def cop_at(self, supply_c: Floats) -> Floats:
        """The coefficient of performance of each unit at its supply temperature; [.., unit] for several."""
        return np.stack([curve(supply_c[..., c]) for c, curve in enumerate(self.cop)], axis=-1)


def _room_problems(room: Room) -> Iterator[Problem]:
    shape_problems = list(_shape_problems(room))
    yield from shape_problems
    if shape_problems:
        return
    yield from _flow_problems(room)
    yield from _cooling_problems(room)


def _shape_problems(room: Room) -> Iterator[Problem]:
    n, n_cracs = room.n_nodes, room.n_cracs
    if n == 0 or n_cracs == 0:
        yield Problem("room", f"found {n} nodes and {n_cracs} CRAC units", "there must be at least one of each")
    if room.flow.n_places != n + n_cracs:
        allowed = f"must be the {n} nodes and then the {n_cracs} CRAC units"
        yield Problem("heat flow", f"found {room.flow.n_places} rows", allowed)
    for source in room.flow.source[(room.flow.source < 0) | (room.flow.source >= n + n_cracs)][:3]:
        yield Problem("heat flow", f"found source {source}", f"must be from 0 to {n + n_cracs - 1}")
    for name, size in (("redline_c", n), ("coldest_c", n_cracs), ("hottest_c", n_cracs)):
        column = getattr(room, name)
        if column.shape != (size,):
            yield Problem(f"room.{name}", f"found {column.size} values", f"must be {size} temperatures")
        for at in np.flatnonzero(~np.isfinite(column))[:3]:
            yield Problem(f"room.{name}: {at}", f"found {column[at]}", "must be finite")
    for name, size in (("node_names", n), ("crac_names", n_cracs)):
        if len(getattr(room, name)) != size:
            yield Problem(f"room.{name}", f"found {len(getattr(room, name))} names", f"must be {size}, or none")
    if len(room.cop) != n_cracs:
        yield Problem("CoP", f"found {len(room.cop)} curves", f"must be one for each of the {n_cracs} CRAC units")
    if room.place_m.shape not in ((0,), (0, 3), (n, 3)):
        yield Problem("room.place_m", f"found shape {room.place_m.shape}", f"must be ({n}, 3), or empty")
    for name in ("node_m3_per_s", "crac_m3_per_s"):
        column = getattr(room, name)
        for at in np.flatnonzero(~((column > 0) & np.isfinite(column)))[:3]:
            yield Problem(f"room.{name}: {at}", f"found {column[at]}", "must be above 0 m3/s, and finite")


def _flow_problems(room: Room) -> Iterator[Problem]:
    flow, through = room.flow, room.m3_per_s
    for entry in np.flatnonzero(~((flow.share >= 0) & np.isfinite(flow.share)))[:3]:
        where = f"heat flow: {room.place_name(int(flow.taker[entry]))} from {room.place_name(int(flow.source[entry]))}"
        yield Problem(where, f"found {flow.share[entry]}", "must be 0 or more")
    sums = np.bincount(flow.taker, flow.share, flow.n_places)
    for place in np.flatnonzero(np.abs(sums - 1.0) > _SHARES_TOLERANCE)[:3]:
        found = f"found shares that add up to {sums[place]:.9g}"
        yield Problem(f"heat flow: {room.place_name(int(place))}", found, "must add up to 1")
    if np.abs(sums - 1.0).max() > _SHARES_TOLERANCE:
        return
    taken = np.bincount(flow.source, flow.share * through[flow.taker], flow.n_places)
    off = taken - through
    for place in np.flatnonzero(np.abs(off) > _FLOW_TOLERANCE * through)[:3]:
        found = f"found {through[place]:.9g} m3/s that leave it, and {taken[place]:.9g} m3/s taken in from it"
        where = f"heat flow: {room.place_name(int(place))}"
        yield Problem(where, found, "must be equal", f"{abs(off[place]):.3g} m3/s get lost or come from nowhere")
    yield from _reach_problems(room)


def _reach_problems(room: Room) -> Iterator[Problem]:
    """Nodes that no air from any CRAC unit ever reaches, so that they would heat up without end."""
    flow, is_cooled = room.flow, np.arange(room.flow.n_places) >= room.n_nodes
    before = np.zeros_like(is_cooled)
    while not np.array_equal(before, is_cooled):
        before = is_cooled.copy()
        is_cooled[flow.taker[is_cooled[flow.source] & (flow.share > 0)]] = True
    for place in np.flatnonzero(~is_cooled)[:3]:
        found = "found no air that comes from a CRAC unit, not even through other nodes"
        yield Problem(f"heat flow: {room.place_name(int(place))}", found, "every node must be cooled")


def _cooling_problems(room: Room) -> Iterator[Problem]:
    for unit in np.flatnonzero(room.coldest_c > room.hottest_c):
        found = f"found {room.coldest_c[unit]:g} to {room.hottest_c[unit]:g} °C"
        yield Problem(f"CRAC {unit}", found, "the coldest must not be above the hottest")
    for c, curve in enumerate(room.cop):
        grid_c = np.linspace(room.coldest_c[c], room.hottest_c[c], 101)
        if not (curve(grid_c) > 0).all():
            at_c = grid_c[int(np.argmin(curve(grid_c)))]
            found = f"found {float(curve(at_c)):.4g} at {at_c:.4g} °C"
            yield Problem(f"CoP of CRAC {c}", found, "must be above 0 from the coldest to the hottest supply")
            break
    coldest_c = float(room.coldest_c.min())
    for node in np.flatnonzero(room.redline_c < coldest_c)[:3]:
        found = f"found {room.redline_c[node]:g} °C"
        allowed = f"must be {coldest_c:g} °C or more, the coldest supply"
        yield Problem(f"redline: node {node}", found, allowed, "raise the redline, or let a CRAC unit blow colder")
