"""The answer of every task to machine and energy prices: its best run, and what all runs together ask for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel


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
    dx_s = x_s - segments[j, 0]
    value = segments[j, 1]
    if segments[j, 2] != 0.0:
        value += segments[j, 2] * math.exp(-segments[j, 3] * dx_s)
    if segments[j, 4] != 0.0:
        value += segments[j, 4] * dx_s
    return tasks.scale[i] * value


@inlined
def counted_part_s(window, start_s, end_s):
    """How much of a run lies in the window."""
    return max(min(end_s, window.end_s) - max(start_s, window.start_s), 0.0)


@inlined
def gain_of(tasks, utilities, options, prices, window, i, option, start_s):
    """What task i gains by running an option from an instant on, after all prices."""
    exec_s = options.exec_s[option]
    end_s = start_s + exec_s
    k = options.machine_type[option]
    machine = paid_until(prices, k, end_s) - paid_until(prices, k, start_s)
    power_w = options.energy_j[option] / exec_s
    energy = prices.per_j * power_w * counted_part_s(window, start_s, end_s)
    return utility_up_to(tasks, utilities, i, end_s) - machine - energy


@inlined
def try_start(answer, tasks, utilities, options, prices, window, i, option, start_s, first_s, last_s):
    """Keep the start if it is allowed and gains more."""
    if start_s < first_s or start_s > last_s:
        return
    gain = gain_of(tasks, utilities, options, prices, window, i, option, start_s)
    if gain > answer.gain[i]:
        answer.gain[i], answer.option[i], answer.start_s[i] = gain, option, start_s


@inlined
def try_option(answer, tasks, utilities, options, prices, window, i, option):
    """The best start of an option: between jumps, price changes and the window's ends the gain is convex."""
    exec_s = options.exec_s[option]
    first_s = max(tasks.arrival_s[i], window.start_s - exec_s)
    last_s = window.end_s - exec_s
    if first_s > last_s:
        return
    j = int(first_s / prices.slot_s)
    most = utility_up_to(tasks, utilities, i, first_s + exec_s)
    if most - prices.cheapest[option, j] <= answer.gain[i]:
        return
    shape, jumps_at_s = tasks.shape[i], tasks.arrival_s[i] + tasks.hold_s[i] - exec_s
    try_start(answer, tasks, utilities, options, prices, window, i, option, first_s, first_s, last_s)
    try_start(answer, tasks, utilities, options, prices, window, i, option, window.start_s, first_s, last_s)
    try_start(answer, tasks, utilities, options, prices, window, i, option, last_s, first_s, last_s)
    for segment in range(utilities.first[shape], utilities.first[shape + 1]):
        at_s = jumps_at_s + utilities.segments[segment, 0]
        try_start(answer, tasks, utilities, options, prices, window, i, option, at_s, first_s, last_s)
    n_slots = prices.per_s.shape[1]
    while j < n_slots:
        edge_s = j * prices.slot_s
        if edge_s > first_s:
            still = utility_up_to(tasks, utilities, i, edge_s + exec_s) - prices.cheapest[option, j]
            if still <= answer.gain[i]:
                return
        try_start(answer, tasks, utilities, options, prices, window, i, option, edge_s, first_s, last_s)
        at_s = int((edge_s + exec_s) / prices.slot_s + 1.0) * prices.slot_s - exec_s
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
            gain = gain_of(tasks, utilities, options, prices, window, i, before, before_s)
            if gain > 0.0:
                answer.gain[i], answer.option[i] = gain, before
        t = tasks.task_type[i]
        for option in range(options.first[t], options.first[t + 1]):
            try_option(answer, tasks, utilities, options, prices, window, i, option)
        if answer.option[i] >= 0:
            total += answer.gain[i]
            ask(answer, tasks, options, prices, window, i)
    return total
