"""The slow twin of the job loop: plain Python, everything looked at anew at every instant.

It knows all rules that look at one job after another, plans that fail, dependencies, outages, dropping and, but for
outages, named nodes; not energy and not preemption.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from joulewise.model.conditions import NO_JOB, Conditions
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.orders import WEIGHTS
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.twins.jobs.backfill import raised_end
from tests.twins.jobs.timetable import NamedNodes


class Commitment(NamedTuple):
    cluster: int
    nodes: int
    start_s: float
    end_s: float


@dataclass
class Run:
    """A job that has nodes: from its start to its planned end and, once it runs, its true end."""

    job: int
    option: int
    start_s: float
    planned_end_s: float
    end_s: float = math.nan


class Twin:
    """One simulation; `run` gives it."""

    def __init__(self, world: JobWorld, scheduler: Scheduler) -> None:
        self.world, self.scheduler, self.now_s = world, scheduler, -math.inf
        self.queue: list[int] = []
        self.held: list[Run] = []
        self.running: list[Run] = []
        self.done: dict[int, Run] = {}
        self.dropped: set[int] = set()
        self.broken: list[Run] = []
        self.failed: list[Commitment] = []
        self.named = [NamedNodes(int(n)) for n in world.clusters.n_nodes]
        self.n_events, self.is_stuck, self.is_close = 0, False, False
        conditions = world.jobs.conditions or Conditions.following(np.full(world.n_jobs, NO_JOB, np.int32))
        self.after, self.think_s = (column.tolist() for column in conditions.one_before(world.n_jobs))
        self.ready_s = self._first_ready()

    def _first_ready(self) -> dict[int, float]:
        jobs = self.world.jobs
        waits = [before >= 0 for before in self.after]
        return {i: float(s) for i, (s, w) in enumerate(zip(jobs.work.arrival_s, waits, strict=True)) if not w}

    @property
    def lost(self) -> list[tuple[int, float, float]]:
        """Stretches that failures have ended: job, start and end."""
        return [(run.job, run.start_s, run.end_s) for run in self.broken]

    # What the scheduler goes by

    def options(self, i: int) -> list[int]:
        """The options that it looks at: of the first P-state alone, unless the policy looks at all."""
        types, t = self.world.types, int(self.world.jobs.work.task_type[i])
        rows = range(types.first[t], types.first[t + 1])
        if self.scheduler.policy.all_pstates:
            return list(rows)
        best = {int(types.cluster[o]): min(types.pstate[p] for p in rows if types.cluster[p] == types.cluster[o])
                for o in rows}  # fmt: skip
        return [o for o in rows if types.pstate[o] == best[int(types.cluster[o])]]

    def planned_s(self, o: int) -> float:
        """What a job is planned to take before it starts: nothing less than it takes, if the scheduler is told."""
        planned_s = float(self.world.types.planned_s[o])
        return max(planned_s, self.true_s(o)) if self.scheduler.overrun == "raise" else planned_s

    def planned_end_s(self, run: Run, at_s: float) -> float:
        """When a job is planned to end, as is known at an instant: its plan is raised by steps, up to its limit."""
        limit_s = run.start_s + float(self.world.types.allowed_s[run.option])
        return raised_end(run.planned_end_s, limit_s, at_s) if self.raises else run.planned_end_s

    @property
    def raises(self) -> bool:
        return self.scheduler.overrun in ("steps", "kill")

    def true_s(self, o: int) -> float:
        types = self.world.types
        killed = self.scheduler.overrun == "kill"
        return float(min(types.allowed_s[o], types.time_s[o]) if killed else types.time_s[o])

    def fastest(self, i: int) -> int:
        return min(self.options(i), key=lambda o: (self.planned_s(o), o))

    # The timetable

    def commitments(self) -> Iterator[Commitment]:
        types, outages = self.world.types, self.world.outages
        for run in [*self.running, *self.held]:
            end_s = max(self.planned_end_s(run, self.now_s), math.nextafter(self.now_s, math.inf))
            yield Commitment(int(types.cluster[run.option]), int(types.nodes[run.option]), run.start_s, end_s)
        for k in range(outages.n_outages):
            if outages.is_planned[k]:
                yield Commitment(
                    int(outages.cluster[k]), int(outages.nodes[k]), float(outages.start_s[k]), float(outages.end_s[k])
                )
        yield from self.failed

    def start_of(self, o: int) -> float:
        """The earliest start of an option from now on."""
        types = self.world.types
        cluster = int(types.cluster[o])
        if self.scheduler.nodes == "pinned":
            return self.named[cluster].first_fit(int(types.nodes[o]), self.planned_s(o), self.now_s)
        taken = [c for c in self.commitments() if c.cluster == cluster and c.end_s > self.now_s]
        for start_s in sorted({self.now_s, *(c.end_s for c in taken)}):
            end_s = start_s + self.planned_s(o)
            edges = {start_s, *(c.start_s for c in taken if start_s < c.start_s < end_s)}
            used = max(sum(c.nodes for c in taken if c.start_s <= at < c.end_s) for at in edges)
            if used + types.nodes[o] <= self.world.clusters.n_nodes[cluster]:
                return start_s
        return math.inf

    def pin(self, run: Run) -> None:
        if self.scheduler.nodes == "pinned":
            types = self.world.types
            nodes = int(types.nodes[run.option])
            chosen = self.named[types.cluster[run.option]].pin(run.job, nodes, run.start_s, run.planned_end_s)
            assert len(chosen) == nodes

    def unpin(self, run: Run, from_s: float) -> None:
        self.named[self.world.types.cluster[run.option]].unpin(run.job, from_s)

    # Steps of an instant

    def run(self) -> Twin:
        """Let everything happen."""
        while (now_s := self.next_instant()) < self.world.jobs.work.end_s:
            before_s, self.now_s = self.now_s, now_s
            freed = self.end_jobs(before_s)
            raised = self.raises and any(self.planned_end_s(run, before_s) <= now_s for run in self.running)
            failed = self.fail()
            if failed or raised or (freed and self.is_permanent):
                self.renew_held(from_scratch=failed or raised)
            self.start_held()
            self.admit()
            if self.queue and self.is_time_to_map():
                self.map()
            else:
                self.is_stuck = False
        return self

    @property
    def is_permanent(self) -> bool:
        types = self.world.types
        is_unaware = self.scheduler.overrun == "unaware" and bool((types.time_s > types.planned_s).any())
        return self.scheduler.holds_until_start and not is_unaware

    def next_instant(self) -> float:
        outages = self.world.outages
        instants = [run.end_s for run in self.running] + [run.start_s for run in self.held]
        instants += [s for i, s in self.ready_s.items() if s > self.now_s]
        instants += [float(s) for s in outages.end_s if s > self.now_s]
        instants += [
            float(s)
            for s, planned in zip(outages.start_s, outages.is_planned, strict=True)
            if s > self.now_s and not planned
        ]
        if (self.queue or self.held) and self.raises:
            instants += [self.planned_end_s(run, self.now_s) for run in self.running]
        instants = [s for s in instants if math.isfinite(s)]
        if self.queue and math.isfinite(self.scheduler.mapping_interval_s) and (instants or not self.is_stuck):
            instants.append((math.floor(self.now_s / self.scheduler.mapping_interval_s) + 1)
                            * self.scheduler.mapping_interval_s)  # fmt: skip
        return min(instants, default=math.inf)

    def is_time_to_map(self) -> bool:
        interval_s = self.scheduler.mapping_interval_s
        return not math.isfinite(interval_s) or self.now_s % interval_s == 0

    def end_jobs(self, before_s: float) -> bool:
        """Whether any ended before what was planned until now."""
        ended = [run for run in self.running if run.end_s <= self.now_s]
        self.running = [run for run in self.running if run.end_s > self.now_s]
        self.done |= {run.job: run for run in ended}
        for run in ended:
            self.unpin(run, self.now_s)
        for i in range(self.world.n_jobs):
            if any(self.after[i] == run.job for run in ended):
                self.ready_s[i] = max(float(self.world.jobs.work.arrival_s[i]), self.now_s + self.think_s[i])
        return any(self.planned_end_s(run, before_s) > self.now_s for run in ended)

    def fail(self) -> bool:
        """Nodes fail: a stretch of those of running jobs by their start, then of the idle, from a place by lot on."""
        outages, types, has_failed = self.world.outages, self.world.types, False
        for k in sorted(range(outages.n_outages), key=lambda k: float(outages.start_s[k])):
            if outages.is_planned[k] or outages.start_s[k] != self.now_s:
                continue
            has_failed, cluster = True, int(outages.cluster[k])
            out = [c for c in self.failed if c.cluster == cluster and c.end_s > self.now_s]
            out += [
                Commitment(cluster, int(outages.nodes[m]), 0.0, 0.0)
                for m in range(outages.n_outages)
                if outages.is_planned[m] and outages.cluster[m] == cluster
                and outages.start_s[m] <= self.now_s < outages.end_s[m]
            ]  # fmt: skip
            left = max(int(self.world.clusters.n_nodes[cluster]) - sum(c.nodes for c in out), 0)
            n = min(int(outages.nodes[k]), left)
            on = sorted((run for run in self.running if types.cluster[run.option] == cluster),
                        key=lambda run: (run.start_s, run.job))  # fmt: skip
            row = [run.job for run in on for _ in range(types.nodes[run.option])]
            row += [-1] * max(left - len(row), 0)
            hit = {row[(int(outages.lot[k] * left) + step) % left] for step in range(n)}
            for run in on:
                if run.job in hit:
                    self.running.remove(run)
                    run.end_s = self.now_s
                    self.broken.append(run)
                    self.queue.append(run.job)
            self.failed.append(Commitment(cluster, n, self.now_s, float(outages.end_s[k])))
        return has_failed

    def renew_held(self, *, from_scratch: bool) -> None:
        held = self.held
        if from_scratch:
            self.held = []
        for run in held:
            if not from_scratch:
                self.held = [other for other in self.held if other is not run]
                self.unpin(run, run.start_s)
            start_s = self.start_of(run.option)
            if start_s < self.world.jobs.work.end_s:
                moved = Run(run.job, run.option, start_s, start_s + self.planned_s(run.option))
                self.held = [*self.held, moved]
                self.pin(moved)
            else:
                self.queue.append(run.job)
        self.held.sort(key=lambda run: [other.job for other in held].index(run.job))

    def start_held(self) -> None:
        for run in self.held:
            if run.start_s <= self.now_s:
                self.begin(run)
        self.held = [run for run in self.held if run.start_s > self.now_s]

    def begin(self, run: Run) -> None:
        run.end_s = run.start_s + self.true_s(run.option)
        self.running.append(run)

    def admit(self) -> None:
        coming = [i for i, s in self.ready_s.items() if s == self.now_s and i not in self.done]
        self.queue += [i for i in coming if self.options(i)]

    # Mapping

    def sequence(self) -> list[int]:
        by_arrival = sorted(self.queue, key=lambda i: (self.ready_s[i], i))
        if self.scheduler.policy.rule == "in-queues":
            return self.in_turn(by_arrival)
        order = self.scheduler.order
        if order is None or order.priority is None:
            return by_arrival
        ranked = sorted(by_arrival, key=lambda i: -self.priority(order.priority, i))
        self.is_close |= any(self.are_close(order.priority, i, j) for i, j in pairwise(ranked))
        return ranked

    def are_close(self, priority: Any, i: int, j: int) -> bool:
        """Whether rounding alone may decide which of two jobs goes first: usages are sums of exponentials."""
        is_shared = self.scheduler.policy.is_weighted and {**WEIGHTS, **self.scheduler.weights}["fair_share"] != 0
        apart = abs(self.priority(priority, i) - self.priority(priority, j))
        return is_shared and apart < 1e-9 and self.standing_of(i) != self.standing_of(j)

    def standing_of(self, i: int) -> tuple[object, ...]:
        """All that priorities of a scheduler with weights differ by."""
        return self.user(i), self.ready_s[i], self.fastest(i), self.standing(i)

    def user(self, i: int) -> int:
        label = self.world.jobs.labels.get("user")
        return -1 if label is None else int(label.codes[i])

    def standing(self, i: int) -> float:
        label = self.world.jobs.labels.get("queue")
        return 0.0 if label is None else self.scheduler.standing.get(label.names[label.codes[i]], 0.0)

    def usage(self, i: int) -> float:
        """What the user of a job has used, decayed, as a multiple of what each has used on average."""
        users = {self.user(k) for k in range(self.world.n_jobs)} | set(range(self.n_known_users))
        used = dict.fromkeys(users, 0.0)
        for run in [*self.done.values(), *self.broken, *self.running]:
            used[self.user(run.job)] += self.used_by(run)
        return used[self.user(i)] / sum(used.values()) * len(users) if sum(used.values()) > 0 else 0.0

    @property
    def n_known_users(self) -> int:
        label = self.world.jobs.labels.get("user")
        return 0 if label is None else len(label.names)

    def used_by(self, run: Run) -> float:
        """The core-seconds of a run until now, each counting half after every half-life since."""
        types, per_s = self.world.types, math.log(2.0) / self.scheduler.half_life_s
        cores = int(types.nodes[run.option]) * int(self.world.clusters.cores_per_node[types.cluster[run.option]])
        since_s = [self.now_s - at_s for at_s in (min(run.end_s, self.now_s), run.start_s)]
        return cores * (math.exp(-per_s * since_s[0]) - math.exp(-per_s * since_s[1])) / per_s

    def priority(self, priority: Any, i: int) -> float:
        types, o = self.world.types, self.fastest(i)
        cluster, nodes = types.cluster[o], int(types.nodes[o])
        resources = self.planned_s(o) * nodes * int(self.world.clusters.cores_per_node[cluster])
        size = nodes / int(self.world.clusters.n_nodes[cluster])
        wait_s = self.now_s - self.ready_s[i]
        usage, standing = (self.usage(i), self.standing(i)) if self.scheduler.policy.is_weighted else (0.0, 0.0)
        return float(priority(wait_s, self.planned_s(o), float(nodes), size, resources, usage, standing))

    def in_turn(self, jobs: list[int]) -> list[int]:
        classes = [[i for i in jobs if self.size_class(i) == size] for size in range(3)]
        taken = []
        while any(classes):
            for size, n in enumerate(self.scheduler.per_cycle):
                taken += classes[size][:n]
                classes[size] = classes[size][n:]
        return taken

    def mean_resources(self, t: int) -> float:
        types = self.world.types
        rows = self.options(self.world.jobs.work.task_type.tolist().index(t)) if t in self.types_used else []
        cores = self.world.clusters.cores_per_node
        values = [self.planned_s(o) * int(types.nodes[o]) * int(cores[types.cluster[o]]) for o in rows]
        return sum(values) / len(values) if values else 0.0

    @property
    def types_used(self) -> set[int]:
        return set(self.world.jobs.work.task_type.tolist())

    def size_class(self, i: int) -> int:
        low, high = self.scheduler.queue_thresholds
        largest = max(self.mean_resources(t) for t in self.types_used)
        share = self.mean_resources(int(self.world.jobs.work.task_type[i])) / largest
        return 0 if share > high else 2 if share < low else 1

    def drop(self) -> None:
        work, threshold = self.world.jobs.work, self.scheduler.dropping_threshold
        for i in list(self.queue):
            best = float(work.utility(i, self.now_s + self.planned_s(self.fastest(i))))
            if threshold > 0 and best < threshold:
                self.queue.remove(i)
                self.dropped.add(i)

    def map(self) -> None:
        """One mapping event: place-holders vanish at its end, unless they are due before the next."""
        self.n_events += 1
        self.drop()
        kept = list(self.held)
        before = len(self.queue)
        self.look_at_all(len(kept) if self.is_permanent else 0)
        if not self.is_permanent:
            next_s = self.now_s + self.scheduler.mapping_interval_s
            until_s = next_s if math.isfinite(next_s) else self.now_s
            gone = [run for run in self.held if run not in kept and not run.start_s < until_s]
            self.held = [run for run in self.held if run not in gone]
            self.queue += [run.job for run in gone]
            for run in gone:
                self.unpin(run, run.start_s)
        is_endless = math.isinf(self.world.jobs.work.end_s)
        self.is_stuck = is_endless and before == len(self.queue) and not self.running and not self.held

    def look_at_all(self, n_ahead: int) -> None:
        n_most = self.scheduler.n_reservations
        for i in self.sequence():
            o, start_s = self.choice(i)
            may_wait = n_most < 0 or n_ahead < n_most
            if start_s > self.now_s and not may_wait:
                start_s = math.inf
            if start_s < self.world.jobs.work.end_s:
                self.queue.remove(i)
                run = Run(i, o, start_s, start_s + self.planned_s(o))
                self.pin(run)
                if start_s <= self.now_s:
                    self.begin(run)
                else:
                    self.held.append(run)
                    n_ahead += 1
            if start_s > self.now_s and not self.scheduler.policy.backfills:
                return

    def choice(self, i: int) -> tuple[int, float]:
        """The option that starts first, ties to the lowest or the fastest."""
        by_fastest = self.scheduler.cluster_ties == "fastest"
        starts = {o: self.start_of(o) for o in self.options(i)}
        o = min(starts, key=lambda o: (starts[o], self.planned_s(o) if by_fastest else 0.0, o))
        return o, starts[o]
