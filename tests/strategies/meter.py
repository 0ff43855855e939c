"""The power of a whole system at any instant of a run, and its integral: each machine by what it does just then."""

from __future__ import annotations

import math
from bisect import bisect
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from joulewise.model import Allocation, Outages, World


class Stay(NamedTuple):
    """What a machine does from an instant to another; `power_w` is that of the machine alone."""

    start_s: float
    end_s: float
    power_w: float
    is_run: bool


@dataclass(frozen=True)
class Meter:
    """Watts at the meter."""

    world: World
    stays: list[list[Stay]]
    """The runs and outages of each machine, by time."""

    def energy_j(self) -> float:
        """The integral of power over the counted window; NaN without power figures."""
        if self.world.system.power_w is None:
            return math.nan
        start_s, end_s = self.window_s()
        return math.fsum(
            self.machine_w(machine, (at_s + next_s) / 2) * (next_s - at_s)
            for machine in range(self.world.system.n_machines)
            for at_s, next_s in pairwise(sorted({start_s, end_s, *self._changes_s(machine)}))
            if start_s <= at_s and next_s <= end_s
        )

    def window_s(self) -> tuple[float, float]:
        """The counted window; one without an end is over with the last run, or arrival."""
        work = self.world.workload
        if math.isfinite(work.end_s):
            return work.start_s, work.end_s
        ends_s = [stay.end_s for stays in self.stays for stay in stays if stay.is_run]
        return work.start_s, max([float(work.arrival_s[-1]), *ends_s])

    def machine_w(self, machine: int, at_s: float) -> float:
        """What a machine draws at an instant that is none of its changes."""
        stays = self.stays[machine]
        later = bisect(stays, at_s, key=lambda stay: stay.start_s)
        is_in_stay = later > 0 and at_s < stays[later - 1].end_s
        alone_w = stays[later - 1].power_w if is_in_stay else self._without_work_w(machine, at_s, later)
        return self.world.supply.pue * alone_w

    def _without_work_w(self, machine: int, at_s: float, later: int) -> float:
        """What a machine draws between two stays, the second of which is number `later`."""
        standby, kind = self.world.system.standby, self.world.system.machine_type[machine]
        if standby is None:
            return 0.0
        since_s, boots_s = self._gap_s(machine, later)
        asleep_s = since_s + float(standby.sleep_after_s[kind])
        if at_s < asleep_s or asleep_s >= boots_s:
            return float(standby.idle_w[kind])
        return float(standby.sleep_w[kind] if at_s < boots_s else standby.boot_w[kind])

    def _gap_s(self, machine: int, later: int) -> tuple[float, float]:
        """When the machine last became free, and when it would begin to boot for the stay that comes next."""
        standby, stays = self.world.system.standby, self.stays[machine]
        assert standby is not None
        since_s = stays[later - 1].end_s if later else 0.0
        if later == len(stays):
            return since_s, math.inf
        boot_s = float(standby.boot_s[self.world.system.machine_type[machine]]) if stays[later].is_run else 0.0
        return since_s, stays[later].start_s - boot_s

    def _changes_s(self, machine: int) -> list[float]:
        """All instants at which the power of a machine may change."""
        standby, kind = self.world.system.standby, self.world.system.machine_type[machine]
        edges_s = [0.0, *(at_s for stay in self.stays[machine] for at_s in (stay.start_s, stay.end_s))]
        if standby is not None:
            boot_s, sleep_after_s = float(standby.boot_s[kind]), float(standby.sleep_after_s[kind])
            edges_s += [at_s + by_s for at_s in edges_s for by_s in (sleep_after_s, -boot_s)]
        return edges_s


def meter_of(world: World, allocation: Allocation) -> Meter:
    """A meter for what was done, lost runs and the runs of killed tasks with the others."""
    power_w, work, lost = world.system.power_w, world.workload, allocation.broken
    stays = [_outages(world.outages, machine) for machine in range(world.system.n_machines)]
    names = ("machine", "pstate", "start_s", "end_s")
    rows = [(task, *(getattr(allocation, name)[task] for name in names)) for task in allocation.used.nonzero()[0]]
    rows += zip(*(getattr(lost, name) for name in ("task", *names)), strict=True)
    for task, machine, pstate, start_s, end_s in rows:
        choice = (work.task_type[task], world.system.machine_type[machine], pstate)
        watts = math.nan if power_w is None else float(power_w[choice])
        stays[machine].append(Stay(float(start_s), float(end_s), watts, True))
    return Meter(world, [sorted(each) for each in stays])


def _outages(outages: Outages, machine: int) -> list[Stay]:
    rows = (outages.machine == machine).nonzero()[0]
    return [Stay(float(outages.start_s[row]), float(outages.end_s[row]), 0.0, False) for row in rows]
