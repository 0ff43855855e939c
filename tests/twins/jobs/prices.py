"""Prices of node time and energy that find themselves, the slow and readable way: one mapping event at a time."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from joulewise.kernels.live_prices import Gains
from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.simulate.jobs.run import JobEngine
from joulewise.simulate.jobs.scheduler import Scheduler


class Price:
    """One price and its anchor, which follows it over hours while what it is for runs short."""

    def __init__(self, value: float) -> None:
        self.value = self.anchor = value

    def move(self, gains: Gains, most: float, step: float, minutes: float) -> None:
        is_low = 2 * self.value < self.anchor
        if step > 0 and is_low:
            step *= gains.hurry
        self.value = max(self.value * math.exp(most * step), self.anchor / gains.depth)
        if step > 0 and not is_low:
            self.anchor *= (self.value / self.anchor) ** min(60 * minutes / gains.anchor_s, 1.0)


class PricedScheduler:
    """A greedy whose choices cost what prices say, with the prices kept out here; nothing is dropped."""

    def __init__(self, world: JobWorld, scheduler: Scheduler, gains: Gains) -> None:
        policy = dataclasses.replace(scheduler.policy, is_priced=False)
        self.engine = JobEngine(world, dataclasses.replace(scheduler, policy=policy))
        state: Any = self.engine.state
        self.facts, self.limits, self.ledger, self.book = state.facts, state.limits, state.ledger, state.book
        self.site, self.plan, self.pool = state.site, state.plan, state.pool
        self.world, self.gains, self.interval_s = world, gains, scheduler.mapping_interval_s
        self.nodes: list[Price] = []
        self.energy = Price(0.0)
        self.mean_w, self.last_s = -1.0, -math.inf

    def run(self) -> tuple[JobAllocation, Floats]:
        """What became of the jobs, and the prices at each event with work."""
        path, n_events = [], 0
        work = self.world.jobs.work
        for event in range(math.ceil(work.end_s / self.interval_s)):
            now_s = event * self.interval_s
            if not self.nodes and work.arrival_s[0] <= now_s:
                self.find_first(np.flatnonzero(work.arrival_s <= now_s).tolist())
            self.charge()
            before, n_events = n_events, self.engine.run(math.nextafter(now_s, math.inf))
            if n_events > before:
                path.append([*(price.value for price in self.nodes), self.energy.value])
                self.adjust(now_s)
        self.engine.run(work.end_s)
        return self.engine.allocation(), np.array(path)

    def find_first(self, jobs: list[int]) -> None:
        """Half of what the first jobs are worth for their node-seconds, a quarter for their joules, by all choices."""
        options, work = self.facts.options, self.world.jobs.work
        worth = node_s = energy_j = 0.0
        for job in jobs:
            kind = work.task_type[job]
            for option in range(options.first[kind], options.first[kind + 1]):
                worth += work.scale[job]
                node_s += options.nodes[option] * options.planned_s[option]
                energy_j += self.limits.cost_j[option]
        self.nodes = [Price(self.gains.first_part * worth / node_s) for _ in range(self.world.clusters.n_clusters)]
        if self.limits.has_budget:
            self.energy = Price(self.gains.first_energy_part * worth / energy_j)

    def charge(self) -> None:
        """Let every option cost its nodes and its energy."""
        options = self.facts.options
        if self.nodes:
            per_s = np.array([price.value for price in self.nodes])[options.cluster]
            self.pool.charge[:] = options.nodes * options.planned_s * per_s + self.energy.value * self.limits.cost_j
            self.pool.is_stale[0] = True

    def adjust(self, now_s: float) -> None:
        """Move prices by the nodes that stayed free, and by how fast power is drawn."""
        gains = self.gains
        passed_s = now_s - self.last_s if math.isfinite(self.last_s) else 60.0
        minutes, self.last_s = min(passed_s, gains.memory_s) / 60, now_s
        for r, price in enumerate(self.nodes):
            times_s = self.book.time_s[r, : self.book.size[r]]
            free = self.book.free[r, np.searchsorted(times_s, now_s, side="right") - 1]
            idle = float(free) / float(self.facts.n_nodes[r])
            price.move(gains, gains.step * minutes, max(-gains.fall, (gains.idle - idle) / gains.idle), minutes)
        if self.limits.has_budget:
            self.adjust_energy(now_s, minutes)

    def adjust_energy(self, now_s: float, minutes: float) -> None:
        """In a world of one day, without a warm-up, that ends before the day does."""
        running = self.site.running.items[: self.site.running.size[0]]
        cost_w, day_s = self.limits.cost_w[self.plan.option[running]], self.world.supply.day_s
        kept = math.exp(-60 * minutes / self.gains.memory_s) if self.mean_w >= 0 else 0.0
        self.mean_w = kept * self.mean_w + (1 - kept) * cost_w.sum()
        to_come_j = float(cost_w @ np.maximum(np.minimum(self.site.book_end_s[running], day_s) - now_s, 0.0))
        left_j = self.world.supply.budget_j - self.ledger.used_j[0] + to_come_j
        excess = self.mean_w * (day_s - now_s) / left_j - 1 if left_j > 0 else 1.0
        self.energy.move(self.gains, self.gains.energy_step * minutes, min(max(excess, -1.0), 1.0), minutes)
