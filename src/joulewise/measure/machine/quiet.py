"""Whether others are using the machine: looked at before each run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.measure.machine.system_files import core_list, text_of

Ticks = NDArray[np.int64]

_IDLE = (3, 4)
"""Columns of /proc/stat that are no work: idle, and waiting for a disk."""

_OF_A_CORE = re.compile(r"cpu\d+ ")

_N_COLUMNS = 8
"""Columns of /proc/stat that add up to all time; the others are parts of these."""


USED_BY_OTHERS = "others used"
"""How notes of runs begin that did not have the machine for themselves."""

_UNKNOWN = "whether others used the machine just before could not be looked at"


class _Busy(NamedTuple):
    """The share of some cores' time that others use."""

    share: float
    cores: str


@dataclass
class Quiet:
    """Waits until others use at most `most_busy` of all cores, and of those that a run needs, up to `wait_s`.

    All are those of the whole machine, whichever process may use them: others there share its caches, clocks and meters
    with us. After a wait without success it does not wait again until it has seen the machine idle: a machine that is
    never idle costs one wait, not one for every run.
    """

    most_busy: float
    wait_s: float
    root: Path = Path("/")
    look_s: float = 0.2
    _is_hopeless: bool = False

    def wait(self, places: Collection[Sequence[int]] = ()) -> str:
        """Wait for it; what is to be noted if the machine is still busy. `places` are cores of each member."""
        until_s = time.monotonic() + (0.0 if self._is_hopeless else self.wait_s)
        busy = self._busiest(places)
        while busy.share > self.most_busy and time.monotonic() < until_s:
            busy = self._busiest(places)
        self._is_hopeless = busy.share > self.most_busy
        if math.isnan(busy.share):
            return _UNKNOWN
        return f"{USED_BY_OTHERS} {100 * busy.share:.0f} % of {busy.cores} just before" if self._is_hopeless else ""

    def _busiest(self, places: Collection[Sequence[int]]) -> _Busy:
        """What is used most while looking: all cores taken together, or those of one place."""
        before = self._ticks()
        time.sleep(self.look_s)
        after = self._ticks()
        spent = {core: after[core] - before[core] for core in before.keys() & after.keys()}
        candidates = [_Busy(_busy_share(spent, spent), "the cores")]
        candidates += [_Busy(_busy_share(spent, place), _named(place)) for place in places]
        return max(candidates, key=lambda busy: -1.0 if math.isnan(busy.share) else busy.share)

    def _ticks(self) -> dict[int, Ticks]:
        """Of each core, all time since it was started, and that in which it did nothing; none that cannot be read."""
        cells = (line.split() for line in text_of(self.root / "proc/stat").splitlines() if _OF_A_CORE.match(line))
        rows = {int(name.removeprefix("cpu")): [*map(int, numbers[:_N_COLUMNS])] for name, *numbers in cells}
        return {core: np.array((sum(row), sum(row[column] for column in _IDLE))) for core, row in rows.items()}


def _busy_share(spent: Mapping[int, Ticks], cores: Iterable[int]) -> float:
    total, idle = sum((spent[core] for core in cores if core in spent), np.zeros(2))
    return float(1.0 - idle / total) if total > 0 else math.nan


def _named(cores: Sequence[int]) -> str:
    return f"{'core' if len(cores) == 1 else 'cores'} {core_list(cores)}"
