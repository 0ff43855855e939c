"""A Dask scheduler and workers on this host, each a process that a test may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_BOUND_S = 60.0

BLIND = """
import os, sys

HIDDEN = {hidden!r}


def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(HIDDEN):
        raise FileNotFoundError(arguments[0])


sys.addaudithook(refuse)
"""
"""What a worker loads so as not to see a folder, as if it were on another machine."""

OLD = """
import joulewise._version

joulewise._version.__version__ = "0.0.9"
"""
"""What a worker loads so as to be of an older version."""

FULL = """
import errno
import joulewise.study.running.engines.remote as remote


def refuse(**_):
    raise OSError(errno.ENOSPC, "No space left on device", "/scratch/job")


remote.TemporaryDirectory = refuse
"""
"""What a worker loads so as to have no room on its disk."""


class DaskCluster:
    """Processes of one cluster in a folder of their own; all end with the context that made it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start the scheduler, at the same address each time, and wait until it answers."""
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        deadline = time.monotonic() + _BOUND_S
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), 1):
                return
            time.sleep(0.05)
        raise TimeoutError(self._log())

    def start_worker(self, preload: str = "", *, nanny: bool = False) -> subprocess.Popen[bytes]:
        """Start a worker, which may load some code first, and whose nanny may start it again when it dies."""
        more = ["--preload", self._written(preload)] if preload else []
        places = ["--host", "127.0.0.1", "--local-directory", str(self.folder), "--no-dashboard"]
        limits = ["--nthreads", "1", "--memory-limit", "0", "--death-timeout", "60"]
        worker = self._start("dask_worker", self.address, *places, *limits, "--nanny" if nanny else "--no-nanny", *more)
        self.workers.append(worker)
        return worker

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process, and all that it started, as a machine does that is switched off."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_BOUND_S)

    def close(self) -> None:
        """Kill all that is left."""
        for process in [*self.workers, self.scheduler]:
            self.kill(process)

    def _start(self, tool: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{tool}", *arguments],
                cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _written(self, code: str) -> str:
        path = self.folder / f"preload_{len(self.workers)}.py"
        path.write_text(code)
        return str(path)

    def _log(self) -> str:
        return (self.folder / "log").read_text()[-3000:]


@contextmanager
def dask_cluster(folder: Path, n_workers: int = 0, preload: str = "") -> Iterator[DaskCluster]:
    """A cluster with so many workers."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = DaskCluster(folder)
    try:
        for _ in range(n_workers):
            cluster.start_worker(preload)
        yield cluster
    finally:
        cluster.close()
