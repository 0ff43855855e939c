"""The event loop of batch mode, with the steps that differ between engines.

An engine is a record of the tasks to map and what it keeps of them from event to event: bounds in a heap (`lazy`),
one queue per task type (`by_type`) or every value anew (`plain`).
"""

from __future__ import annotations

from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import DROPPED, WAITING
from joulewise.kernels.steps import step
from joulewise.kernels.tasks.choice import most_utility
from joulewise.kernels.tasks.fleet import open_event

NO_EVENT = -1


@step
def admit(engine, world, i):
    """Take in a task that has arrived."""


@step
def map_event(engine, world, fleet, plan, next_s):
    """Map what waits until nothing more can be fixed before the next event, which is at next_s."""


@step
def n_waiting(engine):
    """How many tasks wait after an event."""


@inlined
def next_event(event, waiting, arrived, world):
    """The next event that has work, or NO_EVENT."""
    if waiting > 0:
        return event + 1
    if arrived == world.tasks.arrival_s.size:
        return NO_EVENT
    return max(event + 1, event_at_or_after(world.tasks.arrival_s[arrived], world.interval_s))


@inlined
def drop_hopeless(world, fleet, plan, arrived):
    """Mark the arrived tasks that still wait and can no longer earn their threshold."""
    for i in range(arrived):
        if plan.status[i] == WAITING and most_utility(world, i, fleet.base_start_s) < world.threshold[i]:
            plan.status[i] = DROPPED


@kernel
def run_batch(engine, world, fleet, plan, end_s):
    """Map the workload up to an instant; returns the number of mapping events that had work."""
    arrival_s, interval_s = world.tasks.arrival_s, world.interval_s
    arrived, n_events = 0, 0
    event = event_at_or_after(arrival_s[0], interval_s)
    while event != NO_EVENT and event * interval_s <= end_s:
        now_s, next_s = event * interval_s, (event + 1) * interval_s
        while arrived < arrival_s.size and arrival_s[arrived] <= now_s:
            admit(engine, world, arrived)
            arrived += 1
        open_event(fleet, now_s, next_s)
        map_event(engine, world, fleet, plan, next_s)
        n_events += 1
        event = next_event(event, n_waiting(engine), arrived, world)
    drop_hopeless(world, fleet, plan, arrived)
    return n_events
