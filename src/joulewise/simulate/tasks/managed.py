"""The managed day: a world and a manager with any of its switches, as the managed engine sees them."""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels import energy, live_prices
from joulewise.kernels.layout import Options, empty_plan
from joulewise.kernels.linear import REASONS, SOLVED
from joulewise.kernels.tasks import batch, managed, rolling
from joulewise.kernels.tasks.machines import Downtimes, Machines, Standing, new_machines
from joulewise.model.allocation import Allocation, LostRuns
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.world import World
from joulewise.policies.layout import layout_of
from joulewise.policies.tasks.compile import compiled, looks_at_energy
from joulewise.policies.tasks.objectives import UTILITY, UTILITY_PER_ENERGY
from joulewise.policies.tasks.weights import highest_energy_j, highest_value, least_energy_j
from joulewise.simulate.tasks.dropping import thresholds
from joulewise.simulate.tasks.manager import Manager

_map_managed: Any = managed.map_managed

_RULES = {"greedy": batch.GREEDY, "in-order": batch.IN_ORDER, "at-random": batch.AT_RANDOM}
_FILTERS = {"none": energy.NO_FILTER, "fair-share": energy.FAIR_SHARE, "adaptive": energy.ADAPTIVE}
_PROGRAMS = {None: rolling.NO_PROGRAM, "makespan": rolling.MAKESPAN, "worth": rolling.WORTH}
_ALL_EVENTS = 2**62
_UNKNOWN = -1.0
_BEFORE_ALL_S = -1.0


@dataclass(frozen=True, eq=False)
class Managed:
    """What the managed engine did: the allocation, events with work, wall-clock seconds.

    Of the events in the counted window it may have skipped some without work, if they are at multiples of an interval;
    those are late that had to wait until the mapping before them was over.
    Of each recorded event with work, `prices` has a row: per second of each machine type, then per joule; and `quotas`
    how many tasks a split lets go to [task type, machine type, P-state].
    """

    allocation: Allocation
    n_mapping_events: int
    n_counted_events: int
    n_late_events: int
    mapping_s: float
    prices: Floats
    quotas: Counts


def needs_managing(world: World) -> bool:
    """Whether a world has something that only the managed engine knows."""
    has_standby, is_uncertain = world.system.standby is not None, world.workload.stretch is not None
    return world.supply.is_limited or has_standby or is_uncertain or world.outages.machine.size > 0


def manage(world: World, manager: Manager, seed: int = 0, trial: int = 0, n_recorded: int = 0) -> Managed:
    """Let the manager work through the world; InputError when the two do not fit.

    The prices and quotas of the first `n_recorded` events with work are kept.
    """
    engine = start(world, manager, seed, trial, n_recorded)
    began = time.perf_counter()
    engine.run(world.workload.end_s)
    return Managed(
        engine.allocation(),
        int(engine.clock.counts[batch.WORKED]),
        int(engine.clock.counts[batch.COUNTED]),
        int(engine.clock.counts[batch.LATE]),
        time.perf_counter() - began,
        engine.prices.path[: engine.clock.counts[batch.WORKED]],
        engine.quotas(),
    )


def start(world: World, manager: Manager, seed: int = 0, trial: int = 0, n_recorded: int = 0) -> Engine:
    """An engine that has simulated nothing yet; InputError when world and manager do not fit."""
    raise_if_any(managed_problems(world, manager))
    engine = Engine(world, manager, _seed64(seed, trial, manager), n_recorded)
    engine.run(_BEFORE_ALL_S, is_last=False)  # compiles, or loads what was compiled, without simulating anything
    return engine


