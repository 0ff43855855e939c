"""Batch mode with everything a manager may have: budgets, filters, prices, polled machines, orders, own clocks."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.heap import is_sunk, sift
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import DROPPED, NOBODY, WAITING
from joulewise.kernels.ledger import tariff_factor
from joulewise.kernels.live_prices import MINUTE_S, record_prices
from joulewise.kernels.pool import close_event
from joulewise.kernels.tasks.assigned import offer, withdraw
from joulewise.kernels.tasks.batch import (
    admit,
    count_left,
    count_out,
    drop,
    give_back,
    horizon_of,
    keeps_to_grid,
    mapping_time_s,
    n_to_map,
    next_instant,
    release,
    set_bound,
    skip_idle,
    work_off,
)
from joulewise.kernels.tasks.energy import fits_the_day, open_ledger, open_power
from joulewise.kernels.tasks.greedy import is_hopeless, map_greedily, map_under_cap, open_queues, raise_sunk
from joulewise.kernels.tasks.live_prices import adjust_prices, first_prices
from joulewise.kernels.tasks.machines import open_machines
from joulewise.kernels.tasks.orders import map_in_order, permute, random_part
from joulewise.kernels.tasks.preempt import preempt_for_newcomers
from joulewise.kernels.tasks.renewed import map_renewed
from joulewise.kernels.tasks.rolling import (
    MAKESPAN,
    WORTH,
    count_quotas,
    fade,
    note_idle,
    price_bag,
    split_batch,
)
from joulewise.kernels.tasks.state import (
    ARRIVED,
    ASSIGNED,
    AT_RANDOM,
    COUNTED,
    EFFECT,
    GREEDY,
    HORIZON,
    LAST,
    LATE,
    ORIGIN,
    PASSED,
    REGULAR,
    SEEN,
    SLACK,
    SUFFERAGE,
    UNFIXED,
    WORKED,
)
from joulewise.kernels.tasks.sufferage import map_by_sufferage, open_crowd


@shared
def charge_anew(world, state, factor):
    """Set what every option costs in the objective, and by task type how much cheaper the best became."""
    batch, prices, options = state.batch, state.prices, world.options
    for t in range(batch.rise.size):
        batch.rise[t] = -np.inf
        for option in range(options.first[t], options.first[t + 1]):
            before = batch.charge[option]
            batch.charge[option] = batch.energy_charge[option] * factor
            if world.rules.is_priced:
                per_s, per_j = max(prices.per_s[options.machine_type[option]], 0.0), prices.per_j[0]
                used_j = world.limits.cost_j[option] if world.rules.program == WORTH else options.energy_j[option]
                batch.charge[option] = per_s * options.exec_s[option] + per_j * used_j * factor
            batch.rise[t] = max(batch.rise[t], before - batch.charge[option])


@inlined
def forget_bounds(world, state):
    """Draw the places of a random order, or have all that wait looked at where bounds hold for one event only."""
    heap, rules = state.batch.waiting, world.rules
    if rules.rule == AT_RANDOM:
        for at in range(heap.size[0]):
            i = heap.items[at]
            heap.value[i] = random_part(rules.random_seed, state.clock.counts[WORKED], i, 0)
        sift(heap)
    elif rules.rule == SUFFERAGE:
        open_crowd(world, state)
    elif rules.rule == GREEDY and not rules.is_certain:
        for at in range(heap.size[0]):
            if not is_sunk(heap, heap.items[at]):
                set_bound(state.batch, heap.items[at], np.inf, -np.inf)
        sift(heap)


@inlined
def open_prices(world, state, effect_s):
    """Find the prices of an event where it has any, and note them."""
    rules, clock, prices, heap = world.rules, state.clock, state.prices, state.batch.waiting
    if rules.program == WORTH:
        price_bag(state.rolling, prices, world.limits, state.ledger, state.machines, effect_s)
    elif rules.is_priced and prices.per_s[0] < 0.0 and heap.size[0] > 0:
        first_prices(prices, world.limits, heap, world.tasks, world.options)
    if rules.is_priced and clock.counts[UNFIXED] > 0:
        record_prices(prices, clock.counts[WORKED])


@shared
def renew_bounds(world, state, effect_s):
    """Make the bounds of all that wait hold for this event."""
    rules, batch, heap = world.rules, state.batch, state.batch.waiting
    forget_bounds(world, state)
    open_prices(world, state, effect_s)
    if rules.rule == GREEDY and (rules.is_priced or rules.follows_tariff):
        charge_anew(world, state, tariff_factor(world.limits, effect_s) if rules.follows_tariff else 1.0)
        for at in range(heap.size[0]):
            i = heap.items[at]
            if not is_sunk(heap, i):
                moved = heap.value[i] + batch.rise[world.tasks.task_type[i]]
                set_bound(batch, i, moved + SLACK * abs(moved), -np.inf)
        sift(heap)


@shared
def follow_load(batch, load):
    """Let thresholds grow with the work that waits."""
    batch.strictness[0] = 0.0
    for t in range(load.size):
        batch.strictness[0] += batch.n_unfixed[t] * load[t]


@inlined
def is_ending(world, state):
    """Whether nobody comes any more and those who wait decide how many events there are: the hopeless are not to."""
    return state.clock.counts[ARRIVED] == world.tasks.arrival_s.size and not keeps_to_grid(world.rules)


@shared
def drop_all_hopeless(world, state):
    """Drop at once what can no longer earn its threshold: it might later, or the size of the batch matters."""
    heap, queues, kept = state.batch.waiting, state.batch.queues, 0
    for at in range(heap.size[0]):
        i = heap.items[at]
        if is_hopeless(world, state, i):
            drop(world, state, i)
        else:
            heap.items[kept] = i
            kept += 1
    heap.size[0] = kept
    sift(heap)
    for t in range(queues.head.size):
        i = queues.head[t]
        while i != NOBODY:
            if is_hopeless(world, state, i):
                drop(world, state, i)
            i = queues.after[i]


@inlined
def fits_today(world, state, t):
    """Whether a task of a type could still be planned today, behind what is planned, whatever the filter says."""
    options, machines = world.options, state.machines
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        start_s = machines.start_s[k]
        if start_s < np.inf:
            end_s, boot_j = start_s + options.exec_s[option], machines.boot_j[machines.earliest[k]]
            if fits_the_day(world.limits, state.ledger, option, start_s, end_s, boot_j):
                return True
    return False


@inlined
def postpone_task(world, state, i):
    """Let a task come back when the next day starts."""
    give_back(state.batch, i, state.ledger.day_end_s[0])
    count_out(world, state, i)


@shared
def postpone(world, state):
    """Let tasks that no longer fit into the day come back when the next one starts."""
    batch, heap, queues, crowd, kept = state.batch, state.batch.waiting, state.batch.queues, state.batch.crowd, 0
    for t in range(batch.is_live.size):
        batch.is_live[t] = batch.n_unfixed[t] > 0 and fits_today(world, state, t)
        while not batch.is_live[t] and queues.at[t] != NOBODY:
            postpone_task(world, state, queues.at[t])
            queues.at[t] = queues.after[queues.at[t]]
        while not batch.is_live[t] and crowd.n_unplanned[t] > 0:
            postpone_task(world, state, crowd.item[crowd.first[t]])
    for at in range(heap.size[0]):
        i = heap.items[at]
        if batch.is_live[world.tasks.task_type[i]]:
            heap.items[kept] = i
            kept += 1
        else:
            postpone_task(world, state, i)
    heap.size[0] = kept
    sift(heap)


@shared
def finish(world, state):
    """After the last event: let the machines go on to where the next would be, and drop what has no hope."""
    until_s, _ = next_instant(world, state.clock)
    for m in range(state.machines.ready_s.size):
        work_off(world, state, m, until_s, until_s)
        release(world, state, m)
    if not world.rules.drops_eagerly:
        for i in range(state.clock.counts[ARRIVED]):
            if state.plan.status[i] == WAITING and is_hopeless(world, state, i):
                state.plan.status[i] = DROPPED


@inlined
def count_event(clock, limits, now_s, is_regular):
    """Note an event on the clock; before the first one a minute has passed."""
    clock.counts[COUNTED] += now_s > limits.start_s
    is_late = not is_regular and clock.instants[LAST] < now_s == clock.instants[EFFECT]
    clock.counts[LATE] += now_s > limits.start_s and is_late
    clock.instants[ORIGIN] = clock.instants[ORIGIN] if is_regular else now_s
    clock.counts[REGULAR] = clock.counts[REGULAR] + 1 if is_regular else 0
    clock.counts[SEEN] = clock.counts[ARRIVED]
    clock.instants[PASSED] = now_s - clock.instants[LAST] if clock.instants[LAST] >= 0.0 else MINUTE_S
    clock.instants[LAST] = now_s


@inlined
def bring_up(world, state, now_s):
    """Take in what has arrived and let machines work until the mapping takes effect; returns when it does."""
    n_machines = state.machines.ready_s.size
    admit(world, state, now_s)
    for m in range(n_machines):
        work_off(world, state, m, now_s, now_s)
    effect_s = now_s + mapping_time_s(state.clock, world.rules, state.clock.counts[UNFIXED])
    for m in range(n_machines):
        if effect_s > now_s:
            work_off(world, state, m, effect_s, now_s)
        release(world, state, m)
    if state.batch.n_returning[0] > 0:
        admit(world, state, now_s)
    state.clock.instants[EFFECT] = effect_s
    state.clock.counts[WORKED] += state.clock.counts[UNFIXED] > 0
    return effect_s


@inlined
def open_mapping(world, state, now_s, effect_s, horizon_s):
    """Find what an event maps, on which machines, with which energy."""
    rules, batch, machines, ledger, counts = world.rules, state.batch, state.machines, state.ledger, state.clock.counts
    open_machines(
        machines, world.standing, world.downtimes, now_s, effect_s, horizon_s, rules.is_polled, rules.drops_by_idle
    )  # fmt: skip
    open_ledger(world.limits, ledger, machines, effect_s, rules.is_certain)
    open_power(world.limits, ledger, machines, effect_s)
    renew_bounds(world, state, effect_s)
    if rules.follows_load:
        follow_load(batch, world.load)
    if rules.drops_eagerly or is_ending(world, state):
        drop_all_hopeless(world, state)
    if rules.program == MAKESPAN and counts[UNFIXED] > 0:
        split_batch(state.rolling, batch, world.limits, ledger, machines, effect_s, counts[WORKED])
    count_left(world, state)
    if rules.program == MAKESPAN:
        count_quotas(state.rolling, batch)
    if rules.by_type:
        open_queues(world, state)
    elif rules.rule == ASSIGNED:
        offer(batch)
    else:
        raise_sunk(batch, world.tasks)


@inlined
def decide(world, state):
    """Map the batch by the manager's rule, which is one of the built-in ones."""
    horizon_s = state.clock.instants[HORIZON]
    if world.rules.may_rise:
        map_renewed(world, state, horizon_s)
    elif world.rules.rule == GREEDY and world.limits.has_cap:
        map_under_cap(world, state, horizon_s)
    elif world.rules.rule == GREEDY:
        map_greedily(world, state, horizon_s)
    elif world.rules.rule == SUFFERAGE:
        map_by_sufferage(world, state, horizon_s)
    else:
        map_in_order(world, state, horizon_s)


