"""Lists as sweeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from joulewise.study.parsing import sweep
from joulewise.study.parsing.sweep import Axis
from tests.strategies.small import small

NUMBERS, LISTS = frozenset({0}), frozenset({1})


def test_a_list_is_a_sweep_unless_the_key_takes_lists() -> None:
    assert sweep.is_sweep([1, 2], NUMBERS)
    assert not sweep.is_sweep(1, NUMBERS)
    assert not sweep.is_sweep([1, 2], LISTS)
    assert sweep.is_sweep([[1, 2], [3]], LISTS)


def test_a_file_name_or_a_matrix_is_one_value_and_lists_of_them_are_sweeps() -> None:
    either = frozenset({0, 2})
    assert [sweep.is_sweep(value, either) for value in ("a.csv", [[1, 2]], ["a.csv", "b.csv"], [[[1]], [[2]]])] == [
        False,
        False,
        True,
        True,
    ]


def test_the_product_has_every_combination_and_the_last_axis_is_fastest() -> None:
    section = {"a": [1, 2], "b": 5, "c": ["x", "y"]}
    axes = sweep.axes(section, {"a": NUMBERS, "b": NUMBERS, "c": NUMBERS})
    assert axes == [Axis("a", (1, 2)), Axis("c", ("x", "y"))]
    combinations = [(point["a"], point["b"], point["c"]) for point in sweep.product(section, axes)]
    assert combinations == [(1, 5, "x"), (1, 5, "y"), (2, 5, "x"), (2, 5, "y")]


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(), min_size=1, max_size=4)))
def test_one_at_a_time_shows_every_value(section: dict[str, list[int]]) -> None:
    axes = sweep.axes(section, {})
    shown = [point for point, _ in sweep.one_at_a_time(section, axes)]
    for axis in axes:
        assert {point[axis.key] for point in shown} == set(axis.values)
    assert len(shown) == max(sum(map(len, section.values())), 1)


def test_a_variant_replaces_keys_or_the_whole_source() -> None:
    keys = ("generator", ("tasks",))
    base = {"generator": "day", "tasks_per_day": 5}
    assert sweep.lay_over(base, {"tasks_per_day": 7}, *keys) == {"generator": "day", "tasks_per_day": 7}
    assert sweep.lay_over(base, {"tasks": "t.csv"}, *keys) == {"tasks": "t.csv"}
    assert sweep.lay_over(base, {"generator": "day"}, *keys) == base
    assert sweep.lay_over({"tasks": "a.csv"}, {"tasks": "b.csv"}, *keys) == {"tasks": "b.csv"}


def test_list_valued_keys_are_swept_by_lists_of_lists() -> None:
    study = small(lambda text: text.replace("[2, 3]", "[[2, 3], [5]]"))
    counts = {point.system.parameters.general_counts for point in study.points}
    assert counts == {(2, 3), (5,)}
    assert study.axes == ("system.general_counts", "manager.policy", "manager.dropping_threshold")


def test_equal_points_are_run_once() -> None:
    assert len(small(lambda text: text.replace("[0, 0.5]", "[0, 0.5, 0.0, 5e-1]")).points) == 4


def test_variants_multiply_with_sweeps_and_lie_over_the_file() -> None:
    variants = """
[[variant]]
name = "calm"
[[variant]]
name = "busy"
workload.tasks_per_day = [300, 400]
manager.dropping_threshold = 1
"""
    study = small(lambda text: text + variants)
    found = [
        (p.variant, p.workload.parameters.tasks_per_day, p.decision.parameters.dropping_threshold)
        for p in study.points
        if p.decision.parameters.policy == "random"
    ]
    assert found == [("calm", 150, 0), ("calm", 150, 0.5), ("busy", 300, 1), ("busy", 400, 1)]
    assert study.axes == (
        "variant", "manager.policy", "manager.dropping_threshold", "workload.tasks_per_day",
    )  # fmt: skip
