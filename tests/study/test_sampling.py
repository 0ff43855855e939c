"""Ranges: a Latin hypercube fills them evenly, by key, whatever else a file has."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.study import Study, run_study
from joulewise.study.parsing.ranges import Range, draw
from joulewise.study.parsing.schema import json_schema
from tests.strategies.small import QUICKLY, small

RANGED = "dropping_threshold = { from = 0.1, to = 0.9 }"
SWEPT = "dropping_threshold = [0, 0.5]"


def sampled(change: Callable[[str], str] = lambda text: text, n: int = 8) -> Study:
    return small(lambda text: f"samples = {n}\n" + change(text.replace(SWEPT, RANGED)))


def thresholds(study: Study, policy: str = "random") -> list[float]:
    parts = [point.decision.parameters for point in study.points]
    return [part.dropping_threshold for part in parts if part.policy == policy]


def test_each_part_of_a_range_has_one_value_and_policies_share_them() -> None:
    study = sampled()
    found = thresholds(study)
    assert sorted(math.floor((value - 0.1) / 0.1) for value in found) == list(range(8))
    assert thresholds(study, "max-max-upt") == found != sorted(found)
    assert len(study.points) == 16
    assert study.axes == ("manager.policy", "manager.dropping_threshold")


def test_values_depend_on_the_seed_and_not_on_other_keys_or_their_order() -> None:
    found = thresholds(sampled())
    interval = 'mapping_interval = { from = "1 min", to = "2 min" }'
    manager = f'[manager]\n{RANGED}\npolicy = ["random", "max-max-upt"]\n{interval}\n'
    other = sampled(lambda text: text.partition("[manager]")[0] + manager)
    assert thresholds(other) == found
    assert thresholds(sampled(lambda text: "seed = 1\n" + text)) != found


def test_samples_of_several_sections_go_together_and_lists_multiply_them() -> None:
    study = sampled(lambda text: text.replace("= 150", "= { from = 100, to = 200 }"))
    pairs = {
        (point.workload.parameters.tasks_per_day, point.decision.parameters.dropping_threshold)
        for point in study.points
    }
    assert len(pairs) == 8
    assert len(study.points) == 16
    variants = '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\nmanager.dropping_threshold = 0.5\n'
    both = sampled(lambda text: text + variants)
    assert [point.variant for point in both.points] == ["a"] * 16 + ["b"] * 2


def test_quantities_and_whole_numbers_have_ranges_too() -> None:
    supply = '[supply]\nbudget = { from = "1 GJ", to = "2 GJ" }\n'
    study = sampled(lambda text: text.replace("task_types = 12", "task_types = { from = 12, to = 15 }", 1) + supply)
    budgets = {point.supply.parameters.budget_j for point in study.points}
    assert sorted(math.floor((value - 1e9) / 1.25e8) for value in budgets) == list(range(8))
    types = [point.system.parameters.task_types for point in study.points]
    assert {(value, types.count(value)) for value in types} == {(12, 4), (13, 4), (14, 4), (15, 4)}


@given(st.floats(1e-3, 1e6), st.floats(1.001, 1e6), st.booleans(), st.integers(1, 40), st.integers(0, 5))
def test_draws_fill_their_range(first: float, times: float, is_log: bool, n: int, seed: int) -> None:
    of_key = Range(first, first * times, is_log, is_whole=False, unit="")
    found = [sample["key"] for sample in draw({"key": of_key}, "manager", seed, n)]
    assert all(first <= value <= first * times for value in found)
    edges = [first * times ** (i / n) if is_log else first + (first * times - first) * i / n for i in range(n + 1)]
    rounding = 1e-5 * first * times
    for low, high, value in zip(edges, edges[1:], sorted(found), strict=False):
        assert low - rounding <= value <= high + rounding


@given(st.integers(1, 50), st.integers(1, 50), st.booleans(), st.integers(1, 60))
def test_whole_numbers_stay_whole_and_within(first: int, more: int, is_log: bool, n: int) -> None:
    of_key = Range(first, first + more, is_log, is_whole=True, unit="")
    found = [sample["key"] for sample in draw({"key": of_key}, "manager", 0, n)]
    assert all(isinstance(value, int) and first <= value <= first + more for value in found)


def test_sampled_points_run(tmp_path: Path) -> None:
    study = sampled(lambda text: QUICKLY + text.replace("trials = 2", "trials = 1"), n=3)
    results = run_study(study, tmp_path, 1)
    assert results.failed.is_empty()
    assert results.runs["manager.dropping_threshold"].n_unique() == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (RANGED, "dropping_threshold = { from = 0.1 }", r"manager.dropping_threshold.to: missing"),
        (RANGED, "dropping_threshold = { to = 0.1, form = 0 }", r"manager.dropping_threshold.form: "),
        (RANGED, "dropping_threshold = { from = 0.9, to = 0.1 }", r"found from 0.9 to 0.1; the end .* above its"),
        (RANGED, "dropping_threshold = { from = -1, to = 0.1 }", r"manager.dropping_threshold.from: found -1; "),
        (RANGED, 'dropping_threshold = { from = "a", to = 1 }', r"dropping_threshold.from: found 'a'; must be a n"),
        (RANGED, "dropping_threshold = { from = 0, to = 1, log = true }", r"a range with log must begin above 0"),
        (RANGED, "dropping_threshold = { from = 0.1, to = 1, log = 3 }", r"log: found 3; must be true or false"),
        (RANGED, RANGED + "\nmapping_interval = { from = 1, to = 2 }", r"interval.from: found 1 without a unit"),
        (RANGED, RANGED + "\nnosuch = 1", r"manager.nosuch: there is no such key"),
        ('"random", "max-max-upt"]', '"random"]\nenvironment = { from = "a", to = "b" }', r"only one number"),
        ("[2, 3]", "{ from = 1, to = 2 }", r"system.general_counts: .*only one number or quantity"),
        ("samples = 8\n", "", r"manager.dropping_threshold: found a range; needs to be told how many samples"),
        ("samples = 8", "samples = 0", r"samples: found 0; must be 1 or more"),
        ("samples = 8", "samples = 10_001", r"samples: found 10_?001; must be 10,000 or less"),
        (RANGED, SWEPT, r"samples: found 8; nothing in this study is a range"),
    ],
)  # fmt: skip
def test_wrong_ranges_are_told(old: str, new: str, words: str) -> None:
    text = small(lambda text: text).source.replace(SWEPT, RANGED)
    with pytest.raises(InputError, match=words):
        small(lambda _: ("samples = 8\n" + text).replace(old, new))


def test_all_that_is_wrong_beside_a_range_is_told_too() -> None:
    with pytest.raises(InputError) as caught:
        small(lambda text: text.replace(SWEPT, "dropping_threshold = { from = 1, to = 0 }\nmapping_interval = 3"))
    assert len(caught.value.problems) == 3  # the range, its samples, the interval


def test_the_schema_knows_ranges() -> None:
    text = json.dumps(json_schema())
    assert '"required": ["from", "to"]' in text
    managers = json_schema()["properties"]["manager"]["properties"]
    kinds = [arm.get("type") for arm in managers["dropping_threshold"]["anyOf"]]
    assert kinds == ["number", "array", "object"]
    assert [arm.get("type") for arm in managers["preempts"]["anyOf"]] == ["boolean", "array"]
    assert json_schema()["properties"]["trials"]["anyOf"][1]["type"] == "string"
    assert "survivors" in json_schema()["properties"]["tune"]["properties"]
