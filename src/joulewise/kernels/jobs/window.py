"""A few waiting jobs to choose from, one at a time: what may start now, what is seen, and the start itself.

A choice is a place of the window and one of the ways to run that jobs of this world have; a job need not have all. What
is seen are numbers from 0 to 1, as for tasks. `simulate.jobs.window` says what each of them means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.heap import Heap, push
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs.assigned import place
from joulewise.kernels.jobs.layout import RAN
from joulewise.kernels.jobs.mapping import allowed_start, give_nodes
from joulewise.kernels.jobs.state import LAST, QUEUED, duration_of, n_waiting
from joulewise.kernels.jobs.timetable import free_at, segment_at
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record
from joulewise.kernels.window import QUEUE_UNIT, WAIT_UNIT_S, next_in_line, part_inside, see_day, share

OF_EVENT, OF_CLUSTER, OF_PLACE, OF_OPTION = 6, 2, 3, 5
"""How many entries there are of the event, and of each cluster, place and option."""


@record
class JobWindow(NamedTuple):
    """The jobs in `line`, of which `job` shows the first ones (or NOBODY) in places that stay theirs during an event.

    The line is in order of being ready, or `by_worth`: by utility per planned core-second. `option_at` has, for each
    type and way to run, the option or NOBODY. `seen` and `mask` are those of the present choice; the last of the mask
    closes the event. Units are the highest scale of a job, means of all options, all nodes and the highest cap.
    """

    by_worth: bool
    line: Heap
    job: NDArray[np.int64]
    option_at: NDArray[np.int64]
    start_s: float
    end_s: float
    day_s: float
    most: float
    mean_s: float
    mean_energy_j: float
    n_nodes: int
    most_mw: int
    seen: NDArray[np.float32]
    mask: NDArray[np.int8]


@record
class Tally(NamedTuple):
    """What counts of jobs: the window, which options are killed at their limits, and state: what was counted already.

    What has started `is_sure` to end so where no node fails; else it is when it has ended.
    """

    start_s: float
    end_s: float
    is_prorated: bool
    is_sure: bool
    shortest_s: float
    is_killed: NDArray[np.bool_]
    has_earned: NDArray[np.bool_]
    has_slowed: NDArray[np.bool_]


@shared
def worth_per_resource(run, i, now_s):
    """The most that a job could earn per planned core-second if it started now."""
    facts, t, best = run.facts, run.facts.tasks.task_type[i], 0.0
    options = facts.options
    for option in range(options.first[t], options.first[t + 1]):
        end_s = now_s + duration_of(run.site, options, i, option)
        best = max(best, utility_of(facts.tasks, facts.utilities, i, end_s) / options.resources[option])
    return best


@inlined
def until_more_s(book, r, now_s):
    """How long it takes until more of a resource is free than now."""
    first = segment_at(book, r, now_s)
    for j in range(first + 1, book.size[r]):
        if book.free[r, j] > book.free[r, first]:
            return book.time_s[r, j] - now_s
    return np.inf


@shared
def see_clusters(run, window, now_s):
    """See how many nodes are free, and how soon there are more."""
    facts, book, seen = run.facts, run.book, window.seen
    n_free_in_all = 0
    for r in range(facts.n_nodes.size):
        n_free = max(free_at(book, r, now_s), 0)
        n_free_in_all += n_free
        seen[OF_EVENT + OF_CLUSTER * r] = n_free / facts.n_nodes[r]
        seen[OF_EVENT + OF_CLUSTER * r + 1] = share(until_more_s(book, r, now_s), WAIT_UNIT_S)
    return n_free_in_all / window.n_nodes


@shared
def see_option(run, window, i, option, at):
    """See an option of a job from entry `at` on, or that there is none; returns when it could start, and its worth."""
    facts, seen, now_s = run.facts, window.seen, run.site.instants[LAST]
    seen[at], seen[at + 1 : at + OF_OPTION] = 1.0, 0.0
    start_s = np.inf if option == NOBODY else allowed_start(run, i, option, now_s, True)
    if start_s == np.inf:
        return start_s, 0.0
    options = facts.options
    duration_s = duration_of(run.site, options, i, option)
    earned = min(utility_of(facts.tasks, facts.utilities, i, start_s + duration_s) / window.most, 1.0)
    seen[at], seen[at + 1] = share(start_s - now_s, WAIT_UNIT_S), earned
    seen[at + 2] = share(duration_s, window.mean_s)
    seen[at + 3] = share(options.energy_j[option], window.mean_energy_j)
    seen[at + 4] = options.nodes[option] / facts.n_nodes[options.cluster[option]]
    return start_s, earned


@shared
def see_job(run, window, place_at, at):
    """See the job in a place of the window, from entry `at` on, and how it may start now; returns the next entry."""
    i, now_s, seen = window.job[place_at], run.site.instants[LAST], window.seen
    n_options, best = window.option_at.shape[1], 0.0
    for which in range(n_options):
        option = NOBODY if i == NOBODY else window.option_at[run.facts.tasks.task_type[i], which]
        start_s, earned = see_option(run, window, i, option, at + OF_PLACE + OF_OPTION * which)
        window.mask[place_at * n_options + which] = start_s <= now_s
        best = max(best, earned)
    seen[at] = i != NOBODY
    seen[at + 1] = 0.0 if i == NOBODY else share(now_s - run.plan.ready_s[i], WAIT_UNIT_S)
    seen[at + 2] = best
    return at + OF_PLACE + OF_OPTION * n_options


@shared
def see(run, window):
    """See the present choice."""
    seen, limits, book, now_s = window.seen, run.limits, run.book, run.site.instants[LAST]
    see_day(window, limits, run.ledger, now_s)
    seen[3] = free_at(book, book.size.size - 1, now_s) / window.most_mw if limits.has_cap else 1.0
    n_shown = 0
    for place_at in range(window.job.size):
        n_shown += window.job[place_at] != NOBODY
    seen[4] = share(window.line.size[0] + n_shown if window.job.size else n_waiting(run), QUEUE_UNIT)
    seen[5] = see_clusters(run, window, now_s)
    at = OF_EVENT + OF_CLUSTER * run.facts.n_nodes.size
    for place_at in range(window.job.size):
        at = see_job(run, window, place_at, at)
    window.mask[-1] = 1


@kernel
def open_job_window(run, window):
    """Show the first of the jobs that wait in an event that was opened."""
    site, line, now_s = run.site, window.line, run.site.instants[LAST]
    line.size[0] = 0
    for at in range(site.counts[QUEUED]):
        i = site.queue[at]
        line.value[i] = worth_per_resource(run, i, now_s) if window.by_worth else 0.0
        line.completion_s[i] = run.plan.ready_s[i]
        push(line, i)
    for place_at in range(window.job.size):
        window.job[place_at] = next_in_line(line)
    see(run, window)


@kernel
def start_choice(run, window, choice):
    """Make a choice that the mask allows, and show the next job in its place; returns what became of it."""
    place_at, now_s = choice // window.option_at.shape[1], run.site.instants[LAST]
    i = window.job[place_at]
    option = window.option_at[run.facts.tasks.task_type[i], choice % window.option_at.shape[1]]
    fate, start_s = place(run, i, option, False, now_s)
    give_nodes(run, i, option, start_s, now_s)
    window.job[place_at] = next_in_line(window.line)
    see(run, window)
    return fate


@inlined
def is_settled(run, tally, i, is_over):
    """Whether a job has started and it is sure how it ends."""
    plan = run.plan
    return plan.fate[i] == RAN and (is_over or tally.is_sure or plan.end_s[i] <= run.site.instants[LAST])


@kernel
def newly_settled(run, tally, is_over):
    """What jobs earn in the counted window that were settled since they were counted last, and their bounded slowdowns.

    They are counted now.
    """
    facts, plan, earned, slowed = run.facts, run.plan, 0.0, 0.0
    for i in range(plan.fate.size):
        if (tally.has_earned[i] and tally.has_slowed[i]) or not is_settled(run, tally, i, is_over):
            continue
        option, from_s, until_s = plan.option[i], plan.start_s[i], plan.end_s[i]
        is_killed = tally.is_killed[option]
        if not tally.has_earned[i] and not is_killed:
            part = part_inside(from_s, until_s, tally.start_s, tally.end_s, tally.is_prorated)
            earned += part * utility_of(facts.tasks, facts.utilities, i, until_s)
        if not tally.has_slowed[i]:
            needs_s = until_s - from_s if is_killed else facts.options.time_s[option]
            slowed += max((until_s - plan.ready_s[i]) / max(needs_s, tally.shortest_s), 1.0)
        tally.has_earned[i] = tally.has_slowed[i] = True
    return earned, slowed
