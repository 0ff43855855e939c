"""Hypothesis strategies for small worlds with limits, clocks, standby, caps and uncertainty, and managers for them.

Times are whole multiples of a power of two and powers are small whole numbers, so that sums of energies and times
come out the same in whatever order they are added.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from joulewise.model import System, Workload, World
from joulewise.model.supply import Supply
from joulewise.model.system import Standby
from joulewise.model.workload import Tag
from joulewise.model.world import Outages
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import Manager
from tests.strategies.random_worlds import multiples, systems, workloads

UNITS_S = (1.0, 0.25, 64.0)
HOURLY_UNITS_S = (1024.0, 512.0)
"""Units with which the hour changes within a run, but not at one of its instants."""

INTERVALS = (1.0, 2.0, 3.0, 5.0, 8.0, 0.75)
DAYS = (4.0, 8.0, 16.0, 32.0)
THRESHOLDS = (0.0, 0.0, 0.5, 1.0, 2.0)
MOST_TASKS = 16
FEW_TASKS_S = 256.0
"""With thresholds so many times as high, for units of a second, few tasks are load enough to drop some of them."""

Settings = dict[str, Any]


class ManagedScenario(NamedTuple):
    """A world, and the manager's switches for it."""

    world: World
    settings: Settings

    def manager(self, policy: Policy) -> Manager:
        """A manager with this policy and these switches; one without a heuristic has nothing to decline."""
        settings = self.settings if policy.objective is not None else {**self.settings, "declines": None}
        return Manager(policy, **settings)


# Pieces


@st.composite
def powered_systems(draw: st.DrawFn, unit_s: float, with_standby: bool = False) -> System:
    """A system with powers above 0 W, in two machine groups, with or without standby powers."""
    system = draw(systems(unit_s))
    n_types, n_cells = system.n_machine_types, system.etc_s.size
    power_w = draw(st.lists(st.integers(2, 6), min_size=n_cells, max_size=n_cells))
    groups = draw(st.lists(st.sampled_from(("general", "special")), min_size=n_types, max_size=n_types))
    return replace(
        system,
        power_w=np.array(power_w, float).reshape(system.etc_s.shape),
        machine_group=tuple(groups),
        standby=draw(standbys(unit_s, n_types)) if with_standby else None,
    )


@st.composite
def standbys(draw: st.DrawFn, unit_s: float, n_types: int) -> Standby:
    """Machines that fall asleep soon, later or never, and need some time to wake up."""
    row = st.tuples(
        st.integers(0, 2),
        st.sampled_from((0.0, 1.0, 4.0)),
        multiples(unit_s, 0, 4),
        st.sampled_from((0.0, unit_s, 2 * unit_s, 4 * unit_s, math.inf)),
    )
    rows = draw(st.lists(row, min_size=n_types, max_size=n_types))
    idle_w, boot_w, boot_s, sleep_after_s = (np.array(column, float) for column in zip(*rows, strict=True))
    return Standby(idle_w, np.zeros(n_types), boot_w, boot_s, sleep_after_s)


@st.composite
def windowed_workloads(draw: st.DrawFn, unit_s: float, most_tasks: int = MOST_TASKS) -> Workload:
    """Tasks close together or apart, with a priority tag, and a window that ends, often in the middle of a day."""
    work = draw(workloads(unit_s, most_tasks))
    apart = draw(st.sampled_from((1.0, 1.0, 2.0, 4.0)))
    scale = work.scale if work.scale.any() else np.ones(work.n_tasks)
    codes = np.array(draw(st.lists(st.integers(0, 1), min_size=work.n_tasks, max_size=work.n_tasks)))
    end_s = work.start_s + draw(multiples(unit_s, 4, 40))
    return replace(
        work,
        arrival_s=apart * work.arrival_s,
        scale=scale,
        end_s=end_s,
        tags={"priority": Tag(("low", "critical"), codes)},
    )


@st.composite
def budgets(draw: st.DrawFn, unit_s: float) -> Supply:
    """Energy for a few tasks a day, each day or in all."""
    is_total = draw(st.booleans())
    budget_j = unit_s * draw(st.integers(8, 240)) * (draw(st.integers(1, 4)) if is_total else 1)
    pue = draw(st.sampled_from((1.0, 1.0, 1.5)))
    return Supply(budget_j, is_total, unit_s * draw(st.sampled_from(DAYS)), pue=pue)


def hourly(low: int, high: int) -> st.SearchStrategy[np.ndarray[Any, np.dtype[np.float64]]]:
    """A value for each of a few hours."""
    return st.lists(st.integers(low, high), min_size=1, max_size=4).map(lambda values: np.array(values, float))


