"""Places that are kept for some jobs for a time: who may have one, and when that changes."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.layout import NOWHERE


@inlined
def keeps(run):
    """Whether any place is ever kept for some jobs."""
    return run.kept.of.size > 0


@inlined
def kept_s(run, at):
    """When something begins or ends to be kept, by its place in time; never after the last."""
    return run.kept.at_s[at] if at < run.kept.at_s.size else math.inf


@shared
def is_open(run, q, k, from_s, until_s):
    """Whether a class may have a place for a time: what is kept for it all that time, and nothing kept for others."""
    kept, own = run.kept, run.kept.of_class[k]
    is_own = own == NOWHERE
    for row in range(kept.first[q], kept.first[q + 1]):
        of = kept.of[row]
        if of == own:
            is_own = kept.start_s[of] <= from_s and until_s <= kept.end_s[of]
        elif from_s < kept.end_s[of] and kept.start_s[of] < until_s:
            return False
    return is_own


@inlined
def may_still_start(run, i, now_s):
    """Whether a job can end, as planned, before what is kept for it ends; of all others it is so."""
    own = run.kept.of_class[run.asks.of_job[i]]
    return own == NOWHERE or now_s + run.coming.planned_s[i] <= run.kept.end_s[own]


@inlined
def see_kept(run, now_s):
    """Go past what begins or ends to be kept now; whether anything does."""
    begin = run.kept.n_past[0]
    while kept_s(run, run.kept.n_past[0]) <= now_s:
        run.kept.n_past[0] += 1
    return run.kept.n_past[0] > begin
