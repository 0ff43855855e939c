"""What machines do at chosen points of a front, and what a front becomes with other machines."""

from __future__ import annotations

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.machines import POINTS, analyse, chosen_points, variation_percent, what_if
from joulewise.optimise.front import Front, front_of
from tests.strategies.simple_worlds import simple_system


def thrifty_and_fast(counts: tuple[int, ...] = (2, 2, 1)) -> Bag:
    """A slow, thrifty machine type, a fast, hungry one, and one that is worse than both in all."""
    system = simple_system([[4.0, 2.0, 8.0]], counts, [[10.0, 40.0, 100.0]])
    return Bag(system, np.array([24]))


def allocation(bag: Bag, *tasks: int) -> BagAllocation:
    return BagAllocation(bag, np.array(tasks)[:, None, None])


def front_by_hand() -> Front:
    """Three points: all on the thrifty machines, in between, and all machines of both good types busy."""
    bag = thrifty_and_fast()
    found = [allocation(bag, *tasks) for tasks in ((12, 12, 0, 0, 0), (8, 8, 4, 4, 0), (4, 4, 8, 8, 0))]
    return front_of(np.array([(one.makespan_s, one.energy_j) for one in found]), found)


def test_the_ends_are_least_energy_and_least_makespan() -> None:
    found = analyse(front_by_hand())
    assert [point.name for point in found.points] == list(POINTS)
    first, last = found.points[0].allocation, found.points[-1].allocation
    assert (first.energy_j, first.makespan_s) == (960.0, 48.0)
    assert (last.energy_j, last.makespan_s) == (1600.0, 16.0)
    assert found.unused == ("m2",)
    assert found.points[0].unused == ("m1", "m2")


def test_balance_is_the_coefficient_of_variation() -> None:
    assert variation_percent(np.array([3.0, 3.0, 3.0])) == 0.0
    assert variation_percent(np.array([0.0, 2.0])) == pytest.approx(100.0)
    assert variation_percent(np.zeros(4)) == 0.0
    first, *_, last = analyse(front_by_hand()).points
    assert first.finish_variation_percent > last.finish_variation_percent
    assert last.energy_variation_percent > last.finish_variation_percent


def test_sentences_tell_balance_and_unused_types() -> None:
    balance, unused = analyse(front_by_hand()).sentences()
    assert balance.startswith("Finishing times vary by 50.0 % between machines at the least makespan and by 122.5 %")
    assert unused == "No point of the front uses m2."


def test_a_type_that_rests_at_some_points_only_is_told_so() -> None:
    bag = thrifty_and_fast((2, 2, 0))
    found = [allocation(bag, *tasks) for tasks in ((12, 12, 0, 0), (4, 4, 8, 8))]
    front = front_of(np.array([(one.makespan_s, one.energy_j) for one in found]), found)
    assert analyse(front).sentences()[1] == "At some points, but not on the whole front, m1 runs nothing."
    always = front_of(front.points[:1], front.payload[:1])
    assert analyse(always).sentences()[1] == "Every machine type is used at each of the chosen points."


def test_points_are_chosen_evenly_along_the_front() -> None:
    energy = np.linspace(0.0, 8.0, 9)
    assert chosen_points(np.column_stack((energy, energy[::-1]))) == [0, 2, 4, 6, 8]
    crowded = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 4.0, 6.0, 8.0])
    assert chosen_points(np.column_stack((crowded, 8.0 - crowded))) == [0, 4, 5, 6, 7]
    assert chosen_points(np.array([[1.0, 1.0]])) == [0, 0, 0, 0, 0]


def test_taking_machines_away_costs_energy_or_time() -> None:
    found = what_if(thrifty_and_fast(), {"m0": -2})
    assert (found.energy_percent > 0).all()
    assert found.makespan_percent > 0
    assert all(change > 0 for change in found.allocation_percent)
    assert found.sentence().startswith("Without the 2 m0, the same makespan costs ")
    assert "more energy; the least makespan is" in found.sentence()
    assert found.sentence().endswith("% longer.")


def test_a_type_that_nobody_uses_is_not_missed() -> None:
    slow = simple_system([[4.0, 2.0, 900.0]], (2, 2, 1), [[10.0, 40.0, 100.0]])
    found = what_if(Bag(slow, np.array([24])), {"m2": -1})
    assert np.abs(found.energy_percent).max() < 0.5
    assert what_if(thrifty_and_fast(), {}).sentence() == (
        "With the same machines, the same makespan costs the same energy; the least makespan is the same."
    )


def test_machines_may_come_even_of_a_type_that_has_none() -> None:
    found = what_if(thrifty_and_fast((2, 0, 1)), {"m1": 3, "m2": -1})
    assert found.after.bag.system.counts.tolist() == [2, 3, 0]
    assert found.makespan_percent < 0
    assert found.sentence().startswith("Without the 1 m2 and with 3 more m1, ")
    assert ", the same makespan costs up to " in what_if(thrifty_and_fast(), {"m0": 1}).sentence()
    assert found.before.bound.least_makespan_s > found.after.bound.least_makespan_s


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"m9": 1}, "must be one of m0, m1, m2"),
        ({"m0": -3}, "there are 2 to be taken away"),
        ({"m0": -2, "m1": -2, "m2": -1}, "no machine would be left"),
    ],
)
def test_changes_that_cannot_be_are_input_errors(changes: dict[str, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        what_if(thrifty_and_fast(), changes)
