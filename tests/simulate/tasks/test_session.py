"""Stepping through events from outside: what is seen, what may be assigned, and the greedy played by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.model import World
from joulewise.model.allocation import Allocation
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.event import Event
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from joulewise.simulate.tasks.session import Session
from tests.strategies.cases import cases
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

COLUMNS = ("machine", "pstate", "start_s", "end_s", "status")
MAX_MAX_UPT = POLICIES["max-max-upt"]


def choices(event: Event, is_left: np.ndarray, declines: bool) -> list[tuple[int, int, int]]:
    """Each choice of the tasks left on the machine of its type that is free first, the best first."""
    found = []
    first = {
        k: min(np.flatnonzero(event.is_open & (event.machine_type == k)), key=lambda m: event.free_s[m], default=None)
        for k in set(event.machine_type.tolist())
    }
    for row in np.flatnonzero(is_left):
        for k, p in zip(*np.nonzero(np.isfinite(event.exec_s[event.task_type[row]])), strict=True):
            m, exec_s = first.get(int(k)), event.exec_s[event.task_type[row], k, p]
            if m is not None:
                completion_s = event.free_s[m] + exec_s
                value = event.world.workload.most_from(event.task[row], completion_s) / exec_s
                if value > 0 or not declines:
                    found.append((-value, completion_s, event.task[row], k, p, m))
    return [(int(i), int(m), int(p)) for _, _, i, _, p, m in sorted(found)]


def play_max_max_upt(event: Event, declines: bool) -> None:
    """Assign the best choice that is allowed, again and again."""
    is_left = np.ones(event.task.size, bool)
    while is_left.any():
        placed = next((c[0] for c in choices(event, is_left, declines) if event.assign(*c).all()), None)
        if placed is None:
            return
        is_left &= event.task != placed


def assert_same(found: Allocation, expected: Allocation) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@pytest.mark.parametrize("kind", KINDS)
@cases(divided_by=4)
@given(data=st.data())
def test_max_max_upt_by_hand_is_max_max_upt(kind: str, data: st.DataObject) -> None:
    """Budgets, filters, caps, clocks, polled machines, failures and true times mean the same to who steps."""
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    manager = scenario.manager(MAX_MAX_UPT)
    session = Session(scenario.world, manager)
    for event in session:
        play_max_max_upt(event, manager.only_worthwhile)
    outcome = session.outcome()
    assert_same(outcome.allocation, simulate(scenario.world, manager).allocation)
    assert check_allocation(scenario.world, outcome.allocation, session.manager) == []


def test_nothing_assigned_is_nothing_run() -> None:
    outcome = Session(busy_world(50)).outcome()
    assert set(outcome.allocation.status.tolist()) == {0}


def first_event(world: World, **switches: object) -> Event:
    return next(iter(Session(world, Manager(MAX_MAX_UPT, mapping_interval_s=1.0, **switches))))  # type: ignore[arg-type]


def two_tasks() -> World:
    """Two tasks at once; the first machine cannot run the second one."""
    return World(
        simple_system([[4.0, 2.0], [np.inf, 1.0]], [1, 1]), simple_workload([0.0, 0.0, 9.0], [0, 1, 0], end_s=20.0)
    )


def test_an_event_shows_what_is_there_and_follows_assignments() -> None:
    event = first_event(two_tasks())
    assert (event.now_s, event.effect_s, event.next_s) == (0.0, 0.0, 1.0)
    assert event.task.tolist() == [0, 1]
    assert event.utility(event.free_s[[0, 1]] + 1.0).tolist() == [1.0, 1.0]
    assert event.worthless_at_s.tolist() == [np.inf, np.inf]
    assert event.price_per_s.tolist() == [0.5 * 3 / 7] * 2, "half of what the three options earn by their seconds"
    assert event.price_per_j == 0.0
    assert event.assign([0, 1], [0, 1]).tolist() == [True, True]
    assert event.free_s.tolist() == [4.0, 1.0]
    assert event.n_queued.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        event.free_s[0] = 0.0


def test_what_tasks_earn_is_what_their_workload_says() -> None:
    world = busy_world(50)
    event = next(iter(Session(world)))
    at_s = np.linspace(-100.0, 4000.0, 60).reshape(20, 3)
    for who, instants in ((np.arange(20), at_s), (np.arange(20), at_s[:, 0]), (7, at_s), (np.int32(7), 300.0)):
        rows = np.reshape(who, np.shape(who) + (1,) * (np.ndim(instants) - np.ndim(who)))
        expected = world.workload.utility(rows, np.asarray(instants))
        np.testing.assert_allclose(event.utility(instants, who), expected, rtol=1e-14)
    for nobody in (-1, 50):
        with pytest.raises(IndexError, match="numbers from 0 to 49"):
            event.utility(0.0, nobody)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [(2, 0, 0)],
            "event 0 at 0 s: found task 2 on machine 0 in P-state 0, which does not wait",
        ),
        (
            [(0, 0, 0), (0, 1, 0)],
            "found task 0 on machine 1 in P-state 0, which does not wait, or was assigned",
        ),
        ([(-1, 0, 0)], "does not wait, or was assigned already"),
        ([(0, 7, 0)], "is on no machine that there is"),
        ([(0, -1, 0)], "is on no machine that there is"),
        ([(1, 0, 0)], "cannot run there so"),
        ([(0, 0, 1)], "cannot run there so"),
        ([(0, 0, -1)], "cannot run there so"),
    ],
)
def test_impossible_assignments_are_named(rows: list[tuple[int, int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        first_event(two_tasks()).assign(*zip(*rows, strict=True))


def test_a_polled_machine_takes_one_task() -> None:
    assert first_event(two_tasks(), environment="polled").assign([0, 1], [1, 1]).tolist() == [True, False]
