"""Kernels against plain Python, queueing theory, and every schedule there is."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.kernels import choice, events, jit
from joulewise.kernels import heap as heaps
from joulewise.kernels.layout import pack_options
from joulewise.kernels.records import record
from joulewise.kernels.steps import step, way_of
from joulewise.model import Shape, System, World, constant, linear
from joulewise.model import step as step_utility
from joulewise.optimise.bounds import utility_ceiling
from joulewise.policies.layout import layout_of
from joulewise.policies.tasks.table import POLICIES
from joulewise.rng import generator
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.strategies.heuristics import EVERY_POLICY
from tests.strategies.needs import fit_for
from tests.strategies.random_worlds import Scenario, scenarios
from tests.strategies.simple_worlds import simple_system, simple_workload


# Kernels carry no types; here they are called from code that does.
def callable_from_here(function: Any) -> Any:
    """A function that otherwise only kernels can call."""
    return numba.njit(lambda *arguments: function(*arguments))


utility_of = callable_from_here(choice.utility_of)
comes_before = callable_from_here(choice.comes_before)
event_at_or_after = callable_from_here(events.event_at_or_after)
push = callable_from_here(heaps.push)
pop = callable_from_here(heaps.pop)
replace_top = callable_from_here(heaps.replace_top)

# Utilities


@given(scenarios(), st.lists(st.floats(0.0, 100.0), min_size=1, max_size=5))
def test_scalar_and_vectorised_utilities_agree(scenario: Scenario, after_s: list[float]) -> None:
    work, layout = scenario.world.workload, layout_of(scenario.world)
    for task, after in itertools.product(range(work.n_tasks), after_s):
        at_s = float(work.arrival_s[task]) + after
        found = utility_of(layout.tasks, layout.utilities, task, at_s)
        assert found == pytest.approx(float(work.utility(task, at_s)), rel=1e-12, abs=1e-12)


# The order of choices

KEYS = st.tuples(st.sampled_from([-math.inf, -1.0, 0.0, 1.0, math.inf]), st.sampled_from([0.0, 1.0, 2.0]))


def in_order(keys: list[tuple[float, float]]) -> list[int]:
    """Task numbers by higher value, earlier completion, lower number."""
    return sorted(range(len(keys)), key=lambda i: (-keys[i][0], keys[i][1], i))


def heap_of(keys: list[tuple[float, float]]) -> heaps.Heap:
    tasks = heaps.empty_heap(len(keys))
    for i, (value, completion_s) in enumerate(keys):
        tasks.value[i], tasks.completion_s[i] = value, completion_s
        push(tasks, i)
    return tasks


def popped(tasks: heaps.Heap) -> Iterator[int]:
    while tasks.size[0] > 0:
        yield int(tasks.items[0])
        pop(tasks)


@given(st.lists(KEYS, max_size=30))
def test_heap_gives_tasks_in_order(keys: list[tuple[float, float]]) -> None:
    assert list(popped(heap_of(keys))) == in_order(keys)


@given(st.lists(KEYS, min_size=1, max_size=30), KEYS)
def test_heap_renews_its_top(keys: list[tuple[float, float]], key: tuple[float, float]) -> None:
    tasks = heap_of(keys)
    top = in_order(keys)[0]
    tasks.value[top], tasks.completion_s[top] = keys[top] = key
    replace_top(tasks, top)
    assert list(popped(tasks)) == in_order(keys)


@given(st.lists(KEYS, max_size=30))
def test_order_of_arrays_is_that_of_choices(keys: list[tuple[float, float]]) -> None:
    value, completion_s = (np.array([key[part] for key in keys], float) for part in (0, 1))
    assert choice.in_order(value, completion_s, np.arange(len(keys))).tolist() == in_order(keys)


@given(KEYS, KEYS, st.integers(0, 2), st.integers(0, 2))
def test_choices_are_ordered_like_tuples(a: tuple[float, float], b: tuple[float, float], i: int, j: int) -> None:
    assert comes_before(*a, i, *b, j) == ((-a[0], a[1], i) < (-b[0], b[1], j))


# Options and events


def test_options_are_those_that_can_run_fastest_first() -> None:
    etc_s = np.array([[[3.0, 4.0], [1.0, math.inf], [2.0, 3.0]], [[math.inf, math.inf], [5.0, 6.0], [1.0, 1.0]]])
    options = pack_options(etc_s, 10 * etc_s, np.array([[True, False, True]] * 2))
    assert options.first.tolist() == [0, 4, 6]
    assert options.machine_type.tolist() == [2, 0, 2, 0, 2, 2]
    assert options.pstate.tolist() == [0, 0, 1, 1, 0, 1]
    assert options.exec_s.tolist() == [2.0, 3.0, 3.0, 4.0, 1.0, 1.0]
    assert options.energy_j.tolist() == [20.0, 30.0, 30.0, 40.0, 10.0, 10.0]


@given(st.floats(0.0, 1e9), st.floats(1e-3, 1e5))
def test_the_next_event_is_the_first_not_before(at_s: float, interval_s: float) -> None:
    event = event_at_or_after(at_s, interval_s)
    assert event * interval_s >= at_s
    assert event == 0 or (event - 1) * interval_s < at_s


@given(st.integers(0, 10**6), st.floats(1e-3, 1e5))
def test_an_event_is_its_own_next(event: int, interval_s: float) -> None:
    assert event_at_or_after(event * interval_s, interval_s) == event


# By hand


@record
class Inner(NamedTuple):
    places: Any
    scale: float


@record
class Outer(NamedTuple):
    inner: Inner
    table: Any
    is_open: bool
    step: int


@jit.shared
def _fill(outer, i):  # type: ignore[no-untyped-def]
    outer.inner.places[i] = outer.inner.scale * outer.table[i, outer.step] if outer.is_open else 0.0


@numba.njit
def _fill_all(outer):  # type: ignore[no-untyped-def]
    for i in range(outer.inner.places.size):
        _fill(outer, i)  # type: ignore[no-untyped-call]
    return outer.inner.scale


@pytest.mark.parametrize("is_open", [True, False])
def test_records_are_read_and_their_arrays_written(is_open: bool) -> None:
    outer = Outer(Inner(np.ones(3), 2.0), np.arange(6.0).reshape(3, 2), is_open, 1)
    assert _fill_all(outer) == 2.0
    assert outer.inner.places.tolist() == ([2.0, 6.0, 10.0] if is_open else [0.0, 0.0, 0.0])


@record
class Doubling(NamedTuple):
    by: float


@record
class Adding(NamedTuple):
    by: float


@step
def _change(how, number):  # type: ignore[no-untyped-def]
    """The number, changed."""


@way_of(_change, Doubling)
def _multiplied(doubling, number):  # type: ignore[no-untyped-def]
    return doubling.by * number


@way_of(_change, Adding)
def _added(adding, number):  # type: ignore[no-untyped-def]
    return adding.by + number


@numba.njit
def _changed(how, number):  # type: ignore[no-untyped-def]
    return _change(how, number)  # type: ignore[no-untyped-call]


def test_a_step_is_taken_in_the_way_of_the_record() -> None:
    assert _changed(Doubling(2.0), 5.0) == 10.0
    assert _changed(Adding(2.0), 5.0) == 7.0
    with pytest.raises(numba.core.errors.TypingError):
        _changed(Inner(np.ones(1), 2.0), 5.0)


def test_a_record_with_a_field_that_is_no_number_is_refused() -> None:
    with pytest.raises(numba.core.errors.TypingError):
        _fill_all(Outer(Inner(object(), 2.0), np.zeros((3, 2)), True, 1))


def test_the_two_stage_greedy_by_hand() -> None:
    """Three tasks at one event on a fast and a slow machine: 1 s and 3 s for type 0, 2 s and 3 s for type 1.

    Min-Min Comp takes task 0 (done at 1 s), then task 2 (2 s), and then task 1 is done at 3 s on the slow machine,
    where the fast one would need until 4 s.
    """
    system = simple_system([[1.0, 3.0], [2.0, 3.0]])
    world = World(system, simple_workload([0.0, 0.0, 0.0], [0, 1, 0]))
    allocation = simulate(world, Manager(POLICIES["min-min-comp"])).allocation
    assert allocation.machine.tolist() == [0, 1, 0]
    assert allocation.start_s.tolist() == [0.0, 0.0, 1.0]
    assert allocation.end_s.tolist() == [1.0, 3.0, 2.0]


def test_the_virtual_queue_is_mapped_anew() -> None:
    """One machine, tasks of 6 s, events each 10 s. At 0 four tasks come: one executes, one pends, two are virtual.

    At 6 s the second starts and the third becomes pending. At 10 s the fifth, worth more, passes only the fourth.
    """
    work = simple_workload([0.0, 0.0, 0.0, 0.0, 5.0], shape=linear(1000.0))
    work = dataclasses.replace(work, scale=np.array([1.0, 1.0, 1.0, 1.0, 9.0]))
    world = World(simple_system([[6.0]]), work)
    allocation = simulate(world, Manager(POLICIES["max-max-util"], 0.0, 10.0)).allocation
    assert allocation.start_s.tolist() == [0.0, 6.0, 12.0, 24.0, 18.0]


def test_a_late_task_is_dropped_when_it_is_seen() -> None:
    """Seen at 10 s, it would complete at 16 s, 13 s after arrival: past its deadline in batch mode only."""
    world = World(simple_system([[6.0]]), simple_workload([3.0], shape=step_utility(12.0)))
    fate = {
        name: int(simulate(world, Manager(POLICIES[name], 0.5, 10.0)).allocation.status[0])
        for name in ("max-util", "max-max-util")
    }
    assert fate == {"max-util": 1, "max-max-util": 2}


# Every schedule there is


def best_utility_of_all(world: World) -> float:
    """The most utility of any assignment and any order, all tasks being there from the start."""
    system, work = world.system, world.workload
    best = 0.0
    for order in itertools.permutations(range(work.n_tasks)):
        for machines in itertools.product(range(system.n_machines), repeat=work.n_tasks):
            best = max(best, _utility_of(world, order, machines))
    return best


def _utility_of(world: World, order: tuple[int, ...], machines: tuple[int, ...]) -> float:
    free_s, earned = [0.0] * world.system.n_machines, 0.0
    for task, machine in zip(order, machines, strict=True):
        kind = world.system.machine_type[machine]
        free_s[machine] += float(world.system.etc_s[world.workload.task_type[task], kind, 0])
        earned += float(world.workload.utility(task, free_s[machine])) if math.isfinite(free_s[machine]) else 0.0
    return earned


@pytest.mark.parametrize("shape", [constant(), linear(6.0), step_utility(5.0)], ids=["constant", "linear", "step"])
def test_no_policy_beats_the_best_schedule_and_no_schedule_the_ceiling(shape: Shape) -> None:
    system = simple_system([[2.0, 3.0], [4.0, math.inf], [5.0, 1.0]], [1, 1])
    world = World(system, simple_workload([0.0] * 4, [0, 1, 2, 0], shape, scale=2.0))
    best = best_utility_of_all(world)
    assert best <= utility_ceiling(world) + 1e-12
    for policy in EVERY_POLICY:
        fit = fit_for(policy, world)
        assert measures(fit, simulate(fit, Manager(policy)))["utility"] <= best + 1e-12, policy.title


# Queueing theory


def erlang_c(n_servers: int, load: float) -> float:
    """The probability that an arrival to an M/M/c queue has to wait; `load` is arrival rate over service rate."""
    blocked = 1.0
    for n in range(1, n_servers + 1):
        blocked = load * blocked / (n + load * blocked)
    busy = load / n_servers
    return blocked / (1 - busy * (1 - blocked))


@pytest.mark.parametrize(("n_machines", "busy"), [(1, 0.6), (3, 0.8), (10, 0.9)])
def test_waiting_is_that_of_an_m_m_c_queue(n_machines: int, busy: float) -> None:
    """Immediate mode on equal machines is first come, first served: Erlang's mean wait lies in the interval.

    Every task has a type of its own, so that every service time is its own exponential draw (mean 1 s).
    """
    n_tasks, n_batches = 200_000, 20
    rng = generator(0, "tests.m_m_c", n_machines)
    arrival_s = np.cumsum(rng.exponential(1.0 / (busy * n_machines), n_tasks))
    names = tuple(map(str, range(n_tasks)))
    system = System(names, ("m",), np.array([n_machines]), rng.exponential(1.0, (n_tasks, 1, 1)))
    work = simple_workload(arrival_s.tolist(), list(range(n_tasks)))
    allocation = simulate(World(system, work), Manager(POLICIES["max-util"])).allocation
    wait_s = (allocation.start_s - arrival_s)[n_tasks // n_batches :]
    batch_means_s = wait_s.reshape(n_batches - 1, -1).mean(axis=1)
    standard_error_s = batch_means_s.std(ddof=1) / math.sqrt(batch_means_s.size)
    expected_s = erlang_c(n_machines, busy * n_machines) / (n_machines * (1 - busy))
    assert abs(batch_means_s.mean() - expected_s) < 3 * standard_error_s
    assert standard_error_s < 0.1 * expected_s
    waits = wait_s > 0
    assert waits.mean() == pytest.approx(erlang_c(n_machines, busy * n_machines), rel=0.03)
