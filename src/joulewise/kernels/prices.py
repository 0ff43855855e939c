"""The answer of every task to machine and energy prices: its best run, and what all runs together ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import risen_part, segment_value
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import Options, Tasks, Utilities
from joulewise.kernels.records import record

ROUNDING = 1e-12
"""Relative to the window's end: instants closer than this count as one, always in favour of the task."""

CELLS = 64
"""Where a run's counted part ends in the window but begins before it, utility counts as at the start of its 64th."""


@record
class SlotPrices(NamedTuple):
    """Prices per machine-second by [machine type, slot] and per joule by energy period, and their integrals.

    `paid[k, j]` is the integral up to the start of slot j, `paid_j[d]` that up to the start of period d.
    `cheapest[level, j, option]` bounds from below what a run of that option pays, for each share of it that
    counts, when it starts at or after the start of slot j and is stretched by no less than the level's factor.
    """

    slot_s: float
    per_s: NDArray[np.float64]
    paid: NDArray[np.float64]
    per_j: NDArray[np.float64]
    paid_j: NDArray[np.float64]
    cheapest: NDArray[np.float64]


@record
class CountedWindow(NamedTuple):
    """What counts: completions in (start_s, end_s], or the share of a run in there when `is_prorated`.

    Energy is paid for inside the window only. Its periods are `period_s` long, the last one ends with the window.
    """

    start_s: float
    end_s: float
    period_s: float
    is_prorated: bool


@record
class RunCosts(NamedTuple):
    """By option how many machines a run takes and what watts it adds to standby; by task how far it stretches.

    The level of a task is that of its stretching.
    """

    nodes: NDArray[np.float64]
    cost_w: NDArray[np.float64]
    stretch: NDArray[np.float64]
    level: NDArray[np.int64]
    level_stretch: NDArray[np.float64]


@record
class TaskMarket(NamedTuple):
    """Everything but prices that decides which run is best; `later` is what tasks may earn after the window."""

    tasks: Tasks
    utilities: Utilities
    options: Options
    runs: RunCosts
    window: CountedWindow
    later: NDArray[np.float64]


@record
class Answer(NamedTuple):
    """What tasks choose: gain, option (-1: none in the window) and start, by task; what they ask for in all."""

    gain: NDArray[np.float64]
    option: NDArray[np.int64]
    start_s: NDArray[np.float64]
    busy_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]


class Stay(NamedTuple):
    """One choice of one task, and the starts allowed to it."""

    i: int
    option: int
    machine_type: int
    exec_s: float
    nodes: float
    cost_w: float
    first_s: float
    last_s: float


@inlined
def paid_until(prices, window, k, nodes, cost_w, at_s):
    """What a run on machines of type k that never stops pays from instant 0 on; nothing is paid after the window."""
    at_s = min(at_s, window.end_s)
    j = min(max(int(at_s / prices.slot_s), 0), prices.per_s.shape[1] - 1)
    paid = nodes * (prices.paid[k, j] + (at_s - j * prices.slot_s) * prices.per_s[k, j])
    inside_s = at_s - window.start_s
    if inside_s > 0.0:
        d = min(int(inside_s / window.period_s), prices.per_j.size - 1)
        paid += cost_w * (prices.paid_j[d] + (inside_s - d * window.period_s) * prices.per_j[d])
    return paid


@inlined
def run_pays(prices, window, k, nodes, cost_w, from_s, to_s):
    """What a run on machines of type k pays between two instants."""
    paid = paid_until(prices, window, k, nodes, cost_w, to_s)
    return paid - paid_until(prices, window, k, nodes, cost_w, from_s)


@inlined
def period_edge_s(prices, window, d):
    """The start of period d; the last edge is the window's end."""
    return window.end_s if d >= prices.per_j.size else window.start_s + d * window.period_s


@inlined
def next_end_s(prices, j, exec_s):
    """The start in slot j from which a run ends on an edge of a slot; there is one in each slot."""
    return int((j * prices.slot_s + exec_s) / prices.slot_s + 1.0) * prices.slot_s - exec_s


