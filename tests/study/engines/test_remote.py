"""What a worker does that shares no disk with the study: nothing with another version, nothing without the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joulewise.errors import InputError, Problem
from joulewise.files import sha256_of
from joulewise.study import parse_study, plan, run_study
from joulewise.study.running.engines import remote
from joulewise.study.running.engines.remote import Lacks, Reply, answer_in, packed, versions
from joulewise.study.running.worker import Job
from joulewise.study.store.store import DONE, FAILED, Store
from tests.strategies.small import HEURISTIC, QUICKLY, TEXT

CODE = HEURISTIC.encode()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Runs of a study that names a file by its whole path, in folders that are gone."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "mine.py").write_bytes(CODE)
    text = QUICKLY + TEXT.replace('"random"', f'"{here / "mine.py"}:mine"').replace("[0, 0.5]", "0.5")
    study = parse_study(text, "study.toml", here)
    run_study(study, tmp_path / "results", 1)
    job = Job((plan(study)[0],), here, tmp_path / "results")
    sent = replace(job, results_folder=tmp_path / "none")
    (here / "mine.py").unlink()
    return sent


def content_of(job: Job) -> str:
    return job.runs[0].files[0][1]


def test_files_are_asked_for_once_and_kept_by_what_they_hold(job: Job, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    assert answer_in(scratch, versions(), packed(job), None) == Lacks(frozenset({content_of(job)}))
    first = answer_in(scratch, versions(), packed(job), {content_of(job): CODE})
    again = answer_in(scratch, versions(), packed(job), None)
    assert isinstance(first, Reply)
    assert isinstance(again, Reply)
    assert [result["status"] for result in (*first.results, *again.results)] == [DONE, DONE]
    assert first.files == again.files
    assert sha256_of(scratch / "files" / content_of(job) / "mine.py") == content_of(job)
    assert {path.name for path in scratch.iterdir()} == {"files"}


def test_what_runs_store_is_what_a_store_here_would_hold(job: Job, tmp_path: Path) -> None:
    reply = answer_in(tmp_path / "scratch", versions(), packed(job), {content_of(job): CODE})
    assert isinstance(reply, Reply)
    results = Store(tmp_path / "results")
    stored = results.contents() | results.proofs(job.runs[0].world_key, [job.runs[0].bound])
    assert {name.partition("/")[0] for name in reply.files} == {"bounds", "records", "traces"}
    assert {name: stored[name] for name in reply.files} == reply.files


def test_a_proof_that_exists_travels_and_does_not_come_back(job: Job, tmp_path: Path) -> None:
    proven = replace(job, results_folder=tmp_path / "results")
    reply = answer_in(tmp_path / "scratch", versions(), packed(proven), {content_of(job): CODE})
    assert isinstance(reply, Reply)
    assert {name.partition("/")[0] for name in reply.files} == {"records", "traces"}


def test_a_file_that_was_damaged_is_asked_for_again(job: Job, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    answer_in(scratch, versions(), packed(job), {content_of(job): CODE})
    (scratch / "files" / content_of(job) / "mine.py").write_text("other")
    assert answer_in(scratch, versions(), packed(job), None) == Lacks(frozenset({content_of(job)}))


def test_a_run_whose_file_cannot_be_had_fails(job: Job, tmp_path: Path) -> None:
    reply = answer_in(tmp_path / "scratch", versions(), packed(job), {})
    assert isinstance(reply, Reply)
    assert [result["status"] for result in reply.results] == [FAILED]
    assert "changed while the study was running" in str(reply.results[0]["error"])


@pytest.mark.parametrize("what", ["joulewise", "results version", "sources"])
def test_a_worker_of_another_version_computes_nothing(what: str, tmp_path: Path) -> None:
    asked = {**versions(), what: "other"}
    assert answer_in(tmp_path / "scratch", asked, b"what it cannot open", None) == versions()
    assert not (tmp_path / "scratch").exists()


def test_versions_follow_the_sources_that_decide_numbers_and_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "PACKAGE", tmp_path)

    def found() -> str:
        versions.cache_clear()
        return versions()["sources"]

    def write(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return found()

    seen = [write("model/world.py", "1"), write("model/world.py", "2"), write("simulate/world.py", "")]
    (tmp_path / "model" / "world.py").rename(tmp_path / "model" / "other.py")
    seen.append(found())
    assert len(set(seen)) == 4
    assert write("cli/run.py", "print()") == write("present/page.py", "") == seen[-1]
    versions.cache_clear()


def test_problems_travel() -> None:
    import pickle

    error = InputError(Problem("here", "found that"))
    assert pickle.loads(pickle.dumps(error)).problems == error.problems
