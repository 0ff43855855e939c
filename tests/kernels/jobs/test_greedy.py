"""The greedy of parallel jobs against its slow twin, in every kind of world; what it keeps to; days worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import Segment, Shape, UtilityShapes, Workload, constant, linear, step
from joulewise.model.clusters import NodeStandby
from joulewise.model.jobs import Fate, Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.jobs.orders import PER_ENERGY, PER_RESOURCE, PER_TIME, UTILITY
from joulewise.policies.jobs.policy import JobObjective, JobPolicy
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.cases import each_seed
from tests.strategies.job_worlds import capped_worlds, clusters_of, limited_worlds, typed_worlds, types_of, work_of
from tests.twins.jobs.greedy import Story, simulate


def _rising(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility * wait_s - exec_s


FALLING, RISING = (UTILITY, PER_TIME, PER_RESOURCE, PER_ENERGY), JobObjective(_rising)


def greedy(objective: JobObjective, *, declines: bool = False) -> JobPolicy:
    """A policy that follows an objective."""
    name = f"{objective.value.__name__}, {'declines' if declines else 'takes all'}"
    return JobPolicy(name, name, "", "", "greedy", objective=objective, all_pstates=True, declines=declines)


# Against the twin


def told(world: JobWorld, scheduler: Scheduler) -> Story:
    """What the simulator does, as the twin tells it."""
    allocation = simulate_jobs(world, scheduler).allocation
    used = np.flatnonzero(allocation.used).tolist()
    plans = {i: (int(allocation.option[i]), float(allocation.start_s[i])) for i in used}
    return Story(plans, set(np.flatnonzero(allocation.fate == Fate.DROPPED).tolist()))


def agree(world: JobWorld, scheduler: Scheduler) -> None:
    """Both tell the same of all that starts in the window."""
    expected, found = simulate(world, scheduler), told(world, scheduler)
    end_s = world.jobs.work.end_s
    started = {i: plan for i, plan in expected.plans.items() if plan[1] < end_s}
    assert found.plans == started
    assert found.dropped == expected.dropped


@st.composite
def schedulers(draw: st.DrawFn, world: JobWorld) -> Scheduler:
    """Any switches that the greedy knows."""
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    has_budget = math.isfinite(world.supply.budget_j)
    return Scheduler(
        greedy(draw(st.sampled_from((*FALLING, RISING))), declines=has_budget and draw(st.booleans())),
        mapping_interval_s=unit_s * draw(st.sampled_from((1.0, 2.0, 5.0, math.inf))),
        commitment=draw(st.sampled_from(("place-holders", "reservations"))),
        dropping_threshold=draw(st.sampled_from((0.0, 0.5, 2.0))),
        dropping_by=draw(st.sampled_from(("task", "option"))),
        energy_filter=draw(st.sampled_from(("none", "per-task", "per-resource"))) if has_budget else "none",
        leniency=draw(st.sampled_from((0.5, 1.0, 4.0, "adaptive"))),
    )


@st.composite
def scheduled_worlds(draw: st.DrawFn) -> tuple[JobWorld, Scheduler]:
    """A world of any kind, and a scheduler for it."""
    certain = draw(st.booleans())
    world = draw(st.one_of(typed_worlds(12, is_certain=certain), limited_worlds(12), capped_worlds(10)))
    return world, draw(schedulers(world))


UNSEEN = JobWorld(
    clusters_of([1]), types_of([[(0, 1, 1.0)]]), Jobs(work_of([0.0, 1.0], types=[0, 0], scale=np.zeros(2), end_s=3.0))
)
"""Of two jobs worth nothing the second comes after the only event: no event drops it."""


@given(case=scheduled_worlds())
@example(case=(UNSEEN, Scheduler(greedy(UTILITY), mapping_interval_s=5.0, dropping_threshold=0.5)))
def test_schedules_are_those_of_the_twin(case: tuple[JobWorld, Scheduler]) -> None:
    agree(*case)


SHAPES = UtilityShapes.of(
    [
        constant(), linear(20.0), step(15.0), Shape("falls", (Segment(0.0, 0.0, 1.0, 0.1),)),
        Shape("falls twice", (Segment(0.0, 0.5, 0.5, 0.1), Segment(12.0, 0.2, 0.1, 0.05))),
    ]
)  # fmt: skip


def crowded_world(rng: np.random.Generator) -> JobWorld:
    """A few small clusters, up to 25 jobs at a time, all kinds of utility; half of them with a budget or a cap."""
    n_nodes = rng.integers(1, 9, rng.integers(1, 5)).tolist()
    options = []
    for _ in range(rng.integers(1, 6)):
        rows: list[tuple[float, ...]] = []
        for cluster in np.flatnonzero(rng.random(len(n_nodes)) < 0.6).tolist() or [0]:
            for pstate in range(rng.integers(1, 4)):
                nodes, time_s = int(rng.integers(1, n_nodes[cluster] + 1)), float(rng.integers(1, 12))
                more_s, power_w = float(rng.choice([0, 0, 3])), float(nodes * rng.integers(2, 5))
                rows.append((cluster, nodes, time_s, time_s + more_s, power_w, pstate))
        options.append(rows)
    n = int(rng.integers(5, 26))
    arrival_s = np.cumsum(rng.integers(0, 3, n) * (rng.random(n) < 0.6)).astype(float)
    job_type, shape = rng.integers(0, len(options), n, np.int32), rng.integers(0, 5, n, np.int32)
    scale, hold_s = rng.integers(0, 9, n).astype(float), rng.integers(0, 5, n).astype(float)
    start_s = float(rng.integers(0, 6))
    end_s = start_s + float(rng.integers(20, 80))
    work = Workload(arrival_s, job_type, shape, scale, hold_s, SHAPES, start_s, end_s, is_prorated=True)
    types = types_of(options)
    supplies = (
        Supply(),
        Supply(cap_w=np.ceil([types.power_w.max()]) + rng.integers(0, 30)),
        Supply(float(rng.integers(50, 2000)), bool(rng.random() < 0.3), float(rng.choice([16.0, 64.0]))),
    )
    cores = rng.choice([1, 2, 4], len(n_nodes)).tolist()
    return JobWorld(clusters_of(n_nodes, cores), types, Jobs(work), supplies[rng.integers(3)])


def any_scheduler(rng: np.random.Generator, has_budget: bool) -> Scheduler:
    """Switches at random."""
    objective = FALLING[rng.integers(4)] if rng.random() < 0.8 else RISING
    return Scheduler(
        greedy(objective, declines=bool(rng.random() < 0.3)),
        mapping_interval_s=float(rng.choice([1.0, 2.0, 5.0, math.inf])),
        commitment=("place-holders", "reservations")[rng.integers(2)],
        dropping_threshold=float(rng.choice([0.0, 0.5, 2.0])),
        dropping_by=("task", "option")[rng.integers(2)],
        energy_filter=("none", "per-task", "per-resource")[rng.integers(3)] if has_budget else "none",
        leniency=(0.5, 1.0, 4.0, "adaptive")[rng.integers(4)],
    )


@each_seed(5)
def test_crowded_schedules_are_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        world = crowded_world(rng)
        agree(world, any_scheduler(rng, math.isfinite(world.supply.budget_j)))


# By hand: four nodes of two cores, days of 100 s


FAST, SLOW = (0, 2, 10.0, 10.0, 6.0, 0), (0, 2, 20.0, 20.0, 4.0, 1)
"""Options of 60 J and 40 core-seconds, and of 80 J and 80 core-seconds."""


def small_world(
    arrival_s: list[float], supply: Supply, options: tuple[tuple[float, ...], ...] = (FAST, SLOW), end_s: float = 200.0
) -> JobWorld:
    """Jobs of one type that are worth 1 whenever they are done."""
    work = work_of(arrival_s, types=[0] * len(arrival_s), end_s=end_s, is_prorated=True)
    return JobWorld(clusters_of([4], [2]), types_of([options]), Jobs(work), supply)


def plans_of(world: JobWorld, objective: JobObjective = PER_TIME, **settings: Any) -> list[tuple[int, float]]:
    """P-state and start of each job; -1 where it has none."""
    allocation = simulate_jobs(world, Scheduler(greedy(objective), **settings)).allocation
    pairs = zip(allocation.option.tolist(), allocation.start_s.tolist(), strict=True)
    return [(option, start_s if option >= 0 else -1.0) for option, start_s in pairs]


@pytest.mark.parametrize(
    ("energy_filter", "leniency", "plan"),
    [
        ("none", 1.0, (0, 0.0)),
        ("per-resource", 1.2, (0, 0.0)),  # 1.2 x 1,000 J / 800 core-seconds are 1.5 J for each: 60 J for 40
        ("per-resource", 1.19, (1, 0.0)),  # 80 J for 80 core-seconds still pass
        ("per-task", 1.0, (0, 0.0)),  # 800 / 60 tasks, each of which may use 75 J
        ("per-task", 0.8, (0, 0.0)),  # exactly 60 J
        ("per-task", 0.79, (-1, -1.0)),
    ],
)
def test_filters_let_pass_what_eq_6_to_9_say(energy_filter: Any, leniency: float, plan: tuple[int, float]) -> None:
    world = small_world([0.0], Supply(1000.0, day_s=100.0), end_s=100.0)
    found = plans_of(world, energy_filter=energy_filter, leniency=leniency)
    assert found == [plan]


def test_an_hour_of_a_high_tariff_has_less_leniency() -> None:
    supply = Supply(1000.0, day_s=100.0, tariff=np.array([1.5, 0.5]))
    settings: dict[str, Any] = {"energy_filter": "per-resource", "leniency": 1.5}
    assert plans_of(small_world([0.0], supply, end_s=100.0), **settings) == [(0, 0.0)]
    assert plans_of(small_world([0.0], supply, end_s=100.0), follows_tariff=True, **settings) == [(1, 0.0)]


def test_what_the_budget_of_a_day_does_not_have_waits_for_the_next() -> None:
    world = small_world([0.0, 0.0], Supply(100.0, day_s=100.0))
    assert plans_of(world) == [(0, 0.0), (0, 100.0)]


def test_all_energy_of_a_job_must_be_left_today_though_midnight_cuts_it() -> None:
    for budget_j, start_s in ((60.0, 95.0), (59.0, -1.0)):
        world = small_world([95.0], Supply(budget_j, day_s=100.0), (FAST,))
        assert plans_of(world)[0][1] == start_s
    shared = small_world([0.0, 95.0, 100.0], Supply(120.0, day_s=100.0), (FAST,))  # the second leaves 90 J to day 2
    assert plans_of(shared) == [(0, 0.0), (0, 95.0), (0, 100.0)]


def test_jobs_over_midnight_that_are_planned_together_share_both_days() -> None:
    """Half of the 60 J of each is today's: of 90 J the first leaves 60 J, of 89 J less than the second needs."""
    for budget_j, second in ((90.0, (0, 95.0)), (89.0, (-1, -1.0))):
        world = small_world([95.0, 95.0], Supply(budget_j, day_s=100.0), (FAST,))
        assert plans_of(world) == [(0, 95.0), second]


