"""Batch mode with everything a manager may have: budgets, filters, prices, polled machines, orders, own clocks.

The two-stage greedy is lazy, as in `lazy`: ready times never decrease (in a certain world), so a value computed at an
earlier event bounds the value now. Stored bounds are over all options, allowed or not, for what is not allowed now
may be later; within an event less and less is allowed, so that a choice found best stays best while it is allowed
and its machine type is free at the same instant. Where prices change, all bounds are moved by the most that any
option became cheaper; where the world is uncertain, every task is looked at anew at every event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, earliest_option, utility_of
from joulewise.kernels.energy import (
    NOW,
    commit_power,
    fits_the_day,
    is_allowed,
    open_ledger,
    open_power,
    spend,
    tariff_factor,
    use,
    use_at,
)
from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.heap import Heap, empty_heap, pop, push, replace_top
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import DROPPED, RAN, WAITING
from joulewise.kernels.machines import NOBODY, forget_lost, next_outage, note_run, open_machines, plan_on
from joulewise.kernels.market import MINUTE_S, adjust_prices, first_prices, record_prices
from joulewise.kernels.pool import close_event, note_rise, waiting_first
from joulewise.kernels.rolling import (
    MAKESPAN,
    WORTH,
    count_quotas,
    fade,
    note_idle,
    price_bag,
    remember,
    split_batch,
    use_quota,
)

KILLED = 3
GREEDY, IN_ORDER, AT_RANDOM = 0, 1, 2
OPEN, AS_ASKED, AS_LISTED = 0, 1, 2
SLACK = 1e-12


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


class Batch(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    `choice` is the option of a task looked at or planned, `after` the next in its machine's queue. `put_off` holds
    those without an allowed choice in this event, `returning` those lost by a machine or postponed to the next day,
    mappable again at `returns_s`.
    `n_unfixed` counts by task type those that are not fixed yet; `reaches` says of a task type and machine type whether
    any option there could be allowed in this event, and `is_live` whether there is one anywhere; `n_left` counts by
    machine type the unplanned tasks that reach it.
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
    reaches: NDArray[np.bool_]
    n_left: NDArray[np.int64]
    charge: NDArray[np.float64]
    energy_charge: NDArray[np.float64]
    rise: NDArray[np.float64]
    n_rises: NDArray[np.int64]
    permutation: NDArray[np.int64]
    pairs: NDArray[np.int64]


class Clock(NamedTuple):
    """State: instants are [origin, effect of the last event, that event, given mapping time], counts are
    [regular event, tasks arrived, tasks unfixed, events with work, events in the counted window, late ones of them].
    """

    instants: NDArray[np.float64]
    counts: NDArray[np.int64]


ORIGIN, EFFECT, LAST, MAPPING = 0, 1, 2, 3
NO_EVENT_S = -1.0
REGULAR, ARRIVED, UNFIXED, WORKED, COUNTED, LATE = 0, 1, 2, 3, 4, 5


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
        np.zeros(n_task_types, np.int64), np.ones(n_task_types, np.bool_),
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


# Choices


@inlined
def is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
    """Whether a task can no longer earn its threshold on any machine looked at; one without such keeps its hope."""
    _, completion_s = earliest_option(everywhere, tasks.task_type[i], machines.hope_s)
    return completion_s < np.inf and utility_of(tasks, utilities, i, completion_s) < threshold[i]


@inlined
def worth(value, rules, batch, tasks, options, i, option, utility, start_s, completion_s):
    """The value of a choice with its charge; not-a-number counts as the worst."""
    wait_s = start_s - tasks.arrival_s[i]
    found = value(utility, completion_s, options.exec_s[option], options.energy_j[option], wait_s)
    found = rules.scale * found - batch.charge[option]
    return -np.inf if np.isnan(found) else found


@shared
def best_choice(value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, start_s, gate):
    """The best option of a task when machine type k is free at start_s[k], of those that the gate allows.

    Returns (option or NOBODY, value, completion, most utility that any option earns). The earliest completion earns
    the most utility, so the value at that utility bounds that of every other option.
    """
    t = tasks.task_type[i]
    soonest_s = np.inf
    for option in range(options.first[t], options.first[t + 1]):
        soonest_s = min(soonest_s, start_s[options.machine_type[option]] + options.exec_s[option])
    if not soonest_s < np.inf:
        return NOBODY, -np.inf, np.inf, 0.0
    most = utility_of(tasks, utilities, i, soonest_s)
    best, best_value, best_s = NOBODY, -np.inf, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        if not start_s[k] < np.inf:
            continue
        completion_s = start_s[k] + options.exec_s[option]
        if best != NOBODY:
            bound = worth(value, rules, batch, tasks, options, i, option, most, start_s[k], completion_s)
            if bound < best_value or (bound == best_value and completion_s > best_s):
                continue
        if gate == AS_LISTED and not ledger.allowed[option]:
            continue
        if gate == AS_ASKED and not is_allowed(
            limits, ledger, option, start_s[k], completion_s, machines.boot_j[machines.earliest[k]]
        ):
            continue
        utility = utility_of(tasks, utilities, i, completion_s)
        found = worth(value, rules, batch, tasks, options, i, option, utility, start_s[k], completion_s)
        if best == NOBODY or comes_before(
            found, completion_s, options.rank[option], best_value, best_s, options.rank[best]
        ):
            best, best_value, best_s = option, found, completion_s
    return best, best_value, best_s, most


@inlined
def look(clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold):
    """Value the first waiting task on the machines as they are fixed; drop it or add it to those looked at."""
    i = take_first(batch.waiting)
    option, found, completion_s, most = best_choice(
        value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.soonest_s, OPEN
    )
    if most < threshold[i] and is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
        drop(clock, batch, tasks, plan, i)
        return
    note_rise(batch, batch.waiting.value[i], found)
    set_bound(batch, i, found, completion_s)
    batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
    batch.choice[i] = option
    push(batch.looked, i)


@inlined
def put_off(batch, tasks, i):
    """Leave a task that is in no heap for the next event."""
    batch.put_off[batch.n_put_off[0]] = i
    batch.n_put_off[0] += 1
    leave(batch, tasks.task_type[i])


@inlined
def look_again(batch, value, rules, tasks, utilities, options, limits, ledger, machines):
    """Value the first looked-at task on the machines as they are planned now, by its allowed choices."""
    i = batch.looked.items[0]
    option, found, completion_s, _ = best_choice(
        value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, AS_ASKED
    )
    if option == NOBODY:
        pop(batch.looked)
        put_off(batch, tasks, i)
        return
    note_rise(batch, batch.looked.value[i], found)
    batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
    batch.choice[i] = option
    replace_top(batch.looked, i)


@inlined
def is_up_to_date(batch, options, limits, ledger, machines, i):
    """Whether the choice of a task can be made as it was valued."""
    option = batch.choice[i]
    if option == NOBODY:
        return False
    k = options.machine_type[option]
    start_s = machines.start_s[k]
    if start_s + options.exec_s[option] != batch.looked.completion_s[i] or not start_s < np.inf:
        return False
    boot_j = machines.boot_j[machines.earliest[k]]
    return is_allowed(limits, ledger, option, start_s, batch.looked.completion_s[i], boot_j)


@inlined
def enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s):
    """Plan a task, that is in no heap, at the end of a machine's queue."""
    batch.choice[i] = option
    start_s = machines.free_s[m]
    spend(limits, ledger, option, start_s + options.exec_s[option], machines.boot_j[m])
    commit_power(limits, ledger, start_s, start_s + options.exec_s[option], limits.cost_w[option])
    leave(batch, tasks.task_type[i])
    if rules.program == MAKESPAN:
        use_quota(rolling, batch, ledger, option)
    plan_on(
        machines, batch.after, i, options.machine_type[option], m, options.exec_s[option],
        true_exec_s(rules, stretch, options, i, option), horizon_s, rules.n_permuted, rules.is_polled,
    )  # fmt: skip


