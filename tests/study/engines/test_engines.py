"""What every engine must do alike: the same records, the same words on failures, the same after something died."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from joulewise.study import Dask, Progress, Results, Study, parse_study, run_study
from joulewise.study.running.engines.engine import DIED, Engine
from joulewise.study.running.engines.here import Here
from joulewise.study.running.engines.processes import Processes
from tests.strategies.dask_cluster import BLIND, DaskCluster, dask_cluster
from tests.strategies.same import assert_same_records
from tests.strategies.small import HEURISTIC, QUICKLY, TEXT

DYING = "import os\n\nif os.getpid() != {pid}:\n    os._exit(9)\n" + HEURISTIC
LATE = "import os\n\nif os.getpid() != {pid}:\n    raise ZeroDivisionError('no luck')\n" + HEURISTIC
"""Fails where it is computed, and not where it is checked."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the study and its results are, which workers elsewhere do not see."""
    return tmp_path_factory.mktemp("here")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, place: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("elsewhere"), 2, BLIND.format(hidden=str(place))) as found:
        yield found


def study_in(place: Path, code: str, policies: str = '"{file}:mine", "random"', text: str = TEXT) -> Study:
    """The small study with a file of its own, named by another folder and by its whole path."""
    folder = place / "files" / code[-7:].strip("\n) ")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(code.replace("{pid}", str(os.getpid())))
    (place / "study").mkdir(exist_ok=True)
    named = policies.format(file=f"../files/{folder.name}/mine.py", whole=folder / "mine.py")
    return parse_study(text.replace('"random"', named), "study.toml", place / "study")


@pytest.fixture(scope="module")
def study(place: Path) -> Study:
    return study_in(place, HEURISTIC, '"{file}:mine", "{whole}:mine", "random"')


@pytest.fixture(scope="module")
def expected(study: Study, place: Path) -> Results:
    return run_study(study, place / "expected", engine=Here())


@pytest.mark.thorough("starts processes, as test_running does")
def test_processes_make_the_same_records(study: Study, expected: Results, place: Path) -> None:
    assert_same_records(run_study(study, place / "processes", engine=Processes(2)).folder, expected.folder)


@pytest.mark.thorough("starts processes and takes seconds")
def test_workers_that_see_no_file_of_ours_make_the_same_records(
    study: Study, expected: Results, place: Path, cluster: DaskCluster
) -> None:
    seen: list[Progress] = []
    results = run_study(study, place / "dask", on_progress=seen.append, engine=Dask(cluster.address))
    assert_same_records(results.folder, expected.folder)
    assert seen[-1].n_done == seen[-1].n_total == 12  # two names of one file are one computation
    assert results.about["machine"] == f"Dask cluster {cluster.address}"


def engines(cluster: DaskCluster) -> list[Engine]:
    return [Processes(2), Dask(cluster.address)]


@pytest.mark.thorough("starts every engine")
def test_runs_that_fail_say_the_same_everywhere(place: Path, cluster: DaskCluster) -> None:
    failing = study_in(place, LATE, text=QUICKLY + TEXT.replace("[0, 0.5]", "0.5"))
    errors = []
    for number, engine in enumerate(engines(cluster)):
        results = run_study(failing, place / f"failing-{number}", engine=engine)
        assert results.failed["manager.policy"].unique().to_list() == ["../files/exec_s/mine.py:mine"]
        errors.append(results.failed["error"].to_list())
    assert "ZeroDivisionError: no luck" in errors[0][0]
    assert [len(each) for each in errors] == [2, 2]


@pytest.mark.thorough("starts workers anew")
def test_a_run_that_ends_its_worker_takes_no_other_run_with_it(place: Path, tmp_path: Path) -> None:
    dying = study_in(place, DYING, text=QUICKLY + TEXT.replace("[0, 0.5]", "0.5").replace("trials = 2", "trials = 1"))
    with dask_cluster(tmp_path) as cluster:
        cluster.start_worker(nanny=True)
        for number, engine in enumerate(engines(cluster)):
            results = run_study(dying, place / f"dying-{number}", engine=engine)
            assert results.runs.height == 3
            assert results.failed["error"].to_list() == [DIED]
