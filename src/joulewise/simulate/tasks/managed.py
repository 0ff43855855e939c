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
from joulewise.kernels.layout import NOBODY, Options, empty_plan
from joulewise.kernels.linear import REASONS, SOLVED
from joulewise.kernels.live_prices import Gains
from joulewise.kernels.tasks import energy, rolling, state
from joulewise.kernels.tasks.live_prices import new_prices
from joulewise.kernels.tasks.machines import Downtimes, Standing, new_machines
from joulewise.kernels.tasks.managed import close_last_event, finish_run, map_managed, open_next_event
from joulewise.kernels.tasks.outside import Nobody
from joulewise.kernels.tasks.state import ManagedState, ManagedWorld
from joulewise.model.allocation import Allocation, BrokenRuns
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.world import World
from joulewise.policies.layout import layout_of
from joulewise.policies.own import Asking, Own
from joulewise.policies.tasks.objectives import UTILITY, UTILITY_PER_ENERGY
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.weights import highest_energy_j, highest_value, least_energy_j
from joulewise.simulate.tasks.dropping import load_by_type, thresholds
from joulewise.simulate.tasks.event import ASSIGNMENT, Event
from joulewise.simulate.tasks.manager import Manager, rising_problems
from joulewise.simulate.tasks.outside import outside_of, raise_fault
from joulewise.simulate.tasks.values import rising_value, unsolved_program, usable_value

_map_managed: Any = map_managed
_open_next_event: Any = open_next_event
_close_last_event: Any = close_last_event
_finish_run: Any = finish_run

_RULES = {
    "greedy": state.GREEDY,
    "in-order": state.IN_ORDER,
    "at-random": state.AT_RANDOM,
    "sufferage": state.SUFFERAGE,
    "assigned": state.ASSIGNED,
}
_FILTERS = {"none": energy.NO_FILTER, "fair-share": energy.FAIR_SHARE, "adaptive": energy.ADAPTIVE}
_PROGRAMS = {None: rolling.NO_PROGRAM, "makespan": rolling.MAKESPAN, "worth": rolling.WORTH}
_ALL_EVENTS = 2**62
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
    mapping_s = time.perf_counter() - began
    return engine.managed(mapping_s)


def start(world: World, manager: Manager, seed: int = 0, trial: int = 0, n_recorded: int = 0) -> Engine:
    """An engine that has simulated nothing yet; InputError when world and manager do not fit."""
    raise_if_any(managed_problems(world, manager))
    engine = Engine(world, manager, _seed64(seed, trial, manager), n_recorded)
    engine.warm_up()
    return engine


