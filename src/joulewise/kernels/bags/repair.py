"""Making an allocation of a bag shorter and cheaper, one task at a time.

The machine that is done last gives a task away, or trades it for a shorter one, as cheaply as the prices of machine
time say, again and again; then tasks that would be cheaper elsewhere go there while there is room. What earned most
on the way is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

_SHORTER = 1e-9


@record
class Costs(NamedTuple):
    """Of each [task type, machine type x P-state] the time (+inf where impossible), the energy above idle, the cost,
    and the cost with the machine's time paid for; the machine type of each machine and where machine types begin."""

    exec_s: NDArray[np.float64]
    extra_j: NDArray[np.float64]
    cost: NDArray[np.float64]
    priced: NDArray[np.float64]
    machine_type: NDArray[np.int32]
    first_machine: NDArray[np.int64]
    n_pstates: int


@record
class Deal(NamedTuple):
    """What the bag brings in, the power above idle that the cap leaves, the deadline, the bound on the makespan, and
    after how many moves without gain to stop."""

    income: float
    extra_limit_w: float
    deadline_s: float
    shortest_s: float
    patience: int


@record
class Books(NamedTuple):
    """What changes: tasks by [machine, task type x P-state]; which of these each machine has, listed, and how many
    such; busy time by machine; the machine of each type that is ready first; moves made, as (task type, from machine,
    P-state, to machine, P-state); the sums of extra energy and cost."""

    counts: NDArray[np.int64]
    held: NDArray[np.int64]
    n_held: NDArray[np.int64]
    busy_s: NDArray[np.float64]
    first_ready: NDArray[np.int64]
    moves: NDArray[np.int64]
    sums: NDArray[np.float64]


@kernel
def tighten(costs, books, deal):
    """Change the allocation into the one that earned most on the way, then make that cheaper."""
    _open(costs, books)
    best, n_moves, n_best = _earned(books, deal), 0, 0
    while n_moves + 2 <= books.moves.shape[0] and n_moves - n_best <= deal.patience:
        latest = _latest(books.busy_s)
        if books.busy_s[latest] <= deal.shortest_s:
            break
        n_new = _give_away(costs, books, latest, n_moves)
        if n_new == 0:
            n_new = _trade(costs, books, latest, n_moves)
        if n_new == 0:
            break
        n_moves += n_new
        earned = _earned(books, deal)
        if earned > best or best == -np.inf:
            best, n_best = earned, n_moves
    for k in range(n_moves - 1, n_best - 1, -1):
        task, start, from_p, end, to_p = books.moves[k]
        _move(costs, books, task, end, to_p, start, from_p)
    _cheapen(costs, books)


@shared
def _open(costs, books):
    """Sum up what the allocation takes."""
    books.sums[:] = 0.0
    for m in range(books.busy_s.size):
        books.busy_s[m], books.n_held[m] = 0.0, 0
        for at in range(books.counts.shape[1]):
            n = books.counts[m, at]
            if n > 0:
                task, column = _cell(costs, m, at)
                books.held[m, books.n_held[m]] = at
                books.n_held[m] += 1
                books.busy_s[m] += n * costs.exec_s[task, column]
                books.sums[0] += n * costs.extra_j[task, column]
                books.sums[1] += n * costs.cost[task, column]
    for j in range(books.first_ready.size):
        _find_first(costs, books, j)


@inlined
def _cell(costs, machine, at):
    """Task type and column of one of a machine's counts."""
    return at // costs.n_pstates, costs.machine_type[machine] * costs.n_pstates + at % costs.n_pstates


@shared
def _find_first(costs, books, j):
    """Note which machine of a type is ready first; -1 where it has none."""
    first = -1
    for m in range(costs.first_machine[j], costs.first_machine[j + 1]):
        if first < 0 or books.busy_s[m] < books.busy_s[first]:
            first = m
    books.first_ready[j] = first


@shared
def _latest(busy_s):
    latest = 0
    for m in range(busy_s.size):
        if busy_s[m] > busy_s[latest]:
            latest = m
    return latest


@shared
def _earned(books, deal):
    """Income less cost per second, waiting for the power cap or, at a loss, for the deadline; -inf if that is past."""
    period_s = max(books.busy_s[_latest(books.busy_s)], books.sums[0] / deal.extra_limit_w)
    if period_s > deal.deadline_s:
        return -np.inf
    if deal.income < books.sums[1] and deal.deadline_s < np.inf:
        period_s = deal.deadline_s
    return (deal.income - books.sums[1]) / period_s


@shared
def _move(costs, books, task, start, from_p, end, to_p):
    """Move one task from a machine and P-state to another."""
    _change(costs, books, start, task, from_p, -1)
    _change(costs, books, end, task, to_p, 1)


@shared
def _change(costs, books, machine, task, pstate, n):
    """Let a machine have one task more or less."""
    at = task * costs.n_pstates + pstate
    column = costs.machine_type[machine] * costs.n_pstates + pstate
    if n > 0 and books.counts[machine, at] == 0:
        _hold(books, machine, at)
    books.counts[machine, at] += n
    if n < 0 and books.counts[machine, at] == 0:
        _let_go(books, machine, at)
    books.busy_s[machine] += n * costs.exec_s[task, column]
    books.sums[0] += n * costs.extra_j[task, column]
    books.sums[1] += n * costs.cost[task, column]
    _find_first(costs, books, costs.machine_type[machine])


