"""Preemption: a task that has just come and got no machine may suspend a running one, where that earns more.

The newcomer takes its fastest option as soon as the checkpoint is written, on the machine of that type whose task is
worth least by the second. That task, suspended once at most, at once gets the machine of its type that is free first
for the rest of its work, with the option it had. If that loses more utility than the newcomer gains, or if that one
would be dropped for what it earns, everything stays as it was.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import most_from, utility_of
from joulewise.kernels.heap import sift
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import NOBODY, RAN, WAITING
from joulewise.kernels.tasks.batch import count_out, note_broken, work_off
from joulewise.kernels.tasks.greedy import threshold_of
from joulewise.kernels.tasks.machines import note_run
from joulewise.kernels.tasks.state import ARRIVED


@inlined
def free_first(machines, k, from_s, taken, until_s):
    """The machine of a type that is free first from an instant on, and when, as if one were taken until another."""
    best, best_s = NOBODY, np.inf
    for m in range(machines.first[k], machines.first[k + 1]):
        free_s = max(from_s, until_s if m == taken else machines.ready_s[m])
        if free_s < best_s:
            best, best_s = m, free_s
    return best, best_s


@inlined
def fastest_option(options, task_type):
    """The option that takes the least time, of equals the one of the lowest rank."""
    best = options.first[task_type]
    for option in range(best + 1, options.first[task_type + 1]):
        exec_s, best_s = options.exec_s[option], options.exec_s[best]
        if exec_s < best_s or (exec_s == best_s and options.rank[option] < options.rank[best]):
            best = option
    return best


@inlined
def utility_if_it_waits(world, state, i, now_s):
    """What a task earns at most if it takes no machine from another."""
    options, t, most = world.options, world.tasks.task_type[i], 0.0
    for option in range(options.first[t], options.first[t + 1]):
        _, start_s = free_first(state.machines, options.machine_type[option], now_s, NOBODY, now_s)
        if start_s < np.inf:
            completion_s = start_s + options.exec_s[option]
            most = max(most, utility_of(world.tasks, world.utilities, i, completion_s))
    return most


@inlined
def cheapest_victim(world, state, k, now_s, start_s):
    """Of the tasks on machines of a type that may be suspended, the one worth least by the second it has left.

    Of equals the one that came last; NOBODY if none may be.
    """
    machines, plan = state.machines, state.plan
    victim, least = NOBODY, np.inf
    for m in range(machines.first[k], machines.first[k + 1]):
        j = state.last_task[m]
        if j != NOBODY and plan.start_s[j] < now_s and plan.end_s[j] > start_s and not state.is_cut[j]:
            worth = utility_of(world.tasks, world.utilities, j, plan.end_s[j]) / (plan.end_s[j] - now_s)
            if worth < least or (worth == least and j > victim):
                victim, least = j, worth
    return victim


@inlined
def rest_of(world, state, j, now_s):
    """How long the rest of a running task takes after it was suspended now."""
    return world.options.exec_s[state.batch.choice[j]] - (now_s - state.plan.start_s[j]) + world.rules.restart_s


@inlined
def put_on(world, state, i, m, start_s, end_s):
    """Give a task its last stretch on a machine."""
    plan = state.plan
    plan.machine[i], plan.pstate[i] = m, world.options.pstate[state.batch.choice[i]]
    plan.start_s[i], plan.end_s[i], plan.status[i] = start_s, end_s, RAN
    state.last_task[m] = i


@inlined
def suspend(state, j, end_s):
    """Cut the run of a task short where its checkpoint is written."""
    machines, plan, m = state.machines, state.plan, state.plan.machine[j]
    note_broken(state.pieces, j, m, plan.pstate[j], plan.start_s[j], end_s)
    state.is_cut[j] = True
    machines.last_exec_s[m], machines.last_end_s[m] = end_s - plan.start_s[j], end_s
    machines.ready_s[m] = end_s


@inlined
def come_in(world, state, option, i, m, start_s, end_s):
    """Let the newcomer have the machine that was made free."""
    state.batch.choice[i] = option
    count_out(world, state, i)
    note_run(state.machines, m, start_s, world.options.exec_s[option], end_s, world.limits.cost_w[option])
    put_on(world, state, i, m, start_s, end_s)


@inlined
def go_on(world, state, j, m, start_s, end_s):
    """Hold a machine for the rest of a suspended task; none is free sooner, or the newcomer would wait for it."""
    note_run(state.machines, m, start_s, end_s - start_s, end_s, world.limits.cost_w[state.batch.choice[j]])
    put_on(world, state, j, m, start_s, end_s)


@shared
def preempt(world, state, i, now_s):
    """Let a task suspend another and take its machine, if that earns more; returns whether it did."""
    options, tasks, utilities = world.options, world.tasks, world.utilities
    option = fastest_option(options, tasks.task_type[i])
    k, start_s = options.machine_type[option], now_s + world.rules.checkpoint_s
    end_s = start_s + options.exec_s[option]
    gain = utility_of(tasks, utilities, i, end_s) - utility_if_it_waits(world, state, i, now_s)
    is_worth_it = gain > 0.0 and most_from(tasks, utilities, i, end_s) >= threshold_of(world, state.batch, i)
    j = cheapest_victim(world, state, k, now_s, start_s) if is_worth_it else NOBODY
    if j == NOBODY:
        return False
    m, rest_s = state.plan.machine[j], rest_of(world, state, j, now_s)
    again, again_s = free_first(state.machines, k, start_s, m, end_s)
    loss = utility_of(tasks, utilities, j, state.plan.end_s[j]) - utility_of(tasks, utilities, j, again_s + rest_s)
    if not gain > loss:
        return False
    suspend(state, j, start_s)
    come_in(world, state, option, i, m, start_s, end_s)
    go_on(world, state, j, again, again_s, again_s + rest_s)
    return True


@inlined
def leave_heap(state):
    """Take those that no longer wait out of the heap of waiting tasks."""
    heap, kept = state.batch.waiting, 0
    for at in range(heap.size[0]):
        i = heap.items[at]
        if state.plan.status[i] == WAITING:
            heap.items[kept] = i
            kept += 1
    heap.size[0] = kept
    sift(heap)


@shared
def preempt_for_newcomers(world, state, n_before, now_s):
    """Let tasks that came since the last mapping event, behind the first n_before, suspend others."""
    for m in range(state.machines.ready_s.size):
        work_off(world, state, m, now_s, now_s)
    some = False
    for i in range(n_before, state.clock.counts[ARRIVED]):
        if state.plan.status[i] == WAITING:
            some |= preempt(world, state, i, now_s)
    if some:
        leave_heap(state)
