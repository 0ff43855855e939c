"""The two-stage greedy of the managed engine, lazy and exact, with and without a power cap.

The two-stage greedy is lazy, as in `lazy`: ready times never decrease (in a certain world), so a value computed at an
earlier event bounds the value now. Stored bounds are over all options, allowed or not, for what is not allowed now
may be later; within an event less and less is allowed, so that a choice found best stays best while it is allowed
and its machine type is free at the same instant. Where prices change, all bounds are moved by the most that any
option became cheaper; where the world is uncertain, every task is looked at anew at every event.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, earliest_option, utility_of
from joulewise.kernels.energy import (
    NOW,
    commit_power,
    is_allowed,
    spend,
)
from joulewise.kernels.heap import is_sunk, pop, push, replace_top, sift
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.pool import note_rise, waiting_first
from joulewise.kernels.tasks.batch import (
    AS_ASKED,
    AS_LISTED,
    OPEN,
    drop,
    leave,
    set_bound,
    take_first,
    true_exec_s,
)
from joulewise.kernels.tasks.machines import NOBODY, plan_on
from joulewise.kernels.tasks.rolling import (
    MAKESPAN,
    use_quota,
)


@inlined
def is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
    """Whether a task can no longer earn its threshold on any machine looked at; one without such keeps its hope."""
    _, completion_s = earliest_option(everywhere, tasks.task_type[i], machines.hope_s)
    return completion_s < np.inf and utility_of(tasks, utilities, i, completion_s) < threshold[i]


@inlined
def worth(value, rules, batch, tasks, options, i, option, utility, start_s, completion_s):
    """The value of a choice with its charge; not-a-number counts as the worst."""
    wait_s = start_s - tasks.arrival_s[i]
    found = value(utility, completion_s, options.exec_s[option], options.energy_j[option], wait_s)
    found = rules.scale * found - batch.charge[option]
    return -np.inf if np.isnan(found) else found


@shared
def best_choice(value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, start_s, gate):
    """The best option of a task when machine type k is free at start_s[k], of those that the gate allows.

    Returns (option or NOBODY, value, completion, most utility that any option earns). The earliest completion earns
    the most utility, so the value at that utility bounds that of every other option.
    """
    t = tasks.task_type[i]
    soonest_s = np.inf
    for option in range(options.first[t], options.first[t + 1]):
        soonest_s = min(soonest_s, start_s[options.machine_type[option]] + options.exec_s[option])
    if not soonest_s < np.inf:
        return NOBODY, -np.inf, np.inf, 0.0
    most = utility_of(tasks, utilities, i, soonest_s)
    best, best_value, best_s = NOBODY, -np.inf, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        if not start_s[k] < np.inf:
            continue
        completion_s = start_s[k] + options.exec_s[option]
        if best != NOBODY:
            bound = worth(value, rules, batch, tasks, options, i, option, most, start_s[k], completion_s)
            if bound < best_value or (bound == best_value and completion_s > best_s):
                continue
        if gate == AS_LISTED and not ledger.allowed[option]:
            continue
        if gate == AS_ASKED and not is_allowed(
            limits, ledger, option, start_s[k], completion_s, machines.boot_j[machines.earliest[k]]
        ):
            continue
        utility = utility_of(tasks, utilities, i, completion_s)
        found = worth(value, rules, batch, tasks, options, i, option, utility, start_s[k], completion_s)
        if best == NOBODY or comes_before(
            found, completion_s, options.rank[option], best_value, best_s, options.rank[best]
        ):
            best, best_value, best_s = option, found, completion_s
    return best, best_value, best_s, most


@inlined
def look(clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold):
    """Value the first waiting task on the machines as they are fixed; drop it or add it to those looked at."""
    i = take_first(batch.waiting)
    option, found, completion_s, most = best_choice(
        value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.soonest_s, OPEN
    )
    if most < threshold[i] and is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
        drop(clock, batch, tasks, plan, i)
        return
    note_rise(batch, batch.waiting.value[i], found)
    set_bound(batch, i, found, completion_s)
    batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
    batch.choice[i] = option
    push(batch.looked, i)


@inlined
def put_off(batch, tasks, i):
    """Leave a task that is in no heap for the next event."""
    batch.put_off[batch.n_put_off[0]] = i
    batch.n_put_off[0] += 1
    leave(batch, tasks.task_type[i])


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


@inlined
def look_again(batch, value, rules, tasks, utilities, options, limits, ledger, machines):
    """Value the first looked-at task on the machines as they are planned now, by its allowed choices."""
    i = batch.looked.items[0]
    option, found, completion_s, _ = best_choice(
        value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, AS_ASKED
    )
    if option == NOBODY:
        pop(batch.looked)
        put_off(batch, tasks, i)
        return
    note_rise(batch, batch.looked.value[i], found)
    batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
    batch.choice[i] = option
    replace_top(batch.looked, i)


@inlined
def is_up_to_date(batch, options, limits, ledger, machines, i):
    """Whether the choice of a task can be made as it was valued."""
    option = batch.choice[i]
    if option == NOBODY:
        return False
    k = options.machine_type[option]
    start_s = machines.start_s[k]
    if start_s + options.exec_s[option] != batch.looked.completion_s[i] or not start_s < np.inf:
        return False
    boot_j = machines.boot_j[machines.earliest[k]]
    return is_allowed(limits, ledger, option, start_s, batch.looked.completion_s[i], boot_j)


@inlined
def enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s):
    """Plan a task, that is in no heap, at the end of a machine's queue."""
    batch.choice[i] = option
    start_s = machines.free_s[m]
    spend(limits, ledger, option, start_s + options.exec_s[option], machines.boot_j[m])
    commit_power(limits, ledger, start_s, start_s + options.exec_s[option], limits.cost_w[option])
    leave(batch, tasks.task_type[i])
    if rules.program == MAKESPAN:
        use_quota(rolling, batch, ledger, option)
    plan_on(
        machines, batch.after, i, options.machine_type[option], m, options.exec_s[option],
        true_exec_s(rules, stretch, options, i, option), horizon_s, rules.n_permuted, rules.is_polled,
    )  # fmt: skip


