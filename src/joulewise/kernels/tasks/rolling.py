"""Linear programs that a manager solves again at every event, for the bag of tasks as it is then.

*Makespan*: what waits is split over machine types so that all of it would be done first, within the power that is
left of the budget. *Worth*: the bag of the last hours is spread over the machine time of these hours, or left out, so
that it is worth most; what a second of a machine and a joule are worth to it are the prices of the event.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import most_from
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import Options
from joulewise.kernels.ledger import AT_FIRST, NOW
from joulewise.kernels.records import record
from joulewise.kernels.tasks.live_prices import idle_share, to_come_j
from joulewise.kernels.tasks.program import LEFT, Program, new_program, solve_program

NO_PROGRAM, MAKESPAN, WORTH = 0, 1, 2
LEVELS = 4
MEMORY_S = 10_800.0
USED = 0.97
TIE = 1e-3


@record
class Rolling(NamedTuple):
    """State: the program, and what its numbers are counted in (`unit_s`, `unit_j`: a mean run's time and energy).

    Of a split: `quota` is by option how many tasks may still go there, and `path` has those of each event with work,
    as far as it has room. Of the bag of the last hours: the counts of the program and `worth`, a sum by column, fade
    with time; `span_s[0]` is how much time they stand for, `top[0]` the highest scale seen so far, and `idle`
    the share of each type's machines that the last event left without work.
    """

    program: Program
    unit_s: float
    unit_j: float
    quota: NDArray[np.int64]
    path: NDArray[np.int64]
    worth: NDArray[np.float64]
    span_s: NDArray[np.float64]
    idle: NDArray[np.float64]
    top: NDArray[np.float64]


def new_rolling(
    kind: int, options: Options, cost_j: NDArray[np.float64], n_machine_types: int, n_recorded: int = 0
) -> Rolling:
    """What a program of a kind needs: a group for each task type, or for each of its levels of worth.

    `cost_j` is what an option takes of the budget, 0 where there is none.
    """
    levels = {NO_PROGRAM: 0, MAKESPAN: 1, WORTH: LEVELS}[kind]
    sizes = np.repeat(np.diff(options.first), levels)
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    types = range(options.first.size - 1)
    option = np.array([o for t in types for _ in range(levels) for o in range(*options.first[t : t + 2])], np.int64)
    unit_s, unit_j = float(options.exec_s.mean()), float(np.abs(cost_j).mean()) or 1.0
    row = options.machine_type[option].astype(np.int64)
    program = new_program(first, row, options.exec_s[option] / unit_s, cost_j[option] / unit_j, n_machine_types + 1)
    n_recorded = n_recorded if kind == MAKESPAN else 0
    return Rolling(
        program, unit_s, unit_j, np.zeros(options.exec_s.size, np.int64),
        np.zeros((n_recorded, options.exec_s.size), np.int64), np.zeros(option.size), np.zeros(1),
        np.zeros(n_machine_types), np.zeros(1),
    )  # fmt: skip


# The split of what waits


@shared
def open_split(rolling, batch, limits, ledger, machines, effect_s):
    """Set up the program: rows grow with time, from what machines that take tasks have to do already."""
    program, energy = rolling.program, rolling.program.limit.size - 1
    program.stretch_cost[0] = float(machines.ready_s.size)
    for k in range(energy):
        program.limit[k] = program.slope[k] = 0.0
        for m in range(machines.first[k], machines.first[k + 1]):
            if machines.is_there[m]:
                program.limit[k] -= (machines.base_s[m] - effect_s) / rolling.unit_s
                program.slope[k] += 1.0
    program.slope[energy] = 1.0
    if limits.has_budget:
        power_w = max(ledger.left_j[NOW], 0.0) / (ledger.day_end_s[0] - effect_s)
        program.slope[energy] = power_w * rolling.unit_s / rolling.unit_j
    for o in range(program.row.size):
        is_allowed = not limits.has_budget or (ledger.passes[o] and limits.cost_j[o] <= ledger.left_j[NOW])
        program.is_usable[o] = is_allowed and program.slope[program.row[o]] > 0.0
        program.cost[o] = TIE * program.take_s[o]
    for t in range(program.n.size):
        set_key(program, t, batch.n_unfixed[t])


@inlined
def set_key(program, t, n):
    """Start a task type from its last key, or else from its fastest option; none if it has none that is usable."""
    if program.basis.key[t] == LEFT or not program.is_usable[program.basis.key[t]]:
        program.basis.key[t] = LEFT
        for o in range(program.first[t + 1] - 1, program.first[t] - 1, -1):
            if program.is_usable[o]:
                program.basis.key[t] = o
    program.n[t] = n if program.basis.key[t] != LEFT else 0


@shared
def close_split(rolling, ledger, event):
    """Round the split to whole tasks: the nearest number by each option, and by the key what is left."""
    program, quota = rolling.program, rolling.quota
    quota[:] = 0
    for t in range(program.n.size):
        left = int(program.n[t])
        for r in range(program.limit.size):
            if program.basis.group[r] == t:
                quota[program.basis.column[r]] = min(int(max(program.basis.amount[r], 0.0) + 0.5), left)
                left -= quota[program.basis.column[r]]
        if program.basis.key[t] != LEFT:
            quota[program.basis.key[t]] += left
    for o in range(quota.size):
        ledger.passes[o] = quota[o] > 0
        if 0 < event <= rolling.path.shape[0]:
            rolling.path[event - 1, o] = quota[o]


@shared
def split_batch(rolling, batch, limits, ledger, machines, effect_s, event):
    """Let tasks go by options only as often as the split of least makespan says."""
    open_split(rolling, batch, limits, ledger, machines, effect_s)
    solve_program(rolling.program, False)
    close_split(rolling, ledger, event)


@shared
def count_quotas(rolling, batch):
    """Count what is left by machine type as the quotas say, and not by which task types reach it."""
    batch.reaches[:] = False
    batch.n_left[:] = 0
    for o in range(rolling.quota.size):
        batch.n_left[rolling.program.row[o]] += rolling.quota[o]


@inlined
def use_quota(rolling, batch, ledger, option):
    """Note that one more task goes by an option."""
    rolling.quota[option] -= 1
    batch.n_left[rolling.program.row[option]] -= 1
    ledger.passes[option] = rolling.quota[option] > 0


# The prices of the last hours


@shared
def remember(rolling, tasks, utilities, options, i, now_s):
    """Add a task that arrived to the bag, with what each option would earn at most if it started now or later."""
    program, t = rolling.program, tasks.task_type[i]
    level = LEVELS - 1
    rolling.top[0] = max(rolling.top[0], tasks.scale[i])
    if tasks.scale[i] > 0.0:
        level = int(min(math.log2(rolling.top[0] / tasks.scale[i]), LEVELS - 1.0))
    group = t * LEVELS + level
    program.n[group] += 1.0
    for place in range(options.first[t + 1] - options.first[t]):
        completion_s = now_s + options.exec_s[options.first[t] + place]
        rolling.worth[program.first[group] + place] += most_from(tasks, utilities, i, completion_s)


@shared
def fade(rolling, passed_s):
    """Let the bag fade with the time that has passed since the last event."""
    kept = math.exp(-passed_s / MEMORY_S)
    rolling.span_s[0] = kept * rolling.span_s[0] + (1.0 - kept) * MEMORY_S
    for g in range(rolling.program.n.size):
        rolling.program.n[g] *= kept
    for c in range(rolling.worth.size):
        rolling.worth[c] *= kept


@inlined
def open_worth(rolling, limits, ledger, machines, effect_s):
    """Set up the program: the machine time and energy of such a span; more would cost all there is to earn."""
    program, energy = rolling.program, rolling.program.limit.size - 1
    n_units = rolling.span_s[0] / rolling.unit_s
    for k in range(energy):
        program.limit[k] = USED * (machines.first[k + 1] - machines.first[k]) * n_units
    program.limit[energy] = 1.0
    if limits.has_budget:
        left_j = ledger.left_j[AT_FIRST] + to_come_j(machines, effect_s, ledger.day_end_s[0])
        power_w = left_j / (ledger.day_end_s[0] - effect_s)
        program.limit[energy] = power_w * rolling.span_s[0] / rolling.unit_j
    program.stretch_cost[0] = 0.0
    for r in range(program.limit.size):
        program.slope[r] = program.limit[r]
    for g in range(program.n.size):
        most = 0.0
        for c in range(program.first[g], program.first[g + 1]):
            most = max(most, rolling.worth[c])
            program.cost[c] = -rolling.worth[c] / program.n[g] if program.n[g] > 0.0 else 0.0
        program.stretch_cost[0] += most


@shared
def price_bag(rolling, prices, limits, ledger, machines, effect_s):
    """Set prices to what machine time and energy are worth to the bag of the last hours.

    The time of a machine type becomes cheaper by the share of its machines that is idle beyond what the program leaves.
    """
    program, energy = rolling.program, rolling.program.limit.size - 1
    open_worth(rolling, limits, ledger, machines, effect_s)
    if program.limit[energy] <= 0.0:
        return
    solve_program(program, True)
    for k in range(energy):
        part = 1.0 - max(rolling.idle[k] - (1.0 - USED), 0.0)
        prices.per_s[k] = part * max(-program.price[k], 0.0) / rolling.unit_s
    prices.per_j[0] = max(-program.price[energy], 0.0) / rolling.unit_j


@inlined
def note_idle(rolling, machines, effect_s):
    """Note the share of each type's machines that an event leaves without work."""
    for k in range(rolling.idle.size):
        rolling.idle[k] = idle_share(machines, k, effect_s)