@inlined
def close_mapping(world, state, passed_s, effect_s):
    """Let prices follow what the event showed, and everything not planned wait again."""
    rules, batch = world.rules, state.batch
    if rules.n_permuted > 1:
        for m in range(state.machines.ready_s.size):
            permute(world, state, m)
    if rules.program == WORTH:
        note_idle(state.rolling, state.machines, effect_s)
    elif rules.is_priced:
        adjust_prices(state.prices, world.limits, state.ledger, state.machines, passed_s, effect_s)
    if rules.by_type:
        batch.looked.size[0] = 0
    elif rules.rule == ASSIGNED:
        withdraw(batch)
    else:
        close_event(batch)
    if rules.postpones:
        postpone(world, state)


@inlined
def open_next(world, state, end_s):
    """Go on to the next event up to an instant, and open it; returns whether there is one."""
    clock = state.clock
    skip_idle(world, state)
    now_s, is_regular = next_instant(world, clock)
    is_over = clock.counts[ARRIVED] == world.tasks.arrival_s.size and n_to_map(state) == 0
    if not now_s < np.inf or now_s > end_s or is_over:
        return False
    count_event(clock, world.limits, now_s, is_regular)
    if world.rules.program == WORTH:
        fade(state.rolling, clock.instants[PASSED])
    effect_s = bring_up(world, state, now_s)
    clock.instants[HORIZON] = horizon_of(world, clock)
    open_mapping(world, state, now_s, effect_s, clock.instants[HORIZON])
    return True


@inlined
def close_last(world, state):
    """Close the event that is open."""
    instants = state.clock.instants
    close_mapping(world, state, instants[PASSED], instants[EFFECT])
    if world.rules.preempts:
        preempt_for_newcomers(world, state, state.clock.counts[SEEN], instants[LAST])


@kernel
def open_next_event(world, state, end_s):
    """As `open_next`, for who decides outside."""
    return open_next(world, state, end_s)


@kernel
def close_last_event(world, state):
    """As `close_last`, for who decides outside."""
    close_last(world, state)


@kernel
def finish_run(world, state):
    """As `finish`, for who decides outside."""
    finish(world, state)


@kernel
def map_managed(world, state, end_s, most_events, is_last):
    """Let the manager work until an instant, or for this many events; returns how many happened.

    When `is_last`, no event comes after these, and the machines work off what is planned.
    """
    happened = 0
    while happened < most_events and open_next(world, state, end_s):
        happened += 1
        decide(world, state)
        close_last(world, state)
    if is_last:
        finish(world, state)
    return happened
