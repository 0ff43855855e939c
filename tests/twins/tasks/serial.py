"""The slow twin of the simulator of serial tasks: the rules word for word, every choice looked at every time.

Nothing is grouped by type, cached, truncated or kept from one mapping event to the next. The entrances
`run_immediate`, `run_as_told`, `run_batch` and `run_sufferage` are plain Python on arrays and can also be
compiled as they stand: `numba.njit(run_batch, error_model="numpy")`. `value` is the policy's objective; called
from compiled code it must be compiled too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from joulewise.model import System, World

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = Callable[[float, float, float, float, float], float]

NOBODY = -1
WAITING, RAN, DROPPED = 0, 1, 2


class Work(NamedTuple):
    """The tasks and their utility functions, as in the model."""

    arrival_s: Array
    task_type: Array
    shape: Array
    scale: Array
    hold_s: Array
    rise_s: Array
    first: Array
    start_s: Array
    level: Array
    span: Array
    rate_per_s: Array
    slope_per_s: Array


class Machines(NamedTuple):
    """Times and energies by [task type, machine type, P-state], and the type of every single machine.

    `etc_s` is inf where the task cannot run or must not, `anywhere_s` only where it cannot. Of what a task would earn
    one execution time later, the part `urgency` is taken off what the objective sees. Where the policy `is_patient`, no
    choice is made that ends before the task's utility has risen.
    """

    etc_s: Array
    eec_j: Array
    machine_type: Array
    anywhere_s: Array
    urgency: float = 0.0
    is_patient: bool = False


class Plan(NamedTuple):
    """What is decided for each task, as in an allocation."""

    machine: Array
    pstate: Array
    start_s: Array
    end_s: Array
    status: Array


class Queues(NamedTuple):
    """What each machine holds: the executing task, the pending one, and its virtual queue in order.

    A task in a virtual queue has no place in the plan yet: its P-state is remembered here.
    """

    executing: Array
    pending: Array
    virtual: Array
    n_virtual: Array
    mapped_pstate: Array


def work_and_machines(
    world: World, best_types: int | None = None, urgency: float = 0.0, is_patient: bool = False
) -> tuple[Work, Machines]:
    """The world's arrays as the twin takes them; with `best_types`, so many machine types for each task type."""
    work, system, shapes = world.workload, world.system, world.workload.shapes
    rise_s = np.zeros(work.n_tasks) if work.rise_s is None else work.rise_s
    tasks = (work.arrival_s, work.task_type, work.shape, work.scale, work.hold_s, rise_s)
    segments = (shapes.start_s, shapes.level, shapes.span, shapes.rate_per_s, shapes.slope_per_s)
    times = (on_best_types(system, best_types), system.eec_j, system.machine_type, system.etc_s)
    return Work(*tasks, shapes.first, *segments), Machines(*times, urgency, is_patient)


def on_best_types(system: System, best_types: int | None) -> Array:
    """The times, with inf outside the machine types, among those with machines, that are fastest in P-state 0."""
    if best_types is None:
        return system.etc_s
    etc_s = np.full(system.etc_s.shape, math.inf)
    for task_type in range(system.n_task_types):
        there = [(system.etc_s[task_type, kind, 0], kind) for kind in np.flatnonzero(system.counts)]
        for _, kind in sorted(there)[:best_types]:
            etc_s[task_type, kind] = system.etc_s[task_type, kind]
    return etc_s


# Immediate mode


def run_immediate(
    value: Value, work: Work, machines: Machines, threshold: float, mapping_s: float, end_s: float
) -> Plan:
    """Each task, on arrival, goes to its best machine, or is dropped when it would earn too little there.

    Mapping one takes some time, in which others that arrive wait for their turn; no machine starts a task before.
    """
    plan = nothing_decided(work.arrival_s.size)
    ready_s = np.zeros(machines.machine_type.size)
    mapper_s = 0.0
    for task in range(work.arrival_s.size):
        turn_s = max(work.arrival_s[task], mapper_s)
        if turn_s <= end_s:
            mapper_s = turn_s + mapping_s
            ready_s = np.maximum(ready_s, mapper_s)
            _, _, machine, pstate = best_choice(value, task, ready_s, work, machines)
            take_or_drop(task, machine, pstate, ready_s, work, machines, plan, threshold)
    return plan


def run_as_told(
    machine: Array, work: Work, machines: Machines, threshold: float, mapping_s: float, end_s: float
) -> Plan:
    """Each task, on arrival, goes to the machine it was told, in P-state 0, or is dropped as above."""
    plan = nothing_decided(work.arrival_s.size)
    ready_s = np.zeros(machines.machine_type.size)
    mapper_s = 0.0
    for task in range(work.arrival_s.size):
        turn_s = max(work.arrival_s[task], mapper_s)
        if turn_s <= end_s:
            mapper_s = turn_s + mapping_s
            ready_s = np.maximum(ready_s, mapper_s)
            take_or_drop(task, machine[task], 0, ready_s, work, machines, plan, threshold)
    return plan


