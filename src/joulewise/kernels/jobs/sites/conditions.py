"""Jobs of a site that wait for others to start or end, and parts of one job that wait for each other."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.timed import push

STARTED, ENDED, ENDED_WELL, ENDED_BADLY = range(4)


@inlined
def _note_row(run, row, now_s):
    """What a row waits for has come: its job is ready after the delay, if that was all."""
    conditions = run.conditions
    j = conditions.job[row]
    at_s = max(conditions.ready_s[j], now_s + conditions.delay_s[row])
    conditions.n_left[j] -= 1
    if conditions.any_of[j]:
        push(run.later, j, at_s)
        return
    conditions.ready_s[j] = at_s
    if conditions.n_left[j] == 0:
        push(run.later, j, at_s)


@shared
def note_start(run, i, now_s):
    """A job starts, for which others may wait; not if it runs again."""
    conditions = run.conditions
    if conditions.has_started[i]:
        return
    conditions.has_started[i] = True
    for row in range(conditions.first[i], conditions.first[i + 1]):
        if conditions.kind[row] == STARTED:
            _note_row(run, row, now_s)


@shared
def note_end(run, i, now_s):
    """A job ends, for which others may wait."""
    conditions = run.conditions
    how = ENDED_BADLY if conditions.is_bad[i] else ENDED_WELL
    for row in range(conditions.first[i], conditions.first[i + 1]):
        if conditions.kind[row] == ENDED or conditions.kind[row] == how:
            _note_row(run, row, now_s)


@inlined
def comes_as(run, i):
    """The job that joins the queue as this one is ready: of several parts the first, when all are; -1 for none."""
    conditions = run.conditions
    if conditions.has_come[i]:
        return NOWHERE
    conditions.has_come[i] = True
    c = conditions.part_of[i]
    if c == NOWHERE:
        return i
    conditions.n_away[c] -= 1
    return conditions.part[conditions.first_part[c]] if conditions.n_away[c] == 0 else NOWHERE
