"""A real Slurm on this host, of as many nodes as asked: private daemons under one folder, all of which end with it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
WHY_NOT = "needs root and Slurm: apt install slurm-wlm munge"
_BOUND_S = 60.0

_CONF = """
ClusterName=joulewise
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,bf_continue
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
KillWait=2
MinJobAge=600
TreeWidth=65533
"""
ONE_PARTITION = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"

NO_GPUS: Mapping[str, int] = MappingProxyType({})

_GUARD = """
import os, signal, subprocess, sys, time
if sys.stdin.read() != "stopped":
    subprocess.run(["scancel", "--user=root"], timeout=10, stderr=subprocess.DEVNULL)
    time.sleep(4)
for group in map(int, sys.argv[1:]):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""
"""Ends jobs and daemons when whoever started them is gone, whatever ended it: its standard input is closed then."""


def can_run() -> bool:
    """Whether a Slurm can be started here."""
    return os.geteuid() == 0 and all(map(shutil.which, NEEDED))


@dataclass
class Slurm:
    """A running Slurm: its folder, which also has its configuration, and what its commands need."""

    folder: Path
    n_nodes: int
    spare_port: int = 0
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which Slurm's commands find it."""
        own = {"SLURM_CONF": str(self.folder / "slurm.conf"), "MYSQL_UNIX_PORT": str(self.folder / "db.sock")}
        return {**os.environ, **own}

    def call(self, *command: object) -> str:
        """What one of Slurm's commands prints."""
        words = list(map(str, command))
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=_BOUND_S)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def jobs(self, state: str = "RUNNING,PENDING,COMPLETING") -> list[str]:
        """The numbers of the jobs that are in one of these states."""
        return self.call("squeue", "-h", "-t", state, "-o", "%i").split()

    def node_of(self, job: str) -> str:
        """Where a job runs."""
        return self.call("squeue", "-h", "-j", job, "-o", "%N").strip()

    def start(self, *command: object) -> None:
        """Start a daemon in a process group of its own, so that it and what it started can be ended together."""
        log = (self.folder / "daemons.log").open("ab")
        words = list(map(str, command))
        self.daemons.append(
            subprocess.Popen(words, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        )
        log.close()

    def wait_until_idle(self) -> None:
        """Wait until every node can take jobs."""

        def are_idle() -> bool:
            with suppress(AssertionError):  # the controller may not answer yet
                nodes = set(self.call("sinfo", "-h", "-N", "-o", "%N %T").splitlines())  # once for each partition
                return len(nodes) == self.n_nodes and all(node.endswith(" idle") for node in nodes)
            return False

        self.wait(are_idle)

    def wait(self, is_so: Callable[[], bool], bound_s: float = _BOUND_S) -> None:
        """Wait until something is so, and no longer than the daemons live."""
        deadline = time.monotonic() + bound_s
        while not is_so():
            is_well = time.monotonic() < deadline and all(daemon.poll() is None for daemon in self.daemons)
            assert is_well, (self.folder / "daemons.log").read_text()[-2000:]
            time.sleep(0.05)

    def stop(self) -> None:
        """End all jobs, then all daemons, with what is left of them."""
        with suppress(AssertionError, subprocess.TimeoutExpired):
            for job in self.jobs():  # the processes of jobs outlive the daemon of their node
                self.call("scancel", "--signal=KILL", "--full", job)
                self.call("scancel", job)
            deadline = time.monotonic() + 20
            while self.jobs() and time.monotonic() < deadline:
                time.sleep(0.1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait(10)


@contextmanager
def running_slurm(
    folder: Path,
    n_nodes: int,
    cpus: int = 2,
    settings: str = ONE_PARTITION,
    gpus: Mapping[str, int] = NO_GPUS,
    before: Callable[[Slurm], None] | None = None,
) -> Iterator[Slurm]:
    """A Slurm of nodes n1, n2, ... with so many processors each, and GPUs on some; only on this host.

    The settings stand for those of their names in its configuration. What has to run before the controller is
    started, behind the daemon that proves who asks it.
    """
    control, spare, *ports = _free_ports(n_nodes + 2)
    slurm = Slurm(folder, n_nodes, spare)
    (folder / "state").mkdir()
    lines = [f"NodeName=DEFAULT CPUs={cpus} RealMemory=100000 State=UNKNOWN"]
    for number, port in enumerate(ports, start=1):
        has = f" Gres=gpu:{gpus[f'n{number}']}" if f"n{number}" in gpus else ""
        lines.append(f"NodeName=n{number} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port}{has}")
    _configure(folder, control, "\n".join((*lines, settings)))
    _make_gpus(folder, gpus)
    guard = None
    try:
        _start_munge(slurm)
        if before is not None:
            before(slurm)
        _start_controller(slurm)
        for number in range(1, n_nodes + 1):
            slurm.start("slurmd", "-D", "-N", f"n{number}", "-f", folder / "slurm.conf")
        guard = _guarding(slurm)
        slurm.wait_until_idle()
        yield slurm
    finally:
        slurm.stop()
        if guard is not None:
            guard.communicate("stopped", timeout=20)


@contextmanager
def running_controller(folder: Path, settings: str) -> Iterator[Slurm]:
    """A Slurm of these settings without a daemon on any node: it tells what it has understood."""
    slurm = Slurm(folder, 0)
    (folder / "state").mkdir()
    _configure(folder, _free_ports(1)[0], settings)
    guard = None
    try:
        _start_munge(slurm)
        _start_controller(slurm)
        guard = _guarding(slurm)
        slurm.wait(lambda: _answers(slurm))
        yield slurm
    finally:
        slurm.stop()
        if guard is not None:
            guard.communicate("stopped", timeout=20)


def _configure(folder: Path, port: int, settings: str) -> None:
    """Write slurm.conf, in which these settings stand for those of the same names."""
    said = {line.partition("=")[0] for line in settings.splitlines()}
    kept = [line for line in _CONF.splitlines() if line.partition("=")[0] not in said]
    text = "\n".join(kept).format(folder=folder, control=port)
    (folder / "slurm.conf").write_text(f"{text}\n{settings}\n")


def _make_gpus(folder: Path, gpus: Mapping[str, int]) -> None:
    """Write gres.conf; what stands for GPUs are files, as a node's daemon looks for them."""
    for number in range(max(gpus.values(), default=0)):
        (folder / f"gpu{number}").touch()
    lines = [f"NodeName={node} Name=gpu File={folder}/gpu[0-{n - 1}]" for node, n in gpus.items()]
    (folder / "gres.conf").write_text("\n".join(lines) + "\n")


def _answers(slurm: Slurm) -> bool:
    with suppress(AssertionError):
        return bool(slurm.call("scontrol", "show", "config"))
    return False


def _start_controller(slurm: Slurm) -> None:
    """Start the controller of a configuration that is written."""
    (slurm.folder / "cgroup.conf").write_text("CgroupAutomount=no\nConstrainCores=no\nConstrainRAMSpace=no\n")
    slurm.start("slurmctld", "-D", "-c", "-f", slurm.folder / "slurm.conf")


def _start_munge(slurm: Slurm) -> None:
    """Start what proves who asks a daemon."""
    folder = slurm.folder
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    own = {name: folder / f"munge.{name}" for name in ("sock", "pid", "log", "seed")}
    slurm.start(
        "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={own['sock']}",
        f"--pid-file={own['pid']}", f"--log-file={own['log']}", f"--seed-file={own['seed']}",
    )  # fmt: skip
    slurm.wait(own["sock"].is_socket)


def _guarding(slurm: Slurm) -> subprocess.Popen[str]:
    """What ends the daemons when this process is gone."""
    groups = [str(daemon.pid) for daemon in slurm.daemons]
    return subprocess.Popen(
        [sys.executable, "-c", _GUARD, *groups],
        env=slurm.environment,
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _free_ports(n: int) -> list[int]:
    """So many ports in a row that nobody uses."""
    for first in range(17000 + os.getpid() % 200 * 40, 32000, 40):
        ports = list(range(first, first + n))
        if all(map(_is_free, ports)):
            return ports
    raise OSError("no ports in a row are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False
