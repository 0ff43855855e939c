"""Whether others are using the machine: looked at before each run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_IDLE = (3, 4)
"""Columns of /proc/stat that are no work: idle, and waiting for a disk."""

_N_COLUMNS = 8
"""Columns of /proc/stat that add up to all time; the others are parts of these."""


@dataclass
class Quiet:
    """Waits until others use at most `most_busy` of the cores, up to `wait_s`.

    Once it has waited in vain, it does not wait again until it has seen the machine idle: a machine that is never idle
    costs one wait, not one for every run.
    """

    cores: Iterable[int]
    most_busy: float
    wait_s: float
    root: Path = Path("/")
    look_s: float = 0.2
    _is_hopeless: bool = False

    def wait(self) -> str:
        """Wait for it; what is to be noted if the machine is busy all the same."""
        until_s = time.monotonic() + (0.0 if self._is_hopeless else self.wait_s)
        busy = self.busy_share()
        while busy > self.most_busy and time.monotonic() < until_s:
            busy = self.busy_share()
        self._is_hopeless = busy > self.most_busy
        return f"others used {busy:.0%} of the cores just before" if self._is_hopeless else ""

    def busy_share(self) -> float:
        """Share of the cores' time that is used while looking; 0 where the system does not tell."""
        before = self._ticks()
        time.sleep(self.look_s)
        after = self._ticks()
        total, idle = after[0] - before[0], after[1] - before[1]
        return 1.0 - idle / total if total > 0 else 0.0

    def _ticks(self) -> tuple[int, int]:
        """All time of the cores since they were started, and that in which they did nothing."""
        wanted = {f"cpu{core}" for core in self.cores}
        try:
            lines = (self.root / "proc/stat").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0, 0
        cells = (line.split() for line in lines)
        rows = [list(map(int, numbers[:_N_COLUMNS])) for name, *numbers in cells if name in wanted]
        return sum(map(sum, rows)), sum(row[column] for row in rows for column in _IDLE)
