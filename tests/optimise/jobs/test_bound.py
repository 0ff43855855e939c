"""The bound of parallel jobs: valid at any prices, against dense sampling, exact optima, itself and every policy."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.jobs.prices import best_job_gains, job_dual_value
from joulewise.errors import InputError
from joulewise.model import UtilityShapes, Workload, constant, linear, step
from joulewise.model.arrays import Floats
from joulewise.model.clusters import NodeStandby
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.optimise.jobs.bound import JobBound, certified_job_bound, job_bound, job_ceiling, job_market
from joulewise.optimise.price_market import Certificate
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs.measures import earned_utility
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.cases import each_seed
from tests.strategies.job_worlds import busy_job_world, clusters_of, trace_world, typed_worlds, types_of

EXACT = 1e-9


def edges_of(world: JobWorld) -> Floats:
    """Where a new price of energy may begin, and the end."""
    work, supply = world.jobs.work, world.supply
    if supply.is_total or math.isinf(supply.budget_j):
        return np.array([work.start_s, work.end_s])
    return np.append(np.arange(work.start_s, work.end_s - 1e-9 * work.end_s, supply.day_s), work.end_s)


def overlap_s(edges_s: Floats, start_s: Floats, end_s: Floats) -> Floats:
    """How much of each run lies between each two edges."""
    inside_s = np.minimum(end_s[:, None], edges_s[None, 1:]) - np.maximum(start_s[:, None], edges_s[None, :-1])
    return np.asarray(np.maximum(inside_s, 0.0))


def extra_w(world: JobWorld, option: int) -> float:
    """What an option draws at the meter on top of its nodes asleep, or idle where they never sleep."""
    types, standby = world.types, world.clusters.standby
    least_w = 0.0
    if standby is not None:
        k = types.cluster[option]
        asleep_w = min(standby.sleep_w[k], standby.boot_w[k]) if standby.boot_s[k] > 0 else standby.sleep_w[k]
        least_w = float(standby.idle_w[k] if math.isinf(standby.sleep_after_s[k]) else asleep_w)
    return world.supply.pue * float(types.power_w[option] - types.nodes[option] * least_w)


def cost_of(world: JobWorld, prices: Certificate, option: int, start_s: Floats, end_s: Floats) -> Floats:
    """What stretches of an option pay, price by price, by a rule other than the kernel's."""
    k, edges_s = world.types.cluster[option], np.linspace(0.0, world.jobs.work.end_s, prices.per_s.shape[1] + 1)
    for_nodes = world.types.nodes[option] * (overlap_s(edges_s, start_s, end_s) @ prices.per_s[k])
    return np.asarray(for_nodes + extra_w(world, option) * (overlap_s(edges_of(world), start_s, end_s) @ prices.per_j))


def share_of(world: JobWorld, start_s: Floats, end_s: Floats) -> Floats:
    """How much of each run counts."""
    work = world.jobs.work
    if not work.is_prorated:
        return work.in_window(end_s).astype(float)
    return overlap_s(np.array([work.start_s, work.end_s]), start_s, end_s)[:, 0] / (end_s - start_s)


def options_of(world: JobWorld, job: int) -> range:
    kind = world.jobs.work.task_type[job]
    return range(world.types.first[kind], world.types.first[kind + 1])


def sampled_gain(world: JobWorld, prices: Certificate, job: int) -> float:
    """The most a job gains over densely sampled starts, or nothing."""
    work, best = world.jobs.work, 0.0
    for option in options_of(world, job):
        time_s = float(world.types.time_s[option])
        last_s = work.end_s - (0.0 if work.is_prorated else time_s)
        if last_s < work.arrival_s[job]:
            continue
        start_s = np.linspace(work.arrival_s[job], last_s, 1000)
        earned = work.utility(job, start_s + time_s) * share_of(world, start_s, start_s + time_s)
        paid = cost_of(world, prices, option, start_s, start_s + time_s)
        best = max(best, float(np.where(earned > 0, earned - paid, 0.0).max()))
    return best


