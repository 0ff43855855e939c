"""Experiments of Friese chapter 4."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment, Reading
from joulewise.study.catalogue.friese_3_weights import earned_until, utility_at
from joulewise.study.catalogue.judging import Claim, Samples, beside, in_each, number, ordering, per_trial

PLAIN = ["fcfs-p0", "fcfs-all", "lcfs-p0", "lcfs-all"]
PRIORITIZED = [f"prioritized-{policy}" for policy in PLAIN]
BY_UTILITY = ["max-max-util", "max-max-upt", "max-max-upe"]
POLICIES = ["random-batch", *PLAIN, *PRIORITIZED, *BY_UTILITY]
UPE = "max-max-upe"
OTHERS = [policy for policy in POLICIES if policy != UPE]
ENVIRONMENTS = ["queued", "polled"]
FILTERS = ["none", "adaptive"]
EXHAUSTED_PERCENT = 99.0

STATIC = Reading("", "", "budget of 1.11 GJ as printed; energy is static and dynamic power of running tasks")
DYNAMIC = Reading(
    "-dynamic",
    ", dynamic power alone",
    "energy is dynamic power of running tasks alone, the only power that the chapter prints; budget by the rule of "
    "70 % in this world (budget-4), because the 1.11 GJ that are printed are more than machines use without one",
)
READINGS = (STATIC, DYNAMIC)
"""Of what machines draw: static power as in chapter 3, or dynamic power alone."""
_WORLD = (
    "utility classes A to D, because the 20 of the chapter are not printed; mapping takes no simulated time; a polled "
    "task is dropped by what any machine that can run it offers; completions count in the 24 h after 2 h of warm-up"
)
_READING = f"{STATIC.reading}; {_WORLD}"


def _metric(
    runs: pl.DataFrame, metric: str, policy: str, environment: str | list[str], energy_filter: str | list[str]
) -> Samples:
    where = {
        "manager.policy": policy,
        "manager.environment": environment,
        "manager.energy_filter": energy_filter,
    }
    return per_trial(runs, metric, where)


def _utility(runs: pl.DataFrame, policy: str, environment: str, energy_filter: str) -> Samples:
    return _metric(runs, "utility", policy, environment, energy_filter)


def _polled_over_queued(
    runs: pl.DataFrame, metric: str, energy_filters: list[str], policies: Sequence[str] = POLICIES
) -> list[tuple[str, Samples]]:
    return [
        (
            f"{policy}, filter {chosen}",
            _metric(runs, metric, policy, "polled", chosen) - _metric(runs, metric, policy, "queued", chosen),
        )
        for policy, chosen in product(policies, energy_filters)
    ]


def _filter_gain(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """What the filter gains; of Max-Max UPE, 1 % of its utility less what it gains."""
    found = []
    for policy, environment in product(POLICIES, ENVIRONMENTS):
        without = _utility(runs, policy, environment, "none")
        gain = _utility(runs, policy, environment, "adaptive") - without
        if policy == UPE:
            found.append((f"1 % less the gain of {policy}, {environment}", 0.01 * without - gain))
        else:
            found.append((f"{policy}, {environment}", gain))
    return found


def _exhausts(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How far the others use more than 99 % of the budget without a filter, and Max-Max UPE less."""
    found = []
    for policy, environment in product(POLICIES, ENVIRONMENTS):
        above = _metric(runs, "budget_percent", policy, environment, "none") - EXHAUSTED_PERCENT
        found.append((f"{policy}, {environment}", -above if policy == UPE else above))
    return found


def _pairs(
    runs: pl.DataFrame,
    pairs: list[tuple[str, str]],
    energy_filters: Sequence[str] = FILTERS,
    environments: Sequence[str] = ENVIRONMENTS,
) -> list[tuple[str, Samples]]:
    """Better over worse policy in some environments."""
    return [
        (
            f"{better} over {worse}, {environment}, filter {chosen}",
            _utility(runs, better, environment, chosen) - _utility(runs, worse, environment, chosen),
        )
        for (better, worse), environment, chosen in product(pairs, environments, energy_filters)
    ]


_UPE_FIRST = [(UPE, other) for other in OTHERS]
_NEWEST_FIRST = [(policy.replace("fcfs", "lcfs"), policy) for policy in (*PLAIN, *PRIORITIZED) if "fcfs" in policy]
_PRIORITY_FIRST = list(zip(PRIORITIZED, PLAIN, strict=True))
_FASTEST_ONLY = [("fcfs-p0", "fcfs-all"), ("lcfs-p0", "lcfs-all")]
_ALL_PSTATES = [(f"prioritized-{every}", f"prioritized-{fastest}") for fastest, every in _FASTEST_ONLY]


