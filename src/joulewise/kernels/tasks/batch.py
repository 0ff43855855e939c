"""What the managed engine maps: rules, the batch, its clock; how time goes on and tasks come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.energy import (
    NOW,
    use,
    use_at,
)
from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.heap import Heap, empty_heap, pop, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import DROPPED, RAN
from joulewise.kernels.records import record
from joulewise.kernels.tasks.machines import NOBODY, forget_lost, next_outage, note_run
from joulewise.kernels.tasks.rolling import (
    WORTH,
    remember,
)

KILLED = 3
GREEDY, IN_ORDER, AT_RANDOM = 0, 1, 2
OPEN, AS_ASKED, AS_LISTED = 0, 1, 2
SLACK = 1e-12


@record
class Rules(NamedTuple):
    """How the manager works, in numbers; `scale` multiplies the objective, `n_arrivals` is 0 for a clock alone."""

    rule: int
    interval_s: float
    n_arrivals: int
    mapping_s: float
    mapping_per_task_s: float
    mapping_per_square_s: float
    is_measured: bool
    is_polled: bool
    n_permuted: int
    declines: bool
    is_priced: bool
    program: int
    follows_tariff: bool
    scale: float
    kill_factor: float
    is_certain: bool
    drops_eagerly: bool
    drops_by_idle: bool
    postpones: bool
    random_seed: np.uint64


@record
class Batch(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    `choice` is the option of a task looked at or planned, `after` the next in its machine's queue. `put_off` holds
    those without an allowed choice in this event, `returning` those lost by a machine or postponed to the next day,
    mappable again at `returns_s`.
    `n_unfixed` counts by task type those that are not fixed yet; `reaches` says of a task type and machine type whether
    any option there could be allowed in this event, and `is_live` whether there is one anywhere; a type
    `has_sunk` whose tasks are at the bottom of the heap until it is live again; `n_left` counts by machine type the
    unplanned tasks that reach it.
    `charge` is what an option costs in the objective, `energy_charge` the part of it that follows the tariff, and
    `rise` by task type how much cheaper an option became since the last event at most. `n_rises[0]` counts values
    that rose: the objective broke its promise then. `pairs` is room for options with machines.
    """

    waiting: Heap
    looked: Heap
    choice: NDArray[np.int64]
    after: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    returning: NDArray[np.int64]
    returns_s: NDArray[np.float64]
    n_returning: NDArray[np.int64]
    n_unfixed: NDArray[np.int64]
    is_live: NDArray[np.bool_]
    has_sunk: NDArray[np.bool_]
    reaches: NDArray[np.bool_]
    n_left: NDArray[np.int64]
    charge: NDArray[np.float64]
    energy_charge: NDArray[np.float64]
    rise: NDArray[np.float64]
    n_rises: NDArray[np.int64]
    permutation: NDArray[np.int64]
    pairs: NDArray[np.int64]


@record
class Clock(NamedTuple):
    """State: instants are [origin, effect of the last event, that event, given mapping time], counts are
    [regular event, tasks arrived, tasks unfixed, events with work, events in the counted window, late ones of them].
    """

    instants: NDArray[np.float64]
    counts: NDArray[np.int64]


ORIGIN, EFFECT, LAST, MAPPING = 0, 1, 2, 3
NO_EVENT_S = -1.0
REGULAR, ARRIVED, UNFIXED, WORKED, COUNTED, LATE = 0, 1, 2, 3, 4, 5


@record
class Losses(NamedTuple):
    """Runs cut short by failing machines: `size[0]` rows."""

    size: NDArray[np.int64]
    task: NDArray[np.int32]
    machine: NDArray[np.int32]
    pstate: NDArray[np.int8]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


def new_batch(
    n: int, n_machine_types: int, n_task_types: int, charge: NDArray[np.float64], n_permuted: int, n_pairs: int
) -> Batch:  # fmt: skip
    """A batch of up to n tasks, n_permuted first ones of a queue, n_pairs of machine and P-state.

    `charge` is what each option costs at first.
    """
    return Batch(
        empty_heap(n), empty_heap(n),
        np.full(n, NOBODY, np.int64), np.full(n, NOBODY, np.int64),
        np.empty(n, np.int64), np.zeros(1, np.int64),
        np.empty(n, np.int64), np.empty(n), np.zeros(1, np.int64),
        np.zeros(n_task_types, np.int64), np.ones(n_task_types, np.bool_), np.zeros(n_task_types, np.bool_),
        np.ones((n_task_types, n_machine_types), np.bool_), np.zeros(n_machine_types, np.int64),
        charge.copy(), charge.copy(), np.zeros(n_task_types), np.zeros(1, np.int64),
        np.zeros((3, n_permuted), np.int64), np.empty((2, n_pairs), np.int64),
    )  # fmt: skip