@register_jitable
def take_or_drop(
    task: int,
    machine: int,
    pstate: int,
    ready_s: Array,
    work: Work,
    machines: Machines,
    plan: Plan,
    threshold: float,
) -> None:
    start_s = max(work.arrival_s[task], ready_s[machine])
    completion_s = start_s + exec_of(task, machine, pstate, work, machines)
    if threshold > 0 and utility_of(task, completion_s, work) < threshold:
        plan.status[task] = DROPPED
    else:
        ready_s[machine] = decide(task, machine, pstate, start_s, work, machines, plan)


# Batch mode


def run_batch(value: Value, work: Work, machines: Machines, threshold: float, interval_s: float, end_s: float) -> Plan:
    """Mapping events that map by the two-stage greedy."""
    return run_events(False, value, work, machines, threshold, interval_s, end_s)


def run_sufferage(
    value: Value, work: Work, machines: Machines, threshold: float, interval_s: float, end_s: float
) -> Plan:
    """Mapping events that map by sufferage."""
    return run_events(True, value, work, machines, threshold, interval_s, end_s)


@register_jitable
def run_events(
    by_sufferage: bool,
    value: Value,
    work: Work,
    machines: Machines,
    threshold: float,
    interval_s: float,
    end_s: float,
) -> Plan:
    """Mapping events at 0, 1, 2, ... intervals, up to the window's end or until nobody is left to map."""
    plan = nothing_decided(work.arrival_s.size)
    queues = empty_queues(work.arrival_s.size, machines.machine_type.size)
    event, n_arrived = 0, 0
    while event * interval_s <= end_s:
        now_s = event * interval_s
        advance(queues, now_s, work, machines, plan)
        while n_arrived < work.arrival_s.size and work.arrival_s[n_arrived] <= now_s:
            n_arrived += 1
        queues.n_virtual[:] = 0  # what was not fixed is mapped anew
        if threshold > 0:
            drop(now_s, n_arrived, queues, work, machines, plan, threshold)
        if by_sufferage:
            map_by_sufferage(value, now_s, n_arrived, queues, work, machines, plan)
        else:
            map_all(value, now_s, n_arrived, queues, work, machines, plan)
        event += 1
        if n_arrived == work.arrival_s.size and not (plan.status == WAITING).any():
            break
    advance(queues, event * interval_s, work, machines, plan)
    return plan


@register_jitable
def empty_queues(n_tasks: int, n_machines: int) -> Queues:
    return Queues(
        np.full(n_machines, NOBODY),
        np.full(n_machines, NOBODY),
        np.full((n_machines, n_tasks), NOBODY),
        np.zeros(n_machines, np.int64),
        np.full(n_tasks, NOBODY),
    )


@register_jitable
def advance(queues: Queues, now_s: float, work: Work, machines: Machines, plan: Plan) -> None:
    """Let every machine work until this instant, with what ends and starts at that very instant."""
    for machine in range(machines.machine_type.size):
        while queues.executing[machine] != NOBODY and plan.end_s[queues.executing[machine]] <= now_s:
            queues.executing[machine] = queues.pending[machine]
            queues.pending[machine] = NOBODY
            if queues.n_virtual[machine] > 0:
                head = queues.virtual[machine, 0]
                for place in range(1, queues.n_virtual[machine]):
                    queues.virtual[machine, place - 1] = queues.virtual[machine, place]
                queues.n_virtual[machine] -= 1
                make_pending(head, machine, queues, work, machines, plan)


@register_jitable
def make_pending(task: int, machine: int, queues: Queues, work: Work, machines: Machines, plan: Plan) -> None:
    """The task is fixed: it will start when the executing one ends."""
    queues.pending[machine] = task
    start_s = plan.end_s[queues.executing[machine]]
    decide(task, machine, queues.mapped_pstate[task], start_s, work, machines, plan)


@register_jitable
def ready_times_s(now_s: float, queues: Queues, plan: Plan) -> Array:
    """When each machine is done with what is fixed on it, and not before now."""
    ready_s = np.full(queues.executing.size, now_s)
    for machine in range(queues.executing.size):
        if queues.executing[machine] != NOBODY:
            ready_s[machine] = plan.end_s[queues.executing[machine]]
        if queues.pending[machine] != NOBODY:
            ready_s[machine] = plan.end_s[queues.pending[machine]]
    return ready_s


@register_jitable
def drop(
    now_s: float,
    n_arrived: int,
    queues: Queues,
    work: Work,
    machines: Machines,
    plan: Plan,
    threshold: float,
) -> None:
    """Drop for ever whoever could earn the threshold on no machine, even as the next one there."""
    ready_s = ready_times_s(now_s, queues, plan)
    for task in range(n_arrived):
        if plan.status[task] == WAITING and best_utility(task, ready_s, work, machines) < threshold:
            plan.status[task] = DROPPED


