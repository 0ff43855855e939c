"""Policies of a user's own on whole days: in plain Python, compiled, and objectives that see more."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import own_tasks
from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.policies.tasks.heuristic import heuristic
from joulewise.policies.tasks.own import own_policy
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.event import Event
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from tests.simulate.tasks.test_session import assert_same
from tests.strategies.simple_worlds import busy_world

pytestmark = pytest.mark.thorough("compiles policies of users")

WORLD = busy_world(300)
ONE_PSTATE = replace(WORLD, system=replace(WORLD.system, etc_s=WORLD.system.etc_s[:, :, :1], power_w=None))
BUILT_IN = Manager(POLICIES["max-max-upt"], 0.5)


@own_policy()
def first_come(event: Event) -> Any:
    """Every task goes where it ends first, in order of arrival."""
    free_s = np.where(event.is_open, event.free_s, np.inf)
    rows: list[tuple[int, int, int]] = []
    for task, kind in zip(event.task, event.task_type, strict=True):
        end_s = free_s + event.exec_s[kind, event.machine_type, 0]
        machine = end_s.argmin()
        if end_s[machine] < np.inf:
            rows.append((task, machine, 0))
            free_s[machine] = end_s[machine]
    return np.array(rows)


@own_policy()
def by_lot(event: Event) -> Any:
    """Tasks in a random order, one to each machine that can run it."""
    rows: list[Any] = []
    for machine in np.flatnonzero(event.is_open):
        can_run = np.isfinite(event.exec_s[event.task_type, event.machine_type[machine], 0])
        left = np.setdiff1d(event.task[can_run], [row[0] for row in rows])
        if left.size:
            rows.append((event.rng.choice(left), int(machine), 0))
    return rows


def ran(policy: Policy, **options: Any) -> Outcome:
    manager = Manager(policy, 0.5, **options)
    outcome = simulate(WORLD, manager, seed=3)
    assert check_allocation(WORLD, outcome.allocation, manager) == []
    return outcome


def test_a_policy_in_plain_python_runs_a_day_again_and_again() -> None:
    for policy in (first_come, by_lot):
        assert_same(ran(policy).allocation, ran(policy).allocation)
    ran(first_come, groups=2)


def test_max_max_upt_in_plain_python_and_compiled_is_max_max_upt() -> None:
    for policy in (own_tasks.in_python, own_tasks.compiled_policy()):
        found = simulate(ONE_PSTATE, replace(BUILT_IN, policy=policy))
        assert_same(found.allocation, simulate(ONE_PSTATE, BUILT_IN).allocation)


def past_of(event: Event) -> None:
    past = event.past
    assert (past.end_s <= event.now_s).all()
    assert past.energy_j is not None
    assert past.utility.size == past.energy_j.size == past.task.size
    first_come.own.code(event)  # type: ignore[union-attr]


def test_what_has_ended_is_shown_and_nothing_else() -> None:
    ran(own_policy()(past_of))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda event: [(event.task[0], 0, 0)] * 2, "returned .*; must be|returned .* does not wait"),
        (lambda event: [(event.task[0], 99, 0)], "on no machine that there is"),
        (lambda event: [(event.task[0], 0, 9)], "which cannot run there so"),
        (lambda event: (event.task, np.nan, 0), "must be whole numbers"),
        (lambda event: event.free_s.fill(0.0), "raised ValueError"),
    ],
)
def test_an_impossible_answer_ends_the_run(answer: Any, message: str) -> None:
    def wrong(event: Event) -> Any:
        return answer(event)

    with pytest.raises(InputError, match=r"policy wrong, event 0 at \d+ s: " + f".*({message})"):
        ran(own_policy()(wrong))


def test_a_policy_that_prints_is_told() -> None:
    @own_policy()
    def chatty(event: Event) -> None:
        print("hello")  # noqa: T201 - what is tested

    with pytest.warns(UserWarning, match="policy chatty printed"):
        ran(chatty)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ran(first_come)


def no_event() -> None:
    """Sees nothing."""


def one_tick(event: Event, more: int) -> None:
    """Wants more than there is."""


def test_policies_that_are_none_are_refused() -> None:
    for code in (one_tick, no_event, type("Empty", (), {})):
        with pytest.raises(InputError):
            own_policy()(code)
    with pytest.raises(InputError, match="above 0 s"):
        own_policy(time_limit_s=0)(first_come.own.code)  # type: ignore[union-attr]
    with pytest.raises(InputError, match="must be a function to be compiled"):
        own_policy(compiled=True)(type("Empty", (), {}))


# Compiled


def no_machine(event: Any) -> float:
    event.answer[0, 0], event.answer[0, 1], event.answer[0, 2] = event.task[0], 99, 0
    return 1


def too_many(event: Any) -> float:
    return 10**9


def out_of_bounds(event: Any) -> float:
    event.answer[10**9, 0] = 1
    return 1


def writes(event: Any) -> float:
    event.free_s[0] = 0.0
    return 0


def says_nothing(event: Any) -> None:
    event.memory[0, 0] = 1.0


def mistypes(event: Any) -> float:
    return float(event.nope)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (says_nothing, r"could not be compiled: it returns no number.*; .* return the number of rows on every path"),
        (mistypes, r"there is no 'nope' in what it sees \(line \d+\)"),
        (no_machine, "event 0 at 60 s: found task 0 on machine 99 in P-state 0, which is on no machine that there is"),
        (too_many, r"raised, or returned 1e\+09"),
        (out_of_bounds, "raised, or returned nan"),
        (writes, "could not be compiled"),
    ],
)
def test_compiled_code_is_held_to_the_same(code: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ran(own_policy(compiled=True)(code))


# Objectives that see more


def upt_again(utility: float, exec_s: float, queue_length: float, slack_s: float, pstate: float) -> float:
    return utility / exec_s + 0.0 * (queue_length + pstate)


def test_an_objective_with_its_own_parameters_sees_what_they_name() -> None:
    assert_same(ran(heuristic()(upt_again)).allocation, simulate(WORLD, BUILT_IN).allocation)

    def of_one_type(utility: float, machine_type: float, price_per_s: float, price_per_j: float) -> float:
        return utility if machine_type == 2 else -price_per_s - price_per_j

    assert ran(heuristic()(of_one_type)).allocation.status.any()


def test_parameters_that_there_are_not_are_refused() -> None:
    def strange(utility: float, colour: float) -> float:
        return utility

    with pytest.raises(InputError, match=r"found the parameters \(utility, colour\)"):
        heuristic()(strange)
    with pytest.raises(InputError, match="must be 'batch'"):
        heuristic(mode="immediate")(upt_again)
    with pytest.raises(InputError, match="leave falls_with_time out"):
        heuristic(falls_with_time=True)(upt_again)
