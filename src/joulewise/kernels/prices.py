"""The answer of every task to machine and energy prices: its best run, and what all runs together ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import segment_value
from joulewise.kernels.jit import inlined, kernel

ROUNDING = 1e-12
"""Relative to the window's end: instants closer than this count as one, always in favour of the task."""


class Prices(NamedTuple):
    """Prices per machine-second by [machine type, slot], their integrals, and a price per joule.

    `paid[k, j]` is the integral up to the start of slot j. `cheapest[option, j]` bounds from below what a run of
    that option costs in machine time when it starts at or after the start of slot j.
    """

    slot_s: float
    per_s: NDArray[np.float64]
    paid: NDArray[np.float64]
    cheapest: NDArray[np.float64]
    per_j: float


class Window(NamedTuple):
    """Completions count in (start_s, end_s]; energy is paid for what runs inside."""

    start_s: float
    end_s: float


class Answer(NamedTuple):
    """What tasks choose: gain, option (-1: not to run) and start, one row per task; what they ask for in all."""

    gain: NDArray[np.float64]
    option: NDArray[np.int64]
    start_s: NDArray[np.float64]
    busy_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]


@inlined
def paid_until(prices, k, at_s):
    """The integral of machine type k's price from 0 to an instant; the last price holds beyond the last slot."""
    last = prices.per_s.shape[1] - 1
    j = min(max(int(at_s / prices.slot_s), 0), last)
    return prices.paid[k, j] + (at_s - j * prices.slot_s) * prices.per_s[k, j]


@kernel
def find_cheapest(prices, options):
    """Fill `cheapest`: a run's cost is linear in its start between slot edges at either end, so these suffice."""
    n_slots = prices.per_s.shape[1]
    for option in range(options.exec_s.size):
        k, exec_s = options.machine_type[option], options.exec_s[option]
        least = np.inf
        for back in range(n_slots):
            j = n_slots - 1 - back
            edge_s = j * prices.slot_s
            at_s = int((edge_s + exec_s) / prices.slot_s + 1.0) * prices.slot_s - exec_s
            for start_s in (edge_s, at_s, edge_s + prices.slot_s):
                least = min(least, paid_until(prices, k, start_s + exec_s) - paid_until(prices, k, start_s))
            prices.cheapest[option, j] = least


@inlined
def utility_up_to(tasks, utilities, i, completion_s):
    """The utility of completing just before an instant: at a jump the higher value, so that it is an upper bound."""
    segments = utilities.segments
    shape = tasks.shape[i]
    x_s = completion_s - tasks.arrival_s[i] - tasks.hold_s[i]
    j, last = utilities.first[shape], utilities.first[shape + 1] - 1
    if x_s <= 0.0:
        return tasks.scale[i] * (segments[j, 1] + segments[j, 2])
    while j < last and x_s > segments[j + 1, 0]:
        j += 1
    return tasks.scale[i] * segment_value(segments, j, x_s)


@inlined
def counted_part_s(window, start_s, end_s):
    """How much of a run lies in the window."""
    return max(min(end_s, window.end_s) - max(start_s, window.start_s), 0.0)


@inlined
def payment(options, prices, window, option, start_s):
    """What a run of an option from an instant on pays for its machine and its energy."""
    exec_s = options.exec_s[option]
    end_s = start_s + exec_s
    k = options.machine_type[option]
    machine = paid_until(prices, k, end_s) - paid_until(prices, k, start_s)
    power_w = options.energy_j[option] / exec_s
    return machine + prices.per_j * power_w * counted_part_s(window, start_s, end_s)


@inlined
def keep_better(answer, options, prices, window, i, option, start_s, utility):
    """Keep the run if it gains more than the best one so far."""
    gain = utility - payment(options, prices, window, option, start_s)
    if gain > answer.gain[i]:
        answer.gain[i], answer.option[i], answer.start_s[i] = gain, option, start_s


@inlined
def try_start(answer, tasks, utilities, options, prices, window, i, option, start_s, first_s, last_s):
    """Try a start if it is allowed."""
    if first_s <= start_s <= last_s:
        utility = utility_up_to(tasks, utilities, i, start_s + options.exec_s[option])
        keep_better(answer, options, prices, window, i, option, start_s, utility)