def _level_shares(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """With the filter: critical tasks earn more polled than queued, and more of their maximum than low ones."""
    shares = _polled_over_queued(runs, "priority_percent:critical", ["adaptive"])
    for policy, environment in product((*PRIORITIZED, *BY_UTILITY), ENVIRONMENTS):
        critical, low = (
            _metric(runs, f"priority_percent:{level}", policy, environment, "adaptive") for level in ("critical", "low")
        )
        shares.append((f"critical over low, {policy}, {environment}", critical - low))
    return shares


def _quickest_and_slowest(runs: pl.DataFrame) -> list[Samples]:
    """Microseconds of a mapping event of the policy that takes least, and of that which takes most, by trial."""
    event_us = [
        1e6 * _metric(runs, "mapping_s", *case) * (24 / 26) / _metric(runs, "mapping_events", *case)
        for case in product(POLICIES, ENVIRONMENTS, FILTERS)
    ]
    return [np.min(event_us, axis=0), np.max(event_us, axis=0)]


_FIG_4_4 = (
    Claim(
        "4.1",
        "polled machines earn more than queued ones",
        "for most policies",
        in_each(
            {
                f"filter {name}": partial(_polled_over_queued, metric="utility", energy_filters=[name])
                for name in FILTERS
            },
            " utility",
            "most",
        ),
    ),
    Claim(
        "4.2",
        "the adaptive filter makes every policy but Max-Max UPE earn more",
        "all but UPE",
        ordering(_filter_gain, " utility"),
        "of Max-Max UPE read as: it gains less than 1 %",
    ),
    Claim(
        "4.3",
        "without the filter every policy but Max-Max UPE exhausts the budget",
        "all but UPE",
        ordering(_exhausts),
        "read as: uses more than 99 % of it",
    ),
    Claim(
        "4.4",
        "Max-Max UPE earns most",
        "most",
        ordering(lambda runs: _pairs(runs, _UPE_FIRST), " utility"),
    ),
    Claim(
        "4.5",
        "LCFS earns more than FCFS",
        "usually",
        in_each(
            {
                f"{name}, filter {chosen}": partial(
                    _pairs, pairs=_NEWEST_FIRST, environments=[name], energy_filters=[chosen]
                )
                for name, chosen in product(ENVIRONMENTS, FILTERS)
            },
            " utility",
            "most",
        ),
    ),
    Claim(
        "4.6",
        "prioritized policies earn more than plain ones",
        "more",
        ordering(lambda runs: _pairs(runs, _PRIORITY_FIRST), " utility"),
    ),
    Claim(
        "4.7",
        "with the filter FCFS and LCFS earn more in P-state 0 alone than in all P-states",
        "more",
        ordering(lambda runs: _pairs(runs, _FASTEST_ONLY, ["adaptive"]), " utility"),
    ),
    Claim(
        "4.8",
        "with the filter prioritized FCFS and LCFS earn more in all P-states than in P-state 0 alone",
        "more",
        ordering(lambda runs: _pairs(runs, _ALL_PSTATES, ["adaptive"]), " utility"),
    ),
    Claim(
        "4.9",
        "polled machines earn a larger part of what critical tasks are worth, and policies that look at priority "
        "or utility a larger part of critical than of low ones",
        "fig. 4.5",
        ordering(_level_shares),
        "with the filter; critical is level 8 and low level 1",
    ),
    Claim(
        "4.10",
        "polled machines idle more than queued ones",
        "more",
        ordering(lambda runs: _polled_over_queued(runs, "idle_percent", FILTERS)),
        "idle time includes that after the budget is used up",
    ),
    Claim(
        "4.10 (with energy)",
        "polled machines idle more than queued ones while there is energy",
        "more",
        ordering(lambda runs: _polled_over_queued(runs, "idle_with_energy_percent", FILTERS)),
        "idle time until the budget is used up, in percent of the machine time until then",
    ),
    Claim(
        "4.11",
        "mapping events take little time",
        "order 0.1 ms, at most 3 ms",
        beside(_quickest_and_slowest, " µs"),
        "means of the quickest and of the slowest of all policies, environments and filters, on this computer; the "
        "longest event is not measured",
    ),
)


def _fig_4_4(world: Reading) -> Experiment:
    return Experiment(
        f"fig-4.4{world.suffix}",
        f"Utility by policy, environment and energy filter at 32,000 tasks a day{world.words}",
        "Friese 4.5",
        f"{world.reading}; {_WORLD}",
        "utility-by-setting",
        _FIG_4_4,
        standing="stand-in",
    )


FIG_4_4, FIG_4_4_DYNAMIC = (_fig_4_4(world) for world in READINGS)


def _budget_gj(runs: pl.DataFrame, variant: str, environment: str) -> Samples:
    """70 % of what Max-Max UPT uses without a budget."""
    return 0.7e-9 * per_trial(runs, "energy_j", {"variant": variant, "manager.environment": environment})


BUDGET_4 = Experiment(
    "budget-4",
    "Where the budget comes from, in both readings of power",
    "Friese 4.4.4",
    f"the text says neither in which environment nor of which power; {_WORLD}",
    "utility-by-setting",
    tuple(
        Claim(
            f"4.13 ({variant}, {environment})",
            f"70 % of what Max UPT uses without a budget, {environment}, {variant}",
            "1.11 GJ",
            number(1.11, partial(_budget_gj, variant=variant, environment=environment), " GJ"),
        )
        for variant, environment in product(("static and dynamic power", "dynamic power alone"), ENVIRONMENTS)
    ),
    standing="stand-in",
)

QUARTERS_MIN = (0, 360, 720, 1080, 1440)


def _earned(runs: pl.DataFrame, quarter: tuple[int, int], environment: str, energy_filter: str) -> Samples:
    """What Max-Max Util earns in a quarter of the day."""
    start, end = (_utility_until(runs, minute, environment, energy_filter) for minute in quarter)
    return end - start


def _utility_until(runs: pl.DataFrame, minute: int, environment: str, energy_filter: str) -> Samples:
    return _metric(runs, utility_at(minute), "max-max-util", environment, energy_filter)


def _steeper(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """With the filter, which leaves energy for all of the day: polled over queued in each quarter."""
    return [
        (
            f"minutes {quarter[0]} to {quarter[1]}",
            _earned(runs, quarter, "polled", "adaptive") - _earned(runs, quarter, "queued", "adaptive"),
        )
        for quarter in pairwise(QUARTERS_MIN)
    ]


def _saved_for_later(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """What the filter earns more in the last quarter."""
    last = (QUARTERS_MIN[-2], QUARTERS_MIN[-1])
    return [
        (environment, _earned(runs, last, environment, "adaptive") - _earned(runs, last, environment, "none"))
        for environment in ENVIRONMENTS
    ]


FIG_4_6 = Experiment(
    "fig-4.6",
    "Utility and energy of Max-Max Util over the day by environment and energy filter",
    "Friese 4.5",
    f"{_READING}; the figure shows the first trial",
    "utility-over-time",
    (
        Claim(
            "4.14",
            "the polled environment always has a higher slope than the queued one",
            "always higher",
            ordering(_steeper, " utility"),
            "Max-Max Util with the filter, in each quarter of the day",
        ),
        Claim(
            "4.15",
            "the filter saves energy that earns utility in later parts of the day",
            "more",
            ordering(_saved_for_later, " utility"),
            "Max-Max Util, in the last quarter of the day, against no filter",
        ),
    ),
    earned_until(*QUARTERS_MIN),
    standing="stand-in",
)


SLOW = ("prioritized-fcfs-p0", *BY_UTILITY)
"""The policies whose mapping events are far apart."""


def _queued_when_slow(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Queued over polled where events are 20 min apart, which is twice the mean execution time."""
    slow = runs.filter(np.isclose(runs["manager.mapping_interval_s"].to_numpy(), 1200.0))
    return [(name, -difference) for name, difference in _polled_over_queued(slow, "utility", FILTERS, SLOW)]


SLOW_MAPPING = Experiment(
    "slow-mapping",
    "Utility by environment and time between mapping events at 32,000 tasks and 1.11 GJ a day",
    "Friese 4.5",
    f"{_READING}; slow mapping read as mapping events 20 min apart, twice the mean execution time",
    "utility-by-setting",
    (
        Claim(
            "4.12",
            "when mapping events are far apart, queued machines earn more than polled ones",
            "likely",
            ordering(_queued_when_slow, " utility"),
        ),
    ),
    standing="stand-in",
)
