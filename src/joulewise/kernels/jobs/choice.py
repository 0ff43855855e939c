"""The best choice of one job: when each of its options could start, and what that is worth."""

from __future__ import annotations

import numba
import numpy as np

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined
from joulewise.kernels.jobs.energy import earliest_start, may_use, passes
from joulewise.kernels.layout import NOBODY

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


@inlined
def fixed_start(run, option, now_s):
    """The earliest start of an option among all that is fixed; a search goes on where the last one ended."""
    facts, limits, book, pool = run.facts, run.limits, run.book, run.pool
    starts, r = pool.starts, facts.options.cluster[option]
    version, epoch = version_of(limits, book.version, r), version_of(limits, starts.epoch, r)
    from_s = now_s
    if starts.fixed_epoch[option] == epoch:
        from_s = max(now_s, starts.fixed_s[option])
    if from_s != starts.fixed_s[option] or starts.fixed_at[option] != version:
        starts.fixed_s[option] = search(facts, limits, book, option, from_s)
        starts.fixed_at[option], starts.fixed_epoch[option] = version, epoch
    return starts.fixed_s[option]


@inlined
def found_start(run, option, now_s):
    """The earliest start of an option among what is fixed and what this event has planned."""
    facts, limits, book, trial, pool = run.facts, run.limits, run.book, run.trial, run.pool
    starts, r = pool.starts, facts.options.cluster[option]
    if starts.event[option] != pool.n_events[0]:
        starts.found_s[option] = fixed_start(run, option, now_s)
        starts.found_at[option] = version_of(limits, book.version, r)
        starts.event[option] = pool.n_events[0]
    version = version_of(limits, trial.version, r)
    if starts.found_at[option] != version:
        starts.found_s[option] = search(facts, limits, trial, option, starts.found_s[option])
        starts.found_at[option] = version
    return starts.found_s[option]


@inlined
def known_start(run, option, now_s, is_bound):
    """The latest instant that is known, without a search, not to be after an option's earliest start."""
    facts, limits, pool = run.facts, run.limits, run.pool
    starts = pool.starts
    if not is_bound and starts.event[option] == pool.n_events[0]:
        return starts.found_s[option]
    if starts.fixed_epoch[option] == version_of(limits, starts.epoch, facts.options.cluster[option]):
        return max(now_s, starts.fixed_s[option])
    return now_s


@inlined
def not_before(run, option, now_s, is_bound):
    """An instant before which an option cannot start: by what is known of it, and of the fastest of its kind."""
    kin_s = known_start(run, run.pool.kin[option], now_s, is_bound)
    return max(known_start(run, option, now_s, is_bound), kin_s)


@inlined
def is_hopeless(run, i, now_s):
    """Whether a job can no longer earn the threshold even if it started now with its fastest option."""
    facts, greed, pool = run.facts, run.greed, run.pool
    soonest_s = now_s + pool.shortest_s[facts.tasks.task_type[i]]
    return utility_of(facts.tasks, facts.utilities, i, soonest_s) < greed.threshold


@inlined
def worth(run, i, option, utility, start_s):
    """The value of a choice less its charge; not-a-number counts as the worst."""
    options, value = run.facts.options, run.value
    planned_s, wait_s = options.planned_s[option], start_s - run.facts.tasks.arrival_s[i]
    gain = value(
        utility, start_s + planned_s, planned_s, options.energy_j[option], wait_s, options.resources[option]
    )  # fmt: skip
    return -np.inf if np.isnan(gain) else gain - run.pool.charge[option]


@inlined
def worth_at(run, i, option, start_s):
    """The value of a choice that starts then."""
    facts = run.facts
    utility = utility_of(facts.tasks, facts.utilities, i, start_s + facts.options.planned_s[option])
    return worth(run, i, option, utility, start_s)


@inlined
def earns_too_little(run, i, completion_s):
    """Whether an option that completes then is not taken for what it earns."""
    facts, greed = run.facts, run.greed
    return greed.drops_options and utility_of(facts.tasks, facts.utilities, i, completion_s) < greed.threshold


@inlined
def is_allowed(run, option, start_s):
    """Whether a choice passes the filter, starts in time and keeps the budgets."""
    facts, limits, ledger = run.facts, run.limits, run.ledger
    duration_s = facts.options.planned_s[option]
    return passes(limits, ledger, option) and may_use(limits, ledger, limits.cost_w[option], duration_s, start_s)


@inlined
def soonest_end(run, t, now_s, is_bound):
    """An instant before which no job of a type can complete."""
    options, soonest_s = run.facts.options, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        if run.pool.kin[option] == option:
            start_s = known_start(run, option, now_s, is_bound)
            soonest_s = min(soonest_s, start_s + options.planned_s[option])
    return soonest_s


@inlined
def best_choice(run, i, now_s, is_bound):
    """The best option of a job: (option or NOBODY, value, completion, start).

    As a bound it is among what is fixed alone, over all options that any event to come may allow: none will offer
    better, until nodes are given back. The option that was best is tried first; others are searched for only if they
    could be better with what is known.
    """
    facts, greed, limits, ledger, pool = run.facts, run.greed, run.limits, run.ledger, run.pool
    options, t = facts.options, facts.tasks.task_type[i]
    most = utility_of(facts.tasks, facts.utilities, i, soonest_end(run, t, now_s, is_bound))
    most_key = pool.loosest_key[0] if is_bound else ledger.most_key[0]
    best, best_value, best_s, best_start_s = NOBODY, -np.inf, np.inf, np.inf
    first = max(pool.choice[i], options.first[t])
    for at in range(options.first[t] - 1, options.first[t + 1]):
        option = first if at < options.first[t] else at
        if at == first or limits.filter_key[option] > most_key:
            continue
        start_s = not_before(run, option, now_s, is_bound)
        completion_s = start_s + options.planned_s[option]
        if best != NOBODY and greed.falls_with_time:
            bound = worth(run, i, option, most, start_s)
            if not comes_before(bound, completion_s, option, best_value, best_s, best):
                continue
            bound = worth_at(run, i, option, start_s)
            if not comes_before(bound, completion_s, option, best_value, best_s, best):
                continue
        if is_bound:
            start_s = fixed_start(run, option, now_s)
        else:
            start_s = found_start(run, option, now_s)
        if not start_s < np.inf or not (is_bound or is_allowed(run, option, start_s)):
            continue
        completion_s = start_s + options.planned_s[option]
        if earns_too_little(run, i, completion_s):
            continue
        gain = worth_at(run, i, option, start_s)
        if best == NOBODY or comes_before(gain, completion_s, option, best_value, best_s, best):
            best, best_value, best_s, best_start_s = option, gain, completion_s, start_s
    return best, best_value, best_s, best_start_s
