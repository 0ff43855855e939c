"""Mapping in an order or at random, and permuting the first tasks of a queue."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.tasks.batch import drop, take_first
from joulewise.kernels.tasks.energy import is_allowed
from joulewise.kernels.tasks.greedy import can_go_on, enqueue, is_hopeless, may_start, put_off
from joulewise.kernels.tasks.state import IN_ORDER, WORKED


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
def first_choice(world, state, i):
    """The allowed option that starts first, by machine type and P-state on ties; with its machine."""
    options, machines, t = world.options, state.machines, world.tasks.task_type[i]
    best = NOBODY
    for option in range(options.first[t], options.first[t + 1]):
        start_s = machines.start_s[options.machine_type[option]]
        if not start_s < np.inf:
            continue
        if best != NOBODY:
            best_s = machines.start_s[options.machine_type[best]]
            if comes_before(0.0, best_s, options.rank[best], 0.0, start_s, options.rank[option]):
                continue
        if may_start(world, state, option):
            best = option
    return best, NOBODY if best == NOBODY else machines.earliest[options.machine_type[best]]


@inlined
def may_take(world, state, m, option):
    """Whether an option is allowed on a machine behind what is planned there."""
    machines = state.machines
    start_s = machines.free_s[m]
    end_s = start_s + world.options.exec_s[option]
    return machines.is_there[m] and is_allowed(world.limits, state.ledger, option, start_s, end_s, machines.boot_j[m])


@shared
def random_choice(world, state, i, part):
    """One of the allowed pairs of machine and P-state, in their order, at a part in [0, 1) of their number."""
    pairs, machines, option_at = state.batch.pairs, state.machines, world.option_at
    t, n = world.tasks.task_type[i], 0
    for m in range(machines.ready_s.size):
        for p in range(option_at.shape[2]):
            option = option_at[t, machines.type_of[m], p]
            if option != NOBODY and may_take(world, state, m, option):
                pairs[0, n], pairs[1, n] = option, m
                n += 1
    if n == 0:
        return NOBODY, NOBODY
    return pairs[0, int(part * n)], pairs[1, int(part * n)]


@shared
def map_in_order(world, state, horizon_s):
    """Task by task, in the order of their bounds, until nothing more can be fixed before the next event."""
    batch, rules = state.batch, world.rules
    while batch.waiting.size[0] > 0 and can_go_on(world, state):
        i = take_first(batch.waiting)
        if is_hopeless(world, state, i):
            drop(world, state, i)
            continue
        if rules.rule == IN_ORDER:
            option, m = first_choice(world, state, i)
        else:
            part = random_part(rules.random_seed, state.clock.counts[WORKED], i, 1)
            option, m = random_choice(world, state, i, part)
        if option == NOBODY:
            put_off(world, batch, i)
        else:
            enqueue(world, state, i, option, m, horizon_s)


# Permuting


@inlined
def order_worth(world, batch, queue, order, n, start_s):
    """What the first n tasks of a queue earn in an order."""
    total = 0.0
    for at in range(n):
        i = queue[order[at]]
        start_s += world.options.exec_s[batch.choice[i]]
        total += utility_of(world.tasks, world.utilities, i, start_s)
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
def permute(world, state, m):
    """Put the first tasks of a machine's queue into the order that earns most."""
    batch, machines = state.batch, state.machines
    queue, order, best = batch.permutation[0], batch.permutation[1], batch.permutation[2]
    n, i = 0, machines.head[m]
    while n < world.rules.n_permuted and i != NOBODY:
        queue[n] = i
        order[n] = best[n] = n
        n += 1
        i = batch.after[i]
    rest = i
    most = order_worth(world, batch, queue, order, n, machines.base_s[m])
    while next_order(order, n):
        total = order_worth(world, batch, queue, order, n, machines.base_s[m])
        if total > most:
            most = total
            for at in range(n):
                best[at] = order[at]
    if n > 0:
        machines.head[m] = queue[best[0]]
        for at in range(n - 1):
            batch.after[queue[best[at]]] = queue[best[at + 1]]
        batch.after[queue[best[n - 1]]] = rest
        if rest == NOBODY:
            machines.tail[m] = queue[best[n - 1]]
