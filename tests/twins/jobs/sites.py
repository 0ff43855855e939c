"""The schedulers of a site in plain Python: everything is planned anew at every instant with news, by trial."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np

from joulewise.model.conditions import Kind
from joulewise.model.jobs import JobWorld
from joulewise.model.passes import Passes
from joulewise.model.site import ANY_NUMBER, Demands, Site
from tests.twins.jobs.site_power import PowerTwin

STARTED, NO_ROOM, PASSED_OVER = "started", "no room", "passed over"


class Stay(NamedTuple):
    """Pieces of a job at places for a time."""

    job: int
    at: dict[tuple[int, int], int]
    start_s: float
    end_s: float


def orders_of(parts: list[int]) -> Iterator[list[int]]:
    """The orders in which parts are tried: all of the last five."""
    yield from ([*parts[:-5], *last] for last in permutations(parts[-5:]))


@dataclass
class SiteTwin:
    """A site and the scheduler that works on it.

    `ahead` is for how many jobs of each partition nodes are held; `priority` gives the key of a job at an instant, and
    `worth`, of those that go by that, what a job is worth that starts then. With
    `passes` it goes through the waiting jobs as Slurm does, and places from `closed` groups are for others. A job runs
    in its `only` group, if that is not None. With classes of size jobs go in turn, so many `per_cycle`. What waits is
    looked at every `interval_s`, and jobs are dropped that would earn less than a `threshold`.
    """

    world: JobWorld
    planned_s: list[float]
    time_s: list[float]
    ahead: int
    backfills: bool
    passes: Passes | None = None
    priority: Callable[[int, float], float] | None = None
    worth: Callable[[int, float], float] | None = None
    power: PowerTwin | None = None
    now_s: float = -math.inf
    running: list[Stay] = field(default_factory=list)
    held: list[Stay] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    done: dict[int, Stay] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    ready_s: dict[int, float] = field(default_factory=dict)
    killed: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    coming: set[int] = field(default_factory=set)
    possible: set[int] = field(default_factory=set)
    again: dict[int, float] = field(default_factory=dict)
    began_s: dict[int, float] = field(default_factory=dict)
    submitted: set[int] = field(default_factory=set)
    admitted: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    lost: list[tuple[int, float, float, dict[tuple[int, int], int]]] = field(default_factory=list)
    whole_s: dict[int, tuple[float, float]] = field(default_factory=dict)
    suspended: list[int] = field(default_factory=list)
    left_s: dict[int, tuple[float, float]] = field(default_factory=dict)
    lent: set[int] = field(default_factory=set)
    kept_stretches: list[tuple[int, float, float, dict[tuple[int, int], int]]] = field(default_factory=list)
    patient_s: dict[int, float] = field(default_factory=dict)
    is_anew: bool = False
    away: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    only: dict[int, int | None] = field(default_factory=dict)
    size_class: list[int] | None = None
    per_cycle: tuple[int, int, int] = (1, 4, 8)
    interval_s: float = math.inf
    threshold: float = 0.0

    @property
    def site(self) -> Site:
        assert self.world.site is not None
        return self.world.site

    @property
    def demands(self) -> Demands:
        assert self.world.jobs.demands is not None
        return self.world.jobs.demands

    def places(self) -> list[tuple[int, int]]:
        """Each node by its group and number; all of a counted group are one."""
        counted = self.site.is_counted
        return [
            (g, n) for g in range(self.site.n_groups) for n in range(1 if counted[g] else int(self.site.n_nodes[g]))
        ]

    def class_of(self, job: int) -> int:
        return int(self.demands.of_job[job])

    def all_of(self, place: tuple[int, int]) -> list[int]:
        """What a place has when nothing runs: of a counted group its nodes."""
        group = place[0]
        if self.site.is_counted[group]:
            return [int(self.site.n_nodes[group])]
        return [int(value) for value in self.site.capacity[group]]

    def need(self, job: int, group: int) -> list[int]:
        if self.site.is_counted[group]:
            return [1]
        return [int(value) for value in self.demands.need[self.class_of(job), group]]

    def gives(self, job: int, group: int) -> int:
        k = self.class_of(job)
        if self.only.get(job) not in (None, group):
            return 0
        may = (self.demands.need[k, group] <= self.site.capacity[group]).all()
        return int(self.demands.gives[k, group]) if may else 0

    def free(self, place: tuple[int, int], at_s: float, now_s: float, is_plan: bool) -> list[int]:
        """What is free at an instant: in the plan jobs end as planned, those past it at once, and held is held."""
        left = self.all_of(place)
        stays = [stay for stay in self.running if not is_plan or max(stay.end_s, now_s) > at_s]
        stays += [stay for stay in self.held if is_plan and stay.start_s <= at_s < stay.end_s]
        for stay in stays:
            if place in stay.at:
                need = self.need(stay.job, place[0])
                if stay.job in self.lent:
                    given_up = self.site.is_given_up[place[0]]
                    need = [0 if is_given else part for part, is_given in zip(need, given_up, strict=True)]
                left = [have - stay.at[place] * part for have, part in zip(left, need, strict=True)]
        return left

    def units(self, job: int, place: tuple[int, int], at_s: float, now_s: float, is_start: bool) -> int:
        """How many units of a job fit at a place for as long as it is planned."""
        gives = self.gives(job, place[0])
        until_s = at_s + self.planned_s[job]
        if not gives or (is_start and place[0] in self.closed) or not self.is_open(job, place, at_s, until_s):
            return 0
        if self.passes is not None and any(
            place in stay.at and at_s < stay.end_s and stay.start_s <= until_s for stay in self.held
        ):
            return 0
        instants = {stay.start_s for stay in self.held if at_s <= stay.start_s < until_s and place in stay.at}
        views = [self.free(place, at, now_s, True) for at in instants]
        views.append(self.free(place, at_s, now_s, not is_start))
        most = ANY_NUMBER if self.site.is_counted[place[0]] else int(self.demands.most[self.class_of(job)])
        for view in views:
            for have, part in zip(view, self.need(job, place[0]), strict=True):
                if part > 0:
                    most = min(most, max(have, 0) // part)
        return most * gives

    def is_open(self, job: int, place: tuple[int, int], at_s: float, until_s: float) -> bool:
        """Whether a job may have a place for a time, with what is kept for it or for others."""
        kept, own = self.site.kept, self.kept_of(job)
        at_place = [
            int(of) for of, group, node in zip(kept.of, kept.group, kept.node, strict=True) if (group, node) == place
        ]
        others = [of for of in at_place if of != own and at_s < kept.end_s[of] and kept.start_s[of] < until_s]
        gone_s, back_s = self.away.get(place, (math.inf, math.inf))
        if at_s < back_s and gone_s < until_s:
            return False
        is_mine = own in at_place and kept.start_s[own] <= at_s and until_s <= kept.end_s[own]
        return not others and (own < 0 or is_mine)

    def kept_of(self, job: int) -> int:
        return int(self.demands.kept_of[self.class_of(job)])

    def queue_of(self, job: int) -> int:
        """The queue of a job: its partition's, or one of those for whom the same nodes are kept."""
        own = self.kept_of(job)
        return int(self.demands.partition[self.class_of(job)]) if own < 0 else -1 - own

    def may_still_start(self, job: int, now_s: float) -> bool:
        own = self.kept_of(job)
        return own < 0 or bool(now_s + self.planned_s[job] <= self.site.kept.end_s[own])

    def kept_instants(self, after_s: float) -> list[float]:
        kept = self.site.kept
        of = set(kept.of.tolist())
        at_s = {float(at_s[k]) for at_s in (kept.start_s, kept.end_s) for k in of}
        return sorted(each for each in at_s | {back_s for _, back_s in self.away.values()} if each > after_s)

    def site_changes(self, after_s: float) -> list[float]:
        """All that happens to the site after an instant, of which nobody need know."""
        at_s = [*self.site.failures.start_s.tolist(), *self.site.hours.at_s.tolist()]
        return self.kept_instants(after_s) + [each for each in at_s if each > after_s]

    def down(self, now_s: float) -> set[int]:
        """The partitions that start no jobs at this hour."""
        hours = self.site.hours
        is_up = {int(hours.partition[row]): bool(hours.is_up[row]) for row in np.flatnonzero(hours.at_s <= now_s)}
        return {partition for partition, up in is_up.items() if not up}

    def fail(self, now_s: float) -> None:
        """Nodes fail, and who runs there loses what it ran."""
        failures = self.site.failures
        for row in np.flatnonzero(failures.start_s == now_s):
            place = (int(failures.group[row]), int(failures.node[row]))
            self.away[place] = (now_s, float(failures.end_s[row]))
            for stay in [stay for stay in self.running if place in stay.at]:
                self.lose(stay, now_s)

    def lose(self, stay: Stay, now_s: float) -> None:
        """A job runs again, or ends badly."""
        job = stay.job
        whole_s = self.whole_s.setdefault(job, (self.time_s[job], self.planned_s[job]))
        self.cut.discard(job)
        self.running.remove(stay)
        if self.power is not None:
            self.power.stop(job, now_s)
        if self.site.requeues:
            self.lost.append((job, stay.start_s, now_s, stay.at))
            self.time_s[job], self.planned_s[job] = whole_s
            del self.done[job]
            self.again[job] = now_s
            return
        self.time_s[job] = now_s - stay.start_s
        self.cancelled.add(job)
        self.ended[job] = now_s
        self.admitted.remove(job)

    def choice(self, job: int, at_s: float, now_s: float, is_start: bool) -> dict[tuple[int, int], int] | None:
        """Where a job goes if it starts at an instant; None where it does not fit."""
        found = {place: self.units(job, place, at_s, now_s, is_start) for place in self.places()}
        wanted = int(self.demands.units[self.class_of(job)])
        if sum(found.values()) < wanted:
            return None
        if self.passes is not None:
            cores = {place: self.free(place, at_s, now_s, not is_start)[0] for place in found}
            return self.in_runs(job, found, cores, wanted)
        order = sorted(
            (place for place in found if found[place]),
            key=lambda place: (
                self.site.weight[place[0]],
                self.score(place, self.free(place, at_s, now_s, not is_start)),
                place,
            ),
        )
        chosen = {}
        for place in order:
            gives = self.gives(job, place[0])
            taken = min(found[place] // gives, -(-wanted // gives))
            if wanted > 0:
                chosen[place] = taken
                wanted -= taken * gives
        return chosen

    def in_runs(
        self, job: int, found: dict[tuple[int, int], int], cores: dict[tuple[int, int], int], wanted: int
    ) -> dict[tuple[int, int], int]:
        """Slurm's choice among places that are enough: runs of places that follow each other, of the lowest weights."""
        weights = sorted(set(self.site.weight.tolist()))
        heaviest = next(
            weight
            for weight in weights
            if sum(units for (g, _), units in found.items() if self.site.weight[g] <= weight) >= wanted
        )
        left = {place: units if self.site.weight[place[0]] <= heaviest else 0 for place, units in found.items()}
        chosen: dict[tuple[int, int], int] = {}

        def take(place: tuple[int, int]) -> int:
            gives = self.gives(job, place[0])
            chosen[place] = min(left.pop(place) // gives, -(-wanted // gives))
            return chosen[place] * gives

        while wanted > 0:
            runs: list[list[tuple[int, int]]] = [[]]
            for place in self.places():
                if left.get(place):
                    runs[-1].append(place)
                else:
                    runs.append([])
            runs = [run for run in runs if run]
            enough = [run for run in runs if sum(left[place] for place in run) >= wanted]
            size = {id(run): sum(cores[place] for place in run) for run in runs}
            best = min(enough, key=lambda run: size[id(run)]) if enough else max(runs, key=lambda run: size[id(run)])
            alone = [place for place in best if self.gives(job, place[0]) >= wanted]
            first = [min(alone, key=lambda place: cores[place])] if alone else []
            for place in dict.fromkeys(first + best):
                if wanted > 0:
                    wanted -= take(place)
        return chosen

    def rounded(self, at_s: float) -> float:
        """An instant of Slurm's plan."""
        assert self.passes is not None
        step_s, clock_s = self.passes.resolution_s, self.passes.clock_s
        return math.floor((at_s + clock_s) / step_s) * step_s - clock_s if step_s else at_s

    def seen_instants(self, job: int, now_s: float) -> list[float]:
        """When somebody might have room: at all changes, of which Slurm takes planned ends that are near as one."""
        ends = sorted({max(stay.end_s, now_s) for stay in self.running})
        others = {now_s, *self.kept_instants(now_s)} | {at for stay in self.held for at in (stay.start_s, stay.end_s)}
        if self.passes is None:
            return sorted({*ends, *others})
        seen, window_s, at_s = [now_s], 30.0, now_s
        while True:
            coming = [end_s for end_s in ends if end_s > at_s]
            grouped = max((end_s for end_s in coming if end_s <= coming[0] + window_s), default=math.inf)
            window_s *= 2 if coming else 1
            at_s = min([grouped, *(other for other in others if other > at_s)])
            if at_s == math.inf:
                return seen
            seen.append(at_s)

    def score(self, place: tuple[int, int], free: list[int]) -> int:
        return sum(have * (2**32 // max(all_, 1)) for have, all_ in zip(free, self.all_of(place), strict=True))

    def earliest(self, job: int, now_s: float) -> tuple[float, dict[tuple[int, int], int]]:
        """The earliest of all instants at which something changes and a job fits, and where it goes."""
        for at_s in self.seen_instants(job, now_s):
            chosen = self.choice(job, at_s, now_s, False)
            if chosen is not None:
                return at_s, chosen
        assert self.kept_of(job) >= 0, f"job {job} fits at no instant"
        return math.inf, {}

    def hold(self, job: int, now_s: float) -> None:
        """Hold nodes for a job from the earliest instant on at which it fits, or all its parts do."""
        if len(self.parts_of(job)) > 1:
            self.hold_parts(self.parts_of(job), now_s)
            return
        at_s, chosen = self.earliest(job, now_s)
        until_s = at_s + self.planned_s[job]
        if at_s == math.inf:
            return
        if self.passes is None:
            self.held.append(Stay(job, chosen, at_s, until_s))
        elif at_s <= now_s + self.passes.window_s:
            self.held.append(Stay(job, chosen, self.rounded(at_s), self.rounded(until_s)))

    def hold_parts(self, parts: list[int], now_s: float) -> None:
        """Hold nodes for parts at the earliest instant at which something changes and each fits beside the others."""
        before = list(self.held)
        window_s = math.inf if self.passes is None else self.passes.window_s
        instants = {max(stay.end_s, now_s) for stay in self.running}
        instants |= {now_s} | {at for stay in self.held for at in (stay.start_s, stay.end_s) if at > now_s}
        instants |= set(self.kept_instants(now_s))
        for at_s in sorted(instants):
            for order in orders_of(parts):
                for part in order:
                    chosen = self.choice(part, at_s, now_s, False)
                    if chosen is not None:
                        times_s = (at_s, at_s + self.planned_s[part])
                        start_s, end_s = times_s if self.passes is None else map(self.rounded, times_s)
                        self.held.append(Stay(part, chosen, start_s, end_s))
                if len(self.held) == len(before) + len(parts) and at_s <= now_s + window_s:
                    return
                self.held = list(before)

    def has_licences(self, job: int) -> bool:
        used = sum((self.demands.licences[self.class_of(stay.job)] for stay in self.running), 0)
        return bool((used + self.demands.licences[self.class_of(job)] <= self.site.n_licences).all())

    def is_within_limits(self, job: int) -> bool:
        """Whether no holder of a job would have more than it may."""
        limits, of_job = self.demands.limits, self.demands.of_job
        for holder in limits.binding[job]:
            if holder >= 0:
                jobs = [stay.job for stay in self.running if holder in limits.holders[stay.job]]
                uses = sum((limits.uses[of_job[other]] for other in (*jobs, job)), np.zeros(len(limits.what), np.int64))
                if ((uses > limits.most[holder]) & (limits.uses[of_job[job]] > 0)).any():
                    return False
        return True

    def is_admitted(self, job: int) -> bool:
        """Whether a job is not refused when it comes."""
        limits = self.demands.admitted
        mine = [int(holder) for holder in limits.binding[job] if holder >= 0]
        return all(
            sum(holder in limits.holders[other] for other in self.admitted) < limits.most[holder, 0] for holder in mine
        )

    def submit(self, jobs: Iterable[int]) -> None:
        """Jobs are submitted, of which some may have been before; each counts from then on, or is refused."""
        for job in jobs:
            if job in self.submitted:
                continue
            self.submitted.add(job)
            if job not in self.refused and self.is_admitted(job):
                self.admitted.add(job)
            else:
                self.refused |= {part for part in self.parts_of(job) if part in self.coming | self.submitted}
                self.admitted -= self.refused
                self.coming -= self.refused

    def makes_room(self, job: int, now_s: float) -> bool:
        """Let running jobs give way to one that fits then, if any do; whether it starts now."""
        giving = self.demands.giving
        of = int(giving.of_job[job])
        if of < 0 or now_s < self.patient_s.get(job, -math.inf):
            return False
        mine = [stay for stay in self.running if giving.of_job[stay.job] >= 0 and stay.job not in self.cut]
        mine = [stay for stay in mine if giving.stops[of, giving.of_job[stay.job]]]
        mine = [
            stay
            for stay in mine
            if stay.job in self.suspended
            or (stay.start_s < now_s and now_s - stay.start_s >= giving.exempt_s and len(self.parts_of(stay.job)) == 1)
        ]
        mine.sort(key=lambda stay: (giving.priority[giving.of_job[stay.job]], -stay.start_s, -stay.job))
        everybody, chosen = self.running, None
        for n in range(1, len(mine) + 1):
            self.lent = {stay.job for stay in mine[:n] if giving.suspended[giving.of_job[stay.job]]}
            self.running = [stay for stay in everybody if stay not in mine[:n] or stay.job in self.lent]
            chosen = self.choice(job, now_s, now_s, True)
            if chosen is not None:
                break
        self.running, self.lent = everybody, set()
        if chosen is None or not self.may_draw(job, chosen, now_s):
            return False
        stopped = [stay for stay in mine[:n] if set(stay.at) & set(chosen)]
        grace_s = {stay.job: float(giving.grace_s[giving.of_job[stay.job]]) for stay in stopped}
        for stay in stopped:
            if not giving.suspended[giving.of_job[stay.job]]:
                self.give_way(stay, now_s, grace_s[stay.job])
            elif max(grace_s.values()) == 0:
                self.suspend(stay, job, now_s)
        if max(grace_s.values()) > 0:
            self.patient_s[job] = now_s + max(grace_s.values())
            return False
        self.enter(job, chosen, now_s)
        return True

    def give_way(self, stay: Stay, now_s: float, grace_s: float) -> None:
        """A job gives way now, or when its grace is over."""
        until_s = now_s + grace_s
        if until_s >= stay.start_s + self.time_s[stay.job]:
            return
        self.cut.add(stay.job)
        self.whole_s.setdefault(stay.job, (self.time_s[stay.job], self.planned_s[stay.job]))
        self.time_s[stay.job] = self.planned_s[stay.job] = until_s - stay.start_s
        self.running[self.running.index(stay)] = self.done[stay.job] = stay._replace(end_s=until_s)
        if grace_s == 0:
            self.end(self.done[stay.job], now_s)
            self.is_anew = True

    def suspend(self, stay: Stay, stopper: int, now_s: float) -> None:
        """A job stands still, as planned until the one that stops it ends."""
        job, until_s = stay.job, max(stay.end_s, now_s)
        if job not in self.suspended:
            self.kept_stretches.append((job, stay.start_s, now_s, stay.at))
            self.left_s[job] = (stay.start_s + self.time_s[job] - now_s, until_s - now_s)
            self.time_s[job] = math.inf
            self.suspended.append(job)
        until_s = max(until_s, now_s + self.planned_s[stopper] + self.left_s[job][1])
        self.running[self.running.index(stay)] = stay._replace(start_s=now_s, end_s=until_s)
        self.done.pop(job, None)
        self.is_anew = True

    def go_on(self, now_s: float) -> None:
        """Those that stand still run again, the last one first, if their nodes have processors for all that run."""
        for job in list(reversed(self.suspended)):
            still = set(self.suspended) - {job}
            stay = next(stay for stay in self.running if stay.job == job)
            everybody, self.running = self.running, [each for each in self.running if each.job not in still]
            given_up = self.site.is_given_up
            has_room = all(
                have >= 0 or not (is_given and part)
                for place in stay.at
                for have, is_given, part in zip(
                    self.free(place, now_s, now_s, False), given_up[place[0]], self.need(job, place[0]), strict=True
                )
            )
            self.running = everybody
            if has_room:
                self.suspended.remove(job)
                self.time_s[job], planned_s = self.left_s.pop(job)
                self.done[job] = Stay(job, stay.at, now_s, now_s + planned_s)
                self.running[self.running.index(stay)] = self.done[job]

    def end(self, stay: Stay, now_s: float) -> None:
        """A job ends, or runs again if it gave way."""
        job, giving = stay.job, self.demands.giving
        self.running.remove(stay)
        if self.power is not None:
            self.power.stop(job, now_s)
        if job in self.cut and not giving.cancels[giving.of_job[job]]:
            self.lost.append((job, stay.start_s, now_s, stay.at))
            self.time_s[job], self.planned_s[job] = self.whole_s[job]
            self.cut.remove(job)
            del self.done[job]
            self.again[job] = now_s
            return
        if job in self.cut:
            self.cancelled.add(job)
        self.ended[job] = now_s
        self.admitted.remove(job)

    def enter(self, job: int, chosen: dict[tuple[int, int], int], now_s: float) -> None:
        """A job runs from now on at places."""
        if self.power is not None:
            self.power.draw(job, chosen, now_s)
        self.running.append(Stay(job, chosen, now_s, now_s + self.planned_s[job]))
        self.done[job] = self.running[-1]
        self.began_s.setdefault(job, now_s)

    def look_through(self, now_s: float, most: float = math.inf, is_first: bool = False) -> None:
        """Let jobs start in order, and hold nodes for the first of each partition that cannot.

        In Slurm's first pass they wait instead, with all nodes of their partition.
        """
        self.held, self.closed = [], set()
        n_held: dict[int, int] = {}
        blocked = self.down(now_s)
        key = {job: self.priority(job, now_s) if self.priority else 0.0 for job in self.waiting}
        key |= self.turns()
        tiers = self.site.tier
        order = sorted(
            self.waiting,
            key=lambda job: (-tiers[self.demands.partition[self.class_of(job)]], -key[job], self.ready_s[job], job),
        )
        for looked, job in enumerate(order):
            parts = self.parts_of(job)
            partition, *others = map(self.queue_of, parts)
            if looked >= most or blocked & {partition, *others} or (is_first and others):
                continue
            if not self.may_run(parts, now_s):
                continue
            outcome = self.start(parts, now_s)
            if outcome == STARTED or (outcome == NO_ROOM and not others and self.makes_room(job, now_s)):
                self.waiting.remove(job)
                continue
            if outcome == PASSED_OVER:
                continue
            if is_first or not self.backfills:
                blocked |= {partition, *others}
            if self.passes is not None and partition in blocked:
                self.closed |= (
                    set(np.flatnonzero(self.site.in_partition[partition]).tolist()) if partition >= 0 else set()
                )
            elif n_held.get(partition, 0) < self.ahead:
                n_held[partition] = n_held.get(partition, 0) + 1
                self.hold(job, now_s)

    def turns(self) -> dict[int, float]:
        """The turn of each waiting job in its queue, if jobs go in turn: it is of the jobs of its size before it."""
        before: Counter[tuple[int, int]] = Counter()
        turns = {}
        for job in sorted(self.waiting, key=lambda job: (self.ready_s[job], job)):
            if self.size_class is not None:
                size = self.size_class[job]
                mine = (self.queue_of(job), size)
                turns[job] = -float(3 * (before[mine] // self.per_cycle[size]) + size)
                before[mine] += 1
        return turns

    def parts_of(self, job: int) -> list[int]:
        """All that start with a job, itself among them."""
        conditions = self.world.jobs.conditions
        if conditions is None or conditions.together is None or conditions.together[job] < 0:
            return [job]
        return [int(part) for part in np.flatnonzero(conditions.together == conditions.together[job])]

    def may_run(self, parts: list[int], now_s: float) -> bool:
        """Whether licences, limits and time are enough for parts as they come one after another."""
        before = list(self.running)
        may = True
        for part in parts:
            may &= self.has_licences(part) and self.is_within_limits(part) and self.may_still_start(part, now_s)
            may &= self.power is None or self.power.may_draw(part, self.power.least_w(part), now_s)
            self.running.append(Stay(part, {}, 0.0, 0.0))
        self.running = before
        return may

    def may_draw(self, job: int, at: dict[tuple[int, int], int], now_s: float) -> bool:
        """Whether there is power and energy for a job that starts now at places."""
        return self.power is None or self.power.may_draw(job, self.power.drawn_w(job, at), now_s)

    def energy_j(self, job: int, start_s: float) -> float:
        """What a job would use that starts then, of those that are looked at now."""
        assert self.power is not None
        at = self.choice(job, self.now_s, self.now_s, True) if start_s == self.now_s else None
        at = self.choice(job, start_s, self.now_s, False) if at is None else at
        return 0.0 if at is None else self.power.drawn_w(job, at) * self.planned_s[job]

    def start(self, parts: list[int], now_s: float) -> str:
        """Let all parts start, each beside those before it in the first order in which all fit, or none."""
        before, drawings = list(self.running), [] if self.power is None else list(self.power.drawings)
        for order in orders_of(parts):
            places, lacks_power = {}, False
            for part in order:
                chosen = self.choice(part, now_s, now_s, True)
                lacks_power = chosen is not None and not self.may_draw(part, chosen, now_s)
                if chosen is None or lacks_power:
                    break
                self.running.append(Stay(part, chosen, now_s, now_s + self.planned_s[part]))
                if self.power is not None:
                    self.power.draw(part, chosen, now_s)
                places[part] = chosen
            self.running = list(before)
            if self.power is not None:
                self.power.drawings = list(drawings)
            if lacks_power:
                return PASSED_OVER
            if len(places) == len(parts):
                for part in parts:
                    self.enter(part, places[part], now_s)
                return STARTED
        return NO_ROOM

    def waits(self, job: int) -> bool:
        """Whether a job does not come when it arrives."""
        conditions = self.world.jobs.conditions
        if conditions is None:
            return False
        begins = conditions.begin_s is not None and conditions.begin_s[job] > self.world.jobs.work.arrival_s[job]
        return bool(begins or self.possible & set(conditions.on[conditions.job == job].tolist()))

    def ready_of(self, job: int) -> float:
        """When a job is ready as far as is known now, by all that has started and ended; infinite before."""
        conditions, at_s = self.world.jobs.conditions, float(self.world.jobs.work.arrival_s[job])
        if conditions is None:
            return at_s
        if conditions.begin_s is not None:
            at_s = max(at_s, float(conditions.begin_s[job]))
        came_s = [
            self.came_s(int(conditions.on[row]), int(conditions.kind[row])) + float(conditions.delay_s[row])
            if int(conditions.on[row]) in self.possible
            else -math.inf
            for row in np.flatnonzero(conditions.job == job)
        ]
        is_first = conditions.any_of is not None and conditions.any_of[job]
        return max(at_s, (min if is_first else max)(came_s)) if came_s else at_s

    def came_s(self, job: int, kind: int) -> float:
        """When a job did what others wait for; infinite where it has not."""
        conditions, end_s = self.world.jobs.conditions, self.ended.get(job, math.inf)
        assert conditions is not None
        is_good = conditions.succeeded is not None and bool(conditions.succeeded[job])
        is_bad = (
            (job in self.killed and not is_good)
            or job in self.cancelled
            or (conditions.failed is not None and bool(conditions.failed[job]))
        )
        return {
            Kind.STARTED: self.began_s.get(job, math.inf),
            Kind.ENDED: end_s,
            Kind.ENDED_WELL: math.inf if is_bad else end_s,
            Kind.ENDED_BADLY: end_s if is_bad else math.inf,
        }[Kind(kind)]

    def map_greedily(self, now_s: float, worth: Callable[[int, float], float]) -> None:
        """Repeatedly, the job of the highest tier that is worth most where it starts first: now, or held ahead."""
        self.drop_hopeless(now_s)
        self.held, left, tiers = [], set(self.waiting), self.site.tier
        left = {job for job in left if self.queue_of(job) not in self.down(now_s)}
        self.now_s = now_s
        while left := {job for job in left if self.may_run([job], now_s)}:
            start_s = {
                job: self.earliest(job, now_s)[0] if self.choice(job, now_s, now_s, True) is None else now_s
                for job in left
            }
            job = min(
                left,
                key=lambda job: (
                    -tiers[self.demands.partition[self.class_of(job)]],
                    -worth(job, start_s[job]),
                    start_s[job] + self.planned_s[job],
                    job,
                ),
            )
            left.remove(job)
            outcome = self.start([job], now_s)
            if outcome == STARTED:
                self.waiting.remove(job)
            elif outcome == NO_ROOM:
                self.hold(job, now_s)

    def drop_hopeless(self, now_s: float) -> None:
        """Drop the jobs that would earn less than the threshold if they started now."""
        work = self.world.jobs.work
        hopeless = {job for job in self.waiting if work.utility(job, now_s + self.planned_s[job]) < self.threshold}
        self.waiting = [job for job in self.waiting if job not in hopeless]
        self.refused |= hopeless
        self.admitted -= hopeless

    def next_mapping_s(self, from_s: float) -> float:
        """The first multiple of the interval from an instant on, if anybody waits."""
        return math.ceil(from_s / self.interval_s) * self.interval_s if self.waiting else math.inf

    def run(self) -> dict[int, Stay]:
        """Where and when each job starts."""
        fits, came = self.demands.can_start(self.site), set()
        fits &= [self.power is None or not fits[job] or self.power.fits(job) for job in range(self.world.n_jobs)]
        self.coming = {job for job in range(self.world.n_jobs) if fits[job]}
        self.possible = set(self.coming)
        came_in_order = sorted(self.coming)
        pass_s, now_s = (math.inf, math.inf), -math.inf
        while (
            self.coming
            or self.again
            or self.running
            or min(pass_s) < math.inf
            or (self.waiting and (self.site_changes(now_s) or self.supply_instants(now_s)))
        ):
            ends = [stay.start_s + self.time_s[stay.job] for stay in self.running]
            if not self.is_anew:
                comes_s = [*map(self.ready_of, self.coming), *self.again.values()]
                changes_s = [*self.site_changes(now_s), *self.supply_instants(now_s)]
                news_s = min([*comes_s, *ends, *changes_s], default=math.inf)
                now_s = min(news_s, *pass_s)
            was_anew = self.is_anew
            has_news, self.is_anew = was_anew or news_s == now_s, False
            self.submit(job for job in came_in_order if self.world.jobs.work.arrival_s[job] < now_s)
            if now_s == math.inf or now_s > self.world.jobs.work.end_s:
                break
            for stay, end_s in zip(list(self.running), ends, strict=True):
                if end_s == now_s:
                    self.end(stay, now_s)
            if not was_anew:
                self.fail(now_s)
            self.submit(job for job in came_in_order if self.world.jobs.work.arrival_s[job] <= now_s)
            come = [*(job for job in self.coming if self.ready_of(job) == now_s), *self.again]
            for job in sorted(come, key=lambda job: (job in self.again or self.waits(job), job)):
                if self.again.pop(job, None) is not None:
                    self.waiting.append(job)
                    self.ready_s[job] = now_s
                    continue
                self.coming.remove(job)
                came.add(job)
                if came >= set(self.parts_of(job)):
                    self.waiting.append(self.parts_of(job)[0])
                    self.ready_s[self.parts_of(job)[0]] = now_s
            if self.interval_s < math.inf:
                pass_s = (self.next_mapping_s(now_s), math.inf)
                if pass_s[0] > now_s:
                    continue
            if self.worth is not None:
                self.map_greedily(now_s, self.worth)
            elif self.passes is None:
                self.look_through(now_s)
            else:
                pass_s = self.pass_twice(now_s, pass_s, self.passes, has_news)
            if self.interval_s < math.inf and not self.is_anew:
                pass_s = (self.next_mapping_s(now_s + self.interval_s / 2), math.inf)
            if not self.is_anew:
                self.go_on(now_s)
        return self.done

    def supply_instants(self, after_s: float) -> list[float]:
        """When cap or budget may leave more for who waits."""
        return self.power.instants(after_s) if self.power is not None and self.waiting else []

    def pass_twice(
        self, now_s: float, pass_s: tuple[float, float], passes: Passes, has_news: bool
    ) -> tuple[float, float]:
        """Slurm's passes; when the second one, and one over all that wait, are due: each once after news."""
        second_s, full_s = pass_s
        self.look_through(now_s, math.inf if now_s == full_s else passes.n_first, is_first=True)
        if now_s == second_s:
            self.look_through(now_s, passes.n_tested)
        due_s = []
        for at_s, every_s in ((second_s, passes.interval_s), (full_s, passes.full_s)):
            later_s = math.inf if at_s == now_s else at_s
            if has_news and at_s != now_s:
                later_s = min(at_s, (math.floor(now_s / every_s) + 1) * every_s)
            due_s.append(later_s if self.waiting else math.inf)
        return due_s[0], due_s[1]