@inlined
def least_payment(prices, window, k, nodes, cost_w, exec_s, start_s):
    """What a run pays for each share of it that counts: no less than all of it at the mean price of its counted part.

    Where a run counts in full or not at all, what it pays from the last start on that lets it count.
    """
    if not window.is_prorated:
        start_s = min(start_s, window.end_s - exec_s)
        return run_pays(prices, window, k, nodes, cost_w, start_s, start_s + exec_s)
    shortest_s = 1e-6 * min(prices.slot_s, exec_s)
    from_s, to_s = max(start_s, window.start_s), min(start_s + exec_s, window.end_s)
    if to_s - from_s < shortest_s:  # the price at that end of the window
        from_s = min(from_s, window.end_s - shortest_s)
        to_s = from_s + shortest_s
    paid = run_pays(prices, window, k, nodes, cost_w, from_s, to_s)
    return paid * (exec_s / (to_s - from_s)) * (1.0 - 1e-9)


@kernel
def find_cheapest(prices, market):
    """Fill `cheapest`: between edges of slots and periods at either end of a run, what it pays has no minimum.

    A run that starts sooner than one of the level's length could, to complete in the window, pays no less than that
    one, which completes with it: what holds from the first slot of those on holds from the slots before it on.
    """
    options, runs, window = market.options, market.runs, market.window
    n_slots, n_periods = prices.per_s.shape[1], prices.per_j.size
    for level in range(runs.level_stretch.size):
        for option in range(options.exec_s.size):
            k, nodes, cost_w = options.machine_type[option], runs.nodes[option], runs.cost_w[option]
            exec_s = runs.level_stretch[level] * options.exec_s[option]
            at_edge = least_payment(prices, window, k, nodes, cost_w, exec_s, n_slots * prices.slot_s)
            first = min(max(int((window.start_s - exec_s) / prices.slot_s), 0), n_slots - 1)
            for j in range(n_slots - 1, first - 1, -1):
                inside = least_payment(prices, window, k, nodes, cost_w, exec_s, next_end_s(prices, j, exec_s))
                before = least_payment(prices, window, k, nodes, cost_w, exec_s, j * prices.slot_s)
                prices.cheapest[level, j, option] = min(min(at_edge, inside), before)
                at_edge = before
            for d in range(n_periods + 1):
                edge_s = period_edge_s(prices, window, d)
                for start_s in (edge_s, edge_s - exec_s):
                    j = min(max(int(start_s / prices.slot_s), first), n_slots - 1)
                    pays = least_payment(prices, window, k, nodes, cost_w, exec_s, start_s)
                    prices.cheapest[level, j, option] = min(prices.cheapest[level, j, option], pays)
            for j in range(n_slots - 2, first - 1, -1):
                later = prices.cheapest[level, j + 1, option]
                prices.cheapest[level, j, option] = min(prices.cheapest[level, j, option], later)
            prices.cheapest[level, :first, option] = prices.cheapest[level, first, option]


@inlined
def most_up_to(market, i, completion_s):
    """The most of completing just before an instant or later: at a jump the higher value, so that it bounds both."""
    tasks, utilities = market.tasks, market.utilities
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
def utility_up_to(market, i, completion_s):
    """The utility of completing just before an instant: at a jump the higher value, so that it is an upper bound."""
    return most_up_to(market, i, completion_s) * risen_part(market.tasks, i, completion_s)


@inlined
def slack_of(window):
    """Seconds by which rounding may move an instant."""
    return ROUNDING * max(window.end_s, 1.0)


@inlined
def counted_share(window, start_s, exec_s):
    """How much of a run counts: its share in the window where that decides, else all of it."""
    if not window.is_prorated:
        return 1.0
    return max(min(start_s + exec_s, window.end_s) - max(start_s, window.start_s), 0.0) / exec_s


@inlined
def keep_better(answer, market, prices, run, start_s, utility):
    """Keep the run from this start if it gains more than the best one so far."""
    k, window = run.machine_type, market.window
    paid = run_pays(prices, window, k, run.nodes, run.cost_w, start_s, start_s + run.exec_s)
    gain = utility * counted_share(window, start_s, run.exec_s) - paid
    if gain > answer.gain[run.i]:
        answer.gain[run.i], answer.option[run.i], answer.start_s[run.i] = gain, run.option, start_s


@inlined
def try_start(answer, market, prices, run, start_s):
    """Try a start if it is allowed."""
    if run.first_s <= start_s <= run.last_s:
        keep_better(answer, market, prices, run, start_s, utility_up_to(market, run.i, start_s + run.exec_s))


