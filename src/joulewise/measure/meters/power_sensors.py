"""Power sensors of boards that the kernel shows (hwmon), as commands for a plan's meter: many ARM servers have them."""

from __future__ import annotations

import shlex
from pathlib import Path

from joulewise.measure.machine.system_files import number_of, numbered, text_of


def sensor_remedy(root: Path) -> str:
    """What a plan's [meter] can be here without anything else; nothing where no sensor shows a power."""
    commands = [_command(path) for path in _sensors(root)]
    several = f"; {len(commands) - 1} more beside it: see what each of them covers" if len(commands) > 1 else ""
    return f"a sensor of this machine: {commands[0]}{several}; " if commands else ""


def _sensors(root: Path) -> list[Path]:
    """The sensors that show a power now; means over a while in place of momentary powers. Some are their device's."""
    sensors = []
    for chip in numbered(root / "sys/class/hwmon", "hwmon"):
        for folder in (chip, chip / "device"):
            paths = sorted(folder.glob("power*_average")) or sorted(folder.glob("power*_input"))
            sensors += [path for path in paths if number_of(path) > 0]
    return sensors


def _command(path: Path) -> str:
    """A meter that prints the watts of a sensor, which has microwatts, and what it calls itself."""
    stem = path.name.partition("_")[0]
    name = text_of(path.with_name(f"{stem}_oem_info")) or text_of(path.with_name(f"{stem}_label"))
    command = f"awk '{{print $1 / 1e6}}' {shlex.quote(str(path))}"
    return f'[meter] command = "{command}" ({name or text_of(path.with_name("name")) or "unnamed"})'
