"""The maximum profit of a bag: equal to equation 10 by HiGHS, above every allocation, and what cannot be is told."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joulewise.check.bags.allocation import certified_profit
from joulewise.errors import InputError
from joulewise.kernels.bags.repair import Books, Costs, Deal, tighten
from joulewise.model.bag import Bag
from joulewise.model.system import Standby, System
from joulewise.optimise.bags.bound import BoundFront, bound_front
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.profit import Profit, most_profit, price_at_ratio, profit_sweep
from joulewise.optimise.bags.profit_bound import ProfitTerms
from tests.strategies.cases import cases, each_seed
from tests.twins.bags.bag import all_allocations
from tests.twins.bags.profit import equation_10, true_profit
from tests.twins.bags.repair import Repair


def make_bag(seed: int, n_types: int, n_machine_types: int, n_tasks: int, *, machines: int = 3, idle: float = 0.0,
             n_pstates: int = 1, gaps: float = 0.0) -> Bag:  # fmt: skip
    """A random bag; machines that are fast draw more power, and some choices may be impossible."""
    rng = np.random.default_rng(seed)
    slower = np.cumprod(np.insert(rng.uniform(1.1, 1.5, n_pstates - 1), 0, 1.0))
    speed = np.exp(rng.normal(0, 0.5, n_machine_types))
    etc_s = 100 * np.exp(rng.normal(0, 0.7, (n_types, 1))) / speed * np.exp(rng.normal(0, 0.25, (n_types, speed.size)))
    etc_s[rng.random(etc_s.shape) < gaps] = np.inf
    etc_s[:, 0] = np.where(np.isfinite(etc_s).any(axis=1), etc_s[:, 0], 100.0)
    power_w = 100 * speed * np.exp(rng.normal(0, 0.1, etc_s.shape))
    power_w = power_w[:, :, None] / slower**1.5
    idle_w = idle * power_w.min(axis=(0, 2))
    none, never = np.zeros(speed.size), np.full(speed.size, np.inf)
    task_types, machine_types = (tuple(f"{i}" for i in range(n)) for n in (n_types, n_machine_types))
    counts = rng.integers(1, machines + 1, speed.size)
    standby = Standby(idle_w, none, none, none, never)
    system = System(task_types, machine_types, counts, etc_s[:, :, None] * slower, power_w, standby=standby)
    return Bag(system, np.maximum(rng.multinomial(n_tasks, np.full(n_types, 1 / n_types)), 1))


_tighten: Any = tighten


@st.composite
def priced_bags(draw: st.DrawFn) -> tuple[Bag, Market]:
    """A bag and a market at which it must run, with and without idle power, cap, wear and deadline."""
    bag = make_bag(
        draw(st.integers(0, 2**30)), draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 200)),
        idle=draw(st.sampled_from([0.0, 0.05, 0.6])), n_pstates=draw(st.integers(1, 2)),
        gaps=draw(st.sampled_from([0.0, 0.3])),
    )  # fmt: skip
    front, pue = bound_front(bag), draw(st.sampled_from([1.0, 1.4]))
    powers_w = pue * front.energy_j / front.makespan_s
    idle_w = pue * bag.total_idle_w
    cap_w = idle_w + draw(st.sampled_from([math.inf, 2.0, 0.9, 0.5])) * (powers_w.mean() - idle_w)
    wear = draw(st.sampled_from([None, 0.1, 3.0]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    cost_per_j = draw(st.sampled_from([0.0, 1e-8, 2.0]))
    scale = (cost_per_j or 1.0) * pue
    return bag, Market(
        price=draw(st.sampled_from([0.5, 0.97, 1.01, 1.2, 3.0])) * scale * front.least_energy_j,
        cost_per_j=cost_per_j,
        power_cap_w=cap_w,
        pue=pue,
        overhead=draw(st.sampled_from([0.0, 0.1])) * scale * front.least_energy_j,
        wear_per_s=None if wear is None else scale * wear * 100 * rng.random(bag.system.n_machine_types),
        depreciation_per_s=draw(st.sampled_from([0.0, 5.0])) * scale,
        deadline_s=draw(st.sampled_from([math.inf, 1.1, 2.0])) * front.least_makespan_s,
        must_run=True,
    )


@given(priced_bags())
def test_the_bound_is_equation_10(case: tuple[Bag, Market]) -> None:
    bag, market = case
    found, wanted = ProfitTerms(bag, market).bound(), equation_10(bag, market)
    assert (found is None) == (wanted is None)
    if found is not None and wanted is not None:
        scale = abs(market.income) / bound_front(bag).least_makespan_s + abs(wanted)
        assert found[0] == pytest.approx(wanted, abs=1e-7 * scale)


@given(priced_bags())
def test_prices_prove_the_bound(case: tuple[Bag, Market]) -> None:
    bag, market = case
    found = most_profit(bag, market)
    if found.certificate is not None:
        scale = abs(market.income) / bound_front(bag).least_makespan_s + abs(found.bound_per_s)
        proven = certified_profit(bag, market, *found.certificate)
        assert proven == pytest.approx(found.bound_per_s, abs=1e-9 * scale)
        assert most_profit(bag, replace(market, must_run=False)).certificate is not None or market.income <= 0


@given(priced_bags(), st.sampled_from(["one", "best"]))
def test_what_is_reported_is_what_the_allocation_earns(case: tuple[Bag, Market], recovery: str) -> None:
    bag, market = case
    market = replace(market, deadline_s=min(market.deadline_s, 50 * bound_front(bag).makespan_s[0]))
    found = most_profit(bag, market, recovery)  # type: ignore[arg-type]
    assert all(map(math.isfinite, (found.profit_per_s, found.energy_j, found.makespan_s)))
    assert found.sentence()
    allocation = found.allocation
    assert allocation is not None
    assert (allocation.split.sum(axis=(1, 2)) == bag.counts).all()
    if found.verdict == "deadline missed":
        assert math.isnan(found.gap)
        assert found.makespan_s == pytest.approx(market.deadline_s + found.late_s)
        market = replace(market, deadline_s=found.makespan_s * (1 + 1e-12))
        found = replace(found, bound_per_s=math.inf)
    scale = abs(found.profit_per_s) + abs(market.price) / found.makespan_s
    assert found.profit_per_s == pytest.approx(true_profit(allocation, market), abs=1e-9 * scale)
    assert found.profit_per_s <= found.bound_per_s + 1e-9 * scale
    assert found.mean_power_w <= market.power_cap_w * (1 + 1e-9)
    assert found.makespan_s <= market.deadline_s
    assert found.makespan_s - found.wait_s == pytest.approx(allocation.makespan_s)


@each_seed(12)
def test_brute_force_lies_between_allocation_and_bound(seed: int) -> None:
    bag = make_bag(seed, 2, 2, 5, machines=2, idle=0.1 * (seed % 2))
    front = bound_front(bag)
    cap_w = math.inf if seed % 3 else 0.8 * float(front.energy_j[-1] / front.makespan_s[-1])
    wear = np.array([30.0, 5.0]) if seed % 4 == 0 else None
    market = Market(1.3 * front.least_energy_j, 1.0, cap_w, wear_per_s=wear, must_run=True, deadline_s=2000.0)
    best = max(true_profit(allocation, market) for allocation in all_allocations(bag))
    for recovery in ("one", "best"):
        found = most_profit(bag, market, recovery)
        scale = 1e-9 * abs(best)
        assert found.allocation is None or found.profit_per_s <= best + scale
        assert best <= found.bound_per_s + scale


@each_seed(6)
def test_a_loss_without_a_deadline_ends_with_the_last_machine(seed: int) -> None:
    bag = make_bag(seed, 2, 2, 5, machines=2, idle=0.1 * (seed % 2))
    front = bound_front(bag)
    cap_w = bag.total_idle_w + 0.5 * float(front.extra_j[0] / front.makespan_s[0]) if seed % 3 == 0 else math.inf
    market = Market(0.3 * front.least_energy_j, 1.0, cap_w, must_run=True)
    best = max(true_profit(allocation, market) for allocation in all_allocations(bag))
    found = most_profit(bag, market)
    assert found.verdict == "loss under agreement"
    assert "last machine" in found.sentence()
    assert 1.5 * best <= found.profit_per_s <= best + 1e-9 * abs(best)
    assert best <= found.bound_per_s + 1e-9 * abs(best)


@given(st.integers(0, 2**30))
@example(58344)
def test_repair_is_that_of_its_twin(seed: int) -> None:
    """In whole numbers, so that sums are exact and ties are the same for both."""
    rng = np.random.default_rng(seed)
    n_types, n_pstates, machines = int(rng.integers(1, 5)), int(rng.integers(1, 3)), rng.integers(0, 4, 3)
    machines[0] += 1
    shape = (n_types, 3 * n_pstates)
    exec_s, extra_j, cost = (rng.integers(1, most, shape).astype(float) for most in (10**5, 10**4, 10**6))
    for of in (exec_s, extra_j, cost):
        of[:, n_pstates:][rng.random((n_types, 2 * n_pstates)) < 0.2] = np.inf
    impossible = np.isinf(exec_s) | np.isinf(cost) | np.isinf(extra_j)
    for of in (exec_s, extra_j, cost):
        of[impossible] = np.inf
    machine_type = np.repeat(np.arange(3, dtype=np.int32), machines)
    priced = cost + rng.integers(0, 10**5, shape).astype(float)
    first_machine = np.concatenate([[0], np.cumsum(machines)])
    costs = Costs(exec_s, extra_j, cost, priced, machine_type, first_machine, n_pstates)
    counts = rng.integers(0, 4, (machine_type.size, n_types, n_pstates))
    counts[impossible.reshape(n_types, 3, n_pstates).transpose(1, 0, 2)[machine_type]] = 0
    counts[0, 0, 0] += 1  # nobody repairs an empty bag
    deadline_s = float(rng.choice([np.inf, 1e5 * n_types, 1e5]))
    deal = Deal(float(rng.integers(1, 10**8)), float(rng.choice([np.inf, 0.3])), deadline_s, 1.0, 12)
    for of in (exec_s, extra_j, machine_type):  # as they come from a bag: kernels compile once for both
        of.setflags(write=False)
    ours = counts.reshape(machine_type.size, -1).copy()
    n = machine_type.size
    held, n_held, ready, moves = (
        np.empty_like(ours),
        np.empty(n, np.int64),
        np.empty(3, np.int64),
        np.empty((30, 5), np.int64),
    )
    _tighten(costs, Books(ours, held, n_held, np.empty(n), ready, moves, np.empty(2)), deal)
    np.testing.assert_array_equal(ours.reshape(counts.shape), Repair(costs, deal, counts).tighten(30))


def test_the_gap_shrinks_with_tasks_per_machine_and_with_the_best_of_many() -> None:
    gaps = {name: [_gap(n_tasks, name) for n_tasks in (400, 4_000, 400_000)] for name in ("one", "best")}
    assert gaps["one"] == sorted(gaps["one"], reverse=True)
    assert gaps["one"][-1] < 1e-3
    assert all(best <= one for one, best in zip(gaps["one"], gaps["best"], strict=True))
    assert gaps["best"][0] < 0.6 * gaps["one"][0]


def _gap(n_tasks: int, recovery: str) -> float:
    gaps = []
    for seed in range(5):
        bag = make_bag(seed, 12, 5, n_tasks, machines=20)
        front = bound_front(bag)
        gaps.append(most_profit(bag, Market(1.3 * front.least_energy_j, 1.0), recovery, front).gap)  # type: ignore[arg-type]
    return float(np.median(gaps))


def test_a_loss_is_least_off_the_energy_makespan_front_when_machines_idle() -> None:
    front = bound_front(make_bag(3, 12, 5, 4000, machines=20, idle=0.3))
    assert front.pareto.start > 0
    market = Market(1.0, 1.0)
    ratios = np.array([0.8, 0.9, 0.95, 1.0, 1.05, 1.2, 1.5, 3.0])
    swept = profit_sweep(front, market, [price_at_ratio(front, market, ratio) for ratio in ratios])
    better = swept.profit_per_s - swept.pareto_per_s
    assert (better >= -1e-9 * np.abs(swept.profit_per_s).max()).all()
    assert better[0] > 1e-3 * abs(swept.profit_per_s[0])
    np.testing.assert_allclose(better[ratios >= 1], 0, atol=1e-9 * np.abs(swept.profit_per_s).max())
    assert (swept.profit_per_s[ratios < 1] < 0).all()
    assert (swept.profit_per_s[ratios > 1] > 0).all()
    assert (np.diff(swept.makespan_s) <= 0).all()


@each_seed(8)
def test_limits_cross_the_front_between_vertices(seed: int) -> None:
    """What is best on the front is then where they cross it; without idle power it is best of all."""
    front = bound_front(make_bag(seed, 10, 4, 1000, machines=10))
    cap_w = 0.8 * float(front.energy_j[-1] / front.makespan_s[-1])
    wear = np.full(4, 1e-3)
    for ratio, limit in ((1.5, {"power_cap_w": cap_w}), (1.01, {"deadline_s": 1.3 * front.least_makespan_s})):
        for worn in (None, wear):
            market = Market(1.0, 1.0, wear_per_s=worn, **limit)  # type: ignore[arg-type]
            swept = profit_sweep(front, market, [price_at_ratio(front, market, ratio)])
            assert swept.pareto_per_s[0] == pytest.approx(swept.profit_per_s[0], rel=1e-9 if worn is None else 1e-3)
            assert swept.pareto_per_s[0] <= swept.profit_per_s[0] + 1e-9 * abs(swept.profit_per_s[0])


def test_a_front_of_another_bag_is_refused() -> None:
    bag, other = make_bag(1, 3, 2, 20), make_bag(2, 3, 2, 20)
    same = Bag(bag.system, bag.counts)
    assert most_profit(bag, Market(1e9, 1.0), front=bound_front(same)).verdict == "profit"
    with pytest.raises(InputError, match="another bag"):
        most_profit(bag, Market(1e9, 1.0), front=bound_front(other))


def test_one_sweep_serves_every_price() -> None:
    bag = make_bag(5, 8, 4, 500, machines=9, idle=0.1)
    front = bound_front(bag)
    market = Market(1.0, 2.0, pue=1.3, overhead=7.0, wear_per_s=np.full(4, 20.0), depreciation_per_s=3.0)
    prices = np.array([0.9, 1.0, 1.5, 4.0]) * price_at_ratio(front, market, 1.0)
    swept = profit_sweep(front, market, prices)
    for price, profit_per_s in zip(prices, swept.profit_per_s, strict=True):
        assert profit_per_s == pytest.approx(equation_10(bag, replace(market, price=float(price))), rel=1e-7)


class TestVerdicts:
    bag = make_bag(1, 6, 3, 300, machines=8, idle=0.2)

    @cached_property
    def front(self) -> BoundFront:
        return bound_front(self.bag)

    def found(self, ratio: float, **terms: float | bool) -> Profit:
        market = Market(ratio * self.front.least_energy_j, 1.0, **terms)  # type: ignore[arg-type]
        return most_profit(self.bag, market, front=self.front)

    def test_profit(self) -> None:
        found = self.found(1.5)
        assert found.verdict == "profit"
        assert found.profit_per_s > 0
        assert "earns" in found.sentence()

    @pytest.mark.parametrize("must_run", [False, True])
    @pytest.mark.parametrize("cost_per_j", [1.0, 0.1, 3e-8])
    def test_exact_break_even_is_neither_profit_nor_loss(self, cost_per_j: float, must_run: bool) -> None:
        """One task type on one machine: the bound can be had, and the price is what it costs."""
        bag = make_bag(3, 1, 1, 70, machines=1, idle=0.3)
        price = bound_front(bag).least_energy_j * cost_per_j
        found = most_profit(bag, Market(price, cost_per_j, must_run=must_run))
        assert (found.verdict, found.gap) == ("break-even", 0.0)
        assert "breaks even" in found.sentence()

    def test_a_loss_is_taken_only_under_an_agreement(self) -> None:
        assert self.found(0.97).verdict == "better not to run"
        assert self.found(0.97).allocation is None
        assert "Better not to run: every schedule loses" in self.found(0.97).sentence()
        kept = self.found(0.97, must_run=True)
        assert kept.verdict == "loss under agreement"
        assert kept.profit_per_s < 0
        assert "agreement" in kept.sentence()

    def test_depreciation_is_lost_in_any_case(self) -> None:
        earned = self.found(1.5).profit_per_s
        found = self.found(1.5, depreciation_per_s=2 * earned)
        assert found.verdict == "covers part of the depreciation"
        assert found.profit_per_s == pytest.approx(-earned)
        assert self.found(0.9, depreciation_per_s=4.0).profit_per_s == -4.0

    def test_a_bag_that_costs_more_than_its_price_waits_for_the_deadline(self) -> None:
        deadline_s = 3 * float(self.front.makespan_s[0])
        found = self.found(0.2, must_run=True, deadline_s=deadline_s)
        assert found.makespan_s == deadline_s
        assert found.wait_s > 0
        assert "waiting on purpose" in found.sentence()

    def test_a_cap_is_kept_by_waiting(self) -> None:
        cap_w = self.bag.total_idle_w + 0.5 * float(self.front.extra_j[0] / self.front.makespan_s[0])
        found = self.found(3.0, power_cap_w=cap_w)
        assert found.wait_s > 0
        assert found.mean_power_w == pytest.approx(cap_w)

    def test_a_bag_that_must_run_runs_late(self) -> None:
        """Nothing is claimed of its gap, and it is not told to earn what standing machines do."""
        for share in (0.5, 1.0 + 1e-9):
            terms = {"deadline_s": share * self.front.least_makespan_s}
            stands, late = self.found(2.0, **terms), self.found(2.0, must_run=True, **terms)
            assert stands.allocation is None
            assert stands.profit_per_s == 0.0
            assert late.allocation is not None
            assert late.verdict == "deadline missed"
            assert late.late_s == pytest.approx(late.allocation.makespan_s - terms["deadline_s"])
            on_time = Market(2.0 * self.front.least_energy_j, 1.0, must_run=True)
            assert late.profit_per_s == pytest.approx(true_profit(late.allocation, on_time))
            assert math.isnan(stands.gap)
            assert math.isnan(late.gap)
            assert "runs late because an agreement requires it" in late.sentence()

    def test_a_deadline_before_the_least_makespan_is_infeasible(self) -> None:
        found = self.found(2.0, deadline_s=0.5 * self.front.least_makespan_s)
        assert found.verdict == "infeasible"
        assert found.bound_per_s == -math.inf
        assert "after the deadline" in found.sentence()
        assert "power cap" not in found.sentence()

    def test_a_cap_can_make_a_deadline_infeasible(self) -> None:
        cap_w = self.bag.total_idle_w + 0.5 * float(self.front.extra_j[0] / self.front.makespan_s[0])
        found = self.found(2.0, deadline_s=float(self.front.makespan_s[0]), power_cap_w=cap_w)
        assert found.verdict == "infeasible"
        assert "under the power cap" in found.sentence()

    def test_a_cap_that_idle_machines_break_is_refused(self) -> None:
        with pytest.raises(InputError, match="idle machines alone draw"):
            self.found(2.0, power_cap_w=0.9 * self.bag.total_idle_w)


class TestCostsByHour:
    bag = make_bag(4, 8, 4, 2000, machines=10, idle=0.1)
    front = bound_front(bag)

    def market(self, by_hour: list[float], ratio: float = 1.4, **terms: float) -> Market:
        return Market(ratio * self.front.least_energy_j, cost_by_hour=np.array(by_hour), **terms)  # type: ignore[arg-type]

    def test_the_same_cost_at_every_hour_is_a_cost(self) -> None:
        flat = most_profit(self.bag, Market(1.4 * self.front.least_energy_j, 1.0))
        found = most_profit(self.bag, self.market([1.0, 1.0, 1.0]))
        assert found.bound_per_s == pytest.approx(flat.bound_per_s, rel=1e-9)
        assert found.profit_per_s == pytest.approx(flat.profit_per_s, rel=0.02)

    @given(st.lists(st.floats(0.2, 2.0), min_size=1, max_size=30), st.sampled_from([0.9, 1.2, 2.0]))
    @cases(divided_by=10)
    def test_no_point_of_the_front_earns_more_than_the_bound(self, by_hour: list[float], ratio: float) -> None:
        market = self.market(by_hour, ratio)
        terms = ProfitTerms(self.bag, market, self.front)
        found = terms.bound()
        assert found is not None
        makespan_s = np.concatenate([np.linspace(self.front.makespan_s[-1], self.front.makespan_s[0], 200), [1e6, 1e9]])
        extra_j = np.interp(makespan_s, self.front.makespan_s[::-1], self.front.extra_j[::-1])
        profits = [
            terms.profit(at, extra, 0.0) for at, extra in zip(makespan_s.tolist(), extra_j.tolist(), strict=True)
        ]
        assert max(profits) <= found[0] + 1e-9 * abs(found[0])
        assert found[0] - max(profits) <= 0.05 * market.price / self.front.least_makespan_s

    def test_the_mean_is_over_the_hours_the_bag_takes(self) -> None:
        market = self.market([1.0, 3.0, 5.0], pue=2.0)
        assert market.joule_cost(1800.0) == 2.0
        assert market.joule_cost(7200.0) == 4.0
        assert market.joule_cost(3 * 3600.0) == 6.0
        assert market.joule_cost(4 * 3600.0) == 5.0
        assert market.joule_cost(math.inf) == pytest.approx(6.0)
        assert market.least_mean_cost(3600.0, 3 * 3600.0) == 1.0
        assert market.least_mean_cost(2 * 3600.0, math.inf) == 2.0

    def test_waiting_does_not_make_joules_cheaper_that_are_used_before(self) -> None:
        """Dear hours first: a bag at a loss that waits for cheap ones has paid for its joules already."""
        bag = make_bag(2, 6, 3, 180, machines=2)
        front = bound_front(bag)
        dear = int(front.makespan_s[0] / 3600) + 1
        by_hour = np.append(np.full(dear, 1.0), np.full(24, 0.02))
        market = Market(0.9 * front.least_energy_j, cost_by_hour=by_hour, must_run=True, deadline_s=(dear + 24) * 3600)
        found = most_profit(bag, market, "best", front)
        assert found.allocation is not None
        assert found.allocation.makespan_s <= dear * 3600
        assert found.verdict == "loss under agreement"
        assert found.profit_per_s * found.makespan_s == pytest.approx(market.price - found.allocation.energy_j)

    @given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 1.2]), st.booleans(),
           st.sampled_from([math.inf, 0.6]), st.integers(0, 99))  # fmt: skip
    def test_no_wait_earns_more_than_the_bound(
        self, by_hour: list[float], ratio: float, must_run: bool, cap: float, seed: int
    ) -> None:
        bag = make_bag(seed, 2, 2, 5, machines=2, idle=0.1 * (seed % 2))
        bag = Bag(bag.system, bag.counts * 20)
        front = bound_front(bag)
        idle_w, deadline_s = bag.total_idle_w, 3 * float(front.makespan_s[0])
        cap_w = idle_w + cap * float(front.extra_j[0] / front.makespan_s[0])
        price = ratio * (max(by_hour) + 0.1) * front.least_energy_j
        by_hour_ = np.array(by_hour) + 0.1
        market = Market(price, power_cap_w=cap_w, cost_by_hour=by_hour_, must_run=must_run, deadline_s=deadline_s)
        terms = ProfitTerms(bag, market, front)
        found = terms.bound()
        if found is None:
            return
        for at in np.linspace(0, len(front) - 1, 4).astype(int):
            makespan_s, extra_j = float(front.makespan_s[at]), float(front.extra_j[at])
            soonest_s = max(makespan_s, extra_j / terms.extra_limit_w)
            if soonest_s > deadline_s:
                continue
            waits = np.linspace(soonest_s, deadline_s if must_run else soonest_s, 50)
            best = max(terms.profit(float(wait_s), extra_j, 0.0, makespan_s) for wait_s in waits)
            assert best <= found[0] + 1e-9 * abs(price / soonest_s)
        earned = most_profit(bag, market, "best", front)
        assert not earned.gap < -1e-9

    def test_a_bag_of_many_years_is_no_trouble(self) -> None:
        bag = Bag(self.bag.system, self.bag.counts * 10**11)
        found = most_profit(bag, Market(1.4 * bound_front(bag).least_energy_j, cost_by_hour=np.array([0.5, 1.5])))
        assert found.verdict == "profit"
        assert found.gap < 0.01


BAD_TERMS: dict[str, list[Any]] = {
    "price": [-1.0, 0.0, math.nan, math.inf],
    "cost_per_j": [-1.0, math.nan, math.inf, None],
    "power_cap_w": [0.0, -5.0, math.nan],
    "pue": [0.99, math.nan, math.inf],
    "overhead": [-1.0, math.nan],
    "depreciation_per_s": [-1.0, math.inf],
    "deadline_s": [0.0, -1.0, math.nan],
    "wear_per_s": [[1.0, -1.0, 0.0], [math.nan] * 3],
    "cost_by_hour": [[1.0], [-1.0], []],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD_TERMS.items() for value in values])
def test_bad_terms_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"market\.{'cost_' if 'cost' in name else name}"):
        Market(**({"price": 10.0, "cost_per_j": 1.0} | {name: value}))


def test_terms_that_do_not_fit_the_bag_are_refused() -> None:
    bag = make_bag(0, 3, 3, 20)
    with pytest.raises(InputError, match="one for each of the 3 machine types"):
        most_profit(bag, Market(1e9, 1.0, wear_per_s=np.ones(2)))
    with pytest.raises(InputError, match="did you mean 'best'"):
        most_profit(bag, Market(1e9, 1.0), "besst")  # type: ignore[arg-type]


def test_a_price_of_nothing_is_for_agreements_only() -> None:
    bag = make_bag(0, 3, 3, 20)
    found = most_profit(bag, Market(0.0, 1.0, must_run=True, deadline_s=1e6))
    assert found.verdict == "loss under agreement"
