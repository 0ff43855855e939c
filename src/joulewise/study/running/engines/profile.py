"""What a site's queue wants to know of the jobs in which workers run: a small file in TOML."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.files import toml_of
from joulewise.processes import ONE_THREAD
from joulewise.reading import read_text
from joulewise.study.spec import parameters
from joulewise.units import n_bytes
from joulewise.worlds.parameters import explained


class Queue(NamedTuple):
    """A queueing system: the class of dask-jobqueue for it, how that calls an account, how jobs are submitted, and what
    lists those of a user that wait or run, a line each that begins with its number."""

    cluster: str
    account: str
    submit: str
    lists: tuple[str, ...]


QUEUES = {
    "slurm": Queue("SLURMCluster", "account", "sbatch", ("squeue", "-h", "-o", "%A", "-u")),
    "pbs": Queue("PBSCluster", "account", "qsub", ("qstat", "-u")),
    "lsf": Queue("LSFCluster", "project", "bsub", ("bjobs", "-u")),
    "sge": Queue("SGECluster", "project", "qsub", ("qstat", "-u")),
}

Kind = Literal["slurm", "pbs", "lsf", "sge"]
Text = Annotated[str, Field(min_length=1)]
Number = Annotated[int, Field(ge=1, le=100_000)]


@dataclass(frozen=True)
class Profile:
    """How workers are started through a queue; each job of the queue has `processes` workers."""

    kind: Kind = explained("slurm", "the queueing system")
    queue: Text | None = explained(None, "the queue or partition; the site's default if left out")
    account: Text | None = explained(None, "the account or project that is charged")
    cores: Number = explained(1, "cores of a job")
    processes: Number | None = explained(None, "workers of a job, each computing one run at a time; one for each core")
    memory: Text = explained("4 GB", "memory of a job, shared by its workers")
    walltime: Text | None = explained(None, 'the longest that a job lasts, as the queue writes it, such as "02:00:00"')
    interface: Text | None = explained(None, 'the network that workers and this computer share, such as "ib0"')
    directives: tuple[Text, ...] = explained((), 'more lines of the job\'s heading, such as "--qos=low"')
    python: Text | None = explained(None, "the Python that has Joulewise on the nodes; the one that runs here")
    prologue: tuple[Text, ...] = explained((), 'commands before the worker starts, such as "module load python"')
    scratch: Text | None = explained(None, "a folder on the nodes for what need not last")
    log_folder: Text | None = explained(None, "where jobs write what they print; where the queue puts it if left out")
    min_jobs: Annotated[int, Field(ge=0, le=100_000)] = explained(0, "jobs that are kept even if there is less to do")
    max_jobs: Number = explained(10, "jobs at most")

    def __post_init__(self) -> None:
        raise_if_any(self._problems())

    def _problems(self) -> list[Problem]:
        found = []
        if self.min_jobs > self.max_jobs:
            found.append(Problem("profile.min_jobs", f"found {self.min_jobs}", "must not be above max_jobs"))
        if self.processes is not None and self.processes > self.cores:
            found.append(Problem("profile.processes", f"found {self.processes}", "must not be above cores"))
        if not _is_size(self.memory):
            found.append(Problem("profile.memory", f"found {self.memory!r}", 'must be a size, such as "16 GB"'))
        networks = [name for _, name in socket.if_nameindex()]
        if self.interface is not None and self.interface not in networks:
            allowed = f"must be a network of this computer, which has {', '.join(networks)}"
            found.append(Problem("profile.interface", f"found {self.interface!r}", allowed))
        return found

    @property
    def workers(self) -> int:
        """How many workers a job has."""
        return self.processes or self.cores

    def options(self) -> dict[str, Any]:
        """The profile as dask-jobqueue takes it."""
        return {
            "queue": self.queue,
            QUEUES[self.kind].account: self.account,
            "cores": self.cores,
            "processes": self.workers,
            "memory": int(n_bytes(self.memory)),
            "walltime": self.walltime,
            "interface": self.interface,
            "job_extra_directives": list(self.directives),
            "python": self.python,
            "job_script_prologue": [*(f"export {name}={n}" for name, n in ONE_THREAD.items()), *self.prologue],
            "local_directory": self.scratch,
            "log_directory": self.log_folder,
            "job_name": "joulewise",
        }


def read_profile(path: Path | str) -> Profile:
    """The profile in a file; InputError with all that is wrong with it."""
    path = Path(path)
    text = read_text(path, "give the path of a profile; docs/how-to/many-machines.md shows one")
    found, problems = parameters.read(Profile, toml_of(text, path.name), lambda key: f"{path.name}: {key}")
    if problems or found is None:
        raise InputError(*problems)
    profile: Profile = found
    return profile


def _is_size(text: str) -> bool:
    try:
        return n_bytes(text) >= 1
    except ValueError:
        return False
