"""Mapping by sufferage: pass after pass every machine takes, of the tasks that ask for it, the one that loses most.

What a task can earn only falls; while its second choice completes before some horizon, it cannot lose more than what it
could once earn less what it earns at that horizon. A task is looked at only when this bound says that it could win.
Where the world is uncertain, bounds hold for one event. Which choices are allowed is the same for all tasks of a type.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.tasks.batch import drop
from joulewise.kernels.tasks.choice import earliest_option
from joulewise.kernels.tasks.crowd import forget_bound, set_planned
from joulewise.kernels.tasks.greedy import can_go_on, enqueue, is_hopeless, may_start, threshold_of
from joulewise.kernels.tasks.orders import may_take

AHEAD = 30
"""How many mapping intervals after the second choice's completion the horizon of a new bound lies; any will do."""
ROUNDING = 1e-9
"""What a bound allows for rounded utilities, as a part of the task's scale."""


@shared
def open_crowd(world, state):
    """Start an event: nobody has a plan, and bounds are kept only where the world is certain."""
    crowd = state.batch.crowd
    for t in range(crowd.n_here.size):
        crowd.n_unplanned[t] = crowd.n_here[t]
        if not world.rules.is_certain:
            for place in range(crowd.first[t], crowd.first[t] + crowd.n_here[t]):
                forget_bound(crowd, place)


@inlined
def has_no_hope(world, state, i, most):
    """Whether a task, that earns no more than `most` on its options, can no longer earn its threshold anywhere."""
    return most < threshold_of(world, state.batch, i) and is_hopeless(world, state, i)


@inlined
def drop_hopeless(world, state, t):
    """Drop the tasks of a type that can no longer earn their threshold: all, or those whose bounds say so."""
    crowd = state.batch.crowd
    place = crowd.first[t]
    while place < crowd.first[t] + crowd.n_unplanned[t]:
        most = -np.inf if world.rules.drops_eagerly else crowd.most[place]
        if has_no_hope(world, state, crowd.item[place], most):
            drop(world, state, crowd.item[place])
        else:
            place += 1


@inlined
def find_seconds(crowd, machines):
    """Which machine of each type is free second."""
    for k in range(crowd.second.size):
        second, second_s = NOBODY, np.inf
        for m in range(machines.first[k], machines.first[k + 1]):
            if m != machines.earliest[k] and machines.is_there[m] and machines.free_s[m] < second_s:
                second, second_s = m, machines.free_s[m]
        crowd.second[k] = second


@inlined
def first_allowed(world, state, t):
    """The allowed option of a task type that completes first, by machine type and P-state on ties, or NOBODY."""
    options, start_s = world.options, state.machines.start_s
    best, best_s = NOBODY, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        completion_s = start_s[options.machine_type[option]] + options.exec_s[option]
        goes_first = comes_before(0.0, completion_s, options.rank[option], 0.0, best_s, options.rank[best])
        if completion_s < np.inf and goes_first and may_start(world, state, option):
            best, best_s = option, completion_s
    return best, best_s


@inlined
def second_allowed_s(world, state, t, best_k):
    """The earliest allowed completion of a task type on other machines than the first of a machine type; or inf."""
    options, machines, crowd = world.options, state.machines, state.batch.crowd
    second_s = np.inf
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        m = crowd.second[k] if k == best_k else machines.earliest[k]
        if m != NOBODY:
            completion_s = machines.free_s[m] + options.exec_s[option]
            if completion_s < second_s and may_take(world, state, m, option):
                second_s = completion_s
    return second_s


@inlined
def choose(world, state, t):
    """The choice of any task of a type, and the earliest completion on any other machine."""
    crowd = state.batch.crowd
    crowd.option[t], crowd.completion_s[t] = first_allowed(world, state, t)
    if crowd.option[t] != NOBODY:
        crowd.second_s[t] = second_allowed_s(world, state, t, world.options.machine_type[crowd.option[t]])


@inlined
def suffers_more(crowd, k, loses, earns, t, i):
    """Whether task i of type t goes before the winner of machine type k so far."""
    if loses != crowd.loses[k]:
        return loses > crowd.loses[k]
    return comes_before(
        earns, crowd.completion_s[t], i,
        crowd.earns[k], crowd.completion_s[crowd.winner_type[k]], crowd.item[crowd.winner[k]],
    )  # fmt: skip


