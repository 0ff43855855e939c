"""What would be done on a live Slurm now, and why: which held jobs are released where, and what others wait for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.jobs import Fate, JobWorld
from joulewise.model.site_power import pieces_w
from joulewise.model.supply import HOUR_S
from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
from joulewise.slurm.live import Live, live_world
from joulewise.slurm.policy import SlurmPolicy
from joulewise.slurm.snapshot import Snapshot
from joulewise.units import duration, roughly
from joulewise.worlds.jobs.sites.hostlists import compacted


class Release(NamedTuple):
    """A job that would be released: where it would run and until when, and what it is worth then.

    Its power and energy are None where nobody knows what nodes draw. Instants are seconds since 1970.
    """

    job: str
    user: str | None
    partition: str
    nodes: tuple[str, ...]
    worth: float
    power_w: float | None
    energy_j: float | None
    ends_at_s: float

    @property
    def on(self) -> str:
        """Its nodes in Slurm's short way."""
        return compacted(self.nodes)


class Waiting(NamedTuple):
    """A job that would go on waiting, why, when it is planned to start, and what it would be worth started now."""

    job: str
    user: str | None
    partition: str
    worth: float
    why: str
    starts_at_s: float | None


class Left(NamedTuple):
    """A job that would be released without being planned, and why."""

    job: str
    user: str | None
    why: str


class Totals(NamedTuple):
    """What is drawn before and after the releases, and what is left of the budget's day; None where nobody knows."""

    power_w: float | None
    power_after_w: float | None
    cap_w: float | None
    budget_j: float | None
    budget_left_j: float | None


class Plan(NamedTuple):
    """What would be done at an instant. `aside` counts the jobs about which nothing is decided, `refused` are comments
    that do not count, by job, and `notes` what else is to be known."""

    at_s: float
    policy: str
    releases: list[Release]
    waiting: list[Waiting]
    protected: list[Left]
    left: list[Left]
    refused: Mapping[str, str]
    aside: Mapping[str, int]
    totals: Totals
    notes: list[str]


_NOTHING = Totals(None, None, None, None, None)
_MOST_AHEAD, _MOST_IN_ORDER = 500, 20_000
"""For so many waiting jobs is looked ahead: policies with objectives compare all of them at each event to come."""


def plan_of(snapshot: Snapshot, policy: SlurmPolicy, used_j: float = 0.0) -> Plan:
    """What a policy would do on a Slurm as it was found, of whose budget so much is used by jobs that are over.

    InputError with every reason for which the policy does not fit the cluster.
    """
    live = live_world(snapshot, policy, used_j)
    by_key = {job.key: job for job in snapshot.jobs}
    protected = [Left(job.key, job.user, "protected") for job in live.sorted.protected]
    left = [Left(key, by_key[key].user, why) for key, why in live.sorted.left.items()]
    releases, waiting, totals = list[Release](), list[Waiting](), _NOTHING
    notes = [] if snapshot.version.problem is None else [str(snapshot.version.problem)]
    if live.world is not None:
        most = _MOST_IN_ORDER if policy.scheduler.policy.objective is None else _MOST_AHEAD
        outcome, ahead = simulate_jobs(live.world, policy.scheduler), None
        if len(live.waits) <= most:
            ahead = _planned_starts(live.world, policy)
        else:
            notes.append(f"When jobs will start is not looked for: more than {most:,} wait.")
        decided = _Decided(live, live.world, outcome, policy, ahead)
        releases, waiting, totals = decided.releases(), decided.waiting(), decided.totals()
        left += decided.left()
    return Plan(
        live.at_s, policy.scheduler.policy.name, releases, waiting, protected, left, live.refused,
        dict(live.sorted.aside), totals, notes,
    )  # fmt: skip


def _planned_starts(world: JobWorld, policy: SlurmPolicy) -> Floats:
    """When jobs start if nothing unforeseen comes: NaN for those that do not as far as is looked ahead."""
    assert world.opening is not None
    work = replace(world.jobs.work, end_s=world.opening.at_s + policy.managed.looks_ahead_s)
    return simulate_jobs(replace(world, jobs=replace(world.jobs, work=work)), policy.scheduler).allocation.start_s


