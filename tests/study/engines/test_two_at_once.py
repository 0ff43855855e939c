"""Two that want to run a study: into one folder the second is refused at once, into two they share a cluster."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joulewise.study import Dask, Study, read_study, run_study
from tests.strategies.calling import started
from tests.strategies.dask_cluster import DaskCluster
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, TEXT, n_kept

pytestmark = pytest.mark.thorough("starts processes anew")

_BOUND_S = 120


def study_in(folder: Path, seed: int, trials: int = 60) -> Study:
    """A study that takes a while."""
    folder.mkdir()
    text = QUICKLY + TEXT.replace("trials = 2", f"trials = {trials}\nseed = {seed}")
    (folder / "study.toml").write_text(text)
    return read_study(folder / "study.toml")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_in(tmp_path_factory.mktemp("studies") / "one", 1)


def options(engine: str, cluster: DaskCluster) -> tuple[str, ...]:
    return ("--dask", cluster.address) if engine == "dask" else ("--workers", "2")


@contextmanager
def running(study: Study, out: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A run of the study in a process of its own."""
    process = started(study.folder, "run", "study.toml", "--out", out, "--no-report", *more)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def told_by(process: subprocess.Popen[str]) -> str:
    """What a process says on standard error until it ends."""
    return process.communicate(timeout=_BOUND_S)[1]


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_the_second_of_two_is_refused_until_the_first_is_dead(
    engine: str, study: Study, expected: Path, cluster: DaskCluster, tmp_path: Path
) -> None:
    out, more = tmp_path / "out", options(engine, cluster)
    with running(study, out, *more) as first:
        deadline = time.monotonic() + _BOUND_S
        while n_kept(out) < 3 and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        first.send_signal(signal.SIGSTOP)  # it holds the folder, and goes no further
        try:
            with running(study, out, *more) as second:
                said = told_by(second)
                assert (second.returncode, "another process is writing here" in said) == (2, True), said
                assert "Traceback" not in said
        finally:
            kept = n_kept(out)
            first.kill()
    assert kept >= 3
    with running(study, out, *more) as third:
        said = told_by(third)
        assert third.returncode == 0, said
    assert_same_records(out, expected)


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_of_two_that_start_together_one_is_refused(
    engine: str, study: Study, expected: Path, cluster: DaskCluster, tmp_path: Path
) -> None:
    out, more = tmp_path / "out", options(engine, cluster)
    with running(study, out, *more) as one, running(study, out, *more) as other:
        said = [told_by(one), told_by(other)]
        codes = [one.returncode, other.returncode]
    assert sorted(codes) == [0, 2], said
    assert "another process is writing here" in said[codes.index(2)]
    assert_same_records(out, expected)


def test_two_studies_share_a_cluster(study: Study, expected: Path, cluster: DaskCluster, tmp_path: Path) -> None:
    other = study_in(tmp_path / "other", 2)
    with running(other, tmp_path / "theirs", *options("dask", cluster)) as process:
        ours = run_study(study, tmp_path / "ours", engine=Dask(cluster.address))
        assert (told_by(process), process.returncode)[1] == 0
    assert_same_records(ours.folder, expected)
    assert_same_records(tmp_path / "theirs", run_study(other, tmp_path / "alone", 1).folder)
