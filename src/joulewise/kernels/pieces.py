"""The answer of tasks that may be preempted to prices: the cheapest seconds between arrival and completion.

A task that keeps its option over all its stretches needs its time in seconds, any of them. Completions are looked at
slot by slot: one within a slot counts with the utility at the slot's start, and with all of the slot to choose
seconds from, so that whatever it gains is no more than that. Energy costs what it costs least in a slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.prices import most_up_to, slack_of
from joulewise.kernels.records import record


@record
class PiecePrices(NamedTuple):
    """Prices by slot: per machine-second by [machine type, slot] and per joule, and the least of each from a slot on.

    `counts[j]` tells whether a second of the slot adds to what a task earns.
    """

    slot_s: float
    per_s: NDArray[np.float64]
    per_j: NDArray[np.float64]
    least_s: NDArray[np.float64]
    least_j: NDArray[np.float64]
    counts: NDArray[np.bool_]


@record
class Seconds(NamedTuple):
    """Slots that a task may choose from, cheapest first: `n[0]` that count, then in a list of its own `n[1]` others."""

    slot: NDArray[np.int64]
    price: NDArray[np.float64]
    length_s: NDArray[np.float64]
    n: NDArray[np.int64]


class NeededRun(NamedTuple):
    """An option of a task, and what it needs."""

    i: int
    option: int
    machine_type: int
    nodes: float
    cost_w: float
    time_s: float
    arrival_s: float


@record
class Chosen(NamedTuple):
    """What a task chooses: gain, option (-1: none in the window) and the slot of its end; what all tasks ask for."""

    gain: NDArray[np.float64]
    option: NDArray[np.int64]
    slot: NDArray[np.int64]
    busy_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]


@inlined
def put_slot(seconds, prices, run, j):
    """Add the part of slot j after the task's arrival to what it may choose from."""
    row = 0 if prices.counts[j] else 1
    price = run.nodes * prices.per_s[run.machine_type, j] + run.cost_w * prices.per_j[j]
    at = seconds.n[row]
    while at > 0 and seconds.price[row, at - 1] > price:
        seconds.slot[row, at], seconds.price[row, at] = seconds.slot[row, at - 1], seconds.price[row, at - 1]
        seconds.length_s[row, at] = seconds.length_s[row, at - 1]
        at -= 1
    seconds.slot[row, at], seconds.price[row, at] = j, price
    seconds.length_s[row, at] = (j + 1) * prices.slot_s - max(run.arrival_s, j * prices.slot_s)
    seconds.n[row] += 1


@inlined
def best_seconds(seconds, prices, run, utility, must_fill, chosen, energy_of_slot):
    """What the best seconds gain: each that counts earns its share of the utility, and all cost their price.

    With `must_fill` all of the task's time is chosen, else only seconds that gain something. Where `chosen` has room,
    what is chosen is added to what is asked for.
    """
    per_second = utility / run.time_s
    left_s, gain, a, b = run.time_s, 0.0, 0, 0
    while left_s > 0.0 and (a < seconds.n[0] or b < seconds.n[1]):
        value_a = per_second - seconds.price[0, a] if a < seconds.n[0] else -np.inf
        value_b = -seconds.price[1, b] if b < seconds.n[1] else -np.inf
        row, at, value = (0, a, value_a) if value_a >= value_b else (1, b, value_b)
        if value <= 0.0 and not must_fill:
            break
        taken_s = min(left_s, seconds.length_s[row, at])
        gain += taken_s * value
        left_s -= taken_s
        a, b = a + (row == 0), b + (row == 1)
        if chosen.busy_s.size > 0:
            j = seconds.slot[row, at]
            chosen.busy_s[run.machine_type, j] += run.nodes * taken_s
            if energy_of_slot[j] >= 0:
                chosen.energy_j[energy_of_slot[j]] += run.cost_w * taken_s
    return gain


