"""Rooms drawn at random: racks along aisles, CRAC units with zones of their own, and air that no place loses.

How the published heat matrices were drawn is not public. Here, nodes stand in racks, racks along aisles, and each CRAC
unit has a zone of nodes with as much air flow as any other. A node takes in most of its air from the unit of its zone
and from those nearby, and the more from its neighbours the higher it stands. What is drawn is then balanced: every
place takes in exactly its flow, and all that leaves a place is taken in somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, frozen
from joulewise.model.room import HP_UTILITY_DATA_CENTER, HeatFlow, Room
from joulewise.rng import generator
from joulewise.worlds.parameters import Rule, broken_rules, explained, is_not_negative

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_CRACS = 10_000
AIR_C = (-20.0, 60.0)
AIR_ALLOWED = f"must be from {AIR_C[0]:g} to {AIR_C[1]:g}, in °C, not K"

_RACK_WIDTH_M, _ROW_PITCH_M, _NODE_HEIGHT_M = 0.6, 2.4, 0.0889
_BALANCED, _LOST = 1e-12, 1e-9
_SWEEPS, _STEPS, _SOLVER_STEPS, _SOLVED = 20, 20, 200, 1e-4


@dataclass(frozen=True)
class RoomParameters:
    """How a room is laid out and its air flows; the figures are ours. Raises InputError with every problem found."""

    cracs: int = explained(3, "number of CRAC units; each has the same flow, and together they have that of all nodes")
    nodes_per_rack: int = explained(20, "how many nodes stand above each other")
    recirculation: tuple[float, float] = explained(
        (0.05, 0.3), "share of what a node takes in that other nodes blow out, at the bottom and at the top of a rack"
    )
    supply_spread: float = explained(
        0.25, "share of the cold air of a node that comes from other CRAC units than that of its zone"
    )
    return_spread: float = explained(0.35, "the same for the hot air of a node: how much of it other units take in")
    unevenness: float = explained(0.3, "how far, as a share, each link may differ from that of an even room")
    redline_c: float = explained(25.0, "hottest air, in degrees C, that a node may take in")
    coldest_c: float = explained(10.0, "coldest air, in degrees C, that a CRAC unit can blow")
    hottest_c: float = explained(25.0, "hottest air, in degrees C, that a CRAC unit can blow")

    def __post_init__(self) -> None:
        raise_if_any(broken_rules("system", self, room_rules(self)))


def room_rules(p: RoomParameters) -> Iterator[Rule]:
    """What the parameters of a room must keep to."""
    yield "cracs", 1 <= p.cracs <= MAX_CRACS, f"must be from 1 to {MAX_CRACS:,}"
    yield "nodes_per_rack", p.nodes_per_rack >= 1, "must be 1 or more"
    are_shares = is_not_negative(*p.recirculation) and max(p.recirculation) < 1
    yield "recirculation", are_shares, "must be two shares, at the bottom and at the top, from 0 to below 1"
    for name in ("supply_spread", "return_spread"):
        yield name, 0.05 <= getattr(p, name) <= 0.9, "must be a share from 0.05 to 0.9"
    yield "unevenness", 0 <= p.unevenness <= 0.9, "must be a share from 0 to 0.9"
    for name in ("coldest_c", "hottest_c", "redline_c"):
        yield air_rule(name, getattr(p, name))
    yield "hottest_c", p.coldest_c <= p.hottest_c, f"must be coldest_c, {p.coldest_c:g}, or more"
    yield "redline_c", p.redline_c >= p.coldest_c, f"must be coldest_c, {p.coldest_c:g}, or more"


def air_rule(name: str, value_c: float) -> Rule:
    """What the temperature of air that is blown or taken in must keep to: kelvin are refused."""
    return name, AIR_C[0] <= value_c <= AIR_C[1], AIR_ALLOWED


class Links(NamedTuple):
    """Air on its way: this many m3/s that `source` blows out and `taker` takes in; nodes come first, then CRAC "
    "units."""

    taker: Counts
    source: Counts
    m3_per_s: Floats


