"""Studies of a facility in steady state: how it is planned, what comes of it, and how that is judged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise import units
from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.study.facility import bounds as facility_bounds
from joulewise.study.facility import days as facility_days
from joulewise.study.facility import methods as facility_methods
from joulewise.study.facility import tables as facility_tables
from joulewise.study.facility.columns import FACILITY_COLUMNS
from joulewise.study.facility.methods import METHODS, RewardParameters, steady_of
from joulewise.study.facility.sources import FACILITY_SYSTEMS, FACILITY_WORKLOADS, FLOW_TABLES, SITE_TABLES
from joulewise.study.facility.template import FACILITY_TEMPLATE
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.kinds.kind import Kind
from joulewise.study.searches.judging import place_of, unused_supply
from joulewise.study.searches.methods import idle_keys
from joulewise.study.spec.column import CORES, CRACS, NODES, PROGRESS, RATES
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import OPTIMISE_SECTION, build_supply
from joulewise.study.spec.source import Draw, Source
from joulewise.study.store.store import Store, Tables
from joulewise.units import AT_LIMIT_K, count

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.air import Air
    from joulewise.model.arrays import Floats
    from joulewise.model.facility import Facility, FacilityPlan
    from joulewise.optimise.facility.evaluation import Steady
    from joulewise.optimise.facility.search import FoundPlan
    from joulewise.study.facility.bounds import Bound
    from joulewise.worlds.facility.site import Site

_KEPT_BYTES, _NODE_BYTES, _USUAL_NODES, _RUN_S = 20_000, 60, 150, 0.12
_DAY_TASK_S, _DAY_TASK_BYTES, _MOST_RATES = 1.6e-6, 150, 8
"""A task of a simulated day, in time and in memory; and of how many worlds it is looked up how often tasks come."""
_IDLE = 1e-3
_CAP = "cap_w"
_PLACES = {
    _CAP: "supply.power_cap",
    "redline": "system.redline_c",
    "failed CRAC": "system.failed_crac",
    "more nodes": "system.more_nodes",
}
"""Where a study file has what the model calls otherwise."""


@dataclass(frozen=True, eq=False)
class FacilityWorld:
    """A facility, and the temperatures of its room as a linear map."""

    facility: Facility

    @cached_property
    def air(self) -> Air:
        """Made once, by a factorisation of the heat flow."""
        from joulewise.model.air import Air

        return Air(self.facility.room)


class FacilityKind(Kind):
    """Plans of a facility."""

    name = "facility"
    summary = "nodes in a room with CRAC units, tasks that flow in, and the most reward under a power cap and redlines"
    section = OPTIMISE_SECTION
    decision = Source(
        "reward", "the most reward per second of a facility under a power cap and redlines (Oxley)", RewardParameters
    )
    systems = FACILITY_SYSTEMS
    workloads = FACILITY_WORKLOADS
    main = "method"
    checking = 0.15
    supply_keys = ("power_cap_w",)
    methods = METHODS
    title = "percent of all reward"
    columns = FACILITY_COLUMNS
    tables = (NODES, CRACS, CORES, RATES, PROGRESS)
    template = FACILITY_TEMPLATE

    def bound(self, decision: Part, _said: str) -> str:
        """Prices, or none where eq. 10 is read as printed."""
        return facility_bounds.name_of(decision.parameters)

    def is_timed(self, decision: Part) -> bool:
        """Whether the search ends by a clock."""
        asked: RewardParameters = decision.parameters
        return asked.time_limit_s is not None

    def build_world(self, parts: WorldParts, draw: Draw) -> FacilityWorld:
        """The facility of one trial, under the cap of the supply if that has one; InputError when it is none."""
        facility: Facility = self.build_workload(parts.workload, self.build_system(parts, draw), draw)
        cap_w = build_supply(parts.supply, draw).cap_w
        if cap_w is not None:
            facility = dataclasses.replace(facility, cap_w=float(cap_w[0]))
        return FacilityWorld(parts.system.parameters.made(facility))

    def checks(self, asked: Candidates, _draw: Draw) -> Iterator[Callable[[], object]]:
        """Hold methods and supply against what a facility can have, and make the facility of the first trial."""
        parameters = [part.parameters for part in asked.decisions]
        supplies = dict.fromkeys(parts.supply for parts in asked.worlds)
        yield lambda: raise_if_any(idle_keys(RewardParameters, parameters, METHODS))
        yield lambda: raise_if_any(facility_methods.missing_extras(parameters))
        yield lambda: raise_if_any(p for supply in supplies for p in unused_supply(supply, self.supply_keys))
        yield from (partial(_check_world, asked, parts) for parts in asked.worlds)

    def warnings(self, asked: Candidates, draw: Draw) -> Iterator[Problem]:
        """What was odd in the tables of a site, and repaired; sites that cannot be read are reported elsewhere."""
        for system in dict.fromkeys(parts.system for parts in asked.worlds if parts.system.source == SITE_TABLES):
            with suppress(InputError):
                site: Site = self.build(system, draw)
                yield from (Problem("system", note) for note in site.notes)
        for parts in asked.worlds:
            if parts.workload.source == FLOW_TABLES:
                with suppress(InputError):
                    yield from _never_run(asked.world_of(parts).facility)

    def draws(self, decision: Part, folder: Path) -> bool:
        """Whether the method, or the day, draws from the trial."""
        return super().draws(decision, folder) or decision.parameters.day_s != 0.0

    def seconds(self, missing: Sequence[Run], _store: Store, folder: Path) -> float:
        """The time of one process for the runs with their days, and for the bound of each world."""
        worlds = {run.world_key: run for run in missing}
        bounds_s = sum(facility_methods.search_s(RewardParameters(), _n_nodes(run)) for run in worlds.values())
        days = self._day_tasks(missing, folder)
        days_s = _DAY_TASK_S * sum((1 + facility_days.MOST_REHEARSALS) * n for _, n in days)
        return bounds_s + days_s + sum(_RUN_S + _searches_s(run) for run in missing)

    def size(self, runs: Sequence[Run], _folder: Path) -> float:
        """The bytes of the detail tables of those that are kept."""
        return float(sum(_KEPT_BYTES + _NODE_BYTES * _n_nodes(run) for run in runs if run.keep))

    def memory(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the tasks of the longest day."""
        return _DAY_TASK_BYTES * max((n for _, n in self._day_tasks(runs, folder)), default=0.0)

    def _day_tasks(self, runs: Sequence[Run], folder: Path) -> list[tuple[Run, float]]:
        """About how many tasks come in the day of each run that has one."""
        with_day = [run for run in runs if _asked(run).day_s != 0.0]
        worlds = list(dict.fromkeys(run.point.world for run in with_day))
        built = {parts: self.build_world(parts, Draw(0, 0, folder)).facility for parts in worlds[:_MOST_RATES]}
        usual = next(iter(built.values()), None)
        pairs = ((run, built.get(run.point.world, usual)) for run in with_day)
        return [(run, facility_days.n_tasks(its, _asked(run))) for run, its in pairs if its is not None]

    def compute(self, case: Case) -> Outcome:
        """Plan the facility; JoulewiseError when the plan breaks a limit."""
        world, p = case.world, case.decision
        facility = world.facility
        _warm_up(p.method)
        made = facility_days.planned(case)
        found = made.found
        _raise_if_broken(facility, found.plan)
        bound, state = facility_bounds.proven(case, made.first), steady_of(world.facility, world.air, found.plan, p)
        columns = columns_of(facility, found.plan, state, bound)
        own = {"why_stopped": found.why_stopped, "solve_s": made.solve_s}
        return Outcome(
            {**columns, **facility_days.columns(made.day), **own},
            lambda: facility_tables.tables(facility, found, state, made.day),
        )

    def derived(self, case: Case, row: Mapping[str, Any], stored: Tables) -> Outcome:
        """What follows from a stored plan: all but a day that needs other plans as well."""
        world, p = case.world, case.decision
        found = _stored(world.facility, row, stored)
        state, bound = steady_of(world.facility, world.air, found.plan, p), facility_bounds.proven(case)
        day = facility_days.of_plan(case, found.plan)
        is_known = day is not None or facility_days.length_s(world.facility, p) == 0.0
        tables = facility_tables.tables(world.facility, found, state, day)
        rates = tables[RATES] if is_known else tables[RATES].with_columns(stored[RATES]["day_per_s"])
        columns = columns_of(world.facility, found.plan, state, bound)
        of_day = facility_days.columns(day) if is_known else {}
        return Outcome({**columns, **of_day}, lambda: {**tables, RATES: rates})

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored proof: its prices must prove the bound."""
        return facility_bounds.judge(case)

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of a plan and its steady state, by other equations."""
        from joulewise.check.facility.plan import check_facility

        world, p = case.world, case.decision
        plan = _stored(world.facility, row, tables).plan
        state = steady_of(world.facility, world.air, plan, p)
        return iter(check_facility(world.facility, plan, state, as_printed=p.as_printed))

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
        """What was found, in words: the best plan, what it keeps to, what to set for it, and what limits it."""
        if "crr_percent" not in runs.columns or not runs["crr_percent"].count():
            return
        done = runs.drop_nulls("crr_percent")
        has_day = "day_earned_percent" in done.columns and not done["day_earned_percent"].null_count()
        ranked = done["day_earned_percent" if has_day else "crr_percent"]
        best = done.row(int(ranked.arg_max() or 0), named=True)
        place = place_of(best, done, [axis for axis in axes if axis != "optimise.method"])
        yield f"{METHODS[best['optimise.method']].title}{f' ({place})' if place else ''}: {_earned(best, has_day)}."
        if best["day_length_s"] is None and best.get("optimise.day_s") is None:
            n = f"{facility_days.MOST_TASKS:,}"
            yield f'No day was simulated: {n} tasks come in less than 100 times the longest; day = "2 h" asks for one.'
        yield (
            f"The plan draws {units.power(best['total_w'])} of {units.power(best['cap_w'])} "
            f"({units.power(best['cooling_w'])} of it for cooling), with CRAC units at "
            f"{best['supply_mean_c']:.1f} °C on average; {_nearest(best['redline_margin_k'])}."
        )
        if best.get("set_points"):
            yield best["set_points"]


