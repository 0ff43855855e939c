"""Energy from RAPL: counters of the processor itself, which Intel and AMD offer through the kernel's powercap."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.processor import ARM, read_processor, surroundings
from joulewise.measure.machine.system_files import number_of, text_of
from joulewise.measure.meters.power_sensors import sensor_remedy

_JOULES_PER_UNIT = 1e-6
_MOST_W = 1000.0
"""More than any counted part takes: a counter read this seldom may have started again more than once."""

_SOON_S = 0.1
"""Counters move in steps: what is read sooner than this may have counted the energy of so long a time, or nothing."""

_OTHER_METERS = "any machine: give the plan a [meter], a command that prints watts or the CSV file of an external meter"
_READ_REMEDY = (
    "run as root, or let everybody read until the next start of the machine: "
    "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
)
_STUCK_REMEDY = "measure on bare metal, or update the firmware"
_REMEDIES = {
    "virtual": "measure on bare metal: hosts keep these counters to themselves",
    "container": "measure outside the container, or give it /sys/devices/virtual/powercap",
    ARM: "ARM processors have no such counters",
    "": "load the driver: sudo modprobe intel_rapl_msr (Linux 5.8 or newer for AMD)",
}


@dataclass
class _Zone:
    """One counter that starts again after `range_j`; `total_j` is what it counted since it was first read."""

    folder: Path
    range_j: float
    last_j: float = math.nan
    last_s: float = math.nan
    total_j: float = 0.0

    @property
    def now_j(self) -> float:
        """What it says."""
        return number_of(self.folder / "energy_uj") * _JOULES_PER_UNIT

    def read(self, now_s: float) -> bool:
        """Add what was counted since the last time; False where that is not known."""
        now_j = self.now_j
        step_j = (now_j - self.last_j) % self.range_j if self.range_j > 0 else math.nan
        most_j = max(now_s - self.last_s, _SOON_S) * _MOST_W
        is_stuck = step_j == 0 and now_s - self.last_s > _SOON_S
        is_known = step_j <= most_j < self.range_j and not is_stuck  # else it began anew more than once, or was reset
        self.total_j += step_j if is_known else 0.0
        self.last_j, self.last_s = now_j, now_s
        return is_known


class Rapl:
    """The counters of all processor packages and of memory where it has its own.

    Cores and graphics are parts of a package, and a counter of the whole platform has the packages in it: neither is
    added. That one is read only where there are no packages.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.root = root
        self._now_s, self._sleep = now_s, sleep
        self._zones = [
            _Zone(folder, number_of(folder / "max_energy_range_uj") * _JOULES_PER_UNIT) for folder in _counted(root)
        ]
        self._is_first = True

    @property
    def name(self) -> str:
        """Which counters are added: RAPL (package-0, package-1, 2 dram)."""
        names = [text_of(zone.folder / "name") for zone in self._zones]
        return f"RAPL ({', '.join(_tallied(names))})" if names else "RAPL"

    def availability(self) -> Availability:
        """Whether all counters can be read and are counting."""
        if not self._zones:
            return self._none()
        trouble = next(self._troubles(), None)
        if trouble:
            why, remedy = trouble
            return Availability("energy", False, why, f"{remedy}; {self._others()}")
        return Availability("energy", True, f"{self.name}: without disks, fans and the loss of the power supply")

    def read_j(self) -> float:
        """Joules since the first reading; NaN where some may have gone uncounted since the last one."""
        now_s = self._now_s()
        is_read = [zone.read(now_s) for zone in self._zones]
        is_first, self._is_first = self._is_first, False
        if not is_read or any(math.isnan(zone.last_j) for zone in self._zones) or not (is_first or all(is_read)):
            return math.nan
        return sum(zone.total_j for zone in self._zones)

    def _troubles(self) -> Iterator[tuple[str, str]]:
        """Why counters cannot be used, and what would help."""
        yield from filter(any, map(_why_not, self._zones))
        before_j = [zone.now_j for zone in self._zones]
        self._sleep(_SOON_S)
        for zone, was_j in zip(self._zones, before_j):
            if zone.now_j == was_j:
                yield f"{zone.folder / 'energy_uj'} did not move within {_SOON_S:g} s: it does not count", _STUCK_REMEDY

    def _none(self) -> Availability:
        around = surroundings(self.root)
        vendor = read_processor(self.root).vendor
        keys = [key for key in (ARM, "virtual", "container") if key in around or key == vendor]
        place = f" ({around})" if around else ""
        found = f"no RAPL counters in {self.root / 'sys/class/powercap'}{place}"
        return Availability("energy", False, found, f"{_REMEDIES[keys[0] if keys else '']}; {self._others()}")

    def _others(self) -> str:
        return f"{sensor_remedy(self.root)}{_OTHER_METERS}"


def _counted(root: Path) -> list[Path]:
    """The folders of the counters to add, by the names that the kernel gives them."""
    folders = sorted((root / "sys/class/powercap").glob("intel-rapl:*"))
    named = [(text_of(folder / "name"), folder) for folder in folders]
    packages = [folder for name, folder in named if name.startswith("package")]
    memory = [folder for name, folder in named if name == "dram"]
    platform = [folder for name, folder in named if name == "psys"]
    return packages + memory if packages else platform


def _tallied(names: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{names.count(name)} {name}" for name in dict.fromkeys(names)]


def _why_not(zone: _Zone) -> tuple[str, str]:
    """Why a counter cannot be used, and what would help; two empty texts where it can."""
    path = zone.folder / "energy_uj"
    try:
        value = path.read_text(encoding="utf-8").strip()
    except PermissionError:
        return f"{path} may be read only by root (as Linux has it since 2020)", _READ_REMEDY
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}", "update the kernel or its firmware"
    if not value.isdigit() or int(value) == 0:
        return f"{path} says {value!r}: it does not count", _STUCK_REMEDY
    if not zone.range_j > 0:
        return f"{zone.folder} does not say at which value it starts again from 0", "update the kernel"
    return "", ""
