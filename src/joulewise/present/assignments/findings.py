"""The headline of a report on tasks known in advance: the front of utility and energy, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from joulewise.present.assignments.aims import aim_of
from joulewise.present.assignments.keys import OBJECTIVE, PERCENTILES
from joulewise.present.findings import MAX_FINDINGS, NONE_YET, Finding, joined, means_at, place_of, tied_said
from joulewise.present.formats import metric_value, percent
from joulewise.present.fronts import VOLUME, best_fronts, best_row, share_said
from joulewise.present.layout import Panel, hold, panels_of, sentence
from joulewise.present.records import METHOD, SEEDS, Records

_AREAS = {
    "fresh_mean_percent": "of the whole box by its means on fresh samples",
    VOLUME: "of the hypervolume of the proven bound",
    "normalised_percent": "of the whole box",
}
"""What fronts are judged by, first what serves where it is known, with what it is a percentage of."""
_COMPARED = (METHOD, SEEDS, OBJECTIVE, *PERCENTILES)


def utility_findings(records: Records) -> list[Finding]:
    """At each setting what found the best front of utility and energy, how good it is, and where a joule earns most."""
    means = records.summary.filter(pl.col("mean").is_not_null())
    metric = next((name for name in _AREAS if name in set(means["metric"])), None)
    if metric is None:
        return NONE_YET
    panels, _ = panels_of(
        records, means.filter(pl.col("metric") == metric), [key for key in records.varying if key not in _COMPARED]
    )
    names = [_finder(records, best_row(panel)) for panel in panels]
    found = [_utility_finding(records, panel, metric) for panel in panels[:MAX_FINDINGS]]
    ties = [_tied(records, panel, metric) for panel in panels]
    return [*best_fronts(names, ties, panels, _AREAS[metric]), *found]


def _utility_finding(records: Records, panel: Panel, metric: str) -> Finding:
    row = best_row(panel)
    lead = f"{place_of(panel)}{_finder(records, row)}{share_said(panel, _AREAS[metric])}"
    means = means_at(records, row)
    return Finding(
        sentence(lead),
        joined(_tied(records, panel, metric), _proven(means, metric), _reach(means), _peak(means), _spread(means)),
    )


def _tied(records: Records, panel: Panel, metric: str) -> str:
    compared = [key for key in _COMPARED if key in records.varying]
    return tied_said(records, panel, compared, metric) if compared else ""


def _finder(records: Records, row: Mapping[str, Any]) -> str:
    """What found a front: the method, with the seeds and what it sought where these vary."""
    run = hold(records.runs, {key: row[key] for key in records.study.axes}).row(0, named=True)
    seeds = f" ({records.phrase(SEEDS, run[SEEDS])})" if SEEDS in records.varying else ""
    sought = f" for {aim_of(run)}" if any(key in records.varying for key in (OBJECTIVE, *PERCENTILES)) else ""
    return f"{records.label(METHOD, run[METHOD])}{seeds}{sought}"


def _proven(means: Mapping[str, float], metric: str) -> str:
    """How near to the bound the front is, where that is known and not said already."""
    if metric == VOLUME or VOLUME not in means:
        return ""
    return f"At mean times that is {percent(means[VOLUME], 1)} {_AREAS[VOLUME]}."


def _reach(means: Mapping[str, float]) -> str:
    names = ("least_energy_j", "least_energy_utility", "most_utility_energy_j", "most_utility")
    if not set(names) <= set(means):
        return ""
    first, least, last, most = (metric_value(name, means[name]) for name in names)
    return f"It reaches from a utility of {least} for {first} to {most} for {last}."


def _peak(means: Mapping[str, float]) -> str:
    if not {"peak_energy_j", "peak_utility_per_mj"} <= set(means):
        return ""
    at, rate = (metric_value(name, means[name]) for name in ("peak_energy_j", "peak_utility_per_mj"))
    return f"A joule earns most at {at}: {rate} per MJ."


def _spread(means: Mapping[str, float]) -> str:
    if not {"energy_sd_percent", "utility_sd_percent"} <= set(means):
        return ""
    energy, utility = (percent(means[name], 2) for name in ("energy_sd_percent", "utility_sd_percent"))
    return f"From sample to sample its energies vary by {energy} and its utilities by {utility} (standard deviation)."
