"""Rooms: no air is lost, shares add up to 1, seeds decide, and what fails heats up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.room import AIR_J_PER_M3_K, Room
from joulewise.worlds.facility.rooms import (
    Links,
    RoomParameters,
    balanced,
    generate_room,
    with_nodes,
    with_recirculation,
    without_crac,
)

FULL_W = np.array([55.3, 117.0, 124.6, 95.5])


def powers_of(n: int) -> Floats:
    return np.asarray(FULL_W[np.random.default_rng(n).integers(FULL_W.size, size=n)])


def room_of(n: int, seed: int = 1, **parameters: Any) -> Room:
    return generate_room(RoomParameters(**parameters), powers_of(n) / (AIR_J_PER_M3_K * 10), seed, 0)


def assert_balanced(room: Room) -> None:
    flow, through = room.flow, room.m3_per_s
    left = np.bincount(flow.source, flow.share * through[flow.taker], flow.n_places)
    assert np.bincount(flow.taker, flow.share) == pytest.approx(1, abs=1e-12)
    assert left / through == pytest.approx(1, abs=1e-11)


def inlets_k(room: Room) -> Floats:
    """The inlets at full power over a supply of 0 degrees."""
    return Air(room).inlets_c(powers_of(room.n_nodes), np.zeros(room.n_cracs))[0]


@pytest.mark.parametrize("mixed", [(0.05, 0.3), (0.0, 0.0)])
@pytest.mark.parametrize(("nodes", "cracs"), [(1, 1), (2, 2), (7, 1), (12, 11), (150, 3), (500, 26), (2000, 31)])
def test_a_room_of_any_size_loses_no_air(nodes: int, cracs: int, mixed: tuple[float, float]) -> None:
    room = room_of(nodes, cracs=cracs, recirculation=mixed)
    assert (room.n_nodes, room.n_cracs) == (nodes, cracs)
    assert_balanced(room)
    assert room.crac_m3_per_s.sum() == pytest.approx(room.node_m3_per_s.sum())
    heat_w = Air(room).heat_w(powers_of(nodes), np.full(cracs, 15.0))
    assert heat_w.sum() == pytest.approx(powers_of(nodes).sum())


def test_a_node_heats_its_air_by_about_10_k_and_the_top_takes_in_most() -> None:
    room = room_of(5000, cracs=60)
    inlets, crac_inlets = Air(room).inlets_c(powers_of(5000), np.zeros(60))
    assert inlets.min() >= 0
    assert 1 < inlets.mean() < 4
    assert crac_inlets == pytest.approx(10, abs=4)
    levels = np.arange(5000) % 20
    by_level = np.bincount(levels, inlets) / np.bincount(levels)
    assert by_level[-1] > 3 * by_level[0]
    assert room.flow.share.size < 20 * (5000 + 60)


def test_seeds_and_trials_decide_the_room() -> None:
    one, same, other = (room_of(60, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.flow.share, same.flow.share)
    assert not np.array_equal(one.flow.share, other.flow.share)
    even = room_of(60, recirculation=(0.0, 0.0), supply_spread=0.05, return_spread=0.05)
    assert inlets_k(even) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_failed_crac_is_taken_over_by_the_others(is_replaced: bool) -> None:
    room = room_of(300, cracs=6)
    failed = without_crac(room, 2, is_replaced=is_replaced)
    assert_balanced(failed)
    share = 1 if is_replaced else 5 / 6
    assert failed.crac_m3_per_s.sum() == pytest.approx(share * room.crac_m3_per_s.sum())
    assert len(failed.cop) == failed.coldest_c.size == failed.n_cracs == 5
    assert failed.crac_names == ("0", "1", "3", "4", "5")
    assert inlets_k(failed).max() > inlets_k(room).max() + (0 if is_replaced else 1)
    with pytest.raises(InputError, match="found unit 0 of 1"):
        without_crac(room_of(20, cracs=1), 0)


def test_a_hot_aisle_heats_its_nodes() -> None:
    room = room_of(300, cracs=6)
    front = room.place_m[:, 1] < 1
    hotter = with_recirculation(room, 2.0, front)
    assert_balanced(hotter)
    risen = inlets_k(hotter) / inlets_k(room)
    assert risen[front].mean() > 1.5 > 1.2 > risen[~front].mean()
    cooler = with_recirculation(room, 0.5)
    assert_balanced(cooler)
    assert inlets_k(cooler).mean() < 0.7 * inlets_k(room).mean()


def test_nodes_come_next_to_others_and_go() -> None:
    room = room_of(60)
    like = np.concatenate((np.arange(5, 60), [7, 7]))
    changed = with_nodes(room, like)
    assert_balanced(changed)
    assert np.array_equal(changed.node_m3_per_s, room.node_m3_per_s[like])
    assert np.array_equal(changed.place_m[-1], room.place_m[7])
    assert changed.crac_m3_per_s.sum() == pytest.approx(changed.node_m3_per_s.sum())
    same = with_nodes(room, np.arange(60))
    assert same.flow.share == pytest.approx(room.flow.share, rel=1e-9)


def test_links_that_cannot_carry_the_flow_are_refused() -> None:
    one_way = Links(np.array([0, 1, 2]), np.array([2, 2, 0]), np.ones(3))
    with pytest.raises(InputError, match="node 1: found 1 of 1 m3/s that no links can carry"):
        balanced(one_way, np.ones(3), 2)
    too_little = Links(np.array([0, 1, 2, 2]), np.array([2, 2, 0, 1]), np.ones(4))
    with pytest.raises(InputError, match=r"CRAC 0: found .* of 1.5 m3/s that no links can carry"):
        balanced(too_little, np.array([1.0, 1.0, 1.5]), 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cracs": 0}, "system.cracs: found 0; must be from 1"),
        ({"recirculation": (0.1, 1.0)}, "system.recirculation: found"),
        ({"hottest_c": 5.0}, "system.hottest_c: found 5.0; must be coldest_c, 10, or more"),
        ({"redline_c": 298.0}, "system.redline_c: found 298.0; must be from -20 to 60, in °C, not K"),
        ({"redline_c": 9.0}, "system.redline_c: found 9.0; must be coldest_c"),
        ({"supply_spread": 1.0}, "system.supply_spread: found 1.0; must be a share"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RoomParameters(**parameters)


def test_more_units_than_nodes() -> None:
    with pytest.raises(InputError, match="found 3 for 2 nodes"):
        room_of(2, cracs=3)
