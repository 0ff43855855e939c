"""The machine as its kernel describes it: cores, siblings, caches, memory nodes and clocks."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from joulewise.measure.machine.control_groups import core_quota, memory_limit_bytes
from joulewise.measure.machine.processor import read_processor
from joulewise.measure.machine.system_files import CPUS, core_folder, cores_in, number_of, numbered, text_of

_SIZES = {"K": 1024, "M": 1024**2, "G": 1024**3}
_INSTRUCTION = "Instruction"
_KHZ_PER_MHZ = 1000.0
TURBO_STEP_MHZ = 1.0
"""How far above the highest frequency acpi-cpufreq shows a step at which the processor runs as fast as it can."""


class Cache(NamedTuple):
    """A cache, its size and the cores (of those that may be used) that share it."""

    level: int
    kind: str
    size_bytes: int
    cores: tuple[int, ...]


@dataclass(frozen=True)
class Machine:
    """What programs can be pinned to.

    `cores` are online and allowed to this process; all other fields speak only of them. `siblings` are logical cores
    of one physical core, `kinds` cores that are alike, fastest first (two or more on hybrid processors).
    `frequencies_mhz` are the steps of the clock that all of them offer, lowest first; where `has_any_frequency`, they
    are only the ends of a range (and the base frequency) in which any value can be asked for. Caches whose size the
    kernel does not tell are left out. `core_quota` is how many cores' worth of time the control group grants (None
    without a limit), `memory_bytes` how much memory.
    """

    model: str
    cores: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...]
    caches: tuple[Cache, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()
    kinds: tuple[tuple[int, ...], ...] = ()
    memory_bytes: int = 0
    frequencies_mhz: tuple[float, ...] = ()
    has_any_frequency: bool = False
    governors: tuple[str, ...] = ()
    core_quota: float | None = None

    @property
    def last_level(self) -> tuple[Cache, ...]:
        """The last cache before memory of every core, each once."""
        return tuple(dict.fromkeys(cache for core in self.cores if (cache := self.last_level_of(core))))

    def last_level_of(self, core: int) -> Cache | None:
        """The last cache before memory that serves a core; None where the kernel names none."""
        of_core = [cache for cache in self.caches if core in cache.cores and cache.kind != _INSTRUCTION]
        return max(of_core, key=lambda cache: cache.level, default=None)

    @property
    def fastest(self) -> tuple[int, ...]:
        """The cores of the fastest kind: all where they are alike."""
        return self.kinds[0] if self.kinds else self.cores

    def n_kinds(self, cores: Iterable[int]) -> int:
        """Of how many kinds cores are."""
        return sum(not set(kind).isdisjoint(cores) for kind in self.kinds)

    def separate_cores(self) -> tuple[int, ...]:
        """All cores in the order in which members are pinned.

        One logical core of each physical core comes first. Among them, cores that are alike and share a last-level
        cache stand together, those that share it with most others first.
        """
        physical = sorted(self.siblings, key=self._order_of)
        most = max(map(len, physical), default=0)
        return tuple(group[turn] for turn in range(most) for group in physical if turn < len(group))

    def _order_of(self, group: tuple[int, ...]) -> tuple[int, int, int, int]:
        core = group[0]
        kind = next((rank for rank, cores in enumerate(self.kinds) if core in cores), 0)
        cache = self.last_level_of(core)
        sharers = cache.cores if cache else (core,)
        alike = set(self.kinds[kind]) if self.kinds else set(sharers)
        return (kind, -len(alike.intersection(sharers)), min(sharers), core)


def read_machine(root: Path = Path("/")) -> Machine:
    """The machine below a root; what is missing there (as in many containers) is left empty."""
    cores = _cores(root)
    frequencies, has_any = _frequencies(root, cores)
    return Machine(
        model=read_processor(root).name,
        cores=cores,
        siblings=_siblings(root, cores),
        caches=_caches(root, cores),
        nodes=_nodes(root, cores),
        kinds=_kinds(root, cores),
        memory_bytes=_memory_bytes(root),
        frequencies_mhz=frequencies,
        has_any_frequency=has_any,
        governors=_governors(root, cores),
        core_quota=core_quota(root),
    )


def cores_of_others(root: Path, cores: Iterable[int]) -> tuple[int, ...]:
    """Cores that are online besides these."""
    return tuple(sorted(set(_online(root)).difference(cores)))


def _online(root: Path) -> tuple[int, ...]:
    return cores_in(text_of(root / CPUS / "online")) or _listed(root)


def _cores(root: Path) -> tuple[int, ...]:
    """Cores that are online and allowed; what the system tells this process where the tree has neither."""
    online = _online(root)
    allowed = cores_in(_field(root / "proc/self/status", "Cpus_allowed_list"))
    return _among(online or allowed, allowed or online) or tuple(sorted(os.sched_getaffinity(0)))


def _listed(root: Path) -> tuple[int, ...]:
    lines = (line.partition(":") for line in text_of(root / "proc/cpuinfo").splitlines())
    return tuple(int(value) for key, _, value in lines if key.strip() == "processor" and value.strip().isdigit())


def _field(path: Path, name: str) -> str:
    lines = (line.partition(":") for line in text_of(path).splitlines())
    return next((value.strip() for key, _, value in lines if key == name), "")


def _among(cores: Iterable[int], allowed: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(cores).intersection(allowed)))


def _siblings(root: Path, cores: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return _unique(_among(_siblings_of(root, core), cores) or (core,) for core in cores)


def _siblings_of(root: Path, core: int) -> tuple[int, ...]:
    folder = core_folder(root, core) / "topology"
    return cores_in(text_of(folder / "core_cpus_list") or text_of(folder / "thread_siblings_list")) or (core,)


def _unique(groups: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    return tuple(dict.fromkeys(group for group in groups if group))


def _caches(root: Path, cores: tuple[int, ...]) -> tuple[Cache, ...]:
    caches = dict.fromkeys(cache for core in cores for cache in _caches_of(root, core, cores))
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cores)))


def _caches_of(root: Path, core: int, cores: tuple[int, ...]) -> Iterator[Cache]:
    for folder in numbered(core_folder(root, core) / "cache", "index"):
        level, size = number_of(folder / "level"), _size_bytes(text_of(folder / "size"))
        if size and level > 0:
            sharers = _among(cores_in(text_of(folder / "shared_cpu_list")) or (core,), cores)
            yield Cache(int(level), text_of(folder / "type") or "Unified", size, sharers)


def _size_bytes(text: str) -> int:
    """The bytes of a size such as 8192K or 32M; 0 where it is none."""
    factor = _SIZES.get(text[-1:], 1)
    digits = text[:-1] if factor > 1 else text
    return int(digits) * factor if digits.isdigit() else 0


def _nodes(root: Path, cores: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    folders = numbered(root / "sys/devices/system/node", "node")
    return _unique(_among(cores_in(text_of(folder / "cpulist")), cores) for folder in folders) or (cores,)


def _kinds(root: Path, cores: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Cores that are alike, by the lists of hybrid Intel processors or by the capacity that ARM gives."""
    lists = [
        cores_in(text_of(root / "sys/devices" / name / "cpus")) for name in ("cpu_core", "cpu_atom", "cpu_lowpower")
    ]
    if any(lists):
        return _unique(_among(kind, cores) for kind in lists)
    capacities = {core: number_of(core_folder(root, core) / "cpu_capacity") for core in cores}
    distinct = sorted({value for value in capacities.values() if not math.isnan(value)}, reverse=True)
    return _unique(tuple(core for core in cores if capacities[core] == value) for value in distinct) or (cores,)


