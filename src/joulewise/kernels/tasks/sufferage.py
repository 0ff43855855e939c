"""Batch mode by sufferage: pass after pass every machine takes, of the tasks that ask for it, the one that loses most.

Tasks of one type all ask for the same machine and have the same second choice, so both are found once per task
type and pass. What a task can earn only falls; while its second choice completes before some horizon, it cannot
lose more than what it could once earn less what it earns at that horizon. A task is looked at only when this
bound says that it could win.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, Tasks
from joulewise.kernels.records import record
from joulewise.kernels.steps import way_of
from joulewise.kernels.tasks.choice import earliest_option, most_utility
from joulewise.kernels.tasks.fleet import can_go_on, queue_on
from joulewise.kernels.tasks.loop import admit, map_event, n_waiting
from joulewise.kernels.tasks.world import Left, add_left, nobody_left, open_left

NOBODY = -1
AHEAD = 30
"""How many mapping intervals after the second choice's completion the horizon of a new bound lies; any will do."""
ROUNDING = 1e-9
"""What a bound allows for rounded utilities, as a part of the task's scale."""


@record
class Crowd(NamedTuple):
    """Mappable tasks by type: those of type t are at places first[t] up to first[t] + n_here[t].

    Of these the first n_unmapped[t] have no machine yet in this event. `item` is the task at a place, `most` bounds
    what it earns, and `bound` what it loses while its second choice completes by `horizon_s`. `base_s` is the
    earliest completion of tasks of type t after what is fixed; `option`, `completion_s` and `second_s` are their
    choice in this pass and the earliest completion on any other machine. `winner[k]` is the place of the task,
    of type `winner_type[k]`, that machine type k's first free machine takes, with what it loses and earns.
    """

    first: NDArray[np.int64]
    n_here: NDArray[np.int64]
    n_unmapped: NDArray[np.int64]
    item: NDArray[np.int64]
    bound: NDArray[np.float64]
    horizon_s: NDArray[np.float64]
    most: NDArray[np.float64]
    base_s: NDArray[np.float64]
    option: NDArray[np.int64]
    completion_s: NDArray[np.float64]
    second_s: NDArray[np.float64]
    after_first_s: NDArray[np.float64]
    winner: NDArray[np.int64]
    winner_type: NDArray[np.int64]
    loses: NDArray[np.float64]
    earns: NDArray[np.float64]
    n_waiting: NDArray[np.int64]
    left: Left


def empty_crowd(tasks: Tasks, n_task_types: int, n_machine_types: int) -> Crowd:
    """A crowd with as many places for each task type as there are tasks of it."""
    n, n_by_type = tasks.arrival_s.size, np.bincount(tasks.task_type, minlength=n_task_types)
    return Crowd(
        np.concatenate(([0], np.cumsum(n_by_type))).astype(np.int64),
        np.zeros(n_task_types, np.int64),
        np.zeros(n_task_types, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n_task_types),
        np.empty(n_task_types, np.int64),
        np.empty(n_task_types),
        np.empty(n_task_types),
        np.empty(n_machine_types),
        np.empty(n_machine_types, np.int64),
        np.empty(n_machine_types, np.int64),
        np.empty(n_machine_types),
        np.empty(n_machine_types),
        np.zeros(1, np.int64),
        nobody_left(n_machine_types),
    )


@way_of(admit, Crowd)
def admit_to_crowd(crowd, world, i):
    """Give the task a place, with bounds that make it be looked at."""
    t = world.tasks.task_type[i]
    place = crowd.first[t] + crowd.n_here[t]
    crowd.item[place] = i
    crowd.bound[place] = crowd.most[place] = np.inf
    crowd.horizon_s[place] = np.inf
    crowd.n_here[t] += 1
    crowd.n_waiting[0] += 1
    add_left(crowd.left.mappable, world.options, t, 1)


@way_of(n_waiting, Crowd)
def n_in_crowd(crowd):
    """All that wait, of any type."""
    return crowd.n_waiting[0]


@inlined
def move(crowd, source, target):
    """Let the task at one place stand at another."""
    crowd.item[target] = crowd.item[source]
    crowd.bound[target] = crowd.bound[source]
    crowd.horizon_s[target] = crowd.horizon_s[source]
    crowd.most[target] = crowd.most[source]


@inlined
def set_mapped(crowd, t, place):
    """Take an unmapped task of type t out of those for this event; returns its new place."""
    crowd.n_unmapped[t] -= 1
    last = crowd.first[t] + crowd.n_unmapped[t]
    i, bound, horizon_s, most = crowd.item[place], crowd.bound[place], crowd.horizon_s[place], crowd.most[place]
    move(crowd, last, place)
    crowd.item[last], crowd.bound[last], crowd.horizon_s[last], crowd.most[last] = i, bound, horizon_s, most
    return last


@inlined
def take_out(crowd, options, t, place):
    """Remove a mapped task of type t for good."""
    crowd.n_here[t] -= 1
    move(crowd, crowd.first[t] + crowd.n_here[t], place)
    crowd.n_waiting[0] -= 1
    add_left(crowd.left.mappable, options, t, -1)


@inlined
def drop(crowd, options, plan, t, place):
    """Drop an unmapped task of type t; the task that now stands at its place has not been looked at yet."""
    plan.status[crowd.item[place]] = DROPPED
    take_out(crowd, options, t, set_mapped(crowd, t, place))
    add_left(crowd.left.unplanned, options, t, -1)


@inlined
def is_hopeless(world, fleet, i, most):
    """Whether a task, that earns no more than `most` on its options, can no longer earn its threshold anywhere."""
    return most < world.threshold[i] and most_utility(world, i, fleet.base_start_s) < world.threshold[i]