@inlined
def run_of(market, i, option):
    """The option of a task."""
    options, runs = market.options, market.runs
    k, nodes, cost_w = options.machine_type[option], runs.nodes[option], runs.cost_w[option]
    return NeededRun(i, option, k, nodes, cost_w, runs.stretch[i] * options.exec_s[option], market.tasks.arrival_s[i])


@inlined
def try_slots_of(chosen, market, prices, seconds, nothing, energy_of_slot, run):
    """Keep the best completion of an option if it gains more than the best so far."""
    window, n_slots, slack_s = market.window, prices.per_s.shape[1], slack_of(market.window)
    i, soonest_s = run.i, run.arrival_s + run.time_s
    j = min(int(run.arrival_s / prices.slot_s), n_slots - 1)
    least = run.time_s * (run.nodes * prices.least_s[run.machine_type, j] + run.cost_w * prices.least_j[j])
    if most_up_to(market, i, max(soonest_s, window.start_s) - slack_s) - least <= chosen.gain[i]:
        return
    seconds.n[:] = 0
    while j < n_slots:
        put_slot(seconds, prices, run, j)
        end_s = (j + 1) * prices.slot_s
        if end_s >= soonest_s - slack_s and end_s > window.start_s:
            utility = most_up_to(market, i, max(max(j * prices.slot_s, soonest_s), window.start_s) - slack_s)
            if utility - least <= chosen.gain[i]:
                return
            gain = best_seconds(seconds, prices, run, utility, True, nothing, energy_of_slot)
            if gain > chosen.gain[i]:
                chosen.gain[i], chosen.option[i], chosen.slot[i] = gain, run.option, j
        j += 1
    if window.is_prorated:  # to complete after the window
        utility = most_up_to(market, i, max(window.end_s, soonest_s) - slack_s)
        gain = best_seconds(seconds, prices, run, utility, False, nothing, energy_of_slot)
        if gain > chosen.gain[i]:
            chosen.gain[i], chosen.option[i], chosen.slot[i] = gain, run.option, n_slots


@inlined
def ask_again(chosen, market, prices, seconds, energy_of_slot, i):
    """Add what task i has chosen to what is asked for."""
    run, last, n_slots = run_of(market, i, chosen.option[i]), chosen.slot[i], prices.per_s.shape[1]
    seconds.n[:] = 0
    for j in range(min(int(run.arrival_s / prices.slot_s), n_slots - 1), min(last + 1, n_slots)):
        put_slot(seconds, prices, run, j)
    window, soonest_s, slack_s = market.window, run.arrival_s + run.time_s, slack_of(market.window)
    at_s = max(max(last * prices.slot_s, soonest_s), window.start_s) - slack_s
    utility = most_up_to(market, i, at_s)
    best_seconds(seconds, prices, run, utility, last < n_slots, chosen, energy_of_slot)


@kernel
def answer_in_pieces(chosen, market, prices, seconds, nothing, energy_of_slot, first, stride):
    """Let tasks first, first + stride, ... choose; returns the sum of their gains.

    The options that `chosen` holds are tried first: that prunes, and never decides. `nothing` is an answer without
    room, and `energy_of_slot` the energy period that a slot lies in, -1 for none.
    """
    tasks, options = market.tasks, market.options
    total = 0.0
    for i in range(first, tasks.arrival_s.size, stride):
        before, t = chosen.option[i], tasks.task_type[i]
        chosen.gain[i], chosen.option[i] = market.later[i], -1
        if tasks.arrival_s[i] >= market.window.end_s:
            continue
        if before >= 0:
            run = run_of(market, i, before)
            try_slots_of(chosen, market, prices, seconds, nothing, energy_of_slot, run)
        for option in range(options.first[t], options.first[t + 1]):
            run = run_of(market, i, option)
            try_slots_of(chosen, market, prices, seconds, nothing, energy_of_slot, run)
        total += chosen.gain[i]
        if chosen.option[i] >= 0:
            ask_again(chosen, market, prices, seconds, energy_of_slot, i)
    return total
