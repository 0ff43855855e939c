"""The answer of every task of an assignment to prices of machine time and energy: its best run, however late."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import segment_value
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import Options, Tasks, Utilities
from joulewise.kernels.records import record

BLOCK = 16
"""This many starts of an option are passed over at once where none of them can be the best."""

ROUNDING = 1e-12
"""Relative to the latest instant: a start this little before an arrival counts as one at the arrival."""


@record
class Quote(NamedTuple):
    """Prices per machine-second by [machine type, slot], 0 in the last slot, which has no end; what runs pay.

    `paid[k, j]` is the integral of the prices up to the start of slot j. The starts of an option that may be best are
    two in each slot but the last: its first instant, and the one that lets the run complete with a slot. What a run of
    `option` from start q = 2 j or 2 j + 1 pays, energy included, is `pays[option, q]`; `least[option, b]` is the
    least of block b of them, `energy[option]` that for energy alone.
    """

    slot_s: float
    per_s: NDArray[np.float64]
    paid: NDArray[np.float64]
    energy: NDArray[np.float64]
    pays: NDArray[np.float64]
    least: NDArray[np.float64]


@record
class Bidders(NamedTuple):
    """The tasks and their options; what a task gains that does not run: 0, or minus infinity where all must run.

    `before[segment]` is the value with which the segment before ends, or with which the first begins. A task that
    would complete after its `latest_s` is dropped.
    """

    tasks: Tasks
    utilities: Utilities
    options: Options
    before: NDArray[np.float64]
    latest_s: NDArray[np.float64]
    idle_gain: float


@record
class Bids(NamedTuple):
    """What tasks choose: gain, option (-1: not to run) and start; the machine-seconds asked for by [type, slot]."""

    gain: NDArray[np.float64]
    option: NDArray[np.int64]
    start_s: NDArray[np.float64]
    busy_s: NDArray[np.float64]


@inlined
def paid_until(quote, k, at_s):
    """What a run of machine type k that never stops pays for machine time from instant 0 on."""
    j = min(int(at_s / quote.slot_s), quote.per_s.shape[1] - 1)
    return quote.paid[k, j] + (at_s - j * quote.slot_s) * quote.per_s[k, j]


@inlined
def into_slot_s(quote, exec_s):
    """How long after the start of a slot a run starts that completes with a slot."""
    return (int(exec_s / quote.slot_s) + 1) * quote.slot_s - exec_s


@kernel
def quote_runs(quote, options):
    """Fill `pays` and `least` from the prices."""
    last, slot_s = quote.per_s.shape[1] - 1, quote.slot_s
    for option in range(options.exec_s.size):
        k, energy, pays = options.machine_type[option], quote.energy[option], quote.pays[option]
        ahead, into_s = int(options.exec_s[option] / slot_s), into_slot_s(quote, options.exec_s[option])
        for j in range(last):
            end = min(j + ahead, last)
            pays[2 * j] = energy + quote.paid[k, end] + (slot_s - into_s) * quote.per_s[k, end] - quote.paid[k, j]
            end = min(j + ahead + 1, last)
            pays[2 * j + 1] = energy + quote.paid[k, end] - quote.paid[k, j] - into_s * quote.per_s[k, j]
        pays[2 * last] = energy
        for block in range(quote.least.shape[1]):
            least = np.inf
            for q in range(block * BLOCK, min((block + 1) * BLOCK, 2 * last + 1)):
                least = min(least, pays[q])
            quote.least[option, block] = least


@inlined
def utility_up_to(bidders, i, completion_s):
    """The utility of completing just before an instant: at a jump the higher value."""
    tasks, utilities = bidders.tasks, bidders.utilities
    segments, shape = utilities.segments, tasks.shape[i]
    x_s = completion_s - tasks.arrival_s[i] - tasks.hold_s[i]
    j, last = utilities.first[shape], utilities.first[shape + 1] - 1
    if x_s <= 0.0:
        return tasks.scale[i] * bidders.before[j]
    while j < last and x_s > segments[j + 1, 0]:
        j += 1
    return tasks.scale[i] * segment_value(segments, j, x_s)


@inlined
def keep_better(bids, i, option, start_s, gain):
    """Keep a run if it gains more than the best one so far."""
    if gain > bids.gain[i]:
        bids.gain[i], bids.option[i], bids.start_s[i] = gain, option, start_s


@inlined
def try_start(bids, bidders, quote, i, option, start_s, utility):
    """Try a run from any instant, at a given utility."""
    k, end_s = bidders.options.machine_type[option], start_s + bidders.options.exec_s[option]
    paid = quote.energy[option] + (paid_until(quote, k, end_s) - paid_until(quote, k, start_s))
    keep_better(bids, i, option, start_s, utility - paid)


@inlined
def try_end(bids, bidders, quote, i, option, end_s, utility):
    """Try to complete at an instant, at a given utility, if the task arrives in time up to rounding."""
    start_s, arrival_s = end_s - bidders.options.exec_s[option], bidders.tasks.arrival_s[i]
    if start_s >= arrival_s - ROUNDING * end_s:
        try_start(bids, bidders, quote, i, option, max(start_s, arrival_s), utility)


@inlined
def try_jumps(bids, bidders, quote, i, option):
    """Try to complete just before each jump, with the utility before it whatever rounding makes of the instant.

    The latest completion that is not dropped is one too.
    """
    tasks, utilities, latest_s = bidders.tasks, bidders.utilities, bidders.latest_s[i]
    hold_ends_s, shape = tasks.arrival_s[i] + tasks.hold_s[i], tasks.shape[i]
    for j in range(utilities.first[shape], utilities.first[shape + 1]):
        utility, end_s = tasks.scale[i] * bidders.before[j], hold_ends_s + utilities.segments[j, 0]
        if utility - quote.energy[option] <= bids.gain[i] or end_s > latest_s:
            break
        try_end(bids, bidders, quote, i, option, end_s, utility)
    if latest_s < np.inf:
        try_end(bids, bidders, quote, i, option, latest_s, utility_up_to(bidders, i, latest_s))


@inlined
def try_slots(bids, bidders, quote, i, option, utility):
    """Try the starts at which prices change, block by block; `utility` is that of the soonest completion."""
    exec_s, slot_s, n_starts = bidders.options.exec_s[option], quote.slot_s, quote.pays.shape[1]
    into_s = into_slot_s(quote, exec_s)
    q = 2 * (int(bidders.tasks.arrival_s[i] / slot_s) + 1)
    if (q // 2 - 1) * slot_s + into_s >= bidders.tasks.arrival_s[i]:
        q -= 1
    while q < n_starts:
        block = q // BLOCK
        end = min((block + 1) * BLOCK, n_starts)
        if utility - quote.least[option, block] > bids.gain[i]:
            utility = utility_up_to(bidders, i, (q // 2) * slot_s + (q % 2) * into_s + exec_s)
            if utility - quote.energy[option] <= bids.gain[i]:
                return
            while q < end:
                if utility - quote.pays[option, q] > bids.gain[i]:
                    start_s = (q // 2) * slot_s + (q % 2) * into_s
                    if start_s + exec_s > bidders.latest_s[i]:
                        return
                    utility = utility_up_to(bidders, i, start_s + exec_s)
                    keep_better(bids, i, option, start_s, utility - quote.pays[option, q])
                q += 1
        q = end


@inlined
def ask(bids, bidders, quote, i):
    """Add the chosen run of task i to the machine-seconds asked for."""
    k, start_s = bidders.options.machine_type[bids.option[i]], bids.start_s[i]
    end_s, slot_s = start_s + bidders.options.exec_s[bids.option[i]], quote.slot_s
    last = quote.per_s.shape[1] - 1
    for j in range(min(int(start_s / slot_s), last), min(int(end_s / slot_s), last) + 1):
        until_s = end_s if j == last else min(end_s, (j + 1) * slot_s)
        bids.busy_s[k, j] += max(until_s - max(start_s, j * slot_s), 0.0)


@kernel
def answer_quote(bids, bidders, quote):
    """Let all tasks choose; returns the sums of their gains and of the sizes of these.

    What `bids` holds from earlier prices is where the search begins: it prunes, and never decides.
    """
    tasks, options = bidders.tasks, bidders.options
    total, size = 0.0, 0.0
    for i in range(tasks.arrival_s.size):
        before = bids.option[i]
        bids.gain[i], bids.option[i] = bidders.idle_gain, -1
        if before >= 0:
            start_s = bids.start_s[i]
            utility = utility_up_to(bidders, i, start_s + options.exec_s[before])
            try_start(bids, bidders, quote, i, before, start_s, utility)
        kind, arrival_s, utility = tasks.task_type[i], tasks.arrival_s[i], np.inf
        for option in range(options.first[kind], options.first[kind + 1]):
            if utility - quote.energy[option] <= bids.gain[i]:
                continue
            utility = utility_up_to(bidders, i, arrival_s + options.exec_s[option])
            if utility - quote.energy[option] <= bids.gain[i]:
                continue
            if arrival_s + options.exec_s[option] > bidders.latest_s[i]:
                break
            try_start(bids, bidders, quote, i, option, arrival_s, utility)
            try_jumps(bids, bidders, quote, i, option)
            try_slots(bids, bidders, quote, i, option, utility)
        if bids.option[i] >= 0:
            total += bids.gain[i]
            size += abs(bids.gain[i])
            ask(bids, bidders, quote, i)
    return total, size
