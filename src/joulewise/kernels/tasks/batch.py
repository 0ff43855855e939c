"""What the managed engine maps: how its time goes on, and tasks come and go."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.heap import pop, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import DROPPED, NOBODY, RAN
from joulewise.kernels.ledger import NOW, use, use_at
from joulewise.kernels.tasks.crowd import join_crowd, leave_crowd
from joulewise.kernels.tasks.machines import forget_lost, next_outage, note_run, will_fail
from joulewise.kernels.tasks.rolling import WORTH, remember
from joulewise.kernels.tasks.state import (
    ARRIVED,
    EFFECT,
    IN_ORDER,
    KILLED,
    MAPPING,
    ORIGIN,
    REGULAR,
    SUFFERAGE,
    UNFIXED,
)
from joulewise.kernels.tasks.type_queues import join, take_out

# Time


@shared
def next_instant(world, clock):
    """When the next mapping event happens; inf for never. Returns (instant, whether it is a regular one)."""
    rules, arrival_s = world.rules, world.tasks.arrival_s
    origin_s, regular = clock.instants[ORIGIN], clock.counts[REGULAR]
    due_s = origin_s if regular < 0 else origin_s + (regular + 1) * rules.interval_s
    arrived = clock.counts[ARRIVED]
    if rules.n_arrivals > 0 and arrived + rules.n_arrivals - 1 < arrival_s.size:
        full_s = arrival_s[arrived + rules.n_arrivals - 1]
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
def n_to_map(state):
    """How many tasks are not fixed yet, or will come back."""
    return state.clock.counts[UNFIXED] + state.batch.n_returning[0]


@inlined
def skip_idle(world, state):
    """With nothing to map, let the clock go to just before the first regular event after the next arrival."""
    counts = state.clock.counts
    if n_to_map(state) > 0 or not keeps_to_grid(world.rules):
        return
    if counts[ARRIVED] < world.tasks.arrival_s.size:
        event = event_at_or_after(world.tasks.arrival_s[counts[ARRIVED]], world.rules.interval_s)
        counts[REGULAR] = max(counts[REGULAR], event - 1)


@inlined
def mapping_time_s(clock, rules, n_tasks):
    """What mapping a batch costs on the simulated clock."""
    if rules.is_measured:
        return clock.instants[MAPPING]
    return rules.mapping_s + rules.mapping_per_task_s * n_tasks + rules.mapping_per_square_s * n_tasks * n_tasks


@shared
def horizon_of(world, clock):
    """When the plan of the next event has effect at the latest: what starts later will be planned again.

    Where tasks are postponed all must be planned: what they use decides which are.
    """
    rules, arrival_s = world.rules, world.tasks.arrival_s
    next_s, _ = next_instant(world, clock)
    if rules.is_measured or rules.postpones or not next_s < np.inf:
        return np.inf
    arrived = clock.counts[ARRIVED]
    n_more = 0
    if rules.mapping_per_task_s + rules.mapping_per_square_s > 0.0:
        while arrived + n_more < arrival_s.size and arrival_s[arrived + n_more] <= next_s:
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
def take_in(world, state, i):
    """Let a task wait: in its type's queue, in the crowd, or with a bound that makes it be looked at first."""
    batch, t = state.batch, world.tasks.task_type[i]
    if world.rules.by_type:
        join(batch.queues, t, i)
    elif world.rules.rule == SUFFERAGE:
        join_crowd(batch.crowd, t, i)
    else:
        set_bound(batch, i, -world.place[i] if world.rules.rule == IN_ORDER else np.inf, -np.inf)
        push(batch.waiting, i)
    batch.n_unfixed[t] += 1
    state.clock.counts[UNFIXED] += 1


@shared
def admit(world, state, now_s):
    """Take in what has arrived or come back."""
    batch, counts, tasks = state.batch, state.clock.counts, world.tasks
    while counts[ARRIVED] < tasks.arrival_s.size and tasks.arrival_s[counts[ARRIVED]] <= now_s:
        i = counts[ARRIVED]
        if world.rules.program == WORTH:
            remember(state.rolling, tasks, world.utilities, world.options, i, now_s)
        counts[ARRIVED] += 1
        take_in(world, state, i)
    kept = 0
    for at in range(batch.n_returning[0]):
        i = batch.returning[at]
        if batch.returns_s[at] <= now_s:
            take_in(world, state, i)
        else:
            batch.returning[kept], batch.returns_s[kept] = i, batch.returns_s[at]
            kept += 1
    batch.n_returning[0] = kept


@inlined
def leave(batch, t, n):
    """Count n unplanned tasks of a type less."""
    batch.n_unplanned[t] -= n
    for k in range(batch.n_left.size):
        batch.n_left[k] -= n * batch.reaches[t, k]


@shared
def count_left(world, state):
    """Find which task types can be allowed which machine types at all in this event, and count their tasks."""
    batch, ledger, options = state.batch, state.ledger, world.options
    batch.n_left[:] = 0
    batch.reaches[:] = False
    for t in range(batch.n_unfixed.size):
        batch.is_live[t] = False
        batch.n_unplanned[t] = batch.n_unfixed[t]
        if batch.n_unfixed[t] > 0:
            for option in range(options.first[t], options.first[t + 1]):
                if ledger.passes[option] and world.limits.cost_j[option] <= ledger.left_j[NOW]:
                    batch.is_live[t] = batch.reaches[t, options.machine_type[option]] = True
            for k in range(batch.n_left.size):
                batch.n_left[k] += batch.n_unfixed[t] * batch.reaches[t, k]


