"""The slow twin of the managed day: budgets, filters, clocks, standby, caps and uncertainty, word for word.

Plain Python: nothing is grouped by type, cached, cut short or kept from one mapping event to the next except what is
fixed. All of a batch is planned at every event, and every choice is looked at again after every decision.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joulewise.model import World
from joulewise.model.allocation import Status
from joulewise.model.supply import HOUR_S
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.objectives import UTILITY, UTILITY_PER_ENERGY, UTILITY_PER_TIME
from joulewise.simulate.tasks.manager import Manager
from tests.twins.tasks import serial

Array: TypeAlias = NDArray[Any]

NOBODY = -1
TOO_MANY_EVENTS = 20_000
GOLDEN, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


class Broken(NamedTuple):
    """A run that did not complete its task: a failing machine cut it short, or it was suspended."""

    task: int
    machine: int
    pstate: int
    start_s: float
    end_s: float


class Plan(NamedTuple):
    """What is decided for each task, as in an allocation, and the runs that were lost, or cut, by their end."""

    machine: Array
    pstate: Array
    start_s: Array
    end_s: Array
    status: Array
    lost: list[Broken]
    pieces: list[Broken]


def managed_plan(
    world: World,
    manager: Manager,
    seed: int = 0,
    trial: int = 0,
    prices: Array | None = None,
    quotas: Array | None = None,
) -> Plan:
    """What the manager does with the world.

    For each event with work, `prices` has a row by machine type, and energy last; `quotas` has how many tasks may go
    to [task type, machine type, P-state].
    """
    return _Managed(world, manager, seed64_of(seed, trial, manager), prices, quotas).run()


def queues_after(world: World, manager: Manager, event_s: float) -> list[list[int]]:
    """The tasks that each machine executes, has pending and has planned after the last event by an instant."""
    twin, clock = _Managed(world, manager, seed64_of(0, 0, manager), None, None), Clock(world, manager)
    now_s = clock.first_s()
    while now_s <= event_s:
        now_s = clock.next_s(twin.n_arrived, twin.event(now_s))
    fixed = [[run.task for run in runs if run.end_s > event_s] for runs in twin.runs]
    return [[*tasks, *(planned.task for planned in queue)] for tasks, queue in zip(fixed, twin.queues, strict=True)]


# Random numbers


def seed64_of(seed: int, trial: int, manager: Manager) -> int:
    """The number that a random policy's draws start from."""
    text = f"{seed} {trial} policy {manager.policy.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def mixed(z: int) -> int:
    """How splitmix64 mixes 64 bits."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw(seed64: int, event: int, task: int, which: int) -> float:
    """A number from 0 up to 1 that belongs to this event, task and purpose."""
    state = (seed64 ^ (event * GOLDEN & MASK)) + (2 * task + which) * GOLDEN
    return (mixed(state & MASK) >> 11) / 2**53


# What is decided, and what is open


@dataclass
class Run:
    """A task that is fixed on a machine. `end_s` is when it really ends; inf when it never does.

    A run that a failure at `fails_s` cuts short never ends; one that would start while its machine is down, or
    behind one that never ends, never starts.
    """

    task: int
    machine: int
    pstate: int
    release_s: float
    exec_s: float
    cost_w: float
    boot_j: float
    start_s: float
    end_s: float
    is_killed: bool
    fails_s: float = math.inf


class Planned(NamedTuple):
    """A task in a machine's queue: it starts at `release_s`, or later when the one before it ends."""

    task: int
    pstate: int
    release_s: float
    boot_j: float


class Use(NamedTuple):
    """What the manager believes of a run: its interval, its power above idle, its boot."""

    start_s: float
    end_s: float
    cost_w: float
    boot_j: float


class Option(NamedTuple):
    """A machine type and P-state for a task type."""

    kind: int
    pstate: int
    rank: int
    exec_s: float
    energy_j: float
    cost_w: float
    cost_j: float


class Choice(NamedTuple):
    """An option of a task on a machine, at the instant that machine is free."""

    task: int
    machine: int
    option: Option
    start_s: float
    completion_s: float
    boot_j: float
    value: float


class Today(NamedTuple):
    """The day an event falls into: its end, its budget, what is used of it, and its length."""

    end_s: float
    budget_j: float
    used_j: float
    length_s: float


@dataclass
class Event:
    """What an event decides with, and what it has planned so far."""

    number: int
    effect_s: float
    today: Today
    limit_j: float
    factor: float
    prices: Sequence[float]
    quota: Array | None
    left_j: float
    left_tomorrow_j: float
    free_s: dict[int, float]
    boot_j: dict[int, float]
    uses: list[Use]


