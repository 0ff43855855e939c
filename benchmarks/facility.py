"""Plans of a facility: seconds, memory and proven gap of ours at every size, and what other techniques reach beside it.

Times are those of a search with its bound and of the factors of the room's air, and not of drawing the facility; a tiny
one is planned first in each process, so that no kernel is compiled or loaded within them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks.measure import Bar, Case, Subject, peak_mb, printed_by
from joulewise.check.facility.bound import facility_bound
from joulewise.check.facility.plan import check_facility
from joulewise.model.air import Air
from joulewise.model.facility import Facility
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.genetic import evolve_plans
from joulewise.optimise.facility.greedy import GREEDIES, plan_greedily
from joulewise.optimise.facility.nlp import plan_by_nlp
from joulewise.optimise.facility.planner import Proven, plan_facility
from joulewise.optimise.facility.search import FoundPlan
from joulewise.worlds.facility.site import SIZES, FacilitySize, generate_facility, sized

TINY = FacilitySize(12, 2, 2, 3)
GAPS = {"small": 0.005, "medium": 0.005, "large": 0.0045, "huge": 0.0098}
"""How close to its bound a plan must be for ours to stop, by size."""

TRIALS = {"small": 3, "medium": 3, "large": 1, "huge": 1}
WORST: Mapping[str, Callable[[list[float]], float]] = {"crr": min, "trials": sum}
"""What of several trials is reported where it is not the largest value."""

LONG_S, SMOKE_S = 30.0, 0.2
POLISH = {"mutation": 1.0, "gene_mutation": 0.001}
"""The rates with which the genetic algorithm goes on from a good plan: few genes of many children."""

SEARCHED = ("small", "medium", "large")
SEEDED, PROGRAMMED = ("small", "medium"), ("small",)
"""At which sizes the genetic algorithm starts from our plan too, and NLPCL has a chance."""

Technique = Callable[[Facility, Air], FoundPlan]


def facility_of(size: str, smoke: bool, seed: int, trial: int) -> Facility:
    """The facility of a size, with deadlines read as published; a smoke run has a tiny one of each."""
    wanted = sized(TINY if smoke else SIZES[size])
    return generate_facility(replace(wanted, flows=replace(wanted.flows, deadlines_alone=True)), seed, trial)


# Ours


def planned(size: str, case: Case) -> dict[str, float]:
    """Ours at one size, each trial in a process of its own; of several trials the worst counts."""
    rows = [_in_own_process(size, case, trial) for trial in range(1 if case.smoke else TRIALS[size])]
    return {f"{size}.{name}": WORST.get(name, max)([row[name] for row in rows]) for name in rows[0]}


def _in_own_process(size: str, case: Case, trial: int) -> dict[str, float]:
    script = f"from benchmarks.facility import report\nreport({size!r}, {case.smoke}, {case.seed}, {trial})"
    return dict(zip(FIGURES, printed_by(script, case), strict=True))


FIGURES = (
    "trials", "seconds", "cpu_s", "first_plan_s", "peak_mb", "crr", "bound", "gap_percent", "checked_gap_percent",
    "findings",
)  # fmt: skip
"""What is reported of a plan.

