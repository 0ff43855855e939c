"""Studies ended early by a token: what is finished is kept, and the next call goes on from there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from joulewise.study import Cancelled, CancelToken, Progress, open_results, run_study
from joulewise.study.store.store import Store
from tests.strategies.small import QUICKLY, lasting, n_kept, small


class AfterOne:
    """Cancels as soon as a run is done, in this thread or in another one."""

    def __init__(self, *, elsewhere: bool) -> None:
        self.token = CancelToken()
        self.elsewhere = elsewhere

    def __call__(self, progress: Progress) -> None:
        if progress.n_done and self.elsewhere:
            thread = threading.Thread(target=self.token.cancel)
            thread.start()
            thread.join()
        elif progress.n_done:
            self.token.cancel()


def test_a_cancelled_study_keeps_what_is_finished_and_goes_on_to_the_same_records(
    small_results: Path, tmp_path: Path
) -> None:
    after, seen = AfterOne(elsewhere=False), list[Progress]()
    with pytest.raises(Cancelled, match="finished runs are kept"):
        run_study(small(), tmp_path / "cut", 1, after, after.token)
    assert n_kept(tmp_path / "cut") == 1
    assert not (tmp_path / "cut" / "runs.parquet").exists()
    resumed = run_study(small(), tmp_path / "cut", 1, seen.append)
    assert (seen[0].n_total, seen[0].n_reused) == (7, 1)
    assert lasting(resumed.runs).equals(lasting(open_results(small_results).runs))


def test_a_study_goes_on_that_was_ended_in_the_first_line_of_its_journal(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        run_study(small(), tmp_path, 1, cancel=token)
    Store(tmp_path).journal_file.write_text('{"schema_ver')
    assert n_kept(tmp_path) == 0
    assert run_study(small(QUICKLY.__add__), tmp_path, 1).n_runs == 8


def test_nothing_is_run_once_it_is_cancelled(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        run_study(small(), tmp_path, 1, cancel=token)
    assert n_kept(tmp_path) == 0


@pytest.mark.thorough("starts processes")
def test_processes_are_ended_when_another_thread_cancels(tmp_path: Path) -> None:
    after = AfterOne(elsewhere=True)
    many = small(lambda text: QUICKLY + text.replace("trials = 2", "trials = 30"))
    with pytest.raises(Cancelled):
        run_study(many, tmp_path, 2, after, after.token)
    assert 1 <= n_kept(tmp_path) < 120
    assert list(tmp_path.rglob("*.tmp")) == []


@pytest.mark.thorough("starts processes")
def test_a_study_that_is_cancelled_leaves_another_one_alone(small_results: Path, tmp_path: Path) -> None:
    after, many = AfterOne(elsewhere=False), small(lambda text: QUICKLY + text.replace("trials = 2", "trials = 30"))
    with ThreadPoolExecutor(2) as pool:
        cut = pool.submit(run_study, many, tmp_path / "cut", 2, after, after.token)
        whole = pool.submit(run_study, small(), tmp_path / "whole", 2)
        with pytest.raises(Cancelled):
            cut.result()
        assert whole.result().failed.is_empty()
    assert lasting(whole.result().runs).equals(lasting(open_results(small_results).runs))
