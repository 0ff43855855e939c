"""Kernels for the small day, compiled once on a machine, before the desk is asked: it has no minute for that."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from threading import Lock

MARK = "play"
"""What stands for the kernels that any day to play with needs."""


class Compiling:
    """Compiles in a process of its own, when that is needed and nobody does it already."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = Lock()

    def begin(self) -> bool:
        """Begin, unless that was done; whether it may still come to a good end."""
        with self._busy:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # what it has compiled stays, whatever becomes of the workbench
                )
            return self._process.poll() in (None, 0)


def is_compiled() -> bool:
    """Whether all kernels are compiled that a day to play with needs."""
    from joulewise.kernels.jit import kernels_are_compiled

    return kernels_are_compiled(MARK)


def compile_all() -> None:
    """Play a small day in each way that can be chosen."""
    from joulewise.kernels.jit import mark_kernels_compiled
    from joulewise.serve.play.day import ENVIRONMENTS, FILTERS, POLICIES, Setting, played

    for environment, energy_filter in product(ENVIRONMENTS, FILTERS):
        played(Setting(tuple(POLICIES), 100, 0.5, 10.0, environment, energy_filter, 1.0, 0))
    mark_kernels_compiled(MARK)


if __name__ == "__main__":
    compile_all()
