"""Power and energy of sites: starts and places against the plain twin, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.check.jobs.recompute import recompute_jobs
from joulewise.errors import InputError
from joulewise.model.arrays import Bools
from joulewise.model.conditions import Conditions, Kind
from joulewise.model.jobs import Fate, JobWorld
from joulewise.model.passes import Passes
from joulewise.model.site import Demands, NodePower, Site, no_limits
from joulewise.model.site_power import least_w
from joulewise.model.supply import HOUR_S, Supply
from joulewise.optimise.jobs.bound import job_bound
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.measures import job_measures, used_energy_j
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.simulate.jobs.test_site import NAMES, PASSES, stays, twin_of
from tests.strategies.job_worlds import trace_world
from tests.strategies.random_site_power import limited, with_power
from tests.strategies.random_sites import crowded_worlds, failing_worlds, site_worlds, waiting_worlds
from tests.twins.jobs.site_power import PowerTwin
from tests.twins.jobs.sites import SiteTwin

WORLDS = limited(
    st.one_of(
        site_worlds(overruns=True),
        site_worlds(keeps=True),
        waiting_worlds(site_worlds()),
        crowded_worlds(),
        failing_worlds(site_worlds()),
    )
)


def powered_twin(world: JobWorld, scheduler: Scheduler) -> SiteTwin:
    twin = twin_of(world, scheduler)
    twin.power = PowerTwin(world, twin.planned_s)
    return twin


def assert_is_that_of_the_twin(world: JobWorld, scheduler: Scheduler, twin: SiteTwin) -> None:
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    wanted = twin.run()
    assert {job: stay.start_s for job, stay in wanted.items()} == {
        int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))
    }
    assert allocation.places is not None
    assert stays(allocation.places)[0] == {job: dict(sorted(stay.at.items())) for job, stay in wanted.items()}
    assert twin.power is not None
    drawn = {(one.job, one.start_s): one.power_w for one in twin.power.drawings}
    least = {job: twin.power.least_w(job) for job in wanted}
    assert all(power_w >= least[job] - 1e-9 for (job, _), power_w in drawn.items() if job in least)


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@given(world=WORLDS, name=st.sampled_from(NAMES), ahead=st.sampled_from((None, 0, 2)))
def test_starts_and_places_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    scheduler = Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead)
    assert_is_that_of_the_twin(world, scheduler, powered_twin(world, scheduler))


@given(world=limited(site_worlds(is_roomy=True)), passes=PASSES, name=st.sampled_from(NAMES))
def test_the_passes_of_slurm_are_those_of_the_plain_twin(world: JobWorld, passes: Passes, name: str) -> None:
    assert world.site is not None
    slow = replace(passes, clock_s=0.0)
    world = replace(world, site=replace(world.site, passes=slow))
    scheduler = Scheduler(JOB_POLICIES[name], passes="slurm")
    assert_is_that_of_the_twin(world, scheduler, powered_twin(world, scheduler))


@pytest.mark.parametrize("name", ["max-util", "max-upe", "max-upr"])
@given(world=st.one_of(limited(site_worlds()), with_power(site_worlds())))
def test_what_is_worth_most_starts_as_in_the_plain_twin(name: str, world: JobWorld) -> None:
    if np.isnan(world.types.power_w).any():
        return
    scheduler = Scheduler(JOB_POLICIES[name])
    twin, types, work = powered_twin(world, scheduler), world.types, world.jobs.work
    objective = scheduler.policy.objective
    assert objective is not None

    def worth(job: int, start_s: float) -> float:
        if start_s == math.inf:
            return -math.inf
        plan_s = twin.planned_s[job]
        utility, wait_s = float(work.utility(job, start_s + plan_s)), start_s - float(work.arrival_s[job])
        resources = plan_s * float(types.nodes[types.first[job]])
        energy_j = np.float64(twin.energy_j(job, start_s))
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = float(objective.value(np.float64(utility), start_s + plan_s, plan_s, energy_j, wait_s, resources))
        return -math.inf if math.isnan(gain) else gain

    twin.worth = worth
    assert_is_that_of_the_twin(world, scheduler, twin)


@given(world=st.one_of(with_power(crowded_worlds()), limited(crowded_worlds())))
def test_energies_are_those_that_are_recomputed(world: JobWorld) -> None:
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    measured = job_measures(world, allocation)
    for name, value in recompute_jobs(world, allocation).items():
        assert measured[name] == pytest.approx(value, nan_ok=True), name


@given(world=limited(site_worlds()))
def test_no_run_earns_more_than_the_bound(world: JobWorld) -> None:
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["max-util"])).allocation
    assert job_measures(world, allocation)["utility"] <= job_bound(world).value * (1 + 1e-9)


def sited(rows: list[tuple[float, int, float]], supply: Supply) -> JobWorld:
    """A node of 8 processors that draws 20 W, and 5 W for each in use; jobs come, with processors, for some time."""
    site = Site(
        ("cores",), ("all",), np.array([1]), np.array([[8]]), np.array([1]), ("batch",), np.ones((1, 1), np.bool_),
        np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
        power=NodePower(np.array([20.0]), np.array([[5.0]])),
    )  # fmt: skip
    n, cores = len(rows), np.array([row[1] for row in rows])
    one = np.ones(n, np.int64)
    demands = Demands(
        np.arange(n, dtype=np.int32),
        np.zeros(n, np.int32),
        one,
        one,
        cores[:, None, None],
        one[:, None],
        np.empty((n, 0), np.int64),
        no_limits(n, n),
    )
    world = trace_world(rows, n_nodes=8)
    types = replace(world.types, power_w=least_w(site, demands))
    work = replace(world.jobs.work, end_s=10 * HOUR_S)
    return replace(world, types=types, site=site, supply=supply, jobs=replace(world.jobs, work=work, demands=demands))


def starts(world: JobWorld, name: str = "easy") -> list[float]:
    """When jobs start, in hours."""
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES[name])).allocation
    assert check_jobs(world, allocation, Scheduler(JOB_POLICIES[name])) == []
    return [float(at_s) / HOUR_S for at_s in allocation.start_s]


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative"])
def test_a_job_for_which_there_is_no_power_is_passed_over(name: str) -> None:
    rows = [(0.0, 4, HOUR_S), (0.0, 4, HOUR_S), (0.0, 2, HOUR_S), (60.0, 1, HOUR_S)]
    assert starts(sited(rows, Supply(cap_w=np.array([50.0]))), name) == [0, 1, 0, 1], "20 + 4 * 5 + 2 * 5 = 50 W"
    assert starts(sited(rows, Supply()), name)[1] == 0


def test_a_lower_cap_to_come_is_seen_before_a_job_starts() -> None:
    caps = Supply(cap_w=np.array([60.0, 60, 30, 30, 60, 60]))
    rows = [(0.0, 4, 2 * HOUR_S), (60.0, 4, 2 * HOUR_S), (120.0, 2, 2 * HOUR_S)]
    assert starts(sited(rows, caps)) == [0, 4, 120 / HOUR_S], "at 2 h there are 10 W beside the idle node"
    assert starts(sited([(0.0, 4, 3 * HOUR_S), (0.0, 1, 3 * HOUR_S)], caps))[1] == 0
    assert math.isclose(starts(sited([(0.0, 4, 3 * HOUR_S)], caps))[0], 4.0)


def test_a_job_that_no_cap_allows_never_fits() -> None:
    world = sited([(0.0, 8, HOUR_S), (0.0, 6, HOUR_S)], Supply(cap_w=np.array([30.0, 50.0])))
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert allocation.fate.tolist() == [Fate.IMPOSSIBLE, Fate.RAN]
    assert allocation.start_s[1] == HOUR_S
    assert check_jobs(world, allocation, Scheduler(JOB_POLICIES["easy"])) == []


@pytest.mark.parametrize(("any_of", "start_h"), [(None, 1.0), (np.array([False, False, True]), 0.0)])
def test_what_a_job_waits_for_of_one_that_no_cap_allows_counts_as_met(any_of: Bools | None, start_h: float) -> None:
    world = sited([(0.0, 8, HOUR_S), (0.0, 1, HOUR_S), (0.0, 1, HOUR_S)], Supply(cap_w=np.array([50.0])))
    ended = np.full(2, Kind.ENDED_WELL, np.int8)
    conditions = Conditions(np.array([2, 2]), np.array([0, 1]), ended, np.zeros(2), any_of=any_of)
    world = replace(world, jobs=replace(world.jobs, conditions=conditions))
    assert starts(world)[1:] == [0.0, start_h]


def test_parts_that_no_cap_allows_together_are_refused() -> None:
    world = sited([(0.0, 4, HOUR_S), (0.0, 3, HOUR_S)], Supply(cap_w=np.array([50.0])))
    none, no_ints = np.empty(0), np.empty(0, np.int32)
    parts = Conditions(no_ints, no_ints, np.empty(0, np.int8), none, together=np.array([0, 0]))
    world = replace(world, jobs=replace(world.jobs, conditions=parts))
    with pytest.raises(InputError, match="found 1 job whose parts draw more together than the highest cap leaves"):
        simulate_jobs(world, Scheduler(JOB_POLICIES["easy"]))
    higher = replace(world, supply=Supply(cap_w=np.array([55.0])))
    assert starts(higher) == [0, 0]
    with pytest.raises(InputError, match="groups drawn for each part may never have room"):
        simulate_jobs(higher, Scheduler(JOB_POLICIES["random"]))


def test_groups_are_drawn_of_those_that_a_cap_allows() -> None:
    site = Site(
        ("cores",), ("sparing", "hungry"), np.array([9, 9]), np.array([[1], [1]]), np.array([1, 2]), ("batch",),
        np.ones((1, 2), np.bool_), np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
        power=NodePower(np.zeros(2), np.array([[1.0], [10.0]])),
    )  # fmt: skip
    one, n = np.ones(1, np.int64), 9
    demands = Demands(
        np.zeros(n, np.int32), np.zeros(1, np.int32), one, one, np.ones((1, 2, 1), np.int64), np.ones((1, 2), np.int64),
        np.empty((1, 0), np.int64), no_limits(n, 1),
    )  # fmt: skip
    world = trace_world([(0.0, 1, 60.0)] * n, n_nodes=18)
    types = replace(world.types, power_w=np.ones(world.types.n_options))
    world = replace(world, types=types, site=site, jobs=replace(world.jobs, demands=demands))
    scheduler = Scheduler(JOB_POLICIES["random"])
    drawn = simulate_jobs(world, scheduler).allocation.places
    assert drawn is not None
    assert set(drawn.group.tolist()) == {0, 1}
    capped = simulate_jobs(replace(world, supply=Supply(cap_w=np.array([9.0]))), scheduler).allocation
    assert (capped.fate == Fate.RAN).all(), "no job waits for ever on nodes that draw more than the cap"
    assert capped.places is not None
    assert set(capped.places.group.tolist()) == {0}


def test_jobs_wait_for_the_next_day_when_the_energy_of_one_is_used() -> None:
    day_s = 2 * HOUR_S
    supply = Supply(budget_j=20 * day_s + 20 * HOUR_S, day_s=day_s)
    rows = [(0.0, 4, HOUR_S), (0.0, 4, HOUR_S), (0.0, 2, HOUR_S), (0.0, 8, 0.5 * HOUR_S)]
    assert starts(sited(rows, supply)) == [0, 2, 4, 6], "a day has the energy of one of these, and not of two"
    total = replace(supply, budget_j=5 * supply.budget_j, is_total=True)
    assert starts(sited(rows, total)) == [0, 2, 4, 6]


def test_what_is_drawn_and_used_is_measured() -> None:
    world = sited([(0.0, 4, HOUR_S), (0.0, 8, HOUR_S)], Supply(pue=1.5))
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert used_energy_j(world, allocation).tolist() == [1.5 * 20 * HOUR_S, 1.5 * 40 * HOUR_S]
    measured = job_measures(world, allocation)
    assert measured["standby_energy_j"] == 1.5 * 20 * 10 * HOUR_S
    assert measured["energy_j"] == 1.5 * (20 * 10 + 20 + 40) * HOUR_S
    assert measured["energy_peak_w"] == 1.5 * 60


def test_what_breaks_a_limit_is_found() -> None:
    world = sited([(0.0, 4, HOUR_S), (0.0, 4, HOUR_S)], Supply())
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    scheduler = Scheduler(JOB_POLICIES["easy"])
    capped = replace(world, supply=Supply(cap_w=np.array([59.0])))
    assert "power at 0.0 s: found 60.0 W; expected 59.0 W or less" in check_jobs(capped, allocation, scheduler)[0]
    short = replace(world, supply=Supply(budget_j=20 * 86_400.0 + 39 * HOUR_S))
    assert "day 0: energy over idle nodes: found 144000.0 J" in check_jobs(short, allocation, scheduler)[0]


def test_energy_counts_by_the_nodes_that_a_job_would_get() -> None:
    """The short job is worth more by the joule than the long one where it runs on the sparing nodes alone."""
    site = Site(
        ("cores",), ("sparing", "hungry"), np.array([1, 1]), np.array([[1], [1]]), np.array([1, 2]), ("batch",),
        np.ones((1, 2), np.bool_), np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
        power=NodePower(np.zeros(2), np.array([[1.0], [10.0]])),
    )  # fmt: skip
    one = np.ones(1, np.int64)
    demands = Demands(
        np.zeros(2, np.int32), np.zeros(1, np.int32), one, one, np.ones((1, 2, 1), np.int64), np.ones((1, 2), np.int64),
        np.empty((1, 0), np.int64), no_limits(2, 1),
    )  # fmt: skip
    world = trace_world([(0.0, 1, 20.0), (0.0, 1, 10.0)], n_nodes=2)
    types = replace(world.types, power_w=least_w(site, demands)[[0, 0]])
    world = replace(world, types=types, site=site, jobs=replace(world.jobs, demands=demands))
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["max-upe"])).allocation
    assert allocation.places is not None
    group = dict(zip(allocation.places.job.tolist(), allocation.places.group.tolist(), strict=True))
    assert group[1] == 0, "the job with more utility by the joule is first"


def test_limits_need_powers_an_end_and_plans_that_hold() -> None:
    world = sited([(0.0, 4, HOUR_S)], Supply(cap_w=np.array([50.0, 60.0])))
    nan = replace(world, types=replace(world.types, power_w=np.array([math.nan])))
    endless = replace(world, jobs=replace(world.jobs, work=replace(world.jobs.work, end_s=math.inf)))
    low = replace(world, supply=Supply(cap_w=np.array([19.0])))
    easy = Scheduler(JOB_POLICIES["easy"])
    for wrong, scheduler, told in (
        (nan, easy, "give idle_power and core_power"),
        (endless, easy, "counted window without an end"),
        (low, easy, "nodes without jobs alone draw 20 W"),
        (world, Scheduler(JOB_POLICIES["easy"], overrun="unaware"), "which must then hold"),
        (world, Scheduler(JOB_POLICIES["max-util"], energy_filter="per-task"), "energy_filter"),
    ):
        with pytest.raises(InputError, match=told):
            simulate_jobs(wrong, scheduler)
