"""The model: what it derives, what it refuses (all problems at once), and that nobody can write to it."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import (
    Allocation,
    Segment,
    Shape,
    Status,
    System,
    Tag,
    UtilityShapes,
    Workload,
    World,
    constant,
    linear,
    piecewise,
    step,
)
from joulewise.optimise.bounds import maximum_utility, utility_ceiling
from tests.strategies.random_worlds import Scenario, rising, scenarios, utility_shapes
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

INF = math.inf


def a_system(**changes: Any) -> System:
    """Two task types, three machine types (the middle one without machines), two P-states."""
    fields: dict[str, Any] = {
        "task_types": ("a", "b"),
        "machine_types": ("x", "y", "z"),
        "counts": [2, 0, 1],
        "etc_s": [[[1, 2], [3, 4], [INF, INF]], [[5, 6], [1, INF], [7, 8]]],
        "power_w": [[[10, 5], [10, 5], [0, 0]], [[20, 8], [20, 8], [30, 9]]],
    }
    return System(**{**fields, **changes})


def a_workload(**changes: Any) -> Workload:
    fields: dict[str, Any] = {
        "arrival_s": [0.0, 1.0, 1.0],
        "task_type": [0, 1, 0],
        "shape": [0, 1, 0],
        "scale": [1.0, 2.0, 4.0],
        "hold_s": [0.0, 3.0, 0.0],
        "shapes": UtilityShapes.of([constant(), linear(10.0)]),
    }
    return Workload(**{**fields, **changes})


def problems_of(make: Any, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        make(**changes)
    return str(caught.value)


# System


def test_what_a_system_derives() -> None:
    system = a_system()
    assert (system.n_task_types, system.n_machine_types, system.n_pstates, system.n_machines) == (2, 3, 2, 3)
    assert system.machine_type.tolist() == [0, 0, 2]
    assert system.can_run.tolist() == [[True, True, False], [True, True, True]]
    assert system.eec_j[1].tolist() == [[100, 48], [20, INF], [210, 72]]
    assert system.mean_etc_s.tolist() == [2.0, 13 / 3]
    assert system.machine_group == ("general",) * 3


def test_without_power_energy_is_zero_where_possible() -> None:
    assert a_system(power_w=None).eec_j[0].tolist() == [[0, 0], [0, 0], [INF, INF]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task_types": ()}, "system.task_types: found no names"),
        ({"task_types": ("a", "a")}, "found 'a' more than once"),
        ({"machine_types": ("x", " ", "z")}, "found an empty name"),
        ({"counts": [1, 1]}, "system.counts: found 2 counts; must be one for each of the 3 machine types"),
        ({"counts": [1, -1, 1]}, "system.counts: found [1, -1, 1]"),
        ({"counts": [0, 0, 0]}, "one machine at least"),
        ({"etc_s": [[1.0, 2.0, 3.0]]}, "system.etc_s: found the shape (1, 3); must be (2, 3, P-states)"),
        ({"etc_s": np.zeros((2, 3, 0)), "power_w": None}, "system.etc_s: found the shape (2, 3, 0)"),
        ({"power_w": np.ones((2, 3, 1))}, "system.power_w: found the shape (2, 3, 1)"),
        ({"machine_group": ("general",)}, "system.machine_group: found 1 groups"),
        ({"etc_s": np.full((2, 3, 2), math.nan)}, "a on x, P-state 0: found nan (and 11 more); must be above 0 s"),
        ({"etc_s": np.zeros((2, 3, 2))}, "found 0.0 (and 11 more)"),
        ({"etc_s": -np.ones((2, 3, 2))}, "found -1.0"),
        ({"etc_s": np.array([[[2.0, 1.0]] * 3] * 2)}, "P-state 0 must be the fastest"),
        ({"etc_s": np.array([[[INF, 1.0]] * 3] * 2)}, "P-state 0 must be the fastest and exist where others do"),
        ({"power_w": np.full((2, 3, 2), -1.0)}, "system.power_w: a on x, P-state 0: found -1.0"),
        ({"power_w": np.full((2, 3, 2), INF)}, "must be 0 W or more, and finite"),
        ({"etc_s": np.full((2, 3, 2), INF)}, "system.etc_s: b: no machine can run this task type"),
        ({"counts": [0, 1, 0], "etc_s": [[[1, 2], [INF, INF], [1, 1]]] * 2}, "system.etc_s: a: no machine can run"),
    ],
)
def test_a_system_refuses(changes: dict[str, Any], said: str) -> None:
    assert said in problems_of(a_system, **changes)


def test_all_problems_of_a_system_are_told_together() -> None:
    text = problems_of(a_system, counts=[1, -1, 1], power_w=np.full((2, 3, 2), -1.0), etc_s=np.zeros((2, 3, 2)))
    assert len(text.splitlines()) == 3


# Utility


@pytest.mark.parametrize(
    ("shape", "at", "values"),
    [
        (constant(), [-1, 0, 1e9], [1, 1, 1]),
        (linear(10.0), [-5, 0, 2.5, 10, 11], [1, 1, 0.75, 0, 0]),
        (step(10.0), [0, 9.999, 10, 11], [1, 1, 0, 0]),
        (piecewise([(0, 1), (4, 0.5), (8, 0.5), (8, 0.25)]), [0, 2, 4, 7.5, 8, 9], [1, 0.75, 0.5, 0.5, 0.25, 0.25]),
        (Shape("e", (Segment(0, 0.5, 0.5, 0.1),)), [0, 10], [1, 0.5 + 0.5 * math.exp(-1)]),
        (Shape("j", (Segment(0, 0, 1, 0.1), Segment(5, 0.1, 0.1, 1.0))), [5, 6], [0.2, 0.1 + 0.1 * math.exp(-1)]),
    ],
)
def test_values_of_shapes(shape: Shape, at: list[float], values: list[float]) -> None:
    table = UtilityShapes.of([step(1.0), shape])
    assert table.value(1, at) == pytest.approx(np.array(values, float), abs=1e-12)


@given(st.lists(utility_shapes(1.0), min_size=1, max_size=5), st.lists(st.floats(-5, 50), min_size=2, max_size=20))
def test_utilities_only_fall(shapes: list[Shape], at_s: list[float]) -> None:
    table = UtilityShapes.of(shapes)
    for shape in range(len(shapes)):
        values = table.value(shape, np.sort(at_s))
        assert (np.diff(values) <= 1e-12).all()
        assert ((values >= -1e-12) & (values <= 1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        ([], "each shape needs one at least"),
        ([Segment(1.0, 1.0)], "the first segment must start at 0 s"),
        ([Segment(0.0, 1.0), Segment(0.0, 0.5)], "their starts must increase"),
        ([Segment(0.0, 1.0), Segment(5.0, 2.0)], "jumps up"),
        ([Segment(0.0, 1.0, slope_per_s=0.1)], "a segment that rises"),
        ([Segment(0.0, 1.0, span=-0.5, rate_per_s=1.0)], "a segment that rises"),
        ([Segment(0.0, 1.0, span=0.5, rate_per_s=-1.0)], "a segment that rises"),
        ([Segment(0.0, 1.0, slope_per_s=-1.0), Segment(5.0, 0.0)], "jumps up"),
        ([Segment(0.0, 1.0, slope_per_s=-1.0), Segment(5.0, -4.0)], "falls below 0"),
        ([Segment(0.0, 1.0, slope_per_s=-1.0)], "falls below 0 in the end"),
        ([Segment(0.0, math.nan)], "all numbers must be finite"),
        ([Segment(0.0, 1.0), Segment(INF, 0.0)], "all numbers must be finite"),
    ],
)
def test_a_shape_must_be_one(segments: list[Segment], said: str) -> None:
    with pytest.raises(InputError, match=said):
        UtilityShapes.of([constant(), Shape("mine", tuple(segments))])


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)], [(0.0, 1.0), (5.0, 0.5), (3.0, 0.2)], [(0.0, math.nan)]])
def test_points_must_start_at_zero_and_go_on(points: list[tuple[float, float]]) -> None:
    with pytest.raises(InputError, match="needs points"):
        piecewise(points)


# Workload


def test_what_a_task_earns() -> None:
    work = a_workload()
    assert work.utility([0, 1, 1, 1], [50.0, 3.0, 9.0, 99.0]).tolist() == [1.0, 2.0, 1.0, 0.0]
    assert work.utility(1, 4.0) == 2.0


def test_the_window_is_open_at_its_start() -> None:
    work = a_workload(start_s=5.0, end_s=10.0)
    assert work.in_window([4.9, 5.0, 5.1, 10.0, 10.1]).tolist() == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (dict.fromkeys(("arrival_s", "task_type", "shape", "scale", "hold_s"), ()), "found no tasks"),
        ({"task_type": [0]}, "workload.task_type: found 1 values; must be one for each of the 3 tasks"),
        ({"tags": {"priority": Tag(("low",), np.array([0]))}}, "workload.tags.priority: found 1 values"),
        ({"start_s": 5.0, "end_s": 5.0}, "found the counted window (5 s, 5 s]"),
        ({"start_s": -1.0}, "must start at 0 s or later"),
        ({"end_s": math.nan}, "found the counted window"),
        ({"arrival_s": [0.0, math.nan, 1.0]}, "workload.arrival_s: task 1: found nan"),
        ({"arrival_s": [-1.0, 0.0, 1.0]}, "workload.arrival_s: task 0: found -1.0"),
        ({"arrival_s": [0.0, 1.0, INF]}, "workload.arrival_s: task 2: found inf"),
        ({"arrival_s": [2.0, 1.0, 1.0]}, "workload.arrival_s: task 1: found 1.0; must be in order of arrival"),
        ({"task_type": [0, -1, -1]}, "workload.task_type: task 1: found -1 (and 1 more)"),
        ({"shape": [0, 2, 0]}, "workload.shape: task 1: found 2; must be the number of a shape, from 0 to 1"),
        ({"scale": [1.0, -1.0, 1.0]}, "workload.scale: task 1: found -1.0"),
        ({"scale": [1.0, math.nan, 1.0]}, "workload.scale: task 1: found nan"),
        ({"hold_s": [0.0, 0.0, INF]}, "workload.hold_s: task 2: found inf"),
    ],
)
def test_a_workload_refuses(changes: dict[str, Any], said: str) -> None:
    assert said in problems_of(a_workload, **changes)


def test_all_problems_of_a_workload_are_told_together() -> None:
    text = problems_of(a_workload, scale=[-1.0] * 3, hold_s=[-1.0] * 3, arrival_s=[2.0, 1.0, 0.0])
    assert len(text.splitlines()) == 3


# World, allocation, and what holds of all


def test_a_world_fits_together() -> None:
    with pytest.raises(InputError, match="task type number 2; the system has the task types 0 to 1"):
        World(a_system(), a_workload(task_type=[0, 2, 1]))


def columns_of(*columns: list[Any]) -> Any:
    return map(np.array, columns)


def test_an_allocation_has_one_row_per_task() -> None:
    with pytest.raises(InputError, match=r"found columns of \[1, 2\] rows"):
        Allocation(*columns_of([0, 1], [0], [0.0], [1.0], [1]))
    allocation = Allocation(*columns_of([0, -1], [0, -1], [0.0, math.nan], [1.0, math.nan], [1, 0]))
    assert allocation.n_tasks == 2
    assert allocation.ran.tolist() == [True, False]
    assert Status(allocation.status[1]) is Status.WAITING


@pytest.mark.parametrize("make", [a_system, a_workload, busy_world], ids=["system", "workload", "world"])
def test_nobody_writes_to_a_model(make: Any) -> None:
    model = make()
    parts = [model.system, model.workload] if isinstance(model, World) else [model]
    for part in parts:
        for name, value in vars(part).items():
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable, name
                with pytest.raises(ValueError, match="WRITEABLE"):
                    value.flags.writeable = True
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, next(iter(vars(part))), None)


def test_a_model_does_not_share_the_callers_arrays() -> None:
    counts = np.array([1])
    system = System(("a",), ("x",), counts, np.ones((1, 1, 1)))
    counts[0] = 7
    assert system.n_machines == 1
    assert counts.flags.writeable


def test_tags_cannot_be_changed() -> None:
    tags = {"priority": Tag(("low", "high"), np.array([0, 1, 0]))}
    work = a_workload(tags=tags)
    tags.clear()
    assert work.tags["priority"].codes.tolist() == [0, 1, 0]
    with pytest.raises(TypeError):
        work.tags["other"] = tags  # type: ignore[index]


def test_a_world_travels_between_processes() -> None:
    world = World(a_system(), a_workload(tags={"priority": Tag(("low",), np.zeros(3, np.int8))}))
    copy = pickle.loads(pickle.dumps(world))
    assert copy.workload.utility([1], [9.0]) == world.workload.utility([1], [9.0])
    assert copy.system.machine_type.tolist() == world.system.machine_type.tolist()
    assert copy.workload.tags["priority"].names == ("low",)
    assert not copy.workload.arrival_s.flags.writeable


# Bounds


def test_the_bounds_by_hand() -> None:
    """Fastest times 1 s and 5 s (type y has no machines); the window (5, 7] cuts the first and the last task."""
    work = a_workload(arrival_s=[0.0, 1.0, 6.5], task_type=[0, 1, 0], start_s=5.0, end_s=7.0)
    world = World(a_system(), work)
    assert maximum_utility(world) == pytest.approx(2 * 0.8)
    assert utility_ceiling(world) == pytest.approx(1.0 + 2 * 0.8)


@given(scenarios())
def test_the_ceiling_is_above_the_yardstick(scenario: Scenario) -> None:
    assert maximum_utility(scenario.world) <= utility_ceiling(scenario.world) + 1e-9


def test_simple_worlds_are_simple() -> None:
    world = World(simple_system([[2.0]]), simple_workload([0.0, 1.0], scale=3.0))
    assert maximum_utility(world) == utility_ceiling(world) == 6.0


# Utilities that rise first


def test_utility_rises_evenly_and_then_falls_as_its_shape_says() -> None:
    work = a_workload(hold_s=[0.0, 6.0, 0.0], rise_s=[0.0, 4.0, 0.0])
    assert work.utility(1, [1.0, 3.0, 5.0, 7.0, 12.0]).tolist() == [0.0, 1.0, 2.0, 2.0, 1.0]
    assert work.most_from(1, [1.0, 3.0, 5.0, 7.0, 12.0]).tolist() == [2.0, 2.0, 2.0, 2.0, 1.0]
    assert work.utility([0, 2], 1.0).tolist() == [1.0, 4.0]
    assert work.peak_at_s.tolist() == [0.0, 5.0, 1.0]
    again = pickle.loads(pickle.dumps(work))
    assert again.columns["rise_s"].tolist() == [0.0, 4.0, 0.0]


@given(scenario=scenarios(most_tasks=6), data=st.data())
def test_what_a_task_can_still_earn_is_the_most_of_all_later_instants(scenario: Scenario, data: st.DataObject) -> None:
    work = data.draw(rising(scenario.world.workload))
    for i in range(work.n_tasks):
        from_s = float(work.arrival_s[i]) + data.draw(st.floats(0.0, 40.0))
        peak_s = max(from_s, float(work.arrival_s[i] + work.hold_s[i]))
        later_s = np.concatenate((np.linspace(from_s, from_s + 100.0, 2000), [peak_s]))
        assert float(work.utility(i, later_s).max()) == pytest.approx(float(work.most_from(i, from_s)))
        assert (work.utility(i, later_s) <= work.most_from(i, from_s)).all()


def test_a_rise_that_is_none_is_refused() -> None:
    found = problems_of(a_workload, rise_s=[0.0, 3.5, -1.0])
    assert "workload.rise_s: task 1: found 3.5 (and 1 more); must be 0 s or more, and end within hold_s" in found
    assert "workload.rise_s: found 1 values" in problems_of(a_workload, rise_s=[0.0])
    assert "workload.prorated" in problems_of(a_workload, rise_s=[0.0, 3.0, 0.0], is_prorated=True)


def test_the_yardstick_and_the_ceiling_take_who_rises_at_its_peak() -> None:
    """Of two tasks of 2 s that rise for 10 s and then fall in 10 s one arrives too late to rise in the window."""
    work = simple_workload([0.0, 40.0], shape=linear(10.0), end_s=45.0)
    work = dataclasses.replace(work, rise_s=np.full(2, 10.0), hold_s=np.full(2, 10.0))
    world = World(simple_system([[2.0]], [2]), work)
    assert (maximum_utility(world), utility_ceiling(world)) == (1.0, 1.5)
