"""Very small rooms: what is left to gain by a search that tries every move of every core."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from joulewise.check.facility.plan import check_facility
from joulewise.model.air import Air
from joulewise.model.facility import Facility
from joulewise.optimise.facility.cooling import RoomCooling
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.planner import least_cap_w, plan_facility
from joulewise.optimise.facility.polish import is_small, polished
from tests.strategies.random_facilities import random_facility, random_plan

ROOMS = range(900, 920)
STARTS = 8


def small_room(seed: int) -> Facility:
    """Two or three nodes and four task types, each a class of its own."""
    facility = random_facility(seed, n_nodes=2 + seed % 2, n_cracs=1 + seed % 2, by_pair=True, n_task_types=4)
    least_w = least_cap_w(facility, Air(facility.room))
    return dataclasses.replace(facility, cap_w=max(facility.cap_w, 1.1 * least_w if least_w > facility.cap_w else 0.0))


def local_search(facility: Facility, air: Air, n_starts: int) -> float:
    """The most that is earned by moves from plans at random."""
    cooling = RoomCooling(facility, air)
    found = [polished(cooling, random_plan(facility, start), lambda: False) for start in range(n_starts)]
    kept = [plan for plan in found if not check_facility(facility, plan)]
    return max((steady(facility, air, plan).slowed_reward_per_s for plan in kept), default=0.0)


def is_best(seed: int, n_starts: int) -> None:
    facility = small_room(seed)
    air = Air(facility.room)
    found = plan_facility(facility, air)
    state = steady(facility, air, found.plan)
    assert is_small(facility)
    assert check_facility(facility, found.plan, state) == []
    assert state.slowed_reward_per_s <= found.bound_per_s * (1 + 1e-9)
    if state.slowed_reward_per_s < 0.99 * found.bound_per_s:  # above, no search can find a percent more
        assert state.slowed_reward_per_s >= 0.99 * local_search(facility, air, n_starts)


@pytest.mark.parametrize("seed", [902, 904, 914, 917])
def test_no_local_search_finds_a_percent_more(seed: int) -> None:
    """They were 34, 6, 7 and 6 percent below what such a search or the bound has."""
    is_best(seed, 1)


@pytest.mark.thorough("twenty rooms, each searched from eight plans")
@pytest.mark.parametrize("seed", ROOMS)
def test_no_local_search_finds_a_percent_more_in_any_of_twenty_rooms(seed: int) -> None:
    is_best(seed, STARTS)


def test_cores_that_have_no_neighbours_do_all_types_in_turn() -> None:
    """Types that are classes of their own are none to a core alone, so its plan reaches the bound."""
    facility = small_room(902)
    assert facility.node_types.sharers[facility.node_type].tolist() == [1, 1]
    found = plan_facility(facility, Air(facility.room))
    assert found.history[-1][1] >= 0.998 * found.bound_per_s
    assert (np.count_nonzero(found.plan.share, axis=1) > 1).any()
