"""Power and energy of a site: what jobs draw on top of idle nodes, within the cap and the budgets of days.

Both are counted for the whole site, as licences are, and nothing is held ahead for a job that lacks some. A job starts
only if the cap has its power for as long as it is planned to run, beside all that runs, and if the energy of all of
that time is left today, and tomorrow what lies after midnight. Power is in whole milliwatts at the meter.
"""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.ledger import HOUR_S, day_of, day_start_s, event_day, has_left, open_day, use

MW_PER_W = 1000.0


@inlined
def drawn_mw(run, i):
    """What a job draws at the places that are chosen."""
    power, k, total = run.power, run.asks.of_job[i], 0
    if not power.is_by_place:
        return power.least_mw[i]
    for c in range(run.choice.n[0]):
        total += run.choice.n_pieces[c] * power.of_piece_mw[k, run.ground.group[run.choice.place[c]]]
    return total


@inlined
def _is_below_cap(run, mw, now_s, until_s):
    """Whether the cap of each hour up to an instant has so much power beside what is planned to run then."""
    power, cap_mw = run.power, run.power.limits.cap_mw
    hour = int(now_s // HOUR_S)
    if power.used_mw[0] + mw > cap_mw[hour % cap_mw.size]:
        return False
    hour += 1
    while cap_mw.size > 1 and hour * HOUR_S < until_s:
        if power.ahead_mw[hour % power.ahead_mw.size] + mw > cap_mw[hour % cap_mw.size]:
            return False
        hour += 1
    return True


@shared
def _may_draw(run, i, mw, now_s):
    """Whether cap and budget let a job draw so much from now on for as long as it is planned to run."""
    limits, ledger, planned_s = run.power.limits, run.power.ledger, run.coming.planned_s[i]
    if limits.has_cap and not _is_below_cap(run, mw, now_s, now_s + planned_s):
        return False
    if not limits.has_budget:
        return True
    day, cost_w = event_day(limits, ledger, now_s), mw / MW_PER_W
    open_day(limits, ledger, day, ledger.used_j[day], ledger.used_j[day + 1])
    return has_left(ledger, cost_w * planned_s, cost_w, now_s + planned_s)


@inlined
def could_draw(run, i, now_s):
    """Whether cap and budget let a job start now wherever it draws least."""
    return not run.power.is_limited or _may_draw(run, i, run.power.least_mw[i], now_s)


@inlined
def may_draw(run, i, now_s):
    """Whether cap and budget let a job start now at the places that are chosen."""
    return not run.power.is_limited or _may_draw(run, i, drawn_mw(run, i), now_s)


@inlined
def _plan(run, i, sign):
    """What a job draws at the hours that begin while it is planned to run is added to what all draw, or taken out."""
    power, hour = run.power, int(run.start_s[i] // HOUR_S) + 1
    while power.ahead_mw.size > 0 and hour * HOUR_S < power.until_s[i]:
        power.ahead_mw[hour % power.ahead_mw.size] += sign * power.of_job_mw[i]
        hour += 1


@inlined
def draw(run, i, now_s):
    """A job that has got the places that were chosen draws power from now on, for as long as it is planned."""
    if run.power.is_limited:
        _draw(run, i, now_s)


@shared
def _draw(run, i, now_s):
    power = run.power
    power.of_job_mw[i], power.until_s[i] = drawn_mw(run, i), now_s + run.coming.planned_s[i]
    power.used_mw[0] += power.of_job_mw[i]
    _plan(run, i, 1)
    use(power.limits, power.ledger, now_s, power.until_s[i], power.of_job_mw[i] / MW_PER_W)


@inlined
def stop_drawing(run, i, now_s):
    """A job draws nothing from now on; what it was planned to draw later is there for others."""
    if run.power.is_limited:
        _stop_drawing(run, i, now_s)


@shared
def _stop_drawing(run, i, now_s):
    power = run.power
    power.used_mw[0] -= power.of_job_mw[i]
    _plan(run, i, -1)
    use(power.limits, power.ledger, now_s, power.until_s[i], -power.of_job_mw[i] / MW_PER_W)


@inlined
def next_supply_s(run, now_s):
    """When cap or budget may next leave more for who waits than now: a higher cap, a new day; inf for never."""
    power, at_s = run.power, math.inf
    if not power.is_limited or run.waiting.n[0] == 0:
        return at_s
    hour = int(now_s // HOUR_S)
    hours = power.rise_h[hour % power.rise_h.size]
    if hours > 0:
        at_s = (hour + hours) * HOUR_S
    if power.limits.has_budget:
        at_s = min(at_s, day_start_s(power.limits, day_of(power.limits, now_s) + 1))
    return at_s
