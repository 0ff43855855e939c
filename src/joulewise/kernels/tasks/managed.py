"""Batch mode with everything a manager may have: budgets, filters, prices, polled machines, orders, own clocks."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.energy import (
    fits_the_day,
    open_ledger,
    open_power,
    tariff_factor,
)
from joulewise.kernels.heap import is_sunk, sift
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import DROPPED, WAITING
from joulewise.kernels.live_prices import MINUTE_S, adjust_prices, first_prices, record_prices
from joulewise.kernels.pool import close_event
from joulewise.kernels.tasks.batch import (
    ARRIVED,
    AT_RANDOM,
    COUNTED,
    EFFECT,
    GREEDY,
    LAST,
    LATE,
    ORIGIN,
    REGULAR,
    SLACK,
    UNFIXED,
    WORKED,
    admit,
    count_left,
    drop,
    give_back,
    horizon_of,
    mapping_time_s,
    next_instant,
    release,
    set_bound,
    skip_idle,
    work_off,
)
from joulewise.kernels.tasks.greedy import (
    is_hopeless,
    map_greedily,
    map_under_cap,
    raise_sunk,
)
from joulewise.kernels.tasks.machines import open_machines
from joulewise.kernels.tasks.orders import (
    map_in_order,
    permute,
    random_part,
)
from joulewise.kernels.tasks.rolling import (
    MAKESPAN,
    WORTH,
    count_quotas,
    fade,
    note_idle,
    price_bag,
    split_batch,
)


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
            if not is_sunk(heap, heap.items[at]):
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
            if not is_sunk(heap, i):
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


@inlined
def count_event(clock, limits, now_s, is_regular):
    """Note an event on the clock; returns the seconds since the last one, a minute for the first."""
    clock.counts[COUNTED] += now_s > limits.start_s
    is_late = not is_regular and clock.instants[LAST] < now_s == clock.instants[EFFECT]
    clock.counts[LATE] += now_s > limits.start_s and is_late
    clock.instants[ORIGIN] = clock.instants[ORIGIN] if is_regular else now_s
    clock.counts[REGULAR] = clock.counts[REGULAR] + 1 if is_regular else 0
    return now_s - clock.instants[LAST] if clock.instants[LAST] >= 0.0 else MINUTE_S


@inlined
def bring_up(
    clock, batch, rolling, losses, rules, stretch, place, tasks, utilities, options, limits, ledger, machines,
    downtimes, plan, now_s,
):  # fmt: skip
    """Take in what has arrived and let machines work until the mapping takes effect; returns when it does."""
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
    return effect_s


@inlined
def decide(
    clock, batch, rolling, value, rules, threshold, stretch, option_at, tasks, utilities, options, everywhere, limits,
    ledger, machines, plan, horizon_s,
):  # fmt: skip
    """Map the batch by the manager's rule."""
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
        passed_s = count_event(clock, limits, now_s, is_regular)
        if rules.program == WORTH:
            fade(rolling, passed_s)
        effect_s = bring_up(
            clock, batch, rolling, losses, rules, stretch, place, tasks, utilities, options, limits, ledger, machines,
            downtimes, plan, now_s,
        )  # fmt: skip
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
        raise_sunk(batch, tasks)
        decide(
            clock, batch, rolling, value, rules, threshold, stretch, option_at, tasks, utilities, options, everywhere,
            limits, ledger, machines, plan, horizon_s,
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