def _never_run(facility: Facility) -> Iterator[Problem]:
    """Task types and node types of tables that have no speed together, which may be meant, or a row that is lost."""
    flows, types = facility.tasks, facility.node_types
    for task, kind in np.argwhere(~(flows.speed_per_s > 0).any(axis=2)):
        found = f"{flows.names[task]!r} has no speed on {types.names[kind]!r}, and never runs there"
        yield Problem("workload.speeds", found)


def _check_world(asked: Candidates, parts: WorldParts) -> None:
    """InputError where the world is none, or nothing can run in it: under names of the study file."""
    try:
        raise_if_any(_rest_problems(parts, asked.world_of(parts)))
    except InputError as error:
        problems = (dataclasses.replace(found, where=_PLACES.get(found.where, found.where)) for found in error.problems)
        raise InputError(*problems) from None


def _rest_problems(parts: WorldParts, world: FacilityWorld) -> Iterator[Problem]:
    """Limits that are broken even with all cores at rest; a share of the power that is too small, as such a share."""
    from joulewise.optimise.facility.cooling import RoomCooling

    yield from _caps_given_twice(parts)
    facility, cooling = world.facility, RoomCooling(world.facility, world.air)
    try:
        cooling.raise_if_never_fits()
    except InputError as error:
        is_share = parts.supply.parameters.power_cap_w is None
        least = parts.system.parameters.cap_share * cooling.cool(facility.overhead_w).total_w / facility.cap_w
        for found in error.problems:
            as_share = dataclasses.replace(
                found, where="system.cap_share", advice=f"{math.ceil(1000 * least) / 1000:g} is the least share here"
            )
            yield as_share if is_share and found.where == _CAP else found


