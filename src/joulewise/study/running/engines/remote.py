"""What a worker elsewhere does with a job: it shares no disk with whoever gave it, so that files travel.

Files that a study names are kept by the hash of what they hold. What runs store is written into a folder of the job's
own, and goes back with the answer.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import NamedTuple

from joulewise._version import __version__
from joulewise.files import sha256_of, write_atomic
from joulewise.study.running.worker import Job, do
from joulewise.study.spec.parts import RESULTS_VERSION
from joulewise.study.store.store import Result, Store

PACKAGE = Path(__file__).parents[3]
_ONLY_TELL = ("cli", "present")
"""Rooms that decide no number."""
_FILES = "files"
_ONE_AT_A_TIME = Lock()
"""A process of several threads computes one job at a time, as worlds and libraries expect it."""


class Parcel(NamedTuple):
    """A job, and what is proven of its world."""

    job: Job
    proofs: dict[str, bytes]


class Reply(NamedTuple):
    """What came out of the runs of a job, and the files that they stored, by their names in a results folder."""

    results: list[Result]
    files: dict[str, bytes]


class Lacks(NamedTuple):
    """The hashes of the files that a worker must be sent before it can do a job."""

    hashes: frozenset[str]


Versions = dict[str, str]


@cache
def versions() -> Versions:
    """What decides which numbers come out here."""
    digest = hashlib.sha256()
    sources = {source.relative_to(PACKAGE): source for source in PACKAGE.rglob("*.py")}
    for name in sorted(name for name in sources if name.parts[0] not in _ONLY_TELL):
        digest.update(f"{name.as_posix()} {sha256_of(sources[name])}\n".encode())
    return {"joulewise": __version__, "results version": str(RESULTS_VERSION), "sources": digest.hexdigest()[:16]}


def packed(job: Job) -> bytes:
    """A job as it travels; a worker of another version never opens it."""
    kinds = sorted({run.bound for run in job.runs})
    return pickle.dumps(Parcel(job, Store(job.results_folder).proofs(job.runs[0].world_key, kinds)))


def answer_in(
    scratch: Path, asked: Versions, parcel: bytes, contents: Mapping[str, bytes] | None
) -> Reply | Lacks | Versions:
    """Do a job with what a scratch folder holds, and with the contents of files, by their hashes, if they were sent.

    A worker of other versions says which it has, and one that lacks files says which; neither computes anything.
    """
    if versions() != asked:
        return versions()
    job, proofs = pickle.loads(parcel)
    lacking = _received(scratch / _FILES, job, contents or {})
    if lacking and contents is None:
        return Lacks(lacking)
    with _ONE_AT_A_TIME, TemporaryDirectory(dir=scratch, prefix="job-") as folder:
        store = Store(Path(folder))
        store.add(proofs)
        results = do(_moved(job, scratch / _FILES, store.folder))
        return Reply(results, {name: data for name, data in store.contents().items() if name not in proofs})


def _received(folder: Path, job: Job, contents: Mapping[str, bytes]) -> frozenset[str]:
    """Store files that were sent; the hashes of those that are still wanting."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {(name, content) for run in job.runs for name, content in run.files}
    lacking = [(content, folder / _name(name, content)) for name, content in wanted]
    lacking = [(content, path) for content, path in lacking if not path.is_file() or sha256_of(path) != content]
    for content, path in lacking:
        if content in contents:
            write_atomic(path, contents[content])
    return frozenset(content for content, _ in lacking if content not in contents)


def _moved(job: Job, files: Path, results: Path) -> Job:
    """The job with its files and results in these folders."""
    runs = []
    for run in job.runs:
        names = {name: _name(name, content) for name, content in run.files}
        contents = tuple((names[name], content) for name, content in run.files)
        runs.append(replace(run, point=run.point.renamed(names), files=contents))
    return replace(job, runs=tuple(runs), study_folder=files, results_folder=results)


def _name(name: str, content: str) -> str:
    """Where a file lies that a study calls so."""
    return f"{content}/{Path(name).name}"
