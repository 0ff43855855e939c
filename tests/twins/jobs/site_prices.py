"""Prices of what nodes have, by the group, the slow and readable way: all jobs in all ways, again and again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from joulewise.kernels.live_prices import Gains
from joulewise.simulate.jobs.sites.arrays import PRICE_GAINS
from tests.twins.jobs.prices import Price
from tests.twins.jobs.sites import NO_ROOM, STARTED, SiteTwin


@dataclass
class PricedSiteTwin(SiteTwin):
    """A site on which jobs pay for what they take; each has prices by group and resource once somebody takes some."""

    gains: Gains = PRICE_GAINS
    prices: dict[tuple[int, int], Price] = field(default_factory=dict)
    last_s: float = -math.inf

    def ways(self, job: int) -> list[int | None]:
        """The groups in each of which a job fits alone, if there are several."""
        wanted, nodes = int(self.demands.units[self.class_of(job)]), self.places_for(job)
        self.only.pop(job, None)
        found = []
        for g in range(self.site.n_groups):
            units = 0
            for place in nodes:
                if place[0] == g:
                    units += self.all_units(job, place)
            if units >= wanted:
                found.append(g)
        return list(found) if len(found) > 1 else [None]

    def places_for(self, job: int) -> list[tuple[int, int]]:
        """All places, or those that are kept for a job."""
        kept, own = self.site.kept, self.kept_of(job)
        mine = [(int(g), int(n)) for of, g, n in zip(kept.of, kept.group, kept.node, strict=True) if of == own]
        return self.places() if own < 0 else mine

    def all_units(self, job: int, place: tuple[int, int]) -> int:
        """How many units of a job a place gives that is empty."""
        gives = self.gives(job, place[0])
        if self.site.is_counted[place[0]]:
            return gives * self.all_of(place)[0]
        most = int(self.demands.most[self.class_of(job)])
        for have, part in zip(self.all_of(place), self.need(job, place[0]), strict=True):
            if part > 0:
                most = min(most, have // part)
        return most * gives

    def amount(self, job: int, group: int, resource: int) -> int:
        """How much of a resource a job takes in a group; 0 where it does not run."""
        gives = self.gives(job, group)
        if not gives:
            return 0
        return -(-int(self.demands.units[self.class_of(job)]) // gives) * self.need(job, group)[resource]

    def pays(self, job: int) -> float:
        """What a job pays per second, in the dearest of its groups."""
        n = len(self.site.resources)
        paid = [0.0]
        for g in range(self.site.n_groups):
            total = 0.0
            for r in range(n if self.gives(job, g) else 0):
                if (g, r) in self.prices and r < len(self.need(job, g)):
                    total += self.amount(job, g, r) * self.prices[g, r].value
            paid.append(total)
        return max(paid)

    def find_first(self) -> None:
        """A part of what waiting jobs are worth for what they take, all resources that they take in a group alike."""
        worth: dict[tuple[int, int], float] = {}
        amount: dict[tuple[int, int], float] = {}
        for job in self.waiting:
            for way in self.ways(job):
                self.only[job] = way
                for g in range(self.site.n_groups):
                    for r in range(len(self.need(job, g))):
                        if self.amount(job, g, r):
                            worth[g, r] = worth.get((g, r), 0.0) + float(self.world.jobs.work.scale[job])
                            amount[g, r] = amount.get((g, r), 0.0) + self.amount(job, g, r) * self.planned_s[job]
        for g, r in amount:
            n_taken = sum(other == g for other, _ in amount)
            if (g, r) not in self.prices and worth[g, r] > 0:
                self.prices[g, r] = Price(self.gains.first_part * worth[g, r] / (n_taken * amount[g, r]))

    def gain(self, job: int, start_s: float, worth: Callable[[int, float], float]) -> float:
        """What a job gains for each part that it pays, in the way that it has now."""
        paid = self.planned_s[job] * self.pays(job)
        if start_s == math.inf:
            return -math.inf
        left = worth(job, start_s) - paid
        if paid > 0:
            return left / paid
        return math.inf if left > 0 else -math.inf

    def best_way(self, job: int, now_s: float, worth: Callable[[int, float], float]) -> tuple[float, float, int | None]:
        """What a job is worth after paying in its best way, when it starts so, and which that is."""
        found = []
        for way in self.ways(job):
            self.only[job] = way
            start_s = self.earliest(job, now_s)[0] if self.choice(job, now_s, now_s, True) is None else now_s
            found.append((self.gain(job, start_s, worth), start_s, way))
        return min(found, key=lambda row: (-row[0], row[1]))

    def map_greedily(self, now_s: float, worth: Callable[[int, float], float]) -> None:
        """As without prices, with jobs in their best ways, as long as one is worth what it pays."""
        self.drop_hopeless(now_s)
        self.find_first()
        self.held, tiers, down = [], self.site.tier, self.down(now_s)
        left = {job for job in self.waiting if self.queue_of(job) not in down}
        while left := {job for job in left if self.may_run([job], now_s)}:
            best = {job: self.best_way(job, now_s, worth) for job in left}
            left = {job for job in left if best[job][0] > 0}
            if not left:
                break
            job = min(
                left,
                key=lambda job: (
                    -tiers[self.demands.partition[self.class_of(job)]],
                    -best[job][0],
                    best[job][1] + self.planned_s[job],
                    job,
                ),
            )
            self.only[job] = best[job][2]
            left.remove(job)
            outcome = self.start([job], now_s)
            if outcome == STARTED:
                self.waiting.remove(job)
            elif outcome == NO_ROOM:
                self.hold(job, now_s)
        self.adjust(now_s)

    def adjust(self, now_s: float) -> None:
        """Move prices by what is free."""
        minutes = min(now_s - self.last_s if math.isfinite(self.last_s) else 60.0, self.gains.memory_s) / 60
        self.last_s = now_s
        for g in range(self.site.n_groups):
            places = [place for place in self.places() if place[0] == g]
            has = [sum(column) for column in zip(*map(self.all_of, places), strict=True)]
            free = [
                sum(column) for column in zip(*(self.free(place, now_s, now_s, False) for place in places), strict=True)
            ]
            idle = {r: part / all_ for r, (part, all_) in enumerate(zip(free, has, strict=True)) if all_}
            for r, share in idle.items():
                if (g, r) in self.prices:
                    step = max(-self.gains.fall, (self.gains.idle - share) / self.gains.idle)
                    self.prices[g, r].move(self.gains, self.gains.step * minutes, step, minutes)