def _caps_given_twice(parts: WorldParts) -> Iterator[Problem]:
    """A share of the power beside a cap in watts, which has nothing to say then."""
    system = parts.system.parameters
    usual = type(system).cap_share
    if parts.supply.parameters.power_cap_w is not None and system.cap_share != usual:
        found = f"found {system.cap_share:g} beside supply.power_cap"
        yield Problem("system.cap_share", found, "must be only one of the two", "leave one of them out")


def _searches_s(run: Run) -> float:
    """The time of the searches for the plans of a run, and for those of its days."""
    p = run.point.decision.parameters
    n = 1 if p.day_s == 0.0 else facility_days.n_searches(p)
    return n * facility_methods.search_s(p, _n_nodes(run))


def _asked(run: Run) -> RewardParameters:
    p: RewardParameters = run.point.decision.parameters
    return p


def _n_nodes(run: Run) -> float:
    """About how many nodes a facility has."""
    return float(getattr(run.point.system.parameters, "nodes", _USUAL_NODES))


def _raise_if_broken(facility: Facility, plan: FacilityPlan) -> None:
    from joulewise.check.facility.plan import check_facility

    broken = check_facility(facility, plan)
    if broken:
        raise JoulewiseError(f"the plan breaks {count(len(broken), 'rule')}; the first: {broken[0]}")


def columns_of(facility: Facility, plan: FacilityPlan, state: Steady, bound: Bound | None) -> dict[str, Any]:
    """The columns that follow from a plan, its steady state and what is proven."""
    from joulewise.optimise.facility.evaluation import margins
    from joulewise.optimise.facility.words import set_points

    most, kept = facility.tasks.most_reward_per_s or math.nan, margins(facility, plan, state)
    return {
        "nodes": facility.n_nodes,
        "cores": facility.n_cores,
        "most_reward_per_s": facility.tasks.most_reward_per_s,
        "slowed_reward_per_s": state.slowed_reward_per_s,
        "crr_percent": 100 * state.slowed_reward_per_s / most,
        "reward_per_s": state.reward_per_s,
        "rr_percent": 100 * state.reward_per_s / most,
        "total_w": state.total_w,
        "nodes_w": float(state.node_w.sum()),
        "cooling_w": float(state.crac_w.sum()),
        "cap_w": facility.cap_w,
        "cap_margin_w": kept.cap_w,
        "redline_margin_k": kept.redline_k,
        "hottest_inlet_c": float(state.node_inlet_c.max()),
        "supply_mean_c": float(plan.supply_c.mean()),
        **_sharing_columns(facility, plan),
        **facility_bounds.columns(facility, state, bound),
        "set_points": set_points(facility, plan, state, bound.prices if bound else None),
    }


