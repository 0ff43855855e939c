"""The two-phase greedy of parallel jobs (Machovec III.E) at one mapping event, lazy and exact.

Planning a job can only delay others, use energy that others wanted, and power: a value found earlier in the event, or
at an earlier event among what was fixed then, bounds the value now. Jobs are looked at in the order of such bounds.
With place-holders an event is over as soon as no job could start before the next one: `witness` is a type that could.
Groups of clusters that no type links are mapped one after another as long as energy is ample for all that wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joulewise.kernels.choice import comes_before
from joulewise.kernels.heap import pop, push, replace_top
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.choice import (
    best_choice,
    earns_too_little,
    found_start,
    is_allowed,
    is_hopeless,
    not_before,
)
from joulewise.kernels.jobs.energy import open_energy, spend, take_nodes, use_energy
from joulewise.kernels.jobs.layout import DROPPED
from joulewise.kernels.jobs.pinned import make_firm, pin, unpin
from joulewise.kernels.jobs.pool import discharge, forget_bounds, heap_of
from joulewise.kernels.jobs.timetable import copy_book
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.ledger import NOW, TOMORROW
from joulewise.kernels.pool import note_rise
from joulewise.kernels.records import record

AMPLE = 1.000001
"""So much more than could be used must be left, because sums of what waits are rounded."""

LOOSER = 1.2
"""So much more than this event's filter lets pass do bounds look at, that they hold at events to come."""

NO_MORE = -2


@record
class GreedyRules(NamedTuple):
    """How the greedy works, in numbers.

    A job that can earn less than `threshold` (-inf: none) is dropped and, if it `drops_options`, an option that does
    is not taken. Plans are permanent reservations, or else place-holders of which those due before the next event are
    kept. It may decline choices whose value is not above 0. Without `falls_with_time` every job is looked at
    again after every plan.
    """

    threshold: float
    drops_options: bool
    is_permanent: bool
    declines: bool
    falls_with_time: bool


@inlined
def is_due(greed, start_s, now_s, next_s):
    """Whether a plan with this start is kept."""
    return greed.is_permanent or start_s <= now_s or start_s < next_s


@shared
def open_group(run, now_s, next_s):
    """The first group of which a job could still get nodes that it keeps, or NOBODY.

    Within an event an option that could not will not, so the search for one that can goes on where it was.
    """
    facts, greed, pool = run.facts, run.greed, run.pool
    options = facts.options
    for g in range(pool.n_types.size):
        place = pool.witness[g]
        while place[0] < pool.n_types[g]:
            t = pool.types[pool.first_type[g] + place[0]]
            while pool.n_left[t] > 0 and options.first[t] + place[1] < options.first[t + 1]:
                option = options.first[t] + place[1]
                start_s = not_before(run, option, now_s, False)
                if is_due(greed, start_s, now_s, next_s) and is_allowed(run, option, start_s):
                    start_s = found_start(run, option, now_s)
                    if is_due(greed, start_s, now_s, next_s) and is_allowed(run, option, start_s):
                        return g
                place[1] += 1
            place[0], place[1] = place[0] + 1, 0
    return NOBODY


@inlined
def close_group(pool, g):
    """Let a group that has nothing left to do have no witness."""
    pool.witness[g, 0] = pool.n_types[g]


@inlined
def drop(run, i):
    """Drop a job that is in no heap."""
    facts, plan, pool = run.facts, run.plan, run.pool
    plan.fate[i] = DROPPED
    pool.n_left[facts.tasks.task_type[i]] -= 1
    discharge(pool, facts, i)


@inlined
def put_off(run, i):
    """Leave a job that is in no heap for the next event."""
    facts, pool = run.facts, run.pool
    pool.put_off[pool.n_put_off[0]] = i
    pool.n_put_off[0] += 1
    pool.n_left[facts.tasks.task_type[i]] -= 1


@inlined
def place(run, i):
    """Plan a job, that is in no heap, as it was chosen."""
    facts, limits, ledger, book, trial, pool = run.facts, run.limits, run.ledger, run.book, run.trial, run.pool
    if pool.n_planned[0] == 0:
        copy_book(trial, book)
    options, option, start_s = facts.options, pool.choice[i], pool.start_s[i]
    r, nodes, duration_s = options.cluster[option], options.nodes[option], options.planned_s[option]
    take_nodes(limits, trial, r, nodes, limits.power_mw[option], start_s, start_s + duration_s)
    if trial.pins.is_used:
        pin(trial.pins, r, i, nodes, start_s, start_s + duration_s)
    spend(limits, ledger, limits.cost_w[option], duration_s, start_s)
    pool.planned[pool.n_planned[0]] = i
    pool.n_planned[0] += 1
    pool.n_left[facts.tasks.task_type[i]] -= 1