def test_power_is_never_above_the_cap() -> None:
    world = small_world([0.0, 0.0, 0.0], Supply(cap_w=np.array([10.0])))
    assert plans_of(world, commitment="reservations") == [(0, 0.0), (0, 10.0), (0, 20.0)]
    assert plans_of(world, UTILITY, commitment="reservations") == [(0, 0.0), (0, 10.0), (1, 0.0)]


def test_an_hour_with_a_lower_cap_is_left_out() -> None:
    supply = Supply(cap_w=np.array([10.0, 3.0]))
    world = small_world([3000.0], supply, ((0, 2, 1000.0, 1000.0, 6.0, 0),), end_s=14400.0)
    assert plans_of(world, commitment="reservations") == [(0, 7200.0)]


def test_a_newcomer_that_is_worth_more_goes_before_place_holders_but_not_before_reservations() -> None:
    options = [[(0, 4, 10.0)], [(0, 4, 10.0)]]
    work = work_of([0.0, 1.0, 2.0], types=[0, 0, 1], scale=np.array([1.0, 1.0, 8.0]))
    world = JobWorld(clusters_of([4]), types_of(options), Jobs(work))
    starts = {c: [s for _, s in plans_of(world, UTILITY, commitment=c)] for c in ("place-holders", "reservations")}
    assert starts == {"place-holders": [0.0, 20.0, 10.0], "reservations": [0.0, 10.0, 20.0]}


