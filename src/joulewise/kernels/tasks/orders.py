"""Mapping in an order or at random, and permuting the first tasks of a queue."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import utility_of
from joulewise.kernels.energy import (
    is_allowed,
)
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.tasks.batch import (
    IN_ORDER,
    WORKED,
    drop,
    take_first,
)
from joulewise.kernels.tasks.greedy import (
    can_go_on,
    enqueue,
    is_hopeless,
    put_off,
)
from joulewise.kernels.tasks.machines import NOBODY


@inlined
def random_part(seed, event, i, which):
    """A number in [0, 1) that belongs to a task, an event and a purpose: splitmix64 of all three."""
    z = seed ^ (np.uint64(event) * np.uint64(0x9E3779B97F4A7C15))
    z = z + np.uint64(2 * i + which) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@inlined
def first_choice(options, tasks, limits, ledger, machines, i):
    """The allowed option that starts first, by machine type and P-state on ties; with its machine."""
    t = tasks.task_type[i]
    best = NOBODY
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        start_s = machines.start_s[k]
        if not start_s < np.inf:
            continue
        if best != NOBODY:
            best_s = machines.start_s[options.machine_type[best]]
            if start_s > best_s or (start_s == best_s and options.rank[option] > options.rank[best]):
                continue
        boot_j = machines.boot_j[machines.earliest[k]]
        if is_allowed(limits, ledger, option, start_s, start_s + options.exec_s[option], boot_j):
            best = option
    return best, NOBODY if best == NOBODY else machines.earliest[options.machine_type[best]]


@inlined
def may_take(options, limits, ledger, machines, m, option):
    """Whether an option is allowed on a machine behind what is planned there."""
    start_s = machines.free_s[m]
    return machines.is_there[m] and is_allowed(
        limits, ledger, option, start_s, start_s + options.exec_s[option], machines.boot_j[m]
    )


@shared
def random_choice(batch, options, option_at, tasks, limits, ledger, machines, i, part):
    """One of the allowed pairs of machine and P-state, in their order, at a part in [0, 1) of their number."""
    t, n = tasks.task_type[i], 0
    for m in range(machines.ready_s.size):
        for p in range(option_at.shape[2]):
            option = option_at[t, machines.type_of[m], p]
            if option != NOBODY and may_take(options, limits, ledger, machines, m, option):
                batch.pairs[0, n], batch.pairs[1, n] = option, m
                n += 1
    if n == 0:
        return NOBODY, NOBODY
    return batch.pairs[0, int(part * n)], batch.pairs[1, int(part * n)]


@shared
def map_in_order(
    clock, batch, rolling, rules, stretch, option_at, tasks, utilities, options, everywhere, limits, ledger, machines,
    plan, threshold, horizon_s,
):  # fmt: skip
    """Task by task, in the order of their bounds, until nothing more can be fixed before the next event."""
    while batch.waiting.size[0] > 0 and can_go_on(limits, ledger, machines, batch.n_left):
        i = take_first(batch.waiting)
        if is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
            drop(clock, batch, tasks, plan, i)
            continue
        if rules.rule == IN_ORDER:
            option, m = first_choice(options, tasks, limits, ledger, machines, i)
        else:
            part = random_part(rules.random_seed, clock.counts[WORKED], i, 1)
            option, m = random_choice(batch, options, option_at, tasks, limits, ledger, machines, i, part)
        if option == NOBODY:
            put_off(batch, tasks, i)
        else:
            enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s)


# Permuting


@inlined
def order_worth(batch, tasks, utilities, options, queue, order, n, start_s):
    """What the first n tasks of a queue earn in an order."""
    total = 0.0
    for at in range(n):
        i = queue[order[at]]
        start_s += options.exec_s[batch.choice[i]]
        total += utility_of(tasks, utilities, i, start_s)
    return total


@inlined
def next_order(order, n):
    """Turn an order into the next one, lexicographically; whether there was one."""
    at = n - 2
    while at >= 0 and order[at] > order[at + 1]:
        at -= 1
    if at < 0:
        return False
    other = n - 1
    while order[other] < order[at]:
        other -= 1
    order[at], order[other] = order[other], order[at]
    low, high = at + 1, n - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return True


@shared
def permute(batch, rules, tasks, utilities, options, machines, m):
    """Put the first tasks of a machine's queue into the order that earns most."""
    queue, order, best = batch.permutation[0], batch.permutation[1], batch.permutation[2]
    n, i = 0, machines.head[m]
    while n < rules.n_permuted and i != NOBODY:
        queue[n] = i
        order[n] = best[n] = n
        n += 1
        i = batch.after[i]
    rest = i
    most = order_worth(batch, tasks, utilities, options, queue, order, n, machines.base_s[m])
    while next_order(order, n):
        found = order_worth(batch, tasks, utilities, options, queue, order, n, machines.base_s[m])
        if found > most:
            most = found
            for at in range(n):
                best[at] = order[at]
    if n > 0:
        machines.head[m] = queue[best[0]]
        for at in range(n - 1):
            batch.after[queue[best[at]]] = queue[best[at + 1]]
        batch.after[queue[best[n - 1]]] = rest
        if rest == NOBODY:
            machines.tail[m] = queue[best[n - 1]]
