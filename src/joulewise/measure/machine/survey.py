"""Everything that the laboratory can read or set, and whether it can on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.clocks import Clocks
from joulewise.measure.machine.machine import Machine, read_machine
from joulewise.measure.machine.system_files import core_list
from joulewise.measure.meters.counters import CounterSource, PerfEvents
from joulewise.measure.meters.energy_log import EnergyMeter
from joulewise.measure.meters.external import PowerTable
from joulewise.measure.meters.heat import Heat
from joulewise.measure.meters.perf_events import Opening, perf_event_open
from joulewise.measure.meters.perf_stat import PerfStat
from joulewise.measure.meters.rapl import Rapl
from joulewise.units import count


def survey(
    root: Path = Path("/"), meter: EnergyMeter | PowerTable | None = None, opening: Opening = perf_event_open
) -> list[Availability]:
    """Every probe: times, counters, energy, temperature, frequency, governor, pinning."""
    clocks = Clocks(root)
    return [
        Availability("times", True, "wall time by a clock that is never set, processor time of all processes"),
        counter_availability(root, opening),
        (meter or Rapl(root)).availability(),
        Heat(root).availability(),
        clocks.availability(),
        clocks.governor_availability(),
        pinning(read_machine(root)),
    ]


def counter_sources(root: Path = Path("/"), opening: Opening = perf_event_open) -> tuple[CounterSource, ...]:
    """Ways to count, the best first; perf only where it is installed."""
    perf = (PerfStat(root=root),) if shutil.which("perf") else ()
    return (PerfEvents(root, opening), *perf)


def best_counters(root: Path = Path("/"), opening: Opening = perf_event_open) -> CounterSource | None:
    """The best way to count that works here; None where none does."""
    return next((one for one in counter_sources(root, opening) if one.availability().is_available), None)


def counter_availability(root: Path = Path("/"), opening: Opening = perf_event_open) -> Availability:
    """Whether anything counts here; where nothing does, why the best way does not."""
    availabilities = [source.availability() for source in counter_sources(root, opening)]
    return next((one for one in availabilities if one.is_available), availabilities[0])


def pinning(machine: Machine) -> Availability:
    """Which cores programs can be pinned to, and what keeps them from running side by side."""
    shared = [cache for cache in machine.last_level if len(cache.cores) > 1]
    caches = ", ".join(f"{cache.size_bytes / 2**20:g} MiB for {core_list(cache.cores)}" for cache in shared)
    found = (
        f"{machine.model}: cores {core_list(machine.cores)}, {count(len(machine.siblings), 'physical one')}, "
        f"last-level caches shared: {caches or 'none that shows'}"
    )
    if len(machine.kinds) > 1:
        found += f"; not all alike, fastest first: {'; '.join(map(core_list, machine.kinds))}"
    if len(machine.cores) == 1:
        return Availability("pinning", True, found, "nothing can run beside anything: give it more cores")
    if machine.core_quota is not None and machine.core_quota < len(machine.cores):
        found += f"; a control group grants the time of {machine.core_quota:g} cores only"
        return Availability("pinning", True, found, "raise the quota (docker run --cpus, cpu.max) to all cores in use")
    return Availability("pinning", True, found)