@st.composite
def markets(draw: st.DrawFn) -> tuple[JobWorld, Certificate]:
    """A small world with a window, perhaps a budget and standby, and random prices on a few slots."""
    world = draw(typed_worlds(most_jobs=6, is_certain=False))
    unit_s = float(world.types.time_s.min())
    start_s = unit_s * draw(st.sampled_from([0.0, 1.5, 4.0]))
    end_s = start_s + unit_s * draw(st.sampled_from([3.0, 10.0, 24.0]))
    work = replace(world.jobs.work, start_s=start_s, end_s=end_s, is_prorated=draw(st.booleans()))
    n = world.clusters.n_clusters
    boot_w, boot_s = draw(st.sampled_from((1.0, 0.1))), draw(st.sampled_from((0.0, 1.0)))
    standby = NodeStandby(*(np.full(n, value) for value in (1.0, 0.3, boot_w, 5.0, boot_s)))
    if draw(st.booleans()):
        world = replace(world, clusters=replace(world.clusters, standby=standby))
    budget_j = (end_s - start_s) * draw(st.sampled_from([3.0, 30.0, math.inf]))
    day_s = (end_s - start_s) * draw(st.sampled_from([0.35, 0.5, 1.0, 2.0]))
    supply = Supply(budget_j, draw(st.booleans()), day_s, pue=draw(st.sampled_from([1.0, 1.5])))
    world = replace(world, jobs=replace(world.jobs, work=work), supply=supply)
    shape, n_periods = (n, draw(st.integers(1, 6))), edges_of(world).size - 1
    level = draw(st.sampled_from([0.05, 0.5])) / unit_s
    rng = generator(draw(st.integers(0, 99)), "tests.job_bound.markets")
    per_s = rng.exponential(level, shape) * (rng.random(shape) < 0.8)
    return world, Certificate(per_s, rng.exponential(0.1 * level, n_periods))


@given(markets())
def test_no_sampled_run_gains_more_and_both_evaluations_agree(market: tuple[JobWorld, Certificate]) -> None:
    world, prices = market
    _, answer = job_market(world).answer(prices)
    again = best_job_gains(world, prices.per_s, prices.per_j)
    np.testing.assert_allclose(answer.gain, again, rtol=EXACT, atol=EXACT)
    sampled = np.array([sampled_gain(world, prices, job) for job in range(world.n_jobs)])
    assert (sampled <= answer.gain + EXACT).all()
    first, second = certified_job_bound(world, prices), job_dual_value(world, prices.per_s, prices.per_j)
    assert first == pytest.approx(second * (1 + EXACT), rel=EXACT, abs=EXACT)


def test_a_sampled_run_gains_as_much_where_nothing_jumps() -> None:
    world = busy_job_world(40, end_s=4000.0)
    work = replace(world.jobs.work, shape=np.ones(40, np.int32), start_s=0.0)
    world = replace(world, jobs=replace(world.jobs, work=work))
    rng = generator(1, "tests.job_bound.smooth")
    prices = Certificate(rng.exponential(1e-4, (3, 8)), np.array([1e-7]))
    _, answer = job_market(world).answer(prices)
    sampled = [sampled_gain(world, prices, job) for job in range(40)]
    assert (answer.gain > 0).sum() > 20
    np.testing.assert_allclose(sampled, answer.gain, atol=0.02)


@pytest.mark.thorough("takes seconds; others look at less of it")
@given(markets(), st.integers(0, 99))
def test_no_pieces_gain_more_and_both_evaluations_agree(market: tuple[JobWorld, Certificate], seed: int) -> None:
    """Seconds drawn at random from the time between arrival and completion, a part of the shortest time each."""
    world, prices = market
    _, answer = job_market(world, preempts=True).answer(prices)
    again = best_job_gains(world, prices.per_s, prices.per_j, preempts=True)
    np.testing.assert_allclose(answer.gain, again, rtol=EXACT, atol=EXACT)
    _, whole = job_market(world).answer(prices)
    assert world.jobs.work.is_prorated or (whole.gain <= answer.gain + EXACT).all()
    rng, work = generator(seed, "tests.job_bound.pieces"), world.jobs.work
    part_s = float(world.types.time_s.min()) / 4
    for job, _ in itertools.product(range(world.n_jobs), range(5)):
        for option in options_of(world, job):
            n_parts = round(float(world.types.time_s[option]) / part_s)
            start_s = work.arrival_s[job] + part_s * np.sort(rng.permutation(2 * n_parts)[:n_parts])
            end_s = start_s + part_s
            paid = cost_of(world, prices, option, start_s, end_s).sum()
            share = share_of(world, start_s, end_s).mean() if work.is_prorated else work.in_window(end_s[-1])
            assert work.utility(job, end_s[-1]) * share - (paid if share else 0.0) <= answer.gain[job] + EXACT


