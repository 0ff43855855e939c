"""The slow twin of the greedy of parallel jobs: the rules word for word, every choice looked at every time.

Nothing is cached, bounded, grouped or truncated: commitments are a list, an earliest start is the first of all instants
at which one could be, and every waiting job gets its plan at every event, until none can have one. `simulate` is the
whole life of jobs that may end before their planned end, without outages and dependencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from joulewise.kernels.jobs.energy import JobLimits
from joulewise.kernels.jobs.greedy import GreedyRules
from joulewise.kernels.jobs.layout import JobFacts
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.limits import job_limits
from joulewise.simulate.jobs.arrays import greed_of, seen_facts
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.twins.jobs.timetable import NamedNodes

HOUR_S = 3600.0
NO_FILTER, PER_TASK, PER_RESOURCE = 0, 1, 2

JobValue = Callable[[float, float, float, float, float, float], float]


class Plan(NamedTuple):
    """Nodes for a job from start to end."""

    job: int
    option: int
    start_s: float
    end_s: float


@dataclass(eq=False)
class Twin:
    """A scheduler: what it has fixed, who waits, and who was dropped; the nodes by cluster if they are named."""

    facts: JobFacts
    limits: JobLimits
    rules: GreedyRules
    value: JobValue
    charge: list[float]
    fixed: list[Plan] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)
    named: list[NamedNodes] = field(default_factory=list)

    def event(self, ready: Iterable[int], now_s: float, next_s: float) -> list[Plan]:
        """One mapping event, to which these jobs come; returns what is fixed, in the order of planning."""
        self.waiting += ready
        hopeless = [i for i in self.waiting if self.most_utility(i, now_s) < self.rules.threshold]
        self.dropped.update(hopeless)
        self.waiting = [i for i in self.waiting if i not in hopeless]
        most_key, planned = self.most_key(now_s), list[Plan]()
        while True:
            choices = [self.choices(i, planned, most_key, now_s) for i in self.waiting if not _has(planned, i)]
            found = max((choice for some in choices for choice in some), default=None)
            if found is None or (self.rules.declines and not found[0] > 0):
                break
            planned.append(found[-1])
            self.pin(found[-1])
        due = [p for p in planned if self.rules.is_permanent or p.start_s <= now_s or p.start_s < next_s]
        self.waiting = [i for i in self.waiting if not _has(due, i)]
        self.fixed += due
        for p in planned:
            if p not in due:
                self.unpin(p.job, p.start_s)
        return due

    def pin(self, plan: Plan) -> None:
        if self.named:
            cluster, nodes = self.facts.options.cluster[plan.option], int(self.facts.options.nodes[plan.option])
            assert len(self.named[cluster].pin(plan.job, nodes, plan.start_s, plan.end_s)) == nodes

    def unpin(self, job: int, from_s: float) -> None:
        for named in self.named:
            named.unpin(job, from_s)

    def release(self, job: int, at_s: float) -> None:
        """End a job before its planned end."""
        self.fixed = [p._replace(end_s=at_s) if p.job == job else p for p in self.fixed]
        self.unpin(job, at_s)

    def choices(
        self, i: int, planned: list[Plan], most_key: float, now_s: float
    ) -> list[tuple[float, float, int, int, Plan]]:
        """What a job may choose, with what comes first highest: value, completion, job, option."""
        options, found = self.facts.options, []
        t = self.facts.tasks.task_type[i]
        for option in range(options.first[t], options.first[t + 1]):
            start_s = self.earliest(option, planned, now_s)
            end_s = start_s + float(options.planned_s[option])
            plan = Plan(i, option, start_s, end_s)
            utility = self.utility(i, end_s)
            if self.limits.filter_key[option] > most_key or not self.may_use(plan, planned, now_s):
                continue
            if self.rules.drops_options and utility < self.rules.threshold:
                continue
            found.append((self.worth(i, plan, utility), -end_s, -i, -option, plan))
        return found

    def worth(self, i: int, plan: Plan, utility: float) -> float:
        options, option = self.facts.options, plan.option
        value = self.value(
            utility, plan.end_s, options.planned_s[option], options.energy_j[option],
            plan.start_s - self.facts.tasks.arrival_s[i], options.resources[option],
        ) - self.charge[option]  # fmt: skip
        return -math.inf if math.isnan(value) else value

    # Utility

    def utility(self, i: int, at_s: float) -> float:
        """What a job earns when it completes then."""
        tasks, table = self.facts.tasks, self.facts.utilities
        x_s = at_s - tasks.arrival_s[i] - tasks.hold_s[i]
        shape = tasks.shape[i]
        rows = [row.tolist() for row in table.segments[table.first[shape] : table.first[shape + 1]]]
        if x_s <= 0:
            return float(tasks.scale[i] * (rows[0][1] + rows[0][2]))
        start_s, level, span, rate, slope, floor = [row for row in rows if row[0] <= x_s][-1]
        value = level
        if span:
            value += span * math.exp(-rate * (x_s - start_s))
        if slope:
            value += slope * (x_s - start_s)
        return float(tasks.scale[i] * max(value, floor))

    def most_utility(self, i: int, now_s: float) -> float:
        """What a job earns when it starts now with its fastest option."""
        options, t = self.facts.options, self.facts.tasks.task_type[i]
        return self.utility(i, now_s + float(options.planned_s[options.first[t] : options.first[t + 1]].min()))

    # Nodes and power

    def earliest(self, option: int, planned: list[Plan], now_s: float) -> float:
        """The first instant from which nodes and power are free for as long as the job takes."""
        held, duration_s = self.fixed + planned, float(self.facts.options.planned_s[option])
        instants = {now_s, *(p.end_s for p in held if p.end_s > now_s)}
        if self.limits.has_cap:
            last = max(instants) + HOUR_S * (self.limits.cap_mw.size + 1)
            instants |= {h * HOUR_S for h in range(int(now_s // HOUR_S) + 1, int(last // HOUR_S) + 1)}
        for at_s in sorted(instants):
            if self.is_free(option, held, at_s, at_s + duration_s):
                return at_s
        return math.inf

    def is_free(self, option: int, held: list[Plan], start_s: float, end_s: float) -> bool:
        options, limits = self.facts.options, self.limits
        cluster = options.cluster[option]
        if self.named:
            nodes = range(int(self.facts.n_nodes[cluster]))
            if sum(self.named[cluster].is_free(k, start_s, end_s) for k in nodes) < options.nodes[option]:
                return False
        changes = {start_s, *(p.start_s for p in held if start_s < p.start_s < end_s)}
        changes |= {h * HOUR_S for h in range(int(start_s // HOUR_S) + 1, math.ceil(end_s / HOUR_S))}
        for at_s in changes:
            running = [p.option for p in held if p.start_s <= at_s < p.end_s]
            taken = sum(int(options.nodes[o]) for o in running if options.cluster[o] == cluster)
            if taken + options.nodes[option] > self.facts.n_nodes[cluster]:
                return False
            cap_mw = limits.cap_mw[int(at_s // HOUR_S) % limits.cap_mw.size]
            if limits.has_cap and sum(int(limits.power_mw[o]) for o in [*running, option]) > cap_mw:
                return False
        return True

    # Energy

    def day(self, at_s: float) -> tuple[float, float]:
        """The day that holds an instant: from when to when."""
        n = math.floor((at_s - self.limits.start_s) / self.limits.day_s)
        start_s = self.limits.start_s + n * self.limits.day_s
        return start_s, start_s + self.limits.day_s

    def used_j(self, plans: list[Plan], from_s: float, to_s: float) -> float:
        """What plans use on top of idle nodes in a time."""
        cost_w = self.limits.cost_w
        return sum(float(cost_w[p.option]) * max(min(p.end_s, to_s) - max(p.start_s, from_s), 0.0) for p in plans)

    def budget_j(self, start_s: float, end_s: float, now_end_s: float) -> float:
        """What jobs may use on a day; of a total, its share of what the days before have left.

        Seen from a day before it (`now_end_s` is its end), that day is taken to use all of its own.
        """
        limits = self.limits
        length_s = end_s - max(start_s, 0.0)
        reserve_j = limits.reserve_w * length_s
        if not limits.is_total:
            return limits.budget_j * length_s / limits.day_s - reserve_j
        n = round((start_s - limits.start_s) / limits.day_s)
        if n < 0:
            return limits.budget_j / limits.n_days * length_s / limits.day_s - reserve_j
        left_j = limits.budget_j
        for earlier in range(n):
            from_s = limits.start_s + earlier * limits.day_s
            left_j -= self.used_j(self.fixed, from_s, from_s + limits.day_s) + limits.reserve_w * limits.day_s
        share_j = left_j / max(limits.n_days - n, 1) - reserve_j
        if now_end_s == start_s and n > 0:
            if n >= limits.n_days:
                return math.inf
            today_j = max(self.budget_j(start_s - limits.day_s, start_s, math.nan), 0.0)
            used_j = self.used_j(self.fixed, start_s - limits.day_s, start_s)
            share_j -= max(today_j - used_j, 0.0) / (limits.n_days - n)
        return share_j

    def may_use(self, plan: Plan, planned: list[Plan], now_s: float) -> bool:
        """Whether a plan starts in time, and today and tomorrow have its energy."""
        limits = self.limits
        if not plan.start_s < limits.latest_s:
            return False
        if not limits.has_budget:
            return True
        start_s, end_s = self.day(now_s)
        if not plan.start_s < end_s:
            return False
        today_j = self.budget_j(start_s, end_s, math.nan) - self.used_j(self.fixed, start_s, end_s)
        today_j -= self.used_j(planned, -math.inf, end_s)
        tomorrow_j = self.budget_j(end_s, end_s + limits.day_s, end_s)
        tomorrow_j -= self.used_j(self.fixed, end_s, end_s + limits.day_s) + self.used_j(planned, end_s, math.inf)
        after_j = self.used_j([plan], end_s, math.inf)
        return self.used_j([plan], -math.inf, math.inf) <= today_j and (after_j <= 0 or after_j <= tomorrow_j)

    def most_key(self, now_s: float) -> float:
        """What the filter lets an option have at most (eq. 6 to 9)."""
        limits, facts = self.limits, self.facts
        if limits.filtering == NO_FILTER:
            return math.inf
        start_s, end_s = self.day(now_s)
        used_j, budget_j = self.used_j(self.fixed, start_s, end_s), self.budget_j(start_s, end_s, math.nan)
        cores = facts.cores[facts.options.cluster] * facts.options.nodes
        resources = sum(float(n * c) for n, c in zip(facts.n_nodes, facts.cores, strict=True)) * (end_s - now_s)
        for p in self.fixed:
            resources -= float(cores[p.option]) * max(min(p.end_s, end_s) - max(p.start_s, now_s), 0.0)
        left_j = budget_j - used_j
        if left_j <= 0 or resources <= 0:
            return math.inf
        leniency = limits.leniency
        if limits.is_adaptive:
            every = limits.n_cores * (end_s - max(start_s, 0.0))
            if used_j <= 0 or every <= resources:
                return math.inf
            leniency = (budget_j / every) / (used_j / (every - resources))
        n_tasks = min(resources / limits.mean_resources, left_j / limits.mean_cost_j)
        share = n_tasks if limits.filtering == PER_TASK else resources
        return leniency * left_j / share / float(limits.factor[int(now_s // HOUR_S) % limits.factor.size])


def _has(plans: list[Plan], i: int) -> bool:
    return any(p.job == i for p in plans)


# A whole life


class Story(NamedTuple):
    """What became of the jobs: (option, start) of those that got nodes, and who was dropped."""

    plans: dict[int, tuple[int, float]]
    dropped: set[int]


def simulate(world: JobWorld, scheduler: Scheduler) -> Story:
    """Let jobs come, wait, run and end, with a mapping event by the clock or whenever anything happens."""
    facts, numbers = seen_facts(world, scheduler)
    limits = job_limits(
        world, facts, scheduler.energy_filter, scheduler.leniency, follows_tariff=scheduler.follows_tariff
    )
    assert scheduler.policy.objective is not None
    value = scheduler.policy.objective.value
    twin = Twin(facts, limits, greed_of(world, scheduler), value, [0.0] * facts.options.cluster.size)
    if scheduler.nodes == "pinned":
        twin.named = [NamedNodes(int(n)) for n in facts.n_nodes]
    first, arrival_s = facts.options.first, facts.tasks.arrival_s
    coming = [i for i, t in enumerate(facts.tasks.task_type) if first[t] < first[t + 1]]
    plans, ends = dict[int, tuple[int, float]](), dict[int, float]()
    now_s, interval_s = -1.0, scheduler.mapping_interval_s
    while True:
        instants = [*arrival_s[coming[:1]].tolist(), *ends.values(), *(start_s for _, start_s in plans.values())]
        if twin.waiting and math.isfinite(interval_s):
            instants.append((math.floor(now_s / interval_s) + 1) * interval_s)
        if twin.waiting and limits.has_budget:
            instants.append(twin.day(now_s)[1])
        now_s = min((at_s for at_s in instants if at_s > now_s), default=math.inf)
        if not now_s < limits.latest_s or now_s == math.inf:
            break
        for i in [i for i, end_s in ends.items() if end_s == now_s]:
            twin.release(i, now_s)
        ready = [i for i in coming if arrival_s[i] <= now_s]
        if math.isfinite(interval_s) and now_s % interval_s:
            coming, twin.waiting = coming[len(ready) :], twin.waiting + ready
            continue
        coming = coming[len(ready) :]
        next_s = now_s + interval_s if math.isfinite(interval_s) else now_s
        fixed = twin.event(ready, now_s, next_s)
        plans |= {p.job: (int(numbers[p.option]), p.start_s) for p in fixed}
        ends |= {p.job: p.start_s + float(facts.options.time_s[p.option]) for p in fixed}
    return Story(plans, twin.dropped)
