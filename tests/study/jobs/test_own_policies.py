"""Policies for parallel jobs of a user's own, in studies: on workers, verified, checked, and failing alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joulewise.study import run_study, verify
from joulewise.study.arena.sets import SETS
from joulewise.study.jobs.conformance import check_policy, renamed, small_job_world
from joulewise.study.kinds.conformance import CHECKS
from joulewise.study.running.planning import plan
from joulewise.study.store.store import Store
from tests.strategies.small_jobs import logged_study

FILE = '''
import joulewise as jw

N = []


@jw.jobs.policy()
def greedy_fit(event):
    """Whoever fits, one after the other."""
    for job, option in zip(*event.choices):
        if event.earliest_s(job, option)[0] == event.now_s:
            event.start(job, option)
            break


@jw.jobs.policy(compiled=True)
def compiled(event):
    """In order; nobody starts before one that was ready earlier, or where another cluster would do."""
    n_free, n_rows = [jw.jobs.free_at(event, r, event.now_s[0]) for r in range(event.n_nodes.size)], 0
    for job in event.job[: event.n_waiting[0]]:
        option = event.options.first[event.tasks.task_type[job]]
        cluster, nodes = event.options.cluster[option], event.options.nodes[option]
        if nodes > n_free[cluster]:
            break
        n_free[cluster] -= nodes
        event.answer[n_rows, 0], event.answer[n_rows, 1], event.answer[n_rows, 2] = job, option, 0
        n_rows += 1
    return n_rows


@jw.jobs.policy()
def broken(event):
    if event.number == 1:
        return event.job[[0, 0]], 99


@jw.jobs.policy()
def forgetful(event):
    """Counts over all runs."""
    N.append(event.number)
    rows = [row for row, s in enumerate(event.earliest_s(*event.choices)) if s == event.now_s]
    if rows:
        row = rows[len(N) % len(rows)]
        return tuple(column[row] for column in event.choices)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_runs_fail_alone_on_workers_and_the_others_are_verified(folder: Path) -> None:
    policies = '["easy", "mine.py:greedy_fit", "mine.py:broken"]'
    study = logged_study(folder, lambda text: text.replace('["easy", "conservative"]', policies))
    results = run_study(study, folder / "out", 2)
    rows = {row["scheduler.policy"]: row for row in results.runs.iter_rows(named=True)}
    assert {name: row["status"] for name, row in rows.items()} == {
        "easy": "done", "mine.py:greedy_fit": "done", "mine.py:broken": "failed",
    }  # fmt: skip
    error = str(rows["mine.py:broken"]["error"])
    assert "policy broken, event 1 at 10 s: returned (array([0, 0]), 99); found job 0 with option 99" in error
    verdicts = verify(results.folder, code=folder)
    assert {problem for verdict in verdicts for problem in verdict.problems if "failed" not in problem} == set()


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize("name", ["greedy_fit", "compiled"])
def test_a_policy_that_conforms_passes_all_checks(name: str, folder: Path) -> None:
    found = list(check_policy(f"mine.py:{name}", folder))
    assert [check.check for check in found if not check.passed] == []
    assert [check.check for check in found] == [*CHECKS, "workers"]


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize(
    ("name", "checks"), [("broken", ["runs"]), ("forgetful", ["deterministic", "stateless", "names"])]
)
def test_a_policy_that_does_not_conform_is_told_by_the_smallest_world(
    name: str, checks: list[str], folder: Path
) -> None:
    failed = [check for check in check_policy(f"mine.py:{name}", folder) if not check.passed]
    assert set(checks) <= {check.check for check in failed}
    assert all("jobs" in check.shown_by for check in failed)


def test_small_worlds_have_other_names_and_the_same_numbers() -> None:
    world = small_job_world(5)
    other = renamed(world)
    assert set(world.clusters.names).isdisjoint(other.clusters.names)
    np.testing.assert_array_equal(world.types.time_s, other.types.time_s)


def test_a_policy_in_plain_python_is_told_to_take_longer_than_a_compiled_one(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import joulewise\n@joulewise.jobs.policy()\ndef plain(event): pass\n"
        "@joulewise.jobs.policy(compiled=True)\ndef compiled(event): return 0\n"
    )
    seconds = []
    for name in ("slow.py:plain", "slow.py:compiled", "prices"):
        study = SETS["jobs"].study([name], "quick", tmp_path)
        seconds.append(study.kind.seconds(list(plan(study)), Store(tmp_path / "none"), tmp_path))
    assert seconds[0] > 1.5 * seconds[1] > seconds[2] > 0.3 * len(SETS["jobs"].worlds)