def new_clock() -> Clock:
    """Before everything."""
    return Clock(np.array([0.0, 0.0, NO_EVENT_S, 0.0]), np.array([-1, 0, 0, 0, 0, 0], np.int64))


def new_losses(n: int) -> Losses:
    """Room for n lost runs."""
    return Losses(
        np.zeros(1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int8),
        np.empty(n), np.empty(n),
    )  # fmt: skip


# Time


@inlined
def next_instant(clock, rules, tasks):
    """When the next mapping event happens; inf for never. Returns (instant, whether it is a regular one)."""
    origin_s, regular = clock.instants[ORIGIN], clock.counts[REGULAR]
    due_s = origin_s if regular < 0 else origin_s + (regular + 1) * rules.interval_s
    arrived, n = clock.counts[ARRIVED], tasks.arrival_s.size
    if rules.n_arrivals > 0 and arrived + rules.n_arrivals - 1 < n:
        full_s = tasks.arrival_s[arrived + rules.n_arrivals - 1]
        if full_s < due_s:
            return max(full_s, clock.instants[EFFECT]), False
    if due_s < clock.instants[EFFECT]:
        return clock.instants[EFFECT], False
    return due_s, True


@inlined
def keeps_to_grid(rules):
    """Whether events are at multiples of the interval, so that those without work can be skipped."""
    mapping = rules.mapping_s + rules.mapping_per_task_s + rules.mapping_per_square_s
    return rules.n_arrivals == 0 and not rules.is_measured and mapping == 0.0


@inlined
def skip_idle(clock, batch, rules, tasks):
    """With nothing to map, let the clock go to just before the first regular event after the next arrival."""
    arrived = clock.counts[ARRIVED]
    if clock.counts[UNFIXED] + batch.n_returning[0] > 0 or not keeps_to_grid(rules):
        return
    if arrived < tasks.arrival_s.size:
        event = event_at_or_after(tasks.arrival_s[arrived], rules.interval_s)
        clock.counts[REGULAR] = max(clock.counts[REGULAR], event - 1)


@inlined
def mapping_time_s(clock, rules, n_tasks):
    """What mapping a batch costs on the simulated clock."""
    if rules.is_measured:
        return clock.instants[MAPPING]
    return rules.mapping_s + rules.mapping_per_task_s * n_tasks + rules.mapping_per_square_s * n_tasks * n_tasks


@inlined
def horizon_of(clock, rules, tasks, next_s):
    """When the plan of the next event, at next_s, has effect at the latest: what starts later will be planned anew.

    Where tasks are postponed all must be planned: what they use decides who is.
    """
    if rules.is_measured or rules.postpones or not next_s < np.inf:
        return np.inf
    arrived = clock.counts[ARRIVED]
    n_more = 0
    if rules.mapping_per_task_s + rules.mapping_per_square_s > 0.0:
        while arrived + n_more < tasks.arrival_s.size and tasks.arrival_s[arrived + n_more] <= next_s:
            n_more += 1
    return next_s + mapping_time_s(clock, rules, clock.counts[UNFIXED] + n_more)


# Tasks come and go


@inlined
def take_first(heap):
    """Take the top off a heap and return it."""
    i = heap.items[0]
    pop(heap)
    return i


@inlined
def set_bound(batch, i, value, completion_s):
    batch.waiting.value[i] = value
    batch.waiting.completion_s[i] = completion_s


@shared
def admit(clock, batch, rolling, rules, place, tasks, utilities, options, now_s):
    """Take in what has arrived or come back, with a bound that makes it be looked at first."""
    while clock.counts[ARRIVED] < tasks.arrival_s.size and tasks.arrival_s[clock.counts[ARRIVED]] <= now_s:
        i = clock.counts[ARRIVED]
        set_bound(batch, i, -place[i] if rules.rule == IN_ORDER else np.inf, -np.inf)
        push(batch.waiting, i)
        if rules.program == WORTH:
            remember(rolling, tasks, utilities, options, i, now_s)
        batch.n_unfixed[tasks.task_type[i]] += 1
        clock.counts[ARRIVED] += 1
        clock.counts[UNFIXED] += 1
    kept = 0
    for at in range(batch.n_returning[0]):
        i = batch.returning[at]
        if batch.returns_s[at] <= now_s:
            set_bound(batch, i, -place[i] if rules.rule == IN_ORDER else np.inf, -np.inf)
            push(batch.waiting, i)
            batch.n_unfixed[tasks.task_type[i]] += 1
            clock.counts[UNFIXED] += 1
        else:
            batch.returning[kept], batch.returns_s[kept] = i, batch.returns_s[at]
            kept += 1
    batch.n_returning[0] = kept