@inlined
def drop_hopeless(crowd, world, fleet, plan):
    """Drop the tasks whose bounds say that they can no longer earn their threshold."""
    for t in range(crowd.n_here.size):
        place = crowd.first[t]
        while place < crowd.first[t] + crowd.n_unmapped[t]:
            if is_hopeless(world, fleet, crowd.item[place], crowd.most[place]):
                drop(crowd, world.options, plan, t, place)
            else:
                place += 1


@inlined
def find_seconds(crowd, fleet):
    """When the second machine of each type is free; never where there is none."""
    for k in range(crowd.after_first_s.size):
        crowd.after_first_s[k] = np.inf
        for machine in range(fleet.first[k], fleet.first[k + 1]):
            if machine != fleet.earliest[k] and fleet.free_s[machine] < crowd.after_first_s[k]:
                crowd.after_first_s[k] = fleet.free_s[machine]


@inlined
def choose(crowd, options, fleet, t):
    """The best choice of any task of type t, and the earliest completion on any other machine."""
    best, completion_s = earliest_option(options, t, fleet.start_s)
    best_k, second_s = options.machine_type[best], np.inf
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        start_s = crowd.after_first_s[k] if k == best_k else fleet.start_s[k]
        second_s = min(second_s, start_s + options.exec_s[option])
    crowd.option[t], crowd.completion_s[t], crowd.second_s[t] = best, completion_s, second_s


@inlined
def suffers_more(crowd, k, loses, earns, t, i):
    """Whether task i of type t goes before the winner of machine type k so far."""
    if crowd.winner[k] == NOBODY or loses != crowd.loses[k]:
        return crowd.winner[k] == NOBODY or loses > crowd.loses[k]
    return comes_before(
        earns, crowd.completion_s[t], i,
        crowd.earns[k], crowd.completion_s[crowd.winner_type[k]], crowd.item[crowd.winner[k]],
    )  # fmt: skip


@inlined
def renew_bound(crowd, world, t, place):
    """Bound what an unmapped task of type t can earn and lose from this event on."""
    i, horizon_s = crowd.item[place], crowd.second_s[t] + AHEAD * world.interval_s
    most = utility_of(world.tasks, world.utilities, i, crowd.base_s[t]) + ROUNDING * world.tasks.scale[i]
    crowd.most[place] = crowd.bound[place] = most
    crowd.horizon_s[place] = horizon_s
    if horizon_s < np.inf:
        crowd.bound[place] -= utility_of(world.tasks, world.utilities, i, horizon_s)


@inlined
def could_win(crowd, t, k, place):
    """Whether a task of type t may suffer as much as the winner of machine type k so far."""
    if crowd.winner[k] == NOBODY:
        return True
    in_sight = crowd.second_s[t] <= crowd.horizon_s[place]
    return (crowd.bound[place] if in_sight else crowd.most[place]) >= crowd.loses[k]


@inlined
def ask(crowd, world, fleet, plan, t):
    """Let every unmapped task of type t that could win ask for its machine."""
    k, second_s = world.options.machine_type[crowd.option[t]], crowd.second_s[t]
    place = crowd.first[t]
    while place < crowd.first[t] + crowd.n_unmapped[t]:
        if not could_win(crowd, t, k, place):
            place += 1
            continue
        i = crowd.item[place]
        earns = utility_of(world.tasks, world.utilities, i, crowd.completion_s[t])
        if is_hopeless(world, fleet, i, earns):
            drop(crowd, world.options, plan, t, place)
            continue
        loses = earns
        if second_s < np.inf:
            loses -= utility_of(world.tasks, world.utilities, i, second_s)
        if suffers_more(crowd, k, loses, earns, t, i):
            crowd.winner[k], crowd.winner_type[k] = place, t
            crowd.loses[k], crowd.earns[k] = loses, earns
        else:
            renew_bound(crowd, world, t, place)
        place += 1


@inlined
def seat(crowd, options, fleet, plan, k, next_s):
    """Give the winner of machine type k the machine that all asked for."""
    t = crowd.winner_type[k]
    place = set_mapped(crowd, t, crowd.winner[k])
    add_left(crowd.left.unplanned, options, t, -1)
    pstate = options.pstate[crowd.option[t]]
    if queue_on(fleet, plan, crowd.item[place], k, fleet.earliest[k], pstate, crowd.completion_s[t], next_s):
        take_out(crowd, options, t, place)


@inlined
def run_pass(crowd, world, fleet, plan, next_s):
    """All ask for their best machine, and every machine asked for takes one task."""
    find_seconds(crowd, fleet)
    for k in range(crowd.winner.size):
        crowd.winner[k] = NOBODY
    for t in range(crowd.n_here.size):
        if crowd.n_unmapped[t] > 0:
            choose(crowd, world.options, fleet, t)
            ask(crowd, world, fleet, plan, t)
    for k in range(crowd.winner.size):
        if crowd.winner[k] != NOBODY:
            seat(crowd, world.options, fleet, plan, k, next_s)


@way_of(map_event, Crowd)
def map_by_sufferage(crowd, world, fleet, plan, next_s):
    """Pass after pass."""
    open_left(crowd.left)
    for t in range(crowd.n_here.size):
        crowd.n_unmapped[t] = crowd.n_here[t]
        if crowd.n_here[t] > 0:
            _, crowd.base_s[t] = earliest_option(world.options, t, fleet.base_start_s)
    drop_hopeless(crowd, world, fleet, plan)
    while can_go_on(fleet, crowd.left.unplanned):
        run_pass(crowd, world, fleet, plan, next_s)
