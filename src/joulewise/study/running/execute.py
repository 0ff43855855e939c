"""Jobs given to an engine, a few ahead of what it computes, and what comes back passed on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from joulewise.study.running.engines.engine import Answer, Engine
from joulewise.study.running.worker import Job, failure

Take = Callable[[Answer], None]
"""Gets every job that was computed, or that no worker survived."""
TryAgain = Callable[[Job], None]
"""Hears of every job that was lost and is done again."""
Look = Callable[[], None]
"""Is called now and then; what it raises ends the work."""

_TRIES = 3
"""A run that was lost with so many workers, the last time while nothing else was computed, is the reason."""


def execute(jobs: Iterator[Job], engine: Engine, take: Take, look: Look, try_again: TryAgain = lambda _: None) -> None:
    """Have the jobs computed by an engine that was begun."""
    queue = _Queue(jobs, engine)
    while queue.is_busy():
        look()
        queue.fill()
        for answer in engine.answers():
            if done := queue.done(answer):
                take(done)
            else:
                try_again(answer.job)


@dataclass
class _Queue:
    """The jobs that are to be computed, in order, but for those that wait.

    Jobs of a world whose bound is being proven wait for that, so that it is proven once. A job that was lost with its
    worker is done again in halves, which nothing is held against, and at last each run alone: an engine may lose jobs
    that were out beside the one a worker died of, and only a run that is lost alone is known to be that one.
    """

    jobs: Iterator[Job]
    engine: Engine
    n_out: int = 0
    is_alone: bool = False
    ready: deque[Job] = field(default_factory=deque)
    alone: deque[Job] = field(default_factory=deque)
    opening: dict[str, list[Job]] = field(default_factory=dict)

    def is_busy(self) -> bool:
        """Whether jobs are computed, or wait for that."""
        return bool(self.n_out or self.alone or self._next_is_there())

    def fill(self) -> None:
        """Give the engine as many jobs as it should have."""
        while not self.is_alone and self.n_out < self.engine.n_ahead and self._next_is_there():
            self._submit(self.ready.popleft())
        if not self.n_out:
            self.is_alone = True
            self._submit(self.alone.popleft())

    def done(self, answer: Answer) -> Answer | None:
        """The answer to be passed on, if a job need not be done again."""
        self.n_out -= 1
        was_alone, self.is_alone = self.is_alone, False
        if answer.lost and not was_alone:
            self._try_again(answer.job)
            return None
        self._opened(answer.job)
        return Answer(answer.job, [failure(answer.lost)]) if answer.lost else answer

    def _try_again(self, job: Job) -> None:
        """Have a lost job done in halves, or its only run once more."""
        if len(job.runs) > 1:
            middle = len(job.runs) // 2
            waiting = self.opening[job.runs[0].world_key] if job.opens else self.ready
            waiting.insert(0, replace(job, runs=job.runs[middle:], opens=False))
            self.ready.append(replace(job, runs=job.runs[:middle]))
            return
        again = replace(job, n_lost=job.n_lost + 1)
        (self.ready if again.n_lost < _TRIES - 1 else self.alone).append(again)

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
