"""Jobs computed by the workers of a Dask cluster, which may join, leave and die meanwhile.

Dask says which workers there are, carries jobs to them, and brings answers back. Every job is sent to one worker and to
no other: so Dask tries nothing again by itself, a worker of another version is found out before it computes anything,
and what a worker dies of is not passed on to the next one untold.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from heapq import heapify, heappop, heappush
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.files import refusal_code, sha256_of
from joulewise.processes import HEED_S
from joulewise.study.kinds.keeping import forget_worlds
from joulewise.study.running.engines.engine import DIED, Answer, Engine
from joulewise.study.running.engines.remote import Lacks, Reply, Versions, answer_in, packed, versions
from joulewise.study.running.worker import NO_ROOM, Job, reason_of
from joulewise.study.store.store import Store

WAITING = "waiting for workers"
_LOOK_S = 1.0
"""How often it is asked which workers there are."""
_ADDRESS = re.compile(r"(\w+://)?(\[[^\]]+\]|[^\s/:]+):\d+/?")
_JOBS_EACH = 2
"""One that is computed, and one that waits beside it."""
_ANSWERS_S, STARTS_S = 3.0, 10.0
"""How long a scheduler may take to answer: one that has an address, and one that this process starts."""
_AGAIN = "finished runs are kept: start it again, and then the same study, which goes on from there"
_INSTALL = "pip install 'joulewise[cluster]'"
_SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
"""Files that travel may be large; Dask would advise to let it read them by itself."""


class _Out(NamedTuple):
    """A job that a worker has, Dask's future of it, and whether it brings files."""

    job: Job
    worker: str
    future: Any
    brings: bool


