"""The system call perf_event_open, its events and what its refusals mean; Python has no function for it."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from joulewise.measure.machine.processor import ARM, Processor, surroundings
from joulewise.measure.machine.system_files import text_of

_CALL_NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
"""perf_event_attr as its first version has it: type, size, config, period, sample, read format, flags, 0, 0, 0."""
_READ = struct.Struct("=QQQ")
_READ_TIMES = 0b11
"""Readings carry the time enabled and the time running."""
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR, _ENABLE_ON_EXEC = (1 << bit for bit in (0, 1, 5, 6, 12))
_FLAGS = _DISABLED | _INHERIT | _NO_KERNEL | _NO_HYPERVISOR | _ENABLE_ON_EXEC
_CLOSE_ON_EXEC = 8

_HARDWARE, _HW_CACHE, _RAW = 0, 3, 4
_UNIT_SHIFT = 32
"""Where an event of a hybrid processor carries the number of the unit that is to count it."""


class Event(NamedTuple):
    """An event of the processor: its kind and number for the kernel, its name for perf."""

    kind: int
    number: int
    name: str


class Tally(NamedTuple):
    """What a counter says: its count, how long it was wanted and how long it really counted (ns)."""

    value: int
    enabled_ns: int
    running_ns: int


INSTRUCTIONS = Event(_HARDWARE, 1, "instructions")
CYCLES = Event(_HARDWARE, 0, "cycles")
CACHE_MISSES = Event(_HARDWARE, 3, "cache-misses")
LAST_LEVEL_READ_MISSES = Event(_HW_CACHE, 2 | 0 << 8 | 1 << 16, "LLC-load-misses")
ZEN_FILLS_FROM_MEMORY = Event(_RAW, 0x4843, "r4843")

_MISSES = {
    "GenuineIntel": (CACHE_MISSES, LAST_LEVEL_READ_MISSES),
    "AuthenticAMD": (ZEN_FILLS_FROM_MEMORY,),
    "HygonGenuine": (ZEN_FILLS_FROM_MEMORY,),
    ARM: (LAST_LEVEL_READ_MISSES,),
}
"""Events that count what the last-level cache could not serve, best first.

The kernel's own "cache-misses" are those of the last level on Intel, but of the second on AMD and of the first on ARM.
On AMD, data that came from memory because an instruction wanted it are counted instead (Zen and later).
"""
_ZEN_FAMILY = 0x17


def miss_events(processor: Processor) -> tuple[Event, ...]:
    """The events that count misses of the last-level cache on a processor, best first."""
    events = _MISSES.get(processor.vendor, (LAST_LEVEL_READ_MISSES, CACHE_MISSES))
    is_old_amd = events == (ZEN_FILLS_FROM_MEMORY,) and processor.family < _ZEN_FAMILY
    return (LAST_LEVEL_READ_MISSES,) if is_old_amd else events


_ARM_NAMES = {INSTRUCTIONS: "inst_retired", CYCLES: "cpu_cycles", LAST_LEVEL_READ_MISSES: "ll_cache_miss_rd"}
"""What the units of ARM processors call events: before Linux 6.6, they take only their own numbers of these."""


_OWN_NUMBER = re.compile(r"event=(0x[0-9a-f]+)")


class CountingUnit(NamedTuple):
    """A counting unit: its number for the kernel, and its own numbers of the events in ARM's list that it has."""

    number: int
    own: Mapping[Event, int]


_WHICHEVER = CountingUnit(0, {})


def counting_units(root: Path) -> tuple[CountingUnit, ...]:
    """The counting units of a processor whose cores are not all alike; whichever there is on all others.

    They are those that say which cores are theirs (`cpus`); units outside of cores say which core reads them.
    """
    folders = sorted(path.parent for path in (root / "sys/bus/event_source/devices").glob("*/cpus"))
    units = tuple(_unit(folder) for folder in folders if text_of(folder / "type").isdigit())
    return units if len(units) > 1 else (_WHICHEVER,)


def _unit(folder: Path) -> CountingUnit:
    said = {event: _OWN_NUMBER.fullmatch(text_of(folder / "events" / name)) for event, name in _ARM_NAMES.items()}
    return CountingUnit(int(text_of(folder / "type")), {event: int(own[1], 16) for event, own in said.items() if own})


Opening = Callable[[int, int, int], int]
"""Opens a counter: (kind, number, process) -> file descriptor; OSError where it is refused."""


def perf_event_open(kind: int, number: int, pid: int) -> int:
    """A counter of a process and of all that it will start, in user mode, from its next exec on."""
    call = _CALL_NUMBERS.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    packed = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, number, 0, 0, _READ_TIMES, _FLAGS, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    numbers = (ctypes.c_int(pid), ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_ulong(_CLOSE_ON_EXEC))
    descriptor = library.syscall(ctypes.c_long(call), ctypes.create_string_buffer(packed, len(packed)), *numbers)
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(descriptor)


def on_unit(event: Event, unit: CountingUnit) -> tuple[int, int]:
    """Kind and number of an event on one counting unit."""
    if event in unit.own:
        return (unit.number, unit.own[event])
    if event.kind == _RAW:
        return (unit.number or _RAW, event.number)
    return (event.kind, event.number | unit.number << _UNIT_SHIFT)


def read_tally(descriptor: int) -> Tally:
    """What an open counter says; it never counted where the kernel has nothing to say."""
    read = os.read(descriptor, _READ.size)
    return Tally(*_READ.unpack(read)) if len(read) == _READ.size else Tally(0, 0, 0)


def refusal(error: OSError, root: Path) -> tuple[str, str]:
    """Why the kernel refused a counter, and what would help."""
    around = surroundings(root)
    place = f" ({around})" if around else ""
    level = text_of(root / "proc/sys/kernel/perf_event_paranoid")
    is_filtered = "\nSeccomp:\t2" in text_of(root / "proc/self/status")
    if is_filtered and error.errno in (errno.EPERM, errno.ENOSYS):
        return (
            f"a filter of system calls (seccomp) forbids perf_event_open{place}",
            "docker run --cap-add PERFMON (or --security-opt seccomp=unconfined), or measure outside the container",
        )
    if error.errno in (errno.EPERM, errno.EACCES):
        return (
            f"forbidden: kernel.perf_event_paranoid is {level or 'not known'}",
            "sudo sysctl kernel.perf_event_paranoid=2, or give Python the capability CAP_PERFMON, or run as root",
        )
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.EINVAL):
        return f"the kernel knows no counters of this processor{place}", _remedy_for_none(around)
    fixed = {
        errno.ENOSYS: ("the kernel has no perf_event_open", "use a kernel with CONFIG_PERF_EVENTS"),
        errno.EBUSY: (
            "another program holds the counters",
            "stop other profilers, and the watchdog: sudo sysctl kernel.nmi_watchdog=0",
        ),
        errno.EMFILE: ("too many open files", "raise the limit: ulimit -n 4096"),
    }
    return fixed.get(error.errno or 0, (f"refused: {error.strerror}", "see man perf_event_open"))


def _remedy_for_none(around: str) -> str:
    if "virtual" in around:
        return (
            "measure on bare metal, or let the host pass its counters on (KVM: -cpu host,pmu=on; VMware: 'virtualize "
            "CPU performance counters'; clouds: a .metal instance or one that has a whole socket)"
        )
    return "use a kernel that knows this processor (CONFIG_PERF_EVENTS, on ARM also CONFIG_ARM_PMU)"
