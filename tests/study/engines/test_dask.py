"""Studies on a Dask cluster whose parts die, leave, join late, or are of another version."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from joulewise.errors import InputError
from joulewise.study import Cancelled, CancelToken, Dask, Progress, Study, run_study
from joulewise.study.running.engines.dask import _Out
from joulewise.study.running.engines.engine import DIED, Answer
from joulewise.study.running.engines.remote import Lacks, Reply, versions
from joulewise.study.running.worker import Job
from tests.strategies.dask_cluster import FULL, OLD, DaskCluster, dask_cluster
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, n_kept, small


def many(trials: int = 15) -> Study:
    """The small study with more trials, each soon done."""
    return small(lambda text: QUICKLY + text.replace("trials = 2", f"trials = {trials}"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_study(many(), tmp_path_factory.mktemp("expected"), 1).folder


class AtFirst:
    """Does something once, as soon as so many runs are done."""

    def __init__(self, do: Callable[[], object], n_done: int = 1) -> None:
        self.do, self.n_done = do, n_done
        self.seen: list[Progress] = []

    def __call__(self, now: Progress) -> None:
        self.seen.append(now)
        if now.n_done >= self.n_done:
            self.n_done = sys.maxsize
            self.do()


@pytest.mark.thorough("starts a cluster twice")
def test_a_dead_scheduler_ends_a_study_which_goes_on_when_it_is_back(expected: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with dask_cluster(tmp_path / "cluster", 1) as cluster:
        kill = AtFirst(lambda: cluster.kill(cluster.scheduler))
        with pytest.raises(InputError, match="its scheduler does not answer any more; finished runs are kept"):
            run_study(many(), out, on_progress=kill, engine=Dask(cluster.address))
        assert 1 <= n_kept(out) < 60
        cluster.start_scheduler()
        cluster.start_worker(OLD)  # which joins beside one that can be used
        cluster.start_worker()
        after = AtFirst(lambda: None)
        results = run_study(many(), out, on_progress=after, engine=Dask(cluster.address))
    assert_same_records(results.folder, expected)


@pytest.mark.thorough("starts processes and takes seconds")
def test_a_cluster_of_another_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    with dask_cluster(tmp_path / "cluster", 1, OLD) as cluster, pytest.raises(InputError) as caught:
        run_study(many(1), tmp_path / "out", engine=Dask(cluster.address))
    (problem,) = caught.value.problems
    assert problem.where.startswith("worker tcp://127.0.0.1:")
    assert "found joulewise 0.0.9, results version" in problem.found
    assert f"here is joulewise {versions()['joulewise']}, results version" in problem.allowed
    assert n_kept(tmp_path / "out") == 0


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.study.running.engines.dask._ANSWERS_S", 0.5)
    with pytest.raises(InputError, match=r"Dask cluster tcp://127\.0\.0\.1:9: no scheduler answers there, 0\.5 s long"):
        run_study(many(1), tmp_path, engine=Dask("tcp://127.0.0.1:9"))


def test_where_dask_is_not_installed_it_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.study.running.engines.dask.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"found no distributed, .* pip install 'joulewise\[cluster\]'"):
        Dask("tcp://127.0.0.1:9")


class Noting(Dask):
    """Notes what is sent to workers that are only said to be there."""

    def __init__(self, *workers: str) -> None:
        super().__init__("nowhere")
        self.sent: list[tuple[Job, str, bool]] = []
        self.futures: list[Future[Any]] = []
        self._workers = set(workers)
        self._see_room()

    def _send(self, job: Job, worker: str, contents: dict[str, bytes] | None = None) -> None:
        self.sent.append((job, worker, contents is not None))
        future: Future[Any] = Future()
        self.futures.append(future)
        self._out[future] = _Out(job, worker, None, contents is not None)
        future.add_done_callback(self._done.put)

    def _look(self) -> list[Answer]:
        return []


def job(number: int) -> Job:
    return Job((), Path(), Path(str(number)))


def test_jobs_go_to_workers_that_have_least_to_do(tmp_path: Path) -> None:
    engine = Noting("a", "b", "c")
    for _ in range(8):
        engine.submit(Job((), tmp_path, tmp_path))
    assert [worker for _, worker, _ in engine.sent] == ["a", "b", "c", "a", "b", "c"]
    for at in (1, 4, 2):  # all of b's, and one of c's
        engine.futures[at].set_result(Reply([], {}))
    assert len(engine.answers()) == 3
    engine.submit(Job((), tmp_path, tmp_path))
    assert [worker for _, worker, _ in engine.sent[6:]] == ["b", "b", "c"]


def test_a_worker_is_sent_a_file_once_for_all_its_jobs() -> None:
    engine, lacks = Noting("a"), Lacks(frozenset({"hash"}))
    for number in range(2):
        engine.submit(job(number))
    for future in engine.futures[:2]:
        future.set_result(lacks)
    assert engine.answers() == []
    assert engine.sent[2:] == [(job(0), "a", True)]  # the other one is held back
    engine.futures[2].set_exception(CancelledError())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_raise_if_gone", lambda: None)
        assert engine.answers() == [Answer(job(0), [], DIED)]
    assert engine.sent[3:] == [(job(1), "a", False)]


@pytest.mark.thorough("starts workers anew")
def test_workers_may_be_killed_and_join_late(expected: Path, tmp_path: Path) -> None:
    with dask_cluster(tmp_path / "cluster") as cluster:
        threading.Timer(2, cluster.start_worker).start()

        def exchange() -> None:
            cluster.start_worker()
            cluster.kill(cluster.workers[0])

        follow = AtFirst(exchange, 5)
        results = run_study(many(), tmp_path / "out", on_progress=follow, engine=Dask(cluster.address))
    assert any(now.now == "waiting for workers" for now in follow.seen)
    assert_same_records(results.folder, expected)


@pytest.mark.thorough("starts workers anew")
def test_workers_of_another_version_that_join_are_told_and_get_nothing(
    expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.running.engines.dask._LOOK_S", 0.0)  # the study takes hardly longer
    with dask_cluster(tmp_path / "cluster", 1) as cluster:

        def join() -> None:
            cluster.start_worker(OLD)
            wait_for_workers(cluster, 2)

        follow = AtFirst(join)
        results = run_study(many(), tmp_path / "out", on_progress=follow, engine=Dask(cluster.address))
    assert any("refused: worker tcp://127.0.0.1:" in now.now for now in follow.seen)
    assert_same_records(results.folder, expected)


@pytest.mark.thorough("starts workers anew")
def test_a_worker_on_a_full_disk_gets_nothing_and_alone_ends_the_study(expected: Path, tmp_path: Path) -> None:
    out, told = tmp_path / "out", r"worker tcp://127.*: cannot write /scratch/job: No space left on device; make room"
    with dask_cluster(tmp_path / "cluster", 1, FULL) as cluster:
        with pytest.raises(InputError, match=told):
            run_study(many(), out, engine=Dask(cluster.address))
        assert n_kept(out) == 0
        cluster.start_worker()
        wait_for_workers(cluster, 2)
        follow = AtFirst(lambda: None)
        results = run_study(many(), out, on_progress=follow, engine=Dask(cluster.address))
    assert any("cannot write /scratch/job" in now.now for now in follow.seen)
    assert_same_records(results.folder, expected)


@pytest.mark.thorough("starts workers anew")
def test_a_study_that_is_cancelled_leaves_the_cluster_idle(expected: Path, tmp_path: Path) -> None:
    token = CancelToken()
    with dask_cluster(tmp_path / "cluster", 2) as cluster:
        with pytest.raises(Cancelled):
            run_study(many(), tmp_path / "out", on_progress=AtFirst(token.cancel), cancel=token,
                      engine=Dask(cluster.address))  # fmt: skip
        results = run_study(many(), tmp_path / "out", engine=Dask(cluster.address))
    assert_same_records(results.folder, expected)


def wait_for_workers(cluster: DaskCluster, n: int) -> None:
    from distributed import Client

    connect: type = Client
    with connect(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(n, timeout=60)