class _RoomLayout(NamedTuple):
    """Where the nodes stand: the row of each, the place of its rack in that row, its level, and where that is."""

    row: Counts
    column: Counts
    level: Counts
    racks_per_row: int
    place_m: Floats


def generate_room(parameters: RoomParameters, node_m3_per_s: Floats, seed: int, trial: int) -> Room:
    """A room for nodes that take in this much air each."""
    p, n = parameters, node_m3_per_s.size
    if p.cracs > n:
        raise InputError(Problem("system.cracs", f"found {p.cracs} for {n} nodes", "must not be more than the nodes"))
    layout = _layout(n, p.nodes_per_rack)
    crac_m3_per_s = np.full(p.cracs, node_m3_per_s.sum() / p.cracs)
    links = _drawn_links(p, layout, node_m3_per_s, generator(seed, trial, "room.links"))
    through = np.concatenate((node_m3_per_s, crac_m3_per_s))
    return Room(
        flow_of(balanced(links, through, n), through),
        node_m3_per_s,
        crac_m3_per_s,
        np.full(n, p.redline_c),
        np.full(p.cracs, p.coldest_c),
        np.full(p.cracs, p.hottest_c),
        (HP_UTILITY_DATA_CENTER,) * p.cracs,
        layout.place_m,
    )


