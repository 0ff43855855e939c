"""What computes jobs: the one interface of all engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from joulewise.study.running.worker import Job
from joulewise.study.store.store import Result


class Answer(NamedTuple):
    """What came of a job: a result for each of its runs, or nothing where it was `lost` with its worker, and how."""

    job: Job
    results: list[Result]
    lost: str = ""


class Engine(ABC):
    """Computes jobs, several at a time, in any order. A context: left by an error, it ends what is going on."""

    @abstractmethod
    def __enter__(self) -> Engine:
        """Make ready."""

    @abstractmethod
    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End; at once where there was an error."""

    most_runs = 256
    """How many runs a job should have at most."""

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many jobs are computed at a time, now or, before it began, most likely."""

    @property
    def n_ahead(self) -> int:
        """How many jobs it should have, so that no worker waits."""
        return 2 * self.n_workers

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Take a job; it is answered once."""

    @abstractmethod
    def answers(self) -> list[Answer]:
        """What came of jobs since the last call; waits a moment where there is nothing."""
