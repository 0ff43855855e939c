"""Jobs that wait to be mapped: by bounds of their value that hold at later events, and what is known of their options.

Clusters that no job type links are mapped apart: they are *groups*, each with heaps of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.energy import JobLimits
from joulewise.kernels.jobs.layout import JobFacts
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record


@record
class Starts(NamedTuple):
    """Earliest starts by option: `fixed_s` among all that is fixed, `found_s` among what this event plans as well.

    Each goes with the version of the book that it was found in (`fixed_at`, `found_at`), and the first with the
    `epoch` of its cluster, which changes when nodes are given back: starts may then become earlier. `event` is the
    event of `found_s`.
    """

    fixed_s: NDArray[np.float64]
    fixed_at: NDArray[np.int64]
    fixed_epoch: NDArray[np.int64]
    found_s: NDArray[np.float64]
    found_at: NDArray[np.int64]
    event: NDArray[np.int64]
    epoch: NDArray[np.int64]


@record
class JobPool(NamedTuple):
    """Jobs to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    Items of group g are from row first[g] of a heap on, size[g] of them. `choice` and `start_s` belong to jobs looked
    at or planned; `came` is how many events there had been when a job came, or came back. `planned[:n_planned[0]]` got
    nodes in this event, `fixed[:n_fixed[0]]` of them keep them; `put_off` have no allowed option in this event.
    `n_rises[0]` counts values that rose with time; if it is not 0 at the end, the objective broke its promise and the
    result is void.

    By type: the `group` (NOBODY without options), `n_waiting`, `n_left` of them unplanned in this event, the shortest
    planned time and the highest cost; `demand_j[0]` is what all that wait could use at most. `types` from row
    first_type[g] on, n_types[g] of them, are those with jobs waiting; `witness` is by group the place of the type, and
    of its option, that is not yet known to start nothing before the next event.

    By option: `charge` is what it costs in the objective; `kin` is the fastest option of the same type with as many
    nodes of the same cluster, before which it cannot start (itself under a cap, where power matters too). As long as
    bounds hold, no filter lets options pass whose key is above `loosest_key[0]`.
    """

    waiting: Heap
    looked: Heap
    first: NDArray[np.int64]
    choice: NDArray[np.int64]
    start_s: NDArray[np.float64]
    came: NDArray[np.int64]
    planned: NDArray[np.int64]
    n_planned: NDArray[np.int64]
    fixed: NDArray[np.int64]
    n_fixed: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    group: NDArray[np.int64]
    n_waiting: NDArray[np.int64]
    n_left: NDArray[np.int64]
    shortest_s: NDArray[np.float64]
    most_j: NDArray[np.float64]
    types: NDArray[np.int64]
    first_type: NDArray[np.int64]
    n_types: NDArray[np.int64]
    is_listed: NDArray[np.bool_]
    witness: NDArray[np.int64]
    charge: NDArray[np.float64]
    kin: NDArray[np.int64]
    loosest_key: NDArray[np.float64]
    demand_j: NDArray[np.float64]
    n_events: NDArray[np.int64]
    n_rises: NDArray[np.int64]
    is_stale: NDArray[np.bool_]
    starts: Starts


def new_job_pool(facts: JobFacts, limits: JobLimits) -> JobPool:
    """A pool for all jobs of a world, with no job waiting yet."""
    n, n_options, n_types = facts.tasks.arrival_s.size, facts.options.cluster.size, facts.options.first.size - 1
    group, n_groups = _groups(facts, limits.has_cap)
    per_group = np.bincount(group[facts.tasks.task_type] + 1, minlength=n_groups + 1)[1:]
    types_per_group = np.bincount(group + 1, minlength=n_groups + 1)[1:]
    return JobPool(
        waiting=_heaps(n, n_groups),
        looked=_heaps(n, n_groups),
        first=_firsts(per_group),
        choice=np.full(n, NOBODY, np.int64),
        start_s=np.zeros(n),
        came=np.zeros(n, np.int64),
        planned=np.empty(n, np.int64),
        n_planned=np.zeros(1, np.int64),
        fixed=np.empty(n, np.int64),
        n_fixed=np.zeros(1, np.int64),
        put_off=np.empty(n, np.int64),
        n_put_off=np.zeros(1, np.int64),
        group=group,
        n_waiting=np.zeros(n_types, np.int64),
        n_left=np.zeros(n_types, np.int64),
        shortest_s=_by_type(np.minimum, facts, facts.options.planned_s, np.inf),
        most_j=np.maximum(_by_type(np.maximum, facts, limits.cost_j, 0.0), 0.0),
        types=np.empty(n_types, np.int64),
        first_type=_firsts(types_per_group),
        n_types=np.zeros(n_groups, np.int64),
        is_listed=np.zeros(n_types, np.bool_),
        witness=np.zeros((n_groups, 2), np.int64),
        charge=np.zeros(n_options),
        kin=np.arange(n_options) if limits.has_cap else _kin(facts),
        loosest_key=np.full(1, np.inf),
        demand_j=np.zeros(1),
        n_events=np.zeros(1, np.int64),
        n_rises=np.zeros(1, np.int64),
        is_stale=np.zeros(1, np.bool_),
        starts=_starts(n_options, facts.n_nodes.size + 1),
    )


def _heaps(n: int, n_groups: int) -> Heap:
    return Heap(np.empty(n, np.int64), np.zeros(n_groups, np.int64), np.empty(n), np.empty(n))


def _starts(n_options: int, n_rows: int) -> Starts:
    nothing = np.full(n_options, -1, np.int64)
    return Starts(
        np.full(n_options, -np.inf), nothing.copy(), nothing.copy(),
        np.full(n_options, -np.inf), nothing.copy(), nothing.copy(),
        np.zeros(n_rows, np.int64),
    )  # fmt: skip


def _firsts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _by_type(
    best: np.ufunc, facts: JobFacts, values: NDArray[np.float64], without: float
) -> NDArray[np.float64]:  # fmt: skip
    """The lowest or highest value of the options of each type; `without` where it has none."""
    first = facts.options.first
    extremes = np.full(first.size - 1, without)
    some = np.diff(first) > 0
    if some.any():
        extremes[some] = best.reduceat(values, first[:-1][some])
    return extremes


def _kin(facts: JobFacts) -> NDArray[np.int64]:
    options = facts.options
    job_type = np.repeat(np.arange(options.first.size - 1), np.diff(options.first))
    order = np.lexsort((options.planned_s, options.nodes, options.cluster, job_type))
    keys = np.stack([job_type, options.cluster, options.nodes])[:, order]
    is_first = np.concatenate(([True], (np.diff(keys) != 0).any(axis=0)))[: order.size]
    kin = np.empty(order.size, np.int64)
    kin[order] = order[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]]
    return kin


def _groups(facts: JobFacts, is_one: bool) -> tuple[NDArray[np.int64], int]:
    """The group of each type, NOBODY for one without options, and how many there are."""
    first, cluster = facts.options.first, facts.options.cluster
    some = np.diff(first) > 0
    some_first = cluster[first[:-1][some]].astype(np.int64)
    root = np.arange(facts.n_nodes.size)
    pairs = np.unique(np.repeat(some_first, np.diff(first)[some]) * root.size + cluster)
    for a, b in zip((pairs // root.size).tolist(), (pairs % root.size).tolist(), strict=True):
        root[root == root[b]] = root[a]
    if is_one:
        root[:] = 0
    names, number = np.unique(root, return_inverse=True)
    group = np.full(first.size - 1, NOBODY, np.int64)
    group[some] = number[some_first]
    return group, names.size


@inlined
def heap_of(heap, pool, g):
    """The part of a heap that holds group g."""
    return Heap(heap.items[pool.first[g] : pool.first[g + 1]], heap.size[g : g + 1], heap.value, heap.completion_s)


@inlined
def admit(pool, facts, i):
    """Take in a job that became ready, or comes back, with a bound that makes it be looked at first."""
    t = facts.tasks.task_type[i]
    g = pool.group[t]
    pool.waiting.value[i], pool.waiting.completion_s[i] = np.inf, -np.inf
    pool.came[i] = pool.n_events[0]
    push(heap_of(pool.waiting, pool, g), i)
    pool.n_waiting[t] += 1
    pool.demand_j[0] += pool.most_j[t]
    if not pool.is_listed[t]:
        pool.is_listed[t] = True
        pool.types[pool.first_type[g] + pool.n_types[g]] = t
        pool.n_types[g] += 1


@inlined
def discharge(pool, facts, i):
    """Let a job go that is in no heap: it is fixed or dropped."""
    t = facts.tasks.task_type[i]
    pool.n_waiting[t] -= 1
    pool.demand_j[0] -= pool.most_j[t]


@inlined
def note_release(pool, r):
    """Tell the pool that some of row r of the book was given back: jobs may start earlier than was known."""
    pool.starts.epoch[r] += 1
    pool.is_stale[0] = True


@inlined
def note_prices(pool):
    """Tell the pool that `charge` has changed: jobs may be worth more than was known."""
    pool.is_stale[0] = True


@shared
def forget_bounds(pool):
    """Have every waiting job looked at again: what bounds relied on is no longer so."""
    for g in range(pool.waiting.size.size):
        heap = heap_of(pool.waiting, pool, g)
        n = heap.size[0]
        heap.size[0] = 0
        for at in range(n):
            i = heap.items[at]
            pool.waiting.value[i], pool.waiting.completion_s[i] = np.inf, -np.inf
            push(heap, i)
    pool.is_stale[0] = False
