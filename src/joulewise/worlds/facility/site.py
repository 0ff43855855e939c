"""Facilities drawn at random: the nodes of Oxley et al. in a room, and flows of their benchmark tasks.

Published are the node types (Table II), the slowdowns (Table I), the ranges of rewards and the rule of the cap. Speeds
by node type and benchmark, deadlines and arrival rates are not: they are drawn, around public figures where there are
any. What differs from one trial to the next is what the paper lets differ: speeds, deadlines, rewards and rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields
from joulewise.model.facility import Facility, NodeTypes, TaskFlows
from joulewise.model.room import AIR_J_PER_M3_K, Room
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV, gamma_values
from joulewise.worlds.facility.rooms import RoomParameters, generate_room, room_rules
from joulewise.worlds.parameters import Rule, broken_rules, explained, is_not_negative, is_positive

MAX_NODES = 1_000_000
DEADLINES_ALONE = (
    "whether plans count a task as in time if it would be so alone, as Oxley et al. 2014 ask; otherwise only where it "
    "is so beside the worst that its neighbours run"
)
"""What the key of that name means."""
_MOST_CAP_SHARE = 2.0


class NodeModel(NamedTuple):
    """A type of node: its cores, which share processors, its P-states, and its powers in P-state 0 (Oxley, Table II).

    `least_clock` is the clock of the slowest P-state relative to P-state 0. `ratio_per_core` is how many times as fast
    as SPEC's reference machine a core is, all being busy: CFP2006rate (base) by cores, SPEC's published results for the
    same processor. SPEC is a trademark of the Standard Performance Evaluation Corporation.
    """

    name: str
    cores: int
    pstates: int
    overhead_w: float
    core_w: float
    least_clock: float
    ratio_per_core: float
    processors: int = 1

    @property
    def full_w(self) -> float:
        """What a node draws with all cores busy in P-state 0."""
        return self.overhead_w + self.cores * self.core_w


NODE_MODELS = (
    NodeModel("Fujitsu TX140", 4, 14, 18.9, 9.1, 0.64, 31.5),
    NodeModel("IBM x3200", 2, 4, 75.2, 20.9, 0.65, 15.6),
    NodeModel("Fujitsu RX100", 4, 11, 35.0, 22.4, 0.55, 21.8),
    NodeModel("Acer AT110", 4, 16, 21.3, 18.55, 0.48, 29.0),
)
"""The four node types of Table II; processors E3-1265L v2, E3110, X3470 and E3-1270."""


class Benchmark(NamedTuple):
    """A program of SPEC CPU2006: how long the reference machine takes, and what it moves to and from memory."""

    name: str
    reference_s: float
    bytes_per_cycle: float


BENCHMARKS = (
    Benchmark("lbm", 13740, 5.183), Benchmark("bwaves", 13590, 2.375), Benchmark("sphinx3", 19490, 1.286),
    Benchmark("milc", 9180, 1.938), Benchmark("cactusADM", 11950, 0.495), Benchmark("calculix", 8250, 0.0),
    Benchmark("wrf", 11170, 1.313), Benchmark("tonto", 9840, 0.323), Benchmark("povray", 5320, 0.0),
    Benchmark("dealII", 11440, 0.550), Benchmark("zeusmp", 9100, 0.858), Benchmark("gromacs", 7140, 0.0),
    Benchmark("leslie3d", 9400, 3.512), Benchmark("namd", 8020, 0.0), Benchmark("soplex", 8340, 2.841),
    Benchmark("GemsFDTD", 10610, 2.799),
)  # fmt: skip
"""The 16 task types in the order in which the paper adds them.

