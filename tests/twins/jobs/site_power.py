"""Power and energy of a site in plain Python: every question is answered from all stretches of running so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from joulewise.model.jobs import JobWorld

HOUR_S = 3600.0
EMPTY: dict[tuple[int, int], int] = {}


@dataclass
class Drawing:
    """A job that draws so many watts from an instant to another: planned while it runs, then its end."""

    job: int
    power_w: float
    start_s: float
    until_s: float
    runs: bool = True


@dataclass
class PowerTwin:
    """What the jobs of a site draw, and what cap and budget let them."""

    world: JobWorld
    planned_s: list[float]
    drawings: list[Drawing] = field(default_factory=list)

    @property
    def idle_w(self) -> float:
        assert self.world.site is not None
        power = self.world.site.power
        return 0.0 if power is None else self.world.supply.pue * sum(
            float(watts) * int(n) for watts, n in zip(power.idle_w, self.world.site.n_nodes, strict=True)
        )  # fmt: skip

    def piece_w(self, kind: int, group: int) -> float:
        """What one piece draws: for whole nodes, as much as everything of them."""
        site, demands = self.world.site, self.world.jobs.demands
        assert site is not None
        assert demands is not None
        assert site.power is not None
        amounts = site.capacity[group] if site.is_counted[group] else demands.need[kind, group]
        return sum(int(n) * float(watts) for n, watts in zip(amounts, site.power.more_w[group], strict=True))

    def drawn_w(self, job: int, at: dict[tuple[int, int], int]) -> float:
        """What a job draws at places."""
        site, demands, types = self.world.site, self.world.jobs.demands, self.world.types
        assert site is not None
        assert demands is not None
        if site.power is None:
            return self.world.supply.pue * float(types.power_w[types.first[job]])
        kind = int(demands.of_job[job])
        return self.world.supply.pue * sum(n * self.piece_w(kind, group) for (group, _), n in at.items())

    def least_w(self, job: int) -> float:
        """What a job draws at least, as it is known without its places."""
        types = self.world.types
        return self.world.supply.pue * float(types.power_w[types.first[job]])

    def fits(self, job: int) -> bool:
        """Whether the highest cap is ever enough."""
        cap_w = self.world.supply.cap_w
        return cap_w is None or self.least_w(job) + self.idle_w <= float(cap_w.max())

    def may_draw(self, job: int, power_w: float, now_s: float) -> bool:
        """Whether a job may start now that draws so much."""
        return self._is_below_cap(job, power_w, now_s) and self._has_energy(job, power_w, now_s)

    def _is_below_cap(self, job: int, power_w: float, now_s: float) -> bool:
        cap_w, until_s = self.world.supply.cap_w, now_s + self.planned_s[job]
        if cap_w is None:
            return True
        hour = math.floor(now_s / HOUR_S)
        instants = [now_s]
        while (hour := hour + 1) * HOUR_S < until_s:
            instants.append(hour * HOUR_S)
        return all(
            self.idle_w + power_w + self.planned_w(at_s, now_s) <= float(cap_w[int(at_s // HOUR_S) % cap_w.size])
            for at_s in instants
        )

    def planned_w(self, at_s: float, now_s: float) -> float:
        """What is planned to be drawn at an instant by what runs; now by all of it."""
        return sum(one.power_w for one in self.drawings if one.runs and (at_s == now_s or one.until_s > at_s))

    def _has_energy(self, job: int, power_w: float, now_s: float) -> bool:
        supply = self.world.supply
        if math.isinf(supply.budget_j):
            return True
        day = math.floor((now_s - self.world.jobs.work.start_s) / supply.day_s)
        midnight_s = self.begin_s(day + 1)
        until_s = now_s + self.planned_s[job]
        today_j = self.share_j(day) - self.used_j(day)
        after_j = power_w * max(until_s - midnight_s, 0.0)
        return power_w * self.planned_s[job] <= today_j and (after_j <= 0 or after_j <= self.tomorrow_j(day))

    def begin_s(self, day: int) -> float:
        """When a day begins; day 0 is the first counted one."""
        return self.world.jobs.work.start_s + day * self.world.supply.day_s

    @property
    def n_days(self) -> int:
        work = self.world.jobs.work
        return math.ceil((work.end_s - work.start_s) / self.world.supply.day_s)

    def used_j(self, day: int) -> float:
        """What jobs use on a day, as far as is known."""
        return sum(
            one.power_w * max(min(one.until_s, self.begin_s(day + 1)) - max(one.start_s, self.begin_s(day)), 0.0)
            for one in self.drawings
        )

    def share_j(self, day: int) -> float:
        """What jobs may use on a day: its budget, or its share of what is left, without what idle nodes use."""
        supply = self.world.supply
        length_s = self.begin_s(day + 1) - max(self.begin_s(day), 0.0)
        idle_j = self.idle_w * length_s
        whole_j = supply.budget_j
        if supply.is_total:
            gone_j = sum(self.used_j(d) + self.idle_w * supply.day_s for d in range(day))
            whole_j = (supply.budget_j - gone_j) / max(self.n_days - max(day, 0), 1)
        return whole_j * length_s / supply.day_s - idle_j

    def tomorrow_j(self, day: int) -> float:
        """What is left of the next day if all of today's is used."""
        left_j = self.share_j(day + 1) - self.used_j(day + 1)
        if self.world.supply.is_total and day + 1 > 0:
            n_left = self.n_days - day - 1
            if n_left <= 0:
                return math.inf
            left_j -= max(max(self.share_j(day), 0.0) - self.used_j(day), 0.0) / n_left
        return left_j

    def draw(self, job: int, at: dict[tuple[int, int], int], now_s: float) -> None:
        """A job starts at places."""
        self.drawings.append(Drawing(job, self.drawn_w(job, at), now_s, now_s + self.planned_s[job]))

    def stop(self, job: int, now_s: float) -> None:
        """A job ends."""
        one = next(one for one in self.drawings if one.job == job and one.runs)
        one.runs, one.until_s = False, now_s

    def instants(self, after_s: float) -> list[float]:
        """When more may be left than before: where the cap next rises, and at the end of the day."""
        supply, found = self.world.supply, []
        if supply.cap_w is not None:
            hours, now = supply.cap_w.tolist(), math.floor(after_s / HOUR_S)
            later = range(now + 1, now + 1 + len(hours))
            found = [h * HOUR_S for h in later if hours[h % len(hours)] > hours[(h - 1) % len(hours)]][:1]
        if math.isfinite(supply.budget_j):
            day = math.floor((after_s - self.world.jobs.work.start_s) / supply.day_s)
            found.append(self.begin_s(day + 1))
        return found
