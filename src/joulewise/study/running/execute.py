"""Jobs given to an engine, a few ahead of what it computes, and what comes back passed on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from joulewise.progress import CancelToken
from joulewise.study.running.engines.engine import Answer, Engine
from joulewise.study.running.worker import Job, failure

Take = Callable[[Answer], None]
"""Gets every job that was computed, or that no worker survived."""

_TRIES = 3
"""A run that was lost with so many workers, the last time while nothing else was done, is the reason."""


def execute(jobs: Iterator[Job], engine: Engine, take: Take, cancel: CancelToken) -> None:
    """Have the jobs computed by an engine that was entered; raises Cancelled as soon as that is asked for."""
    queue = _Queue(jobs, engine)
    while queue.is_busy():
        cancel.raise_if_cancelled()
        queue.fill()
        for answer in engine.answers():
            if done := queue.done(answer):
                take(done)


@dataclass
class _Queue:
    """The jobs that are to be computed, in order, but for those that wait.

    Jobs of a world whose bound is being proven wait for that, so that it is proven once. A job that was lost with its
    worker is done again in smaller ones, and at last each run alone, so that it is known which one a worker dies of.
    """

    jobs: Iterator[Job]
    engine: Engine
    n_out: int = 0
    ready: deque[Job] = field(default_factory=deque)
    alone: deque[Job] = field(default_factory=deque)
    opening: dict[str, list[Job]] = field(default_factory=dict)

    def is_busy(self) -> bool:
        """Whether jobs are computed, or wait for that."""
        return bool(self.n_out or self.alone or self._next_is_there())

    def fill(self) -> None:
        """Give the engine as many jobs as it should have."""
        while self.n_out < self.engine.n_ahead and self._next_is_there():
            self._submit(self.ready.popleft())
        if not self.n_out:
            self._submit(self.alone.popleft())

    def done(self, answer: Answer) -> Answer | None:
        """The answer to be passed on, if a job need not be done again."""
        self.n_out -= 1
        job = answer.job
        if not answer.lost:
            self._opened(job)
            return answer
        again = replace(job, n_lost=job.n_lost + 1)
        if len(job.runs) > 1:
            middle = len(job.runs) // 2
            self.ready += [replace(again, runs=job.runs[:middle]), replace(again, runs=job.runs[middle:], opens=False)]
        elif again.n_lost < _TRIES - 1:
            self.ready.append(again)
        elif again.n_lost < _TRIES:
            self.alone.append(again)
        else:
            self._opened(job)
            return Answer(job, [failure(answer.lost)])
        return None

    def _submit(self, job: Job) -> None:
        self.engine.submit(job)
        self.n_out += 1

    def _opened(self, job: Job) -> None:
        """Let the jobs go on that waited for the first one of their world."""
        if job.opens:
            self.ready.extendleft(reversed(self.opening.pop(job.runs[0].world_key, [])))

    def _next_is_there(self) -> bool:
        """Whether a job can be given, with those that must wait put where they do."""
        while not self.ready and sum(map(len, self.opening.values())) < self.engine.n_ahead:
            job = next(self.jobs, None)
            if job is None:
                break
            world = job.runs[0].world_key
            if world in self.opening:
                self.opening[world].append(job)
                continue
            if job.opens:
                self.opening[world] = []
            self.ready.append(job)
        return bool(self.ready)