Bytes per cycle, with all prefetchers on, follow from the data of Navarro-Torres et al., "Memory hierarchy
characterization of SPEC CPU2006 and SPEC CPU2017 on the Intel Xeon Skylake-SP", PLOS ONE 14(8) e0220135, 2019 (CC BY).
Programs of 0 bytes are those which these authors left out as not memory-intensive.
"""

CLASS_NAMES = ("heavy", "medium", "light")
TABLE_I = ((1.0, 0.3, 0.05), (0.5, 0.2, 0.03), (0.06, 0.04, 0.01))
"""How much longer a task of a class (row) takes beside one of another (column)."""

_CLASS_BYTES_PER_CYCLE = (1.5, 0.4)
"""From how many bytes a cycle on a program is heavy, and medium."""
_MOST_BYTES_PER_CYCLE = max(benchmark.bytes_per_cycle for benchmark in BENCHMARKS)
_LEAST_CLOCK_SHARE = 0.3
"""How much of a change of clock the most memory-bound program follows (Oxley V.B); one without memory follows all."""
_LEAST_VOLTAGE, _FIXED_POWER = 0.75, 0.12


@dataclass(frozen=True)
class SiteParameters(RoomParameters):
    """The nodes, their room and the cap of a facility; the defaults are the published ones of the small platform.

    The published platforms: 150 nodes of 2 types and 3 CRAC units, 500 of 3 types and 4 units, 5000 of 4 types and 60.
    Raises InputError with every problem found.
    """

    nodes: int = explained(150, "number of nodes, of types drawn at random")
    node_types: int = explained(2, "how many of the published node types there are: TX140, x3200, RX100, AT110")
    rise_k: float = explained(10.0, "by how much, in kelvin, a node at full power heats its air; it sets the air flow")
    cap_share: float = explained(
        0.6,
        "power that nodes and cooling may draw, as a share of what they draw with all cores on the most CPU-bound task "
        "in P-state 0 and the CRAC units as warm as the redlines allow; supply.power_cap has it in watts",
    )
    same_site: bool = explained(
        True,
        "whether all trials of a seed have one site, as in Oxley et al. 2014, or node types and room are drawn for "
        "each",
    )

    def __post_init__(self) -> None:
        raise_if_any(broken_rules("system", self, (*_site_rules(self), *room_rules(self))))


@dataclass(frozen=True)
class FlowParameters:
    """The tasks that flow into a facility; the defaults are the published ones and our readings.

    COV is the coefficient of variation. Raises InputError with every problem found.
    """

    task_types: int = explained(8, "how many of the published task types there are: lbm, bwaves, sphinx3, milc, ...")
    load: tuple[float, float] = explained(
        (0.8, 1.2), "least and most arrivals of a type, as a share of what its part of all cores can do in P-state 0"
    )
    reward: tuple[float, float] = explained((0.5, 1.0), "least and most reward of a task type")
    deadline: tuple[float, float] = explained(
        (1.2, 2.5), "least and most deadline of a task type, in mean times over the node types in P-state 0"
    )
    heterogeneity: float = explained(
        1.0, "how much node types differ in what they are good at: 0 is one ratio of speeds for all task types"
    )
    affinity_cov: float = explained(0.25, "COV of speeds over node types, around the product of node and task speed")
    speed_cov: float = explained(0.1, "COV of the speed of a task type from trial to trial")
    memory_power: float = explained(
        0.2, "by which share a core draws less on the most memory-bound task than on one without memory"
    )
    deadlines_alone: bool = explained(False, DEADLINES_ALONE)

    def __post_init__(self) -> None:
        raise_if_any(broken_rules("workload", self, _workload_rules(self)))


@dataclass(frozen=True, eq=False)
class Site:
    """Nodes in their room, before any task is known.

    `clock[n, p]` is the clock of a core of type n in P-state p relative to P-state 0, and `core_w[n, p]` its power
    on a task that needs no memory; both are 0 for P-states that a type does not have. `ratio_per_core` is how fast the
    cores of a type are, as in NodeModel. Where these are not known they are NaN, and speeds must be read. `notes` tell
    what was changed when the room was read.
    """

    node_types: NodeTypes
    node_type: Ints
    room: Room
    clock: Floats
    core_w: Floats
    ratio_per_core: Floats
    cap_share: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        floats = dict.fromkeys(("clock", "core_w", "ratio_per_core"), np.float64)
        freeze_fields(self, {"node_type": np.int32, **floats})

    @property
    def cores_by_type(self) -> Counts:
        """How many cores of each node type there are."""
        nodes = np.bincount(self.node_type, minlength=self.node_types.n_types)
        return np.asarray(nodes * self.node_types.cores)


class FacilitySize(NamedTuple):
    """One of the published platforms."""

    nodes: int
    cracs: int
    node_types: int
    task_types: int


SIZES = {
    "small": FacilitySize(150, 3, 2, 8),
    "medium": FacilitySize(500, 4, 3, 10),
    "large": FacilitySize(5000, 60, 4, 16),
    "huge": FacilitySize(50_000, 600, 4, 16),
}
"""The published platforms, and one ten times as large."""


@dataclass(frozen=True)
class FacilityParameters:
    """A whole facility: its site and its flows of tasks."""

    site: SiteParameters = field(default_factory=SiteParameters)
    flows: FlowParameters = field(default_factory=FlowParameters)


def sized(size: str | FacilitySize) -> FacilityParameters:
    """The parameters of a published platform, or of any size."""
    nodes, cracs, node_types, task_types = SIZES[size] if isinstance(size, str) else size
    return FacilityParameters(
        SiteParameters(nodes=nodes, cracs=cracs, node_types=node_types), FlowParameters(task_types=task_types)
    )


def generate_facility(parameters: FacilityParameters, seed: int, trial: int) -> Facility:
    """The facility of one trial."""
    site = generate_site(parameters.site, seed, trial)
    return facility_of(site, generate_flows(parameters.flows, site, seed, trial))


def generate_site(parameters: SiteParameters, seed: int, trial: int) -> Site:
    """The nodes of one trial in their room."""
    p, models = parameters, NODE_MODELS[: parameters.node_types]
    drawn_for = 0 if p.same_site else trial
    node_type = generator(seed, drawn_for, "site.node types").integers(len(models), size=p.nodes).astype(np.int32)
    full_w = np.array([model.full_w for model in models])
    room = generate_room(p, full_w[node_type] / (AIR_J_PER_M3_K * p.rise_k), seed, drawn_for)
    return site_of(models, node_type, room, p.cap_share)


def site_of(models: Sequence[NodeModel], node_type: Ints, room: Room, cap_share: float) -> Site:
    """A site whose nodes are of these models."""
    node_types = NodeTypes(
        tuple(model.name for model in models),
        np.array([model.cores for model in models]),
        np.array([model.processors for model in models]),
        np.array([model.pstates for model in models]),
        np.array([model.overhead_w for model in models]),
    )
    clock, ratio_per_core = _clock(models), np.array([model.ratio_per_core for model in models])
    return Site(node_types, node_type, room, clock, _core_w(models, clock), ratio_per_core, cap_share)


def _clock(models: Sequence[NodeModel]) -> Floats:
    """The clocks of all P-states, which fall evenly."""
    clock = np.zeros((len(models), max(model.pstates for model in models)))
    for row, model in zip(clock, models, strict=True):
        row[: model.pstates] = np.linspace(1.0, model.least_clock, model.pstates)
        row[0] = 1.0
    return clock


def _core_w(models: Sequence[NodeModel], clock: Floats) -> Floats:
    """The power of a core by P-state: a fixed part, and one that goes with the clock and the square of the voltage."""
    least = np.array([model.least_clock for model in models])[:, None]
    down = np.divide(1 - clock, 1 - least, out=np.zeros_like(clock), where=clock != 1)
    voltage = 1 - (1 - _LEAST_VOLTAGE) * down
    fastest_w = np.array([model.core_w for model in models])[:, None]
    return np.where(clock != 0, fastest_w * (_FIXED_POWER + (1 - _FIXED_POWER) * clock * voltage**2), 0.0)


def generate_flows(parameters: FlowParameters, site: Site, seed: int, trial: int) -> TaskFlows:
    """The tasks of one trial that flow into a site."""
    raise_if_any(_unknown_speeds(site))
    p, benchmarks = parameters, BENCHMARKS[: parameters.task_types]
    memory = np.array([benchmark.bytes_per_cycle for benchmark in benchmarks])
    bound = memory / _MOST_BYTES_PER_CYCLE
    fastest = _fastest_per_s(p, site, np.array([benchmark.reference_s for benchmark in benchmarks]), seed, trial)
    stream = generator(seed, trial, "flows.tasks")
    n = len(benchmarks)
    reward, load, slack = stream.uniform(*p.reward, n), stream.uniform(*p.load, n), stream.uniform(*p.deadline, n)
    return TaskFlows(
        tuple(benchmark.name for benchmark in benchmarks),
        load / n * (fastest @ site.cores_by_type),
        reward,
        slack * (1 / fastest).mean(axis=1),
        fastest[:, :, None] * clock_factor(site.clock, bound),
        (1 - p.memory_power * bound)[:, None, None] * site.core_w,
        np.searchsorted(-np.array(_CLASS_BYTES_PER_CYCLE), -memory).astype(np.int8),
        CLASS_NAMES,
        np.broadcast_to(TABLE_I, (site.node_types.n_types, len(CLASS_NAMES), len(CLASS_NAMES))),
        p.deadlines_alone,
    )


def _unknown_speeds(site: Site) -> Iterator[Problem]:
    is_given = np.isfinite(site.clock + site.core_w).all(axis=1) & np.isfinite(site.ratio_per_core)
    for at in np.flatnonzero(~is_given):
        found, allowed = "found no core_w, least_clock or ratio_per_core", "generated flows need all three"
        advice = "give them in the table of node types, or speeds in a table of your own"
        yield Problem(f"system.node_types: {site.node_types.names[at]}", found, allowed, advice)


def _fastest_per_s(p: FlowParameters, site: Site, reference_s: Floats, seed: int, trial: int) -> Floats:
    """Tasks a second in P-state 0, as [task type, node type]."""
    shape = (reference_s.size, site.node_types.n_types)
    of_task = gamma_values(generator(seed, trial, "flows.speeds"), 1.0, p.speed_cov, (shape[0], 1))
    drawn = gamma_values(generator(seed, trial, "flows.affinity"), 1.0, p.affinity_cov, shape)
    return np.asarray(of_task * drawn**p.heterogeneity * site.ratio_per_core / reference_s[:, None])


def clock_factor(clock: Floats, bound: Floats) -> Floats:
    """[task type, node type, P-state]: speeds relative to P-state 0.

    `bound` is how memory-bound each type is, from 0 to 1. A program follows a share of a change of clock: at half the
    clock, one that follows 30 % takes 30 % longer.
    """
    follows = (1 - (1 - _LEAST_CLOCK_SHARE) * bound)[:, None, None]
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 + follows * (1 / clock - 1)))


def facility_of(site: Site, flows: TaskFlows, cap_w: float | None = None) -> Facility:
    """A site with tasks that flow in, under a cap: its own share of full power where none is given."""
    facility = Facility(site.node_types, flows, site.node_type, site.room, 1.0 if cap_w is None else cap_w)
    return replace(facility, cap_w=site.cap_share * full_power_w(facility)) if cap_w is None else facility


def full_power_w(facility: Facility) -> float:
    """What nodes and cooling draw with every core on the task of most power in P-state 0.

    All CRAC units blow air of one temperature, the highest that keeps all redlines, as far as they can.
    """
    from joulewise.model.air import Air
    from joulewise.model.supply_levels import SupplyLevels

    room, air = facility.room, Air(facility.room)
    busiest_w = facility.tasks.power_w[:, :, 0].max(axis=0) * facility.node_types.cores
    node_w = facility.overhead_w + busiest_w[facility.node_type]
    supply_c = SupplyLevels(air).hottest_supply_c(node_w)
    return float(node_w.sum() + (air.heat_w(node_w, supply_c) / room.cop_at(supply_c)).sum())


def _is_range(values: tuple[float, ...]) -> bool:
    return len(values) == 2 and is_not_negative(*values) and values[0] <= values[1]


def _site_rules(p: SiteParameters) -> Iterator[Rule]:
    n = len(NODE_MODELS)
    yield "nodes", max(p.cracs, 1) <= p.nodes <= MAX_NODES, f"must be from cracs, {p.cracs}, to {MAX_NODES:,}"
    yield "node_types", 1 <= p.node_types <= n, f"must be from 1 to {n}"
    yield "rise_k", is_positive(p.rise_k), "must be above 0 K"
    yield cap_rule(p.cap_share)


def cap_rule(cap_share: float) -> Rule:
    """What a power cap as a share of full power must keep to: a percentage is refused."""
    allowed = f"must be a share above 0, {_MOST_CAP_SHARE:g} at most: 0.6 is 60 %"
    return "cap_share", 0 < cap_share <= _MOST_CAP_SHARE, allowed


def _workload_rules(p: FlowParameters) -> Iterator[Rule]:
    pair, n = "must be (least, most), least first, ", len(BENCHMARKS)
    yield "task_types", 1 <= p.task_types <= n, f"must be from 1 to {n}"
    yield "load", _is_range(p.load) and p.load[1] > 0, f"{pair}the most above 0"
    yield "reward", _is_range(p.reward), f"{pair}0 or more"
    yield "deadline", _is_range(p.deadline) and p.deadline[0] > 1, f"{pair}above 1"
    yield "heterogeneity", 0 <= p.heterogeneity <= 10, "must be from 0 to 10"
    for name in ("affinity_cov", "speed_cov"):
        yield name, 0 <= getattr(p, name) <= MAX_COV, f"must be a coefficient of variation from 0 to {MAX_COV:g}"
    yield "memory_power", 0 <= p.memory_power < 1, "must be a share from 0 to below 1"
