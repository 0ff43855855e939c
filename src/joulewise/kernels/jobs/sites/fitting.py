"""Where a class of jobs fits at an instant: beside what runs, and what is held ahead for others."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.kept import is_open, keeps
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.rooms import note_change, row_with_room


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
def units_beside(run, free, q, k, g, from_s, until_s):
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
    if come_near(run, k, run.ground.free, now_s, until_s) < run.asks.units[k]:
        return False
    choose(run, k, run.ground.free)
    return True


@inlined
def _is_better(rank, score, q, best_rank, least, best):
    """Whether a place is better than the best so far: of a lower rank, with less free, or before it."""
    if best == NOWHERE or rank != best_rank:
        return best == NOWHERE or rank < best_rank
    return score < least or (score == least and q < best)


@inlined
def _choose_one(run, k, now_s, until_s):
    """Choose the place for one piece of a class as `choose` does; whether there is one."""
    ground, choice, row = run.ground, run.choice, row_with_room(run, k)
    best, best_rank, least, is_free = NOWHERE, 0, 0, not keeps(run)
    for g in ground.by_rank:
        if best != NOWHERE and ground.rank[g] > best_rank:
            break
        for at in range(ground.first[g], ground.first[g] + run.rooms.n[row, g]):
            q = run.rooms.place[row, at]
            if _is_better(ground.rank[g], ground.spare[q], q, best_rank, least, best) and (
                (is_free and run.held.at_place[q] == NOWHERE)
                or units_beside(run, ground.free, q, k, g, now_s, until_s) > 0
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
def choose(run, k, free):
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
def come_near(run, k, free, from_s, until_s):
    """Look at all places that have room for a class; how many units they give together for a time."""
    choice, row, total = run.choice, row_with_room(run, k), 0
    choice.look[0] += 1
    choice.n_near[0] = 0
    for g in range(run.ground.rank.size):
        if run.partitions.is_closed[g]:
            continue
        for at in range(run.ground.first[g], run.ground.first[g] + run.rooms.n[row, g]):
            q = run.rooms.place[row, at]
            see(run, q)
            choice.units[q] = units_beside(run, free, q, k, g, from_s, until_s)
            total += choice.units[q]
    return total


@inlined
def see(run, q):
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