@shared
def try_jump(answer, market, prices, run, completion_s, value):
    """Try to complete at an instant, if that is allowed up to rounding, for this much of the scale."""
    start_s, slack_s = completion_s - run.exec_s, slack_of(market.window)
    if run.first_s - slack_s <= start_s <= run.last_s + slack_s:
        start_s = min(max(start_s, run.first_s), run.last_s)
        keep_better(answer, market, prices, run, start_s, market.tasks.scale[run.i] * value)


@inlined
def try_jumps(answer, market, prices, run):
    """Try to complete just before each jump, with the utility before it whatever rounding makes of the instant."""
    tasks, utilities, i = market.tasks, market.utilities, run.i
    segments, first, last = utilities.segments, utilities.first[tasks.shape[i]], utilities.first[tasks.shape[i] + 1]
    hold_ends_s, at_first = tasks.arrival_s[i] + tasks.hold_s[i], segments[first, 1] + segments[first, 2]
    try_jump(answer, market, prices, run, hold_ends_s, at_first)
    if tasks.rise_s[i] > 0.0:
        try_jump(answer, market, prices, run, tasks.arrival_s[i] + tasks.rise_s[i], at_first)
    for j in range(first + 1, last):
        value = segment_value(segments, j - 1, segments[j, 0])
        try_jump(answer, market, prices, run, hold_ends_s + segments[j, 0], value)


@inlined
def try_periods(answer, market, prices, run):
    """Try to start and to complete at the edges of energy periods."""
    window = market.window
    d = max(int((run.first_s - window.start_s) / window.period_s), 0)
    while d <= prices.per_j.size:
        edge_s = period_edge_s(prices, window, d)
        if edge_s - run.exec_s > run.last_s or most_up_to(market, run.i, edge_s) <= answer.gain[run.i]:
            return
        try_start(answer, market, prices, run, edge_s)
        try_start(answer, market, prices, run, edge_s - run.exec_s)
        d += 1


@inlined
def try_slots(answer, market, prices, run, j):
    """Try to start and to complete at the edges of slots from slot j on, while a later run might gain more."""
    level, slack_s = market.runs.level[run.i], slack_of(market.window)
    while j < prices.per_s.shape[1]:
        edge_s = j * prices.slot_s
        if edge_s > run.first_s:
            still = most_up_to(market, run.i, edge_s + run.exec_s - slack_s)
            if still - prices.cheapest[level, j, run.option] <= answer.gain[run.i]:
                return
        try_start(answer, market, prices, run, edge_s)
        try_start(answer, market, prices, run, next_end_s(prices, j, run.exec_s))
        j += 1


@inlined
def try_in_cell(answer, market, prices, run, utility, from_s, to_s):
    """Try to complete in [from_s, to_s] at a given utility: at the ends and at the edges of slots and periods."""
    window, slot_s, exec_s = market.window, prices.slot_s, run.exec_s
    keep_better(answer, market, prices, run, from_s - exec_s, utility)
    keep_better(answer, market, prices, run, to_s - exec_s, utility)
    for offset_s in (0.0, exec_s):
        edge_s = int((from_s - offset_s) / slot_s + 1.0) * slot_s
        while edge_s + offset_s < to_s:
            keep_better(answer, market, prices, run, edge_s + offset_s - exec_s, utility)
            edge_s += slot_s
    for d in range(prices.per_j.size):
        edge_s = period_edge_s(prices, window, d)
        if edge_s >= to_s:
            return
        if edge_s > from_s:
            keep_better(answer, market, prices, run, edge_s - exec_s, utility)


@inlined
def try_cells(answer, market, prices, run, most, least):
    """Try runs that begin before the window and count by their share inside: a rising share times a falling utility.

    That product is not convex, so utility counts as at the start of each cell. `most` is the utility of the first
    run and `least` what each share of a run pays at least.
    """
    window, exec_s, i = market.window, run.exec_s, run.i
    first_s = max(run.first_s + exec_s, window.start_s)
    last_s = min(window.start_s + exec_s, window.end_s)
    if first_s >= last_s or most <= least:
        return
    share = max((first_s - window.start_s) / exec_s, answer.gain[i] / (most - least))  # below it nothing is gained
    slack_s = slack_of(window)
    for cell in range(int(share * CELLS * (1.0 - ROUNDING)), CELLS):
        from_s = max(first_s, window.start_s + cell * exec_s / CELLS)
        to_s = min(last_s, window.start_s + (cell + 1) * exec_s / CELLS)
        if from_s > to_s:
            continue
        utility = utility_up_to(market, i, from_s - slack_s)
        if utility - least <= answer.gain[i]:
            return
        try_in_cell(answer, market, prices, run, utility, from_s, to_s)


