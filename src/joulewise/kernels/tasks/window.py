"""A few waiting tasks to choose from, one at a time: what may be chosen, what is seen, and the choice itself.

A choice is a place of the window, a machine type and a P-state; the task goes to the machine of that type that is free
first among those whose next task would be fixed. What is seen are numbers from 0 to 1: a part of a whole, or
x / (x + unit) of what has no end. `simulate.tasks.window` says what each of them means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.heap import Heap, push
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import NOBODY, RAN
from joulewise.kernels.records import record
from joulewise.kernels.tasks.assigned import place
from joulewise.kernels.tasks.orders import may_take
from joulewise.kernels.tasks.state import ARRIVED, EFFECT, HORIZON, LAST
from joulewise.kernels.window import QUEUE_UNIT, WAIT_UNIT_S, next_in_line, part_inside, see_day, share

OF_EVENT, OF_TYPE, OF_PLACE, OF_OPTION = 5, 2, 3, 3
"""How many entries there are of the event, and of each machine type, place and option."""


@record
class Window(NamedTuple):
    """The tasks in `line`, of which `task` shows the first ones (or NOBODY) in places that stay theirs during an event.

    The line is in order of arrival, or `by_worth`: by utility per second on the machines as they are fixed. `machine`
    is by type that which gets the next task, or NOBODY. `seen` and `mask` are those of the present choice; the last of
    the mask closes the event. Units are the highest scale of a task, and means of all options.
    """

    by_worth: bool
    line: Heap
    task: NDArray[np.int64]
    machine: NDArray[np.int64]
    start_s: float
    end_s: float
    day_s: float
    most: float
    mean_s: float
    mean_energy_j: float
    seen: NDArray[np.float32]
    mask: NDArray[np.int8]


@shared
def worth_per_second(world, state, i):
    """The most that a task could earn per second of execution on the machines as they are fixed."""
    options, t, best = world.options, world.tasks.task_type[i], 0.0
    for option in range(options.first[t], options.first[t + 1]):
        end_s = state.machines.soonest_s[options.machine_type[option]] + options.exec_s[option]
        if end_s < np.inf:
            best = max(best, utility_of(world.tasks, world.utilities, i, end_s) / options.exec_s[option])
    return best


@inlined
def takes_one(world, state, m):
    """Whether the next task that a machine gets would be fixed before the next event, as far as is known."""
    machines, horizon_s = state.machines, state.clock.instants[HORIZON]
    is_planned = machines.n_queued[m] > 0 and machines.free_s[m] > horizon_s
    is_filled = machines.filled[m] if world.rules.is_certain else is_planned
    return machines.is_there[m] and not is_filled


@shared
def see_machines(world, state, window):
    """Find which machine of each type gets the next task, and see how soon."""
    machines, clock, seen = state.machines, state.clock.instants, window.seen
    n_types, n_open_in_all = window.machine.size, 0
    for k in range(n_types):
        best, n_open = NOBODY, 0
        for m in range(machines.first[k], machines.first[k + 1]):
            if takes_one(world, state, m):
                n_open += 1
                if best == NOBODY or machines.free_s[m] < machines.free_s[best]:
                    best = m
        window.machine[k] = best
        n_open_in_all += n_open
        seen[OF_EVENT + OF_TYPE * k] = n_open / max(machines.first[k + 1] - machines.first[k], 1)
        seen[OF_EVENT + OF_TYPE * k + 1] = (
            1.0 if best == NOBODY else share(machines.free_s[best] - clock[EFFECT], WAIT_UNIT_S)
        )
    return n_open_in_all / machines.free_s.size


@shared
def see_task(world, state, window, place_at, at):
    """See the task in a place of the window, from entry `at` on, and which options it may choose; returns the next."""
    i, now_s, seen = window.task[place_at], state.clock.instants[LAST], window.seen
    n_types, n_pstates = window.machine.size, world.option_at.shape[2]
    best = 0.0
    for k in range(n_types):
        for p in range(n_pstates):
            which = (place_at * n_types + k) * n_pstates + p
            here, m = at + OF_PLACE + OF_OPTION * (k * n_pstates + p), window.machine[k]
            option = NOBODY if i == NOBODY else world.option_at[world.tasks.task_type[i], k, p]
            window.mask[which] = option != NOBODY and m != NOBODY and may_take(world, state, m, option)
            seen[here : here + OF_OPTION] = 0.0
            if window.mask[which]:
                exec_s = world.options.exec_s[option]
                earned = utility_of(world.tasks, world.utilities, i, state.machines.free_s[m] + exec_s)
                earned = min(earned / window.most, 1.0)
                best = max(best, earned)
                seen[here], seen[here + 1] = earned, share(exec_s, window.mean_s)
                seen[here + 2] = share(world.options.energy_j[option], window.mean_energy_j)
    seen[at] = i != NOBODY
    seen[at + 1] = 0.0 if i == NOBODY else share(now_s - world.tasks.arrival_s[i], WAIT_UNIT_S)
    seen[at + 2] = best
    return at + OF_PLACE + OF_OPTION * n_types * n_pstates


@shared
def see(world, state, window):
    """See the present choice."""
    seen = window.seen
    see_day(window, world.limits, state.ledger, state.clock.instants[LAST])
    n_shown = 0
    for place_at in range(window.task.size):
        n_shown += window.task[place_at] != NOBODY
    seen[3] = share(window.line.size[0] + n_shown, QUEUE_UNIT)
    seen[4] = see_machines(world, state, window)
    at = OF_EVENT + OF_TYPE * window.machine.size
    for place_at in range(window.task.size):
        at = see_task(world, state, window, place_at, at)
    window.mask[-1] = 1


@kernel
def open_window(world, state, window):
    """Show the first of the tasks that wait in an event that was opened."""
    waiting, line = state.batch.waiting, window.line
    line.size[0] = 0
    for at in range(waiting.size[0]):
        i = waiting.items[at]
        line.value[i] = worth_per_second(world, state, i) if window.by_worth else 0.0
        line.completion_s[i] = world.tasks.arrival_s[i]
        push(line, i)
    for place_at in range(window.task.size):
        window.task[place_at] = next_in_line(window.line)
    see(world, state, window)


@kernel
def choose(world, state, window, choice):
    """Make a choice that the mask allows, and show the next task in its place."""
    n_pstates = world.option_at.shape[2]
    which, p = choice // n_pstates, choice % n_pstates
    place_at, k = which // window.machine.size, which % window.machine.size
    fate = place(world, state, window.task[place_at], window.machine[k], p)
    window.task[place_at] = next_in_line(window.line)
    see(world, state, window)
    return fate


@kernel
def newly_earned(world, state, start_s, end_s, is_prorated, is_counted, is_over):
    """What tasks earn in the counted window of which that became known since they were counted last; they are now.

    It is known once they are fixed or, where that is not certain, once they have ended.
    """
    plan, total, is_known = state.plan, 0.0, is_over or world.rules.is_certain
    for i in range(state.clock.counts[ARRIVED]):
        is_told = is_known or plan.end_s[i] <= state.clock.instants[LAST]
        if plan.status[i] == RAN and is_told and not is_counted[i]:
            is_counted[i] = True
            from_s, until_s = plan.start_s[i], plan.end_s[i]
            part = part_inside(from_s, until_s, start_s, end_s, is_prorated)
            total += part * utility_of(world.tasks, world.utilities, i, until_s)
    return total
