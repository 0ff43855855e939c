"""Jobs give way to one that cannot start otherwise."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.ahead import hold_due, take_from_held
from joulewise.kernels.jobs.sites.fitting import could_fit, fits_now, take_now
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.outlook import end_s, forget_planned, plan_end, planned_end_s
from joulewise.kernels.jobs.sites.power import may_draw
from joulewise.kernels.jobs.sites.running import begin_job, end_job, place_job
from joulewise.kernels.jobs.sites.suspending import suspend
from joulewise.kernels.jobs.sites.timed import push, take_out


@inlined
def may_stop_others(run, giving, i, now_s):
    """Whether a job may stop others now: none of those that it stopped before still has time, and it has no parts."""
    if giving.stops.size == 0 or giving.of_job[i] == NOWHERE or run.conditions.part_of[i] != NOWHERE:
        return False
    return now_s >= giving.patient_s[i]


@inlined
def _would_give_way(run, giving, i, j, now_s):
    """Whether a running job gives way to another, if that needs it: it has run for long enough, and does not yet.

    One that is suspended may be so for longer. Parts that started together do not give way.
    """
    of = giving.of_job[j]
    if (
        of == NOWHERE
        or run.conditions.part_of[j] != NOWHERE
        or giving.is_cut[j]
        or giving.is_chosen[j]
        or not giving.stops[giving.of_job[i], of]
    ):
        return False
    if giving.is_suspended[j]:
        return True
    return run.start_s[j] < now_s and now_s - run.start_s[j] >= giving.exempt_s


@inlined
def _goes_first(run, giving, i, j):
    """Whether a job gives way before another: of a lower priority, or started later; of equal ones the later one."""
    start_s = run.start_s
    rank, other = giving.rank[giving.of_job[i]], giving.rank[giving.of_job[j]]
    if rank != other:
        return rank < other
    return start_s[i] > start_s[j] or (start_s[i] == start_s[j] and i > j)


@inlined
def _next_one(run, giving, i, now_s):
    """The job that gives way next to another, -1 if there is none."""
    best = NOWHERE
    for at in range(run.ends.size[0]):
        j = run.ends.job[at]
        if _would_give_way(run, giving, i, j, now_s) and (best == NOWHERE or _goes_first(run, giving, j, best)):
            best = j
    return best


@inlined
def _lend(run, giving, j, now_s, sign):
    """Look at places as if a running job had none, or no processors if it would be suspended; or as they are."""
    k, pieces = run.asks.of_job[j], run.pieces
    if giving.suspends[giving.of_job[j]]:
        k += giving.n_classes
    for p in range(pieces.first[j], pieces.first[j] + pieces.n[j]):
        take_now(run, k, pieces.place[p], -sign * pieces.n_pieces[p])
        take_from_held(run, k, pieces.place[p], -sign * pieces.n_pieces[p], now_s, planned_end_s(run, j))


@inlined
def _is_on_chosen(run, j):
    """Whether a job runs at one of the places that were chosen."""
    for p in range(run.pieces.first[j], run.pieces.first[j] + run.pieces.n[j]):
        for c in range(run.choice.n[0]):
            if run.choice.place[c] == run.pieces.place[p]:
                return True
    return False


@shared
def _fits_without_all(run, giving, i, now_s):
    """Whether a job fits if all give way that would."""
    k, n = run.asks.of_job[i], 0
    for at in range(run.ends.size[0]):
        j = run.ends.job[at]
        if _would_give_way(run, giving, i, j, now_s):
            giving.chosen[n] = j
            n += 1
            _lend(run, giving, j, now_s, 1)
    fits = n > 0 and could_fit(run, k) and fits_now(run, k, now_s, now_s + run.coming.planned_s[i])
    for at in range(n):
        _lend(run, giving, giving.chosen[at], now_s, -1)
    return fits


@shared
def who_gives_way(run, giving, i, now_s):
    """How many jobs give way to one: the first ones after which it fits, of these those at the places that it takes.

    They are the first ones that are chosen, and the places of the job are.
    """
    if not _fits_without_all(run, giving, i, now_s):
        return 0
    k, n, fits = run.asks.of_job[i], 0, False
    while not fits:
        j = _next_one(run, giving, i, now_s)
        if j == NOWHERE:
            break
        giving.chosen[n] = j
        giving.is_chosen[j] = True
        n += 1
        _lend(run, giving, j, now_s, 1)
        fits = could_fit(run, k) and fits_now(run, k, now_s, now_s + run.coming.planned_s[i])
    n_needed = 0
    for at in range(n):
        j = giving.chosen[at]
        giving.is_chosen[j] = False
        _lend(run, giving, j, now_s, -1)
        if fits and _is_on_chosen(run, j):
            giving.chosen[n_needed] = j
            n_needed += 1
    return n_needed


@shared
def starts_in_place_of_others(run, fates, i, now_s):
    """Let jobs give way to one that fits then, at once or when their grace is over; whether it starts now.

    Who is suspended is so only when it starts. They give way for nodes alone: there must be power for it beside theirs.
    """
    hold_due(run, now_s)
    giving, grace_s = fates.giving, 0.0
    n = who_gives_way(run, fates.giving, i, now_s)
    if n > 0 and not may_draw(run, i, now_s):
        n = 0
    for at in range(n):
        grace_s = max(grace_s, giving.grace_s[giving.of_job[giving.chosen[at]]])
    for at in range(n):
        if not giving.suspends[giving.of_job[giving.chosen[at]]]:
            _cut(run, fates, giving.chosen[at], now_s)
        elif grace_s == 0.0:
            suspend(run, fates, giving.chosen[at], i, now_s)
    if n == 0 or grace_s > 0.0:
        giving.patient_s[i] = now_s + grace_s
        return False
    place_job(run, i, now_s)
    begin_job(run, i, now_s)
    return True


@inlined
def _cut(run, fates, j, now_s):
    """A job gives way: at once, or when its grace is over if it has not ended before.

    What is held ahead of others sees that it ends then, be that before its planned end or after.
    """
    giving, pieces, k = fates.giving, run.pieces, run.asks.of_job[j]
    cut_s, until_s = now_s + giving.grace_s[giving.of_job[j]], max(planned_end_s(run, j), now_s)
    left_s = cut_s - run.start_s[j]
    if left_s >= run.coming.time_s[j]:
        return
    giving.is_cut[j] = True
    run.tried.look[0] += 1
    for p in range(pieces.first[j], pieces.first[j] + pieces.n[j]):
        q, count = pieces.place[p], pieces.n_pieces[p]
        take_from_held(run, k, q, -count, cut_s, until_s)
        take_from_held(run, k, q, count, until_s, cut_s)
        run.outlook.changed[q] += 1
    forget_planned(run, j)
    take_out(run.ends, j)
    take_out(run.outlived, j)
    run.coming.time_s[j] = run.coming.planned_s[j] = left_s
    plan_end(run, j)
    if cut_s == now_s:
        end_job(run, fates, j, now_s)
        giving.is_anew[0] = True
    else:
        push(run.ends, j, end_s(run, j))