@register_jitable
def best_utility(task: int, ready_s: Array, work: Work, machines: Machines) -> float:
    best = -math.inf
    for machine in range(machines.machine_type.size):
        for pstate in range(machines.etc_s.shape[2]):
            exec_s = machines.anywhere_s[work.task_type[task], machines.machine_type[machine], pstate]
            completion_s = ready_s[machine] + exec_s
            if completion_s < math.inf:
                best = max(best, worth_once_risen(task, completion_s, work))
    return best


@register_jitable
def map_all(
    value: Value, now_s: float, n_arrived: int, queues: Queues, work: Work, machines: Machines, plan: Plan
) -> None:
    """The two-stage greedy: the best choice of each task, the best of these, again and again for all."""
    ready_s = ready_times_s(now_s, queues, plan)
    mappable = plan.status[:n_arrived] == WAITING
    for _ in range(mappable.sum()):
        task, machine, pstate = best_of_all(value, mappable, ready_s, work, machines)
        if task == NOBODY:
            break
        mappable[task] = False
        put_in_queue(task, machine, pstate, ready_s, queues, work, machines, plan)


@register_jitable
def put_in_queue(
    task: int,
    machine: int,
    pstate: int,
    ready_s: Array,
    queues: Queues,
    work: Work,
    machines: Machines,
    plan: Plan,
) -> None:
    """The task comes last on the machine: it executes, is pending, or waits in the virtual queue."""
    start_s = ready_s[machine]
    ready_s[machine] = start_s + exec_of(task, machine, pstate, work, machines)
    queues.mapped_pstate[task] = pstate
    if queues.executing[machine] == NOBODY:
        queues.executing[machine] = task
        decide(task, machine, pstate, start_s, work, machines, plan)
    elif queues.pending[machine] == NOBODY:
        make_pending(task, machine, queues, work, machines, plan)
    else:
        queues.virtual[machine, queues.n_virtual[machine]] = task
        queues.n_virtual[machine] += 1


@register_jitable
def map_by_sufferage(
    value: Value, now_s: float, n_arrived: int, queues: Queues, work: Work, machines: Machines, plan: Plan
) -> None:
    """Pass after pass: every task asks for its best machine, and each machine takes whoever would suffer most."""
    ready_s = ready_times_s(now_s, queues, plan)
    mappable = plan.status[:n_arrived] == WAITING
    while mappable.sum() > 0:
        n_machines = machines.machine_type.size
        taken, taken_pstate = np.full(n_machines, NOBODY), np.full(n_machines, 0)
        most, worths, completions_s = np.zeros(n_machines), np.zeros(n_machines), np.zeros(n_machines)
        for task in range(n_arrived):
            if not mappable[task]:
                continue
            worth, completion_s, machine, pstate = best_choice(value, task, ready_s, work, machines)
            suffers = sufferage(worth, task, machine, ready_s, work, machines)
            if (
                taken[machine] == NOBODY
                or suffers > most[machine]
                or (suffers == most[machine] and beats(worth, completion_s, worths[machine], completions_s[machine]))
            ):
                taken[machine], taken_pstate[machine], most[machine] = task, pstate, suffers
                worths[machine], completions_s[machine] = worth, completion_s
        for machine in range(n_machines):
            if taken[machine] != NOBODY:
                mappable[taken[machine]] = False
                put_in_queue(taken[machine], machine, taken_pstate[machine], ready_s, queues, work, machines, plan)


@register_jitable
def sufferage(best: float, task: int, best_machine: int, ready_s: Array, work: Work, machines: Machines) -> float:
    """What the task loses with the best of all other machines; all it would earn when there is no other."""
    second, found = 0.0, False
    for machine in range(machines.machine_type.size):
        for pstate in range(machines.etc_s.shape[2]):
            completion_s = ready_s[machine] + exec_of(task, machine, pstate, work, machines)
            if machine != best_machine and completion_s < math.inf:
                utility = utility_of(task, completion_s, work)
                if not found or utility > second:
                    second, found = utility, True
    return best - second


@register_jitable
def best_of_all(value: Value, mappable: Array, ready_s: Array, work: Work, machines: Machines) -> tuple[int, int, int]:
    """The task to map next, or nobody, its machine and its P-state; ties go to the earlier completion, then task."""
    chosen, chosen_worth, chosen_completion_s, chosen_machine, chosen_pstate = NOBODY, 0.0, 0.0, 0, 0
    for task in range(mappable.size):
        if mappable[task]:
            worth, completion_s, machine, pstate = best_choice(value, task, ready_s, work, machines)
            if machine != NOBODY and (
                chosen == NOBODY or beats(worth, completion_s, chosen_worth, chosen_completion_s)
            ):
                chosen, chosen_worth, chosen_completion_s = task, worth, completion_s
                chosen_machine, chosen_pstate = machine, pstate
    return chosen, chosen_machine, chosen_pstate