@inlined
def can_go_on(limits, ledger, machines, n_left):
    """Whether some open machine could still get one of the tasks left, and energy for the cheapest choice."""
    if ledger.left_j[NOW] < limits.cheapest_j:
        return False
    for k in range(n_left.size):
        if n_left[k] > 0 and machines.n_open[k] > 0:
            return True
    return False


@shared
def map_greedily(
    clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
    threshold, horizon_s,
):  # fmt: skip
    """The two-stage greedy until nothing more can be fixed before the next event."""
    while batch.waiting.size[0] + batch.looked.size[0] > 0 and can_go_on(limits, ledger, machines, batch.n_left):
        if waiting_first(batch):
            if not batch.is_live[tasks.task_type[batch.waiting.items[0]]]:
                put_off(batch, tasks, take_first(batch.waiting))
                continue
            look(
                clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
                threshold,
            )  # fmt: skip
            continue
        i = batch.looked.items[0]
        if rules.declines and not batch.looked.value[i] > 0.0:
            break
        if is_up_to_date(batch, options, limits, ledger, machines, i):
            pop(batch.looked)
            option = batch.choice[i]
            m = machines.earliest[options.machine_type[option]]
            enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s)
        else:
            look_again(batch, value, rules, tasks, utilities, options, limits, ledger, machines)


