"""From shares of configurations to cores: which pattern each processor gets, and what each of its cores does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joulewise.model.arrays import Codes, Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.configurations import Configurations



@dataclass(frozen=True, eq=False)
class Processors:
    """All processors of a facility: the node of each, its node type, and its first core."""

    node: Counts
    kind: Counts
    first_core: Counts


def processors_of(facility: Facility) -> Processors:
    """Processors in the order of nodes."""
    types = facility.node_types
    n = types.processors[facility.node_type]
    node = np.repeat(np.arange(facility.n_nodes), n)
    place = np.arange(node.size) - np.repeat(np.cumsum(n) - n, n)
    kind = facility.node_type[node].astype(np.int64)
    return Processors(node, kind, facility.first_core[node] + place * types.sharers[kind])


@dataclass(frozen=True, eq=False)
class Cores:
    """What the cores of a processor do in each configuration of a table: task type and P-state, -1 at rest."""

    task: Codes
    pstate: Codes


def cores_of(table: Configurations, size: int) -> Cores:
    """The classes of a pattern one after the other on the cores of a processor."""
    task, pstate = (np.full((len(table), size), -1, np.int8) for _ in range(2))
    for s in range(len(table)):
        present = np.flatnonzero(table.counts[s])
        repeats = table.counts[s, present]
        n = int(repeats.sum())
        task[s, :n] = np.repeat(table.task[s, : present.size], repeats)
        pstate[s, :n] = np.repeat(table.pstate[s, : present.size], repeats)
    return Cores(task, pstate)


class PlanMaker:
    """A plan that is filled processor by processor."""

    def __init__(self, facility: Facility, processors: Processors) -> None:
        self.facility, self.processors = facility, processors
        self.share = np.zeros((facility.n_cores, facility.tasks.n_types))
        self.pstate = np.zeros((facility.n_cores, facility.tasks.n_types), np.int8)

    def fill(self, which: Counts, kind: int, table: Configurations, row: Counts) -> None:
        """Let these processors of one node type run one configuration each, all the time."""
        size = int(self.facility.node_types.sharers[kind])
        cores = cores_of(table, size)
        at = self.processors.first_core[which][:, None] + np.arange(size)[None, :]
        task, pstate = cores.task[row], cores.pstate[row]
        busy = task >= 0
        self.share[at[busy], task[busy]] = 1.0
        self.pstate[at[busy], task[busy]] = pstate[busy]

    def mix(self, processor: int, table: Configurations, rows: Counts, amount: Floats) -> None:
        """Let a processor run configurations of one pattern in turn, for these shares of time."""
        at = int(self.processors.first_core[processor])
        for of_class in np.flatnonzero(table.counts[rows[0]]):
            n = int(table.counts[rows[0], of_class])
            member = int(np.count_nonzero(table.counts[rows[0], :of_class]))
            pairs = list(zip(table.task[rows, member].tolist(), table.pstate[rows, member].tolist()))
            times: dict[tuple[int, int], float] = {}
            for pair, part in zip(pairs, amount.tolist()):
                times[pair] = times.get(pair, 0.0) + part * n
            self._pack(at, n, times)
            at += n

    def _pack(self, first: int, n: int, times: dict[tuple[int, int], float]) -> None:
        """Fill n cores with times of (task type, P-state), one after the other.

        Where two P-states of one task type meet on a core, the faster is kept, for as long as both drew that energy.
        """
        kind = int(self.facility.node_type[np.searchsorted(self.facility.first_core, first, side="right") - 1])
        power_w = self.facility.tasks.power_w[:, kind]
        core, left = 0, 1.0
        for (task, pstate), time in sorted(times.items(), key=lambda item: (item[0][1], item[0][0])):
            while time > 1e-12 and core < n:
                part = min(time, left)
                at = first + core
                before = self.share[at, task]
                if before > 0.0 and self.pstate[at, task] != pstate:
                    self.share[at, task] += part * power_w[task, pstate] / power_w[task, self.pstate[at, task]]
                else:
                    self.share[at, task] += part
                    self.pstate[at, task] = pstate
                time, left = time - part, left - part
                if left <= 1e-12:
                    core, left = core + 1, 1.0

    def plan(self, supply_c: Floats) -> FacilityPlan:
        """What has been filled, with these supplies."""
        busy = self.share.sum(axis=1, keepdims=True)
        return FacilityPlan(self.share / np.maximum(busy, 1.0), self.pstate, supply_c)