@inlined
def renew_bound(world, crowd, t, place):
    """Bound what an unplanned task of type t can earn and lose from this event on."""
    i, horizon_s = crowd.item[place], crowd.second_s[t] + AHEAD * world.rules.interval_s
    most = utility_of(world.tasks, world.utilities, i, crowd.base_s[t]) + ROUNDING * world.tasks.scale[i]
    crowd.most[place] = crowd.bound[place] = most
    crowd.horizon_s[place] = horizon_s
    if horizon_s < np.inf:
        crowd.bound[place] -= utility_of(world.tasks, world.utilities, i, horizon_s)


@inlined
def next_rival(crowd, t, place, loses):
    """The next unplanned task of type t, from a place on, that may suffer as much as one that loses so much.

    Returns its place, or the one behind the last.
    """
    end, second_s = crowd.first[t] + crowd.n_unplanned[t], crowd.second_s[t]
    while place < end:
        in_sight = second_s <= crowd.horizon_s[place]
        if (crowd.bound[place] if in_sight else crowd.most[place]) >= loses:
            break
        place += 1
    return place


@inlined
def worthwhile(world, utility):
    """Whether a choice that earns this may be made."""
    return utility > 0.0 or not world.rules.declines


@inlined
def loss(world, i, earns, second_s):
    """What a task that earns so much loses on its second choice; all of it where there is none."""
    if second_s < np.inf:
        second = utility_of(world.tasks, world.utilities, i, second_s)
        if worthwhile(world, second):
            return earns - second
    return earns


@inlined
def ask(world, state, t):
    """Let every unplanned task of a type that could win ask for its machine."""
    crowd = state.batch.crowd
    k = world.options.machine_type[crowd.option[t]]
    place = next_rival(crowd, t, crowd.first[t], crowd.loses[k])
    while place < crowd.first[t] + crowd.n_unplanned[t]:
        i = crowd.item[place]
        earns = utility_of(world.tasks, world.utilities, i, crowd.completion_s[t])
        if has_no_hope(world, state, i, earns):
            drop(world, state, i)
        else:
            loses = loss(world, i, earns, crowd.second_s[t])
            if worthwhile(world, earns) and suffers_more(crowd, k, loses, earns, t, i):
                crowd.winner[k], crowd.winner_type[k] = place, t
                crowd.loses[k], crowd.earns[k] = loses, earns
            else:
                renew_bound(world, crowd, t, place)
            place += 1
        place = next_rival(crowd, t, place, crowd.loses[k])


@inlined
def seat(world, state, k, horizon_s):
    """Give the winner of machine type k the machine that all asked for, if those before it have left it allowed."""
    crowd = state.batch.crowd
    t = crowd.winner_type[k]
    option, i = crowd.option[t], crowd.item[crowd.winner[k]]
    if may_start(world, state, option):
        set_planned(crowd, t, i)
        enqueue(world, state, i, option, state.machines.earliest[k], horizon_s)


@shared
def seat_winners(world, state, horizon_s):
    """Every machine asked for takes one task; whether there was any."""
    crowd, some = state.batch.crowd, False
    for k in range(crowd.winner.size):
        if crowd.winner[k] != NOBODY:
            some = True
            seat(world, state, k, horizon_s)
    return some


@shared
def run_pass(world, state, horizon_s):
    """All ask for their best machine, and every machine asked for takes one task; whether there was any."""
    crowd = state.batch.crowd
    find_seconds(crowd, state.machines)
    crowd.winner[:] = NOBODY
    crowd.loses[:] = -np.inf
    for t in range(crowd.n_here.size):
        if crowd.n_unplanned[t] > 0:
            choose(world, state, t)
            if crowd.option[t] != NOBODY:
                ask(world, state, t)
    return seat_winners(world, state, horizon_s)


@shared
def map_by_sufferage(world, state, horizon_s):
    """Pass after pass, until nothing more can be fixed before the next event."""
    crowd = state.batch.crowd
    for t in range(crowd.n_here.size):
        if crowd.n_here[t] > 0:
            _, crowd.base_s[t] = earliest_option(world.options, t, state.machines.soonest_s)
            drop_hopeless(world, state, t)
    while can_go_on(world, state) and run_pass(world, state, horizon_s):
        pass