@shared
def list_allowed(batch, options, limits, ledger, machines):
    """List which options are allowed on the machines as they are planned now."""
    for t in range(batch.is_live.size):
        for option in range(options.first[t], options.first[t + 1]):
            k = options.machine_type[option]
            start_s = machines.start_s[k]
            ledger.allowed[option] = (
                batch.is_live[t]
                and start_s < np.inf
                and is_allowed(
                    limits, ledger, option, start_s, start_s + options.exec_s[option],
                    machines.boot_j[machines.earliest[k]],
                )
            )  # fmt: skip


@shared
def next_under_cap(
    clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold
):  # fmt: skip
    """The task whose allowed choice goes first, taken out of its heap, or NOBODY; its choice is noted.

    Under a cap a later start may be allowed where an earlier is not, so only the values over all options bound those
    over the allowed: tasks are tried in the order of these until none can go before the best found.
    """
    list_allowed(batch, options, limits, ledger, machines)
    best, best_value, best_s, n_before = NOBODY, -np.inf, np.inf, batch.n_put_off[0]
    while batch.waiting.size[0] + batch.looked.size[0] > 0:
        if waiting_first(batch):
            look(
                clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
                threshold,
            )  # fmt: skip
            continue
        i = batch.looked.items[0]
        if best != NOBODY and not comes_before(
            batch.looked.value[i], batch.looked.completion_s[i], i, best_value, best_s, best
        ):
            break
        _, found, completion_s, _ = best_choice(
            value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, OPEN
        )
        if found != batch.looked.value[i] or completion_s != batch.looked.completion_s[i]:
            batch.looked.value[i], batch.looked.completion_s[i] = found, completion_s
            replace_top(batch.looked, i)
            continue
        pop(batch.looked)
        batch.put_off[batch.n_put_off[0]] = i
        batch.n_put_off[0] += 1
        option, found, completion_s, _ = best_choice(
            value, rules, batch, tasks, utilities, options, limits, ledger, machines, i, machines.start_s, AS_LISTED
        )
        worthwhile = option != NOBODY and (found > 0.0 or not rules.declines)
        if worthwhile and (best == NOBODY or comes_before(found, completion_s, i, best_value, best_s, best)):
            best, best_value, best_s = i, found, completion_s
            batch.choice[i] = option
    for at in range(n_before, batch.n_put_off[0]):
        if batch.put_off[at] != best:
            push(batch.looked, batch.put_off[at])
    batch.n_put_off[0] = n_before
    return best


