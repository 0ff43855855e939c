"""What stands for computing jobs, and ends its process at some runs."""

from __future__ import annotations

import os

from joulewise.study.running.worker import Job
from joulewise.study.store.store import DONE, Result

FATAL = "fatal"
"""The stage of such a run."""


def is_fatal(job: Job) -> bool:
    """Whether a worker dies of one of the runs."""
    return any(run.stage == FATAL for run in job.runs)


def do_or_die(job: Job) -> list[Result]:
    """What comes out of runs that none dies of."""
    if is_fatal(job):
        os._exit(9)
    return [{"status": DONE, "error": None} for _ in job.runs]
