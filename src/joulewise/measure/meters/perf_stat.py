"""Counters through the program perf, where it may count and this process may not."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.processor import read_processor
from joulewise.measure.machine.system_files import text_of
from joulewise.measure.meters.counters import NO_FILE, CounterReads, OpenCounters
from joulewise.measure.meters.perf_events import CYCLES, INSTRUCTIONS, miss_events

_INSTALL = "install perf (packages linux-perf, linux-tools-$(uname -r) or perf)"
_GRANT = "sudo sysctl kernel.perf_event_paranoid=2, or let perf count: sudo setcap cap_perfmon+ep $(which perf)"
_ONLY_WHOLE = ", which counts whole programs: no bundled kernels, and none that say when they begin"
_WITHOUT_PERF = "let Python itself count, which can be read meanwhile: sudo sysctl kernel.perf_event_paranoid=2"
_TELLS_SIGNALS = ("/bin/sh", "-c", '(exec "$@") || exit $?', "sh")
"""Before a command line: perf says 0 of a program that a signal ended, a shell says 128 and the signal's number."""
_LIMIT_S = 10.0
_NAMES = {
    "instructions": ("instructions", "inst_retired", "inst_retired.any"),
    "cycles": ("cycles", "cpu-cycles", "cpu_cycles", "cpu_clk_unhalted.thread"),
    "cache_misses": (
        "LLC-load-misses", "ll_cache_miss_rd", "r4843", "longest_lat_cache.miss", "cache-misses",
    ),
}  # fmt: skip
"""What perf calls the events, the best name first."""
_EVENT = re.compile(r"(?:[\w]+/)?([A-Za-z][\w.-]*?)(?:[/:][A-Za-z]*)*")
"""An event's own name in cpu_core/cycles/u, instructions:u and cycles."""


class _StatLine(NamedTuple):
    """What perf says of one event on one counting unit: an estimate for the whole time, and the share it counted."""

    event: str
    value: float
    share: float


def parse_perf_stat(text: str) -> CounterReads:
    """What `perf stat -x,` (or another separator) printed; NaN for what was not counted or is not supported."""
    lines = [line for line in map(_line, text.splitlines()) if line is not None]
    return CounterReads(**{field: _count(lines, names) for field, names in _NAMES.items()})


def _line(text: str) -> _StatLine | None:
    """The event of one line, wherever locale and version of perf put it; None for other lines."""
    cells = text.strip().split(";" if ";" in text else ",")
    for place, cell in enumerate(cells[1:], start=1):
        match = _EVENT.fullmatch(cell.strip())
        if match and any(match[1] in names for names in _NAMES.values()):
            value = "".join(cells[: max(1, place - 1)])
            return _StatLine(match[1], _number(value), _share(cells[place + 1 :]))
    return None


def _number(text: str) -> float:
    """A count, also with marks between thousands; NaN for words such as <not counted>."""
    digits = re.sub(r"[\s.,'\u202f\xa0]", "", text)
    return float(digits) if digits.isdigit() else math.nan


def _share(cells: Sequence[str]) -> float:
    """The share of time in which an event was counted, out of (time, percentage, ...); 1 where perf does not say."""
    percentage = re.match(r"\d+(?:\.\d+)?", cells[1]) if len(cells) > 1 else None
    return float(percentage[0]) / 100.0 if percentage else 1.0


def _count(lines: Sequence[_StatLine], names: Sequence[str]) -> float:
    """The count of the first of these events that was counted.

    Counting units of a hybrid processor each give an estimate for the whole time: a program is on one of them at a
    time, so what they really counted is added, and the shares of time too.
    """
    for name in names:
        counted = [line for line in lines if line.event == name and not math.isnan(line.value) and line.share > 0]
        if counted:
            share = sum(line.share for line in counted)
            return sum(line.value * line.share for line in counted) / min(1.0, share)
    return math.nan


class _StatFile:
    """What perf has written when the program has ended: nothing can be taken off that."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._is_whole = True

    def begin(self) -> None:
        self._is_whole = False

    def read(self) -> CounterReads:
        return parse_perf_stat(text_of(self._file)) if self._is_whole else CounterReads()

    def close(self) -> None:
        if self._file.is_file():  # never a device such as /dev/null
            self._file.unlink()


class PerfStat:
    """perf stat before the command line."""

    def __init__(self, perf: str | None = None, root: Path = Path("/")) -> None:
        self.perf = perf or shutil.which("perf")
        events = (INSTRUCTIONS, CYCLES, miss_events(read_processor(root))[0])
        self._events = ",".join(f"{event.name}:u" for event in events)

    def availability(self) -> Availability:
        """Whether perf is there and counts, found out by letting it count the program `true`."""
        if self.perf is None:
            return Availability("counters", False, "there is no program perf", _INSTALL)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "counts"
            why = _failure(self.wrapped(("true",), file))
            reads = parse_perf_stat(text_of(file))
        if why or math.isnan(reads.instructions):
            return Availability("counters", False, f"{self.perf} counts nothing here{why}", _GRANT)
        without = "" if reads.cache_misses >= 0 else "; no last-level cache misses"
        return Availability("counters", True, f"through {self.perf} stat{_ONLY_WHOLE}{without}", _WITHOUT_PERF)

    def wrapped(self, command: Sequence[str], file: Path = NO_FILE) -> tuple[str, ...]:
        """The command behind perf, which writes its counts to the file."""
        perf = (self.perf or "perf", "stat", "-x;", "-o", str(file), "-e", self._events, "--")
        return (*perf, *_TELLS_SIGNALS, *command)

    def attach(self, pid: int, file: Path = NO_FILE) -> OpenCounters:  # noqa: ARG002
        """The counts that perf writes to the file when the program ends."""
        return _StatFile(file)


def _failure(command: Sequence[str]) -> str:
    """Why a command failed, for a message; nothing where it did not."""
    try:
        subprocess.check_output(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f" ({error})"
    except subprocess.CalledProcessError as error:
        said = error.output.decode(errors="replace").strip().splitlines()
        return f" ({said[-1] if said else f'status {error.returncode}'})"
    return ""