@shared
def map_under_cap(
    clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger, machines, plan,
    threshold, horizon_s,
):  # fmt: skip
    """The two-stage greedy under a cap of power, until nothing more can be fixed before the next event."""
    while can_go_on(limits, ledger, machines, batch.n_left):
        i = next_under_cap(
            clock, batch, value, rules, tasks, utilities, options, everywhere, limits, ledger, machines, plan, threshold
        )  # fmt: skip
        if i == NOBODY:
            break
        m = machines.earliest[options.machine_type[batch.choice[i]]]
        enqueue(
            batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, batch.choice[i], m, horizon_s
        )


# Orders


@inlined
def random_part(seed, event, i, which):
    """A number in [0, 1) that belongs to a task, an event and a purpose: splitmix64 of all three."""
    z = seed ^ (np.uint64(event) * np.uint64(0x9E3779B97F4A7C15))
    z = z + np.uint64(2 * i + which) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@inlined
def first_choice(options, tasks, limits, ledger, machines, i):
    """The allowed option that starts first, by machine type and P-state on ties; with its machine."""
    t = tasks.task_type[i]
    best = NOBODY
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        start_s = machines.start_s[k]
        if not start_s < np.inf:
            continue
        if best != NOBODY:
            best_s = machines.start_s[options.machine_type[best]]
            if start_s > best_s or (start_s == best_s and options.rank[option] > options.rank[best]):
                continue
        boot_j = machines.boot_j[machines.earliest[k]]
        if is_allowed(limits, ledger, option, start_s, start_s + options.exec_s[option], boot_j):
            best = option
    return best, NOBODY if best == NOBODY else machines.earliest[options.machine_type[best]]


@inlined
def may_take(options, limits, ledger, machines, m, option):
    """Whether an option is allowed on a machine behind what is planned there."""
    start_s = machines.free_s[m]
    return machines.is_there[m] and is_allowed(
        limits, ledger, option, start_s, start_s + options.exec_s[option], machines.boot_j[m]
    )


@shared
def random_choice(batch, options, option_at, tasks, limits, ledger, machines, i, part):
    """One of the allowed pairs of machine and P-state, in their order, at a part in [0, 1) of their number."""
    t, n = tasks.task_type[i], 0
    for m in range(machines.ready_s.size):
        for p in range(option_at.shape[2]):
            option = option_at[t, machines.type_of[m], p]
            if option != NOBODY and may_take(options, limits, ledger, machines, m, option):
                batch.pairs[0, n], batch.pairs[1, n] = option, m
                n += 1
    if n == 0:
        return NOBODY, NOBODY
    return batch.pairs[0, int(part * n)], batch.pairs[1, int(part * n)]


@shared
def map_in_order(
    clock, batch, rolling, rules, stretch, option_at, tasks, utilities, options, everywhere, limits, ledger, machines,
    plan, threshold, horizon_s,
):  # fmt: skip
    """Task by task, in the order of their bounds, until nothing more can be fixed before the next event."""
    while batch.waiting.size[0] > 0 and can_go_on(limits, ledger, machines, batch.n_left):
        i = take_first(batch.waiting)
        if is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
            drop(clock, batch, tasks, plan, i)
            continue
        if rules.rule == IN_ORDER:
            option, m = first_choice(options, tasks, limits, ledger, machines, i)
        else:
            part = random_part(rules.random_seed, clock.counts[WORKED], i, 1)
            option, m = random_choice(batch, options, option_at, tasks, limits, ledger, machines, i, part)
        if option == NOBODY:
            put_off(batch, tasks, i)
        else:
            enqueue(batch, rolling, rules, stretch, tasks, options, limits, ledger, machines, i, option, m, horizon_s)


# Permuting


