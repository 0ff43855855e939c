"""The days of runs: how plans are rehearsed within one limit of time, and how long a day is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from joulewise.study import run_study
from joulewise.study.facility import days
from joulewise.study.facility.methods import RewardParameters, search
from joulewise.study.spec.source import Draw
from tests.strategies.small_facility import TABLED
from tests.study.facility.test_studies import TABLES, TEXT, study_of

ONCE = TEXT.replace("trials = 2", "") + 'day = "10 min"\n'


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[RewardParameters]:
    """What is asked of each search, where every rehearsal loses tasks."""
    asked = list[RewardParameters]()

    def noted(facility: Any, air: Any, p: RewardParameters, seed: int) -> Any:
        asked.append(p)
        return search(facility, air, p, seed)

    monkeypatch.setattr(days, "search", noted)
    monkeypatch.setattr(days, "_lost", lambda day: np.full(day.facility.tasks.n_types, 0.1))
    return asked


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_every_method_rehearses_and_one_limit_is_for_all_of_its_searches(
    searches: list[RewardParameters], tmp_path: Path
) -> None:
    several = 'method = ["greedy", "gacl"]\nseeds = []\npopulation = 4\ngenerations = 3\ntime_limit = "1 h"\n'
    run_study(study_of(ONCE + several), tmp_path, 1)
    for method in ("greedy", "gacl"):
        first_s, second_s, third_s = (p.time_limit_s or 0.0 for p in searches if p.method == method)
        assert 1100 < first_s <= 1200 < second_s <= 1800 < third_s < 3600


def test_plans_of_a_day_that_was_rehearsed_are_not_searched_for_again(
    searches: list[RewardParameters], tmp_path: Path
) -> None:
    run_study(study_of(ONCE + 'method = "greedy"\nslack = 0.1\n'), tmp_path, 1)
    assert len(searches) <= 3 + 2  # those of three rehearsals, for even rates the first, and that which is kept


def test_no_rehearsal_begins_when_time_is_up(searches: list[RewardParameters], tmp_path: Path) -> None:
    run_study(study_of(ONCE + 'time_limit = "1 ms"\n'), tmp_path, 1)
    assert len(searches) == 1


def test_the_time_to_solve_has_the_rehearsals_and_not_the_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    passed_s, simulated = [0.0], days._simulated

    def slow(*asked: Any) -> Any:
        passed_s[0] += 1000.0
        return simulated(*asked)

    monkeypatch.setattr(days, "_simulated", slow)
    monkeypatch.setattr(days, "_lost", lambda _: np.zeros(1))
    monkeypatch.setattr(days, "time", SimpleNamespace(perf_counter=lambda: passed_s[0]))
    runs = run_study(study_of(ONCE + 'method = "greedy"\n'), tmp_path, 1).runs
    assert (runs["solve_s"].to_list(), passed_s) == ([1000.0], [2000.0])


def test_what_no_node_of_the_room_runs_makes_no_day_longer(tmp_path: Path) -> None:
    """A type of which the only nodes do not stand there took a year, and so there was no day."""
    more = {
        "types.csv": TABLES["types.csv"] + "other,4,1,18.9,9.1\n",
        "tasks.csv": TABLES["tasks.csv"] + "z,1,light\n",
        "speeds.csv": TABLES["speeds.csv"] + "z,other,1e-7,9\n",
    }
    for name, text in (TABLES | more).items():
        (tmp_path / name).write_text(text)
    study = study_of(TABLED, tmp_path)
    world = study.kind.build_world(study.points[0].world, Draw(0, 0, tmp_path))
    assert days.length_s(world.facility, RewardParameters()) == days.DAY_S


def test_a_kept_plan_ends_its_history_with_its_rate_as_printed(
    searches: list[RewardParameters], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last row of progress is the rate that the run tells, in the reading of the study."""
    earned = iter([1.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(
        "joulewise.simulate.facility.day.FacilityDay.reward_per_s", property(lambda _: next(earned, 4.0))
    )
    results = run_study(study_of(ONCE + 'method = "greedy"\nas_printed = true\n'), tmp_path, 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.details("progress")["crr_percent"][-1] == pytest.approx(results.runs["crr_percent"][0], rel=1e-12)