@inlined
def try_option(answer, market, prices, i, option, top):
    """Keep the best start of an option if it gains more than the best so far.

    Between jumps, the end of a rise, price changes and the window's ends the gain is convex. `top` bounds the utility
    from above; returned is a bound for every slower option.
    """
    options, runs, window, level = market.options, market.runs, market.window, market.runs.level[i]
    exec_s = runs.stretch[i] * options.exec_s[option]
    first_s = max(market.tasks.arrival_s[i], window.start_s - exec_s)
    last_s = window.end_s if window.is_prorated else window.end_s - exec_s
    j = min(int(first_s / prices.slot_s), prices.per_s.shape[1] - 1)
    least = prices.cheapest[level, j, option]
    if top - least <= answer.gain[i] or first_s > last_s + slack_of(window):
        return top
    most = most_up_to(market, i, first_s + exec_s - slack_of(window))
    if most - least <= answer.gain[i]:
        return most
    last_s = max(first_s, last_s)
    nodes, cost_w = runs.nodes[option], runs.cost_w[option]
    run = Stay(i, option, options.machine_type[option], exec_s, nodes, cost_w, first_s, last_s)
    try_start(answer, market, prices, run, first_s)
    try_jumps(answer, market, prices, run)
    try_periods(answer, market, prices, run)
    try_slots(answer, market, prices, run, j)
    if window.is_prorated and first_s < window.start_s:
        try_cells(answer, market, prices, run, most, least)
    return most


@inlined
def ask(answer, market, prices, i):
    """Add the chosen run of task i to what is asked for."""
    window, option = market.window, answer.option[i]
    k, cost_w = market.options.machine_type[option], market.runs.cost_w[option]
    start_s = answer.start_s[i]
    end_s = min(start_s + market.runs.stretch[i] * market.options.exec_s[option], window.end_s)
    last = prices.per_s.shape[1] - 1
    for j in range(min(int(start_s / prices.slot_s), last), min(int(end_s / prices.slot_s), last) + 1):
        inside_s = min(end_s, (j + 1) * prices.slot_s) - max(start_s, j * prices.slot_s)
        answer.busy_s[k, j] += market.runs.nodes[option] * max(inside_s, 0.0)
    d = max(int((start_s - window.start_s) / window.period_s), 0)
    while d < prices.per_j.size and period_edge_s(prices, window, d) < end_s:
        inside_s = min(end_s, period_edge_s(prices, window, d + 1)) - max(start_s, period_edge_s(prices, window, d))
        answer.energy_j[d] += cost_w * max(inside_s, 0.0)
        d += 1


@kernel
def answer_prices(answer, market, prices, first, stride):
    """Let tasks first, first + stride, ... choose; returns the sum of their gains.

    What `answer` holds from earlier prices is where the search begins: it prunes, and never decides.
    """
    tasks, options, runs = market.tasks, market.options, market.runs
    total = 0.0
    for i in range(first, tasks.arrival_s.size, stride):
        before, before_s = answer.option[i], answer.start_s[i]
        answer.gain[i], answer.option[i] = market.later[i], -1
        if before >= 0:
            exec_s = runs.stretch[i] * options.exec_s[before]
            k, nodes, cost_w = options.machine_type[before], runs.nodes[before], runs.cost_w[before]
            run = Stay(i, before, k, exec_s, nodes, cost_w, before_s, before_s)
            try_start(answer, market, prices, run, before_s)
        t = tasks.task_type[i]
        top = np.inf
        for option in range(options.first[t], options.first[t + 1]):
            top = try_option(answer, market, prices, i, option, top)
        total += answer.gain[i]
        if answer.option[i] >= 0:
            ask(answer, market, prices, i)
    return total