def _seed64(seed: int, trial: int, manager: Manager) -> int:
    text = f"{seed} {trial} policy {manager.policy.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Engine:
    """The arrays of one run, and the kernel that works on them."""

    def __init__(self, world: World, manager: Manager, seed64: int, n_recorded: int = 0) -> None:
        self.day, self.policy, self.is_measured = world, manager.policy, manager.mapping_time == "measured"
        self.rng = np.random.default_rng(seed64)
        self.world = _managed_world(world, manager, seed64)
        self.state = _new_state(world, manager, self.world, n_recorded)
        self.own = manager.policy.own
        self.world = self.world._replace(outside=outside_of(world, manager.policy, self.world, self.state))

    def run(self, end_s: float, *, is_last: bool = True) -> None:
        """Let events happen up to an instant; after the last ones the machines work off what is planned."""
        if self.own is not None:
            self._ask(self.own, end_s)
            return
        self._go(end_s, is_last=is_last)
        if self.state.batch.n_rises[0]:
            raise rising_value(self.policy)
        if (status := int(self.state.rolling.program.status[0])) != SOLVED:
            raise unsolved_program(self.policy, REASONS[status])

    def _go(self, end_s: float, *, is_last: bool = True) -> None:
        """Let the kernel go on; where mapping is measured, event by event."""
        if self.is_measured:
            while self._call(end_s, 1, is_last=False):
                pass
        self._call(end_s, _ALL_EVENTS, is_last=is_last)

    def _ask(self, own: Own, end_s: float) -> None:
        """Let a user's own policy assign at all events."""
        asking = Asking(own)
        with asking.begun(self.day):
            if own.is_compiled:
                self._go(end_s)
                raise_fault(self.world.outside, own, self.day.system.n_machines)
                return
            for event in self.events():
                answer = asking.ask(event, event.place)
                rows = answer.rows(ASSIGNMENT)
                if len(rows):
                    try:
                        event.assign(*rows.T)
                    except InputError as error:
                        raise answer.error(error.problems[0].found, error.problems[0].advice) from error

    def _call(self, end_s: float, n_events: int, *, is_last: bool) -> int:
        """Let this many events happen, and remember how long that took."""
        began = time.perf_counter()
        happened = _map_managed(self.world, self.state, end_s, n_events, is_last)
        self.state.clock.instants[state.MAPPING] = time.perf_counter() - began
        return int(happened)

    def looked_ahead(self) -> Engine:
        """This engine as it would be if no event came any more; it stays as it is itself."""
        ahead = copy.copy(self)
        ahead.state = copy.deepcopy(self.state)
        ahead._call(_BEFORE_ALL_S, 0, is_last=True)
        return ahead

    def warm_up(self) -> None:
        """Compile, or load what was compiled, without simulating anything."""
        if self.policy.rule != "assigned" or (self.own is not None and self.own.is_compiled):
            self._call(_BEFORE_ALL_S, 0, is_last=False)
            return
        ahead = copy.deepcopy(self.state)
        _open_next_event(self.world, ahead, _BEFORE_ALL_S)
        Event(self.day, self.world, ahead, 0, self.rng).assign([], [])
        _close_last_event(self.world, ahead)
        _finish_run(self.world, ahead)

    def events(self) -> Iterator[Event]:
        """The events of the window, one after the other; each is open until the next one is asked for."""
        number, clock = 0, self.state.clock
        while _open_next_event(self.world, self.state, self.day.workload.end_s):
            began = time.perf_counter()
            yield Event(self.day, self.world, self.state, number, self.rng)
            clock.instants[state.MAPPING] = time.perf_counter() - began
            _close_last_event(self.world, self.state)
            number += 1
        _finish_run(self.world, self.state)

    def managed(self, mapping_s: float) -> Managed:
        """What was done, which took so long."""
        worked, counted, late = self.state.clock.counts[[state.WORKED, state.COUNTED, state.LATE]].tolist()
        prices = self.state.prices.path[:worked]
        return Managed(self.allocation(), worked, counted, late, mapping_s, prices, self.quotas())

    def quotas(self) -> Counts:
        """How many tasks were to go where at each recorded event, as [event, task type, machine type, P-state]."""
        option_at, path = self.world.option_at, self.state.rolling.path
        recorded = path[: self.state.clock.counts[state.WORKED], option_at]
        return np.asarray(np.where(option_at == -1, 0, recorded))

    def allocation(self) -> Allocation:
        """What was decided so far."""
        return Allocation(*self.state.plan, _broken_runs(self.state.losses), _broken_runs(self.state.pieces))


def _broken_runs(broken: state.Broken) -> BrokenRuns:
    columns: Any = (column[: broken.size[0]] for column in broken[1:])
    return BrokenRuns(*columns)


def _managed_world(world: World, manager: Manager, seed64: int) -> ManagedWorld:
    """World and manager as the kernel sees them."""
    layout = layout_of(world, manager.n_types)
    options = _options(layout.options, manager)
    return ManagedWorld(
        tasks=layout.tasks,
        utilities=layout.utilities,
        options=options,
        everywhere=layout_of(world).options,
        threshold=thresholds(world, manager),
        load=load_by_type(world),
        value=usable_value(world, manager.policy),
        rules=_rules(world, manager, seed64),
        limits=_limits(world, manager, options),
        stretch=_stretch(world),
        place=_places(world, manager),
        option_at=_option_at(options, world.system.etc_s.shape),
        standing=_standing(world),
        downtimes=_downtimes(world),
        outside=Nobody(),
    )


def _new_state(world: World, manager: Manager, setting: ManagedWorld, n_recorded: int) -> ManagedState:
    """The state before everything, with room to record this many events with work."""
    system, n_tasks, limits = world.system, world.workload.n_tasks, setting.limits
    n_types, n_options = system.n_machine_types, setting.options.exec_s.size
    charge, n_pairs = _charge(world, manager, setting.options), system.n_machines * system.n_pstates
    n_days = limits.n_before + limits.n_days + _n_days_after(world, manager)
    n_edges = 2 * (3 * system.n_machines + n_tasks) + 2 if limits.has_cap else 1
    cost_j = limits.cost_j if limits.has_budget else np.zeros(n_options)
    return ManagedState(
        clock=state.new_clock(),
        batch=state.new_batch(setting.rules, setting.tasks, n_types, system.n_task_types, charge, n_pairs),
        machines=new_machines(system.counts),
        ledger=energy.new_ledger(n_days, n_options, n_edges),
        prices=new_prices(n_types, _gains(world), n_recorded),
        rolling=rolling.new_rolling(setting.rules.program, setting.options, cost_j, n_types, n_recorded),
        losses=state.new_broken(world.outages.machine.size),
        pieces=state.new_broken(n_tasks if manager.preempts else 0),
        is_cut=np.zeros(n_tasks if manager.preempts else 0, np.bool_),
        last_task=np.full(system.n_machines, NOBODY, np.int64),
        plan=empty_plan(n_tasks),
    )


