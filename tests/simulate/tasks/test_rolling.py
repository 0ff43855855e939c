"""Linear programs that a manager solves at every event: the solver against HiGHS, the bags against their definition."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from joulewise.errors import InputError
from joulewise.kernels.jit import kernel
from joulewise.kernels.linear import COMMON, INEXACT, REASONS, SOLVED
from joulewise.kernels.tasks import rolling, state
from joulewise.kernels.tasks.program import LEFT, Program, new_program, solve_program
from joulewise.model import World
from joulewise.model.arrays import Floats
from joulewise.model.supply import Supply
from joulewise.policies.layout import layout_of
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.managed import Engine, manage, start
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.needs import with_end, with_powers
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

pytestmark = pytest.mark.thorough("compiles a program of its own")

EXACT = 1e-9
SPLIT, PRICES = POLICIES["bag-makespan"], POLICIES["bag-prices"]


_solve: Any = solve_program


@kernel
def solved(program: Any, may_leave: bool) -> int:
    return int(_solve(program, may_leave))


# The solver


def drawn_program(seed: int, may_leave: bool) -> Program:
    """A small program; whole numbers of half the seeds make many of its bases degenerate."""
    rng = np.random.default_rng([seed, may_leave])
    n_groups, n_types = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    sizes = rng.integers(1, 2 * n_types + 1, n_groups)
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    n = int(first[-1])
    takes = rng.integers(1, 6, (2, n)).astype(float) if seed % 2 else rng.gamma(4.0, 0.5, (2, n))
    program = new_program(first, rng.integers(0, n_types, n), takes[0], takes[1], n_types + 1)
    return with_numbers(program, rng, may_leave)


def with_numbers(program: Program, rng: np.random.Generator, may_leave: bool) -> Program:
    """The program with tasks, costs and limits."""
    n_rows = program.limit.size
    program.n[:] = rng.integers(0, 8, program.n.size)
    if may_leave:
        program.cost[:] = -rng.integers(1, 9, program.cost.size)
        program.limit[:] = program.slope[:] = rng.choice([0.5, 1.0, 8.0], n_rows) * rng.integers(1, 9, n_rows)
        program.stretch_cost[0] = 9.0 * program.n.sum()
    else:
        program.cost[:] = 1e-3 * program.take_s
        program.limit[:] = [*-rng.integers(0, 9, n_rows - 1), 0.0]
        program.slope[:] = rng.integers(1, 5, n_rows)
        program.stretch_cost[0] = float(n_rows)
        program.basis.key[:] = program.first[:-1]
    return program


def spread_of(program: Program) -> tuple[Floats, float]:
    """How many tasks go by each column, and the stretch."""
    x, stretch, basis = np.zeros(program.row.size), 0.0, program.basis
    parts = [*zip(basis.key, program.key_amount, strict=True)]
    for group, column, amount in zip(basis.group, basis.column, basis.amount, strict=True):
        if group == COMMON:
            stretch = amount
        elif group >= 0:
            parts.append((column, amount))
    for column, amount in parts:
        if column != LEFT:
            x[column] += amount
    return x, stretch


def least_cost(program: Program, may_leave: bool) -> float:
    """The optimum by HiGHS."""
    n_rows, n_columns = program.limit.size, program.row.size
    rows, groups = np.zeros((n_rows, n_columns + 1)), np.zeros((program.n.size, n_columns + 1))
    rows[program.row, np.arange(n_columns)] = program.take_s
    rows[-1, :-1] = program.take_j
    rows[:, -1] = -program.slope
    groups[np.repeat(np.arange(program.n.size), np.diff(program.first)), np.arange(n_columns)] = 1.0
    cost = np.append(program.cost, program.stretch_cost)
    if may_leave:
        found = linprog(cost, np.vstack((rows, groups)), np.append(program.limit, program.n))
    else:
        found = linprog(cost, rows, program.limit, groups, program.n)
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize("may_leave", [False, True])
def test_solver_finds_what_highs_finds(may_leave: bool) -> None:
    """Also when it goes on from the basis of other numbers, as it does from event to event."""
    for seed in range(60):
        program, rng = drawn_program(seed, may_leave), np.random.default_rng(seed)
        for _ in range(3):
            assert solved(program, may_leave) == SOLVED
            assert_optimal(program, may_leave)
            keys = program.basis.key.copy()
            with_numbers(program, rng, may_leave).basis.key[:] = keys


@pytest.mark.parametrize("harm", [1.0 + 1e-3, 0.0])
def test_an_inverse_that_rounding_has_spoilt_is_made_afresh(harm: float) -> None:
    """The solver goes on from its last basis. Here all but the slacks of its inverse are no longer right."""
    n_spoilt = 0
    for seed in range(30):
        program = drawn_program(seed, may_leave=True)
        solved(program, True)
        rows = program.basis.group >= 0
        program.basis.inverse[rows] *= harm
        n_spoilt += int(rows.any())
        assert solved(program, True) == SOLVED
        assert_optimal(program, True)
    assert n_spoilt > 10


def test_a_solver_that_gives_up_says_so() -> None:
    """A row without room that no stretch widens has no solution; the first reason stays."""
    program = drawn_program(1, may_leave=False)
    program.n[:], program.limit[:], program.slope[:] = 5.0, -1.0, 0.0
    reason = solved(program, False)
    assert reason in REASONS
    assert program.status[0] == reason
    with_numbers(program, np.random.default_rng(1), False)
    assert solved(program, False) == SOLVED
    assert_optimal(program, False)
    assert program.status[0] == reason


def test_a_run_whose_program_was_given_up_is_no_result() -> None:
    engine = Engine(busy_world(), Manager(PRICES), 0)
    engine.state.rolling.program.status[0] = INEXACT
    with pytest.raises(InputError, match=r"policy bag-prices: .*could not be solved: rounding grew"):
        engine.run(-1.0, is_last=False)


def assert_optimal(program: Program, may_leave: bool) -> None:
    x, stretch = spread_of(program)
    used = np.zeros(program.limit.size)
    np.add.at(used, program.row, x * program.take_s)
    used[-1] = x @ program.take_j
    assert (x >= -EXACT).all()
    assert (used <= program.limit + stretch * program.slope + EXACT * (1 + used)).all()
    cost = float(x @ program.cost + stretch * program.stretch_cost[0])
    assert cost == pytest.approx(least_cost(program, may_leave), rel=1e-7, abs=1e-7)


# The split of what waits


def test_the_split_balances_what_a_greedy_would_crowd() -> None:
    """Six tasks of two types at 0; both types are fastest on machine x (1 s), but type b is slow on y (4 s) and type a
    is not (2 s): all are done first, at 4 s, with the three b and one a on x, and two a on y."""
    system = simple_system([[1.0, 2.0], [1.0, 4.0]], [1, 1])
    world = World(system, simple_workload([0.0] * 6, [0, 1] * 3))
    done = manage(world, Manager(SPLIT), n_recorded=1)
    assert done.quotas[0, :, :, 0].tolist() == [[1, 2], [3, 0]]
    assert done.allocation.end_s.max() == 4.0


def test_the_split_counts_what_machines_have_to_do() -> None:
    """At 1 machine x is busy up to 8, so that the two tasks that come then are done first on y, at 1 + 3 + 3."""
    system = simple_system([[8.0, math.inf], [2.0, 3.0]], [1, 1])
    world = World(system, simple_workload([0.0, 1.0, 1.0], [0, 1, 1]))
    found = simulate(world, Manager(SPLIT, mapping_interval_s=1.0)).allocation
    assert found.machine.tolist() == [0, 1, 1]


def test_the_split_keeps_to_the_power_that_a_budget_leaves() -> None:
    """8 tasks, 2 s at 6 W or 4 s at 1 W; 32 J for 32 s are 1 W: two machines can do no more at the fast rate."""
    system = replace(simple_system([[2.0]], [2]), etc_s=np.array([[[2.0, 4.0]]]), power_w=np.array([[[6.0, 1.0]]]))
    world = World(system, simple_workload([0.0] * 8, end_s=32.0), Supply(32.0, day_s=32.0))
    found = simulate(world, Manager(SPLIT, mapping_interval_s=1.0)).allocation
    assert (found.pstate == 1).all()
    quick = replace(world, supply=Supply(1000.0, day_s=32.0))
    assert (simulate(quick, Manager(SPLIT, mapping_interval_s=1.0)).allocation.pstate == 0).all()


# The bag of the last hours


def expected_bag(world: World, manager: Manager, last_s: float) -> tuple[Floats, Floats]:
    """Tasks by type and level, and what each of their options would earn, each fading from the event that saw it."""
    work, options = world.workload, layout_of(world, manager.n_types).options
    n, tops = np.zeros((world.system.n_task_types, rolling.LEVELS)), np.maximum.accumulate(work.scale)
    worth = np.zeros((rolling.LEVELS, options.exec_s.size))
    for i in range(work.n_tasks):
        seen_s = manager.mapping_interval_s * math.ceil(work.arrival_s[i] / manager.mapping_interval_s)
        if seen_s <= last_s:
            halvings = math.log2(tops[i] / work.scale[i]) if work.scale[i] > 0 else math.inf
            level, t = int(min(halvings, rolling.LEVELS - 1)), work.task_type[i]
            part = math.exp(-(last_s - seen_s) / rolling.MEMORY_S)
            n[t, level] += part
            for option in range(options.first[t], options.first[t + 1]):
                worth[level, option] += part * float(work.utility(i, seen_s + options.exec_s[option]))
    columns = [worth[:, slice(*options.first[t : t + 2])].ravel() for t in range(world.system.n_task_types)]
    return n.ravel(), np.concatenate(columns)


def run_of(world: World, manager: Manager) -> Engine:
    engine = start(world, manager, n_recorded=10_000)
    engine.run(world.workload.end_s)
    return engine


def assert_bag_is_remembered(world: World, manager: Manager) -> None:
    """The bag is that of the definition, and the last prices prove what it can be worth at most."""
    engine = run_of(world, manager)
    program, last_s = engine.state.rolling.program, engine.state.clock.instants[state.LAST]
    n, worth = expected_bag(world, manager, last_s)
    np.testing.assert_allclose(program.n, n, rtol=1e-6)
    np.testing.assert_allclose(engine.state.rolling.worth, worth, rtol=1e-6, atol=1e-9)
    if program.limit[-1] > 0.0:
        per_row = np.maximum(-program.price, 0.0)
        gain = -program.cost - per_row[program.row] * program.take_s - per_row[-1] * program.take_j
        gains = [max(0.0, gain[slice(*program.first[g : g + 2])].max()) for g in range(program.n.size)]
        proven = float(per_row @ program.limit + np.array(gains) @ program.n)
        assert proven == pytest.approx(-least_cost(program, may_leave=True), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("budget_j", [math.inf, 3000.0])
def test_a_busy_bag_is_remembered_and_priced(budget_j: float) -> None:
    world = with_end(with_powers(busy_world()))
    assert_bag_is_remembered(replace(world, supply=Supply(budget_j)), Manager(PRICES))


@given(data=st.data())
def test_a_small_bag_is_remembered_and_priced(data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(KINDS["limited"]())
    assert_bag_is_remembered(scenario.world, scenario.manager(PRICES))


def crowded(scale: list[float]) -> World:
    """Each minute come tasks of these scales, of 10 s each, to ten machines that have time for 60."""
    arrival_s = np.repeat(np.arange(120) * 60.0, len(scale)).tolist()
    work = replace(simple_workload(arrival_s, end_s=7200.0), scale=np.tile(scale, 120))
    return World(simple_system([[10.0]], [10]), work)


def test_a_crowd_makes_machine_time_dear_and_cheap_tasks_wait() -> None:
    """80 tasks of 1 and 40 of 9 each minute: the last to find room is worth 1, so a second is worth 1/10."""
    engine = run_of(crowded([1.0] * 80 + [9.0] * 40), Manager(PRICES))
    assert engine.state.prices.per_s[0] == pytest.approx(0.1, rel=0.04)
    dear = crowded([1.0] * 40 + [9.0] * 80)
    engine = run_of(dear, Manager(PRICES))
    assert engine.state.prices.per_s[0] > 0.5
    assert not engine.allocation().ran[dear.workload.scale == 1.0].any()


def test_a_crowd_of_equals_does_not_keep_itself_out() -> None:
    """At the program's price nobody gains by running; machines that idle for it become cheaper."""
    world = crowded([5.0] * 120)
    ran = run_of(world, Manager(PRICES)).allocation().ran
    assert ran.sum() > 0.8 * 60 * 120


@pytest.mark.parametrize("policy", [SPLIT, PRICES], ids=lambda policy: policy.title)
def test_a_budget_is_kept(policy: Any) -> None:
    world = with_end(with_powers(busy_world()))
    free = measures(world, simulate(world, Manager(policy)))["energy_j"]
    budget_j = 0.5 * free
    limited = replace(world, supply=Supply(budget_j, day_s=world.workload.end_s - world.workload.start_s))
    found = measures(limited, simulate(limited, Manager(policy)))
    assert 0 < found["energy_j"] <= budget_j * (1 + EXACT)
