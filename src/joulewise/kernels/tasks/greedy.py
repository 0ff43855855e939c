"""The two-stage greedy of the managed engine, lazy and exact, with and without a power cap.

The two-stage greedy is lazy, as in `lazy`: ready times never decrease (in a certain world), so a value computed at an
earlier event bounds the value now. Stored bounds are over all options, allowed or not, because what is not allowed
now may be later; within an event less and less is allowed, so that a choice found best stays best while it is allowed
and its machine type is free at the same instant. Where prices change, all bounds are moved by the most that any
option became cheaper; where the world is uncertain, every task is looked at again at every event. Where tasks of a type
are alike, one of them stands for all: the first in its queue, and after it has a machine the next.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, most_from
from joulewise.kernels.heap import is_sunk, pop, push, replace_top, sift
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.ledger import NOW, spend_energy
from joulewise.kernels.pool import note_rise, waiting_first
from joulewise.kernels.tasks.batch import drop, leave, set_bound, take_first, true_exec_s
from joulewise.kernels.tasks.choice import cannot_beat, earliest_option
from joulewise.kernels.tasks.energy import commit_power, is_allowed
from joulewise.kernels.tasks.machines import plan_on
from joulewise.kernels.tasks.rolling import MAKESPAN, use_quota
from joulewise.kernels.tasks.state import AS_ASKED, AS_LISTED, OPEN


@inlined
def threshold_of(world, batch, i):
    """The utility below which a task is dropped in this event."""
    return world.threshold[i] * batch.strictness[0]


@shared
def is_hopeless(world, state, i):
    """Whether a task can no longer earn its threshold on any machine looked at; one without such keeps its hope."""
    _, completion_s = earliest_option(world.everywhere, world.tasks.task_type[i], state.machines.hope_s)
    most = most_from(world.tasks, world.utilities, i, completion_s) if completion_s < np.inf else np.inf
    return most < threshold_of(world, state.batch, i)


@inlined
def worth(world, batch, i, option, utility, start_s, completion_s):
    """The value of a choice with its charge; not-a-number counts as the worst."""
    exec_s, energy_j = world.options.exec_s[option], world.options.energy_j[option]
    value = world.value(utility, completion_s, exec_s, energy_j, start_s - world.tasks.arrival_s[i])
    value = world.rules.scale * value - batch.charge[option]
    return -np.inf if np.isnan(value) else value


@inlined
def may_start(world, state, option):
    """Whether an option is allowed on the machine of its type that is free first, behind what is planned there."""
    machines, k = state.machines, world.options.machine_type[option]
    start_s, boot_j = machines.start_s[k], machines.boot_j[machines.earliest[k]]
    end_s = start_s + world.options.exec_s[option]
    return is_allowed(world.limits, state.ledger, option, start_s, end_s, boot_j)


@shared
def best_choice(world, state, i, start_s, gate):
    """The best option of a task, its utility risen, when machine type k is free at start_s[k]; the gate must allow it.

    Returns (option or NOBODY, value, completion, most utility that any option earns). The earliest completion earns
    the most utility, so the value at that utility bounds that of every other option.
    """
    options, batch, t = world.options, state.batch, world.tasks.task_type[i]
    soonest_s = np.inf
    for option in range(options.first[t], options.first[t + 1]):
        soonest_s = min(soonest_s, start_s[options.machine_type[option]] + options.exec_s[option])
    if not soonest_s < np.inf:
        return NOBODY, -np.inf, np.inf, 0.0
    most = most_from(world.tasks, world.utilities, i, soonest_s)
    best, best_value, best_s = NOBODY, -np.inf, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        if not start_s[k] < np.inf:
            continue
        completion_s = start_s[k] + options.exec_s[option]
        if best != NOBODY:
            bound = worth(world, batch, i, option, most, start_s[k], completion_s)
            if cannot_beat(bound, completion_s, best_value, best_s):
                continue
        if gate == AS_LISTED and not state.ledger.allowed[option]:
            continue
        if gate == AS_ASKED and not may_start(world, state, option):
            continue
        utility = most_from(world.tasks, world.utilities, i, completion_s)
        value = worth(world, batch, i, option, utility, start_s[k], completion_s)
        if best == NOBODY or comes_before(
            value, completion_s, options.rank[option], best_value, best_s, options.rank[best]
        ):
            best, best_value, best_s = option, value, completion_s
    return best, best_value, best_s, most


@inlined
def set_value(batch, i, value, completion_s):
    batch.looked.value[i] = value
    batch.looked.completion_s[i] = completion_s


@shared
def look(world, state):
    """Value the first waiting task on the machines as they are fixed; drop it or add it to those looked at."""
    batch, i = state.batch, take_first(state.batch.waiting)
    option, value, completion_s, most = best_choice(world, state, i, state.machines.soonest_s, OPEN)
    if most < threshold_of(world, batch, i) and is_hopeless(world, state, i):
        drop(world, state, i)
        return
    note_rise(batch, batch.waiting.value[i], value)
    set_bound(batch, i, value, completion_s)
    set_value(batch, i, value, completion_s)
    batch.choice[i] = option
    batch.has_sunk[world.tasks.task_type[i]] |= option == NOBODY
    push(batch.looked, i)


@inlined
def put_off(world, batch, i):
    """Leave a task that is in no heap for the next event, and with it all behind it that are alike."""
    t = world.tasks.task_type[i]
    if world.rules.by_type:
        leave(batch, t, batch.n_unplanned[t])
        return
    batch.put_off[batch.n_put_off[0]] = i
    batch.n_put_off[0] += 1
    leave(batch, t, 1)


@inlined
def sink_first(batch, tasks):
    """Let the first waiting task, whose type has no choice in this event, sink to the bottom of the heap."""
    i = batch.waiting.items[0]
    set_bound(batch, i, -np.inf, np.inf)
    batch.has_sunk[tasks.task_type[i]] = True
    replace_top(batch.waiting, i)


@shared
def raise_sunk(batch, tasks):
    """Have the sunk tasks of types that are live again looked at first."""
    some = False
    for t in range(batch.has_sunk.size):
        some |= batch.has_sunk[t] and batch.is_live[t]
    if not some:
        return
    for at in range(batch.waiting.size[0]):
        i = batch.waiting.items[at]
        if batch.is_live[tasks.task_type[i]] and is_sunk(batch.waiting, i):
            set_bound(batch, i, np.inf, -np.inf)
    for t in range(batch.has_sunk.size):
        batch.has_sunk[t] &= not batch.is_live[t]
    sift(batch.waiting)


# Tasks of a type that are alike


@shared
def stand_first(world, state, t, value, completion_s, choice):
    """Let the first task of a type that has no plan, but hope, stand for all behind it, with a bound of their value."""
    batch, queues = state.batch, state.batch.queues
    i = queues.at[t]
    while i != NOBODY and is_hopeless(world, state, i):
        drop(world, state, i)
        i = queues.after[i]
    queues.at[t] = i
    if i != NOBODY:
        set_value(batch, i, value, completion_s)
        batch.choice[i] = choice
        push(batch.looked, i)


@shared
def open_queues(world, state):
    """Start an event: of every type that is live, the first task stands for all."""
    queues = state.batch.queues
    for t in range(queues.at.size):
        queues.at[t] = queues.head[t]
        if state.batch.is_live[t]:
            stand_first(world, state, t, np.inf, -np.inf, NOBODY)


@inlined
def follow(world, state, i):
    """Let the next of its type stand where a task stood that has its plan now."""
    batch, t = state.batch, int(world.tasks.task_type[i])
    if world.rules.by_type:
        batch.queues.at[t] = batch.queues.after[i]
        stand_first(world, state, t, batch.looked.value[i], batch.looked.completion_s[i], batch.choice[i])


# Without a cap


@shared
def look_again(world, state):
    """Value the first looked-at task on the machines as they are planned now, by its allowed choices."""
    batch, i = state.batch, state.batch.looked.items[0]
    option, value, completion_s, _ = best_choice(world, state, i, state.machines.start_s, AS_ASKED)
    if option == NOBODY:
        pop(batch.looked)
        put_off(world, batch, i)
        return
    note_rise(batch, batch.looked.value[i], value)
    set_value(batch, i, value, completion_s)
    batch.choice[i] = option
    replace_top(batch.looked, i)


@inlined
def is_up_to_date(world, state, i):
    """Whether the choice of a task can be made as it was valued."""
    option = state.batch.choice[i]
    if option == NOBODY:
        return False
    start_s = state.machines.start_s[world.options.machine_type[option]]
    is_same = start_s + world.options.exec_s[option] == state.batch.looked.completion_s[i]
    return is_same and start_s < np.inf and may_start(world, state, option)


@shared
def enqueue(world, state, i, option, m, horizon_s):
    """Plan a task, that is in no heap, at the end of a machine's queue."""
    batch, ledger, machines, limits = state.batch, state.ledger, state.machines, world.limits
    batch.choice[i] = option
    start_s, exec_s, cost_w = machines.free_s[m], world.options.exec_s[option], limits.cost_w[option]
    spend_energy(ledger, limits.cost_j[option] + machines.boot_j[m], cost_w, start_s + exec_s)
    commit_power(limits, ledger, start_s, start_s + exec_s, cost_w)
    leave(batch, world.tasks.task_type[i], 1)
    if world.rules.program == MAKESPAN:
        use_quota(state.rolling, batch, ledger, option)
    plan_on(
        machines, batch.after, i, world.options.machine_type[option], m, exec_s, true_exec_s(world, i, option),
        horizon_s, world.rules.n_permuted, world.rules.is_polled,
    )  # fmt: skip