class Clock:
    """When mapping events happen."""

    def __init__(self, world: World, manager: Manager) -> None:
        self.interval_s = manager.mapping_interval_s
        self.n_arrivals = manager.mapping_arrivals
        self.is_plain = manager.mapping_arrivals is None and manager.mapping_time == "free"
        self.arrival_s = world.workload.arrival_s.tolist()
        self.origin_s, self.j = 0.0, 0

    def first_s(self) -> float:
        if not self.is_plain:
            return 0.0
        while self.j * self.interval_s < self.arrival_s[0]:
            self.j += 1
        return self.j * self.interval_s

    def next_s(self, n_seen: int, effect_s: float) -> float:
        """The event after one that saw so many tasks arrive and had done its mapping at that instant."""
        regular_s, enough_s = self.origin_s + (self.j + 1) * self.interval_s, math.inf
        if self.n_arrivals is not None and n_seen + self.n_arrivals <= len(self.arrival_s):
            enough_s = self.arrival_s[n_seen + self.n_arrivals - 1]
        if effect_s > min(regular_s, enough_s):
            self.origin_s, self.j = effect_s, 0
            return effect_s
        if regular_s <= enough_s:
            self.j += 1
            return regular_s
        self.origin_s, self.j = enough_s, 0
        return enough_s