@inlined
def is_up_to_date(run, looked, i, now_s):
    """Whether the choice of a job can be made as it was valued."""
    pool = run.pool
    option = pool.choice[i]
    if option == NOBODY or earns_too_little(run, i, looked.completion_s[i]):
        return False
    start_s = found_start(run, option, now_s)
    return start_s == pool.start_s[i] and is_allowed(run, option, start_s)


@inlined
def waits_first(waiting, looked):
    """Whether the best bound among the waiting beats the best value among those looked at."""
    if waiting.size[0] == 0 or looked.size[0] == 0:
        return waiting.size[0] > 0
    i, j = waiting.items[0], looked.items[0]
    return comes_before(
        waiting.value[i], waiting.completion_s[i], i, looked.value[j], looked.completion_s[j], j
    )  # fmt: skip


@inlined
def note_look(run, waiting, looked, i, option, gain, completion_s, start_s, is_bound):
    """Note what a look at a job has found; as a bound it is also that of later events."""
    pool = run.pool
    if is_bound:
        pop(waiting)
        note_rise(pool, waiting.value[i], gain)
        waiting.value[i], waiting.completion_s[i] = gain, completion_s
    else:
        note_rise(pool, looked.value[i], gain)
    looked.value[i], looked.completion_s[i] = gain, completion_s
    pool.choice[i], pool.start_s[i] = option, start_s
    if is_bound:
        push(looked, i)
    elif option != NOBODY:
        replace_top(looked, i)
    else:
        pop(looked)
        put_off(run, i)


@shared
def next_job(run, g, now_s):
    """The job of a group that goes first, out of its heap, or NOBODY after a look at one, or NO_MORE.

    A waiting job is looked at among what is fixed alone, which bounds its value at later events, and once more among
    what is planned when its turn comes; if values do not fall with time, at once among what is planned. One whose bound
    has no completion has no option until nodes are given back.
    """
    greed, pool = run.greed, run.pool
    waiting, looked = heap_of(pool.waiting, pool, g), heap_of(pool.looked, pool, g)
    is_bound = waits_first(waiting, looked)
    if is_bound:
        i = waiting.items[0]
        if waiting.completion_s[i] == np.inf:
            return NO_MORE
        if is_hopeless(run, i, now_s):
            pop(waiting)
            drop(run, i)
            return NOBODY
    elif looked.size[0] == 0:
        return NO_MORE
    else:
        i = looked.items[0]
        if greed.declines and not looked.value[i] > 0.0:
            return NO_MORE
        if is_up_to_date(run, looked, i, now_s):
            pop(looked)
            return i
    option, gain, completion_s, start_s = best_choice(run, i, now_s, is_bound and greed.falls_with_time)
    note_look(run, waiting, looked, i, option, gain, completion_s, start_s, is_bound)
    return NOBODY


@inlined
def first_group(pool):
    """The group whose first job has the best bound of all; any when nothing is left to do."""
    best, best_value, best_s, best_i = 0, -np.inf, np.inf, NOBODY
    for g in range(pool.waiting.size.size):
        waiting, looked = heap_of(pool.waiting, pool, g), heap_of(pool.looked, pool, g)
        if waiting.size[0] + looked.size[0] > 0:
            heap = waiting if waits_first(waiting, looked) else looked
            i = heap.items[0]
            if best_i == NOBODY or comes_before(heap.value[i], heap.completion_s[i], i, best_value, best_s, best_i):
                best, best_value, best_s, best_i = g, heap.value[i], heap.completion_s[i], i
    return best


@inlined
def is_ample(pool, limits, ledger):
    """Whether there is energy for all that wait, whatever they choose: groups do not depend on each other then."""
    if not limits.has_budget:
        return True
    demand_j = AMPLE * pool.demand_j[0]
    return ledger.left_j[NOW] >= demand_j and ledger.left_j[TOMORROW] >= demand_j


@inlined
def look_anew(pool):
    """Let all that were looked at wait again: their values may have risen."""
    for g in range(pool.waiting.size.size):
        waiting, looked = heap_of(pool.waiting, pool, g), heap_of(pool.looked, pool, g)
        for at in range(looked.size[0]):
            i = looked.items[at]
            waiting.value[i], waiting.completion_s[i] = np.inf, -np.inf
            push(waiting, i)
        looked.size[0] = 0


@shared
def map_jobs(run, now_s, next_s):
    """Plan one job after another until none could start before the next event."""
    greed, limits, ledger, pool = run.greed, run.limits, run.ledger, run.pool
    is_apart = is_ample(pool, limits, ledger)
    while True:
        g = open_group(run, now_s, next_s)
        if g == NOBODY:
            break
        if not is_apart:
            g = first_group(pool)
        i = next_job(run, g, now_s)
        if i >= 0:
            place(run, i)
            if not greed.falls_with_time:
                look_anew(pool)
        elif i == NO_MORE:
            close_group(pool, g)
            if not is_apart:
                break


