"""Fair shares of a tree of accounts: what is used decays, and users are ranked by what they have left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record


@record
class Shares(NamedTuple):
    """A tree with the whole in row 0, and parts behind what they are parts of.

    Row r has `part[r]` of its siblings' shares, and `whole_part[r]` of the whole's. Its parts are
    `child[first[r]:first[r + 1]]`, sorted when users are ranked. `used` holds at `at_s`, from when on `rate` is used
    each second. Job i is of row `of_job[i]`, -1 for none, and uses `per_s[i]`. `factor` is what users were found to
    deserve when that was `seen_s[0]`; the last one stands for nobody.
    """

    parent: NDArray[np.int64]
    is_user: NDArray[np.bool_]
    part: NDArray[np.float64]
    whole_part: NDArray[np.float64]
    first: NDArray[np.int64]
    child: NDArray[np.int64]
    used: NDArray[np.float64]
    rate: NDArray[np.float64]
    at_s: NDArray[np.float64]
    of_job: NDArray[np.int64]
    per_s: NDArray[np.float64]
    factor: NDArray[np.float64]
    seen_s: NDArray[np.float64]
    level: NDArray[np.float64]
    order: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    next: NDArray[np.int64]
    is_tied: NDArray[np.bool_]
    is_fair_tree: bool
    decay_per_s: float
    dampening: float
    period_s: float


@inlined
def _bring_up(shares, r, now_s):
    """Let what a row has used count until now."""
    time_s, decay = now_s - shares.at_s[r], shares.decay_per_s
    if time_s > 0.0:
        if shares.used[r] > 0.0 or shares.rate[r] > 0.0:
            lost = -np.expm1(-decay * time_s)
            shares.used[r] += shares.rate[r] * (lost / decay if decay > 0.0 else time_s) - lost * shares.used[r]
        shares.at_s[r] = now_s


@shared
def note_share(shares, i, now_s, sign):
    """A job begins to use its user's share, and those of all accounts above, or it ends."""
    r = shares.of_job[i]
    while r >= 0:
        _bring_up(shares, r, now_s)
        shares.rate[r] += sign * shares.per_s[i]
        r = shares.parent[r]


@inlined
def factor_of(shares, i):
    """What the user of a job deserves, as last seen, from 0 to 1."""
    return shares.factor[shares.of_job[i]]


@shared
def see_shares(shares, now_s):
    """See what users deserve where a period has ended since that was last done; whether it has."""
    seen_s = now_s
    if shares.period_s > 0.0:
        seen_s = min(np.floor(now_s / shares.period_s) * shares.period_s, now_s)
    if seen_s <= shares.seen_s[0]:
        return False
    shares.seen_s[0] = seen_s
    for r in range(shares.parent.size):
        _bring_up(shares, r, seen_s)
    if shares.is_fair_tree:
        _see_levels(shares)
        _rank_users(shares)
    else:
        _see_ratios(shares)
    return True


@inlined
def _in_seven_digits(value):
    """A number without the digits that tell apart by rounding alone what is equal."""
    return np.float64(np.float32(value))


@shared
def _see_ratios(shares):
    """Of each user a power of what is used by it, and by each account above for its part, of its share of the whole."""
    level, all_used = shares.level, shares.used[0]
    level[0] = 1.0
    for r in range(1, shares.parent.size):
        own, above = shares.used[r] / all_used if all_used > 0.0 else 0.0, shares.parent[r]
        level[r] = own if above == 0 else own + (level[above] - own) * shares.part[r]
        share = shares.whole_part[r]
        shares.factor[r] = _in_seven_digits(2.0 ** (-level[r] / share / shares.dampening)) if share > 0.0 else 0.0


@shared
def _see_levels(shares):
    """Of each row its part of the shares of its siblings over its part of what they have used."""
    for r in range(1, shares.parent.size):
        used, all_used = shares.used[r], shares.used[shares.parent[r]]
        if shares.part[r] == 0.0:
            shares.level[r] = 0.0
        elif used > 0.0:
            shares.level[r] = _in_seven_digits(shares.part[r] / (used / all_used))
        else:
            shares.level[r] = np.inf


@inlined
def _goes_before(shares, a, b):
    """Whether a row is ranked before a sibling: with a higher level; of one level users first."""
    level, is_user = shares.level, shares.is_user
    if level[a] != level[b]:
        return level[a] > level[b]
    if is_user[a] != is_user[b]:
        return is_user[a]
    return a < b


@inlined
def _sort(shares, rows, begin, end):
    """Sort rows that are nearly so from one time to the next."""
    for at in range(begin + 1, end):
        r, to = rows[at], at
        while to > begin and _goes_before(shares, r, rows[to - 1]):
            rows[to] = rows[to - 1]
            to -= 1
        rows[to] = r


@shared
def _open(shares, depth, begin, rows, at, end):
    """Put the parts of some siblings behind what is in the order, as one list; where it ends."""
    top = begin
    for k in range(at, end):
        r = rows[k]
        _sort(shares, shares.child, shares.first[r], shares.first[r + 1])
        for c in range(shares.first[r], shares.first[r + 1]):
            shares.order[top] = shares.child[c]
            top += 1
    if end - at > 1:
        _sort(shares, shares.order, begin, top)
    shares.begin[depth], shares.next[depth], shares.end[depth] = begin, begin, top


@shared
def _rank_users(shares):
    """Rank users branch by branch: the parts of the row of the highest level come first.

    Equal users have one rank. Accounts of one level have their parts in one list, whose first user has the rank of the
    user before where that is of the accounts' level.
    """
    order, level, n_users = shares.order, shares.level, 0
    for r in range(shares.parent.size):
        n_users += shares.is_user[r]
    order[shares.parent.size] = 0
    _open(shares, 0, 0, order, shares.parent.size, shares.parent.size + 1)
    shares.is_tied[0] = False
    rank, unshared, depth = n_users, n_users, 0
    while depth >= 0:
        at = shares.next[depth]
        if at == shares.end[depth]:
            depth -= 1
            continue
        r = order[at]
        tied = shares.is_tied[depth] if at == shares.begin[depth] else level[r] == level[order[at - 1]]
        if shares.is_user[r]:
            rank = rank if tied else unshared
            shares.factor[r] = rank / n_users
            unshared -= 1
            shares.next[depth] = at + 1
            continue
        end = at + 1
        while end < shares.end[depth] and level[order[end]] == level[r]:
            end += 1
        shares.next[depth] = end
        _open(shares, depth + 1, shares.end[depth], order, at, end)
        depth += 1
        shares.is_tied[depth] = tied
