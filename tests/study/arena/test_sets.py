"""The sets of the arena: sound studies with worlds of their own for tuning, whose logs may be missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.study.arena.sets import JUDGING, LOGS, QUICK, SETS, STAGES, TUNING, WorldSet, place_of, sets_for
from joulewise.study.parsing.file import parse_study
from tests.strategies.small import HEURISTIC
from tests.strategies.small_arena import put_small_sets
from tests.strategies.small_jobs import LOG

SHIPPED = ("tasks", "jobs")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_set_is_a_sound_study(name: str) -> None:
    each = SETS[name]
    study = parse_study(each.text, f"{name}.toml", Path(), check_inputs=True)
    assert study.warnings == ()
    assert [point.variant for point in study.points] == list(each.worlds)
    assert re.fullmatch(rf"arena-{name}-\d+", study.name)
    assert study.heading.keep == "all"


@pytest.mark.parametrize("name", SHIPPED)
def test_stages_differ_in_what_they_say_and_in_nothing_else(name: str) -> None:
    found = {stage: SETS[name].study(["prices"], stage) for stage in STAGES}
    assert found[TUNING].heading.seed != found[JUDGING].heading.seed
    assert found[QUICK].heading.trials == 1
    assert len({study.points for study in found.values()}) == 1


def test_policies_with_odd_names_are_told_as_they_are() -> None:
    names = ["a'b\".py:x", "ü <b>.py", "back\\slash.py"]
    study = SETS["tasks"].study(names)
    assert [decision.parameters.policy for decision in study.decisions[: len(names)]] == names


def test_a_policy_meets_the_sets_that_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    place = place_of(str(tmp_path / "mine.py:mine"))
    assert place == (tmp_path, "mine.py:mine")
    assert [each.name for each in sets_for(place)] == ["tasks"]
    assert [each.name for each in sets_for(place_of("easy"))] == ["jobs"]
    assert [each.name for each in sets_for(place_of("prices"))] == ["tasks", "jobs"]
    with pytest.raises(InputError, match="did you mean 'easy'"):
        sets_for(place_of("esay"))


def test_logs_are_taken_from_their_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_small_sets(monkeypatch, tmp_path)
    assert not SETS["logs"].is_there
    (tmp_path / "other.swf").write_text(LOG)
    monkeypatch.setenv(LOGS, str(tmp_path))
    there = WorldSet("logs", "jobs", "job-policies")
    assert there.worlds == ("other",)
    assert there.stamp == SETS["logs"].stamp
    (point,) = there.study(["easy"]).points
    assert point.workload.parameters.trace == str(tmp_path / "other.swf")
    (tmp_path / "other.swf").write_text(f"{LOG}; changed")
    with pytest.raises(InputError, match=r"other\.swf: has the hash \w{12}; the set logs is of \w{12}; take the file"):
        there.study(["easy"])
    assert there.is_there