class _Managed:
    def __init__(self, world: World, manager: Manager, seed64: int, prices: Array | None, quotas: Array | None) -> None:
        assert manager.mapping_time != "measured", "what mapping really took is nothing that a twin can know"
        self.world, self.manager, self.seed64 = world, manager, seed64
        self.prices, self.quotas = prices, quotas
        self.system, self.work, self.supply = world.system, world.workload, world.supply
        self.arrival_s: list[float] = self.work.arrival_s.tolist()
        self.task_type: list[int] = self.work.task_type.tolist()
        self.stretch = np.ones(self.work.n_tasks) if self.work.stretch is None else self.work.stretch
        self.kinds: list[int] = self.system.machine_type.tolist()
        self.machines = range(len(self.kinds))
        self._set_powers()
        self._set_options()
        self._set_norms()
        self.thresholds = [self._threshold(i) for i in range(self.work.n_tasks)]
        columns, _ = serial.work_and_machines(world)
        self.utilities = serial.Work(*(column.tolist() for column in columns))
        self.n_arrived, self.n_events, self.now_s = 0, 0, 0.0
        self.runs: list[list[Run]] = [[] for _ in self.machines]
        self.queues: list[list[Planned]] = [[] for _ in self.machines]
        self.lost: list[tuple[Broken, Use]] = []
        self.pieces: list[Broken] = []
        self.is_dropped = [False] * self.work.n_tasks
        self.strictness = 1.0
        self.is_fixed = [False] * self.work.n_tasks
        self.back_s = [-math.inf] * self.work.n_tasks

    # Constants of the world

    def _set_powers(self) -> None:
        standby, none = self.system.standby, np.zeros(self.system.n_machine_types)
        self.idle_w = (none if standby is None else standby.idle_w).tolist()
        self.boot_s = (none if standby is None else standby.boot_s).tolist()
        boot_w = (none if standby is None else standby.boot_w).tolist()
        self.boot_j = [
            self.supply.pue * max(boot_w[k] - self.idle_w[k], 0.0) * self.boot_s[k] for k in range(len(boot_w))
        ]
        self.reserve_w = self.supply.pue * float((self.system.counts * np.array(self.idle_w)).sum())

    def _set_options(self) -> None:
        """The options of each task type: those it is mapped by, and those that dropping looks at."""
        best = self.system.best_types(self.manager.n_types)
        order = self.manager.policy.order
        pstates = range(1 if order is not None and not order.all_pstates else self.system.n_pstates)
        self.everywhere = [list(self._options_of(t)) for t in range(self.system.n_task_types)]
        self.options = [
            [o for o in options if best[t, o.kind] and o.pstate in pstates] for t, options in enumerate(self.everywhere)
        ]

    def _options_of(self, task_type: int) -> Iterator[Option]:
        for k in range(self.system.n_machine_types):
            for p in range(self.system.n_pstates):
                exec_s = float(self.system.etc_s[task_type, k, p])
                if self.system.counts[k] > 0 and exec_s < math.inf:
                    power_w = 0.0 if self.system.power_w is None else float(self.system.power_w[task_type, k, p])
                    cost_w = self.supply.pue * (power_w - self.idle_w[k])
                    rank = k * self.system.n_pstates + p
                    yield Option(k, p, rank, exec_s, exec_s * power_w, cost_w, cost_w * exec_s)

    def _set_norms(self) -> None:
        every = [option for options in self.everywhere for option in options]
        self.mean_exec_s = sum(o.exec_s for o in every) / len(every)
        self.mean_energy_j = sum(o.cost_j for o in every) / len(every)
        self.max_energy_j = max(o.energy_j for o in every)
        policy, self.scale = self.manager.policy, 1.0
        self.value = None if policy.objective is None else compiled(policy.objective).ctypes
        if policy.is_weighted:
            assert policy.objective is not None
            most = np.float64(self.work.scale.max())
            with np.errstate(all="ignore"):
                norm = {
                    UTILITY: most,
                    UTILITY_PER_TIME: most / min(o.exec_s for o in every),
                    UTILITY_PER_ENERGY: most / min(o.energy_j for o in every),
                }[policy.objective]
                self.scale = float((1 - self.manager.weight) / norm)

    def _threshold(self, task: int) -> float:
        """The least utility for which the task is kept: of its classes the smallest, or the common one."""
        options = [option for option in self.everywhere[self.task_type[task]] if option.pstate == 0]
        fastest = min(options, key=lambda option: (option.exec_s, option.kind))
        groups = {self.system.machine_group[fastest.kind]}
        levels = {tag.names[tag.codes[task]] for tag in self.work.tags.values()}
        own = [limit for name, limit in self.manager.class_thresholds.items() if name in groups | levels]
        return min(own, default=self.manager.dropping_threshold)

    def utility(self, task: int, completion_s: float) -> float:
        return serial.utility_of(task, completion_s, self.utilities)

    # The course of events

    def run(self) -> Plan:
        """All mapping events up to the window's end or until nothing is open, and what they fixed."""
        clock = Clock(self.world, self.manager)
        now_s = clock.first_s()
        for _ in range(TOO_MANY_EVENTS):
            if now_s > self.work.end_s or now_s == math.inf or self.is_over():
                break
            effect_s = self.event(now_s)
            now_s = clock.next_s(self.n_arrived, effect_s)
        else:
            raise AssertionError("the window has no end, and some task never runs")
        self.advance(now_s)
        return self.plan()

    def is_over(self) -> bool:
        """Whether every task is dropped or has a machine that will not fail it."""
        fails = any(run.fails_s < math.inf for runs in self.runs for run in runs)
        open_tasks = [i for i in range(self.work.n_tasks) if not (self.is_dropped[i] or self.is_fixed[i])]
        return not fails and not open_tasks

    def event(self, now_s: float) -> float:
        """One mapping event; returns the instant at which its decisions take effect."""
        n_before = self.n_arrived
        while self.n_arrived < self.work.n_tasks and self.arrival_s[self.n_arrived] <= now_s:
            self.n_arrived += 1
        self.advance(now_s)
        self.notice_failures(now_s)
        self.now_s = now_s
        effect_s = now_s + self.mapping_s(len(self.mappable()))
        self.advance(effect_s)
        for queue in self.queues:
            queue.clear()
        self.n_events += bool(self.mappable())
        ready_s = [self.ready_s(m, effect_s) for m in self.machines]
        base_s = [self.base_s(m, now_s, effect_s) for m in self.machines]
        self.drop(base_s, now_s)
        event = self.open_event(now_s, effect_s, ready_s, base_s)
        rules = {
            "greedy": self.map_greedily,
            "sufferage": self.map_by_sufferage,
            "in-order": self.map_in_order,
            "at-random": self.map_at_random,
        }
        rules[self.manager.policy.rule](event)
        for m in self.machines:
            self.permute(m, base_s[m])
        if self.manager.postponing == "next-day":
            self.postpone(event)
        if self.manager.preempts:
            self.advance(now_s)
            for task in [task for task in self.mappable() if task >= n_before]:
                self.preempt(task, now_s)
        return effect_s

    def mappable(self) -> list[int]:
        """Tasks that have arrived and are neither dropped nor fixed nor postponed."""
        return [
            i for i in range(self.n_arrived)
            if not (self.is_dropped[i] or self.is_fixed[i]) and self.back_s[i] <= self.now_s
        ]  # fmt: skip

    def mapping_s(self, n: int) -> float:
        constant_s, per_task_s, per_square_s = self.manager.mapping_model
        given_s = constant_s + per_task_s * n + per_square_s * n * n
        return given_s if self.manager.mapping_time == "given" else 0.0

    # The truth: machines at work

    def advance(self, at_s: float) -> None:
        """Fix, on each machine, every task that starts by then, and one more."""
        for m in self.machines:
            while self.queues[m] and (not self.runs[m] or self.runs[m][-1].start_s <= at_s):
                head = self.queues[m].pop(0)
                self.runs[m].append(self.real_run(m, head))
                self.is_fixed[head.task] = True

    def real_run(self, m: int, head: Planned) -> Run:
        option = self.option_on(m, head)
        limit, stretch = self.manager.kill_factor, float(self.stretch[head.task])
        start_s = max(head.release_s, self.runs[m][-1].end_s if self.runs[m] else -math.inf)
        end_s, fails_s = start_s + min(stretch, limit) * option.exec_s, math.inf
        for from_s, to_s in self.outages(m):
            if fails_s == math.inf and from_s < end_s and to_s > start_s and start_s < math.inf:
                fails_s, end_s = from_s, math.inf
                start_s = start_s if start_s < from_s else math.inf
        return Run(
            head.task, m, head.pstate, head.release_s, option.exec_s, option.cost_w, head.boot_j,
            start_s, end_s, stretch > limit, fails_s,
        )  # fmt: skip

    def option_on(self, m: int, planned: Planned) -> Option:
        options = self.everywhere[self.task_type[planned.task]]
        return next(o for o in options if (o.kind, o.pstate) == (self.kinds[m], planned.pstate))

    def outages(self, m: int) -> list[tuple[float, float]]:
        outages = self.world.outages
        mine = outages.machine == m
        return list(zip(outages.start_s[mine].tolist(), outages.end_s[mine].tolist(), strict=True))

    def notice_failures(self, now_s: float) -> None:
        """The run that a failure up to now hit, and all behind it on that machine, are to be mapped again."""
        for m in self.machines:
            hit = next((n for n, run in enumerate(self.runs[m]) if run.fails_s <= now_s), None)
            if hit is not None:
                self.note_lost(self.runs[m][hit])
                for run in self.runs[m][hit:]:
                    self.is_fixed[run.task] = False
                del self.runs[m][hit:]
                self.queues[m].clear()

    def note_lost(self, run: Run) -> None:
        if run.start_s < math.inf:
            lost = Broken(run.task, run.machine, run.pstate, run.start_s, run.fails_s)
            self.lost.append((lost, Use(run.start_s, run.fails_s, run.cost_w, run.boot_j)))

    def plan(self) -> Plan:
        plan = serial.nothing_decided(self.work.n_tasks)
        plan.status[self.is_dropped] = Status.DROPPED
        for run in itertools.chain.from_iterable(self.runs):
            if run.fails_s < math.inf:
                self.note_lost(run)
            elif run.start_s < math.inf:
                plan.machine[run.task], plan.pstate[run.task] = run.machine, run.pstate
                plan.start_s[run.task], plan.end_s[run.task] = run.start_s, run.end_s
                plan.status[run.task] = Status.KILLED if run.is_killed else Status.RAN
        lost = sorted((lost for lost, _ in self.lost), key=lambda lost: (lost.end_s, lost.machine))
        return Plan(*plan, lost, sorted(self.pieces, key=lambda piece: (piece.end_s, piece.machine)))

    # What the manager believes

    def believed(self, m: int, at_s: float) -> list[Use]:
        """The runs of a machine as they look at this instant: nobody knows when a running one really ends."""
        uses: list[Use] = []
        for run in self.runs[m]:
            if run.end_s <= at_s:
                start_s, end_s = run.start_s, run.end_s
            elif run.start_s <= at_s:
                start_s, end_s = run.start_s, max(at_s, run.start_s + run.exec_s)
            else:
                start_s = max(run.release_s, uses[-1].end_s if uses else -math.inf)
                end_s = start_s + run.exec_s
            uses.append(Use(start_s, end_s, run.cost_w, run.boot_j))
        return uses

    def all_believed(self, at_s: float) -> list[Use]:
        return [use for m in self.machines for use in self.believed(m, at_s)] + [use for _, use in self.lost]

    def ready_s(self, m: int, at_s: float) -> float:
        """When the machine is done with what is fixed on it; -inf when it never had anything."""
        ends_s = [use.end_s for use in self.believed(m, at_s)] + [
            lost.end_s for lost, _ in self.lost if lost.machine == m
        ]
        return max(ends_s, default=-math.inf)

    def is_asleep(self, m: int, at_s: float) -> bool:
        if self.system.standby is None:
            return False
        repairs_s = [to_s for _, to_s in self.outages(m) if to_s <= at_s]
        since_s = max(self.ready_s(m, at_s), max(repairs_s, default=0.0))
        return since_s + float(self.system.standby.sleep_after_s[self.kinds[m]]) < at_s

    def is_down(self, m: int, now_s: float) -> bool:
        return any(from_s <= now_s < to_s for from_s, to_s in self.outages(m))

    def base_s(self, m: int, now_s: float, effect_s: float) -> float:
        """When a task that is given to the machine at this event could start there."""
        if self.is_down(m, now_s):
            return math.inf
        boot_s = self.boot_s[self.kinds[m]] if self.is_asleep(m, effect_s) else 0.0
        return max(effect_s, self.ready_s(m, effect_s)) + boot_s

    # Dropping

    def drop(self, base_s: list[float], now_s: float) -> None:
        """Drop for ever who could not earn enough even as the next one on any machine that is up, or on any idle one.

        Whoever has no such machine at all keeps its hope.
        """
        by_idle = self.manager.dropping_by == "idle"
        judged = [m for m in self.machines if base_s[m] < math.inf and (self.takes_tasks(m, now_s) or not by_idle)]
        self.strictness = self.load() if self.manager.follows_load else 1.0
        for task in self.mappable():
            utilities = [
                serial.worth_once_risen(task, base_s[m] + option.exec_s, self.utilities)
                for option in self.everywhere[self.task_type[task]]
                for m in judged
                if self.kinds[m] == option.kind
            ]
            if self.is_too_little(task, max(utilities, default=math.inf)):
                self.is_dropped[task] = True

    def is_too_little(self, task: int, most: float) -> bool:
        return most < self.thresholds[task] * self.strictness

    def load(self) -> float:
        """The mean execution times, in P-state 0, of all that waits, over an hour of all machines."""
        waiting = Counter(self.task_type[task] for task in self.mappable())
        return sum(waiting[t] * (self.mean_s(t) / (len(self.machines) * HOUR_S)) for t in sorted(waiting))

    def mean_s(self, task_type: int) -> float:
        times_s: list[float] = [s for s in self.system.etc_s[task_type, :, 0].tolist() if s < math.inf]
        return sum(times_s) / len(times_s)

    # Postponing

    def postpone(self, event: Event) -> None:
        """Whoever is not planned and no longer fits into the day, behind what is planned, is out until it ends."""
        planned = {head.task for queue in self.queues for head in queue}
        for task in self.mappable():
            if task not in planned and not any(self.fits_day(event, c) for c in self.by_type(event, task)):
                self.back_s[task] = event.today.end_s

    # Suspending

    def preempt(self, task: int, now_s: float) -> None:
        """Let a task that has just come take the machine of a running one where that earns more."""
        fastest = min(self.options[self.task_type[task]], key=lambda option: (option.exec_s, option.rank))
        start_s = now_s + self.manager.checkpoint_s
        end_s = start_s + fastest.exec_s
        victims = [run for run in self.running(now_s) if self.kinds[run.machine] == fastest.kind]
        victims = [run for run in victims if run.end_s > start_s and self.is_whole(run.task)]
        if not victims:
            return
        victim = min(victims, key=lambda run: (self.worth_a_second(run, now_s), -run.task))
        rest_s = victim.exec_s - (now_s - victim.start_s) + self.manager.restart_s
        free_s = {m: max(start_s, at_s) for m, at_s in self.free_from(now_s, fastest.kind).items()}
        free_s[victim.machine] = end_s
        again = min(free_s, key=lambda m: (free_s[m], m))
        gain = self.utility(task, end_s) - self.utility_if_it_waits(task, now_s)
        loss = self.utility(victim.task, victim.end_s) - self.utility(victim.task, free_s[again] + rest_s)
        if self.is_too_little(task, serial.worth_once_risen(task, end_s, self.utilities)):
            return
        if gain > 0 and gain > loss:
            self.suspend(victim, start_s)
            self.hold(task, victim.machine, fastest.pstate, start_s, fastest)
            whole = self.option_on(again, Planned(victim.task, victim.pstate, 0.0, 0.0))
            self.hold(victim.task, again, victim.pstate, free_s[again], whole._replace(exec_s=rest_s))

    def running(self, now_s: float) -> list[Run]:
        """The runs that began before now and have nothing behind them on their machines."""
        return [runs[-1] for runs in self.runs if runs and runs[-1].start_s < now_s]

    def is_whole(self, task: int) -> bool:
        return all(piece.task != task for piece in self.pieces)

    def worth_a_second(self, run: Run, now_s: float) -> float:
        return self.utility(run.task, run.end_s) / (run.end_s - now_s)

    def free_from(self, now_s: float, kind: int) -> dict[int, float]:
        """When each machine of a type is done with what it has."""
        mine = [m for m in self.machines if self.kinds[m] == kind]
        return {m: max([now_s, *(run.end_s for run in self.runs[m])]) for m in mine}

    def utility_if_it_waits(self, task: int, now_s: float) -> float:
        options = self.options[self.task_type[task]]
        return max(self.utility(task, min(self.free_from(now_s, o.kind).values()) + o.exec_s) for o in options)

    def suspend(self, run: Run, at_s: float) -> None:
        self.runs[run.machine].remove(run)
        self.pieces.append(Broken(run.task, run.machine, run.pstate, run.start_s, at_s))

    def hold(self, task: int, m: int, pstate: int, start_s: float, option: Option) -> None:
        end_s = start_s + option.exec_s
        run = Run(task, m, pstate, start_s, option.exec_s, option.cost_w, 0.0, start_s, end_s, is_killed=False)
        self.runs[m].append(run)
        self.is_fixed[task] = True

    # Limits

    def open_event(self, now_s: float, effect_s: float, ready_s: list[float], base_s: list[float]) -> Event:
        today, tomorrow = self.today(effect_s), self.today(effect_s, 1)
        there = [m for m in self.machines if base_s[m] < math.inf and self.takes_tasks(m, now_s)]
        prices = [0.0] * (self.system.n_machine_types + 1)
        if self.prices is not None and self.mappable():
            prices = self.prices[self.n_events - 1].tolist()
        quota = None
        if self.quotas is not None and self.mappable():
            quota = self.quotas[self.n_events - 1].copy()
            self.check_quota(quota)
        return Event(
            number=self.n_events,
            effect_s=effect_s,
            today=today,
            limit_j=self.filter_limit_j(today, effect_s, ready_s),
            factor=self.tariff_factor(effect_s),
            prices=prices,
            quota=quota,
            left_j=today.budget_j - today.used_j,
            left_tomorrow_j=self.tomorrow_budget_j(effect_s) - tomorrow.used_j,
            free_s={m: base_s[m] for m in there},
            boot_j={m: self.boot_j[self.kinds[m]] for m in there if self.is_asleep(m, effect_s)},
            uses=self.all_believed(effect_s),
        )

    def check_quota(self, quota: Array) -> None:
        """All tasks of a type that wait have a place, or none of them has."""
        n_waiting = Counter(self.task_type[task] for task in self.mappable())
        for t, n in enumerate(quota.sum(axis=(1, 2)).tolist()):
            assert n in (0, n_waiting[t])

    def takes_tasks(self, m: int, now_s: float) -> bool:
        """Whether the machine takes tasks at all: in the polled environment only one that is idle now."""
        is_idle = all(run.end_s <= now_s for run in self.runs[m])
        return self.manager.environment == "queued" or is_idle

    def today(self, at_s: float, later: int = 0) -> Today:
        """The day that holds an instant, or one so many days later, as it looks then."""
        supply, start_s = self.supply, self.work.start_s
        if supply.budget_j == math.inf:
            return Today(math.inf, math.inf, 0.0, math.inf)
        d = self.day_of(at_s) + later
        from_s, to_s = start_s + d * supply.day_s, start_s + (d + 1) * supply.day_s
        length_s = to_s - max(from_s, 0.0)
        uses = self.all_believed(at_s)
        n_days = math.ceil((self.work.end_s - start_s) / supply.day_s) if supply.is_total else 1
        if supply.is_total and d >= 0:
            before_j = used_between_j(uses, start_s, from_s) + self.reserve_w * (from_s - start_s)
            share_j = (supply.budget_j - before_j) / max(n_days - d, 1)
        else:
            share_j = (supply.budget_j / n_days) * length_s / supply.day_s
        budget_j = share_j - self.reserve_w * length_s
        return Today(to_s, budget_j, used_between_j(uses, from_s, to_s), length_s)

    def tomorrow_budget_j(self, at_s: float) -> float:
        """What the next day may use if today uses all it may; after the last day of a total there is no limit."""
        d, today, tomorrow = self.day_of(at_s), self.today(at_s), self.today(at_s, 1)
        if not self.supply.is_total or d < 0:
            return tomorrow.budget_j
        n_left = math.ceil((self.work.end_s - self.work.start_s) / self.supply.day_s) - d - 1
        unused_j = max(max(today.budget_j, 0.0) - today.used_j, 0.0)
        return tomorrow.budget_j - unused_j / n_left if n_left > 0 else math.inf

    def day_of(self, at_s: float) -> int:
        """The number of the day that holds an instant: 0 starts with the counted window."""
        start_s, day_s = self.work.start_s, self.supply.day_s
        d = math.floor((at_s - start_s) / day_s)
        while start_s + d * day_s > at_s:
            d -= 1
        while start_s + (d + 1) * day_s <= at_s:
            d += 1
        return d

    def filter_limit_j(self, today: Today, effect_s: float, ready_s: list[float]) -> float:
        """What an option may not reach in energy; inf when nothing is filtered."""
        if self.manager.energy_filter == "none" or today.budget_j == math.inf:
            return math.inf
        left_j = today.budget_j - today.used_j
        left_s = sum(max(0.0, today.end_s - max(effect_s, ready_s[m])) for m in self.machines)
        if left_s <= 0 or left_j <= 0:
            return math.inf
        if self.manager.energy_filter == "fair-share":
            return self.manager.leniency * left_j / (left_s / self.mean_exec_s)
        all_s = len(self.machines) * today.length_s
        if today.used_j <= 0 or all_s - left_s <= 0:
            return math.inf
        energies = math.inf if self.mean_energy_j == 0 else left_j / self.mean_energy_j
        n_tasks = min(left_s / self.mean_exec_s, energies)
        ahead = (today.budget_j / all_s) / (today.used_j / (all_s - left_s))
        return ahead * left_j / n_tasks

    def tariff_factor(self, at_s: float) -> float:
        tariff = self.supply.tariff
        if tariff is None or not self.manager.follows_tariff:
            return 1.0
        mean = float(tariff.sum()) / tariff.size
        return float(tariff[math.floor(at_s / HOUR_S) % tariff.size]) / mean

    def fits_under_cap(self, start_s: float, end_s: float, cost_w: float, uses: list[Use]) -> bool:
        """Whether the power stays under the cap at every instant of a new run."""
        cap_w = self.supply.cap_w
        if cap_w is None:
            return True
        hours_s = [hour * HOUR_S for hour in range(math.floor(start_s / HOUR_S), math.floor(end_s / HOUR_S) + 1)]
        changes_s = [at_s for use in uses for at_s in (use.start_s, use.end_s)] + hours_s
        for at_s in [start_s, *(at_s for at_s in changes_s if start_s < at_s < end_s)]:
            others_w = sum(use.cost_w for use in uses if use.start_s <= at_s < use.end_s)
            limit_w = float(cap_w[math.floor(at_s / HOUR_S) % cap_w.size]) - self.reserve_w
            if others_w + cost_w > limit_w:
                return False
        return True

    # Choices

    def choice(self, event: Event, task: int, m: int, option: Option) -> Choice:
        start_s = event.free_s[m]
        completion_s = start_s + option.exec_s
        value = self.worth(event, task, option, start_s, completion_s)
        return Choice(task, m, option, start_s, completion_s, event.boot_j.get(m, 0.0), value)

    def worth(self, event: Event, task: int, option: Option, start_s: float, completion_s: float) -> float:
        if self.value is None:
            return 0.0
        utility, wait_s = self.utility(task, completion_s), start_s - self.arrival_s[task]
        objective = self.manager.policy.objective
        if objective is not None and objective.urgency > 0:
            utility -= objective.urgency * self.utility(task, completion_s + option.exec_s)
        earned = self.value(utility, completion_s, option.exec_s, option.energy_j, wait_s)
        charge = 0.0
        if self.manager.policy.is_weighted:
            with np.errstate(all="ignore"):
                share = np.float64(self.manager.weight * option.energy_j) / self.max_energy_j
            charge = float(share) * event.factor
        elif self.manager.policy.is_priced:
            used_j = option.energy_j if self.manager.policy.program is None else option.cost_j
            charge = event.prices[option.kind] * option.exec_s + event.prices[-1] * used_j * event.factor
        value = self.scale * earned - charge
        return -math.inf if math.isnan(value) else value

    def is_allowed(self, event: Event, choice: Choice) -> bool:
        option = choice.option
        is_worthwhile = self.value is None or choice.value > 0 or not self.manager.only_worthwhile
        place = self.task_type[choice.task], option.kind, option.pstate
        since_s = choice.completion_s - self.arrival_s[choice.task]
        return (
            is_worthwhile
            and not (self.manager.policy.is_patient and since_s < self.utilities.rise_s[choice.task])
            and (event.quota is None or event.quota[place] > 0)
            and self.fits_day(event, choice)
            and option.cost_j * event.factor < event.limit_j
            and self.fits_under_cap(choice.start_s, choice.completion_s, option.cost_w, event.uses)
        )

    def fits_day(self, event: Event, choice: Choice) -> bool:
        """Whether a run starts today, within what is left of today's budget and of tomorrow's."""
        return (
            choice.start_s < event.today.end_s
            and choice.option.cost_j + choice.boot_j <= event.left_j
            and self.fits_tomorrow(event, choice)
        )

    def fits_tomorrow(self, event: Event, choice: Choice) -> bool:
        """Whether tomorrow's budget has room for the part of a run that lies after the day's end."""
        after_s = self.after_today_s(event, choice)
        return after_s == 0 or choice.option.cost_w * after_s <= event.left_tomorrow_j

    @staticmethod
    def after_today_s(event: Event, choice: Choice) -> float:
        """How much of a run lies after the day's end; a run that ends by then asks nothing of tomorrow."""
        return max(choice.completion_s - event.today.end_s, 0.0)

    def allowed_by_type(self, event: Event, task: int) -> list[Choice]:
        """The allowed choices on the machine of each type that is free first."""
        return [choice for choice in self.by_type(event, task) if self.is_allowed(event, choice)]

    def by_type(self, event: Event, task: int, without: int = NOBODY) -> list[Choice]:
        """All choices on the machine of each type that is free first, as if one machine were not there."""
        choices = []
        for option in self.options[self.task_type[task]]:
            mine = [m for m in event.free_s if self.kinds[m] == option.kind and m != without]
            if mine:
                first = min(mine, key=lambda m: (event.free_s[m], m))
                choices.append(self.choice(event, task, first, option))
        return choices

    def allowed_by_machine(self, event: Event, task: int) -> list[Choice]:
        """The allowed choices on every machine, by machine and P-state."""
        choices = [
            self.choice(event, task, m, option)
            for m in sorted(event.free_s)
            for option in self.options[self.task_type[task]]
            if option.kind == self.kinds[m]
        ]
        return [choice for choice in choices if self.is_allowed(event, choice)]

    def take(self, event: Event, choice: Choice) -> None:
        """Put the task last in the machine's queue, and count what it uses."""
        m, option = choice.machine, choice.option
        boot_s = self.boot_s[self.kinds[m]] if m in event.boot_j else 0.0
        boot_j = event.boot_j.pop(m, 0.0)
        self.queues[m].append(Planned(choice.task, option.pstate, event.effect_s + boot_s, boot_j))
        if event.quota is not None:
            event.quota[self.task_type[choice.task], option.kind, option.pstate] -= 1
        after_j = option.cost_w * self.after_today_s(event, choice)
        event.left_j -= option.cost_j + boot_j - after_j
        event.left_tomorrow_j -= after_j
        event.uses.append(Use(choice.start_s, choice.completion_s, option.cost_w, boot_j))
        event.free_s[m] = choice.completion_s
        if self.manager.environment == "polled":
            del event.free_s[m]

    # The four rules

    def map_greedily(self, event: Event) -> None:
        """The best allowed choice of each task, the best of these, again and again."""
        tasks = self.mappable()
        while True:
            best = self.best_choices(event, tasks)
            if not best:
                return
            chosen = min(best, key=lambda c: (-c.value, c.completion_s, c.task))
            tasks.remove(chosen.task)
            self.take(event, chosen)

    def map_by_sufferage(self, event: Event) -> None:
        """Pass after pass all ask for their best machine, and each machine takes whoever would lose most without it.

        Machines take in their order; one whose task the others have left too little energy or power takes nobody.
        """
        tasks = self.mappable()
        while asking := [(choice, self.sufferage(event, choice)) for choice in self.best_choices(event, tasks)]:
            for m in sorted({choice.machine for choice, _ in asking}):
                mine = [(choice, loses) for choice, loses in asking if choice.machine == m]
                chosen, _ = min(mine, key=lambda c: (-c[1], -c[0].value, c[0].completion_s, c[0].task))
                if self.is_allowed(event, chosen):
                    tasks.remove(chosen.task)
                    self.take(event, chosen)

    def best_choices(self, event: Event, tasks: list[int]) -> list[Choice]:
        """The best allowed choice of each task that has one."""
        allowed = [self.allowed_by_type(event, task) for task in tasks]
        return [min(choices, key=lambda c: (-c.value, c.completion_s, c.option.rank)) for choices in allowed if choices]

    def sufferage(self, event: Event, best: Choice) -> float:
        """What a task would lose with its best allowed choice on any other machine; all of it where there is none."""
        others = self.by_type(event, best.task, without=best.machine)
        return best.value - max((c.value for c in others if self.is_allowed(event, c)), default=0.0)

    def map_in_order(self, event: Event) -> None:
        """Task by task; each goes to the machine that is free first."""
        order = self.manager.policy.order
        assert order is not None

        def place(task: int) -> tuple[float, int]:
            priority = float(self.work.scale[task]) if order.by_priority else 0.0
            return -priority, -task if order.newest_first else task

        for task in sorted(self.mappable(), key=place):
            choices = self.allowed_by_type(event, task)
            if choices:
                self.take(event, min(choices, key=lambda c: (c.start_s, c.option.rank)))

    def map_at_random(self, event: Event) -> None:
        """Tasks in random order, each on one of its allowed machines and P-states at random."""

        def key(task: int) -> tuple[float, int]:
            return -draw(self.seed64, event.number, task, 0), task

        for task in sorted(self.mappable(), key=key):
            choices = self.allowed_by_machine(event, task)
            if choices:
                u = draw(self.seed64, event.number, task, 1)
                self.take(event, choices[math.floor(u * len(choices))])

    # Permuting

    def permute(self, m: int, start_s: float) -> None:
        """Put the first tasks of the machine's queue into the order that earns most."""
        n = self.manager.permuted
        head, rest = self.queues[m][:n], self.queues[m][n:]
        if len(head) > 1:
            best = max(itertools.permutations(head), key=lambda order: self.total_utility(m, start_s, order))
            release_s, boot_j = head[0].release_s, head[0].boot_j
            first = best[0]._replace(release_s=release_s, boot_j=boot_j)
            later = [planned._replace(boot_j=0.0) for planned in best[1:]]
            self.queues[m] = [first, *later, *rest]

    def total_utility(self, m: int, start_s: float, order: Sequence[Planned]) -> float:
        total, at_s = 0.0, start_s
        for planned in order:
            at_s += self.option_on(m, planned).exec_s
            total += self.utility(planned.task, at_s)
        return total


def used_between_j(uses: list[Use], from_s: float, to_s: float) -> float:
    """The energy above idle that these runs use between two instants; a boot counts where its run starts."""
    used_j = 0.0
    for use in uses:
        used_j += use.cost_w * max(0.0, min(use.end_s, to_s) - max(use.start_s, from_s))
        used_j += use.boot_j if from_s <= use.start_s < to_s else 0.0
    return used_j