@inlined
def order_worth(batch, tasks, utilities, options, queue, order, n, start_s):
    """What the first n tasks of a queue earn in an order."""
    total = 0.0
    for at in range(n):
        i = queue[order[at]]
        start_s += options.exec_s[batch.choice[i]]
        total += utility_of(tasks, utilities, i, start_s)
    return total


@inlined
def next_order(order, n):
    """Turn an order into the next one, lexicographically; whether there was one."""
    at = n - 2
    while at >= 0 and order[at] > order[at + 1]:
        at -= 1
    if at < 0:
        return False
    other = n - 1
    while order[other] < order[at]:
        other -= 1
    order[at], order[other] = order[other], order[at]
    low, high = at + 1, n - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return True


@shared
def permute(batch, rules, tasks, utilities, options, machines, m):
    """Put the first tasks of a machine's queue into the order that earns most."""
    queue, order, best = batch.permutation[0], batch.permutation[1], batch.permutation[2]
    n, i = 0, machines.head[m]
    while n < rules.n_permuted and i != NOBODY:
        queue[n] = i
        order[n] = best[n] = n
        n += 1
        i = batch.after[i]
    rest = i
    most = order_worth(batch, tasks, utilities, options, queue, order, n, machines.base_s[m])
    while next_order(order, n):
        found = order_worth(batch, tasks, utilities, options, queue, order, n, machines.base_s[m])
        if found > most:
            most = found
            for at in range(n):
                best[at] = order[at]
    if n > 0:
        machines.head[m] = queue[best[0]]
        for at in range(n - 1):
            batch.after[queue[best[at]]] = queue[best[at + 1]]
        batch.after[queue[best[n - 1]]] = rest
        if rest == NOBODY:
            machines.tail[m] = queue[best[n - 1]]


# Events