class Dask(Engine):
    """The workers of a Dask cluster that is there: an address such as "tcp://host:8786", a scheduler file, or a cluster
    as Dask's own classes make it."""

    def __init__(self, cluster: object) -> None:
        require_dask("distributed")
        self._cluster = cluster
        self._waiting: deque[Job] = deque()
        self._out: dict[Future[Reply | Lacks | Versions], _Out] = {}
        self._done: SimpleQueue[Future[Reply | Lacks | Versions]] = SimpleQueue()
        self._held: dict[str, list[Job]] = {}
        self._load: Counter[str] = Counter()
        self._room: list[tuple[int, str]] = []
        self._workers: set[str] = set()
        self._usable: set[str] = set()
        self._died: set[str] = set()
        self._refused: dict[str, Problem] = {}
        self._next_look_s = -math.inf
        self._opened = ExitStack()

    @property
    def place(self) -> str:
        """Where it computes, in words."""
        return f"Dask cluster {getattr(self._cluster, 'scheduler_address', self._cluster)}"

    @property
    def memory_bytes(self) -> float:
        """How much memory a job may need, which is for the workers to know."""
        return math.inf

    @property
    def n_workers(self) -> int:
        """How many workers there are, or most likely soon will be."""
        return max(len(self._usable), 1)

    @property
    def n_there(self) -> int:
        """How many workers are there now."""
        return len(self._usable)

    @property
    def n_ahead(self) -> int:
        """How many jobs it should have, so that no worker waits."""
        return _JOBS_EACH * self.n_workers

    @property
    def news(self) -> str:  # type: ignore[override] # it changes by itself
        """That no worker is there, or which ones are refused."""
        refused = [f"refused: {problem}" for problem in self._refused.values()]
        return "; ".join(refused if self._usable else [WAITING, *refused])

    @property
    def n_died(self) -> int:  # type: ignore[override] # it changes by itself
        """How many workers were lost with jobs."""
        return len(self._died)

    def __enter__(self) -> Dask:
        forget_worlds()  # workers make their own
        self._next_look_s = -math.inf
        with ExitStack() as opening:
            self._client = opening.enter_context(self._reached())
            self._look()
            self._opened = opening.pop_all()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._client.status == "running":
            self._client.cancel([out.future for out in self._out.values()], force=True)
        self._out.clear()
        self._held.clear()
        self._waiting.clear()
        self._opened.close()

    def submit(self, job: Job) -> None:
        """Take a job, for the next worker that has room."""
        self._waiting.append(job)
        self._send_waiting()

    def answers(self) -> list[Answer]:
        """What came back, or was lost because its worker is gone."""
        answers = [answer for pending in self._ready() if pending in self._out and (answer := self._answer(pending))]
        answers += self._look()
        self._send_waiting()
        return answers

    def _ready(self) -> list[Future[Reply | Lacks | Versions]]:
        """What has come back since the last call; waits a moment where there is nothing."""
        try:
            first = self._done.get(timeout=HEED_S)
        except Empty:
            return []
        return [first, *(self._done.get() for _ in range(self._done.qsize()))]

    def _reached(self) -> AbstractContextManager[Any]:
        """A client of the cluster; InputError where there is none."""
        is_text = isinstance(self._cluster, str | Path)
        is_file = is_text and Path(str(self._cluster)).is_file()
        if is_text and not is_file and not _ADDRESS.fullmatch(str(self._cluster)):
            allowed = "must be an address, such as tcp://HOST:8786, or the file that a scheduler wrote"
            raise InputError(Problem(self.place, "found no file of this name, and no address", allowed, _START))
        where = {"scheduler_file" if is_file else "address": self._cluster}
        return self._connected(_ANSWERS_S if is_text else STARTS_S, **where)

    @contextmanager
    def _connected(self, patience_s: float, **where: Any) -> Iterator[Any]:
        import dask
        import distributed
        from distributed.utils import silence_logging_cmgr

        with silence_logging_cmgr(logging.CRITICAL), dask.config.set(_SETTINGS):
            connect: Any = distributed.Client
            try:
                client = connect(**where, timeout=patience_s, set_as_default=False, name="joulewise")
            except (OSError, ValueError) as error:
                found = f"no scheduler answers there, {patience_s:g} s long ({_reason(error)})"
                raise InputError(Problem(self.place, found, _REACHED, _START)) from None
            with client:
                yield client

    def _send_waiting(self) -> None:
        """Give jobs to workers that have room, first to those that have least to do."""
        while self._waiting and self._room:
            _, worker = heappop(self._room)
            if worker in self._usable:
                self._load[worker] += 1
                self._send(self._waiting.popleft(), worker)

    def _see_room(self) -> None:
        """Find who has room, an entry for each job more that a worker may have, with how many it has before."""
        self._usable = self._workers - self._refused.keys()
        self._load = Counter(out.worker for out in self._out.values())
        self._load.update({worker: len(jobs) for worker, jobs in self._held.items()})
        self._room = [(n, worker) for worker in self._usable for n in range(self._load[worker], _JOBS_EACH)]
        heapify(self._room)

    def _make_room(self, worker: str) -> None:
        self._load[worker] -= 1
        heappush(self._room, (self._load[worker], worker))

    def _send(self, job: Job, worker: str, contents: dict[str, bytes] | None = None) -> None:
        future = self._client.submit(
            _answer, versions(), packed(job), contents, workers=[worker], allow_other_workers=False, pure=False
        )  # fmt: skip
        gathering = self._client.gather(future, asynchronous=True)
        pending = asyncio.run_coroutine_threadsafe(gathering, self._client.loop.asyncio_loop)
        self._out[pending] = _Out(job, worker, future, contents is not None)
        pending.add_done_callback(self._done.put)

    def _answer(self, pending: Future[Reply | Lacks | Versions]) -> Answer | None:
        """What came of a job; None where it goes out again."""
        out = self._taken(pending)
        try:
            reply = pending.result()
        except (Exception, CancelledError) as error:
            return self._without_reply(out, error)
        if isinstance(reply, Lacks):
            self._bring(out, reply.hashes)
            return None
        if not isinstance(reply, Reply):
            self._refuse_version(out, reply)
            return None
        self._make_room(out.worker)
        Store(out.job.results_folder).add(reply.files)
        return Answer(out.job, reply.results)

    def _bring(self, out: _Out, hashes: frozenset[str]) -> None:
        """Send a job again with files that its worker lacks; while one brings files there, others are held back."""
        if out.worker in self._held:
            self._held[out.worker].append(out.job)
        else:
            self._held[out.worker] = []
            self._send(out.job, out.worker, _contents(out.job, hashes))

    def _taken(self, pending: Future[Reply | Lacks | Versions]) -> _Out:
        """A job that is out no more, with those let go that were held back for it."""
        out = self._out.pop(pending)
        for job in self._held.pop(out.worker) if out.brings else ():
            self._make_room(out.worker)
            self._waiting.appendleft(job)
        return out

    def _without_reply(self, out: _Out, error: BaseException) -> Answer | None:
        """What becomes of a job that was not answered."""
        from distributed import KilledWorker

        self._raise_if_gone()
        if isinstance(error, ImportError | AttributeError) or "deserialization" in str(error):
            self._refuse_version(out, {"joulewise": f"none that can be used ({' '.join(str(error).split())})"})
            return None
        if isinstance(error, OSError) and (code := refusal_code(error)) in NO_ROOM:
            place = error.filename or "its scratch folder"
            self._refuse(
                out, f"cannot write {place}: {os.strerror(code)}", "", "make room there, or start it elsewhere"
            )
            return None
        is_dead = isinstance(error, KilledWorker | CancelledError)
        if is_dead or not isinstance(error, Exception):
            self._died.add(out.worker)
            return Answer(out.job, [], DIED)
        return Answer(out.job, [], reason_of(error))

    def _refuse_version(self, out: _Out, found: Versions) -> None:
        """Refuse a worker of other versions."""
        self._refuse(out, f"found {_words(found)}", f"here is {_words(versions())}", "install the same version there")

    def _refuse(self, out: _Out, found: str, allowed: str, advice: str) -> None:
        """Give a worker that computes nothing no more, and its job to another; who looks next ends if there is none."""
        self._refused[out.worker] = Problem(f"worker {out.worker}", found, allowed, advice)
        self._usable.discard(out.worker)
        self._waiting.appendleft(out.job)

    def _look(self) -> list[Answer]:
        """See which workers are there; the jobs of those that are gone are lost."""
        self._raise_if_gone()
        if time.monotonic() < self._next_look_s:
            return []
        self._next_look_s = time.monotonic() + _LOOK_S
        try:
            self._workers = set(self._client.nthreads())
        except OSError:
            raise self._gone() from None
        self._refused = {worker: self._refused[worker] for worker in self._refused.keys() & self._workers}
        lost = [self._lost(pending) for pending, out in list(self._out.items()) if out.worker not in self._workers]
        self._see_room()
        if self._refused and not self._usable:
            raise InputError(*self._refused.values())
        self._looked()
        return lost

    def _looked(self) -> None:
        """Do what follows from which workers are there."""

    def _lost(self, pending: Future[Reply | Lacks | Versions]) -> Answer:
        out = self._taken(pending)
        self._died.add(out.worker)
        self._client.cancel([out.future], force=True)
        return Answer(out.job, [], DIED)

    def _raise_if_gone(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> InputError:
        return InputError(Problem(self.place, "its scheduler does not answer any more", _AGAIN))


_REACHED = "it must run, and be reached from this computer by the address that it says when it starts"
_START = "`dask scheduler` starts one, and `dask worker ADDRESS` its workers"


def _reason(error: BaseException) -> str:
    """What was at the bottom of it when no connection came about."""
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__


def require_dask(*modules: str) -> None:
    """InputError where a library for clusters is not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        found = f"found no {' and no '.join(missing)}, which the extra [cluster] brings"
        raise InputError(Problem("Dask cluster", found, advice=f"install it: {_INSTALL}"))


def _answer(asked: Versions, parcel: bytes, contents: dict[str, bytes] | None) -> Reply | Lacks | Versions:
    """In a worker: do a job in its folder for what need not last."""
    from distributed import get_worker

    return answer_in(Path(get_worker().local_directory) / "joulewise", asked, parcel, contents)


def _contents(job: Job, hashes: frozenset[str]) -> dict[str, bytes]:
    """What files of a job hold that a worker asks for, if they still hold it."""
    named = {content: job.study_folder / name for run in job.runs for name, content in run.files if content in hashes}
    return {
        content: path.read_bytes() for content, path in named.items() if path.is_file() and sha256_of(path) == content
    }


def _words(found: Versions) -> str:
    return ", ".join(f"{what} {which}" for what, which in found.items())
