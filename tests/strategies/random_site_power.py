"""Random sites whose nodes draw power, of which there is not enough, or not enough energy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from joulewise.model.conditions import ALONE
from joulewise.model.jobs import JobWorld
from joulewise.model.site import NodePower
from joulewise.model.site_power import least_w
from joulewise.model.supply import NO_LIMITS, Supply

UNIT_S = 900
"""What a second of other random worlds is, so that jobs run over full hours."""


def slowed(world: JobWorld) -> JobWorld:
    """All times are longer, and nobody is suspended, which limits of power do not allow."""
    types, work, conditions, site = world.types, world.jobs.work, world.jobs.conditions, world.site
    assert site is not None
    demands = world.jobs.demands
    assert demands is not None
    if conditions is not None:
        begin_s = conditions.begin_s
        longer_s = None if begin_s is None else begin_s * UNIT_S
        conditions = replace(conditions, delay_s=conditions.delay_s * UNIT_S, begin_s=longer_s)
    if demands.preemption is not None:
        giving = demands.preemption
        slow = replace(giving, grace_s=giving.grace_s * UNIT_S, exempt_s=giving.exempt_s * UNIT_S, suspends=None)
        demands = replace(demands, preemption=slow)
    kept = replace(site.kept, start_s=site.kept.start_s * UNIT_S, end_s=site.kept.end_s * UNIT_S)
    failed = site.failures
    failures = replace(failed, start_s=failed.start_s * UNIT_S, end_s=failed.end_s * UNIT_S)
    site = replace(site, kept=kept, failures=failures, hours=replace(site.hours, at_s=site.hours.at_s * UNIT_S))
    jobs = replace(
        world.jobs, work=replace(work, arrival_s=work.arrival_s * UNIT_S), conditions=conditions, demands=demands
    )
    types = replace(types, time_s=types.time_s * UNIT_S, planned_s=types.planned_s * UNIT_S)
    return replace(world, types=types, jobs=jobs, site=site)


@st.composite
def with_power(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds with powers by group of nodes or, more seldom, by job alone; nothing is limited."""
    world = slowed(draw(worlds))
    site, demands, types = world.site, world.jobs.demands, world.types
    assert site is not None
    assert demands is not None
    watts = st.sampled_from((0, 1, 1, 2, 5))
    if draw(st.sampled_from((False, False, False, True))):
        power_w = draw(st.lists(st.integers(1, 12), min_size=types.n_options, max_size=types.n_options))
        return replace(world, types=replace(types, power_w=np.array(power_w, float)))
    rows = st.lists(watts, min_size=len(site.resources), max_size=len(site.resources))
    idle_w = draw(st.lists(watts, min_size=site.n_groups, max_size=site.n_groups))
    alike = draw(st.booleans())
    n = 1 if alike else site.n_groups
    more_w = draw(st.lists(rows, min_size=n, max_size=n)) * (site.n_groups // n)
    site = replace(site, power=NodePower(np.array(idle_w, float), np.array(more_w, float)))
    of_option = least_w(site, demands)[demands.of_job][types.of_option]
    return replace(world, site=site, types=replace(types, power_w=of_option))


@st.composite
def limited(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds with a cap, a budget or both, in a window that ends."""
    world = draw(with_power(worlds))
    work = world.jobs.work
    start_s = float(draw(st.sampled_from((0, 0, 3, 6)))) * UNIT_S
    end_s = max(start_s, float(work.arrival_s[-1])) + draw(st.integers(1, 60)) * UNIT_S
    work = replace(work, start_s=start_s, end_s=end_s)
    supply = draw(supplies(1.0 if world.site is None else world.site.idle_w, end_s - start_s, most_of_parts_w(world)))
    return replace(world, jobs=replace(world.jobs, work=work), supply=supply)


def most_of_parts_w(world: JobWorld) -> float:
    """What the parts of a job draw together at least, at most: less than that is refused."""
    told, types = world.jobs.conditions, world.types
    if told is None or told.together is None:
        return 0.0
    sums: defaultdict[int, float] = defaultdict(float)
    for job in np.flatnonzero(told.together != ALONE).tolist():
        kind = world.jobs.work.task_type[job]
        sums[int(told.together[job])] += sum(types.power_w[types.first[kind] : types.first[kind + 1]].tolist())
    return max(sums.values(), default=0.0)


@st.composite
def supplies(draw: st.DrawFn, idle_w: float, length_s: float, least_w: float = 0.0) -> Supply:
    """Limits of a few jobs beside idle nodes, of which caps leave the least."""
    pue, day_s = draw(st.sampled_from((1.0, 1.0, 1.5))), float(draw(st.sampled_from((4, 6, 10)))) * UNIT_S
    kinds = draw(st.sampled_from(("cap", "caps", "budget", "total", "both")))
    more_w = draw(st.lists(st.sampled_from((1, 4, 8, 12, 24)), min_size=1, max_size=1 if kinds == "cap" else 4))
    found: dict[str, Any] = {"pue": pue, "day_s": day_s}
    if kinds in ("cap", "caps", "both"):
        found["cap_w"] = pue * (idle_w + least_w) + np.array(more_w, float)
    if kinds in ("budget", "total", "both"):
        day_j = pue * idle_w * day_s + draw(st.integers(1, 12)) * 4 * UNIT_S
        n_days = int(np.ceil(length_s / day_s))
        found |= {"is_total": kinds == "total", "budget_j": day_j * (n_days if kinds == "total" else 1)}
    return replace(NO_LIMITS, **found)