@st.composite
def common_settings(draw: st.DrawFn, unit_s: float, system: System) -> Settings:
    """What any manager has: thresholds, an interval, its environment."""
    names = sorted({*system.machine_group, "critical", "low"})
    classes = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    follows_load = draw(st.sampled_from((False, False, True)))
    factor = FEW_TASKS_S / unit_s if follows_load else 1.0
    return {
        "dropping_threshold": factor * draw(st.sampled_from(THRESHOLDS)),
        "class_thresholds": {name: factor * draw(st.sampled_from(THRESHOLDS)) for name in classes},
        "follows_load": follows_load,
        "mapping_interval_s": unit_s * draw(st.sampled_from(INTERVALS)),
        "environment": draw(st.sampled_from(("queued", "polled"))),
        "best_types": draw(st.sampled_from((None, None, None, 1, 2))),
    }


@st.composite
def energy_settings(draw: st.DrawFn) -> Settings:
    """Switches that look at energy."""
    return {
        "energy_filter": draw(st.sampled_from(("none", "fair-share", "adaptive"))),
        "leniency": draw(st.sampled_from((0.25, 0.5, 1.0, 1.5, 2.0))),
        "weight": draw(st.sampled_from((0.0, 0.25, 0.5, 0.75, 1.0))),
        "declines": draw(st.sampled_from((None, None, True))),
    }


@st.composite
def clock_settings(draw: st.DrawFn, unit_s: float) -> Settings:
    """Mapping by arrivals, mapping that takes time, or both; permuted queues."""
    n_arrivals = draw(st.sampled_from((None, 1, 2, 3, 5)))
    settings: Settings = {"mapping_arrivals": n_arrivals}
    if n_arrivals is not None and draw(st.integers(0, 3)) == 0:
        settings["mapping_interval_s"] = math.inf
    if draw(st.booleans()):
        parts = st.sampled_from((0.0, 0.25, 1.0, 3.0)), st.sampled_from((0.0, 0.25, 1.0)), st.sampled_from((0.0, 0.125))
        settings |= {"mapping_time": "given", "mapping_model": tuple(unit_s * draw(part) for part in parts)}
    return settings


def permutings(environment: str, supply: Supply) -> st.SearchStrategy[int]:
    """How many tasks of a queue are permuted; none without queues, and none where energy is limited."""
    is_fixed = environment == "polled" or supply.is_limited
    return st.just(1) if is_fixed else st.sampled_from((1, 1, 2, 3, 5))


def stretches(n_tasks: int) -> st.SearchStrategy[Any]:
    """How much longer, or shorter, than estimated each task really takes."""
    each = st.sampled_from((0.25, 0.5, 1.0, 1.0, 1.5, 2.0, 3.0))
    return st.lists(each, min_size=n_tasks, max_size=n_tasks).map(lambda values: np.array(values, float))


@st.composite
def outages_of(draw: st.DrawFn, unit_s: float, n_machines: int) -> Outages:
    """Up to two outages of each machine."""
    rows = []
    for machine in range(n_machines):
        at_s = 0.0
        for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
            from_s = at_s + draw(multiples(unit_s / 2, 1, 24))
            at_s = from_s + draw(multiples(unit_s / 2, 1, 16))
            rows.append((machine, from_s, at_s))
    table = np.array(rows, float).reshape(-1, 3)
    return Outages(table[:, 0].astype(np.int32), table[:, 1], table[:, 2])


# Scenarios


@st.composite
def limited_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Energy runs short: budgets by day or in all, filters, weights, worthless choices, postponed tasks."""
    unit_s = draw(st.sampled_from(UNITS_S))
    world = World(draw(powered_systems(unit_s)), draw(windowed_workloads(unit_s)), draw(budgets(unit_s)))
    return ManagedScenario(world, draw(common_settings(unit_s, world.system)) | draw(energy_settings()))


@st.composite
def tariff_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Energy that counts more in some hours than in others."""
    unit_s = draw(st.sampled_from(HOURLY_UNITS_S))
    supply = replace(draw(budgets(unit_s)), tariff=draw(hourly(1, 3)))
    world = World(draw(powered_systems(unit_s)), draw(windowed_workloads(unit_s)), supply)
    settings = draw(common_settings(unit_s, world.system)) | draw(energy_settings()) | {"follows_tariff": True}
    return ManagedScenario(world, settings)


@st.composite
def clocked_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Events by arrivals, mapping that takes time, permuted queues, sometimes with a budget."""
    unit_s = draw(st.sampled_from(UNITS_S))
    supply = draw(st.one_of(st.just(Supply()), budgets(unit_s)))
    world = World(draw(powered_systems(unit_s)), draw(windowed_workloads(unit_s)), supply)
    settings = draw(common_settings(unit_s, world.system)) | draw(clock_settings(unit_s))
    settings["permuted"] = draw(permutings(settings["environment"], supply))
    return ManagedScenario(world, settings)


@st.composite
def standby_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Idle power that is set aside, machines that sleep and must be woken, sometimes with a budget."""
    unit_s = draw(st.sampled_from(UNITS_S))
    supply = draw(st.one_of(st.just(Supply()), budgets(unit_s)))
    system = draw(powered_systems(unit_s, with_standby=True))
    world = World(system, draw(windowed_workloads(unit_s)), supply)
    settings = draw(common_settings(unit_s, world.system)) | draw(energy_settings())
    if not supply.is_limited:
        del settings["energy_filter"]
    settings["permuted"] = draw(permutings(settings["environment"], supply))
    return ManagedScenario(world, settings)


