"""The greedy of parallel jobs against its slow twin: the same plans at every event, in every kind of world."""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joulewise.kernels.job_choice import JOB_OBJECTIVE_SIGNATURE
from joulewise.kernels.job_energy import (
    JobLimits,
    give_back_energy,
    give_back_nodes,
    n_cap_commitments,
    new_job_ledger,
    open_cap,
)
from joulewise.kernels.job_greedy import GreedyRules, drop_hopeless, greedy_pass
from joulewise.kernels.job_layout import JobFacts, empty_job_plan
from joulewise.kernels.job_pool import admit, new_job_pool, note_release
from joulewise.kernels.timetable import new_book, room_for
from joulewise.model.jobs import JobWorld
from joulewise.policies.job_layout import job_facts
from joulewise.policies.job_limits import job_limits
from tests.job_worlds import capped_worlds, limited_worlds, typed_worlds
from tests.twins.job_greedy import Plan, Twin

LATEST_S = 40 * 3600.0
HOURS = 24


def _value(expression: str) -> Any:
    """An objective by name, compiled to the one signature."""
    source = f"def value(utility, completion_s, exec_s, energy_j, wait_s, resources):\n    return float({expression})\n"
    space: dict[str, Any] = {}
    exec(source, space)
    return space["value"], numba.cfunc(JOB_OBJECTIVE_SIGNATURE, error_model="numpy")(space["value"])


FALLING = tuple(_value(f"utility / {by}") for by in ("1.0", "exec_s", "resources", "energy_j"))
OTHER = tuple(_value(text) for text in ("wait_s", "utility * wait_s - exec_s"))


class Case(NamedTuple):
    """A world with a scheduler's switches."""

    world: JobWorld
    rules: GreedyRules
    value: Any
    interval_s: float
    settings: dict[str, Any]
    charge: list[float]


class Fast:
    """The kernels, with the twin's face."""

    def __init__(self, case: Case, facts: JobFacts, limits: JobLimits) -> None:
        self.facts, self.limits, self.rules, self.value = facts, limits, case.rules, case.value[1]
        n = facts.tasks.arrival_s.size
        capacity = np.append(facts.n_nodes, limits.cap_mw.max()) if limits.has_cap else facts.n_nodes
        room = room_for(n + n_cap_commitments(limits, LATEST_S))
        self.book, self.trial = new_book(capacity, room), new_book(capacity, room)
        self.pool, self.ledger = new_job_pool(facts, limits), new_job_ledger(limits)
        self.pool.charge[:] = case.charge
        self.plan = empty_job_plan(facts.tasks.arrival_s)
        self.is_first = True

    def event(self, ready: list[int], ended: list[Plan], now_s: float, next_s: float) -> list[Plan]:
        n = one_event(
            self.pool, self.value, self.rules, self.facts, self.limits, self.ledger, self.book, self.trial, self.plan,
            np.array(ready, np.int64), np.array([p.job for p in ended], np.int64),
            np.array([p.end_s for p in ended], np.float64), now_s, next_s, self.is_first,
        )  # fmt: skip
        self.is_first = False
        found = []
        for i in self.pool.fixed[:n].tolist():
            option, start_s = int(self.plan.option[i]), float(self.plan.start_s[i])
            found.append(Plan(i, option, start_s, start_s + float(self.facts.options.planned_s[option])))
        return found


def compare(case: Case) -> int:
    """Run both side by side; jobs end at their true times, events come by the clock or with every change."""
    facts = job_facts(case.world)
    limits = job_limits(case.world, facts, **case.settings)
    fast, twin = Fast(case, facts, limits), Twin(facts, limits, case.rules, case.value[0], case.charge)
    can_run = np.diff(facts.options.first) > 0
    coming = [i for i in range(case.world.n_jobs) if can_run[facts.tasks.task_type[i]]]
    ends: list[tuple[float, Plan]] = []
    now_s, n_fixed, stop_s = 0.0, 0, min(case.world.jobs.work.end_s, 600 * case.interval_s)
    while now_s < stop_s and (coming or twin.waiting):
        ready = [i for i in coming if facts.tasks.arrival_s[i] <= now_s]
        coming = coming[len(ready) :]
        early = []
        while ends and ends[0][0] <= now_s:
            end_s, p = heapq.heappop(ends)
            if end_s == now_s < p.end_s:
                early.append(p)
                twin.release(p.job, now_s)
        is_clocked = math.isfinite(case.interval_s)
        next_s = now_s + case.interval_s if is_clocked else now_s
        expected = twin.event(ready, now_s, next_s)
        found = fast.event(ready, early, now_s, next_s)
        assert sorted(found) == sorted(expected), (now_s, found, expected)
        n_fixed += len(found)
        for p in found:
            true_s = p.start_s + float(facts.options.time_s[p.option])
            heapq.heappush(ends, (p.end_s if is_clocked else min(true_s, p.end_s), p))
        if not is_clocked:
            instants = [*(facts.tasks.arrival_s[coming[:1]]), *(end_s for end_s, _ in ends[:1])]
            next_s = float(min(instants, default=math.inf))
        now_s = next_s
    assert fast.pool.n_rises[0] == 0
    return n_fixed


@st.composite
def cases(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld], *, filters: bool = False) -> Case:
    """Worlds with any switches."""
    world = draw(worlds)
    falls = draw(st.integers(0, 4)) > 0
    value = draw(st.sampled_from(FALLING if falls else OTHER))
    threshold = draw(st.sampled_from((-math.inf, 0.5, 2.0)))
    rules = GreedyRules(threshold, draw(st.booleans()), draw(st.booleans()), draw(st.booleans()), falls)
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    interval_s = draw(st.sampled_from((1.0, 2.0, 5.0, math.inf))) * unit_s
    settings: dict[str, Any] = {}
    if filters:
        settings["energy_filter"] = draw(st.sampled_from(("none", "per-task", "per-resource")))
        settings["leniency"] = draw(st.sampled_from((0.5, 1.0, 2.0, "adaptive")))
    n = world.types.n_options
    charge = draw(st.sampled_from(([0.0] * n, [0.25 * (k % 5) for k in range(n)])))
    return Case(world, rules, value, interval_s, settings, charge)


@given(cases(typed_worlds(12)))
def test_plans_are_those_of_the_twin(case: Case) -> None:
    compare(case)


@given(cases(typed_worlds(12, is_certain=False)))
def test_plans_are_those_of_the_twin_where_jobs_end_early(case: Case) -> None:
    compare(case)


@given(cases(limited_worlds(12), filters=True))
def test_plans_are_those_of_the_twin_with_budgets_and_filters(case: Case) -> None:
    compare(case)


@given(cases(capped_worlds(10)))
def test_plans_are_those_of_the_twin_under_a_cap(case: Case) -> None:
    compare(case)
