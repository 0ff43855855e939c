"""Experiments of Friese chapter 2 and appendix G on mapping events: what triggers them, and how long they take."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.friese_2 import (
    BATCH,
    DAY,
    FREE_DAY,
    LOADS,
    NAIVE,
    SMART,
    families,
    metric_of,
    min_min,
    over_smart,
    percent_of,
)
from joulewise.study.catalogue.judging import (
    Claim,
    Samples,
    beside,
    each_number,
    number,
    ordering,
)


def _late_percent(runs: pl.DataFrame, policies: list[str], load: int) -> Samples:
    """Late events in percent of all, averaged over some policies, at a load without dropping."""
    where = {"load": load, "threshold": 0.0}
    shares = [
        metric_of(runs, "late_events", policy, **where) / metric_of(runs, "mapping_events", policy, **where)
        for policy in policies
    ]
    return np.asarray(100 * np.mean(shares, axis=0))


def _events_apart(runs: pl.DataFrame) -> dict[str, Samples]:
    """Mapping events of the policy, load and dropping threshold above 0 that has the fewest, and the most, by trial."""
    cases = product(BATCH, LOADS, (0.05, 0.5))
    events = [metric_of(runs, "mapping_events", p, load=load, threshold=threshold) for p, load, threshold in cases]
    return {"fewest": np.min(events, axis=0), "most": np.max(events, axis=0)}


def _collapse(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Half of what the quicker batch policies earn against both Max-Max ones at the higher load without dropping."""
    where = {"load": 50_000, "threshold": 0.0}
    return [
        (f"half of {quick} over {slow}", percent_of(runs, quick, **where) / 2 - percent_of(runs, slow, **where))
        for quick, slow in product(("min-min-comp", "met-max-util-max-upt"), ("max-max-util", "max-max-upt"))
    ]


FIG_2_7 = Experiment(
    "fig-2.7",
    "Mapping events and utility of policies whose mapping takes time",
    "Friese 2.7.2, 2.7.3 and app. G",
    "an event takes seconds by the size of its batch, for each batch policy as table G.1 says at threshold 0.5; "
    f"of an immediate policy it takes the milliseconds of that table at 50,000 tasks a day; {DAY}",
    "utility-by-threshold",
    (
        Claim(
            "2.7",
            "mapping events of Max-Max Util and Max-Max UPT at 50,000 tasks a day, no dropping",
            "about 200",
            each_number(
                200.0,
                lambda runs: {
                    policy: metric_of(runs, "mapping_events", policy, load=50_000, threshold=0.0)
                    for policy in ("max-max-util", "max-max-upt")
                },
            ),
        ),
        Claim(
            "2.7",
            "Max-Max Util and Max-Max UPT earn very little at 50,000 tasks a day, no dropping",
            "very low",
            ordering(_collapse),
            "read as: less than half of what the batch policies earn that map faster",
        ),
        Claim(
            "2.8",
            "mapping events of Min-Min Comp at 33,000 tasks a day, no dropping",
            "1,440",
            number(1440.0, lambda runs: metric_of(runs, "mapping_events", "min-min-comp", load=33_000, threshold=0.0)),
        ),
        Claim(
            "2.12",
            "mapping events of batch policies with any dropping",
            "1,440",
            each_number(1440.0, _events_apart),
            "the fewest and the most of any policy and load at thresholds 0.05 and 0.5; higher ones leave smaller "
            "batches. The times of events come from table G.1 at threshold 0.5, where none is near a minute",
            "constructed",
        ),
        Claim(
            "2.21",
            "mapping events that come late at 33,000 tasks a day, no dropping, on average over the policies",
            "32 %",
            number(32.0, lambda runs: _late_percent(runs, BATCH, 33_000), " %"),
        ),
        Claim(
            "2.9",
            "mapping events of immediate policies that come late at 50,000 tasks a day, no dropping, on average",
            "0.5 %",
            number(0.5, lambda runs: _late_percent(runs, [*NAIVE, *SMART], 50_000), " %"),
            "an event takes what table G.1 has for the policy at this load and threshold 0.5, 0.15 to 0.33 ms",
        ),
        Claim(
            "2.3",
            "naive immediate < smart immediate < batch, at both loads, where mapping takes time",
            "all pairs",
            ordering(families),
        ),
        over_smart(),
        min_min("2.5", 33_000, 53.13),
        min_min("2.6", 50_000, 41.26),
    ),
)

