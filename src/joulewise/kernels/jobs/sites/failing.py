"""Nodes of a site that fail: jobs there lose what they ran, and nobody has the node until it is back."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.conditions import note_end
from joulewise.kernels.jobs.sites.holders import count_for
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.outlook import forget_planned
from joulewise.kernels.jobs.sites.running import leave, run_again
from joulewise.kernels.jobs.sites.timed import take_out


@inlined
def next_failure_s(failing):
    """When the next node fails; inf for never."""
    at = failing.n_past[0]
    return failing.start_s[at] if at < failing.start_s.size else math.inf


@shared
def fail_nodes(run, fates, now_s):
    """Let nodes fail whose time it is, which are kept for nobody until they are back; whether any do."""
    failing, kept = fates.failing, run.kept
    begin = failing.n_past[0]
    while next_failure_s(failing) <= now_s:
        at = failing.n_past[0]
        q, of = failing.place[at], failing.of[at]
        kept.start_s[of], kept.end_s[of] = now_s, failing.end_s[at]
        _note_return(run, failing, q, failing.end_s[at])
        while run.pieces.at_place[q] != NOWHERE:
            _lose(run, fates, run.pieces.job[run.pieces.at_place[q]], now_s)
        failing.n_past[0] += 1
    return failing.n_past[0] > begin


@inlined
def _note_return(run, failing, q, at_s):
    """It is known from now on when a place is back."""
    kept, at = run.kept, failing.n_known[0]
    while at > kept.n_past[0] and kept.at_s[at - 1] > at_s:
        kept.at_s[at], kept.place[at] = kept.at_s[at - 1], kept.place[at - 1]
        at -= 1
    kept.at_s[at], kept.place[at] = at_s, q
    failing.n_known[0] += 1


@inlined
def _lose(run, fates, i, now_s):
    """A job loses what it ran: it runs again, or ends badly where jobs do not."""
    take_out(run.ends, i)
    take_out(run.outlived, i)
    leave(run, i, now_s)
    if fates.failing.runs_again:
        run_again(run, fates, i, now_s)
        return
    forget_planned(run, i)
    run.coming.time_s[i] = now_s - run.start_s[i]
    fates.giving.is_cancelled[i] = run.conditions.is_bad[i] = True
    count_for(run, fates.admitted, i, -1)
    note_end(run, i, now_s)