class _Decided:
    """A decision with the facts around it: what is free, drawn and left once the releases are done."""

    def __init__(
        self, live: Live, world: JobWorld, outcome: JobOutcome, policy: SlurmPolicy, ahead_s: Floats | None
    ) -> None:
        assert world.site is not None
        assert world.jobs.demands is not None
        assert world.opening is not None
        self.live, self.world, self.policy = live, world, policy
        self.site, self.demands, self.opening = world.site, world.jobs.demands, world.opening
        allocation = outcome.allocation
        assert allocation.places is not None
        self.fate, self.now_s, self.has_ahead = allocation.fate, self.opening.at_s, ahead_s is not None
        self.has_nodes = allocation.start_s <= self.now_s
        self.start_s = allocation.start_s if ahead_s is None else ahead_s
        mine = self.has_nodes[allocation.places.job]
        self.place_job, self.group, self.node, self.pieces = (
            column[mine]
            for column in (
                allocation.places.job, allocation.places.group, allocation.places.node, allocation.places.pieces
            )
        )  # fmt: skip
        self.may_run = np.diff(world.types.first) > 0
        self.draws_w = self._draws()
        self.planned_s = self._of_options(world.types.planned_s, 0.0)
        self.worth = world.jobs.work.utility(np.arange(world.n_jobs), self.now_s + self.planned_s)
        self.has_room = self._rooms()

    # --- facts ----------------------------------------------------------------------------------------------

    def _of_options(self, values: Floats, otherwise: float) -> Floats:
        """A value of each job's option, another one for a job that has none."""
        found = np.full(self.world.n_jobs, otherwise)
        found[self.may_run] = values[self.world.types.first[:-1][self.may_run]]
        return found

    def _draws(self) -> Floats:
        """What each job draws at the meter: by its nodes where it has some, else at least; NaN where nobody knows."""
        least_w = self._of_options(self.world.types.power_w, math.inf)
        if self.site.power is not None:
            by_piece = pieces_w(self.site, self.demands)[self.demands.of_job[self.place_job], self.group]
            drawn_w = np.bincount(self.place_job, by_piece * self.pieces, self.world.n_jobs)
            least_w = np.where(self.has_nodes, drawn_w, least_w)
        return np.asarray(self.world.supply.pue * least_w)

    def _free(self) -> tuple[Counts, Counts, Bools]:
        """What is free on each node, by group and number, and which nodes get no job now."""
        first = np.concatenate(([0], np.cumsum(self.site.n_nodes)))
        group = np.repeat(np.arange(self.site.n_groups), self.site.n_nodes)
        free = self.site.capacity[group].copy()
        taken = self.demands.need[self.demands.of_job[self.place_job], self.group] * self.pieces[:, None]
        np.subtract.at(free, first[self.group] + self.node, taken)
        kept, is_closed = self.site.kept, np.zeros(group.size, np.bool_)
        lasts = kept.end_s[kept.of] > self.now_s
        is_closed[(first[kept.group] + kept.node)[lasts]] = True
        return group, free, is_closed

    def _rooms(self) -> Bools:
        """For which classes there is room beside all that runs."""
        group, free, is_closed = self._free()
        rooms = np.zeros(self.demands.n_classes, np.bool_)
        for k in range(self.demands.n_classes):
            need = self.demands.need[k][group]
            n = np.where(need > 0, free // np.maximum(need, 1), self.demands.most[k]).min(axis=1)
            n = np.where(is_closed, 0, np.clip(n, 0, self.demands.most[k]))
            rooms[k] = (n * self.demands.gives[k][group]).sum() >= self.demands.units[k]
        return rooms

    # --- answers --------------------------------------------------------------------------------------------

    def _at_s(self, at_s: float) -> float:
        """An instant of the world in seconds since 1970."""
        assert self.live.clock.zero_s is not None
        return self.live.clock.zero_s + at_s

    def releases(self) -> list[Release]:
        """Who would be released, who is worth most first."""
        names: dict[int, list[str]] = {}
        for job, group, node in zip(self.place_job.tolist(), self.group.tolist(), self.node.tolist(), strict=True):
            names.setdefault(job, []).append(self.live.members[self.live.groups[group]][node])
        found = [i for i in self.live.waits if self.has_nodes[i]]
        return [self._release(i, names[i]) for i in sorted(found, key=lambda i: (-self.worth[i], i))]

    def _release(self, i: int, nodes: Sequence[str]) -> Release:
        job, planned_s, power_w = self.live.jobs[i], float(self.planned_s[i]), _known(float(self.draws_w[i]))
        energy_j = None if power_w is None else power_w * planned_s
        ends_at_s = self._at_s(self.now_s + planned_s)
        return Release(
            job.key, job.user, job.partition, tuple(nodes), float(self.worth[i]), power_w, energy_j, ends_at_s
        )

    def waiting(self) -> list[Waiting]:
        """Who would go on waiting, who is worth most first."""
        found = [i for i in self.live.waits if not self.has_nodes[i] and self.may_run[i]]
        return [self._waiting(i) for i in sorted(found, key=lambda i: (-self.worth[i], i))]

    def _waiting(self, i: int) -> Waiting:
        job, start_s = self.live.jobs[i], float(self.start_s[i])
        starts_at_s = self._at_s(start_s) if math.isfinite(start_s) else None
        return Waiting(job.key, job.user, job.partition, float(self.worth[i]), self._why(i), starts_at_s)

    def left(self) -> list[Left]:
        """Jobs that would never start by what is known of the cluster: Slurm itself knows better."""
        found = [i for i in self.live.waits if not self.may_run[i]]
        return [Left(self.live.jobs[i].key, self.live.jobs[i].user, self._why_never(i)) for i in found]

    def _why_never(self, i: int) -> str:
        fits = self.demands.fit(self.site)[self.demands.of_job[i]]
        return "a limit forbids it" if fits else "its partition or its nodes do not allow what it asks for"

    def _why(self, i: int) -> str:
        """What a job waits for, the plainest fact first."""
        facts = (
            (self.fate[i] == Fate.DROPPED, "not worth it any more"),
            (self._lacks_licences(i), "licences are in use"),
            (self._is_at_limit(i), "a limit on what its holders may have"),
            (not self.has_room[self.demands.of_job[i]], f"no room{self._until(i)}"),
            (self._is_above_cap(i), "power: the cap leaves less than it draws"),
            (self._lacks_energy(i), "energy: the budget of this day leaves less than it needs"),
            (math.isfinite(self.start_s[i]), f"behind others{self._until(i)}"),
            (self.policy.scheduler.policy.declines, "not worth its energy now"),
        )
        return next((why for is_so, why in facts if is_so), f"behind others{self._until(i)}")

    def _until(self, i: int) -> str:
        """Until when a job is planned to wait."""
        start_s = float(self.start_s[i])
        if math.isfinite(start_s):
            return f" for {roughly(start_s - self.now_s)}"
        return f" within {duration(self.policy.managed.looks_ahead_s)}" if self.has_ahead else ""

    def _lacks_licences(self, i: int) -> bool:
        need, used = self.demands.licences, self.demands.licences[self.demands.of_job[self.has_nodes]].sum(axis=0)
        return bool(
            (need[self.demands.of_job[i]] + used > self.site.n_licences)[need[self.demands.of_job[i]] > 0].any()
        )

    def _is_at_limit(self, i: int) -> bool:
        limits = self.demands.limits
        for holder in limits.binding[i][limits.binding[i] >= 0] if limits.names else ():
            theirs = self.has_nodes & (limits.holders == holder).any(axis=1)
            used = limits.uses[self.demands.of_job[theirs]].sum(axis=0)
            if (used + limits.uses[self.demands.of_job[i]] > limits.most[holder]).any():
                return True
        return False

    # --- power and energy -----------------------------------------------------------------------------------

    @cached_property
    def _standing_w(self) -> float:
        return self.world.supply.pue * self.site.idle_w

    @cached_property
    def _runs_w(self) -> float:
        """What all jobs draw once the releases are done."""
        return float(self.draws_w[self.has_nodes].sum()) + self.live.others_w

    @cached_property
    def _cap_w(self) -> float | None:
        cap_w = self.live.supply.cap_w
        return None if cap_w is None else float(cap_w[int(self.now_s // HOUR_S) % cap_w.size])

    def _is_above_cap(self, i: int) -> bool:
        return self._cap_w is not None and self._standing_w + self._runs_w + self.draws_w[i] > self._cap_w

    @cached_property
    def _day(self) -> tuple[float, float]:
        """From when to when the day of the budget lasts."""
        day_s = self.world.supply.day_s
        start_s = self.now_s // day_s * day_s
        return start_s, start_s + day_s

    @cached_property
    def _used_j(self) -> float:
        """What is used of this day's budget: by jobs that are over, those that run, and nodes without jobs."""
        (start_s, _), runs = self._day, self.opening.runs
        ran_s = self.now_s - np.maximum(self.opening.since_s[runs], start_s)
        runs_j = float((self.draws_w[runs] * ran_s).sum())
        return self.opening.used_j + runs_j + self._standing_w * (self.now_s - start_s)

    @cached_property
    def _to_come_s(self) -> Floats:
        """For how long each job draws on this day from now on, if it has nodes now."""
        began_s = np.where(self.opening.runs, self.opening.since_s, self.now_s)
        return np.asarray(np.clip(began_s + self.planned_s, self.now_s, self._day[1]) - self.now_s)

    @cached_property
    def _left_j(self) -> float:
        """What all that has nodes leaves of this day's budget."""
        to_come_j = float((self.draws_w * self._to_come_s)[self.has_nodes].sum())
        standing_j = self._standing_w * (self._day[1] - self.now_s)
        return self.world.supply.budget_j - self._used_j - to_come_j - standing_j

    def _lacks_energy(self, i: int) -> bool:
        """Whether a job needs more on this day than is left of the budget."""
        is_limited = math.isfinite(self.world.supply.budget_j)
        return is_limited and bool(self.draws_w[i] * self._to_come_s[i] > self._left_j)

    def totals(self) -> Totals:
        """What is drawn and left."""
        before_w = self._standing_w + float(self.draws_w[self.opening.runs].sum()) + self.live.others_w
        budget_j = self.world.supply.budget_j
        has_budget, has_power = math.isfinite(budget_j), self.site.power is not None
        return Totals(
            before_w if has_power else None,
            self._standing_w + self._runs_w if has_power else None,
            self._cap_w,
            budget_j if has_budget else None,
            budget_j - self._used_j if has_budget else None,
        )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
