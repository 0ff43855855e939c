"""The temperature of the processor, where the machine shows it."""

from __future__ import annotations

import math
from pathlib import Path

from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.processor import surroundings
from joulewise.measure.machine.system_files import number_of, numbered, text_of

_MILLI = 1e-3
_COLDEST_C, _HOTTEST_C = -60.0, 150.0
"""What a sensor says outside of these is not a temperature."""

_CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors", "apm_xgene", "smpro_hwmon")
_ZONES = ("x86_pkg_temp", "cpu", "soc", "acpitz")
"""Kinds of zones by how they begin, the best first."""
_METAL_REMEDY = "load the sensor's driver: sudo modprobe coretemp (Intel) or k10temp (AMD)"
_VIRTUAL_REMEDY = "measure on bare metal: hosts do not show their temperature"


class Heat:
    """The sensors of the processor; of the machine where that has none."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._sensors = _chip_sensors(root) or _zone_sensors(root)

    def availability(self) -> Availability:
        """Whether a temperature can be read."""
        now_c = self.read_c()
        if not math.isnan(now_c):
            names = ", ".join(dict.fromkeys(name for name, _ in self._sensors))
            return Availability("temperature", True, f"{now_c:.0f} °C now ({names})")
        around = surroundings(self.root)
        place = f" ({around})" if around else ""
        remedy = _VIRTUAL_REMEDY if "virtual" in around else _METAL_REMEDY
        return Availability("temperature", False, f"no sensor of the processor in {self._places()}{place}", remedy)

    def read_c(self) -> float:
        """The hottest temperature now; NaN where none can be read."""
        read = (number_of(path) * _MILLI for _, path in self._sensors)
        return max((value for value in read if _COLDEST_C < value < _HOTTEST_C), default=math.nan)

    def _places(self) -> str:
        return f"{self.root / 'sys/class/hwmon'} and {self.root / 'sys/class/thermal'}"


def _chip_sensors(root: Path) -> list[tuple[str, Path]]:
    """Sensors by name of their chip; the shown control temperature of AMD only where the true one is missing."""
    sensors = []
    for folder in numbered(root / "sys/class/hwmon", "hwmon"):
        chip = text_of(folder / "name")
        if chip in _CHIPS:
            paths = sorted(folder.glob("temp*_input"))
            labels = {path: text_of(path.with_name(path.name.replace("input", "label"))) for path in paths}
            is_offset = "Tdie" in labels.values()
            sensors += [(chip, path) for path in paths if not (is_offset and labels[path] == "Tctl")]
    return sensors


def _zone_sensors(root: Path) -> list[tuple[str, Path]]:
    zones = [
        (text_of(folder / "type"), folder / "temp") for folder in numbered(root / "sys/class/thermal", "thermal_zone")
    ]
    by_kind = ([zone for zone in zones if zone[0].startswith(kind)] for kind in _ZONES)
    return next(filter(None, by_kind), [])