def _memory_bytes(root: Path) -> int:
    total = _field(root / "proc/meminfo", "MemTotal").removesuffix("kB").strip()
    total_bytes = int(total) * 1024 if total.isdigit() else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min(total_bytes, memory_limit_bytes(root)))


def _frequencies(root: Path, cores: tuple[int, ...]) -> tuple[tuple[float, ...], bool]:
    """Steps that every core offers, or the ends of the range where drivers offer no steps; and whether it is that."""
    folders = [core_folder(root, core) / "cpufreq" for core in cores]
    steps = [_steps_mhz(folder) for folder in folders]
    if steps and all(steps):
        return tuple(sorted(set(steps[0]).intersection(*steps[1:]))), False
    ends = [_ends_mhz(folder) for folder in folders]
    if not ends or not all(ends):
        return (), False
    low, high = max(map(min, ends)), min(map(max, ends))
    shared = set(ends[0]).intersection(*ends[1:])
    return tuple(sorted({low, high}.union(mhz for mhz in shared if low < mhz < high))), True


def _steps_mhz(folder: Path) -> tuple[float, ...]:
    """Steps of the driver, without the one that stands for turbo: acpi-cpufreq shows it as 1 MHz above the highest."""
    names = text_of(folder / "scaling_available_frequencies").split()
    steps = {int(step) / _KHZ_PER_MHZ for step in names if step.isdigit()}
    return tuple(mhz for mhz in steps if mhz - TURBO_STEP_MHZ not in steps)


def _ends_mhz(folder: Path) -> tuple[float, ...]:
    names = ("cpuinfo_min_freq", "base_frequency", "cpuinfo_max_freq")
    ends_mhz = (number_of(folder / name) / _KHZ_PER_MHZ for name in names)
    return tuple(mhz for mhz in ends_mhz if mhz > 0)


def _governors(root: Path, cores: tuple[int, ...]) -> tuple[str, ...]:
    """Governors that every core offers."""
    offered = [text_of(core_folder(root, core) / "cpufreq/scaling_available_governors").split() for core in cores]
    first = offered[0] if offered else []
    return tuple(sorted(name for name in set(first) if all(name in names for names in offered)))
