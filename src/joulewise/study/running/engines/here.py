"""Jobs computed in this process, one after the other."""

from __future__ import annotations

from collections import deque

from joulewise.study.kinds.keeping import forget_worlds
from joulewise.study.running.engines.engine import Answer, Engine
from joulewise.study.running.worker import Job, do


class Here(Engine):
    """This process; it hears of a wish to end before each job, so that jobs are single runs."""

    n_workers = n_ahead = most_runs = 1

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        forget_worlds()

    def submit(self, job: Job) -> None:
        """Take a job."""
        self._jobs.append(job)

    def answers(self) -> list[Answer]:
        """Compute the next job."""
        job = self._jobs.popleft()
        return [Answer(job, do(job))]