def _seed64(seed: int, trial: int, manager: Manager) -> int:
    text = f"{seed} {trial} policy {manager.policy.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Engine:
    """The arrays of one run, and the kernels that work on them."""

    def __init__(self, world: World, manager: Manager, seed64: int, n_recorded: int = 0) -> None:
        layout = layout_of(world, manager.n_types)
        options = _options(layout.options, manager)
        n_tasks, system = world.workload.n_tasks, world.system
        self.name, self.is_measured = manager.policy.name, manager.mapping_time == "measured"
        self.clock, self.plan = batch.new_clock(), empty_plan(n_tasks)
        per_s = np.full(system.n_machine_types, _UNKNOWN)
        path = np.full((n_recorded, per_s.size + 1), np.nan)
        self.prices = live_prices.LivePrices(
            per_s, np.zeros(1), per_s.copy(), np.zeros(1), np.full(1, _UNKNOWN), path, _gains(world)
        )
        self.losses = batch.new_losses(world.outages.machine.size)
        charge = _charge(world, manager, options)
        sizes = (n_tasks, system.n_machine_types, system.n_task_types)
        n_pairs = system.n_machines * system.n_pstates
        self.batch = batch.new_batch(*sizes, charge, manager.permuted, n_pairs)
        self.rules = _rules(world, manager, seed64)
        self.threshold, self.stretch = thresholds(world, manager), _stretch(world)
        limits = _limits(world, manager, options)
        n_edges = 2 * (3 * system.n_machines + n_tasks) + 2 if limits.has_cap else 1
        ledger = energy.new_ledger(
            limits.n_before + limits.n_days + _n_days_after(world, manager), options.exec_s.size, n_edges
        )
        self.world_of_kernel = (layout.tasks, layout.utilities, options, layout_of(world).options)
        self.place, self.option_at = _places(world, manager), _option_at(options, system.etc_s.shape)
        self.value = _value(world, manager)
        self.machines: Machines = new_machines(system.counts)
        self.limits, self.ledger = limits, ledger
        cost_j = limits.cost_j if limits.has_budget else np.zeros(options.exec_s.size)
        self.rolling = rolling.new_rolling(self.rules.program, options, cost_j, system.n_machine_types, n_recorded)
        self.standing, self.downtimes = _standing(world), _downtimes(world)

    def run(self, end_s: float, *, is_last: bool = True) -> None:
        """Let events happen up to an instant; after the last ones the machines work off what is planned."""
        if self.is_measured:
            while self._call(end_s, 1, is_last=False):
                pass
        self._call(end_s, _ALL_EVENTS, is_last=is_last)
        if self.batch.n_rises[0]:
            found = "its value rose with waiting in this run, although it was declared falls_with_time"
            raise InputError(Problem(f"policy {self.name}", found, advice="leave falls_with_time out"))
        if (status := int(self.rolling.program.status[0])) != SOLVED:
            found = f"the linear program of an event could not be solved: {REASONS[status]}"
            allowed = "times, powers and utilities must not be too many orders of magnitude apart"
            raise InputError(Problem(f"policy {self.name}", found, allowed, "use a policy without a linear program"))

    def _call(self, end_s: float, n_events: int, *, is_last: bool) -> int:
        """Let so many events happen, and remember how long that took."""
        began = time.perf_counter()
        happened = _map_managed(
            self.clock, self.batch, self.prices, self.rolling, self.losses, self.value, self.rules, self.threshold,
            self.stretch, self.place, self.option_at, *self.world_of_kernel, self.limits, self.ledger, self.machines,
            self.standing, self.downtimes, self.plan, end_s, n_events, is_last,
        )  # fmt: skip
        self.clock.instants[batch.MAPPING] = time.perf_counter() - began
        return int(happened)

    def looked_ahead(self) -> Engine:
        """This engine as it would be if no event came any more; it stays as it is itself."""
        ahead = copy.copy(self)
        for name in ("clock", "batch", "losses", "ledger", "machines", "plan"):
            setattr(ahead, name, copy.deepcopy(getattr(self, name)))
        ahead._call(_BEFORE_ALL_S, 0, is_last=True)
        return ahead

    def quotas(self) -> Counts:
        """How many tasks were to go where at each recorded event, as [event, task type, machine type, P-state]."""
        recorded = self.rolling.path[: self.clock.counts[batch.WORKED], self.option_at]
        return np.asarray(np.where(self.option_at == -1, 0, recorded))

    def allocation(self) -> Allocation:
        """What was decided so far."""
        rows = slice(0, int(self.losses.size[0]))
        columns: Any = (column[rows] for column in self.losses[1:])
        return Allocation(*self.plan, LostRuns(*columns))