@inlined
def try_jumps(answer, tasks, utilities, options, prices, window, i, option, first_s, last_s):
    """Try to complete just before each jump, with the utility before it whatever rounding makes of the instant."""
    segments, shape = utilities.segments, tasks.shape[i]
    hold_ends_s = tasks.arrival_s[i] + tasks.hold_s[i] - options.exec_s[option]
    slack_s = ROUNDING * max(window.end_s, 1.0)
    for j in range(utilities.first[shape], utilities.first[shape + 1]):
        start_s = hold_ends_s + segments[j, 0]
        if start_s < first_s - slack_s or start_s > last_s + slack_s:
            continue
        if j == utilities.first[shape]:
            value = segments[j, 1] + segments[j, 2]
        else:
            value = segment_value(segments, j - 1, segments[j, 0])
        start_s = min(max(start_s, first_s), last_s)
        keep_better(answer, options, prices, window, i, option, start_s, tasks.scale[i] * value)


@inlined
def try_option(answer, tasks, utilities, options, prices, window, i, option):
    """The best start of an option: between jumps, price changes and the window's ends the gain is convex."""
    exec_s = options.exec_s[option]
    first_s = max(tasks.arrival_s[i], window.start_s - exec_s)
    last_s = window.end_s - exec_s
    if first_s > last_s + ROUNDING * max(window.end_s, 1.0):
        return
    last_s = max(first_s, last_s)
    j = int(first_s / prices.slot_s)
    most = utility_up_to(tasks, utilities, i, first_s + exec_s * (1.0 - ROUNDING))
    if most - prices.cheapest[option, j] <= answer.gain[i]:
        return
    for start_s in (first_s, window.start_s, last_s):
        try_start(answer, tasks, utilities, options, prices, window, i, option, start_s, first_s, last_s)
    try_jumps(answer, tasks, utilities, options, prices, window, i, option, first_s, last_s)
    while j < prices.per_s.shape[1]:
        edge_s = j * prices.slot_s
        if edge_s > first_s:
            still = utility_up_to(tasks, utilities, i, edge_s + exec_s * (1.0 - ROUNDING))
            if still - prices.cheapest[option, j] <= answer.gain[i]:
                return
        at_s = int((edge_s + exec_s) / prices.slot_s + 1.0) * prices.slot_s - exec_s
        try_start(answer, tasks, utilities, options, prices, window, i, option, edge_s, first_s, last_s)
        try_start(answer, tasks, utilities, options, prices, window, i, option, at_s, first_s, last_s)
        j += 1


@inlined
def ask(answer, tasks, options, prices, window, i):
    """Add the chosen run of task i to what is asked for."""
    option = answer.option[i]
    k, start_s = options.machine_type[option], answer.start_s[i]
    end_s = start_s + options.exec_s[option]
    last = prices.per_s.shape[1] - 1
    for j in range(int(start_s / prices.slot_s), min(int(end_s / prices.slot_s), last) + 1):
        inside = min(end_s, (j + 1) * prices.slot_s) - max(start_s, j * prices.slot_s)
        answer.busy_s[k, j] += max(inside, 0.0)
    power_w = options.energy_j[option] / options.exec_s[option]
    answer.energy_j[0] += power_w * counted_part_s(window, start_s, end_s)


@kernel
def answer_prices(answer, tasks, utilities, options, prices, window, first, stride):
    """Let tasks first, first + stride, ... choose; returns the sum of their gains.

    What `answer` holds from earlier prices is where the search begins: it prunes, and never decides.
    """
    total = 0.0
    for i in range(first, tasks.arrival_s.size, stride):
        before, before_s = answer.option[i], answer.start_s[i]
        answer.gain[i], answer.option[i] = 0.0, -1
        if before >= 0:
            utility = utility_up_to(tasks, utilities, i, before_s + options.exec_s[before])
            keep_better(answer, options, prices, window, i, before, before_s, utility)
        t = tasks.task_type[i]
        for option in range(options.first[t], options.first[t + 1]):
            try_option(answer, tasks, utilities, options, prices, window, i, option)
        if answer.option[i] >= 0:
            total += answer.gain[i]
            ask(answer, tasks, options, prices, window, i)
    return total