def managed_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where world and manager do not fit for the managed engine."""
    supply, work, policy = world.supply, world.workload, manager.policy
    if policy.mode == "immediate":
        found = (
            f"found the policy {policy.name} day by day, or with limits of energy, standby, failures, uncertain times"
        )
        yield Problem("manager.policy", found, "must be a batch policy", "use one such as max-max-upt")
    if work.rise_s is not None:
        yield from rising_problems(policy)
    may_wait = supply.is_limited or manager.only_worthwhile or policy.holds_back
    if may_wait and not math.isfinite(work.end_s):
        found = "found a counted window without an end"
        why = "must end where a budget, a cap, declined choices or a policy of your own may keep tasks waiting"
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
    yield from _preempting_problems(world, manager)
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


def _preempting_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where tasks cannot be suspended: a suspended task uses time and energy that nobody planned."""
    standby, has_limits = world.system.standby, world.supply.is_limited
    sleeps = standby is not None and bool(np.isfinite(standby.sleep_after_s).any())
    is_uncertain = world.workload.stretch is not None or world.outages.machine.size > 0
    reasons = {
        "limits of energy or power": has_limits,
        "uncertain times or failures": is_uncertain,
        "machines that sleep": sleeps,
        "utilities that rise first": world.workload.rise_s is not None,
    }
    if manager.preempts and any(reasons.values()):
        found = f"found true in a world with {' and '.join(reason for reason, holds in reasons.items() if holds)}"
        allowed = "what suspended tasks take in addition is not planned there"
        yield Problem("manager.preempts", found, allowed, "leave preempts out")


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


def _goes_by_type(policy: Policy) -> bool:
    """Whether tasks of a type are alike: the objective sees neither utility nor waiting, nor do prices or programs."""
    sees_types = policy.objective is not None and policy.objective.by_type
    return sees_types and policy.rule == "greedy" and not policy.is_priced and policy.program is None


def _may_rise(world: World, policy: Policy) -> bool:
    """Whether choices that are valued may become worth more with time."""
    return policy.rule == "greedy" and policy.objective is not None and not policy.objective.falls_in(world)


def _rules(world: World, manager: Manager, seed64: int) -> state.Rules:
    model = manager.mapping_model if manager.mapping_time == "given" else (0.0, 0.0, 0.0)
    has_tariff = manager.follows_tariff and world.supply.tariff is not None
    is_sure = world.workload.stretch is None and world.outages.machine.size == 0
    is_certain = is_sure and not manager.preempts  # a machine whose task is suspended may be free sooner
    drops_by_idle, postpones = manager.dropping_by == "idle", manager.postponing == "next-day"
    is_split, by_lot = manager.policy.program == "makespan", manager.policy.rule in ("at-random", "assigned")
    by_type, may_rise = _goes_by_type(manager.policy), _may_rise(world, manager.policy)
    drops_at_once = is_split or by_lot or any(model[1:]) or drops_by_idle or postpones or manager.follows_load
    seen = manager.policy.objective or UTILITY
    return state.Rules(
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
        drops_eagerly=not is_certain or may_rise or drops_at_once,
        drops_by_idle=drops_by_idle,
        follows_load=manager.follows_load,
        postpones=postpones,
        by_type=by_type,
        preempts=manager.preempts,
        checkpoint_s=manager.checkpoint_s,
        restart_s=manager.restart_s,
        may_rise=may_rise,
        has_bounds=seen.falls_with_time,
        urgency=seen.urgency,
        is_patient=seen.is_patient,
        random_seed=np.uint64(seed64),
    )


def _n_days_after(world: World, manager: Manager) -> int:
    """How many days after the window plans may reach: those made at its end may have effect only later."""
    constant_s, per_task_s, per_square_s = manager.mapping_model
    n = world.workload.n_tasks
    longest_s = constant_s + per_task_s * n + per_square_s * n * n if manager.mapping_time == "given" else 0.0
    return 3 + math.ceil(longest_s / world.supply.day_s)


def _gains(world: World) -> Gains:
    """Where energy is what runs short, more machines may be idle before their time becomes cheaper."""
    return Gains(idle=0.08 if math.isfinite(world.supply.budget_j) else 0.03)


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
