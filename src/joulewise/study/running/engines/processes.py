"""Jobs computed by local processes: started by spawn, ended with their parent, deaf to Ctrl-C."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess

from joulewise.processes import HEED_S, collecting_seldom, end, follow_parent, for_children, give_back_memory
from joulewise.study.kinds.keeping import forget_worlds
from joulewise.study.running.engines.engine import DIED, Answer, Engine
from joulewise.study.running.worker import Job, do
from joulewise.study.store.store import Result


class Processes(Engine):
    """A pool of processes; when one dies, the jobs of all of them are lost, and the next job finds a new pool."""

    def __init__(self, workers: int) -> None:
        self._n_workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._children: list[BaseProcess] = []
        self._pending: dict[Future[list[Result]], Job] = {}
        self._left: list[Answer] = []

    @property
    def n_workers(self) -> int:
        """The number of processes."""
        return self._n_workers

    def __enter__(self) -> Processes:
        forget_worlds()  # processes make their own
        give_back_memory()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=error is None, cancel_futures=True)
        if error is not None:
            end(self._children)

    def submit(self, job: Job) -> None:
        """Give a job to the pool, which starts a process for it where one is wanting."""
        try:
            self._give(job)
        except BrokenProcessPool:  # a process died since the last look
            self._break()
            self._give(job)

    def answers(self) -> list[Answer]:
        """What came back, or was lost because a process died."""
        ready, _ = wait(self._pending, 0 if self._left else HEED_S, FIRST_COMPLETED)
        if any(isinstance(future.exception(), BrokenProcessPool) for future in ready):
            self._break()
            ready = set()
        left, self._left = self._left, []
        return [*left, *map(self._answer, ready)]

    def _give(self, job: Job) -> None:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._n_workers, multiprocessing.get_context("spawn"), initializer=begin)
            self._children = []
        with for_children() as children:
            self._pending[self._pool.submit(do, job)] = job
        self._children += children

    def _break(self) -> None:
        """Let go of a pool of which a process died: what is pending is lost unless it is computed.

        Nothing is waited for: what was given or started while the pool broke may never be answered, or never end.
        """
        self.n_died += 1
        end(self._children)
        self._left += [self._answer(future) for future in list(self._pending)]
        self._pool = None

    def _answer(self, future: Future[list[Result]]) -> Answer:
        job = self._pending.pop(future)
        try:
            return Answer(job, future.result(timeout=0))
        except (BrokenProcessPool, TimeoutError):
            return Answer(job, [], DIED)


def begin() -> None:
    """In a process: follow the parent, and load what runs of all kinds are compiled by."""
    follow_parent()
    with collecting_seldom():
        import joulewise.kernels.jit  # noqa: F401
