"""Jobs computed by workers that are started through a site's queue, more of them while there is more to do."""

from __future__ import annotations

import getpass
import math
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.study.running.engines.dask import STARTS_S, WAITING, Dask, require_dask
from joulewise.study.running.engines.profile import QUEUES, Profile
from joulewise.units import count

_STAY_S = 60.0
"""How long jobs of the queue stay without work, as more of it may be found."""
_IN_VAIN = 3
"""So many jobs that end before a worker of them is there are no accident."""
_NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask answers questions about itself all the same: at a port that is free, so that schedulers live side by side."""
_NUMBER = re.compile(r"^\s*(\d+)", re.MULTILINE)
_NONE_LEFT = "No unfinished job"
"""What LSF ends with, as if it were an error, where no job is left."""
_ASK_EVERY_S, _ASK_S = 5.0, 10.0
"""How often the queue is asked which jobs there are, and how long it may take to say so."""
_LOOK_THERE = "look at what they printed; log_folder says where, and python must have Joulewise on the nodes"
_RESUME = "finished runs are kept; mend the profile and run the same study again"


class Queued(Dask):
    """Workers in jobs of a queue, as a profile says; this process schedules them, and they end with it.

    There are as many jobs of the queue as there is work for, within the profile's limits. One that ended, whatever
    ended it, makes room for another.
    """

    def __init__(self, profile: Profile) -> None:
        require_dask("distributed", "dask_jobqueue")
        raise_if_any(lacking(profile))
        super().__init__(f"of workers started through {profile.kind}")
        self._profile = profile
        self._seen: set[str] = set()
        self._ended: set[str] = set()
        self._next_ask_s = -math.inf
        self._n_in_vain = self._peak = 0
        self._peak_until_s = 0.0

    @property
    def n_workers(self) -> int:
        """How many workers there are, or may soon be."""
        return max(len(self._usable), self._profile.max_jobs * self._profile.workers)

    @property
    def news(self) -> str:  # type: ignore[override] # it changes by itself
        """What is to be said of workers, and how many jobs wait in the queue while there is none."""
        n = len(self._jobs.worker_spec)
        return super().news.replace(WAITING, f"{WAITING} of {count(n, 'job')} in the queue" if n else WAITING)

    @contextmanager
    def _reached(self) -> Iterator[Any]:
        start = _cluster_of(self._profile)
        options = {"scheduler_options": _NO_DASHBOARD, "silence_logs": "critical"}
        with (
            start(**self._profile.options(), **options) as self._jobs,
            self._connected(STARTS_S, address=self._jobs) as client,
        ):
            yield client

    def _looked(self) -> None:
        """Have as many jobs of the queue as there is work for."""
        with_workers = {self._job_of(worker.name) for worker in list(self._jobs.scheduler.workers.values())}
        self._ask({name: str(job.job_id) for name, job in self._jobs.workers.items() if name not in with_workers})
        gone = (self._seen | self._ended) - with_workers
        ended = [name for name in self._jobs.worker_spec if name in gone]
        self._seen |= with_workers
        self._n_in_vain = 0 if with_workers else self._n_in_vain + len(set(ended) - self._seen)
        if self._n_in_vain >= _IN_VAIN:
            raise self._none(f"{self._n_in_vain} jobs ended before a worker of them could be reached", _LOOK_THERE)
        there = [name for name in self._jobs.worker_spec if name not in ended]
        n_missing = self._n_wanted() - len(there)
        idle = sorted(set(there) - self._busy(), key=lambda name: name in with_workers)  # those that still wait first
        self._change([*ended, *idle[: max(-n_missing, 0)]], max(n_missing, 0))

    def _n_wanted(self) -> int:
        """How many jobs of the queue there is work for, or was a moment ago, as it takes long to start one."""
        n = ceil((len(self._waiting) + len(self._out)) / self._profile.workers)
        n = min(max(n, self._profile.min_jobs), self._profile.max_jobs)
        now_s = time.monotonic()
        if n >= self._peak or now_s > self._peak_until_s:
            self._peak, self._peak_until_s = n, now_s + _STAY_S
        return self._peak

    def _busy(self) -> set[str]:
        """The jobs of the queue whose workers have something to do."""
        workers = self._jobs.scheduler.workers
        found = (workers.get(out.worker) for out in self._out.values())
        return {self._job_of(worker.name) for worker in found if worker is not None}

    def _job_of(self, worker: str) -> str:
        """The job of the queue that a worker belongs to, by its name, behind which one of several has a number."""
        return worker if worker in self._jobs.worker_spec else worker.rpartition("-")[0]

    def _ask(self, numbers: dict[str, str]) -> None:
        """See which of these jobs have ended, unless that was asked a moment ago or the queue does not say."""
        if not numbers or time.monotonic() < self._next_ask_s:
            return
        told = _told([*QUEUES[self._profile.kind].lists, getpass.getuser()])
        self._next_ask_s = time.monotonic() + _ASK_EVERY_S
        if told is not None:
            there = set(_NUMBER.findall(told))
            self._ended = {name for name, number in numbers.items() if number not in there}

    def _change(self, leaving: list[str], n_new: int) -> None:
        """Cancel some jobs of the queue and submit others; InputError where that is refused and no worker is there."""
        new: dict[str, Any] = {}
        for _ in range(n_new):
            new = self._jobs.new_worker_spec()
            self._jobs.worker_spec.update(new)
        if not leaving and not new:
            return
        try:
            self._jobs.sync(self._jobs.scale_down, leaving)
        except (RuntimeError, OSError, ValueError) as error:
            self._forget_refused()
            told = " ".join(str(error).partition("stderr:")[2].split() or str(error).split())
            if not self._usable:
                raise self._none(f"the queue does not take the job: {told}", _RESUME) from None

    def _forget_refused(self) -> None:
        """Let go of jobs that the queue did not take; Dask would take them for some that are about to start."""
        from distributed.core import Status

        for name, job in list(self._jobs.workers.items()):
            if job.job_id is None:
                job.status = Status.failed
                self._jobs.worker_spec.pop(name, None)

    def _none(self, found: str, advice: str) -> InputError:
        return InputError(Problem(self.place, found, advice=advice))


def lacking(profile: Profile) -> list[Problem]:
    """What this computer lacks for submitting jobs."""
    queue = QUEUES[profile.kind]
    if shutil.which(queue.submit) is not None:
        return []
    advice = "run the study where jobs are submitted, or start workers by hand and use --dask"
    return [Problem(f'kind = "{profile.kind}"', f"found no command {queue.submit}", advice=advice)]


def job_script(profile: Profile) -> str:
    """What would be submitted for each job, but for its name and the scheduler's address; nothing is started."""
    require_dask("distributed", "dask_jobqueue")
    return str(_cluster_of(profile).job_cls("tcp://HERE:PORT", name="NAME", **profile.options()).job_script())


def _cluster_of(profile: Profile) -> Any:
    """What dask-jobqueue has for a queue. It takes Ctrl-C for itself when it is loaded, which is given back."""
    before = signal.getsignal(signal.SIGINT)
    import dask_jobqueue

    if before is not None:
        signal.signal(signal.SIGINT, before)
    return getattr(dask_jobqueue, QUEUES[profile.kind].cluster)


def _told(command: list[str]) -> str | None:
    """What a queue says of a user's jobs, or None where it says nothing that can be relied on."""
    try:
        return subprocess.check_output(command, timeout=_ASK_S, stderr=subprocess.STDOUT, text=True)
    except subprocess.CalledProcessError as error:
        return "" if _NONE_LEFT in error.output else None
    except (OSError, subprocess.TimeoutExpired):
        return None