@shared
def count_out(world, state, i):
    """Count a task as one that no longer waits, and take it out of its type's queue or the crowd."""
    t = world.tasks.task_type[i]
    if world.rules.by_type:
        take_out(state.batch.queues, t, i)
    elif world.rules.rule == SUFFERAGE:
        leave_crowd(state.batch.crowd, t, i)
    state.batch.n_unfixed[t] -= 1
    state.clock.counts[UNFIXED] -= 1


@shared
def drop(world, state, i):
    """Drop a task that is in no heap."""
    state.plan.status[i] = DROPPED
    leave(state.batch, world.tasks.task_type[i], 1)
    count_out(world, state, i)


@inlined
def give_back(batch, i, at_s):
    """Let a task that a machine lost be mapped again from an instant on."""
    batch.returning[batch.n_returning[0]] = i
    batch.returns_s[batch.n_returning[0]] = at_s
    batch.n_returning[0] += 1


@inlined
def note_broken(broken, i, machine, pstate, start_s, end_s):
    """Note a run that does not complete its task."""
    row = broken.size[0]
    broken.task[row], broken.machine[row], broken.pstate[row] = i, machine, pstate
    broken.start_s[row], broken.end_s[row] = start_s, end_s
    broken.size[0] += 1


@inlined
def lose(world, state, i, machine, start_s, down_s):
    """Note that an outage cuts a run short and gives the task back."""
    note_broken(state.losses, i, machine, world.options.pstate[state.batch.choice[i]], start_s, down_s)
    give_back(state.batch, i, down_s)


@shared
def take_head(world, state, m):
    """Take the first task off a machine's queue: it is fixed now."""
    i = state.machines.head[m]
    state.machines.head[m] = state.batch.after[i]
    state.machines.n_queued[m] -= 1
    count_out(world, state, i)
    return i


@inlined
def true_exec_s(world, i, option):
    """How long a task really occupies its machine."""
    return min(world.stretch[i], world.rules.kill_factor) * world.options.exec_s[option]


@inlined
def fix(world, state, i, m, start_s, end_s):
    """Note that a task runs on a machine to its end, or until it is killed."""
    plan = state.plan
    plan.machine[i], plan.pstate[i] = m, world.options.pstate[state.batch.choice[i]]
    plan.start_s[i], plan.end_s[i] = start_s, end_s
    plan.status[i] = KILLED if world.stretch[i] > world.rules.kill_factor else RAN
    state.last_task[m] = i


@shared
def await_failure(world, state, m, start_s, fails_s, up_s):
    """Let the first task of a queue be pending on a machine that fails before it starts, which nobody knows yet."""
    machines, limits = state.machines, world.limits
    i = take_head(world, state, m)
    option = state.batch.choice[i]
    give_back(state.batch, i, fails_s)
    note_run(machines, m, start_s, world.options.exec_s[option], fails_s, limits.cost_w[option])
    machines.owed_j[m], machines.wake_j[m] = machines.wake_j[m], 0.0
    machines.ready_s[m] = machines.doomed_s[m] = up_s


@shared
def notice_failure(world, state, m, now_s):
    """Let what a machine that has failed by now has lost, and all behind it, be mapped again."""
    if forget_lost(state.machines, m, now_s):
        release(world, state, m)


@inlined
def goes_on(machines, m, until_s, now_s):
    """Whether a machine takes the next task of its queue by an instant, or has it pending."""
    is_free = machines.last_start_s[m] <= until_s and machines.doomed_s[m] <= until_s
    return is_free and not will_fail(machines, m, now_s)


@shared
def work_off(world, state, m, until_s, now_s):
    """Fix what a machine has started by an instant, and the pending task behind it; failures up to now are known."""
    machines, batch, limits, options = state.machines, state.batch, world.limits, world.options
    notice_failure(world, state, m, now_s)
    while machines.head[m] != NOBODY and goes_on(machines, m, until_s, now_s):
        start_s = max(machines.true_base_s[m], machines.ready_s[m])
        down_s, up_s = next_outage(world.downtimes, m, start_s)
        if now_s < down_s <= start_s:
            await_failure(world, state, m, start_s, down_s, up_s)
            break
        if down_s <= start_s:
            machines.ready_s[m] = machines.doomed_s[m] = up_s
            break
        i = take_head(world, state, m)
        option = batch.choice[i]
        end_s = start_s + true_exec_s(world, i, option)
        use_at(limits, state.ledger, start_s, machines.wake_j[m])
        machines.wake_j[m] = 0.0
        use(limits, state.ledger, start_s, min(end_s, down_s), limits.cost_w[option])
        note_run(machines, m, start_s, options.exec_s[option], min(end_s, down_s), limits.cost_w[option])
        if down_s < end_s:
            lose(world, state, i, m, start_s, down_s)
            machines.ready_s[m] = machines.doomed_s[m] = up_s
            break
        fix(world, state, i, m, start_s, end_s)
    notice_failure(world, state, m, now_s)
    is_running = machines.last_start_s[m] <= until_s and machines.last_start_s[m] < machines.last_end_s[m]
    if machines.head[m] != NOBODY and is_running and will_fail(machines, m, now_s):
        await_failure(world, state, m, np.inf, machines.last_end_s[m], machines.doomed_s[m])


@inlined
def release(world, state, m):
    """Let everything that is only planned on a machine wait again; a type's queue or the crowd it never left."""
    machines, batch = state.machines, state.batch
    stayed = world.rules.by_type or world.rules.rule == SUFFERAGE
    i = NOBODY if stayed else machines.head[m]
    while i != NOBODY:
        push(batch.waiting, i)
        i = batch.after[i]
    machines.head[m] = NOBODY
    machines.n_queued[m] = 0
