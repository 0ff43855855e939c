"""A site from tables: node types, a node list, CRAC units, and how air flows between them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem, attempt, raise_if_any
from joulewise.model.arrays import Floats, Ints
from joulewise.model.room import AIR_J_PER_M3_K, HP_UTILITY_DATA_CENTER, CopCurve, Room
from joulewise.worlds.facility.heat_tables import HeatReading, RoomPlaces, read_distribution, read_heat
from joulewise.worlds.facility.rooms import AIR_ALLOWED, AIR_C, air_rule
from joulewise.worlds.facility.site import (
    NODE_MODELS,
    NodeModel,
    Site,
    cap_rule,
    site_of,
)
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table
from joulewise.worlds.parameters import Rule, broken_rules, explained, is_positive

_NODE = InputColumn("node", "", "name of the node", True)
_NODE_TYPE = InputColumn("type", "", "node type, as in node_types, or one of the published ones", True)
_NODE_FLOW = InputColumn("m3_per_s", "m3/s", "air that it takes in; by rise_k and its full power if empty")
_REDLINE = InputColumn("redline_c", "degrees C", "hottest air that it may take in; redline_c of the study if empty")
_PLACE = tuple(InputColumn(f"{axis}_m", "m", f"where it stands: {axis}") for axis in ("x", "y", "height"))

NODE_COLUMNS = (_NODE, _NODE_TYPE, _NODE_FLOW, _REDLINE, *_PLACE)

_TYPE = InputColumn("type", "", "name of the node type", True)
_CORES = InputColumn("cores", "", "number of its cores", True)
_PROCESSORS = InputColumn("processors", "", "number of processors that its cores share evenly; 1 if empty")
_PSTATES = InputColumn("pstates", "", "number of P-states of its cores; 1 if empty")
_OVERHEAD = InputColumn("overhead_w", "W", "power of a node whose cores are all at rest", True)
_CORE_W = InputColumn("core_w", "W", "power of a core in P-state 0 on a task without memory; only generated flows, and "
                      "throughputs of pairs, need it")  # fmt: skip
_LEAST_CLOCK = InputColumn(
    "least_clock", "", "clock of the slowest P-state relative to P-state 0; only generated flows"
)
_RATIO = InputColumn("ratio_per_core", "", "speed of a core relative to SPEC's reference machine; only generated flows")

NODE_TYPE_COLUMNS = (_TYPE, _CORES, _PROCESSORS, _PSTATES, _OVERHEAD, _CORE_W, _LEAST_CLOCK, _RATIO)

_CRAC = InputColumn("crac", "", "name of the CRAC unit", True)
_CRAC_FLOW = InputColumn("m3_per_s", "m3/s", "air that it blows; an even part of what all nodes take in if empty")
_COLDEST = InputColumn("coldest_c", "degrees C", "coldest air that it can blow; 10 if empty")
_HOTTEST = InputColumn("hottest_c", "degrees C", "hottest air that it can blow; 25 if empty")
_COP = tuple(
    InputColumn(
        f"cop_{power}", "", f"coefficient of t^{power} in its coefficient of performance, t its supply in degrees C"
    )
    for power in range(4)
)

CRAC_COLUMNS = (_CRAC, _CRAC_FLOW, _COLDEST, _HOTTEST, *_COP)


@dataclass(frozen=True, kw_only=True)
class SiteTables:
    """The files that describe nodes, CRAC units and their air; names are relative to the folder they are read from.

    Either `heat` or `heat_k_per_w` must be given. Raises InputError with every problem found.
    """

    node_list: str = field(metadata={"help": "table of nodes, one row each", "file": True})
    crac_list: str = field(metadata={"help": "table of CRAC units, one row each", "file": True})
    node_type_list: str | None = explained(
        None, "table of node types; left out where all are published ones: TX140, x3200, RX100, AT110", file=True
    )
    heat: str | None = explained(
        None, "heat matrix: shares by taker (row) and source (column), or a table of taker, source and share", file=True
    )
    heat_k_per_w: str | None = explained(
        None, "heat distribution matrix, in its place: by how many kelvin a node (row) heats up per watt of another",
        file=True,
    )  # fmt: skip
    balance_within: float = explained(
        0.0, "by how much, as a share, rows and flows of heat may be off; they are then balanced, not refused"
    )
    rise_k: float = explained(10.0, "by how much a node at full power heats its air, where its flow is not given")
    redline_c: float = explained(25.0, "hottest air that a node may take in, where its redline is not given")
    cap_share: float = explained(
        0.6, "power that nodes and cooling may draw, as a share of full power; supply.power_cap has it in watts"
    )

    def __post_init__(self) -> None:
        raise_if_any(broken_rules("system", self, _site_rules(self)))


def _site_rules(p: SiteTables) -> Iterator[Rule]:
    yield "heat", (p.heat is None) != (p.heat_k_per_w is None), "one of heat and heat_k_per_w must be given, not both"
    yield "balance_within", 0 <= p.balance_within <= 0.5, "must be a share from 0 to 0.5"
    yield "rise_k", is_positive(p.rise_k), "must be above 0 K"
    yield air_rule("redline_c", p.redline_c)
    yield cap_rule(p.cap_share)


def read_site(tables: SiteTables, folder: Path = Path()) -> Site:
    """The nodes and the room that tables in this folder describe; InputError with every problem."""
    problems: list[Problem] = []
    models = NODE_MODELS if tables.node_type_list is None else attempt(problems, _models, tables.node_type_list, folder)
    nodes = attempt(problems, _nodes, tables, folder, models)
    cracs = attempt(problems, _cracs, tables.crac_list, folder, float(nodes.m3_per_s.sum()) if nodes else 1.0)
    if models is None or nodes is None or cracs is None:
        attempt(problems, read_table, str(tables.heat or tables.heat_k_per_w), folder)
        raise InputError(*problems)
    if tables.node_type_list is None:
        used, node_type = np.unique(nodes.node_type, return_inverse=True)
        models, nodes = tuple(models[at] for at in used), nodes._replace(node_type=node_type.astype(np.int32))
    raise_if_any((*_redline_problems(tables, nodes, cracs), *_name_problems(tables, nodes, cracs)))
    places = RoomPlaces(nodes.names + cracs.names, np.concatenate((nodes.m3_per_s, cracs.m3_per_s)), len(nodes.names))
    flow, notes = _heat(tables, folder, places)
    redlines_and_units = (nodes.redline_c, cracs.coldest_c, cracs.hottest_c, cracs.cop)
    try:
        room = Room(
            flow, nodes.m3_per_s, cracs.m3_per_s, *redlines_and_units, nodes.place_m,
            node_names=nodes.names, crac_names=cracs.names,
        )  # fmt: skip
    except InputError as error:
        raise InputError(*(_named(problem, places) for problem in error.problems)) from error
    return replace(site_of(models, nodes.node_type, room, tables.cap_share), notes=notes)


def _heat(tables: SiteTables, folder: Path, places: RoomPlaces) -> HeatReading:
    if tables.heat_k_per_w is not None:
        return read_distribution(tables.heat_k_per_w, folder, places)
    return read_heat(str(tables.heat), folder, places, tables.balance_within)


def _named(problem: Problem, places: RoomPlaces) -> Problem:
    """A problem of a room, with places by their names in place of their numbers."""

    def name_of(match: re.Match[str]) -> str:
        return places.names[int(match[2]) + (places.n_nodes if match[1] == "CRAC" else 0)]

    return replace(problem, where=re.sub(r"(node|CRAC) (\d+)", name_of, problem.where))


class _Nodes(NamedTuple):
    names: tuple[str, ...]
    node_type: Ints
    m3_per_s: Floats
    redline_c: Floats
    place_m: Floats


class _Cracs(NamedTuple):
    names: tuple[str, ...]
    m3_per_s: Floats
    coldest_c: Floats
    hottest_c: Floats
    cop: tuple[CopCurve, ...]


def _models(name: str, folder: Path) -> tuple[NodeModel, ...]:
    table = read_table(name, folder)
    table.check_columns(NODE_TYPE_COLUMNS)
    raise_if_any(table.problems)
    names = distinct_names(table, _TYPE)
    cores = table.whole(_CORES, 1)
    processors, pstates = (table.whole(column, 1, 1.0) for column in (_PROCESSORS, _PSTATES))
    uneven = (np.minimum(cores, processors) > 0) & (cores % np.maximum(processors, 1) != 0)
    table.report_rows(_CORES.name, uneven, "must be the same number on each processor")
    overhead_w = table.quantity(_OVERHEAD)
    core_w, least_clock, ratio = (_if_given(table, column) for column in (_CORE_W, _LEAST_CLOCK, _RATIO))
    if _LEAST_CLOCK.name in table.columns:
        table.report_rows(_LEAST_CLOCK.name, least_clock > 1, "must be at most 1, the clock of P-state 0")
    raise_if_any(table.problems)
    columns = zip(names, cores, pstates, overhead_w, core_w, least_clock, ratio, processors, strict=True)
    return tuple(NodeModel(*row) for row in columns)


def _if_given(table: InputTable, column: InputColumn) -> Floats:
    """A column of numbers above 0 that may have empty cells, which are NaN."""
    return table.quantity(column, math.nan, positive=True)


def _listed(table: InputTable, column: InputColumn) -> tuple[str, ...]:
    """The names in a column, each once."""
    return tuple(table.texts(column.name).drop_nulls().unique(maintain_order=True))


def distinct_names(table: InputTable, column: InputColumn) -> tuple[str, ...]:
    """The names of all rows; those that are missing or stand there twice are reported."""
    names = table.texts(column.name)
    table.report_rows(column.name, names.is_null().to_numpy(), "every row must have a name")
    table.report_rows(column.name, ~names.is_first_distinct().to_numpy(), "each may have one row")
    return tuple(names.to_list())


def _real(table: InputTable, column: InputColumn, default: float) -> Floats:
    """A column of finite numbers of any sign; an empty cell, and an absent column, are the default."""
    if column.name not in table.columns:
        return np.full(table.frame.height, default)
    numbers = table.numbers(column.name)
    table.report_rows(column.name, ~(np.isfinite(numbers.values) | numbers.is_empty), "must be a finite number")
    return np.where(numbers.is_empty, default, numbers.values)


def _air_c(table: InputTable, column: InputColumn, default_c: float) -> Floats:
    """A column of temperatures of air; an empty cell, and an absent column, are the default."""
    values_c = _real(table, column, default_c)
    table.report_rows(column.name, (values_c < AIR_C[0]) | (values_c > AIR_C[1]), AIR_ALLOWED)
    return values_c


def _nodes(tables: SiteTables, folder: Path, models: Sequence[NodeModel] | None) -> _Nodes:
    """The nodes of a table; without models, what is wrong in it alone is found, and flows are not known."""
    table = read_table(tables.node_list, folder)
    table.check_columns(NODE_COLUMNS)
    raise_if_any(table.problems)
    names = distinct_names(table, _NODE)
    types = dict.fromkeys(_listed(table, _NODE_TYPE), math.nan)
    types = types if models is None else {model.name: model.full_w for model in models}
    node_type = table.codes(_NODE_TYPE.name, list(types), "node type")
    flow = _if_given(table, _NODE_FLOW)
    full_w = np.array(list(types.values()))[node_type]
    flow = np.where(np.isnan(flow), full_w / (AIR_J_PER_M3_K * tables.rise_k), flow)
    if np.isnan(flow).any() and not table.problems and models is not None:
        advice = f"give {_NODE_FLOW.name}, or core_w in the table of node types"
        table.add("found nothing", "the flow must be known", advice, int(np.isnan(flow).argmax()), _NODE_FLOW.name)
    redline_c = _air_c(table, _REDLINE, tables.redline_c)
    place_m = np.column_stack([_real(table, column, 0.0) for column in _PLACE])
    raise_if_any(table.problems)
    has_places = all(column.name in table.columns for column in _PLACE[:2])
    return _Nodes(names, node_type, flow, redline_c, place_m if has_places else np.empty((0, 3)))


def _cracs(name: str, folder: Path, node_m3_per_s: float) -> _Cracs:
    table = read_table(name, folder)
    table.check_columns(CRAC_COLUMNS)
    raise_if_any(table.problems)
    names = distinct_names(table, _CRAC)
    flow = table.quantity(_CRAC_FLOW, node_m3_per_s / len(names), positive=True)
    coldest_c, hottest_c = _air_c(table, _COLDEST, 10.0), _air_c(table, _HOTTEST, 25.0)
    for row in np.flatnonzero(coldest_c > hottest_c)[:MAX_LISTED]:
        table.add(
            f"found {coldest_c[row]:g} to {hottest_c[row]:g} °C", "the coldest must not be above the hottest", row=row
        )
    has_curve = any(column.name in table.columns for column in _COP)
    terms = np.column_stack([_real(table, column, 0.0) for column in _COP])
    raise_if_any(table.problems)
    curves = tuple(CopCurve(row) if has_curve and row.any() else HP_UTILITY_DATA_CENTER for row in terms)
    for row, curve in enumerate(curves):
        at_c = np.linspace(coldest_c[row], hottest_c[row], 101)
        if (curve(at_c) <= 0).any():
            worst = int(np.argmin(curve(at_c)))
            found = f"found a coefficient of performance of {curve(at_c)[worst]:.4g} at {at_c[worst]:.4g} °C"
            table.add(found, f"must be above 0 from {coldest_c[row]:g} to {hottest_c[row]:g} °C", row=row)
    raise_if_any(table.problems)
    return _Cracs(names, flow, coldest_c, hottest_c, curves)


def _redline_problems(tables: SiteTables, nodes: _Nodes, cracs: _Cracs) -> Iterator[Problem]:
    coldest_c = cracs.coldest_c.min()
    for at in np.flatnonzero(nodes.redline_c < coldest_c)[:MAX_LISTED]:
        found, allowed = f"found a redline of {nodes.redline_c[at]:g} °C", f"must be {coldest_c:g} °C or more"
        advice = f"no unit of {tables.crac_list} blows colder"
        yield Problem(f"{tables.node_list}: {nodes.names[at]}", found, allowed, advice)


def _name_problems(tables: SiteTables, nodes: _Nodes, cracs: _Cracs) -> Iterator[Problem]:
    for name in sorted(set(nodes.names) & set(cracs.names)):
        allowed = "nodes and CRAC units need names of their own"
        yield Problem(f"{tables.crac_list}: {name}", f"found a node of this name in {tables.node_list}", allowed)