def managed_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where world and manager do not fit for the managed engine."""
    supply, work, policy = world.supply, world.workload, manager.policy
    falls = policy.objective is None or policy.objective.falls_with_time
    if policy.mode == "immediate" or policy.rule not in _RULES or not falls:
        found = (
            f"found the policy {policy.name} day by day, or with limits of energy, standby, failures, uncertain times"
        )
        allowed = "must be a batch policy other than Sufferage whose value falls with time"
        yield Problem("manager.policy", found, allowed, "use one such as max-max-upt")
    may_wait = supply.is_limited or manager.only_worthwhile
    if may_wait and not math.isfinite(work.end_s):
        found = "found a counted window without an end"
        why = "must end where a budget, a cap or declined choices may keep tasks waiting for ever"
        yield Problem("workload", found, why, "set its end")
    if supply.cap_w is not None and (work.stretch is not None or world.outages.machine.size):
        found = "found a power cap in a world with uncertain times or failures"
        yield Problem("supply.power_cap", found, "a cap is kept by planned times, which must be certain")
    if supply.cap_w is not None and world.system.standby is not None:
        yield from _cap_problems(world, supply.cap_w)
    if world.outages.machine.size and manager.mapping_time != "free":
        found = f"found {manager.mapping_time} in a world with failures"
        yield Problem("manager.mapping_time", found, 'must be "free" where machines fail')
    if manager.permuted > 1 and supply.is_limited:
        found = f"found {manager.permuted} in a world with limits of energy or power"
        yield Problem("manager.permuted", found, "permuted queues keep no limits", "leave it out")
    if manager.energy_filter != "none" and not math.isfinite(supply.budget_j):
        found = f"found {manager.energy_filter} without a budget"
        yield Problem("manager.energy_filter", found, "shares out a budget", "give supply.budget")
    yield from _postponing_problems(world, manager)
    needs_power = manager.policy.is_weighted or (manager.policy.is_priced and math.isfinite(supply.budget_j))
    if needs_power and world.system.power_w is None:
        found = f"the policy {manager.policy.name} looks at energy, but the system has no power figures"
        yield Problem("manager.policy", found, advice="give the system's powers (power_w)")
    divides = manager.policy.is_weighted and manager.policy.objective is UTILITY_PER_ENERGY
    if divides and world.system.power_w is not None and not least_energy_j(world) > 0:
        found = f"the policy {manager.policy.name} divides by energy, but a choice of the system uses none"
        yield Problem("manager.policy", found, advice="give powers above 0 W")


def _postponing_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where tasks cannot be postponed to the next day: it is the budget alone that does so."""
    if manager.postponing == "each-event":
        return
    if not math.isfinite(world.supply.budget_j):
        found = f"found {manager.postponing} without a budget"
        yield Problem("manager.postponing", found, "a budget makes days", "give supply.budget")
    if world.supply.cap_w is not None or world.outages.machine.size:
        found = f"found {manager.postponing} in a world with a power cap or failures"
        allowed = "what a cap or a repair allows later in the day would be postponed as well"
        yield Problem("manager.postponing", found, allowed, 'use "each-event"')


def _cap_problems(world: World, cap_w: Floats) -> Iterator[Problem]:
    """Where standby alone could break a cap."""
    standby = world.system.standby
    assert standby is not None
    idle_w = world.supply.pue * float(world.system.counts @ standby.idle_w)
    if idle_w > cap_w.min():
        found = f"found {cap_w.min():g} W, but idle machines alone draw {idle_w:g} W"
        yield Problem("supply.power_cap", found, "must be above what idle machines draw")
    if ((standby.boot_w > standby.idle_w) & (standby.boot_s > 0)).any():
        found = "found a power cap and machines that draw more when they boot than when idle"
        advice = "set boot_w to idle_w at most, or boot_s to 0"
        yield Problem("supply.power_cap", found, "a cap is kept by what runs draw on top of idle machines", advice)


