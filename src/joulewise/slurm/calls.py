"""The one place where Slurm's commands are run: without a shell, within limits of time, with its errors in words."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from joulewise.errors import JoulewiseError, Problem
from joulewise.slurm.orders import Order


class SlurmError(JoulewiseError):
    """Slurm refused something, or did not answer: then nobody knows whether it did what it was told."""

    def __init__(self, problem: Problem, *, is_silent: bool) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.is_silent = is_silent


class Caller(Protocol):
    """Whoever can run a command of Slurm."""

    def run(self, words: Sequence[str], limit_s: float) -> str:
        """What the command prints; SlurmError where it fails or takes longer."""
        ...


# --- errors in words ----------------------------------------------------------------------------------------


class Complaint(NamedTuple):
    """Words that Slurm's commands complain with, whether they mean that it is silent, and what to do."""

    words: str
    is_silent: bool
    advice: str


COMPLAINTS = (
    Complaint("Unable to contact slurm controller", True, "see that slurmctld runs, and that SLURM_CONF is its file"),
    Complaint("Socket timed out", True, "slurmctld is busy: see sdiag, and ask less often"),
    Complaint("Zero Bytes were transmitted", True, "slurmctld may be starting again: wait for it"),
    Complaint("Connection refused", True, "see that slurmctld runs"),
    Complaint("Protocol authentication error", True, "see that munge runs here with the key of the cluster"),
    Complaint("Munge", True, "see that munge runs here with the key of the cluster"),
    Complaint("Resource temporarily unavailable", True, "slurmctld is busy: see sdiag, and ask less often"),
    Complaint("Could not establish a configuration source", False, "set SLURM_CONF to the file of the cluster"),
    Complaint("Unable to process configuration file", False, "set SLURM_CONF to the file of the cluster"),
    Complaint("Access/permission denied", False, "run as SlurmUser, or as a user with AdminLevel=Operator"),
    Complaint("Invalid job id specified", False, "the job has ended: nothing is to be done"),
    Complaint("already completing or completed", False, "the job has ended: nothing is to be done"),
    Complaint("Invalid partition name", False, "name partitions that scontrol show partition shows"),
    Complaint("Invalid node name", False, "name nodes that scontrol show node shows"),
    Complaint("Invalid feature", False, "name features that scontrol show node shows"),
    Complaint("Requested node configuration is not available", False, "the job does not fit there"),
    Complaint("Job is no longer pending", False, "the job runs: nothing is to be done"),
    Complaint("unrecognized option", False, "this version is too old: 20.11 to 25.05 are known"),
    Complaint("Invalid job format specification", False, "this version is too old: 20.11 to 25.05 are known"),
)
"""The first that is found in what a command says counts."""

_OTHER = Complaint("", False, "run the command by hand to see more")


def _complained(words: Sequence[str], said: str) -> SlurmError:
    """The error of a command that failed and said why."""
    known = next((complaint for complaint in COMPLAINTS if complaint.words.lower() in said.lower()), _OTHER)
    lines = said.strip().splitlines()
    found = f"failed: {lines[0][:200]}" if lines else "failed without a word"
    return SlurmError(Problem(_shown(words), found, advice=known.advice), is_silent=known.is_silent)


def _shown(words: Sequence[str]) -> str:
    """The beginning of a command, as people read it."""
    return " ".join(words[:2])[:60]


# --- running ------------------------------------------------------------------------------------------------

_KEPT = ("SLURM_CONF", "SLURM_JWT")
_OURS = ("SLURM", "SQUEUE", "SINFO", "SCONTROL", "SACCT", "SBATCH", "SDIAG")
_FIXED = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard", "LC_ALL": "C"}


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The variables for Slurm's commands: none that changes what they print, instants in UTC."""
    kept = {name: value for name, value in given.items() if name in _KEPT or not name.startswith(_OURS)}
    return {**kept, **_FIXED}


@dataclass(frozen=True)
class Commands:
    """Runs Slurm's commands on this host; `variables` are those that they find their cluster by."""

    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def run(self, words: Sequence[str], limit_s: float) -> str:
        """What the command prints; SlurmError where it is not there, fails or takes longer."""
        try:
            code, printed, complaint = _finished(words, environment(self.variables), limit_s)
        except subprocess.TimeoutExpired:
            found, advice = f"did not answer within {limit_s:g} s", "see that slurmctld runs and is not busy (sdiag)"
            raise SlurmError(Problem(_shown(words), found, advice=advice), is_silent=True) from None
        except OSError as error:
            found, advice = f"cannot be run: {error.strerror}", "install Slurm's commands on this host, or set PATH"
            raise SlurmError(Problem(_shown(words), found, advice=advice), is_silent=False) from None
        if code:
            raise _complained(words, complaint)
        return printed


def _finished(words: Sequence[str], variables: Mapping[str, str], limit_s: float) -> tuple[int, str, str]:
    """What became of a command, what it printed, and what it complained of; it is ended when it takes longer."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        try:
            printed, complaint = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, printed.decode(errors="replace"), complaint.decode(errors="replace")


# --- asking and telling -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Patience:
    """How long one waits for an answer, and how often one asks again after how long; each wait is longer."""

    limit_s: float = 30.0
    tries: int = 4
    first_wait_s: float = 1.0
    growth: float = 3.0

    def waits_s(self) -> list[float]:
        """The waits between the tries."""
        return [self.first_wait_s * self.growth**number for number in range(self.tries - 1)]


def ask(caller: Caller, words: Sequence[str], patience: Patience, sleep: Callable[[float], object] = time.sleep) -> str:
    """The answer to a question, which is asked again while Slurm is silent; SlurmError if it stays so, or refuses."""
    for wait_s in patience.waits_s():
        try:
            return caller.run(words, patience.limit_s)
        except SlurmError as error:
            if not error.is_silent:
                raise
        sleep(wait_s)
    return caller.run(words, patience.limit_s)


class Told(NamedTuple):
    """What became of an order: only the queue shows, after a complaint or silence, for which jobs it was done."""

    order: Order
    problem: Problem | None
    is_certain: bool


def tell(caller: Caller, order: Order, patience: Patience) -> Told:
    """Give an order once. It is never given again unseen: after silence the queue must be asked what was done."""
    try:
        caller.run(order.words, patience.limit_s)
    except SlurmError as error:
        return Told(order, error.problem, not error.is_silent)
    return Told(order, None, True)