`crr` and `bound` are shares of the reward of all tasks. The checked gap is that to the bound of
the independent check, from the same prices; `findings` is what it finds wrong with the plan and its figures.
"""


def report(size: str, smoke: bool, seed: int, trial: int) -> None:
    """Print the figures of ours for one trial. Memory is taken before the check needs its own."""
    _warm_up()
    facility = facility_of(size, smoke, seed, trial)
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    air = Air(facility.room)
    found = plan_facility(facility, air, gap=GAPS[size])
    spent_s, cpu_s, most_mb = time.perf_counter() - began_s, time.process_time() - began_cpu_s, peak_mb()
    figures = {
        "trials": 1, "seconds": spent_s, "cpu_s": cpu_s, "first_plan_s": found.history[0][0], "peak_mb": most_mb,
        **_quality(facility, air, found),
    }  # fmt: skip
    print(*(figures[name] for name in FIGURES))


def _warm_up() -> None:
    """Plan a tiny facility: loads, or compiles, what the search needs."""
    facility = facility_of("small", True, 0, 0)
    plan_facility(facility, Air(facility.room))


def _quality(facility: Facility, air: Air, found: Proven) -> dict[str, float]:
    """What the plan earns, how far that is from the bounds, and how much an independent check finds wrong."""
    state, most = steady(facility, air, found.plan), facility.tasks.most_reward_per_s
    earned, checked = state.slowed_reward_per_s, facility_bound(facility, found.prices)
    return {
        "crr": earned / most,
        "bound": found.bound_per_s / most,
        "gap_percent": 100 * (1 - earned / found.bound_per_s),
        "checked_gap_percent": 100 * (1 - earned / checked),
        "findings": len(check_facility(facility, found.plan, state)),
    }


# Techniques beside each other


def techniques(case: Case) -> dict[str, float]:
    """The share of all reward that each technique earns, beside ours; for each its seconds."""
    figures: dict[str, float] = {}
    for size in SEARCHED[: 1 if case.smoke else None]:
        facility = facility_of(size, case.smoke, case.seed, 0)
        air = Air(facility.room)
        _warm_up_all(size)
        for name, value in _side_by_side(size, facility, air, case):
            figures[f"techniques.{size}.{name}"] = value
    return figures


def _side_by_side(size: str, facility: Facility, air: Air, case: Case) -> Iterator[tuple[str, float]]:
    began_s = time.perf_counter()
    ours = plan_facility(facility, air, gap=GAPS[size])
    spent_s = time.perf_counter() - began_s
    yield from _row("ours", facility, air, ours, spent_s)
    yield "bound.crr", ours.bound_per_s / facility.tasks.most_reward_per_s
    for name, technique in _others(size, ours, spent_s, case).items():
        yield from _row(name, facility, air, *_timed(technique, facility, air))


def _others(size: str, ours: FoundPlan, spent_s: float, case: Case) -> Mapping[str, Technique]:
    """Every technique that is to be tried at a size, by its name."""
    long_s = SMOKE_S if case.smoke else LONG_S
    return {
        **{f"greedy_{name.replace(' ', '_')}": partial(plan_greedily, name=name) for name in GREEDIES},
        "gacl": _gacl(spent_s),
        f"gacl_{LONG_S:.0f}_s": _gacl(long_s),
        **({"gacl_from_ours": _gacl(long_s, seeds=[ours.plan], **POLISH)} if size in SEEDED else {}),
        **({"nlpcl": _nlpcl(case)} if size in PROGRAMMED and find_spec("casadi") else {}),
    }


def _gacl(seconds: float, **wishes: Any) -> Technique:
    """The genetic algorithm, stopped by the clock alone."""
    return partial(evolve_plans, seconds=seconds, generations=1_000_000_000, **wishes)


def _nlpcl(case: Case) -> Technique:
    return partial(plan_by_nlp, counts_neighbours=True, seconds=SMOKE_S if case.smoke else math.inf)


def _timed(technique: Technique, facility: Facility, air: Air) -> tuple[FoundPlan, float]:
    began_s = time.perf_counter()
    return technique(facility, air), time.perf_counter() - began_s


def _row(name: str, facility: Facility, air: Air, found: FoundPlan, spent_s: float) -> Iterator[tuple[str, float]]:
    earned = steady(facility, air, found.plan).slowed_reward_per_s
    yield f"{name}.crr", earned / facility.tasks.most_reward_per_s
    yield f"{name}.seconds", spent_s


def _warm_up_all(size: str) -> None:
    """Let every technique that is to be tried plan a tiny facility."""
    facility = facility_of(size, True, 0, 0)
    air = Air(facility.room)
    ours = plan_facility(facility, air)
    for technique in _others(size, ours, SMOKE_S, Case(smoke=True)).values():
        technique(facility, air)


def _bars(size: str, seconds: float, percent: float, most_mb: float) -> Iterator[Bar]:
    """The bars of one size."""
    worst = f", the worst of {TRIALS[size]}" if TRIALS[size] > 1 else ""
    yield Bar(f"{size}: a plan with its bound in s{worst}", f"{size}.seconds", "at most", seconds)
    yield Bar(f"{size}: proven gap in %{worst}", f"{size}.gap_percent", "at most", percent)
    yield Bar(f"{size}: gap to the check's bound in %{worst}", f"{size}.checked_gap_percent", "at most", percent)
    yield Bar(f"{size}: what the check finds wrong", f"{size}.findings", "at most", 0)
    if math.isfinite(most_mb):
        yield Bar(f"{size}: MB of its process", f"{size}.peak_mb", "at most", most_mb)


SUBJECT = Subject(
    "facility",
    {**{size: partial(planned, size) for size in GAPS}, "techniques": techniques},
    (
        *_bars("small", 3, 1, math.inf),
        *_bars("medium", 3, 1, math.inf),
        *_bars("large", 10, 0.5, 500),
        *_bars("huge", 180, 1, 4000),
    ),
)