def tiny_world(seed: int) -> JobWorld:
    """Three jobs on clusters of 2 and 3 nodes, some moldable, with a warm-up and every kind of limit in turn."""
    rng = generator(seed, "tests.job_bound.tiny")
    options = [
        [
            (k, n, *[float(rng.integers(1, 5))] * 2, float(n * rng.integers(1, 5)), 0)
            for k, n in ((0, 1), (0, 2), (1, m))
        ]
        for m in (1, 2, 3)
    ]
    shapes = UtilityShapes.of([linear(9.0), step(6.0), constant()])
    columns = (rng.integers(0, 3, 3, np.int32), rng.uniform(1.0, 4.0, 3), rng.uniform(0.0, 2.0, 3))
    arrival_s, is_prorated = np.sort(rng.integers(0, 4, 3)).astype(float), seed % 2 == 0
    work = Workload(arrival_s, np.arange(3, dtype=np.int32), *columns, shapes, 2.0, 8.0, is_prorated=is_prorated)
    supply = Supply(float(rng.choice([8.0, 20.0, math.inf])), bool(seed % 3), [3.0, 6.0, 2.5][seed % 3], pue=1.2)
    return JobWorld(clusters_of([2, 3]), types_of(options), Jobs(work), supply)


def stretches_of(world: JobWorld, job: int, *, in_pieces: bool) -> list[tuple[int, Floats]]:
    """Options with the whole seconds in which a job might run: all together, or any."""
    found, first_s = [], float(world.jobs.work.arrival_s[job])
    for option in options_of(world, job):
        n, last = int(world.types.time_s[option]), 8
        whole = [np.arange(s, s + n) for s in np.arange(first_s, last)]
        pieces = [np.array(seconds) for seconds in itertools.combinations(np.arange(first_s, last + 3), n)]
        found += [(option, seconds) for seconds in (pieces if in_pieces else whole)]
    return found


def best_schedule(world: JobWorld, *, in_pieces: bool) -> float:
    """The most utility of any schedule in whole seconds that keeps to nodes and budget."""
    work, edges_s = world.jobs.work, edges_of(world)
    runs: list[list[tuple[float, int, Floats, Floats]]] = [[] for _ in range(3)]
    for job in range(3):
        for option, at_s in stretches_of(world, job, in_pieces=in_pieces):
            end_s = at_s + 1.0
            share = share_of(world, at_s, end_s).mean() if work.is_prorated else float(work.in_window(end_s[-1]))
            earned = float(work.utility(job, end_s[-1])) * share
            if earned > 0:
                used_j = extra_w(world, option) * overlap_s(edges_s, at_s, end_s).sum(axis=0)
                runs[job].append((earned, option, at_s.astype(int), used_j))
        runs[job].sort(key=lambda run: -run[0])
    left = np.repeat([[2], [3]], 16, axis=1)

    def best_from(job: int, left_j: Floats, floor: float) -> float:
        if job == 3:
            return 0.0
        others = sum(rest[0][0] for rest in runs[job + 1 :] if rest)
        best = best_from(job + 1, left_j, floor)
        for earned, option, at, used_j in runs[job]:
            if earned + others <= max(best, floor):
                break
            k, n = world.types.cluster[option], world.types.nodes[option]
            if (left[k, at] >= n).all() and (used_j <= left_j + 1e-9).all():
                left[k, at] -= n
                best = max(best, earned + best_from(job + 1, left_j - used_j, max(best, floor) - earned))
                left[k, at] += n
        return best

    return best_from(0, np.full(edges_s.size - 1, world.supply.budget_j), 0.0)


@each_seed(16)
def test_no_schedule_of_a_tiny_world_beats_any_prices(seed: int) -> None:
    world, rng = tiny_world(seed), np.random.default_rng(seed)
    whole, pieces = (best_schedule(world, in_pieces=in_pieces) for in_pieces in (False, True))
    assert 0 < whole <= pieces + EXACT
    n_periods = edges_of(world).size - 1
    for _ in range(25):
        per_s = rng.exponential(0.2, (2, 5)) * (rng.random((2, 5)) < 0.8)
        prices = Certificate(per_s, rng.exponential(0.05, n_periods) * (rng.random(n_periods) < 0.8))
        assert certified_job_bound(world, prices) >= whole - EXACT
        assert certified_job_bound(world, prices, preempts=True) >= pieces - EXACT
    found = job_bound(world)
    assert whole - EXACT <= found.value <= job_ceiling(world) * (1 + 2 * EXACT) + EXACT
    assert job_bound(world, preempts=True).value >= pieces - EXACT


