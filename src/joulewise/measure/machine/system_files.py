"""Small files of the kernel below a root, so that the recorded tree of another machine reads like this one."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path

CPUS = "sys/devices/system/cpu"
"""Where the kernel keeps one folder for each core."""


def text_of(path: Path) -> str:
    """What a file says, without white space around it; nothing where it is missing or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def number_of(path: Path) -> float:
    """The number in a file; NaN where there is none."""
    try:
        return float(text_of(path))
    except ValueError:
        return math.nan


def cores_in(text: str) -> tuple[int, ...]:
    """The cores of a list of the kernel: "0-2,8" is (0, 1, 2, 8); nothing where it is not a list."""
    cores: set[int] = set()
    try:
        for part in filter(None, text.replace("\n", "").split(",")):
            first, _, last = part.partition("-")
            cores.update(range(int(first), int(last or first) + 1))
    except ValueError:
        return ()
    return tuple(sorted(cores))


def core_list(cores: Iterable[int]) -> str:
    """Cores as the kernel lists them: (0, 1, 2, 8) is "0-2,8"."""
    spans: list[list[int]] = []
    for core in sorted(set(cores)):
        if spans and core == spans[-1][1] + 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def numbered(folder: Path, stem: str) -> list[Path]:
    """Entries such as cpu0, cpu1, ..., cpu10 in the order of their numbers."""
    found = [path for path in folder.glob(f"{stem}*") if path.name.removeprefix(stem).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(stem)))


def core_folder(root: Path, core: int) -> Path:
    """The folder of one core."""
    return root / CPUS / f"cpu{core}"


def may_write(path: Path) -> bool:
    """Whether this process may write to a file that exists, which nobody may where it is mounted read-only."""
    return os.access(path, os.W_OK)
