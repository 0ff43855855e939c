"""A user's compiled policy of parallel jobs as the engine takes it."""

from __future__ import annotations

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.jobs.outside import JobSight
from joulewise.kernels.jobs.pinned import NO_PINS
from joulewise.kernels.jobs.run import JobState
from joulewise.kernels.jobs.state import HELD, HORIZON, LAST, QUEUED
from joulewise.kernels.jobs.timetable import Book
from joulewise.kernels.outside import NO_ANSWER, Outside
from joulewise.model.arrays import Floats, seen
from joulewise.policies.own import Own
from joulewise.simulate.event import place_of
from joulewise.simulate.jobs.event import JobEvent
from joulewise.simulate.outside import N_COLUMNS, N_MEMORIES, all_seen, fault_of, no_answer


def new_idle() -> Floats:
    """Room for the event after which nothing runs, its instant, and which job could have started with which option."""
    return np.zeros(5)


def raise_fault(outside: Outside, own: Own, event: JobEvent) -> None:
    """Raise InputError when compiled code answered something impossible in this event."""
    fate, _, _, row = fault_of(outside)
    where = f"{own.name}, {event.place}"
    if fate == NO_ANSWER:
        raise InputError(no_answer(where, outside))
    if fate:
        raise InputError(event.impossible_problem(where, row[0], row[1], fate))


def idle_error(own: Own, idle: Floats) -> InputError | None:
    """What is wrong where nothing ran or was held after the last answer, though a job could have started."""
    if not idle[0]:
        return None
    number, now_s, job, option = idle[1:].tolist()
    found, allowed = "started nothing", f"nothing runs, and job {job:g} could start with option {option:g}"
    where = f"{own.name}, {place_of(int(number), now_s)}"
    return InputError(Problem(where, found, allowed, "start jobs that wait, or they wait for ever"))


def sight_of(state: JobState) -> JobSight:
    """What compiled code sees of a run: the engine's own arrays, not to be written; no true times."""
    facts, site, plan, instants, counts = state.facts, state.site, state.plan, state.site.instants, state.site.counts
    rows, book = slice(facts.n_nodes.size), state.book
    nodes = Book(
        seen(book.time_s[rows]), seen(book.free[rows]), seen(book.size[rows]), seen(book.version[rows]), NO_PINS
    )
    return JobSight(
        now_s=seen(instants[LAST : LAST + 1]),
        next_s=seen(instants[HORIZON : HORIZON + 1]),
        left_j=seen(state.ledger.left_j[:1]),
        n_waiting=seen(counts[QUEUED : QUEUED + 1]),
        job=seen(site.queue),
        tasks=all_seen(facts.tasks),
        utilities=all_seen(facts.utilities),
        ready_s=seen(plan.ready_s),
        options=all_seen(facts.options._replace(time_s=facts.options.planned_s)),
        n_nodes=seen(facts.n_nodes),
        profile=nodes,
        n_running=seen(site.running.size),
        running=seen(site.running.items),
        n_held=seen(counts[HELD : HELD + 1]),
        held=seen(site.held),
        option=seen(plan.option),
        start_s=seen(plan.start_s),
        end_s=seen(site.book_end_s),
        price_per_s=seen(state.prices.per_s),
        price_per_j=seen(state.prices.per_j),
        memory=np.zeros((plan.option.size, N_MEMORIES)),
        answer=np.zeros((plan.option.size, N_COLUMNS), np.int64),
    )
