"""What-if of facilities: what a limit is worth, what changes cost, and what to set in plain words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.facility import FacilityPlan
from joulewise.optimise.facility.whatif import Advice, advise_facility, sweep_limit, what_if_facility
from joulewise.optimise.facility.words import set_points
from joulewise.worlds.facility.changes import crac_failures, hot_aisles, with_more_nodes
from joulewise.worlds.facility.rooms import hot_share
from joulewise.worlds.facility.site import FacilitySize, generate_facility, sized

FACILITY = generate_facility(sized(FacilitySize(nodes=12, cracs=2, node_types=2, task_types=4)), 3, 0)
X3200 = "IBM x3200"


@pytest.fixture(scope="module")
def advice() -> Advice:
    return advise_facility(FACILITY)


def test_the_price_of_a_limit_is_what_easing_it_a_little_brings(advice: Advice) -> None:
    prices, step_w, step_k = advice.found.prices, 8.0, 0.1
    table = advice.limits({"cap": step_w / 1e3, "redlines": step_k}, replan=False)
    at_most = dict(table.select("limit", "at_most_per_s").iter_rows())
    assert at_most["cap"] == pytest.approx(step_w * prices.cap, rel=1e-6)
    assert at_most["redlines"] == pytest.approx(step_k * prices.redline.sum(), rel=1e-6)
    assert table["gained_per_s"].null_count() == len(table)
    eased = advise_facility(sweep_limit(FACILITY, "cap", [step_w / 1e3])["cap +0.008 kW"])
    assert eased.found.bound_per_s - advice.found.bound_per_s == pytest.approx(at_most["cap"], rel=0.02)
    assert eased.reward_per_s - advice.reward_per_s == pytest.approx(at_most["cap"], rel=0.02)


def test_changes_stand_side_by_side(advice: Advice) -> None:
    changes = {
        **crac_failures(FACILITY),
        **hot_aisles(FACILITY, [1.5]),
        **sweep_limit(FACILITY, "redlines", [1]),
        "2 x3200 fewer": with_more_nodes(FACILITY, {X3200: -2}),
        "1 W": dataclasses.replace(FACILITY, cap_w=1.0),
    }
    found = what_if_facility(FACILITY, changes, gap=0.02)
    table = found.table()
    more = dict(table.select("change", "more_percent").iter_rows())
    assert table["change"].to_list() == ["as it is", *changes]
    assert max(more["without CRAC 0"], more["without CRAC 1"]) < 0
    assert more["1.5 x hot air"] < 0 < more["redlines +1 K"]
    assert more["1 W"] is None
    assert found.worst() == "1 W"
    assert (table["gap_percent"].drop_nulls() >= -1e-6).all()
    told = dict(zip(changes, found.sentences(), strict=True))
    assert "no plan keeps the limits (power cap: found 1 W" in told["1 W"]
    assert told["without CRAC 0"].startswith(f"Without CRAC 0: {-more['without CRAC 0']:.1f} % less reward, ")


def test_words_say_what_to_set(advice: Advice) -> None:
    words, plan = advice.sentence(), advice.found.plan
    assert words.startswith(f"Set CRAC 0 to {plan.supply_c[0]:.1f} °C and CRAC 1 to {plan.supply_c[1]:.1f} °C; ")
    assert f"; {100 * (plan.share.sum(axis=1) > 1e-3).mean():.0f} % of the cores run; " in words
    assert "; the cap binds, another 10 W earns " in words
    assert " redline" in words
    more_percent = 100 * advice.found.prices.redline.sum() / advice.reward_per_s
    assert words.endswith(f"; raising the redlines by 1 K earns {more_percent:.1f} % more at most.")
    prices = advice.found.prices
    little = dataclasses.replace(advice.state, slowed_reward_per_s=1e-6)
    assert "percentage points of all reward more at most" in set_points(FACILITY, plan, little, prices)
    free = dataclasses.replace(prices, cap=0.0)
    assert "; the cap binds; " in set_points(FACILITY, plan, advice.state, free)


def test_words_of_a_plan_that_nothing_limits(advice: Advice) -> None:
    rest = FacilityPlan(0 * advice.found.plan.share, advice.found.plan.pstate, FACILITY.room.hottest_c)
    state = dataclasses.replace(advice.state, node_w=FACILITY.overhead_w, node_inlet_c=FACILITY.room.redline_c - 2.0)
    words = set_points(FACILITY, rest, state, None)
    assert "CRAC 0 to 25.0 °C (as warm as it can)" in words
    assert "0 % of the cores run; " in words
    assert " of the cap are left; node 0 is nearest to its redline, 2 K below it." in words


def test_nodes_that_take_in_most_hot_air_go_first() -> None:
    kind = FACILITY.node_types.names.index(X3200)
    hottest = max(np.flatnonzero(FACILITY.node_type == kind), key=lambda node: hot_share(FACILITY.room)[node])
    fewer, more = (with_more_nodes(FACILITY, {X3200: n}) for n in (-1, 3))
    assert np.array_equal(fewer.room.place_m, np.delete(FACILITY.room.place_m, hottest, axis=0))
    assert more.node_type.tolist() == [*FACILITY.node_type.tolist(), kind, kind, kind]
    for change, words in (
        ({X3200: -50}, "more nodes: found -50 of IBM x3200; there are"),
        ({"x3200": 1}, "more nodes: found 'x3200'"),
        (dict.fromkeys(FACILITY.node_types.names, -50), "no node would be left"),
    ):
        with pytest.raises(InputError, match=words):
            with_more_nodes(FACILITY, change)
    with pytest.raises(InputError, match="limit: found 'caps'"):
        sweep_limit(FACILITY, "caps", [1])
