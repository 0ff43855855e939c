"""What computes jobs: the one interface of all engines."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from typing import NamedTuple

from joulewise.processes import available_cpus, memory_limit
from joulewise.study.running.worker import Job
from joulewise.study.store.store import Result
from joulewise.units import count

DIED = "the process that ran it died; was it out of memory?"


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
    news = ""
    """What people should know of its workers now."""
    n_died = 0
    """How many workers were lost with jobs."""

    @property
    def place(self) -> str:
        """Where it computes, in words."""
        return f"{platform.system()} {platform.machine()}, {count(available_cpus(), 'processor')}"

    @property
    def memory_bytes(self) -> float:
        """How much memory a job may need, as far as that is known."""
        return memory_limit()

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many jobs are computed at a time, now or most likely soon: work is cut for so many."""

    @property
    def n_there(self) -> int:
        """How many workers are there now."""
        return self.n_workers

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
