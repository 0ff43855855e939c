"""What limits, and licences, let jobs have beside those that have some."""

from __future__ import annotations

from joulewise.kernels.jit import inlined
from joulewise.kernels.jobs.sites.fitting import has_licences
from joulewise.kernels.jobs.sites.kept import may_still_start
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.power import could_draw


@inlined
def count_now(run, i, sign):
    """The holders of a job, and who has licences, have more, or less, than before."""
    k = run.asks.of_job[i]
    for lic in range(run.ground.licences.size):
        run.ground.licences[lic] -= sign * run.asks.licences[k, lic]
    count_for(run, run.limits, i, sign)


@inlined
def count_for(run, limits, i, sign):
    """The holders of a job have more, or less, than before."""
    k = run.asks.of_job[i]
    for slot in range(limits.holders.shape[1]):
        b = limits.holders[i, slot]
        if b != NOWHERE:
            for w in range(limits.most.shape[1]):
                limits.used[b, w] += sign * limits.uses[k, w]


@inlined
def is_within(run, limits, i):
    """Whether all holders that bind a job may have what it uses beside what they have.

    Those that only count may have let a holder have too much of something: that holds nobody back who uses none of it.
    """
    k = run.asks.of_job[i]
    for slot in range(limits.n_binding):
        b = limits.holders[i, slot]
        if b != NOWHERE:
            for w in range(limits.most.shape[1]):
                if limits.uses[k, w] > 0 and limits.used[b, w] + limits.uses[k, w] > limits.most[b, w]:
                    return False
    return True


@inlined
def is_allowed(run, i, now_s):
    """Whether licences, limits and power are enough for a job now, and what is kept for it lasts for long enough."""
    if not (has_licences(run, run.asks.of_job[i]) and is_within(run, run.limits, i)):
        return False
    return may_still_start(run, i, now_s) and could_draw(run, i, now_s)
