"""`joulewise compare`: tables, a page, JSON, and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.strategies.calling import call
from tests.strategies.small import run_small

Capture = pytest.CaptureFixture[str]


def test_points_are_compared_in_a_table(small_results: Path, capsys: Capture) -> None:
    said = call(capsys, "compare", f"{small_results}:policy=random", f"{small_results}:policy=max-max-upt")
    assert said.code == 0, said.err
    shown = ("What differs, random being the base", "manager.policy", "met the same worlds", "dropping threshold 0.5")
    assert [words for words in shown if words not in said.out] == []
    assert "p is corrected for all 4 differences (Holm)" in said.out


def test_one_pair_of_points_has_a_row_for_each_metric(small_results: Path, capsys: Capture) -> None:
    points = (f"{small_results}:policy={policy},dropping_threshold=0" for policy in ("random", "max-max-upt"))
    said = call(
        capsys, "compare", *points, "--metric", "tasks_completed", "--metric", "energy_j", "--metric", "budget_j"
    )
    assert said.code == 0, said.err
    assert "max-max-upt against random\n" in said.out
    assert "no values to compare" in " ".join(said.out.split())


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_json_has_all_of_it_and_a_page_is_written(small_results: Path, tmp_path: Path, capsys: Capture) -> None:
    points = (f"{small_results}:policy=random", f"{small_results}:policy=max-max-upt")
    said = call(capsys, "compare", *points, "--all", "--json", "--out", tmp_path / "page.html", "--format", "svg")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert [each["study"] for each in found["studies"]] == ["random", "max-max-upt"]
    assert found["studies"][0]["chosen"] == {"manager.policy": "random"}
    assert {row["metric"] for row in found["differences"]} >= {"utility", "run_s"}
    assert {row["pairing"] for row in found["pairs"]} == {"worlds"}
    assert found["written"][0] == str(tmp_path / "page.html")
    assert all(Path(path).is_file() for path in found["written"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{0}"], "there must be two at least"),
        (["{0}", "{0}"], "is named twice"),
        (["{0}", "nowhere"], "there is no such folder"),
        (["{0}:policy=random", "{0}:policy=max"], "must be one of random, max-max-upt"),
        (["{0}:policy=random", "{0}:policy=max-max-upt", "--metric", "utilty"], "did you mean 'utility'?"),
        (["{0}:policy=random", "{0}:policy=max-max-upt", "--format", "png"], "give --out PAGE.html"),
        (["{0}:policy=random", "{0}:policy=max-max-upt", "--out", "page.txt"], "must be a file that ends in .html"),
    ],
)
def test_mistakes_are_told(arguments: list[str], words: str, small_results: Path, capsys: Capture) -> None:
    said = call(capsys, "compare", *(argument.format(small_results) for argument in arguments))
    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err


def _renamed(own: str) -> Callable[[str], str]:
    return lambda text: text.replace('"small"', own)


def test_names_of_studies_stand_as_they_are_written(tmp_path: Path, capsys: Capture) -> None:
    for seed, name in enumerate(("setting", "my_own")):
        own = f'"{name}"\nseed = {seed}'
        run_small(tmp_path / name, change=_renamed(own))
    said = call(capsys, "compare", tmp_path / "my_own", tmp_path / "setting")
    assert said.code == 0, said.err
    heading = next(line for line in said.out.splitlines() if line.startswith(" setting"))
    assert heading.split() == ["setting", "my_own", "setting"]
