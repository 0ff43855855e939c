"""Where a job of a site fits: now, or at the earliest; with what runs, and what is held ahead for others."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.kept import is_open, keeps, kept_s
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.outlook import room_for_all_s, room_s_of, see_free, sort_planned
from joulewise.kernels.jobs.sites.rooms import note_change, row_with_room

FIRST_WINDOW_S = 30.0
"""Slurm takes planned ends within this time of each other as one where it looks ahead, then within twice as long."""


@inlined
def _pieces_in(free, at, need, k, g, most):
    """How many pieces of a class fit into one row of what is free, `most` at most."""
    n = most
    for r in range(free.shape[1]):
        if need[k, g, r] > 0:
            if free[at, r] < need[k, g, r]:
                return 0
            if n > 1:
                n = min(n, free[at, r] // need[k, g, r])
    return n


@inlined
def _rounded(run, at_s):
    """A planned instant as it is planned with: the last whole multiple of the resolution before it, by the clock."""
    resolution_s, clock_s = run.rules.resolution_s, run.rules.clock_s
    if resolution_s == 0.0:
        return at_s
    return math.floor((at_s + clock_s) / resolution_s) * resolution_s - clock_s


@inlined
def _units_beside(run, free, q, k, g, from_s, until_s):
    """How many units of a class a place gives over a time, if what is free at its start is known.

    Running jobs only leave more; what is held ahead takes some when it starts, or the whole node while it lasts.
    """
    if keeps(run) and not is_open(run, q, k, from_s, until_s):
        return 0
    n = _pieces_in(free, q, run.asks.need, k, g, run.asks.most[k, g])
    h = run.held.at_place[q]
    while n > 0 and h != NOWHERE:
        if run.rules.in_passes:
            if from_s < run.held.end_s[h] and run.held.start_s[h] <= until_s:
                return 0
        elif from_s <= run.held.start_s[h] < until_s:
            n = min(n, _pieces_in(run.held.left, h, run.asks.need, k, g, n))
        h = run.held.next[h]
    return n * run.asks.gives[k, g]


@inlined
def has_licences(run, k):
    """Whether the licences are free that a class needs; nodes are not held ahead for who waits for those."""
    for lic in range(run.ground.licences.size):
        if run.ground.licences[lic] < run.asks.licences[k, lic]:
            return False
    return True


@inlined
def could_fit(run, k):
    """Whether a class fits now if nothing is held ahead for anybody."""
    row, total = row_with_room(run, k), 0
    for g in range(run.ground.rank.size):
        for at in range(run.ground.first[g], run.ground.first[g] + run.rooms.n[row, g]):
            q = run.rooms.place[row, at]
            total += _pieces_in(run.ground.free, q, run.asks.need, k, g, run.asks.most[k, g]) * run.asks.gives[k, g]
            if total >= run.asks.units[k]:
                return True
    return False


@inlined
def fits_now(run, k, now_s, until_s):
    """Whether a class fits from now on for a time beside all that is held ahead; if so the places are chosen."""
    if run.asks.units[k] == 1 and not run.rules.in_passes:
        return _choose_one(run, k, now_s, until_s)
    if _come_near(run, k, run.ground.free, now_s, until_s) < run.asks.units[k]:
        return False
    _choose(run, k, run.ground.free)
    return True


@inlined
def _is_better(rank, score, q, best_rank, least, best):
    """Whether a place is better than the best so far: of a lower rank, with less free, or before it."""
    if best == NOWHERE or rank != best_rank:
        return best == NOWHERE or rank < best_rank
    return score < least or (score == least and q < best)


@inlined
def _choose_one(run, k, now_s, until_s):
    """Choose the place for one piece of a class as `_choose` does; whether there is one."""
    ground, choice, row = run.ground, run.choice, row_with_room(run, k)
    best, best_rank, least, is_free = NOWHERE, 0, 0, not keeps(run)
    for g in ground.by_rank:
        if best != NOWHERE and ground.rank[g] > best_rank:
            break
        for at in range(ground.first[g], ground.first[g] + run.rooms.n[row, g]):
            q = run.rooms.place[row, at]
            if _is_better(ground.rank[g], ground.spare[q], q, best_rank, least, best) and (
                (is_free and run.held.at_place[q] == NOWHERE)
                or _units_beside(run, ground.free, q, k, g, now_s, until_s) > 0
            ):
                best, best_rank, least = q, ground.rank[g], ground.spare[q]
    choice.place[0], choice.n_pieces[0], choice.n[0] = best, 1, 1
    return best != NOWHERE


@inlined
def _left_over(run, free, q, g):
    """What a place has free, which counts against it."""
    score = 0
    for r in range(free.shape[1]):
        score += free[q, r] * run.ground.worth[g, r]
    return score


@shared
def _choose(run, k, free):
    """Choose places for a class among those near, of which some give units: of lowest rank, then with least free."""
    ground, choice, wanted = run.ground, run.choice, run.asks.units[k]
    choice.n[0] = 0
    if run.rules.in_passes:
        _choose_in_runs(run, k, free)
        return
    while wanted > 0:
        best, best_rank, least = NOWHERE, 0, 0
        for at in range(choice.n_near[0]):
            q = choice.near[at]
            if choice.units[q] > 0:
                g = ground.group[q]
                score = _left_over(run, free, q, g)
                if _is_better(ground.rank[g], score, q, best_rank, least, best):
                    best, best_rank, least = q, ground.rank[g], score
        wanted -= _choose_at(run, k, best, wanted)


@inlined
def _choose_at(run, k, q, wanted):
    """Choose as many pieces of a class as are wanted, or fit, at a place; how many units they give."""
    choice, gives = run.choice, run.asks.gives[k, run.ground.group[q]]
    taken = min(choice.units[q] // gives, -(-wanted // gives))
    choice.units[q] = 0
    choice.place[choice.n[0]] = q
    choice.n_pieces[choice.n[0]] = taken
    choice.n[0] += 1
    return taken * gives


@inlined
def _units_at(run, q, top):
    """What a place gives of the units that are looked for, if it is near and of no rank above `top`."""
    is_near = run.choice.seen[q] == run.choice.look[0] and run.ground.rank[run.ground.group[q]] <= top
    return run.choice.units[q] if is_near else 0


@inlined
def _top_rank(run, wanted):
    """The lowest rank up to which the places near give enough units."""
    choice, ground = run.choice, run.ground
    for g in ground.by_rank:
        total = 0
        for at in range(choice.n_near[0]):
            total += _units_at(run, choice.near[at], ground.rank[g])
        if total >= wanted:
            return ground.rank[g]
    return ground.rank[ground.by_rank[-1]]


@shared
def _choose_in_runs(run, k, free):
    """Choose places for a class as Slurm does: of nodes that follow each other the fewest processors that are enough.

    If no such run is enough, the largest is taken and the rest looked for among the others. The last piece goes to the
    node of a run that has the fewest processors free.
    """
    wanted, n = run.asks.units[k], run.ground.group.size
    top = _top_rank(run, wanted)
    while wanted > 0:
        first, end, most, best_is_enough, at = 0, 0, 0, False, 0
        while at < n:
            begin, units, cores = at, 0, 0
            while at < n and _units_at(run, at, top) > 0:
                units += _units_at(run, at, top)
                cores += free[at, 0]
                at += 1
            is_enough = units >= wanted
            if units > 0 and (
                end == 0 or (is_enough and (not best_is_enough or cores < most))
                or (not is_enough and not best_is_enough and cores > most)
            ):  # fmt: skip
                first, end, most, best_is_enough = begin, at, cores, is_enough
            at += 1
        tightest = _tightest(run, k, free, first, end, wanted)
        if tightest != NOWHERE:
            wanted -= _choose_at(run, k, tightest, wanted)
        for q in range(first, end):
            if wanted > 0 and run.choice.units[q] > 0:
                wanted -= _choose_at(run, k, q, wanted)


@inlined
def _tightest(run, k, free, first, end, wanted):
    """The place of a run with the fewest processors free of those where one piece is enough."""
    best = NOWHERE
    for q in range(first, end):
        is_enough = run.asks.gives[k, run.ground.group[q]] >= wanted
        if is_enough and (best == NOWHERE or free[q, 0] < free[best, 0]):
            best = q
    return best


@inlined
def _come_near(run, k, free, from_s, until_s):
    """Look at all places that have room for a class; how many units they give together for a time."""
    choice, row, total = run.choice, row_with_room(run, k), 0
    choice.look[0] += 1
    choice.n_near[0] = 0
    for g in range(run.ground.rank.size):
        if run.partitions.is_closed[g]:
            continue
        for at in range(run.ground.first[g], run.ground.first[g] + run.rooms.n[row, g]):
            q = run.rooms.place[row, at]
            _see(run, q)
            choice.units[q] = _units_beside(run, free, q, k, g, from_s, until_s)
            total += choice.units[q]
    return total


@inlined
def _see(run, q):
    """Look at a place as it is now."""
    choice = run.choice
    choice.seen[q] = choice.look[0]
    choice.near[choice.n_near[0]] = q
    choice.n_near[0] += 1
    choice.units[q] = 0
    for r in range(choice.free.shape[1]):
        choice.free[q, r] = run.ground.free[q, r]


@inlined
def take_now(run, k, q, n):
    """Take pieces of a class out of what is free now; negative ones are given back."""
    take(run, run.ground.free, q, k, q, n)
    g = run.ground.group[q]
    for r in range(run.ground.free.shape[1]):
        run.ground.spare[q] -= n * run.asks.need[k, g, r] * run.ground.worth[g, r]
    note_change(run, q)


@inlined
def take(run, rows, at, k, q, count):
    """Take pieces of a class at a place out of a row of what is free; negative ones are given back."""
    g = run.ground.group[q]
    for r in range(rows.shape[1]):
        rows[at, r] -= count * run.asks.need[k, g, r]


# What is held ahead


@shared
def forget_held(run):
    """Nothing is held ahead any longer."""
    for h in range(run.held.size[0]):
        run.held.at_place[run.held.place[h]] = NOWHERE
    run.held.size[0] = 0


@inlined
def take_from_held(run, k, q, count, from_s, until_s):
    """Pieces of a class go to a place for a time: whatever is held there from an instant within it has less left."""
    h = run.held.at_place[q]
    while h != NOWHERE:
        if from_s <= run.held.start_s[h] < until_s:
            take(run, run.held.left, h, k, q, count)
        h = run.held.next[h]


@inlined
def _sort_in(order, n, instants, h):
    """Put row h where its instant belongs among n sorted ones."""
    at = n
    while at > 0 and instants[order[at - 1]] > instants[h]:
        order[at] = order[at - 1]
        at -= 1
    order[at] = h


@shared
def hold(run, i, now_s):
    """Hold places for a job from the earliest instant on at which it fits, as far as planned."""
    start_s = earliest(run, i, now_s, now_s)
    if start_s < math.inf and start_s <= now_s + run.rules.window_s:
        _hold_from(run, i, start_s)


@shared
def hold_parts(run, c, now_s):
    """Hold places for all parts of a job, each beside those before it, from the earliest instant at which all fit."""
    conditions, from_s, n_before = run.conditions, now_s, run.held.size[0]
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    while from_s < math.inf:
        for at in range(begin, end):  # each must fit alone
            from_s = earliest(run, conditions.part[at], now_s, from_s)
        if from_s > now_s + run.rules.window_s:
            return
        for at in range(begin, end):
            if earliest(run, conditions.part[at], now_s, from_s) != from_s:
                break
            _hold_from(run, conditions.part[at], from_s)
            if at == end - 1:
                return
        _forget_after(run, n_before)
        from_s = _next_change(run, from_s)


@inlined
def _next_change(run, after_s):
    """The next instant at which anything is planned to change, or is held or kept from or until; inf for none."""
    held, soon = run.held, run.kept.n_past[0]
    while kept_s(run, soon) <= after_s:
        soon += 1
    next_s = kept_s(run, soon)
    for at in range(run.planned.n[0]):
        if run.planned.at_s[at] > after_s:
            next_s = min(next_s, run.planned.at_s[at])
            break
    for h in range(held.size[0]):
        for at_s in (held.start_s[h], held.end_s[h]):
            if at_s > after_s:
                next_s = min(next_s, at_s)
    return next_s


@inlined
def _forget_after(run, n):
    """Nothing is held any longer but the first so many pieces."""
    held = run.held
    for h in range(held.size[0] - 1, n - 1, -1):
        q = held.place[h]
        held.at_place[q] = held.next[h]
        take_from_held(run, run.asks.of_job[held.job[h]], q, -held.n_pieces[h], held.start_s[h], held.end_s[h])
    for order in (held.by_start, held.by_end):
        kept = 0
        for at in range(held.size[0]):
            if order[at] < n:
                order[kept] = order[at]
                kept += 1
    held.size[0] = n


@shared
def _hold_from(run, i, start_s):
    """Hold the places for a job from an instant on that has just been found to be the earliest."""
    k = run.asks.of_job[i]
    end_s = start_s + run.coming.planned_s[i]
    start_s, end_s = _rounded(run, start_s), _rounded(run, end_s)
    held, choice = run.held, run.choice
    _choose(run, k, choice.free)
    for c in range(choice.n[0]):
        q, count, h = choice.place[c], choice.n_pieces[c], held.size[0]
        take_from_held(run, k, q, count, start_s, end_s)
        held.job[h], held.place[h], held.n_pieces[h] = i, q, count
        held.start_s[h], held.end_s[h] = start_s, end_s
        for r in range(held.left.shape[1]):
            held.left[h, r] = choice.free[q, r]
        take(run, held.left, h, k, q, count)
        held.next[h] = held.at_place[q]
        held.at_place[q] = h
        _sort_in(held.by_start, h, held.start_s, h)
        _sort_in(held.by_end, h, held.end_s, h)
        held.size[0] += 1


@shared
def earliest(run, i, now_s, from_s):
    """The earliest instant from one on at which a job fits for as long as it is planned, inf for none.

    The choice has what is free there then.

    Running jobs are taken to end as planned, and those past their plan at once.
    """
    k, planned_s = run.asks.of_job[i], run.coming.planned_s[i]
    if run.asks.is_spread[k] and not run.rules.in_passes and not keeps(run) and _is_held_elsewhere(run, k):
        return _earliest_of_places(run, k, from_s)
    sort_planned(run, now_s)
    planned, at_s, n_ended, n_started, n_over, total = run.planned, now_s, 0, 0, 0, 0
    n_past = run.kept.n_past[0]
    window_s = FIRST_WINDOW_S
    if run.asks.units[k] > 1 or run.conditions.part_of[i] != NOWHERE:
        total = _come_near(run, k, run.ground.free, at_s, at_s + planned_s)
    else:  # no place has room now, or the job would have started
        run.choice.look[0] += 1
        run.choice.n_near[0] = 0
    while True:
        while n_ended < planned.n[0] and planned.at_s[n_ended] <= at_s:
            j = planned.job[n_ended]
            for p in range(run.pieces.first[j], run.pieces.first[j] + run.pieces.n[j]):
                total += _change(
                    run, k, run.asks.of_job[j], run.pieces.place[p], -run.pieces.n_pieces[p], at_s, planned_s
                )
            n_ended += 1
        while n_over < run.held.size[0] and run.held.end_s[run.held.by_end[n_over]] <= at_s:
            total += _change_held(run, k, run.held.by_end[n_over], -1, at_s, planned_s)
            n_over += 1
        while n_started < run.held.size[0] and run.held.start_s[run.held.by_start[n_started]] <= at_s:
            total += _change_held(run, k, run.held.by_start[n_started], 1, at_s, planned_s)
            n_started += 1
        while kept_s(run, n_past) <= at_s:
            total += _look_anew(run, k, run.kept.place[n_past], at_s, planned_s)
            n_past += 1
        if at_s >= from_s and total >= run.asks.units[k]:
            for h in range(run.held.size[0]):  # some may have come to lie within the time since they were looked at
                total += _look_again(run, k, run.held.place[h], at_s, planned_s)
            soon = n_past
            while kept_s(run, soon) < at_s + planned_s:
                total += _look_again(run, k, run.kept.place[soon], at_s, planned_s)
                soon += 1
            if total >= run.asks.units[k]:
                return at_s
        at_s = math.inf
        if n_ended < planned.n[0]:
            at_s = planned.at_s[n_ended]
            if run.rules.in_passes and run.conditions.part_of[i] == NOWHERE:
                at_s, window_s = _last_within(planned, n_ended, at_s + window_s), 2 * window_s
        if n_over < run.held.size[0]:
            at_s = min(at_s, run.held.end_s[run.held.by_end[n_over]])
        if n_started < run.held.size[0]:
            at_s = min(at_s, run.held.start_s[run.held.by_start[n_started]])
        at_s = min(at_s, kept_s(run, n_past))
        if at_s == math.inf:
            return at_s


@inlined
def _last_within(planned, at, until_s):
    """The last planned end up to an instant."""
    while at + 1 < planned.n[0] and planned.at_s[at + 1] <= until_s:
        at += 1
    return planned.at_s[at]


@inlined
def _is_held_elsewhere(run, k):
    """Whether nothing is held where a class may run."""
    for h in range(run.held.size[0]):
        if run.asks.gives[k, run.ground.group[run.held.place[h]]] > 0:
            return False
    return True


@inlined
def _earliest_of_places(run, k, from_s):
    """The earliest instant for a class of which no place has more than one piece, and for which nothing is held."""
    at_s, choice = max(from_s, room_for_all_s(run, k)), run.choice
    choice.look[0] += 1
    choice.n_near[0] = 0
    for g in range(run.ground.rank.size):
        if run.asks.gives[k, g] > 0:
            for q in range(run.ground.first[g], run.ground.first[g + 1]):
                if room_s_of(run, k, q) <= at_s:
                    _see(run, q)
                    see_free(run, q, at_s)
                    choice.units[q] = 1
    return at_s


@inlined
def _change_held(run, k, h, sign, at_s, planned_s):
    """What is held begins, or is over; how many units more a class would have."""
    return _change(
        run, k, run.asks.of_job[run.held.job[h]], run.held.place[h], sign * run.held.n_pieces[h], at_s, planned_s
    )


@inlined
def _look_anew(run, k, q, at_s, planned_s):
    """How many units more a class would have at a place from or until now on kept for some jobs."""
    if run.asks.gives[k, run.ground.group[q]] == 0:
        return 0
    if run.choice.seen[q] != run.choice.look[0]:
        _see(run, q)
    return _look_again(run, k, q, at_s, planned_s)


@inlined
def _change(run, k, of, q, n, at_s, planned_s):
    """Pieces of another class are taken from what will be free at a place; how many units more a class would have."""
    if run.asks.gives[k, run.ground.group[q]] == 0:
        return 0
    if run.choice.seen[q] != run.choice.look[0]:
        _see(run, q)
    take(run, run.choice.free, q, of, q, n)
    return _look_again(run, k, q, at_s, planned_s)


@inlined
def _look_again(run, k, q, at_s, planned_s):
    """How many units more than before a class would have at a place that is near."""
    if run.choice.seen[q] != run.choice.look[0]:
        return 0
    before, g = run.choice.units[q], run.ground.group[q]
    run.choice.units[q] = _units_beside(run, run.choice.free, q, k, g, at_s, at_s + planned_s)
    return run.choice.units[q] - before