def test_dropping_is_by_what_a_job_could_earn_now_or_by_what_an_option_earns() -> None:
    work = work_of([0.0, 0.0], linear(40.0), types=[0, 0], end_s=200.0)
    world = JobWorld(clusters_of([4]), types_of([[(0, 4, 12.0)]]), Jobs(work))
    fates = {}
    for dropping_by in ("task", "option"):
        scheduler = Scheduler(
            greedy(UTILITY), commitment="reservations", dropping_threshold=0.5, dropping_by=dropping_by
        )
        fates[dropping_by] = simulate_jobs(world, scheduler).allocation.fate.tolist()
    assert fates == {"task": [Fate.RAN, Fate.RAN], "option": [Fate.RAN, Fate.DROPPED]}


@pytest.mark.parametrize(
    ("world", "energy_filter", "named"),
    [
        (small_world([0.0], Supply(100.0), end_s=math.inf), "none", "must end"),
        (small_world([0.0], Supply(100.0), ((0, 1, 5.0),)), "none", "no power for option 0"),
        (small_world([0.0], Supply()), "per-task", "without a budget"),
    ],
)
def test_limits_that_do_not_fit_are_refused(world: JobWorld, energy_filter: Any, named: str) -> None:
    with pytest.raises(InputError, match=named):
        simulate_jobs(world, Scheduler(greedy(UTILITY), energy_filter=energy_filter))


def test_a_cap_below_what_idle_nodes_draw_is_refused() -> None:
    world = small_world([0.0], Supply(cap_w=np.array([10.0])))
    standby = NodeStandby(*(np.array([n]) for n in (3.0, 1.0, 3.0, math.inf, 0.0)))
    with pytest.raises(InputError, match="alone draw 12 W"):
        simulate_jobs(replace(world, clusters=replace(world.clusters, standby=standby)), Scheduler(greedy(UTILITY)))
