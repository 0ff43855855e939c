"""Studies whose tasks may be suspended: what they keep, what is verified, and what is refused before a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.study import Results, parse_study, verify
from joulewise.study.spec.column import PIECES
from joulewise.study.tasks.columns import MANAGED_COLUMNS
from tests.strategies.small import TEXT, run_small

BUSY = "tasks_per_day = 1200"
WILLING = """
[manager]
policy = "max-max-upt"
environment = "polled"
preempts = [false, true]
checkpoint = "5 s"
restart = "2 s"
"""


def willing(text: str) -> str:
    """The small study on a busy day, with one trial and tasks that may be suspended."""
    busy = text.replace("tasks_per_day = 150", BUSY).replace("trials = 2", 'keep = "all"')
    return busy.partition("[manager]")[0] + WILLING


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_small(tmp_path_factory.mktemp("preempting"), change=willing)


def test_suspended_tasks_leave_pieces_and_have_a_bound_of_their_own(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    never, ever = results.runs.sort("manager.preempts").iter_rows(named=True)
    assert (never["bound"], ever["bound"]) == ("prices", "preemptive-prices")
    assert (never["runs_preempted"], ever["runs_preempted"] > 0) == (None, True)
    assert never["utility_bound"] <= ever["utility_bound"] * 1.01
    pieces = results.details(PIECES)
    assert pieces.columns[1:] == [column.name for column in MANAGED_COLUMNS if column.table == PIECES]
    assert set(pieces["run"]) == {ever["run"]}


def test_pieces_are_verified(results: Results) -> None:
    assert {verdict.problems for verdict in verify(results.folder)} == {()}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('environment = "polled"', ""), "manager.preempts: found true where machines have queues"),
        (("preempts = [false, true]", ""), "manager.checkpoint: found 5 s; is for tasks that are suspended"),
        (("[manager]", '[supply]\nbudget = "1 GJ"\n[manager]'), "preempts: found true in a world with a budget"),
        (("[manager]", '[supply]\npower_cap = "1 GW"\n[manager]'), "preempts: found true in a world with a power cap"),
        (("general_counts", 'mtbf = "9 h"\nmttr = "1 h"\ngeneral_counts'), "found true in a world with failures"),
        ((BUSY, BUSY + "\ntime_spread = 0.2"), "found true in a world with uncertain times"),
        (
            ("general_counts", 'idle_power = "9 W"\nsleep_after = "1 h"\ngeneral_counts'),
            "found true in a world with machines that sleep",
        ),
        ((BUSY, BUSY + "\nrising_share = 0.5"), "found true in a world with utilities that rise first"),
    ],
    ids=["queues", "unused", "budget", "cap", "failures", "uncertain", "sleep", "rise"],
)
def test_what_does_not_go_together_is_told_before_anything_is_run(change: tuple[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_study(willing(TEXT).replace(*change), "study.toml", Path(), check_inputs=True)