def test_by_hand_two_jobs_that_do_not_fit_together() -> None:
    """Each needs 3 of 4 nodes for 10 s and is worth 6 if done by 15 s, so that it runs from 5 s to 10 s at least.

    Of the 20 node-seconds in there each takes 15: prices cannot tell that the two do not fit, but that 4/3 jobs do.
    """
    world = trace_world([(0.0, 3, 10.0), (0.0, 3, 10.0)], 4, shape=step(15.0))
    work = replace(world.jobs.work, end_s=20.0, scale=np.full(2, 6.0))
    world = replace(world, jobs=replace(world.jobs, work=work))
    where_both_run = Certificate(np.array([[0.0, 6.0 / 15.0, 0.0, 0.0]]))
    assert certified_job_bound(world, where_both_run) == pytest.approx(6.0 * 4 / 3)
    assert job_bound(world, "trivial").value == 12.0


@pytest.mark.parametrize("name", JOB_POLICIES)
def test_no_policy_beats_the_bound(name: str) -> None:
    world, bound = crowded()
    outcome = simulate_jobs(world, Scheduler(JOB_POLICIES[name], 60.0))
    assert 0 < earned_utility(world, outcome.allocation).sum() <= bound


@cache
def crowded() -> tuple[JobWorld, float]:
    """A world with too many jobs and too little energy, and its bound."""
    world = busy_job_world(300, supply=Supply(4e7, day_s=20_000.0), end_s=12_000.0)
    return world, job_bound(world).value


def test_planned_times_do_not_count() -> None:
    world = busy_job_world(50, end_s=5000.0)
    asked = replace(world.types, planned_s=3 * world.types.planned_s)
    assert job_bound(replace(world, types=asked)).value == job_bound(world).value


def test_what_runs_nowhere_earns_nothing() -> None:
    world = JobWorld(clusters_of([2]), types_of([[], [(0, 1, 3.0)]]), trace_world([(0, 1, 1), (1, 1, 1)]).jobs)
    work = replace(world.jobs.work, end_s=9.0)
    world = replace(world, jobs=replace(world.jobs, work=work))
    assert job_bound(world).value == pytest.approx(1.0)
    assert job_dual_value(world, np.zeros((1, 1))) == 1.0
    nowhere = replace(world, types=types_of([[], []]))
    assert job_bound(nowhere).value == 0.0


def test_a_bound_survives_json_and_tells_misfits() -> None:
    world = busy_job_world(60, supply=Supply(2e7), end_s=5000.0)
    found = job_bound(world)
    stored = JobBound.from_json(json.loads(json.dumps(found.as_json())))
    assert stored.certificate is not None
    assert certified_job_bound(world, stored.certificate) == pytest.approx(found.value, rel=1e-12)
    other = Certificate(stored.certificate.per_s[:2], stored.certificate.per_j)
    with pytest.raises(InputError, match="2 machine types"):
        certified_job_bound(world, other)


@pytest.mark.parametrize("preempts", [False, True])
def test_a_window_without_an_end_is_bounded_as_one_that_covers_all(preempts: bool) -> None:
    world = busy_job_world(400)
    shapes = UtilityShapes.of([step(4000.0)])
    work = replace(world.jobs.work, shapes=shapes, shape=0 * world.jobs.work.shape)
    work = replace(work, arrival_s=work.arrival_s / 8)
    endless = replace(world, jobs=replace(world.jobs, work=work))
    covered = replace(world, jobs=replace(world.jobs, work=replace(work, end_s=20_000.0)))
    found, wanted = (job_bound(each, preempts=preempts) for each in (endless, covered))
    assert found.kind == "prices"
    assert found.value == pytest.approx(wanted.value, rel=0.02)
    assert found.value < 0.8 * job_ceiling(endless)
    assert found.certificate is not None
    prices = found.certificate.per_s, found.certificate.per_j
    assert job_dual_value(endless, *prices, preempts=preempts) == pytest.approx(found.value, rel=1e-8)
