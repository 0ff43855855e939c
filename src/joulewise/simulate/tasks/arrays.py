"""A world and a manager with any of its switches as the kernels of the managed day see them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from joulewise.kernels.layout import NOBODY, Options, empty_plan
from joulewise.kernels.live_prices import Gains
from joulewise.kernels.tasks import energy, rolling, state
from joulewise.kernels.tasks.live_prices import new_prices
from joulewise.kernels.tasks.machines import Downtimes, Standing, new_machines
from joulewise.kernels.tasks.state import ManagedState, ManagedWorld
from joulewise.kernels.tasks.valuer import Nobody, Valuer
from joulewise.model.arrays import Bools, Floats
from joulewise.model.world import World
from joulewise.policies.layout import layout_of
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.objectives import UTILITY
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.weights import highest_energy_j, highest_value
from joulewise.simulate.tasks.dropping import load_by_type, thresholds
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.values import usable_value

_RULES = {
    "greedy": state.GREEDY,
    "in-order": state.IN_ORDER,
    "at-random": state.AT_RANDOM,
    "sufferage": state.SUFFERAGE,
    "assigned": state.ASSIGNED,
}
_FILTERS = {"none": energy.NO_FILTER, "fair-share": energy.FAIR_SHARE, "adaptive": energy.ADAPTIVE}
_PROGRAMS = {None: rolling.NO_PROGRAM, "makespan": rolling.MAKESPAN, "worth": rolling.WORTH}


def managed_world(world: World, manager: Manager, seed64: int) -> ManagedWorld:
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
        valuer=_valuer(world, manager.policy),
    )


def new_state(world: World, manager: Manager, setting: ManagedWorld, n_recorded: int) -> ManagedState:
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
        is_priced=manager.policy.is_priced or manager.policy.rule == "assigned",
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


def _valuer(world: World, policy: Policy) -> Valuer | Nobody:
    """The objective where it sees more than five numbers."""
    if policy.objective is None or not policy.objective.sees:
        return Nobody()
    return Valuer(compiled(policy.objective), world.workload.worthless_at_s)
