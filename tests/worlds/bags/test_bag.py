"""Bags of tasks: drawn ones, and every way in which a table of counts can be wrong."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.model.bag import Bag
from joulewise.worlds.bags.bag import BagParameters, BagTable, bag_frame, generate_bag, read_bag, task_type_shares

SYSTEM = System(
    ("render", "solve", "sort"),
    ("fast", "slow"),
    np.array([1, 1]),
    np.array([[[60.0], [120.0]], [[30.0], [90.0]], [[1.0], [2.0]]]),
    np.full((3, 2, 1), 100.0),
)


def read(folder: Path, text: str) -> Bag:
    (folder / "bag.csv").write_text(text)
    return read_bag(BagTable(bag="bag.csv"), SYSTEM, folder)


def test_equal_shares() -> None:
    counts = [generate_bag(BagParameters(n_tasks=900), SYSTEM, 0, trial).counts for trial in range(200)]
    assert {int(c.sum()) for c in counts} == {900}
    assert np.mean(counts, axis=0) == pytest.approx(300, abs=5)
    assert len({tuple(c) for c in counts}) > 100


def test_drawn_shares_are_those_of_the_seed_in_all_trials() -> None:
    parameters = BagParameters(n_tasks=100_000, shares="dirichlet")
    shares = task_type_shares(parameters, 3, 7)
    for trial in range(5):
        bag = generate_bag(parameters, SYSTEM, 7, trial)
        assert bag.counts / 100_000 == pytest.approx(shares, abs=0.01)
    assert not np.array_equal(shares, task_type_shares(parameters, 3, 8))
    assert np.array_equal(generate_bag(parameters, SYSTEM, 7, 4).counts, bag.counts)


def test_a_bag_of_a_billion_tasks_and_machines_that_are_switched_off() -> None:
    bag = generate_bag(BagParameters(n_tasks=10**9, off_when_done=True), SYSTEM, 0, 0)
    assert bag.n_tasks == 10**9
    assert bag.is_off_when_done


@pytest.mark.parametrize("concentration", [1e-3, 1e6])
def test_extreme_concentrations(concentration: float) -> None:
    parameters = BagParameters(shares="dirichlet", concentration=concentration)
    for seed in range(50):
        assert generate_bag(parameters, SYSTEM, seed, 0).n_tasks == 1000


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"n_tasks": 0}, ["n_tasks"]),
        ({"n_tasks": 2**53}, ["n_tasks"]),
        ({"shares": "even"}, ["shares"]),
        ({"concentration": 2.0}, ["concentration"]),
        ({"shares": "dirichlet", "concentration": float("nan")}, ["concentration"]),
    ],
)
def test_bad_parameters(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        BagParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"workload.{name}" for name in wheres]


def test_a_table_of_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "task_type,count\nsort,5\nrender,7.0\n").counts.tolist() == [7, 0, 5]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_round_trip(tmp_path: Path, ending: str) -> None:
    bag = Bag(SYSTEM, np.array([2**52, 0, 3]))
    path = tmp_path / f"bag.{ending}"
    frame = bag_frame(bag)
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    again = read_bag(BagTable(bag=path.name, off_when_done=True), SYSTEM, tmp_path)
    assert np.array_equal(again.counts, bag.counts)
    assert again.is_off_when_done


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        ("rendr,1\n", ["line 2, task_type: found 'rendr'.*did you mean 'render'"]),
        ("render,1\nsolve,2\nrender,3\n", ["line 4, task_type: found 'render'; each task type may have one row"]),
        ("render,-1\n", ["line 2, count: found '-1'; must be a finite number of 0 or more"]),
        ("render,1.5\n", ["line 2, count: found '1.5'; must be a whole number"]),
        ("render,\n", ["line 2, count: found nothing"]),
        (",3\n", ["line 2, task_type: found nothing; the task type must be given"]),
        ("render,many\n", ["line 2, count: found 'many'"]),
        ("render,inf\nsolve,nan\n", ["line 2, count", "line 3, count"]),
        ("render,9007199254740992\n", [r"line 2, count: .*must be below 2\^53"]),
        ("render,9007199254740991\nsolve,1\n", [r"bag\.counts: .*below 2\^53"]),
        ("render,0\n", [r"bag\.counts: found 0 tasks in all"]),
        ("rendr,1.5\nsolve,-1\n", ["line 3, count", "line 2, count", "line 2, task_type"]),
    ],
)
def test_wrong_tables(tmp_path: Path, rows: str, messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, "task_type,count\n" + rows)
    assert len(caught.value.problems) == len(messages)
    for problem, message in zip(caught.value.problems, messages):
        assert re.search(message, str(problem)), str(problem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task_type,n\nrender,1\n", "header: has no column 'count'"),
        ("task_type,count,colour\nrender,1,red\n", "'colour'"),
        ("task_type,count\n", "has no rows"),
    ],
)
def test_wrong_columns(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_every_parameter_is_explained() -> None:
    assert all(field.metadata["help"] for kind in (BagParameters, BagTable) for field in fields(kind))
