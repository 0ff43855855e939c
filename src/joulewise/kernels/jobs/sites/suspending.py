"""Jobs are suspended: they keep all that they have but the processors, and go on when these are free again."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.ahead import take_from_held
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.outlook import end_s, forget_planned, plan_end, planned_end_s
from joulewise.kernels.jobs.sites.running import begin_job, note_stretch
from joulewise.kernels.jobs.sites.shares import note_share
from joulewise.kernels.jobs.sites.timed import push, take_out


@shared
def suspend(run, fates, j, i, now_s):
    """A job stands still while another runs on its nodes, and is planned to go on when that ends as planned.

    For all others it has its nodes as before. One that stands still may be told to do so for longer.
    """
    giving, pieces, until_s = fates.giving, run.pieces, max(planned_end_s(run, j), now_s)
    if not giving.is_suspended[j]:
        giving.time_s[j], giving.planned_s[j] = end_s(run, j) - now_s, until_s - now_s
        _stand_still(run, fates, j, now_s)
    forget_planned(run, j)
    run.start_s[j] = now_s
    run.coming.planned_s[j] = max(until_s - now_s, run.coming.planned_s[i] + giving.planned_s[j])
    plan_end(run, j)
    for p in range(pieces.first[j], pieces.first[j] + pieces.n[j]):
        q, count = pieces.place[p], pieces.n_pieces[p]
        take_from_held(run, run.asks.of_job[j], q, count, until_s, planned_end_s(run, j))
        run.outlook.changed[q] += 1
    run.tried.look[0] += 1
    giving.is_anew[0] = True


@inlined
def _stand_still(run, fates, j, now_s):
    """A running job no longer does, and has no end."""
    giving = fates.giving
    note_stretch(run, fates.lost, j, now_s, True)
    if run.rules.by_shares:
        note_share(run.ranked.shares, j, now_s, -1)
    take_out(run.ends, j)
    take_out(run.outlived, j)
    run.coming.time_s[j] = math.inf
    push(run.ends, j, math.inf)
    giving.is_suspended[j] = True
    giving.suspended[giving.n_suspended[0]] = j
    giving.n_suspended[0] += 1


@shared
def let_go_on(run, giving, now_s):
    """Let suspended jobs go on whose processors nobody has, the last stopped first."""
    for at in range(giving.n_suspended[0] - 1, -1, -1):
        j = giving.suspended[at]
        if _are_processors_free(run, giving, j):
            giving.n_suspended[0] -= 1
            for later in range(at, giving.n_suspended[0]):
                giving.suspended[later] = giving.suspended[later + 1]
            _go_on(run, giving, j, now_s)


@inlined
def _are_processors_free(run, giving, j):
    """Whether nobody runs on the processors of a suspended job; others that are suspended do not."""
    pieces, free = run.pieces, run.outlook.free
    for p in range(pieces.first[j], pieces.first[j] + pieces.n[j]):
        q = pieces.place[p]
        g, row = run.ground.group[q], pieces.at_place[q]
        for r in range(free.size):
            free[r] = run.ground.free[q, r]
        while row != NOWHERE:
            other = pieces.job[row]
            if other != j and giving.is_suspended[other]:
                for r in range(free.size):
                    given = run.asks.need[giving.n_classes + run.asks.of_job[other], g, r]
                    free[r] += given * pieces.n_pieces[row]
            row = pieces.next[row]
        for r in range(free.size):
            if free[r] < 0 and run.asks.need[giving.n_classes + run.asks.of_job[j], g, r] > 0:
                return False
    return True


@inlined
def _go_on(run, giving, j, now_s):
    """A suspended job runs again, with the rest of its time before it."""
    giving.is_suspended[j] = False
    take_out(run.ends, j)
    forget_planned(run, j)
    run.start_s[j] = now_s
    run.coming.time_s[j], run.coming.planned_s[j] = giving.time_s[j], giving.planned_s[j]
    for p in range(run.pieces.first[j], run.pieces.first[j] + run.pieces.n[j]):
        run.outlook.changed[run.pieces.place[p]] += 1
    begin_job(run, j, now_s)