@inlined
def leave(batch, t):
    """Count one unplanned task of a type less."""
    for k in range(batch.n_left.size):
        batch.n_left[k] -= batch.reaches[t, k]


@shared
def count_left(batch, options, limits, ledger):
    """Find which task types can be allowed which machine types at all in this event, and count their tasks."""
    batch.n_left[:] = 0
    batch.reaches[:] = False
    for t in range(batch.n_unfixed.size):
        batch.is_live[t] = False
        if batch.n_unfixed[t] > 0:
            for option in range(options.first[t], options.first[t + 1]):
                if ledger.passes[option] and limits.cost_j[option] <= ledger.left_j[NOW]:
                    batch.is_live[t] = batch.reaches[t, options.machine_type[option]] = True
            for k in range(batch.n_left.size):
                batch.n_left[k] += batch.n_unfixed[t] * batch.reaches[t, k]


@inlined
def drop(clock, batch, tasks, plan, i):
    """Drop a task that is in no heap."""
    plan.status[i] = DROPPED
    batch.n_unfixed[tasks.task_type[i]] -= 1
    leave(batch, tasks.task_type[i])
    clock.counts[UNFIXED] -= 1


@inlined
def give_back(batch, i, at_s):
    """Let a task that a machine lost be mapped again from an instant on."""
    batch.returning[batch.n_returning[0]] = i
    batch.returns_s[batch.n_returning[0]] = at_s
    batch.n_returning[0] += 1


@inlined
def lose(batch, losses, options, i, machine, start_s, down_s):
    """Note that an outage cuts a run short and gives the task back."""
    row = losses.size[0]
    losses.task[row], losses.machine[row], losses.pstate[row] = i, machine, options.pstate[batch.choice[i]]
    losses.start_s[row], losses.end_s[row] = start_s, down_s
    losses.size[0] += 1
    give_back(batch, i, down_s)


@inlined
def take_head(clock, batch, tasks, machines, m):
    """Take the first task off a machine's queue: it is fixed now."""
    i = machines.head[m]
    machines.head[m] = batch.after[i]
    machines.n_queued[m] -= 1
    batch.n_unfixed[tasks.task_type[i]] -= 1
    clock.counts[UNFIXED] -= 1
    return i


@inlined
def true_exec_s(rules, stretch, options, i, option):
    """How long a task really occupies its machine."""
    return min(stretch[i], rules.kill_factor) * options.exec_s[option]


@shared
def work_off(
    clock, batch, rules, stretch, tasks, options, limits, ledger, machines, downtimes, losses, plan, m, until_s
):  # fmt: skip
    """Fix what a machine has started by an instant, and the pending task behind it."""
    forget_lost(machines, m, until_s)
    while machines.head[m] != NOBODY and machines.last_start_s[m] <= until_s and machines.doomed_s[m] <= until_s:
        start_s = max(machines.true_base_s[m], machines.ready_s[m])
        down_s, up_s = next_outage(downtimes, m, start_s)
        if down_s <= start_s:
            machines.ready_s[m] = machines.doomed_s[m] = up_s
            break
        i = take_head(clock, batch, tasks, machines, m)
        option = batch.choice[i]
        end_s = start_s + true_exec_s(rules, stretch, options, i, option)
        use_at(limits, ledger, start_s, machines.wake_j[m])
        machines.wake_j[m] = 0.0
        use(limits, ledger, start_s, min(end_s, down_s), limits.cost_w[option])
        note_run(machines, m, start_s, options.exec_s[option], min(end_s, down_s), limits.cost_w[option])
        if down_s < end_s:
            lose(batch, losses, options, i, m, start_s, down_s)
            machines.ready_s[m] = machines.doomed_s[m] = up_s
            break
        plan.machine[i], plan.pstate[i] = m, options.pstate[option]
        plan.start_s[i], plan.end_s[i] = start_s, end_s
        plan.status[i] = KILLED if stretch[i] > rules.kill_factor else RAN
    fails_s, up_s = machines.last_end_s[m], machines.doomed_s[m]
    if machines.head[m] != NOBODY and machines.last_start_s[m] <= until_s < fails_s < up_s:
        i = take_head(clock, batch, tasks, machines, m)
        give_back(batch, i, fails_s)
        note_run(machines, m, np.inf, options.exec_s[batch.choice[i]], fails_s, limits.cost_w[batch.choice[i]])
        machines.ready_s[m] = up_s


@inlined
def release(batch, machines, m):
    """Let everything that is only planned on a machine wait again."""
    i = machines.head[m]
    while i != NOBODY:
        push(batch.waiting, i)
        i = batch.after[i]
    machines.head[m] = NOBODY
    machines.n_queued[m] = 0
