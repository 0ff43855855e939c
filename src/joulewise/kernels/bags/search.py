"""Simulated annealing of what bins hold: machine types that share out a bag, or machines that share out a type's tasks.

A bin's load above its limit is penalised by its square, so that no bin stays far above; every move is judged by what
it changes alone. A kind is a task type in a P-state: task type x P-states + P-state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel, shared

MOVES_PER_STEP = 64
"""How many moves are tried at one temperature."""

_NEVER = 16.0


class Bins(NamedTuple):
    """Load and energy of one task by [row, kind], +inf where it cannot run; the row, limit and penalty of each bin."""

    load_s: NDArray[np.float64]
    extra_j: NDArray[np.float64]
    row: NDArray[np.int64]
    limit_s: NDArray[np.float64]
    per_s2: NDArray[np.float64]
    n_pstates: int


class Content(NamedTuple):
    """How many tasks of each kind a bin holds, by [bin, kind], now and in the best state; the loads of bins.

    `held[bin, :n_held[bin]]` lists the kinds a bin has tasks of, `place[bin, kind]` where in that list they are.
    """

    counts: NDArray[np.int64]
    best: NDArray[np.int64]
    held: NDArray[np.int64]
    place: NDArray[np.int64]
    n_held: NDArray[np.int64]
    busy_s: NDArray[np.float64]


class CoolingPlan(NamedTuple):
    """How many moves to try, the temperatures at the beginning and at the end, and the cost that is good enough."""

    n_moves: int
    start: float
    end: float
    enough: float


@kernel
def anneal(state, bins, content, cooling):
    """Anneal what the bins hold; returns the least cost seen, whose state is left in `content.best`."""
    return _anneal(state, bins, content, cooling)


@kernel
def pack(state, bins, content, cooling, first_bin):
    """Anneal each group of bins by itself: bins `first_bin[g]` to `first_bin[g + 1]` share what they hold.

    A group gets its share of the moves by its bins, and none where it holds its limits already.
    """
    for group in range(first_bin.size - 1):
        begin, end = first_bin[group], first_bin[group + 1]
        own_bins = Bins(
            bins.load_s, bins.extra_j, bins.row[begin:end], bins.limit_s[begin:end], bins.per_s2[begin:end], 1
        )
        own_content = Content(
            content.counts[begin:end], content.best[begin:end], content.held[begin:end], content.place[begin:end],
            content.n_held[begin:end], content.busy_s[begin:end],
        )  # fmt: skip
        n_moves = cooling.n_moves * (end - begin) // first_bin[-1]
        _anneal(state, own_bins, own_content, CoolingPlan(n_moves, cooling.start, cooling.end, cooling.enough))


@shared
def _anneal(state, bins, content, cooling):
    n_bins, cost = bins.row.size, _begin(bins, content)
    best, temperature = cost, cooling.start
    cooled = (cooling.end / cooling.start) ** (MOVES_PER_STEP / max(cooling.n_moves, 1))
    for move in range(cooling.n_moves if n_bins > 0 else 0):
        if best <= cooling.enough:
            break
        if move % MOVES_PER_STEP == 0:
            temperature *= cooled
        cost += _try_move(state, bins, content, temperature)
        if cost < best:
            best = cost
            _keep(content)
    return best


@inlined
def _try_move(state, bins, content, temperature):
    """Move a random task to a random bin, mostly in exchange for one of its tasks; returns what that changes."""
    bits = draw(state)
    a = high_below(bits, bins.row.size)
    if content.n_held[a] == 0:
        return 0.0
    kind = content.held[a, low_below(bits, content.n_held[a])]
    bits = draw(state)
    b = high_below(bits, bins.row.size)
    other = low_below(bits, content.n_held[b] + 1)
    if a == b:
        return _try_pstate(state, bins, content, temperature, a, kind)
    if other == content.n_held[b]:
        return _try_gift(state, bins, content, temperature, a, b, kind)
    return _try_swap(state, bins, content, temperature, a, b, kind, content.held[b, other])


@inlined
def _try_pstate(state, bins, content, temperature, a, kind):
    """Run a task of a bin in another P-state."""
    changed = _in_some_pstate(state, bins, kind)
    if changed == kind:
        return 0.0
    r = bins.row[a]
    busy_s = content.busy_s[a] - bins.load_s[r, kind] + bins.load_s[r, changed]
    change = bins.extra_j[r, changed] - bins.extra_j[r, kind] + _more_penalty(bins, content, a, busy_s)
    if not _is_accepted(state, change, temperature):
        return 0.0
    _take(content, a, kind)
    _add(content, a, changed)
    content.busy_s[a] = busy_s
    return change


@inlined
def _try_gift(state, bins, content, temperature, a, b, kind):
    """Move a task from bin a to bin b."""
    there = _in_some_pstate(state, bins, kind)
    r, s = bins.row[a], bins.row[b]
    a_s, b_s = content.busy_s[a] - bins.load_s[r, kind], content.busy_s[b] + bins.load_s[s, there]
    change = bins.extra_j[s, there] - bins.extra_j[r, kind]
    change += _more_penalty(bins, content, a, a_s) + _more_penalty(bins, content, b, b_s)
    if not _is_accepted(state, change, temperature):
        return 0.0
    _take(content, a, kind)
    _add(content, b, there)
    content.busy_s[a], content.busy_s[b] = a_s, b_s
    return change


@inlined
def _try_swap(state, bins, content, temperature, a, b, kind, other):
    """Exchange a task of bin a and one of bin b."""
    if kind == other:
        return 0.0
    there, here = _in_some_pstate(state, bins, kind), _in_some_pstate(state, bins, other)
    r, s = bins.row[a], bins.row[b]
    a_s = content.busy_s[a] - bins.load_s[r, kind] + bins.load_s[r, here]
    b_s = content.busy_s[b] - bins.load_s[s, other] + bins.load_s[s, there]
    change = bins.extra_j[s, there] - bins.extra_j[r, kind] + bins.extra_j[r, here] - bins.extra_j[s, other]
    change += _more_penalty(bins, content, a, a_s) + _more_penalty(bins, content, b, b_s)
    if not _is_accepted(state, change, temperature):
        return 0.0
    _take(content, a, kind)
    _take(content, b, other)
    _add(content, a, here)
    _add(content, b, there)
    content.busy_s[a], content.busy_s[b] = a_s, b_s
    return change


@inlined
def _in_some_pstate(state, bins, kind):
    """The same task type in a random P-state."""
    if bins.n_pstates == 1:
        return kind
    return kind - kind % bins.n_pstates + high_below(draw(state), bins.n_pstates)


@inlined
def _is_accepted(state, change, temperature):
    """Whether a change is made: always when it costs nothing, else the less often the more it costs."""
    if change <= 0.0:
        return True
    return change < _NEVER * temperature and share_of(draw(state)) < np.exp(-change / temperature)


@inlined
def _penalty(bins, b, busy_s):
    over_s = max(busy_s - bins.limit_s[b], 0.0)
    return bins.per_s2[b] * over_s * over_s


@inlined
def _more_penalty(bins, content, b, busy_s):
    """What another load of a bin adds to its penalty."""
    return _penalty(bins, b, busy_s) - _penalty(bins, b, content.busy_s[b])


@inlined
def _take(content, b, kind):
    content.counts[b, kind] -= 1
    if content.counts[b, kind] == 0:
        content.n_held[b] -= 1
        last = content.held[b, content.n_held[b]]
        content.held[b, content.place[b, kind]] = last
        content.place[b, last] = content.place[b, kind]


@inlined
def _add(content, b, kind):
    if content.counts[b, kind] == 0:
        content.place[b, kind] = content.n_held[b]
        content.held[b, content.n_held[b]] = kind
        content.n_held[b] += 1
    content.counts[b, kind] += 1


@shared
def _begin(bins, content):
    """Lists, loads and cost of what the bins hold; it is the best so far."""
    cost = 0.0
    for b in range(bins.row.size):
        content.n_held[b], content.busy_s[b] = 0, 0.0
        for kind in range(content.counts.shape[1]):
            n_tasks = content.counts[b, kind]
            if n_tasks > 0:
                content.place[b, kind] = content.n_held[b]
                content.held[b, content.n_held[b]] = kind
                content.n_held[b] += 1
                content.busy_s[b] += n_tasks * bins.load_s[bins.row[b], kind]
                cost += n_tasks * bins.extra_j[bins.row[b], kind]
        cost += _penalty(bins, b, content.busy_s[b])
    _keep(content)
    return cost


@inlined
def _keep(content):
    for b in range(content.counts.shape[0]):
        for kind in range(content.counts.shape[1]):
            content.best[b, kind] = content.counts[b, kind]
