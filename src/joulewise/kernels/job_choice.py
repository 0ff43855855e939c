"""The best choice of one job: when each of its options could start, and what that is worth."""

from __future__ import annotations

import numba
import numpy as np

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.job_energy import earliest_start, may_use, passes
from joulewise.kernels.job_pool import NOBODY

JOB_OBJECTIVE_SIGNATURE = numba.float64(
    numba.float64, numba.float64, numba.float64, numba.float64, numba.float64, numba.float64
)  # value(utility, completion_s, exec_s, energy_j, wait_s, resources)


@inlined
def version_of(limits, versions, r):
    """A number that changes with every change of a cluster's nodes or of the power, in a book or an epoch."""
    return versions[r] + (versions[versions.size - 1] if limits.has_cap else 0)


@inlined
def search(facts, limits, book, option, from_s):
    """The earliest start of an option from an instant on."""
    options = facts.options
    r, nodes, duration_s = options.cluster[option], options.nodes[option], options.planned_s[option]
    return earliest_start(limits, book, r, nodes, limits.power_mw[option], duration_s, from_s)


@shared
def fixed_start(pool, facts, limits, book, option, now_s):
    """The earliest start of an option among all that is fixed; a search goes on where the last one ended."""
    starts, r = pool.starts, facts.options.cluster[option]
    version, epoch = version_of(limits, book.version, r), version_of(limits, starts.epoch, r)
    from_s = now_s
    if starts.fixed_epoch[option] == epoch:
        from_s = max(now_s, starts.fixed_s[option])
        if starts.fixed_at[option] == version and from_s == starts.fixed_s[option]:
            return from_s
    starts.fixed_s[option] = search(facts, limits, book, option, from_s)
    starts.fixed_at[option], starts.fixed_epoch[option] = version, epoch
    return starts.fixed_s[option]


@shared
def found_start(pool, facts, limits, book, trial, option, now_s):
    """The earliest start of an option among what is fixed and what this event has planned."""
    starts, r = pool.starts, facts.options.cluster[option]
    if starts.event[option] != pool.n_events[0]:
        starts.found_s[option] = fixed_start(pool, facts, limits, book, option, now_s)
        starts.found_at[option] = version_of(limits, book.version, r)
        starts.event[option] = pool.n_events[0]
    version = version_of(limits, trial.version, r)
    if starts.found_at[option] != version:
        starts.found_s[option] = search(facts, limits, trial, option, starts.found_s[option])
        starts.found_at[option] = version
    return starts.found_s[option]


@inlined
def is_hopeless(pool, rules, facts, i, now_s):
    """Whether a job can no longer earn the threshold even if it started now with its fastest option."""
    soonest_s = now_s + pool.shortest_s[facts.tasks.task_type[i]]
    return utility_of(facts.tasks, facts.utilities, i, soonest_s) < rules.threshold


@inlined
def worth(pool, value, facts, i, option, utility, start_s):
    """The value of a choice less its charge; not-a-number counts as the worst."""
    options, planned_s = facts.options, facts.options.planned_s[option]
    wait_s = start_s - facts.tasks.arrival_s[i]
    found = value(
        utility, start_s + planned_s, planned_s, options.energy_j[option], wait_s, options.resources[option]
    )  # fmt: skip
    return -np.inf if np.isnan(found) else found - pool.charge[option]


@inlined
def is_allowed(facts, limits, ledger, option, start_s):
    """Whether a choice passes the filter, starts in time and keeps the budgets."""
    duration_s = facts.options.planned_s[option]
    return passes(limits, ledger, option) and may_use(limits, ledger, limits.cost_w[option], duration_s, start_s)


@shared
def best_choice(pool, value, rules, facts, limits, ledger, book, trial, i, now_s, is_bound):
    """The best option of a job: (option or NOBODY, value, completion, start).

    As a bound it is over all options, allowed or not, among what is fixed alone: no later event offers better, until
    nodes are given back.
    """
    options, t = facts.options, facts.tasks.task_type[i]
    most = utility_of(facts.tasks, facts.utilities, i, now_s + pool.shortest_s[t])
    best, best_value, best_s, best_start_s = NOBODY, -np.inf, np.inf, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        if is_bound:
            start_s = fixed_start(pool, facts, limits, book, option, now_s)
        else:
            start_s = found_start(pool, facts, limits, book, trial, option, now_s)
        if not start_s < np.inf:
            continue
        completion_s = start_s + options.planned_s[option]
        if best != NOBODY and rules.falls_with_time:
            bound = worth(pool, value, facts, i, option, most, start_s)
            if bound < best_value or (bound == best_value and completion_s > best_s):
                continue
        if not is_bound and not is_allowed(facts, limits, ledger, option, start_s):
            continue
        utility = utility_of(facts.tasks, facts.utilities, i, completion_s)
        if rules.drops_options and not is_bound and utility < rules.threshold:
            continue
        found = worth(pool, value, facts, i, option, utility, start_s)
        if best == NOBODY or comes_before(found, completion_s, option, best_value, best_s, best):
            best, best_value, best_s, best_start_s = option, found, completion_s, start_s
    return best, best_value, best_s, best_start_s
