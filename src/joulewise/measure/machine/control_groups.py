"""Limits that a control group sets, as containers and batch systems use them: processor time and memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from joulewise.measure.machine.system_files import number_of, text_of


def core_quota(root: Path = Path("/")) -> float | None:
    """How many cores' worth of time this process gets; None without a limit."""
    least = min(_along(root, "cpu", _quota))
    return least if math.isfinite(least) else None


def memory_limit_bytes(root: Path = Path("/")) -> float:
    """How much memory this process may use; infinite without a limit."""
    return min(_along(root, "memory", _memory))


def _along(root: Path, controller: str, limit: Callable[[Path], float]) -> Iterator[float]:
    """The limits of this process's group and of all groups around it, in both versions of control groups."""
    base = root / "sys/fs/cgroup"
    for line in text_of(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, _, place = rest.partition(":")
        if names and controller not in names.split(","):
            continue
        folders = [base / names, base / controller] if names else [base, base / "unified"]
        for folder in folders:
            yield from (limit(group) for group in _upwards(folder, place))
    yield limit(base)


def _upwards(base: Path, place: str) -> Iterator[Path]:
    group = base / place.strip("/")
    yield group
    while group != base:
        group = group.parent
        yield group


def _quota(group: Path) -> float:
    quota, _, period = text_of(group / "cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        return int(quota) / int(period)
    old_quota, old_period = number_of(group / "cpu.cfs_quota_us"), number_of(group / "cpu.cfs_period_us")
    return old_quota / old_period if old_quota > 0 and old_period > 0 else math.inf


def _memory(group: Path) -> float:
    limits = (number_of(group / name) for name in ("memory.max", "memory.limit_in_bytes"))
    return min((limit for limit in limits if limit > 0), default=math.inf)