@st.composite
def capped_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """A limit of power that changes by the hour, with or without idle power and a budget."""
    unit_s = draw(st.sampled_from(HOURLY_UNITS_S))
    supply = draw(st.one_of(st.just(Supply()), budgets(unit_s)))
    system = draw(powered_systems(unit_s, with_standby=draw(st.booleans())))
    if system.standby is not None:  # what idle and booting machines draw must fit under the cap
        system = replace(system, standby=replace(system.standby, boot_w=system.standby.idle_w))
    least_w = 0.0 if system.standby is None else float(supply.pue * (system.counts @ system.standby.idle_w))
    supply = replace(supply, cap_w=draw(hourly(2, 16)) + least_w)
    world = World(system, draw(windowed_workloads(unit_s, 10)), supply)
    return ManagedScenario(world, draw(common_settings(unit_s, world.system)))


@st.composite
def uncertain_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Tasks take longer or shorter than estimated, are killed, or lost with their machine; maybe a budget."""
    unit_s = draw(st.sampled_from(UNITS_S))
    supply = draw(st.one_of(st.just(Supply()), budgets(unit_s)))
    system = draw(powered_systems(unit_s, with_standby=draw(st.booleans())))
    work = draw(windowed_workloads(unit_s))
    work = replace(work, stretch=draw(st.one_of(st.none(), stretches(work.n_tasks))))
    outages = draw(outages_of(unit_s, system.n_machines))
    settings = draw(common_settings(unit_s, system))
    settings["kill_factor"] = draw(st.sampled_from((math.inf, math.inf, 2.0, 1.5, 1.0)))
    settings["mapping_arrivals"] = draw(st.sampled_from((None, None, 2)))
    settings["permuted"] = draw(permutings(settings["environment"], supply))
    return ManagedScenario(World(system, work, supply, outages), settings)


@st.composite
def literal_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Limited worlds read word for word: who does not fit is out until midnight, only idle machines give hope."""
    scenario = draw(limited_scenarios())
    is_polled = scenario.settings["environment"] == "polled"
    literal = {"dropping_by": "idle"} if is_polled else {"postponing": "next-day"}
    unit_s = scenario.world.supply.day_s / draw(st.sampled_from(DAYS))
    clock = draw(st.one_of(st.just({}), clock_settings(unit_s)))
    return ManagedScenario(scenario.world, scenario.settings | literal | clock)


@st.composite
def preempting_scenarios(draw: st.DrawFn) -> ManagedScenario:
    """Tasks that come may suspend running ones, which often take long; machines may draw power when idle."""
    unit_s = draw(st.sampled_from(UNITS_S))
    system = draw(powered_systems(unit_s, with_standby=draw(st.booleans())))
    system = replace(system, etc_s=system.etc_s * draw(st.sampled_from((1.0, 4.0, 4.0))))
    if system.standby is not None:
        system = replace(system, standby=replace(system.standby, sleep_after_s=np.full(system.n_machine_types, np.inf)))
    work = draw(windowed_workloads(unit_s))
    worths = draw(st.lists(st.sampled_from((1.0, 16.0)), min_size=work.n_tasks, max_size=work.n_tasks))
    if draw(st.booleans()):
        worths.sort()  # who comes later is worth more
    world = World(system, replace(work, scale=work.scale * worths))
    overhead_s = multiples(unit_s / 4, 0, 4)
    settings = draw(common_settings(unit_s, system)) | {
        "environment": "polled",
        "mapping_interval_s": unit_s * draw(st.sampled_from((1.0, 1.0, 0.75, 3.0))),
        "mapping_arrivals": draw(st.sampled_from((None, None, 2))),
        "dropping_by": draw(st.sampled_from(("all", "all", "idle"))),
        "preempts": True,
        "checkpoint_s": draw(overhead_s),
        "restart_s": draw(overhead_s),
    }
    return ManagedScenario(world, settings)


KINDS = {
    "limited": limited_scenarios,
    "tariff": tariff_scenarios,
    "clocked": clocked_scenarios,
    "standby": standby_scenarios,
    "capped": capped_scenarios,
    "uncertain": uncertain_scenarios,
    "literal": literal_scenarios,
    "preempting": preempting_scenarios,
}
"""Every kind of managed world, by name."""
