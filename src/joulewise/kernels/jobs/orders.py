"""The order in which waiting jobs are looked at: by readiness, by priority, or in turn from queues by size."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import pop, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record

PRIORITY_SIGNATURE = numba.float64(*[numba.float64] * 7)
# priority(wait_s, planned_s, nodes, size, resources, usage, standing)

LARGE, MEDIUM, SMALL = range(3)


@record
class Standings(NamedTuple):
    """What orders know of jobs: by type the fastest option and the class of size, by job the standing of its queue."""

    fastest: NDArray[np.int64]
    size_class: NDArray[np.int64]
    standing: NDArray[np.float64]


@record
class Usage(NamedTuple):
    """What users have used recently, in core-seconds that count half after a while; the last row is of all users.

    `used` holds at `at_s`, from when on `cores` are in use; `decay_per_s` is that of the half-life.
    """

    user: NDArray[np.int64]
    used: NDArray[np.float64]
    cores: NDArray[np.float64]
    at_s: NDArray[np.float64]
    decay_per_s: float


@inlined
def bring_up(usage, u, now_s):
    """Let what a user has used count until now."""
    kept = np.exp(-usage.decay_per_s * (now_s - usage.at_s[u]))
    usage.used[u] = kept * usage.used[u] + usage.cores[u] * (1.0 - kept) / usage.decay_per_s
    usage.at_s[u] = now_s


@shared
def note_usage(usage, i, now_s, cores):
    """Note that the user of a job uses this many cores more, or less, from now on."""
    for u in (usage.user[i], usage.used.size - 1):
        bring_up(usage, u, now_s)
        usage.cores[u] += cores


@inlined
def usage_of(usage, i, now_s):
    """What the user of a job has used recently, as a multiple of an equal share of all users."""
    u, everybody = usage.user[i], usage.used.size - 1
    bring_up(usage, u, now_s)
    bring_up(usage, everybody, now_s)
    if not usage.used[everybody] > 0.0:
        return 0.0
    return usage.used[u] / usage.used[everybody] * everybody


@inlined
def priority_of(run, i, now_s):
    """The priority of a waiting job; not-a-number counts as the lowest."""
    facts, standings, priority = run.facts, run.standings, run.priority
    options, option = facts.options, standings.fastest[facts.tasks.task_type[i]]
    nodes, of = options.nodes[option], facts.n_nodes[options.cluster[option]]
    rank = priority(
        now_s - run.plan.ready_s[i], options.planned_s[option], nodes, nodes / of, options.resources[option],
        usage_of(run.usage, i, now_s), standings.standing[i],
    )  # fmt: skip
    return -np.inf if np.isnan(rank) else rank


@shared
def rank_by_priority(run, n, now_s):
    """Give every waiting job its priority as key."""
    for at in range(n):
        i = run.site.queue[at]
        run.site.keys.value[i] = priority_of(run, i, now_s)


@shared
def rank_in_turn(per_cycle, standings, facts, site, n):
    """Give every waiting job its turn as key: in each, this many large, then medium, then small jobs."""
    n_large = n_medium = n_small = 0
    for at in range(n):
        i = site.queue[at]
        size = standings.size_class[facts.tasks.task_type[i]]
        before = n_large if size == LARGE else n_medium if size == MEDIUM else n_small
        n_large, n_medium, n_small = n_large + (size == LARGE), n_medium + (size == MEDIUM), n_small + (size == SMALL)
        site.keys.value[i] = -(3 * (before // per_cycle[size]) + size)


@shared
def sort_by_keys(site, plan, n):
    """Put the waiting jobs into `sequence`: the highest key first, ties to the job that was ready first."""
    site.keys.size[0] = 0
    for at in range(n):
        i = site.queue[at]
        site.keys.completion_s[i] = plan.ready_s[i]
        push(site.keys, i)
    for at in range(n):
        site.sequence[at] = site.keys.items[0]
        pop(site.keys)