def _layout(n_nodes: int, nodes_per_rack: int) -> _RoomLayout:
    """Racks in rows that make the room about square; nodes are numbered rack by rack from the bottom up."""
    rack, level = np.divmod(np.arange(n_nodes), nodes_per_rack)
    n_racks = int(rack[-1]) + 1
    n_rows = max(round(np.sqrt(n_racks * _RACK_WIDTH_M / _ROW_PITCH_M)), min(n_racks, 2))
    racks_per_row = -(-n_racks // n_rows)
    row, column = np.divmod(rack, racks_per_row)
    place_m = np.column_stack((column * _RACK_WIDTH_M, row * _ROW_PITCH_M, (level + 0.5) * _NODE_HEIGHT_M))
    return _RoomLayout(row, column, level, racks_per_row, place_m)


def _drawn_links(p: RoomParameters, layout: _RoomLayout, node_m3_per_s: Floats, stream: np.random.Generator) -> Links:
    """The air of an uneven room, before it is balanced."""
    n = node_m3_per_s.size
    height = layout.level / max(p.nodes_per_rack - 1, 1)
    mixed = p.recirculation[0] + (p.recirculation[1] - p.recirculation[0]) * height
    between = _between_nodes(layout, mixed * node_m3_per_s)
    given_on = np.bincount(between.source, between.m3_per_s, n)
    returned = np.maximum(node_m3_per_s - given_on, 0.1 * node_m3_per_s)
    zone, nearest = _zones(layout, node_m3_per_s, p.cracs)
    if max(p.recirculation) < _LITTLE:
        nearest = _with_next(nearest)
    supplied = _to_units(zone, nearest, (1 - mixed) * node_m3_per_s, p.supply_spread)
    exhausted = _to_units(zone, nearest, returned, p.return_spread)
    bypass = np.full(p.cracs, (mixed * node_m3_per_s).sum() / p.cracs)
    around = _to_units(np.arange(p.cracs), nearest, bypass, p.return_spread)
    links = _joined(
        between,
        Links(supplied.taker, n + supplied.source, supplied.m3_per_s),
        Links(n + exhausted.source, exhausted.taker, exhausted.m3_per_s),
        Links(n + around.taker, n + around.source, around.m3_per_s),
    )
    off = stream.uniform(1 - p.unevenness, 1 + p.unevenness, links.m3_per_s.size)
    return links._replace(m3_per_s=links.m3_per_s * off)


_NEIGHBOURS = (
    (0, 0, -1, 3.0), (0, 0, -2, 1.5), (0, 0, 1, 1.0),
    (0, -1, 0, 1.0), (0, 1, 0, 1.0), (0, -1, -1, 0.7), (0, 1, -1, 0.7),
    (1, 0, 0, 0.8), (1, 0, -1, 0.6),
)  # fmt: skip
"""From where a node takes in what others blow out, and how much of it; hot air rises.

Whether from the other row at its cold aisle, and how many racks and levels away.
"""


def _between_nodes(layout: _RoomLayout, m3_per_s: Floats) -> Links:
    """What nodes take in from their neighbours; one without any takes in what it blew out itself."""
    n, per_rack = m3_per_s.size, int(layout.level.max()) + 1
    parts = []
    for opposite, columns, levels, weight in _NEIGHBOURS:
        row, column, level = layout.row ^ opposite, layout.column + columns, layout.level + levels
        source = (row * layout.racks_per_row + column) * per_rack + level
        is_inside = (column >= 0) & (column < layout.racks_per_row) & (level >= 0) & (level < per_rack)
        taker = np.flatnonzero(is_inside & (source < n))
        parts.append(Links(taker, source[taker], np.full(taker.size, weight)))
    links = _joined(*parts)
    alone = np.setdiff1d(np.arange(n), links.taker)
    links = _joined(links, Links(alone, alone, np.ones(alone.size)))
    share = links.m3_per_s / np.bincount(links.taker, links.m3_per_s, n)[links.taker]
    return _kept(links._replace(m3_per_s=share * m3_per_s[links.taker]))


_UNITS_LINKED = 4


def _zones(layout: _RoomLayout, node_m3_per_s: Floats, cracs: int) -> tuple[Counts, Counts]:
    """The zone of each node, all of about one flow, and for each unit itself and the units nearest to it.

    Zones follow the rows to and fro, so that each is one piece of the room.
    """
    from scipy.spatial import KDTree

    along = np.where(layout.row // 2 % 2 == 0, layout.column, layout.racks_per_row - 1 - layout.column)
    order = np.lexsort((layout.level, layout.row, along, layout.row // 2))
    before = np.cumsum(node_m3_per_s[order]) - node_m3_per_s[order] / 2
    zone = np.empty(order.size, np.int64)
    zone[order] = np.minimum((before / node_m3_per_s.sum() * cracs).astype(np.int64), cracs - 1)
    sizes = np.maximum(np.bincount(zone, minlength=cracs), 1)
    centre = np.column_stack([np.bincount(zone, axis, cracs) / sizes for axis in layout.place_m[:, :2].T])
    centre[:, 0] += 1e-6 * np.arange(cracs)
    nearest = KDTree(centre).query(centre, min(_UNITS_LINKED, cracs))[1].reshape(cracs, -1)
    return zone, nearest


_LITTLE = 0.1
"""Where nodes take in less than this of each other's air, few links are left that can even out zones."""


def _with_next(nearest: Counts) -> Counts:
    """The same with the units of the zones before and after, from which any difference between zones can be made up."""
    unit = np.arange(len(nearest))
    beside = np.clip(np.column_stack((unit - 1, unit + 1)), 0, len(nearest) - 1)
    return np.concatenate((nearest, beside), axis=1)


def _to_units(zone: Counts, nearest: Counts, m3_per_s: Floats, spread: float) -> Links:
    """Air between places, as takers, and units, as sources: that of each one's zone, and in part those near to it."""
    units = nearest[zone]
    is_own = units == zone[:, None]
    n_own, n = is_own.sum(axis=1, keepdims=True), units.shape[1]
    share = np.where(is_own, np.where(n_own < n, 1 - spread, 1.0) / n_own, spread / np.maximum(n - n_own, 1))
    taker = np.repeat(np.arange(zone.size), units.shape[1])
    return _kept(Links(taker, units.ravel(), (share * m3_per_s[:, None]).ravel()))


def _joined(*links: Links) -> Links:
    taker, source, m3_per_s = zip(*links, strict=True)
    return Links(np.concatenate(taker), np.concatenate(source), np.concatenate(m3_per_s))


def _kept(links: Links) -> Links:
    """The links that carry air."""
    return _only(links, links.m3_per_s > 0)


def _only(links: Links, kept: Bools) -> Links:
    return Links(links.taker[kept], links.source[kept], links.m3_per_s[kept])


def balanced(links: Links, through: Floats, n_nodes: int) -> Links:
    """The nearest links that give every place its flow, in and out.

    Iterative proportional fitting: what each place takes in, and then what it blows out, is scaled to its flow, over
    and over. Far parts of a room come to terms slowly that way, so that Newton's steps on the logarithms of the same
    factors end it.
    """
    from scipy.sparse import csr_array, diags_array

    n = through.size
    table = csr_array((links.m3_per_s, (links.taker, links.source)), shape=(n, n))
    is_linked = (table.sum(axis=0) > 0) & (table.sum(axis=1) > 0)
    if not is_linked.all():
        raise InputError(_unbalanced(through, np.where(is_linked, 0.0, through), n_nodes))
    turned, zones = table.T.tocsr(), _zones_of(table, n_nodes)
    sources = np.ones(n)
    for _ in range(_SWEEPS):
        sources = through / (turned @ (through / (table @ sources)))
    for _ in range(_STEPS):
        takers = through / (table @ sources)
        off = through - sources * (turned @ takers)
        if np.abs(off / through).max() <= _BALANCED:
            break
        now = diags_array(takers) @ table @ diags_array(sources)
        sources = sources * np.exp(_step(now, through, off, zones))
        sources = through / (turned @ (through / (table @ sources)))
    if np.abs(off / through).max() > _LOST:
        raise InputError(_unbalanced(through, off, n_nodes))
    return links._replace(m3_per_s=links.m3_per_s * takers[links.taker] * sources[links.source])


def _unbalanced(through: Floats, off: Floats, n_nodes: int) -> Problem:
    place = int(np.argmax(np.abs(off / through)))
    name = f"node {place}" if place < n_nodes else f"CRAC {place - n_nodes}"
    found = f"found {abs(off[place]):.3g} of {through[place]:.6g} m3/s that no links can carry"
    advice = "link it to more places, or change its flow"
    return Problem(f"heat flow: {name}", found, "every place must take in, and give on, its flow", advice)


def _zones_of(table: csr_array, n_nodes: int) -> csr_array:
    """[place, CRAC]: 1 for the unit that takes in most of what the place blows out."""
    from scipy.sparse import csr_array

    n, to_units = table.shape[0], table[n_nodes:].T.tocsr()
    unit = np.concatenate((to_units[:n_nodes].argmax(axis=1), np.arange(n - n_nodes)))
    return csr_array((np.ones(n), (np.arange(n), unit)), shape=(n, n - n_nodes))


def _step(now: csr_array, through: Floats, off: Floats, zones: csr_array) -> Floats:
    """By how much the logarithms of the sources' factors change so that, to first order, nothing is off.

    The factors of the takers follow, so that all take in their flow. Conjugate gradients, with whole zones and single
    places as the two levels of the preconditioner.
    """
    from scipy.sparse import csc_array, diags_array, eye_array
    from scipy.sparse.linalg import LinearOperator, cg, splu

    left, turned, by_zone = through - off, now.T.tocsr(), now @ zones
    zone_left = zones.T @ left
    between = diags_array(zone_left) - by_zone.T @ diags_array(1 / through) @ by_zone
    solve_zones = splu(csc_array(between + 1e-3 * zone_left.min() * eye_array(zone_left.size))).solve
    shape = (off.size, off.size)
    system = LinearOperator(shape, lambda step: left * step - turned @ ((now @ step) / through), dtype=np.float64)
    levels = LinearOperator(shape, lambda off: off / left + zones @ solve_zones(zones.T @ off), dtype=np.float64)
    solvable = off - left * (off.sum() / left.sum())
    with np.errstate(all="ignore"):
        least = 0.1 * _BALANCED * through.min()
        step = np.nan_to_num(cg(system, solvable, rtol=_SOLVED, atol=least, maxiter=_SOLVER_STEPS, M=levels)[0])
    return np.asarray(np.clip(step, -1.0, 1.0))


def links_of(room: Room) -> Links:
    """The air that flows in a room."""
    taker = room.flow.taker
    return Links(taker, room.flow.source.astype(np.int64), room.flow.share * room.m3_per_s[taker])


def without_crac(room: Room, unit: int, *, is_replaced: bool = True) -> Room:
    """The room after a CRAC unit failed; the others keep their order.

    The units that blow to the same nodes as the failed one take its place. With `is_replaced` all others blow more, as
    much together as before; otherwise they blow what they blew, and nodes take in more of each other's air and
    their own.
    """
    if not (0 <= unit < room.n_cracs and room.n_cracs > 1):
        found, allowed = f"found unit {unit} of {room.n_cracs}", "there must be such a unit, and another one"
        raise InputError(Problem("failed CRAC", found, allowed))
    place, n = room.n_nodes + unit, room.n_nodes
    left = np.delete(room.crac_m3_per_s, unit)
    stand_ins, parts = _stand_ins(room, place)
    links = links_of(room)
    for at in (0, 1):
        is_lost = links[at] == place
        links = _joined(_only(links, ~is_lost), _rerouted(_only(links, is_lost), at, stand_ins, parts))
    if not is_replaced:
        links = _joined(links, _own_air(links_of(room), place, n))
    taker, source = (ends - (ends > place) for ends in links[:2])
    through = np.concatenate((room.node_m3_per_s, left * (room.crac_m3_per_s.sum() / left.sum() if is_replaced else 1)))
    flow = flow_of(balanced(Links(taker, source, links.m3_per_s), through, n), through)
    coldest_c, hottest_c = (np.delete(ends_c, unit) for ends_c in (room.coldest_c, room.hottest_c))
    cop = tuple(curve for c, curve in enumerate(room.cop) if c != unit)
    names = tuple(name for c, name in enumerate(room.crac_names) if c != unit)
    return replace(
        room,
        flow=flow,
        crac_m3_per_s=through[n:],
        coldest_c=coldest_c,
        hottest_c=hottest_c,
        cop=cop,
        crac_names=names,
    )


def _own_air(links: Links, place: int, n_nodes: int) -> Links:
    """As much air as this place blew to each node, but blown out by the node itself."""
    lost = _only(links, (links.source == place) & (links.taker < n_nodes))
    return lost._replace(source=lost.taker)


def _stand_ins(room: Room, place: int) -> tuple[Counts, Floats]:
    """The CRAC units that blow to the same places as this one, and in which parts; all others where there are none."""
    flow, taker = room.flow, room.flow.taker
    is_from = flow.source == place
    lost = np.bincount(taker[is_from], flow.share[is_from] * room.m3_per_s[taker[is_from]], flow.n_places)
    is_other = (flow.source >= room.n_nodes) & ~is_from
    weight = np.bincount(flow.source[is_other], (lost[taker] * flow.share)[is_other], flow.n_places)
    if weight.sum() == 0:
        weight = np.where(np.arange(flow.n_places) >= room.n_nodes, room.m3_per_s, 0.0)
    weight[place] = 0.0
    units = np.flatnonzero(weight)
    return units, weight[units] / weight.sum()


def _rerouted(lost: Links, at: int, units: Counts, parts: Floats) -> Links:
    """Links with their taker (at 0) or source (at 1) replaced by several units, in parts."""
    ends = [np.repeat(end, units.size) for end in lost[:2]]
    ends[at] = np.tile(units, lost.m3_per_s.size)
    return Links(ends[0], ends[1], np.outer(lost.m3_per_s, parts).ravel())


_MOST_RECIRCULATED = 0.9


def with_recirculation(room: Room, factor: float, nodes: Bools | Counts | None = None) -> Room:
    """The room when these nodes (all, where nothing is said) take in this many times as much hot air of other nodes.

    A what-if: an aisle whose doors stand open, or blanking panels that are missing. As all air must go somewhere, the
    factor is met about, not exactly, and no node takes in more than 90 % of hot air.
    """
    n, links = room.n_nodes, links_of(room)
    is_hotter = np.zeros(n + room.n_cracs, bool)
    is_hotter[np.arange(n) if nodes is None else np.arange(n)[nodes]] = True
    is_mixed = (links.source < n) & (links.taker < n)
    mixed = np.bincount(links.taker[is_mixed], links.m3_per_s[is_mixed], is_hotter.size) / room.m3_per_s
    more = np.where(is_hotter, np.minimum(factor * mixed, np.maximum(mixed, _MOST_RECIRCULATED)), mixed)
    grown = np.divide(more, mixed, out=np.ones_like(mixed), where=mixed > 0)
    shrunk = np.divide(1 - more, 1 - mixed, out=np.ones_like(mixed), where=mixed < 1)
    m3_per_s = links.m3_per_s * np.where(is_mixed, grown[links.taker], shrunk[links.taker])
    spare = np.bincount(links.source, links.m3_per_s - m3_per_s, is_hotter.size)
    links = _with_bypass(links._replace(m3_per_s=m3_per_s), np.where(np.arange(is_hotter.size) < n, 0.0, spare))
    return replace(room, flow=flow_of(balanced(links, room.m3_per_s, n), room.m3_per_s))


def _with_bypass(links: Links, spare_m3_per_s: Floats) -> Links:
    """What CRAC units have to spare goes straight back to units; what they lack they no longer pass there."""
    n, is_around = spare_m3_per_s.size, (spare_m3_per_s[links.source] != 0) & (spare_m3_per_s[links.taker] != 0)
    passed = np.bincount(links.source[is_around], links.m3_per_s[is_around], n)
    factor = np.maximum(1 + np.divide(spare_m3_per_s, passed, out=np.zeros(n), where=passed > 0), 0.1)
    new = np.flatnonzero((passed == 0) & (spare_m3_per_s > 0))
    m3_per_s = np.where(is_around, factor[links.source], 1.0) * links.m3_per_s
    return _joined(links._replace(m3_per_s=m3_per_s), Links(new, new, spare_m3_per_s[new]))


def with_nodes(room: Room, like: Counts) -> Room:
    """The room with other nodes: for each number given one like the node of that number, and next to it.

    Nodes whose numbers are not given go. What each CRAC unit blows changes by the factor of what all nodes take in.
    """
    from scipy.sparse import csr_array

    links, n, n_places = links_of(room), like.size, room.flow.n_places
    places = np.concatenate((like, np.arange(room.n_nodes, n_places)))
    table = csr_array((links.m3_per_s, (links.taker, links.source)), shape=(n_places, n_places))
    left = table[places][:, places].tocoo()
    node_m3_per_s = room.node_m3_per_s[like]
    crac_m3_per_s = room.crac_m3_per_s * (node_m3_per_s.sum() / room.node_m3_per_s.sum())
    through = np.concatenate((node_m3_per_s, crac_m3_per_s))
    taker, source = left.coords
    flow = flow_of(balanced(Links(taker, source, left.data), through, n), through)
    kept = {name: getattr(room, name)[like] for name in ("redline_c", "place_m") if getattr(room, name).size}
    names = _names_like(room, like)
    return replace(room, flow=flow, node_m3_per_s=node_m3_per_s, crac_m3_per_s=crac_m3_per_s, node_names=names, **kept)


def _names_like(room: Room, like: Counts) -> tuple[str, ...]:
    """The names of nodes; those that stand next to one of the same number before them are new."""
    is_new = np.ones(like.size, bool)
    is_new[np.unique(like, return_index=True)[1]] = False
    return tuple(
        f"new {new}" if is_one else room.node_names[node]
        for node, is_one, new in zip(like.tolist(), is_new.tolist(), np.cumsum(is_new).tolist())
    )


def hot_share(room: Room) -> Floats:
    """Which share of what each node takes in other nodes blew out, or it itself."""
    flow, n = room.flow, room.n_nodes
    return np.asarray(
        np.bincount(flow.taker, np.where(flow.source < n, flow.share, 0.0), flow.n_places)[:n], np.float64
    )


def flow_of(links: Links, through: Floats) -> HeatFlow:
    """The links as shares of what each place takes in, which add up to 1."""
    from scipy.sparse import csr_array

    table = csr_array((links.m3_per_s, (links.taker, links.source)), shape=(through.size, through.size))
    table.sum_duplicates()
    table.sort_indices()
    taken = np.repeat(table.sum(axis=1), np.diff(table.indptr))
    return HeatFlow(
        frozen(table.indptr, np.int64), frozen(table.indices, np.int32), frozen(table.data / taken, np.float64)
    )