def _options(options: Options, manager: Manager) -> Options:
    """The options that the policy looks at: all, or those in P-state 0."""
    if manager.policy.order is None or manager.policy.order.all_pstates:
        return options
    kept = options.pstate == 0
    before = np.concatenate(([0], np.cumsum(kept)))
    columns = (column[kept] for column in options[1:])
    return Options(before[options.first], *columns)


def _task_type_of(options: Options) -> np.ndarray[Any, Any]:
    return np.repeat(np.arange(options.first.size - 1), np.diff(options.first))


def _option_at(options: Options, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The number of the option of a task type, machine type and P-state; -1 where there is none."""
    numbers = np.full(shape, -1, np.int64)
    numbers[_task_type_of(options), options.machine_type, options.pstate] = np.arange(options.exec_s.size)
    return numbers


def _charge(world: World, manager: Manager, options: Options) -> Floats:
    """What an option's energy costs in the objective of a weighted policy."""
    if not manager.policy.is_weighted:
        return np.zeros(options.exec_s.size)
    return np.asarray(manager.weight * options.energy_j / highest_energy_j(world))


def _scale(world: World, manager: Manager) -> float:
    objective = manager.policy.objective
    if not manager.policy.is_weighted or objective is None:
        return 1.0
    return (1.0 - manager.weight) / highest_value(world, objective)


def _rules(world: World, manager: Manager, seed64: int) -> batch.Rules:
    model = manager.mapping_model if manager.mapping_time == "given" else (0.0, 0.0, 0.0)
    has_tariff = manager.follows_tariff and world.supply.tariff is not None
    is_certain = world.workload.stretch is None and world.outages.machine.size == 0
    drops_by_idle, postpones = manager.dropping_by == "idle", manager.postponing == "next-day"
    is_split = manager.policy.program == "makespan"
    at_random = manager.policy.rule == "at-random"
    return batch.Rules(
        rule=_RULES[manager.policy.rule],
        interval_s=manager.mapping_interval_s,
        n_arrivals=manager.mapping_arrivals or 0,
        mapping_s=float(model[0]),
        mapping_per_task_s=float(model[1]),
        mapping_per_square_s=float(model[2]),
        is_measured=manager.mapping_time == "measured",
        is_polled=manager.environment == "polled",
        n_permuted=manager.permuted,
        declines=manager.only_worthwhile,
        is_priced=manager.policy.is_priced,
        program=_PROGRAMS[manager.policy.program],
        follows_tariff=has_tariff,
        scale=_scale(world, manager),
        kill_factor=manager.kill_factor,
        is_certain=is_certain,
        drops_eagerly=not is_certain or at_random or is_split or any(model[1:]) or drops_by_idle or postpones,
        drops_by_idle=drops_by_idle,
        postpones=postpones,
        random_seed=np.uint64(seed64),
    )


def _n_days_after(world: World, manager: Manager) -> int:
    """How many days after the window plans may reach: those made at its end may have effect only later."""
    constant_s, per_task_s, per_square_s = manager.mapping_model
    n = world.workload.n_tasks
    longest_s = constant_s + per_task_s * n + per_square_s * n * n if manager.mapping_time == "given" else 0.0
    return 3 + math.ceil(longest_s / world.supply.day_s)


def _gains(world: World) -> live_prices.Gains:
    """Where energy is what runs short, more machines may be idle before their time becomes cheaper."""
    return live_prices.Gains(idle=0.08 if math.isfinite(world.supply.budget_j) else 0.03)


def _stretch(world: World) -> Floats:
    stretch = world.workload.stretch
    return np.ones(world.workload.n_tasks) if stretch is None else stretch.copy()


def _limits(world: World, manager: Manager, options: Options) -> energy.Limits:
    system, supply, work = world.system, world.supply, world.workload
    choice = (_task_type_of(options), options.machine_type, options.pstate)
    power_w = np.zeros(options.exec_s.size) if system.power_w is None else system.power_w[choice]
    idle_w = np.zeros(system.n_machine_types) if system.standby is None else system.standby.idle_w
    cost_w = supply.pue * (power_w - idle_w[options.machine_type])
    has_budget = math.isfinite(supply.budget_j)
    possible = np.isfinite(system.etc_s) & (system.counts > 0)[None, :, None]
    follows = manager.follows_tariff and supply.tariff is not None
    factor = supply.tariff / supply.tariff.mean() if follows and supply.tariff is not None else np.ones(1)
    return energy.Limits(
        has_budget=has_budget,
        is_total=supply.is_total,
        budget_j=supply.budget_j,
        start_s=work.start_s,
        day_s=supply.day_s,
        n_before=math.ceil(work.start_s / supply.day_s) if has_budget else 0,
        n_days=math.ceil((work.end_s - work.start_s) / supply.day_s) if has_budget else 1,
        reserve_w=float(supply.pue * (system.counts @ idle_w)),
        has_cap=supply.cap_w is not None,
        cap_w=np.full(1, np.inf) if supply.cap_w is None else supply.cap_w.copy(),
        factor=np.asarray(factor, float).copy(),
        cost_w=cost_w,
        cost_j=cost_w * options.exec_s,
        cheapest_j=float((cost_w * options.exec_s).min()),
        mean_exec_s=float(system.etc_s[possible].mean()),
        mean_energy_j=_mean_cost_j(world, idle_w, possible),
        filtering=_FILTERS[manager.energy_filter] if has_budget else energy.NO_FILTER,
        leniency=manager.leniency,
    )


def _mean_cost_j(world: World, idle_w: Floats, possible: Bools) -> float:
    """The mean energy of all choices at the meter, on top of idle machines."""
    if world.system.power_w is None:
        return 0.0
    above_w = world.system.power_w - idle_w[None, :, None]
    return float((world.supply.pue * above_w[possible] * world.system.etc_s[possible]).mean())


def _places(world: World, manager: Manager) -> Floats:
    """The place of each task in the policy's order; 0 for policies without one."""
    n, order = world.workload.n_tasks, manager.policy.order
    if order is None:
        return np.zeros(n)
    by_arrival = -np.arange(n) if order.newest_first else np.arange(n)
    keys = (by_arrival, -world.workload.scale) if order.by_priority else (by_arrival,)
    places = np.empty(n)
    places[np.lexsort(keys)] = np.arange(n)
    return places


def _standing(world: World) -> Standing:
    system, standby = world.system, world.system.standby
    if standby is None:
        never = np.full(system.n_machine_types, np.inf)
        return Standing(never, np.zeros(system.n_machine_types), np.zeros(system.n_machine_types))
    boot_j = world.supply.pue * np.maximum(standby.boot_w - standby.idle_w, 0.0) * standby.boot_s
    return Standing(standby.sleep_after_s.copy(), standby.boot_s.copy(), boot_j)


def _downtimes(world: World) -> Downtimes:
    outages = world.outages
    first = np.searchsorted(outages.machine, np.arange(world.system.n_machines + 1))
    return Downtimes(first.astype(np.int64), outages.start_s.copy(), outages.end_s.copy())


def _value(world: World, manager: Manager) -> Any:
    """The policy's compiled objective; orders have none, and get one that nobody asks."""
    value = compiled(manager.policy.objective or UTILITY)
    if world.system.power_w is None and looks_at_energy(value):
        found = "looks at energy, but the system has no power figures"
        raise InputError(Problem(f"policy {manager.policy.name}", found, advice="give the system's powers (power_w)"))
    return value