@inlined
def enqueue_choice(world, state, i, horizon_s):
    """Plan a task, that is in no heap, as its choice says."""
    option = state.batch.choice[i]
    m = state.machines.earliest[world.options.machine_type[option]]
    enqueue(world, state, i, option, m, horizon_s)
    follow(world, state, i)


@inlined
def can_go_on(world, state):
    """Whether some open machine could still get one of the tasks left, and energy for the cheapest choice."""
    if state.ledger.left_j[NOW] < world.limits.cheapest_j:
        return False
    n_left, n_open = state.batch.n_left, state.machines.n_open
    for k in range(n_left.size):
        if n_left[k] > 0 and n_open[k] > 0:
            return True
    return False


@shared
def map_greedily(world, state, horizon_s):
    """The two-stage greedy until nothing more can be fixed before the next event."""
    batch = state.batch
    while batch.waiting.size[0] + batch.looked.size[0] > 0 and can_go_on(world, state):
        if waiting_first(batch):
            first = batch.waiting.items[0]
            if batch.is_live[world.tasks.task_type[first]]:
                look(world, state)
            elif is_sunk(batch.waiting, first):
                break
            else:
                sink_first(batch, world.tasks)
            continue
        i = batch.looked.items[0]
        if world.rules.declines and not batch.looked.value[i] > 0.0:
            break
        if is_up_to_date(world, state, i):
            pop(batch.looked)
            enqueue_choice(world, state, i, horizon_s)
        else:
            look_again(world, state)