@inlined
def can_go_on(limits, ledger, machines, n_left):
    """Whether some open machine could still get one of the tasks left, and energy for the cheapest choice."""
    if ledger.left_j[NOW] < limits.cheapest_j:
        return False
    for k in range(n_left.size):
        if n_left[k] > 0 and machines.n_open[k] > 0:
            return True
    return False


@shared
def map_greedily(
    clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
    threshold, horizon_s,
):  # fmt: skip
    """The two-stage greedy until nothing more can be fixed before the next event."""
    while batch.waiting.size[0] + batch.looked.size[0] > 0 and can_go_on(limits, ledger, machines, batch.n_left):
        if waiting_first(batch):
            if not batch.is_live[tasks.task_type[batch.waiting.items[0]]]:
                if is_sunk(batch.waiting, batch.waiting.items[0]):
                    break
                sink_first(batch, tasks)
                continue
            look(
                clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
                threshold,
            )  # fmt: skip
            continue
        i = batch.looked.items[0]
        if rules.declines and not batch.looked.value[i] > 0.0:
            break
        if is_up_to_date(batch, options, limits, ledger, machines, i):
            pop(batch.looked)
            option = batch.choice[i]
            m = machines.earliest[options.machine_type[option]]
            enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s)
        else:
            look_again(batch, value, rules, tasks, utilities, options, limits, ledger, machines)


@shared
def list_allowed(batch, options, limits, ledger, machines):
    """List which options are allowed on the machines as they are planned now."""
    for t in range(batch.is_live.size):
        for option in range(options.first[t], options.first[t + 1]):
            k = options.machine_type[option]
            start_s = machines.start_s[k]
            ledger.allowed[option] = (
                batch.is_live[t]
                and start_s < np.inf
                and is_allowed(
                    limits, ledger, option, start_s, start_s + options.exec_s[option],
                    machines.boot_j[machines.earliest[k]],
                )
            )  # fmt: skip


@shared
def next_under_cap(
    clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold
):  # fmt: skip
    """The task whose allowed choice goes first, taken out of its heap, or NOBODY; its choice is noted.

    Under a cap a later start may be allowed where an earlier is not, so only the values over all options bound those
    over the allowed: tasks are tried in the order of these until none can go before the best found.
    """
    list_allowed(batch, options, limits, ledger, machines)
    best, best_value, best_s, n_before = NOBODY, -np.inf, np.inf, batch.n_put_off[0]
    while batch.waiting.size[0] + batch.looked.size[0] > 0:
        if waiting_first(batch):
            look(
                clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
                threshold,
            )  # fmt: skip
            continue
        i = batch.looked.items[0]
        if best != NOBODY and not comes_before(
            batch.looked.value[i], batch.looked.completion_s[i], i, best_value, best_s, best
        ):
            break
        _, found, completion_s, _ = best_choice(
            value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, OPEN
        )
        if found != batch.looked.value[i] or completion_s != batch.looked.completion_s[i]:
            batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
            replace_top(batch.looked, i)
            continue
        pop(batch.looked)
        batch.put_off[batch.n_put_off[0]] = i
        batch.n_put_off[0] += 1
        option, found, completion_s, _ = best_choice(
            value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, AS_LISTED
        )
        worthwhile = option != NOBODY and (found > 0.0 or not rules.declines)
        if worthwhile and (best == NOBODY or comes_before(found, completion_s, i, best_value, best_s, best)):
            best, best_value, best_s = i, found, completion_s
            batch.choice[i] = option
    for at in range(n_before, batch.n_put_off[0]):
        if batch.put_off[at] != best:
            push(batch.looked, batch.put_off[at])
    batch.n_put_off[0] = n_before
    return best


@shared
def map_under_cap(
    clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
    threshold, horizon_s,
):  # fmt: skip
    """The two-stage greedy under a cap of power, until nothing more can be fixed before the next event."""
    while can_go_on(limits, ledger, machines, batch.n_left):
        i = next_under_cap(
            clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold
        )  # fmt: skip
        if i == NOBODY:
            break
        m = machines.earliest[options.machine_type[batch.choice[i]]]
        enqueue(
            batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, batch.choice[i], m, horizon_s
        )
