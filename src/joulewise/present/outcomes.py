"""The headline of a report on a search: what was reached, how near to what is proven, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present.assignments.aims import aim_of
from joulewise.present.findings import Finding
from joulewise.present.formats import decimals_for, fixed, metric_value, number, percent, plain
from joulewise.present.layout import Panel, hold, panels_of, sentence
from joulewise.present.records import METHOD, OBJECTIVE, PERCENTILES, RATIO, SEEDS, Records
from joulewise.units import count

_MAX_FINDINGS = 6
_NONE_YET = [Finding("No run has a result yet.")]
_VOLUME, _GAP = "hypervolume_percent", "gap_percent"


def front_findings(records: Records) -> list[Finding]:
    """At each setting the method that came nearest to the bound, how near, and the machine types it never used."""
    volumes = records.summary.filter(pl.col("metric") == _VOLUME, pl.col("mean").is_not_null())
    panels, _ = panels_of(records, volumes, [key for key in records.varying if key != METHOD])
    best = [panel.rows.row(int(panel.rows["mean"].arg_max() or 0), named=True) for panel in panels]
    found = [_front_finding(records, row, panel) for row, panel in zip(best, panels, strict=True)]
    return found[:_MAX_FINDINGS] or _NONE_YET


def _front_finding(records: Records, row: Mapping[str, Any], panel: Panel) -> Finding:
    """What the best method at one setting reached."""
    there = _means(records, row)
    method = records.label(METHOD, _method(records, row))
    best = " found the best front:" if panel.rows.height > 1 else " found a front with"
    lead = f"{_place(panel)}{method}{best} {_reached(row)} of the hypervolume of the proven bound{_interval(row)}."
    support = (_ends(there), _never_used(there))
    return Finding(sentence(lead), " ".join(part for part in support if part))


def _half(row: Mapping[str, Any]) -> float | None:
    return None if row["low"] is None else (row["high"] - row["low"]) / 2


def _reached(row: Mapping[str, Any]) -> str:
    return percent(row["mean"], max(2, decimals_for(_half(row))))


def _interval(row: Mapping[str, Any]) -> str:
    half = _half(row)
    return "" if half is None else f" (± {fixed(half, max(2, decimals_for(half)))}, {count(row['n'], 'trial')})"


def _place(panel: Panel) -> str:
    return f"{panel.title}: " if panel.title else ""


def _method(records: Records, row: Mapping[str, Any]) -> object:
    """The method of the runs at the point of a row of the summary."""
    return hold(records.runs, {key: row[key] for key in records.study.axes})[METHOD][0]


def _means(records: Records, row: Mapping[str, Any]) -> dict[str, float]:
    """The means of all metrics at the point of a row of the summary."""
    here = hold(records.summary, {key: row[key] for key in records.study.axes})
    return {name: mean for name, mean in here.select("metric", "mean").iter_rows() if mean is not None}


def _ends(means: Mapping[str, float]) -> str:
    """The least energy and makespan beside what is proven."""
    parts = [
        f"the least {word} is {metric_value(least, means[least])} ({metric_value(bound, means[bound])} is proven)"
        for word, least, bound in (
            ("energy", "least_energy_j", "energy_bound_j"),
            ("makespan", "least_makespan_s", "makespan_bound_s"),
        )
        if least in means and bound in means
    ]
    return f"{sentence('; '.join(parts))}." if parts else ""


def _never_used(means: Mapping[str, float]) -> str:
    shares = {name.partition(":")[2]: mean for name, mean in means.items() if name.startswith("task_percent:")}
    idle = [name for name, share in shares.items() if share == 0]
    return f"No point of it uses {', '.join(idle)}." if idle else ""


def profit_findings(records: Records) -> list[Finding]:
    """At each setting how near to its bound the profit came, and for which prices the optimum is off the front."""
    gaps = records.summary.filter(pl.col("metric") == _GAP, pl.col("mean").is_not_null())
    panels, _ = panels_of(records, gaps, [key for key in records.varying if key != RATIO])
    found = [_gap_finding(records, panel) for panel in panels[: _MAX_FINDINGS - 1]]
    return [*found, *_standing_findings(records), *_place_finding(records)] or _NONE_YET


def _standing_findings(records: Records) -> list[Finding]:
    """Where nothing runs: how often, and why at the first of these runs."""
    if "reason" not in records.runs.columns:
        return []
    stands = records.runs.filter(pl.col("verdict").is_not_null() & pl.col("makespan_s").is_null())
    first = stands.unique("verdict", keep="first", maintain_order=True)
    return [
        Finding(
            f"Nothing runs in {stands.filter(pl.col('verdict') == row['verdict']).height} of "
            f"{count(records.n_runs, 'run')}: {row['verdict']}.",
            sentence(f"{records.phrases(row, list(records.varying))}: {row['reason']}.".removeprefix(": ")),
        )
        for row in first.iter_rows(named=True)
    ]


def _gap_finding(records: Records, panel: Panel) -> Finding:
    ranked = list(panel.rows.sort("mean").iter_rows(named=True))
    least, most = ranked[0], ranked[-1]
    if len(ranked) == 1:
        lead = f"{_place(panel)}the allocation earns {_below(least)} less per second than the proven bound."
        return Finding(sentence(lead), _earned(_means(records, least)))
    lead = f"{_place(panel)}allocations earn {_below(least)} to {_below(most)} less per second than the proven bound."
    support = f"Nearest at {records.phrase(RATIO, least[RATIO])}, farthest at {records.phrase(RATIO, most[RATIO])}."
    return Finding(sentence(lead), support)


def _below(row: Mapping[str, Any]) -> str:
    return f"{number(row['mean'])} %"


def _earned(means: Mapping[str, float]) -> str:
    if not {"profit_per_s", "energy_j", "makespan_s"} <= set(means):
        return ""
    energy, makespan = (metric_value(name, means[name]) for name in ("energy_j", "makespan_s"))
    return f"It earns {number(means['profit_per_s'])} per second with {energy} in {makespan}."


def _place_finding(records: Records) -> list[Finding]:
    """For which profit ratios the most profit lies off the energy/makespan front, and for which there is loss."""
    if not records.varies(RATIO) or not records.measures("on_front_percent", "profit_bound_per_s"):
        return []
    by_ratio = records.runs.group_by(RATIO).agg(
        on=pl.col("on_front_percent").min(), profit=pl.col("profit_bound_per_s").max()
    )
    off = by_ratio.filter(pl.col("on") < 100)[RATIO].sort().to_list()
    loss = by_ratio.filter(pl.col("profit") < 0)[RATIO].sort().to_list()
    if not off:
        return [Finding("The most profit lies on the energy/makespan front at every profit ratio.")]
    lead = f"The most profit lies off the energy/makespan front at {_told(off)}."
    support = f"There is no schedule without loss at {_told(loss)}." if loss else ""
    return [Finding(lead, support)]


def _told(ratios: Sequence[float]) -> str:
    if len(ratios) < 3:
        return f"profit ratio {' and '.join(map(plain, ratios))}"
    return f"profit ratios from {plain(ratios[0])} to {plain(ratios[-1])}"


# --- utility and energy ---------------------------------------------------------------------------------

_AREAS = {
    "fresh_mean_percent": "of the whole box by its means on fresh samples",
    _VOLUME: "of the hypervolume of the proven bound",
    "normalised_percent": "of the whole box",
}
"""What fronts are judged by, first what serves where it is known, with what it is a percentage of."""
_COMPARED = (METHOD, SEEDS, OBJECTIVE, *PERCENTILES)


def utility_findings(records: Records) -> list[Finding]:
    """At each setting what found the best front of utility and energy, how good it is, and where a joule earns most."""
    known = set(records.summary.filter(pl.col("mean").is_not_null())["metric"])
    metric = next((name for name in _AREAS if name in known), None)
    if metric is None:
        return _NONE_YET
    areas = records.summary.filter(pl.col("metric") == metric, pl.col("mean").is_not_null())
    panels, _ = panels_of(records, areas, [key for key in records.varying if key not in _COMPARED])
    return [_utility_finding(records, panel, metric) for panel in panels[:_MAX_FINDINGS]]


def _utility_finding(records: Records, panel: Panel, metric: str) -> Finding:
    row = panel.rows.row(int(panel.rows["mean"].arg_max() or 0), named=True)
    best = " found the best front:" if panel.rows.height > 1 else " found a front with"
    lead = f"{_place(panel)}{_finder(records, row)}{best} {_reached(row)} {_AREAS[metric]}{_interval(row)}."
    means = _means(records, row)
    parts = (_proven(means, metric), _reach(means), _peak(means), _spread(means))
    return Finding(sentence(lead), " ".join(part for part in parts if part))


def _finder(records: Records, row: Mapping[str, Any]) -> str:
    """What found a front: the method, with the seeds and what it sought where these vary."""
    run = hold(records.runs, {key: row[key] for key in records.study.axes}).row(0, named=True)
    seeds = f" ({records.phrase(SEEDS, run[SEEDS])})" if SEEDS in records.varying else ""
    sought = f" for {aim_of(run)}" if any(key in records.varying for key in (OBJECTIVE, *PERCENTILES)) else ""
    return f"{records.label(METHOD, run[METHOD])}{seeds}{sought}"


def _proven(means: Mapping[str, float], metric: str) -> str:
    """How near to the bound the front is, where that is known and not said already."""
    if metric == _VOLUME or _VOLUME not in means:
        return ""
    return f"At mean times that is {percent(means[_VOLUME], 1)} {_AREAS[_VOLUME]}."


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