@shared
def _hold(books, machine, at):
    """Add to what a machine holds, which stays in order, so that ties never depend on earlier moves."""
    k = books.n_held[machine]
    while k > 0 and books.held[machine, k - 1] > at:
        books.held[machine, k] = books.held[machine, k - 1]
        k -= 1
    books.held[machine, k] = at
    books.n_held[machine] += 1


@shared
def _let_go(books, machine, at):
    """Take away from what a machine holds."""
    books.n_held[machine] -= 1
    for k in range(np.searchsorted(books.held[machine, : books.n_held[machine] + 1], at), books.n_held[machine]):
        books.held[machine, k] = books.held[machine, k + 1]


@inlined
def _note(books, k, task, start, from_p, end, to_p):
    books.moves[k, 0], books.moves[k, 1], books.moves[k, 2] = task, start, from_p
    books.moves[k, 3], books.moves[k, 4] = end, to_p


@shared
def _give_away(costs, books, latest, n_moves):
    """Move a task of the latest machine to one that is then done sooner, at the least rise in priced cost.

    Of equal ones it is the move after which the later of the two machines is done soonest.
    """
    limit_s = books.busy_s[latest] * (1.0 - _SHORTER)
    best, soonest_s, kind, end, to_p = np.inf, np.inf, -1, -1, -1
    for k in range(books.n_held[latest]):
        at = books.held[latest, k]
        task, column = _cell(costs, latest, at)
        for to_column in range(costs.exec_s.shape[1]):
            m = books.first_ready[to_column // costs.n_pstates]
            if m < 0 or m == latest or books.busy_s[m] + costs.exec_s[task, to_column] > limit_s:
                continue
            rise = costs.priced[task, to_column] - costs.priced[task, column]
            done_s = max(
                books.busy_s[latest] - costs.exec_s[task, column], books.busy_s[m] + costs.exec_s[task, to_column]
            )
            if rise < best or (rise == best and done_s < soonest_s):
                best, soonest_s, kind, end, to_p = rise, done_s, at, m, to_column % costs.n_pstates
    if kind < 0:
        return 0
    task, from_p = kind // costs.n_pstates, kind % costs.n_pstates
    _note(books, n_moves, task, latest, from_p, end, to_p)
    _move(costs, books, task, latest, from_p, end, to_p)
    return 1


@shared
def _trade(costs, books, latest, n_moves):
    """Trade a task of the latest machine for one of another, P-states kept, so that both are then done sooner."""
    limit_s = books.busy_s[latest] * (1.0 - _SHORTER)
    best, soonest_s, mine, other, theirs = np.inf, np.inf, -1, -1, -1
    here = costs.machine_type[latest] * costs.n_pstates
    for k in range(books.n_held[latest]):
        at = books.held[latest, k]
        task, p = at // costs.n_pstates, at % costs.n_pstates
        left_s, left = books.busy_s[latest] - costs.exec_s[task, here + p], costs.priced[task, here + p]
        for m in range(books.busy_s.size):
            there = costs.machine_type[m] * costs.n_pstates
            filled_s = books.busy_s[m] + costs.exec_s[task, there + p]
            rise_there = costs.priced[task, there + p] - left
            if m == latest or filled_s == np.inf:
                continue
            for h in range(books.n_held[m]):
                to = books.held[m, h]
                task2, p2 = to // costs.n_pstates, to % costs.n_pstates
                done_s = max(left_s + costs.exec_s[task2, here + p2], filled_s - costs.exec_s[task2, there + p2])
                if done_s > limit_s:
                    continue
                rise = rise_there + costs.priced[task2, here + p2] - costs.priced[task2, there + p2]
                if rise < best or (rise == best and done_s < soonest_s):
                    best, soonest_s, mine, other, theirs = rise, done_s, at, m, to
    if mine < 0:
        return 0
    task, p = mine // costs.n_pstates, mine % costs.n_pstates
    task2, p2 = theirs // costs.n_pstates, theirs % costs.n_pstates
    _note(books, n_moves, task, latest, p, other, p)
    _note(books, n_moves + 1, task2, other, p2, latest, p2)
    _move(costs, books, task, latest, p, other, p)
    _move(costs, books, task2, other, p2, latest, p2)
    return 2


@shared
def _cheapen(costs, books):
    """Move tasks to where they cost less, while the makespan stays and the moves do not get too many."""
    limit_s = books.busy_s[_latest(books.busy_s)]
    n_moves, n_before = 0, -1
    while n_before < n_moves < books.moves.shape[0]:
        n_before = n_moves
        for m in range(books.busy_s.size):
            for at in range(books.counts.shape[1]):
                if books.counts[m, at] > 0:
                    n_moves += _send_cheaper(costs, books, m, at, limit_s)


@shared
def _send_cheaper(costs, books, machine, at, limit_s):
    """Move one task to the cheapest place with room, if that costs less; returns how many were moved."""
    task, column = _cell(costs, machine, at)
    best, end, to_p = costs.cost[task, column] * (1.0 - _SHORTER), -1, -1
    for to_column in range(costs.exec_s.shape[1]):
        m = books.first_ready[to_column // costs.n_pstates]
        if m < 0 or m == machine or books.busy_s[m] + costs.exec_s[task, to_column] > limit_s:
            continue
        if costs.cost[task, to_column] < best:
            best, end, to_p = costs.cost[task, to_column], m, to_column % costs.n_pstates
    if end < 0:
        return 0
    _move(costs, books, task, machine, at % costs.n_pstates, end, to_p)
    return 1