# Under a cap


@shared
def list_allowed(world, state):
    """List which options are allowed on the machines as they are planned now."""
    options = world.options
    for t in range(state.batch.is_live.size):
        for option in range(options.first[t], options.first[t + 1]):
            is_free = state.machines.start_s[options.machine_type[option]] < np.inf
            state.ledger.allowed[option] = state.batch.is_live[t] and is_free and may_start(world, state, option)


@shared
def next_under_cap(world, state):
    """The task whose allowed choice goes first, taken out of its heap, or NOBODY; its choice is noted.

    Under a cap a later start may be allowed where an earlier is not, so only the values over all options bound those
    over the allowed: tasks are tried in the order of these until none can go before the best so far.
    """
    list_allowed(world, state)
    batch, looked, start_s = state.batch, state.batch.looked, state.machines.start_s
    best, best_value, best_s, n_before = NOBODY, -np.inf, np.inf, batch.n_put_off[0]
    while batch.waiting.size[0] + looked.size[0] > 0:
        if waiting_first(batch):
            look(world, state)
            continue
        i = looked.items[0]
        if best != NOBODY and not comes_before(looked.value[i], looked.completion_s[i], i, best_value, best_s, best):
            break
        _, value, completion_s, _ = best_choice(world, state, i, start_s, OPEN)
        if value != looked.value[i] or completion_s != looked.completion_s[i]:
            set_value(batch, i, value, completion_s)
            replace_top(looked, i)
            continue
        pop(looked)
        batch.put_off[batch.n_put_off[0]] = i
        batch.n_put_off[0] += 1
        option, value, completion_s, _ = best_choice(world, state, i, start_s, AS_LISTED)
        worthwhile = option != NOBODY and (value > 0.0 or not world.rules.declines)
        if worthwhile and (best == NOBODY or comes_before(value, completion_s, i, best_value, best_s, best)):
            best, best_value, best_s = i, value, completion_s
            batch.choice[i] = option
    for at in range(n_before, batch.n_put_off[0]):
        if batch.put_off[at] != best:
            push(looked, batch.put_off[at])
    batch.n_put_off[0] = n_before
    return best


@shared
def map_under_cap(world, state, horizon_s):
    """The two-stage greedy under a cap of power, until nothing more can be fixed before the next event."""
    while can_go_on(world, state):
        i = next_under_cap(world, state)
        if i == NOBODY:
            break
        enqueue_choice(world, state, i, horizon_s)