@inlined
def sift(heap):
    """Restore the order of a whole heap."""
    for at in range(heap.size[0] // 2 - 1, -1, -1):
        i, place = heap.items[at], at
        while 2 * place + 1 < heap.size[0]:
            below = 2 * place + 1
            if below + 1 < heap.size[0]:
                a, b = heap.items[below + 1], heap.items[below]
                if comes_before(heap.value[a], heap.completion_s[a], a, heap.value[b], heap.completion_s[b], b):
                    below += 1
            j = heap.items[below]
            if not comes_before(heap.value[j], heap.completion_s[j], j, heap.value[i], heap.completion_s[i], i):
                break
            heap.items[place] = j
            place = below
        heap.items[place] = i


@shared
def charge_anew(batch, rules, prices, options, limits, factor):
    """Set what every option costs in the objective, and by task type how much cheaper the best became."""
    for t in range(batch.rise.size):
        batch.rise[t] = -np.inf
        for option in range(options.first[t], options.first[t + 1]):
            before = batch.charge[option]
            batch.charge[option] = batch.energy_charge[option] * factor
            if rules.is_priced:
                per_s, per_j = max(prices.per_s[options.machine_type[option]], 0.0), prices.per_j[0]
                used_j = limits.cost_j[option] if rules.program == WORTH else options.energy_j[option]
                batch.charge[option] = per_s * options.exec_s[option] + per_j * used_j * factor
            batch.rise[t] = max(batch.rise[t], before - batch.charge[option])


@shared
def renew_bounds(clock, batch, rolling, rules, prices, tasks, options, limits, ledger, machines, effect_s):
    """Make the bounds of all that wait hold for this event."""
    heap = batch.waiting
    if rules.rule == AT_RANDOM:
        for at in range(heap.size[0]):
            i = heap.items[at]
            heap.value[i] = random_part(rules.random_seed, clock.counts[WORKED], i, 0)
        sift(heap)
    elif rules.rule == GREEDY and not rules.is_certain:
        for at in range(heap.size[0]):
            set_bound(batch, heap.items[at], np.inf, -np.inf)
        sift(heap)
    if rules.program == WORTH:
        price_bag(rolling, prices, limits, ledger, machines, effect_s)
    elif rules.is_priced and prices.per_s[0] < 0.0 and heap.size[0] > 0:
        first_prices(prices, limits, heap, tasks, options)
    if rules.is_priced and clock.counts[UNFIXED] > 0:
        record_prices(prices, clock.counts[WORKED])
    if rules.rule == GREEDY and (rules.is_priced or rules.follows_tariff):
        factor = tariff_factor(limits, effect_s) if rules.follows_tariff else 1.0
        charge_anew(batch, rules, prices, options, limits, factor)
        for at in range(heap.size[0]):
            i = heap.items[at]
            moved = heap.value[i] + batch.rise[tasks.task_type[i]]
            set_bound(batch, i, moved + SLACK * abs(moved), -np.inf)
        sift(heap)


@shared
def drop_all_hopeless(clock, batch, tasks, utilities, everywhere, machines, plan, threshold):
    """Drop at once what can no longer earn its threshold: it might later, or the size of the batch matters."""
    kept = 0
    for at in range(batch.waiting.size[0]):
        i = batch.waiting.items[at]
        if is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
            drop(clock, batch, tasks, plan, i)
        else:
            batch.waiting.items[kept] = i
            kept += 1
    batch.waiting.size[0] = kept
    sift(batch.waiting)


@inlined
def fits_today(options, limits, ledger, machines, t):
    """Whether a task of a type could still be planned today, behind what is planned, whatever the filter says."""
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        if machines.start_s[k] < np.inf:
            end_s = machines.start_s[k] + options.exec_s[option]
            if fits_the_day(limits, ledger, option, machines.start_s[k], end_s, machines.boot_j[machines.earliest[k]]):
                return True
    return False


@shared
def postpone(clock, batch, tasks, options, limits, ledger, machines):
    """Let tasks that no longer fit into the day come back when the next one starts."""
    for t in range(batch.is_live.size):
        batch.is_live[t] = batch.n_unfixed[t] > 0 and fits_today(options, limits, ledger, machines, t)
    kept = 0
    for at in range(batch.waiting.size[0]):
        i = batch.waiting.items[at]
        if batch.is_live[tasks.task_type[i]]:
            batch.waiting.items[kept] = i
            kept += 1
        else:
            give_back(batch, i, ledger.day_end_s[0])
            batch.n_unfixed[tasks.task_type[i]] -= 1
            clock.counts[UNFIXED] -= 1
    batch.waiting.size[0] = kept
    sift(batch.waiting)


@shared
def finish(
    clock, batch, losses, rules, threshold, stretch, tasks, utilities, options, everywhere, limits, ledger, machines,
    downtimes, plan,
):  # fmt: skip
    """After the last event: let the machines go on to where the next would be, and drop what has no hope."""
    until_s, _ = next_instant(clock, rules, tasks)
    for m in range(machines.ready_s.size):
        work_off(
            clock, batch, rules, stretch, tasks, options, limits, ledger, machines, downtimes, losses, plan, m, until_s
        )  # fmt: skip
        release(batch, machines, m)
    if not rules.drops_eagerly:
        for i in range(clock.counts[ARRIVED]):
            if plan.status[i] == WAITING and is_hopeless(tasks, utilities, everywhere, machines, threshold, i):
                plan.status[i] = DROPPED


@kernel
def map_managed(
    clock, batch, prices, rolling, losses, value, rules, threshold, stretch, place, option_at, tasks, utilities,
    options, everywhere, limits, ledger, machines, standing, downtimes, plan, end_s, most_events, is_last,
):  # fmt: skip
    """Let the manager work until an instant, or for so many events; returns how many happened.

    When `is_last`, no event comes after these, and the machines work off what is planned.
    """
    happened = 0
    while happened < most_events:
        skip_idle(clock, batch, rules, tasks)
        now_s, is_regular = next_instant(clock, rules, tasks)
        if not now_s < np.inf or now_s > end_s or (clock.counts[ARRIVED] == tasks.arrival_s.size
                                  and clock.counts[UNFIXED] + batch.n_returning[0] == 0):  # fmt: skip
            break
        happened += 1
        clock.counts[COUNTED] += now_s > limits.start_s
        is_late = not is_regular and clock.instants[LAST] < now_s == clock.instants[EFFECT]
        clock.counts[LATE] += now_s > limits.start_s and is_late
        clock.instants[ORIGIN] = clock.instants[ORIGIN] if is_regular else now_s
        clock.counts[REGULAR] = clock.counts[REGULAR] + 1 if is_regular else 0
        passed_s = now_s - clock.instants[LAST] if clock.instants[LAST] >= 0.0 else MINUTE_S
        if rules.program == WORTH:
            fade(rolling, passed_s)
        admit(clock, batch, rolling, rules, place, tasks, utilities, options, now_s)
        for m in range(machines.ready_s.size):
            work_off(
                clock, batch, rules, stretch, tasks, options, limits, ledger, machines, downtimes, losses, plan, m,
                now_s,
            )  # fmt: skip
        effect_s = now_s + mapping_time_s(clock, rules, clock.counts[UNFIXED])
        for m in range(machines.ready_s.size):
            if effect_s > now_s:
                work_off(
                    clock, batch, rules, stretch, tasks, options, limits, ledger, machines, downtimes, losses, plan, m,
                    effect_s,
                )  # fmt: skip
            release(batch, machines, m)
        if batch.n_returning[0] > 0:
            admit(clock, batch, rolling, rules, place, tasks, utilities, options, now_s)
        clock.instants[EFFECT] = effect_s
        next_s, _ = next_instant(clock, rules, tasks)
        horizon_s = horizon_of(clock, rules, tasks, next_s)
        if clock.counts[UNFIXED] > 0:
            clock.counts[WORKED] += 1
        open_machines(machines, standing, downtimes, now_s, effect_s, horizon_s, rules.is_polled, rules.drops_by_idle)
        open_ledger(limits, ledger, machines, effect_s, rules.is_certain)
        open_power(limits, ledger, machines, effect_s)
        renew_bounds(clock, batch, rolling, rules, prices, tasks, options, limits, ledger, machines, effect_s)
        if rules.drops_eagerly:
            drop_all_hopeless(clock, batch, tasks, utilities, everywhere, machines, plan, threshold)
        if rules.program == MAKESPAN and clock.counts[UNFIXED] > 0:
            split_batch(rolling, batch, limits, ledger, machines, effect_s, clock.counts[WORKED])
        count_left(batch, options, limits, ledger)
        if rules.program == MAKESPAN:
            count_quotas(rolling, batch)
        if rules.rule == GREEDY and limits.has_cap:
            map_under_cap(
                clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger,
                machines, plan, threshold, horizon_s,
            )  # fmt: skip
        elif rules.rule == GREEDY:
            map_greedily(
                clock, batch, rolling, value, rules, stretch, tasks, utilities, options, everywhere, limits, ledger,
                machines, plan, threshold, horizon_s,
            )  # fmt: skip
        else:
            map_in_order(
                clock, batch, rolling, rules, stretch, option_at, tasks, utilities, options, everywhere, limits, ledger,
                machines, plan, threshold, horizon_s,
            )  # fmt: skip
        if rules.n_permuted > 1:
            for m in range(machines.ready_s.size):
                permute(batch, rules, tasks, utilities, options, machines, m)
        if rules.program == WORTH:
            note_idle(rolling, machines, effect_s)
        elif rules.is_priced:
            adjust_prices(prices, limits, ledger, machines, passed_s, effect_s)
        clock.instants[LAST] = now_s
        close_event(batch)
        if rules.postpones:
            postpone(clock, batch, tasks, options, limits, ledger, machines)
    if is_last:
        finish(
            clock, batch, losses, rules, threshold, stretch, tasks, utilities, options, everywhere, limits, ledger,
            machines, downtimes, plan,
        )  # fmt: skip
    return happened
