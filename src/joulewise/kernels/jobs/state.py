"""Where the jobs of a simulation are: waiting, with nodes held ahead, or running; and how they get nodes and end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap, empty_heap, pop, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.energy import give_back_energy, give_back_nodes, take_nodes, use_energy
from joulewise.kernels.jobs.layout import IMPOSSIBLE, RAN, WAITING
from joulewise.kernels.jobs.orders import note_usage
from joulewise.kernels.jobs.pinned import pin, unpin
from joulewise.kernels.jobs.pool import admit, note_release
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record

ARRIVED, EVENT, WORKED, QUEUED, HELD, NEW, FREED, CHANGES, OUTAGES, OPENED, N_QUEUED, N_HELD, STUCK = range(13)
LAST, HORIZON = range(2)
GREEDY, IN_ORDER, IN_QUEUES, AT_RANDOM, ASSIGNED = range(5)


@record
class JobRules(NamedTuple):
    """How jobs are scheduled, in numbers; see simulate.Scheduler.

    Mapping events are at multiples of `interval_s` or, infinite, at every change. Nodes are held ahead for this many
    jobs (`n_ahead`, below 0 for all), and kept if `is_permanent`; then jobs move forward (`compresses`) when another
    ends early. Where the planner `is_unaware`, jobs run longer than planned and nothing corrects that. `per_cycle` is
    by class of size: large, medium, small.
    """

    rule: int
    interval_s: float
    n_ahead: int
    is_permanent: bool
    compresses: bool
    backfills: bool
    by_arrival: bool
    by_fastest: bool
    is_unaware: bool
    preempts: bool
    checkpoint_s: float
    restart_s: float
    per_cycle: NDArray[np.int64]


@record
class JobSite(NamedTuple):
    """State: `queue` has the waiting jobs by when they were ready, then by number (for all rules but the greedy, whose
    jobs wait in its pool); `held` those with nodes held ahead, in the order in which they got them; `running` is a heap
    by the true end and `coming` one, by when they will be ready, of jobs whose forerunner has ended.

    `comers` are the jobs that wait for no other, by arrival.
    By job: until when the book has its nodes; how much of it is done, when its checkpoint is written and what
    restarting it takes; the first job that waits for it, and the next that waits for the same. `sequence` and `keys`
    are room for an order of the queue and `new` has the jobs that came since the last mapping event; `instants` are
    [that event, the one after it].
    """

    comers: NDArray[np.int64]
    queue: NDArray[np.int64]
    held: NDArray[np.int64]
    running: Heap
    coming: Heap
    book_end_s: NDArray[np.float64]
    done_s: NDArray[np.float64]
    written_s: NDArray[np.float64]
    again_s: NDArray[np.float64]
    follower: NDArray[np.int64]
    next_follower: NDArray[np.int64]
    sequence: NDArray[np.int64]
    keys: Heap
    new: NDArray[np.int64]
    counts: NDArray[np.int64]
    instants: NDArray[np.float64]


def new_site(after: NDArray[np.int32]) -> JobSite:
    """No job has come yet."""
    n = after.size
    follower, next_follower = np.full(n, NOBODY, np.int64), np.full(n, NOBODY, np.int64)
    for i in np.flatnonzero(after != NOBODY)[::-1].tolist():
        next_follower[i] = follower[after[i]]
        follower[after[i]] = i
    counts = np.zeros(13, np.int64)
    counts[EVENT] = -1
    return JobSite(
        np.flatnonzero(after == NOBODY), np.empty(n, np.int64), np.empty(n, np.int64), empty_heap(n), empty_heap(n),
        np.full(n, -np.inf), np.zeros(n), np.full(n, -np.inf), np.zeros(n), follower, next_follower,
        np.empty(n, np.int64), empty_heap(n), np.empty(n, np.int64), counts, np.zeros(2),
    )  # fmt: skip


@inlined
def duration_of(site, options, i, option):
    """How long a job is planned to run with an option: without what is done, with what restarting takes."""
    return options.planned_s[option] - site.done_s[i] + site.again_s[i]


@shared
def commit(run, i, option, start_s):
    """Give a job nodes, power and energy from a start to its planned end."""
    facts, limits, ledger, book, site, plan = run.facts, run.limits, run.ledger, run.book, run.site, run.plan
    r, nodes = facts.options.cluster[option], facts.options.nodes[option]
    end_s = start_s + duration_of(site, facts.options, i, option)
    take_nodes(limits, book, r, nodes, limits.power_mw[option], start_s, end_s)
    if book.pins.is_used:
        pin(book.pins, r, i, nodes, start_s, end_s)
    use_energy(limits, ledger, limits.cost_w[option], start_s, end_s)
    plan.option[i], plan.start_s[i], site.book_end_s[i] = option, start_s, end_s


@shared
def release(run, i, from_s):
    """Take back the nodes, power and energy that a job has from an instant on."""
    limits, ledger, book, site = run.limits, run.ledger, run.book, run.site
    options, option, end_s = run.facts.options, run.plan.option[i], site.book_end_s[i]
    r, cost_w = options.cluster[option], limits.cost_w[option]
    if book.pins.is_used:
        unpin(book.pins, i, from_s)
    if end_s > from_s:
        give_back_nodes(limits, book, r, options.nodes[option], limits.power_mw[option], from_s, end_s)
        give_back_energy(limits, ledger, cost_w, from_s, end_s)
        note_release(run.pool, r)
        if limits.has_cap:
            note_release(run.pool, book.size.size - 1)
    elif end_s < from_s:
        use_energy(limits, ledger, cost_w, end_s, from_s)  # it ran past its plan
    site.book_end_s[i] = from_s


@inlined
def forget(plan, i):
    """Let a job wait again."""
    plan.option[i], plan.start_s[i], plan.end_s[i], plan.fate[i] = NOBODY, np.nan, np.nan, WAITING


@inlined
def begin(run, i):
    """Let a job that has nodes run."""
    facts, site, plan, usage = run.facts, run.site, run.plan, run.usage
    options, option = facts.options, plan.option[i]
    run.raising.n_steps[i] = 0
    plan.end_s[i] = plan.start_s[i] + (options.time_s[option] - site.done_s[i] + site.again_s[i])
    plan.fate[i] = RAN
    site.running.value[i], site.running.completion_s[i] = -plan.end_s[i], 0.0
    push(site.running, i)
    note_usage(usage, i, plan.start_s[i], options.nodes[option] * facts.cores[options.cluster[option]])


@inlined
def hold(site, i):
    """Note that a job has nodes held ahead."""
    site.held[site.counts[HELD]] = i
    site.counts[HELD] += 1


@inlined
def enqueue(run, i):
    """Let a job wait for a mapping event; one without options never runs."""
    facts, rules, site, plan, pool = run.facts, run.rules, run.site, run.plan, run.pool
    t = facts.tasks.task_type[i]
    if facts.options.first[t] == facts.options.first[t + 1]:
        plan.fate[i] = IMPOSSIBLE
        return
    if rules.rule == GREEDY:
        admit(pool, facts, i)
        return
    at = site.counts[QUEUED]
    while at > 0 and is_behind(plan, site.queue[at - 1], i):
        site.queue[at] = site.queue[at - 1]
        at -= 1
    site.queue[at] = i
    site.counts[QUEUED] += 1


@inlined
def is_behind(plan, i, j):
    """Whether job i was ready after job j, or with it and has the higher number."""
    return plan.ready_s[i] > plan.ready_s[j] or (plan.ready_s[i] == plan.ready_s[j] and i > j)


@inlined
def n_waiting(run):
    """How many jobs wait for a mapping event."""
    rules, site, pool = run.rules, run.site, run.pool
    return pool.waiting.size.sum() if rules.rule == GREEDY else site.counts[QUEUED]


@shared
def start_held(run, now_s):
    """Let the jobs run whose nodes are held from now on."""
    site, plan = run.site, run.plan
    kept = 0
    for at in range(site.counts[HELD]):
        i = site.held[at]
        if plan.start_s[i] <= now_s:
            begin(run, i)
        else:
            site.held[kept] = i
            kept += 1
    site.counts[HELD] = kept


@shared
def next_start(site, plan):
    """When the next job starts for which nodes are held; inf if there is none."""
    start_s = np.inf
    for at in range(site.counts[HELD]):
        start_s = min(start_s, plan.start_s[site.held[at]])
    return start_s


@shared
def end_jobs(run, now_s):
    """End the jobs that are done by now; those that wait for them come then, or after a while."""
    facts, site, plan, usage = run.facts, run.site, run.plan, run.usage
    while site.running.size[0] > 0 and -site.running.value[site.running.items[0]] <= now_s:
        i = site.running.items[0]
        pop(site.running)
        site.counts[FREED] += site.book_end_s[i] > now_s
        release(run, i, now_s)
        option = plan.option[i]
        note_usage(usage, i, now_s, -facts.options.nodes[option] * facts.cores[facts.options.cluster[option]])
        j = site.follower[i]
        while j != NOBODY:
            plan.ready_s[j] = max(facts.tasks.arrival_s[j], now_s + facts.think_s[j])
            site.coming.value[j], site.coming.completion_s[j] = -plan.ready_s[j], 0.0
            push(site.coming, j)
            j = site.next_follower[j]


@shared
def admit_ready(run, now_s):
    """Take in the jobs that are ready now."""
    facts, site = run.facts, run.site
    comers, arrival_s = site.comers, facts.tasks.arrival_s
    while site.counts[ARRIVED] < comers.size and arrival_s[comers[site.counts[ARRIVED]]] <= now_s:
        come(run, comers[site.counts[ARRIVED]])
        site.counts[ARRIVED] += 1
    while site.coming.size[0] > 0 and -site.coming.value[site.coming.items[0]] <= now_s:
        i = site.coming.items[0]
        pop(site.coming)
        come(run, i)


@inlined
def come(run, i):
    """Take in a job for the first time."""
    site = run.site
    enqueue(run, i)
    site.new[site.counts[NEW]] = i
    site.counts[NEW] += 1


@shared
def next_ready(run):
    """When the next job will be ready, as far as that is known; inf if none will."""
    facts, site = run.facts, run.site
    at = site.counts[ARRIVED]
    ready_s = facts.tasks.arrival_s[site.comers[at]] if at < site.comers.size else np.inf
    if site.coming.size[0] > 0:
        ready_s = min(ready_s, -site.coming.value[site.coming.items[0]])
    return ready_s