@shared
def open_event(run):
    """Forget the last event: list the types that have jobs waiting."""
    book, trial, pool = run.book, run.trial, run.pool
    pool.n_events[0] += 1
    pool.n_planned[0] = pool.n_fixed[0] = pool.n_put_off[0] = 0
    for r in range(book.version.size):
        trial.version[r] = book.version[r]
    for g in range(pool.n_types.size):
        pool.witness[g, 0] = pool.witness[g, 1] = 0
        first, kept = pool.first_type[g], 0
        for at in range(first, first + pool.n_types[g]):
            t = pool.types[at]
            pool.n_left[t] = pool.n_waiting[t]
            pool.is_listed[t] = pool.n_waiting[t] > 0
            pool.types[first + kept] = t
            kept += pool.is_listed[t]
        pool.n_types[g] = kept


@inlined
def open_filter(pool, ledger):
    """Let bounds look at the options that this event's filter lets pass, and a few more for those to come."""
    key = ledger.most_key[0]
    if key > pool.loosest_key[0]:
        pool.is_stale[0] = True
    if key > pool.loosest_key[0] or LOOSER * LOOSER * key < pool.loosest_key[0]:
        pool.loosest_key[0] = LOOSER * key


@inlined
def fix(run, i):
    """Make the plan of a job permanent."""
    facts, limits, ledger, book, plan, pool = run.facts, run.limits, run.ledger, run.book, run.plan, run.pool
    options, option, start_s = facts.options, pool.choice[i], pool.start_s[i]
    end_s = start_s + options.planned_s[option]
    take_nodes(limits, book, options.cluster[option], options.nodes[option], limits.power_mw[option], start_s, end_s)
    if book.pins.is_used:
        make_firm(book.pins, i)
    use_energy(limits, ledger, limits.cost_w[option], start_s, end_s)
    plan.option[i], plan.start_s[i] = option, start_s
    pool.fixed[pool.n_fixed[0]] = i
    pool.n_fixed[0] += 1
    discharge(pool, facts, i)


@shared
def close_event(run, now_s, next_s):
    """Fix what is due; everything else waits again, with the bounds found when it was first looked at."""
    facts, greed, book, pool = run.facts, run.greed, run.book, run.pool
    for g in range(pool.waiting.size.size):
        waiting, looked = heap_of(pool.waiting, pool, g), heap_of(pool.looked, pool, g)
        for at in range(looked.size[0]):
            push(waiting, looked.items[at])
        looked.size[0] = 0
    for at in range(pool.n_put_off[0]):
        i = pool.put_off[at]
        push(heap_of(pool.waiting, pool, pool.group[facts.tasks.task_type[i]]), i)
    for at in range(pool.n_planned[0]):
        i = pool.planned[at]
        if is_due(greed, pool.start_s[i], now_s, next_s):
            fix(run, i)
        else:
            push(heap_of(pool.waiting, pool, pool.group[facts.tasks.task_type[i]]), i)
            if book.pins.is_used:
                unpin(book.pins, i, pool.start_s[i])


@shared
def greedy_pass(run, now_s, next_s):
    """One mapping event: drop, filter, and give nodes to waiting jobs; returns how many are fixed.

    Jobs wait in `pool` (`pool.admit`) and are all ready. The jobs `pool.fixed[:n]` have left it: their option and
    start stand in `plan`, their nodes and power are taken in `book` from the start to the planned end, and their
    energy is noted in `ledger`. Fixed is what is planned to start now or before `next_s`, the next event (now_s where
    events are unforeseen), and everything if plans are permanent. Dropped jobs have left it with the fate DROPPED;
    jobs without hope that could not have started yet may wait for that until `drop_hopeless`.
    `trial` is a book of the same shape, for the pass to work in, with the same pins as one that sees plans. Whoever
    frees nodes tells by `pool.note_release`.
    """
    facts, greed, limits, ledger, book, pool = run.facts, run.greed, run.limits, run.ledger, run.book, run.pool
    if pool.waiting.size.sum() == 0:
        pool.n_fixed[0] = 0
        return 0
    open_event(run)
    open_energy(limits, ledger, book, facts.cores, now_s)
    open_filter(pool, ledger)
    if pool.is_stale[0]:
        forget_bounds(pool)
    map_jobs(run, now_s, next_s)
    close_event(run, now_s, next_s)
    pool.is_stale[0] = not greed.falls_with_time
    return pool.n_fixed[0]


@shared
def drop_hopeless(run, now_s):
    """After the last event, at `now_s`: give the fate DROPPED to all that waited then and could not earn enough."""
    plan, pool = run.plan, run.pool
    for g in range(pool.waiting.size.size):
        for at in range(pool.first[g], pool.first[g] + pool.waiting.size[g]):
            i = pool.waiting.items[at]
            if pool.came[i] < pool.n_events[0] and is_hopeless(run, i, now_s):
                plan.fate[i] = DROPPED