# What both modes share


@register_jitable
def nothing_decided(n_tasks: int) -> Plan:
    return Plan(
        np.full(n_tasks, NOBODY, np.int32),
        np.full(n_tasks, NOBODY, np.int8),
        np.full(n_tasks, np.nan),
        np.full(n_tasks, np.nan),
        np.full(n_tasks, WAITING, np.int8),
    )


@register_jitable
def decide(task: int, machine: int, pstate: int, start_s: float, work: Work, machines: Machines, plan: Plan) -> float:
    """Write down that the task runs there from then on; returns its end (s)."""
    plan.machine[task] = machine
    plan.pstate[task] = pstate
    plan.start_s[task] = start_s
    plan.end_s[task] = start_s + exec_of(task, machine, pstate, work, machines)
    plan.status[task] = RAN
    return float(plan.end_s[task])


@register_jitable
def exec_of(task: int, machine: int, pstate: int, work: Work, machines: Machines) -> float:
    """How long the task runs there (s); inf where it cannot."""
    return float(machines.etc_s[work.task_type[task], machines.machine_type[machine], pstate])


@register_jitable
def best_choice(
    value: Value, task: int, ready_s: Array, work: Work, machines: Machines
) -> tuple[float, float, int, int]:
    """The task's best choice: value, completion (s), machine, P-state; where a patient policy makes none, nobody's.

    Ties go to the earlier completion, then to the lower machine type, within it to the machine that is free
    first, then to the lower machine and the lower P-state. (Of one type the machine that is free first also
    completes first; that it needs a word is due to completions that are equal only after rounding.)
    """
    best_worth, best_completion_s, best_start_s, best_machine, best_pstate = 0.0, 0.0, 0.0, NOBODY, NOBODY
    for machine in range(machines.machine_type.size):
        for pstate in range(machines.etc_s.shape[2]):
            exec_s = exec_of(task, machine, pstate, work, machines)
            if exec_s == math.inf:
                continue
            start_s = max(work.arrival_s[task], ready_s[machine])
            completion_s = start_s + exec_s
            if machines.is_patient and completion_s - work.arrival_s[task] < work.rise_s[task]:
                continue
            utility = utility_of(task, completion_s, work)
            if machines.urgency > 0:
                utility -= machines.urgency * utility_of(task, completion_s + exec_s, work)
            energy_j = machines.eec_j[work.task_type[task], machines.machine_type[machine], pstate]
            worth = value(utility, completion_s, exec_s, energy_j, start_s - work.arrival_s[task])
            if math.isnan(worth):
                worth = -math.inf
            if best_machine == NOBODY:
                better = True
            elif worth == best_worth and completion_s == best_completion_s:
                same_type = machines.machine_type[machine] == machines.machine_type[best_machine]
                better = same_type and start_s < best_start_s
            else:
                better = beats(worth, completion_s, best_worth, best_completion_s)
            if better:
                best_worth, best_completion_s, best_start_s = worth, completion_s, start_s
                best_machine, best_pstate = machine, pstate
    return best_worth, best_completion_s, best_machine, best_pstate


@register_jitable
def beats(worth: float, completion_s: float, other_worth: float, other_completion_s: float) -> bool:
    """Whether a choice is better than one looked at before it: higher value, then earlier completion."""
    return worth > other_worth or (worth == other_worth and completion_s < other_completion_s)


@register_jitable
def utility_of(task: int, completion_s: float, work: Work) -> float:
    """What the task earns by completing at this instant."""
    since_s, worth = completion_s - work.arrival_s[task], worth_once_risen(task, completion_s, work)
    return worth * (since_s / work.rise_s[task]) if since_s < work.rise_s[task] else worth


@register_jitable
def worth_once_risen(task: int, completion_s: float, work: Work) -> float:
    """What the task would earn by completing at this instant if its utility never rose: the most that it still can."""
    x_s = max(0.0, completion_s - work.arrival_s[task] - work.hold_s[task])
    segment = work.first[work.shape[task]]
    last = work.first[work.shape[task] + 1] - 1
    while segment < last and work.start_s[segment + 1] <= x_s:
        segment += 1
    dx_s = x_s - work.start_s[segment]
    decayed = work.span[segment] * math.exp(-work.rate_per_s[segment] * dx_s)
    value = work.level[segment] + decayed + work.slope_per_s[segment] * dx_s
    floor = work.level[segment + 1] + work.span[segment + 1] if segment < last else 0.0
    return float(work.scale[task] * max(value, floor))
