"""What each processor of a facility runs: from shares of groups to whole patterns and cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.configurations import Configurations, joined
from joulewise.optimise.facility.pool import Allowed, ConfigurationPool
from joulewise.optimise.facility.program import Background, Groups, LinearisedProgram, Solution

_NONE, _LITTLE = 1e-9, 1e-3


@dataclass(frozen=True, eq=False)
class Processors:
    """All processors of a facility: the node of each, its node type, and its first core."""

    node: Counts
    kind: Counts
    first_core: Counts

    def __len__(self) -> int:
        return self.node.size


def processors_of(facility: Facility) -> Processors:
    """Processors in the order of nodes."""
    types = facility.node_types
    n = types.processors[facility.node_type]
    node = np.repeat(np.arange(facility.n_nodes), n)
    place = np.arange(node.size) - np.repeat(np.cumsum(n) - n, n)
    kind = facility.node_type[node].astype(np.int64)
    return Processors(node, kind, facility.first_core[node] + place * types.sharers[kind])


@dataclass(frozen=True, eq=False)
class Mixture:
    """What processors run: entries of (processor, row of its type's table, share of its time)."""

    processor: Counts
    row: Counts
    amount: Floats

    def taken(self, which: Bools) -> Mixture:
        """Some of the entries."""
        return Mixture(self.processor[which], self.row[which], self.amount[which])

    def is_mixed(self, n: int) -> Bools:
        """Which of n processors do not run one configuration all the time."""
        return np.asarray(np.bincount(self.processor, self.amount > 1 - _NONE, n) < 1)


def drawn_by(facility: Facility, pool: ConfigurationPool, processors: Processors, mixture: Mixture) -> Background:
    """The power of all nodes and the tasks done, with a mixture and all other processors at rest."""
    kind, node = processors.kind[mixture.processor], processors.node[mixture.processor]
    power_w = np.bincount(node, mixture.amount * pool.power_w(kind, mixture.row), facility.n_nodes)
    return Background(facility.overhead_w + power_w, mixture.amount @ pool.rates_per_s(kind, mixture.row))


def handed_out(
    pool: ConfigurationPool, processors: Processors, program: LinearisedProgram, solution: Solution, watt_price: Floats
) -> Mixture:
    """The shares of each group on its processors, one after the other: most power where a watt costs least."""
    groups, (group, row) = program.groups, program.pairs
    entries = groups.weight.tocoo()
    of_node = np.empty(groups.weight.shape[0], np.int64)
    of_node[entries.row] = entries.col
    of_processor = of_node[processors.node]
    order = np.lexsort((watt_price[processors.node], of_processor))
    begins = np.searchsorted(of_processor[order], np.arange(groups.n_groups + 1))
    used = np.flatnonzero(solution.x > _NONE)
    power_w = pool.power_w(groups.kind[group[used]], row[used])
    order_of_used = np.lexsort((-power_w, group[used]))
    used, power_w = used[order_of_used], power_w[order_of_used]
    group, row, amount = group[used], row[used], solution.x[used]
    n = np.diff(begins)[group]
    starts, ends = _places(group, amount, power_w > 0.0, n)
    first = np.floor(starts + _NONE).astype(np.int64)
    last = np.minimum(np.ceil(ends - _NONE).astype(np.int64), n)
    sizes = np.maximum(last - first, 0)
    entry = np.repeat(np.arange(used.size), sizes)
    place = np.arange(entry.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[entry]
    covered = np.minimum(ends[entry], place + 1.0) - np.maximum(starts[entry], place)
    mixture = Mixture(order[begins[group[entry]] + place], row[entry], covered)
    return mixture.taken(covered > _NONE)


def _places(group: Counts, amount: Floats, is_busy: Bools, n: Counts) -> tuple[Floats, Floats]:
    """Where entries, sorted by group, begin and end on the processors of their group, counted from its first.

    In a group with processors enough each entry begins on one of its own, so that none has to run several; of what
    rests there nothing is said. In others they follow one another.
    """
    whole = np.where(is_busy, np.ceil(amount - _NONE), 0.0)
    has_room = np.bincount(group, whole)[group] <= n if group.size else np.zeros(0, bool)
    width = np.where(has_room, whole, amount)
    before = np.cumsum(width) - width
    starts = before - before[np.searchsorted(group, group)] if group.size else before
    return starts, starts + np.where(has_room & ~is_busy, 0.0, amount)


def with_patterns(
    pool: ConfigurationPool, processors: Processors, mixture: Mixture, task_price: Floats, is_light: bool
) -> tuple[Mixture, Allowed]:
    """Leave each processor the pattern that fills most of it; adds to the pool what is best with each such pattern.

    Where the load is light, all that a processor does in turn gets cores of its own instead.
    """
    code = pattern_codes(pool, processors, mixture)
    pattern, _ = fullest(mixture, code, len(processors))
    if is_light:
        _make_room(pool, processors, mixture, pattern)
    add_best_of(pool, processors, pattern, task_price)
    codes = [pool.patterns(k) for k in range(len(pool.tables))]

    def allowed(k: int, asked: Counts) -> Bools:
        return np.asarray(codes[k][None, :] == pattern[asked][:, None])

    return mixture.taken(code == pattern[mixture.processor]), allowed


def pattern_codes(pool: ConfigurationPool, processors: Processors, mixture: Mixture) -> Counts:
    """The number of each entry's pattern in the menu of its node type."""
    kind = processors.kind[mixture.processor]
    code = np.empty(mixture.row.size, np.int64)
    for k in range(len(pool.tables)):
        code[kind == k] = pool.patterns(k)[mixture.row[kind == k]]
    return code


def add_best_of(pool: ConfigurationPool, processors: Processors, pattern: Counts, task_price: Floats) -> None:
    """Add to the pool what is best with each of the patterns that some processor has."""
    tables = []
    for k, menu in enumerate(pool.menus):
        own = np.unique(pattern[processors.kind == k])
        curves = [menu.narrowed(menu.counts[p]).curve(task_price) for p in own.tolist() if p > 0]
        tables.append([pool.tables[k], *(curve.configurations for curve in curves)])
    pool.tables = [joined(parts) for parts in tables]


def fullest(mixture: Mixture, code: Counts, n: int) -> tuple[Counts, Floats]:
    """The pattern in which each processor is busy most of its time, and for how much of it; 0, rest, if it never is."""
    filled = csr_array((mixture.amount, (mixture.processor, code)), shape=(n, int(code.max(initial=0)) + 1)).tocoo()
    filled.data[filled.col == 0] = 0.0
    rest = np.zeros(n)
    processor = np.concatenate((np.arange(n), filled.row))
    pattern, amount = np.concatenate((np.zeros(n, np.int64), filled.col)), np.concatenate((rest, filled.data))
    order = np.lexsort((amount, processor))
    last = order[np.searchsorted(processor[order], np.arange(n), side="right") - 1]
    return np.asarray(pattern[last]), np.asarray(amount[last])


def _make_room(pool: ConfigurationPool, processors: Processors, mixture: Mixture, pattern: Counts) -> None:
    """Give mixed processors, in place, a pattern with cores for all that they do, if they have this many."""
    is_mixed, kind = mixture.is_mixed(len(processors)), processors.kind[mixture.processor]
    for k, menu in enumerate(pool.menus):
        mine = np.flatnonzero(is_mixed[mixture.processor] & (kind == k))
        counts, amount = pool.tables[k].counts[mixture.row[mine]], mixture.amount[mine]
        for processor in np.unique(mixture.processor[mine]):
            own = mixture.processor[mine] == processor
            most, mean = counts[own].max(axis=0), np.ceil(amount[own] @ counts[own] - _LITTLE)
            fitting = [cores for cores in (most, mean.astype(counts.dtype)) if cores.any() and menu.has(cores)]
            if fitting:
                pattern[processor] = menu.number(fitting[0])


def regrets(
    pool: ConfigurationPool, processors: Processors, mixture: Mixture, task_price: Floats, watt_price: Floats
) -> tuple[Floats, Floats]:
    """How much more each processor could earn at the prices, and how much worse its next best choice would be."""
    n, own = len(processors), watt_price[processors.node]
    best, next_best = np.empty(n), np.empty(n)
    for k, curve in enumerate(pool.curves(task_price)):
        mine = np.flatnonzero(processors.kind == k)
        vertex = curve.vertex(own[mine])
        best[mine] = curve.net(own[mine])
        others = [np.clip(vertex + step, 0, curve.power_w.size - 1) for step in (-1, 1)]
        nets = [
            np.where(other == vertex, -np.inf, curve.value[other] - own[mine] * curve.power_w[other])
            for other in others
        ]
        next_best[mine] = np.maximum(*nets)
    kind = processors.kind[mixture.processor]
    earned = pool.rates_per_s(kind, mixture.row) @ task_price
    earned -= own[mixture.processor] * pool.power_w(kind, mixture.row)
    return best - np.bincount(mixture.processor, earned * mixture.amount, n), best - next_best


def single_groups(facility: Facility, processors: Processors, which: Counts) -> Groups:
    """Some processors, each a group of its own."""
    ones = np.ones(which.size)
    shape = (facility.n_nodes, which.size)
    weight = csr_array((ones, (processors.node[which], np.arange(which.size))), shape=shape)
    return Groups(processors.kind[which], ones, weight)


class PlanMaker:
    """A plan that is filled processor by processor."""

    def __init__(self, facility: Facility, processors: Processors) -> None:
        self.facility, self.processors = facility, processors
        self.share = np.zeros((facility.n_cores, facility.tasks.n_types))
        self.pstate = np.zeros((facility.n_cores, facility.tasks.n_types), np.int8)

    def fill(self, which: Counts, table: Configurations, row: Counts) -> None:
        """Let these processors of one node type run one configuration each, all the time."""
        size = int(table.counts.sum(axis=1).max(initial=0))
        cores = [_core_columns(table, column, size)[row] for column in (table.task, table.pstate)]
        at = self.processors.first_core[which][:, None] + np.arange(size)[None, :]
        busy = cores[0] >= 0
        self.share[at[busy], cores[0][busy]] = 1.0
        self.pstate[at[busy], cores[0][busy]] = cores[1][busy]

    def mix(self, processor: int, table: Configurations, rows: Counts, amount: Floats) -> None:
        """Let a processor run configurations of one pattern in turn, for these shares of time."""
        at = int(self.processors.first_core[processor])
        power_w = self.facility.tasks.power_w[:, self.processors.kind[processor]]
        present = np.flatnonzero(table.counts[rows[0]])
        for member, of_class in enumerate(present.tolist()):
            n, times = int(table.counts[rows[0], of_class]), dict[tuple[int, int], float]()
            for row, part in zip(rows.tolist(), amount.tolist()):
                key = int(table.pstate[row, member]), int(table.task[row, member])
                times[key] = times.get(key, 0.0) + part * n
            self._pack(at, n, times, power_w)
            at += n

    def blend(self, processor: int, table: Configurations, rows: Counts, amount: Floats) -> None:
        """Let each core of a processor do a part of several patterns, classes on the same cores as far as that goes.

        Cores change what they do independently of each other, so this is not what the patterns in turn would earn.
        """
        first, kind = int(self.processors.first_core[processor]), int(self.processors.kind[processor])
        on_core = np.zeros((int(self.facility.node_types.sharers[kind]), table.counts.shape[1]))
        for at in np.argsort(-amount, kind="stable").tolist():
            free = np.ones(len(on_core), bool)
            for of_class, task, pstate in _members_of(table, int(rows[at])):
                likings = np.where(free, on_core[:, of_class] - _LITTLE * on_core.sum(axis=1), -np.inf)
                core = int(np.argmax(likings))
                free[core] = False
                on_core[core, of_class] += amount[at]
                self._add(first + core, task, pstate, float(amount[at]), self.facility.tasks.power_w[task, kind])

    def _add(self, core: int, task: int, pstate: int, part: float, power_w: Floats) -> None:
        """Give a core time for a task type; of two P-states the faster is kept, as long as both drew that energy."""
        before = int(self.pstate[core, task]) if self.share[core, task] > 0.0 else pstate
        kept = min(before, pstate)
        self.share[core, task] = (self.share[core, task] * power_w[before] + part * power_w[pstate]) / power_w[kept]
        self.pstate[core, task] = kept

    def _pack(self, first: int, n: int, times: dict[tuple[int, int], float], power_w: Floats) -> None:
        """Fill n cores with times of (P-state, task type), one after the other.

        Where two P-states of one task type meet on a core, the faster is kept, for as long as both drew that energy.
        """
        at, left = first, 1.0
        for (pstate, task), time in sorted(times.items()):
            while time > _NONE and at < first + n:
                part = min(time, left)
                kept = int(self.pstate[at, task]) if self.share[at, task] > 0.0 else pstate
                self.share[at, task] += part * power_w[task, pstate] / power_w[task, kept]
                self.pstate[at, task] = kept
                time, left = time - part, left - part
                if left <= _NONE:
                    at, left = at + 1, 1.0

    def plan(self, supply_c: Floats) -> FacilityPlan:
        """What has been filled, with these supplies."""
        busy = self.share.sum(axis=1, keepdims=True)
        return FacilityPlan(self.share / np.maximum(busy, 1.0), self.pstate, supply_c)


def _members_of(table: Configurations, row: int) -> Iterator[tuple[int, int, int]]:
    """The class, task type and P-state of each busy core of a configuration."""
    present = np.flatnonzero(table.counts[row])
    for member, of_class in enumerate(present.tolist()):
        for _ in range(int(table.counts[row, of_class])):
            yield of_class, int(table.task[row, member]), int(table.pstate[row, member])


def _core_columns(table: Configurations, column: Ints, size: int) -> Counts:
    """[row, core]: what the cores of a processor do, classes one after the other; -1 at rest."""
    cores = np.full((len(table), size), -1, np.int64)
    for s, counts in enumerate(table.counts):
        n = int(counts.sum())
        cores[s, :n] = np.repeat(column[s, : np.count_nonzero(counts)], counts[counts > 0])
    return cores


def made_plan(
    facility: Facility,
    pool: ConfigurationPool,
    processors: Processors,
    mixture: Mixture,
    supply_c: Floats,
    *,
    blends: bool = False,
) -> FacilityPlan:
    """The plan of a mixture in which each processor has one pattern, or in which several are blended."""
    maker = PlanMaker(facility, processors)
    is_mixed = mixture.is_mixed(len(processors))[mixture.processor]
    whole = mixture.taken(~is_mixed & (mixture.amount > 1 - _NONE))
    for k, table in enumerate(pool.tables):
        mine = processors.kind[whole.processor] == k
        maker.fill(whole.processor[mine], table, whole.row[mine])
    parts = mixture.taken(is_mixed)
    order = np.argsort(parts.processor, kind="stable")
    for entries in np.split(order, np.flatnonzero(np.diff(parts.processor[order])) + 1):
        if entries.size:
            processor = int(parts.processor[entries[0]])
            table = pool.tables[int(processors.kind[processor])]
            (maker.blend if blends else maker.mix)(processor, table, parts.row[entries], parts.amount[entries])
    return maker.plan(supply_c)
