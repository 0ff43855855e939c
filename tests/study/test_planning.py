"""Runs and their keys: what changes them and what must not."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from joulewise.study import Run, parse_study, plan
from joulewise.study.estimate import estimate
from tests.study.small import HEURISTIC, TEXT, small

Change = Callable[[str], str]


def keys(change: Change = lambda text: text, folder: Path = Path()) -> list[str]:
    return [run.key for run in plan(small(change, folder))]


def test_every_point_has_every_trial_and_policies_share_worlds() -> None:
    runs = plan(small())
    assert [run.trial for run in runs] == [0, 1] * 4
    assert len({run.key for run in runs}) == 8
    worlds = {run.trial: {other.world_key for other in runs if other.trial == run.trial} for run in runs}
    assert all(len(found) == 1 for found in worlds.values())
    assert len(set.union(*worlds.values())) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("trials = 2", "trials = 5"),
        lambda text: text.replace('"random", ', '"random", "max-util", '),
        lambda text: text.replace("[0, 0.5]", "[0, 0.25, 0.5]"),
    ],
    ids=["trials", "policy", "threshold"],
)
def test_what_is_added_changes_no_key(change: Change) -> None:
    assert set(keys()) < set(keys(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"small"', '"other"'),
        lambda text: text.replace('"10 min"', '"600 s"'),
        lambda text: text.replace("[manager]", '[manager]\nmapping_interval = "1 min"'),
        lambda text: text.replace("[0, 0.5]", "[0.0, 5e-1]"),
        lambda text: text + '[[variant]]\nname = "same"\n',
    ],
    ids=["name", "unit", "default", "spelling", "variant"],
)
def test_what_means_the_same_keeps_the_keys(change: Change) -> None:
    assert keys(change) == keys()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("trials = 2", "trials = 2\nseed = 1"),
        lambda text: text.replace("= 150", "= 151"),
        lambda text: text.replace("[2, 3]", "[2, 4]"),
        lambda text: text.replace("[manager]", '[manager]\nmapping_interval = "2 min"'),
    ],
    ids=["seed", "workload", "system", "manager"],
)
def test_what_means_something_else_changes_every_key(change: Change) -> None:
    assert not set(keys()) & set(keys(change))


def test_a_named_file_counts_by_its_content(tmp_path: Path) -> None:
    def with_file(name: str, text: str) -> set[str]:
        (tmp_path / name).write_text(text)
        study = parse_study(TEXT.replace("random", f"{name}:mine"), "study.toml", tmp_path)
        return {run.key for run in plan(study) if run.point.manager.parameters.policy != "max-max-upt"}

    first = with_file("mine.py", HEURISTIC)
    assert with_file("moved.py", HEURISTIC) == first
    assert not with_file("mine.py", HEURISTIC + "# changed") & first


@pytest.mark.parametrize(("keep", "kept"), [("first", {0}), ("all", {0, 1}), ("none", set())])
def test_keep_names_the_runs_with_details(keep: str, kept: set[int]) -> None:
    runs = plan(small(lambda text: f'keep = "{keep}"\n' + text))
    assert {run.trial for run in runs if run.keep} == kept


def test_a_run_says_what_it_is_in_columns_with_units() -> None:
    run: Run = plan(small())[-1]
    cells = run.cells()
    assert cells["manager.policy"] == "max-max-upt"
    assert cells["manager.mapping_interval_s"] == 60.0
    assert cells["system.general_counts"] == "[2, 3]"
    assert (cells["system.generator"], cells["trial"], cells["variant"]) == ("oversubscribed", 1, None)


def test_an_installed_heuristic_counts_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("joulewise.policies.heuristic")  # not the function of that name

    def with_source(source: str) -> set[str]:
        monkeypatch.setattr(module, "installed_identity", lambda spec: {"mine": source}.get(spec))
        return set(keys(lambda text: text.replace("random", "mine")))

    assert with_source("package 1.0") == with_source("package 1.0")
    assert len(with_source("package 1.0") & with_source("package 1.1")) == 4  # those of the other policy


def test_the_estimate_counts_bounds_and_the_plain_engine(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    (tmp_path / "slow.py").write_text(HEURISTIC.replace(", falls_with_time=True", ""))

    def seconds(file: str, bound: str) -> float:
        text = f'bound = "{bound}"\n' + TEXT.replace("random", f"{file}:mine").replace("= 150", "= 50_000")
        return estimate(parse_study(text, "study.toml", tmp_path), tmp_path / "out").seconds

    assert seconds("mine.py", "trivial") < seconds("mine.py", "prices") < seconds("slow.py", "prices")