TRIGGERS = [
    "each arrival",
    "2 arrivals or 0.0576 min",
    "35 arrivals or 1 min",
    "70 arrivals or 2 min",
    "347 arrivals or 10 min",
]


def _sooner_is_better(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    first, *others = TRIGGERS
    return [
        (
            f"{policy}: {first} over {other}",
            percent_of(runs, policy, variant=first) - percent_of(runs, policy, variant=other),
        )
        for policy, other in product(BATCH, others)
    ]


def _little_gain(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Two points less how far mapping at each arrival is from mapping each minute."""
    gains = [
        percent_of(runs, policy, variant=TRIGGERS[0]) - percent_of(runs, policy, variant="35 arrivals or 1 min")
        for policy in BATCH
    ]
    return [
        (f"2 points less the difference of {policy}", 2.0 - np.abs(gain))
        for policy, gain in zip(BATCH, gains, strict=True)
    ]


FIG_2_8 = Experiment(
    "fig-2.8",
    "Percent of maximum utility of batch policies by what triggers mapping at 50,000 tasks a day",
    "Friese 2.7.4",
    FREE_DAY,
    "utility-by-policy",
    (
        Claim("2.18", "mapping at each arrival earns most", "each arrival", ordering(_sooner_is_better)),
        Claim(
            "2.18",
            "mapping at each arrival earns little more than each minute",
            "marginal",
            ordering(_little_gain),
            "read as: less than 2 points of the maximum utility, either way",
        ),
    ),
)

PUBLISHED_MS = {
    "random": (0.14, 0.15),
    "round-robin": (0.14, 0.15),
    "max-util": (0.20, 0.22),
    "max-upt": (0.30, 0.33),
    "met-random": (0.20, 0.22),
    "met-max-util": (0.20, 0.22),
    "min-min-comp": (9.76, 46.66),
    "sufferage": (57.32, 280.09),
    "max-max-util": (51.64, 316.47),
    "max-max-upt": (64.2, 319.61),
    "met-max-util-max-upt": (23.68, 66.22),
}
"""Table G.1: milliseconds per mapping event at 33,000 and at 50,000 tasks a day."""


def _event_us(runs: pl.DataFrame, policy: str, load: int) -> Samples:
    """Microseconds per mapping event: events are those of the counted 24 h of a run of 26 h."""
    mapping_s = metric_of(runs, "mapping_s", policy, load=load)
    return 1e6 * mapping_s * (24 / 26) / metric_of(runs, "mapping_events", policy, load=load)


def _slower(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Every two policies of which one is published to take at least twice the other's time, at both loads."""
    return [
        (f"{slow} over {fast} at {load:,}", _event_us(runs, slow, load) - _event_us(runs, fast, load))
        for at, load in enumerate(LOADS)
        for slow, fast in product(PUBLISHED_MS, PUBLISHED_MS)
        if PUBLISHED_MS[slow][at] >= 2 * PUBLISHED_MS[fast][at]
    ]


def _published_time(policy: str, published_ms: tuple[float, float]) -> Claim:
    return Claim(
        "2.20",
        f"time per mapping event of {policy} at 33,000 / 50,000 tasks a day",
        f"{published_ms[0]} / {published_ms[1]} ms",
        beside(lambda runs: [_event_us(runs, policy, load) for load in LOADS], " µs"),
    )


TABLE_G_1 = Experiment(
    "table-g.1",
    "Time per mapping event at dropping threshold 0.5, two loads",
    "Friese app. G",
    f"our own times on this computer, those of the whole run by its events; {DAY}",
    "utility-by-policy",
    (
        Claim(
            "2.20",
            "which policies take longer than which others for a mapping event",
            "table G.1",
            ordering(_slower, " µs"),
            "pairs whose published times differ by a factor of two or more, at both loads",
        ),
        *(_published_time(policy, published_ms) for policy, published_ms in PUBLISHED_MS.items()),
    ),
)