def _sharing_columns(facility: Facility, plan: FacilityPlan) -> dict[str, float]:
    """How cores of a processor share it: idle ones, and those that run the class that slows itself most."""
    flows = facility.tasks
    heaviest = int(np.argmax(np.diagonal(flows.slowdown, axis1=1, axis2=2).mean(axis=0)))
    heavy: Floats = plan.share[:, flows.memory_class == heaviest].sum(axis=1)
    processor, is_idle = facility_tables.processor_of_core(facility), plan.share.sum(axis=1) <= _IDLE
    beside: Floats = np.bincount(processor, heavy)[processor] - heavy
    return {
        "n_idle_cores": int(is_idle.sum()),
        "heavy_neighbours": float(heavy @ beside / heavy.sum()) if heavy.sum() > 0 else math.nan,
        "n_idle_beside_heavy": int((is_idle & (beside > _IDLE)).sum()),
    }


@cache
def _warm_up(method: str) -> None:
    """Load what a method and its day need, once in a process, so that times are those of searches alone."""
    from joulewise.simulate.facility.day import simulate_facility_day

    world, p = FacilityWorld(_tiny_facility()), RewardParameters(method=method, population=2, generations=1)
    plan = facility_methods.search(world.facility, world.air, p, 0).plan
    rates_per_s = facility_days.rates_per_s(world.facility.tasks, p)
    simulate_facility_day(world.facility, lambda _: plan, world.air.inlets_c, rates_per_s, 1.0).measures()


def _tiny_facility() -> Facility:
    """Two nodes in one stream of air, with which any search is done at once."""
    from joulewise.model.facility import Facility, NodeTypes, TaskFlows
    from joulewise.model.room import HP_UTILITY_DATA_CENTER, Room, heat_flow

    air = heat_flow(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]))
    room = Room(
        air, np.full(2, 0.1), np.array([0.2]), np.full(2, 30.0), np.array([10.0]), np.array([25.0]),
        (HP_UTILITY_DATA_CENTER,), np.empty((0, 3)),
    )  # fmt: skip
    types = NodeTypes(("x",), np.array([2]), np.array([1]), np.array([2]), np.array([20.0]))
    speed, power_w = np.array([[[1.0, 0.6]], [[0.8, 0.6]]]), np.array([[[20.0, 8.0]], [[15.0, 7.0]]])
    flows = TaskFlows(
        ("a", "b"), np.full(2, 9.0), np.ones(2), np.full(2, 10.0), speed, power_w, np.array([0, 1]), ("heavy", "light"),
        np.array([[[1.0, 0.1], [0.1, 0.0]]]),
    )  # fmt: skip
    return Facility(types, flows, np.zeros(2, np.int32), room, 90.0)


def _stored(facility: Facility, row: Mapping[str, Any], tables: Tables) -> FoundPlan:
    """What was found, as its tables have it."""
    from joulewise.optimise.facility.search import FoundPlan

    history = tables[PROGRESS].select("at_s", "slowed_reward_per_s").iter_rows()
    return FoundPlan(
        facility_tables.plan_of(facility, tables[CORES], tables[CRACS]), tuple(history), row["why_stopped"]
    )


def _earned(best: dict[str, Any], has_day: bool) -> str:
    """What the best run earns: in its day, by its plan, and at most by any plan."""
    plan = f"{best['crr_percent']:.2f} %"
    bound = "" if best["bound_percent"] is None else f"; no plan has more than {best['bound_percent']:.2f} % (proven)"
    if not has_day:
        return f"{plan} of all reward by its plan, if no task has to wait{bound}"
    length = "" if best["day_length_s"] == facility_days.DAY_S else f" of {units.duration(best['day_length_s'])}"
    day = f"{best['day_earned_percent']:.2f} % of all reward in a simulated day{length}"
    return f"{day}; its plan has {plan}, if no task has to wait{bound}"


def _nearest(margin_k: float) -> str:
    """How near a plan comes to its redlines."""
    is_below = margin_k > AT_LIMIT_K
    return f"all nodes stay {margin_k:.2g} K below their redlines" if is_below else "some node is at its redline"
