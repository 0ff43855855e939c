"""Policies of a user's own in studies, and the conformance suite that he runs on them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from joulewise.study import parse_study, run_study, to_verify
from joulewise.study.kinds.conformance import CHECKS, held_against_all
from joulewise.study.tasks.conformance import trials
from tests.strategies.calling import call
from tests.strategies.small import HEADING, QUICKLY, SYSTEM, WORKLOAD

FILE = '''
import joulewise
import numpy as np


@joulewise.policy()
def first_come(event):
    """Each task goes where it ends first."""
    free_s, rows = np.where(event.is_open, event.free_s, np.inf), []
    for task, kind in zip(event.task, event.task_type):
        end_s = free_s + event.exec_s[kind, event.machine_type, 0]
        machine = end_s.argmin()
        if end_s[machine] < np.inf:
            rows.append((task, machine, 0))
            free_s[machine] = end_s[machine]
    return np.array(rows)


@joulewise.policy(time_limit_s=0.5)
def never_ends(event):
    while True:
        pass


@joulewise.policy()
def twice(event):
    return [(event.task[0], 0, 0)] * 2


seen = []


@joulewise.policy()
def remembers(event):
    """Does otherwise in later runs."""
    seen.append(event.number)
    return None if len(seen) > 40 else first_come.own.code(event)


@joulewise.policy()
def idle(event):
    print("<b>nothing</b>")
'''
MANAGER = """
[manager]
policy = ["max-max-upt", "own.py:first_come", "own.py:never_ends", "own.py:twice"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a file of policies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(FILE)
    return tmp_path


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_policy_fails_alone_and_named_in_every_process(folder: Path, workers: int) -> None:
    text = QUICKLY + HEADING + SYSTEM + WORKLOAD + MANAGER
    results = run_study(parse_study(text, "study.toml", folder), folder / "out", workers=workers)
    runs = {row["manager.policy"]: row for row in results.runs.to_dicts()}
    assert runs["own.py:first_come"]["status"] == runs["max-max-upt"]["status"] == "done"
    assert runs["own.py:first_come"]["utility"] > 0
    assert "policy never_ends, event 0 at " in runs["own.py:never_ends"]["error"]
    assert "was not over after 500 ms" in runs["own.py:never_ends"]["error"]
    assert "policy twice, event 0 at " in runs["own.py:twice"]["error"]
    assert "does not wait, or was assigned already" in runs["own.py:twice"]["error"]
    verdicts = to_verify(folder / "out", folder, None, every=True).verdicts()
    assert [problem for verdict in verdicts for problem in verdict.problems] == []


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_what_a_stranger_checks_holds_of_ours() -> None:
    for name in ("max-max-upt", "prices"):
        found = held_against_all(partial(trials, name, Path()))
        assert [check for check in found if not check.passed] == []


def test_a_policy_that_depends_on_the_order_of_its_rows_is_told_so(folder: Path) -> None:
    order = CHECKS["order"]
    assert order.may_be_right
    told = ((trial.name, word) for trial in trials("own.py:first_come", folder) if (word := order.find(trial)))
    shown_by, word = next(told)
    assert shown_by == "2 tasks"
    assert "what arrives together in another order gave task" in word
    in_ties = (trial.name for trial in trials("max-max-upt", folder) if order.find(trial))
    assert next(in_ties) == "20 tasks, a budget", "it leaves tasks until they are worth nothing, all alike"


def checked(capsys: pytest.CaptureFixture[str], name: str) -> tuple[int, dict[str, str]]:
    """The exit code, and which checks fail on what."""
    said = call(capsys, "check-policy", f"own.py:{name}", "--json")
    checks = json.loads(said.out)["checks"]
    return said.code, {
        check["check"]: f"{check['shown_by']}: {check['problem']}" for check in checks if check["problem"]
    }


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_a_policy_is_checked_by_its_file_and_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, "first_come") == (0, {})
    code, failed = checked(capsys, "remembers")
    assert code == 1
    assert "stateless" in failed
    code, failed = checked(capsys, "idle")
    assert (code, list(failed)) == (1, ["works", "quiet"])
    assert failed["works"] == "1 tasks: no task ran"
    assert "nothing" in failed["quiet"]


def test_a_policy_whose_runs_fail_is_checked_no_further(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("never_ends", "twice"):
        code, failed = checked(capsys, name)
        assert (code, list(failed)) == (1, ["runs"])


def test_a_policy_that_is_not_there_is_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "check-policy", "own.py:nobody")
    assert said.code == 2
    assert "own.py:first_come" in said.err
    assert call(capsys, "check-policy", "nobody.py:x").code == 2
