"""The headline of a report on a bag: the front or the profit that was reached, and how near that is to the bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present.bags.keys import RATIO
from joulewise.present.findings import (
    MAX_FINDINGS,
    NONE_YET,
    Finding,
    joined,
    means_at,
    place_of,
    tied_said,
)
from joulewise.present.formats import metric_value, number, plain
from joulewise.present.fronts import VOLUME, best_fronts, best_row, share_said
from joulewise.present.layout import Panel, hold, panels_of, sentence
from joulewise.present.records import METHOD, Records
from joulewise.present.tables import metric_text
from joulewise.units import count

_GAP = "gap_percent"
_WHOLE = "of the hypervolume of the proven bound"


def front_findings(records: Records) -> list[Finding]:
    """At each setting the method that came nearest to the bound, how near, and the machine types it never used."""
    volumes = records.summary.filter(pl.col("metric") == VOLUME, pl.col("mean").is_not_null())
    panels, _ = panels_of(records, volumes, [key for key in records.varying if key != METHOD])
    found = [_front_finding(records, panel) for panel in panels[:MAX_FINDINGS]]
    names = [records.label(METHOD, _method(records, best_row(panel))) for panel in panels]
    ties = [tied_said(records, panel, [METHOD], VOLUME) for panel in panels]
    return [*best_fronts(names, ties, panels, _WHOLE), *found] or NONE_YET


def _front_finding(records: Records, panel: Panel) -> Finding:
    """What the best method at one setting reached."""
    row = best_row(panel)
    means = means_at(records, row)
    method = records.label(METHOD, _method(records, row))
    lead = f"{place_of(panel)}{method}{share_said(panel, _WHOLE)}"
    return Finding(
        sentence(lead), joined(tied_said(records, panel, [METHOD], VOLUME), _ends(means), _never_used(means))
    )


def _method(records: Records, row: Mapping[str, Any]) -> object:
    """The method of the runs at the point of a row of the summary."""
    return hold(records.runs, {key: row[key] for key in records.study.axes})[METHOD][0]


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
    panels = [Panel("", gaps), *panels] if len(panels) > 1 else panels
    gap_findings = [_gap_finding(records, panel) for panel in panels[: MAX_FINDINGS - 1]]
    return [*gap_findings, *_standing_findings(records), *_place_finding(records)] or NONE_YET


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
        lead = f"{place_of(panel)}the allocation earns {_below(least)} less per second than the proven bound."
        return Finding(sentence(lead), _earned(means_at(records, least)))
    lead = f"{place_of(panel)}allocations earn {_below(least)} to {_below(most)} less per second than the proven bound."
    keys = [RATIO] if panel.title else records.varying
    support = f"Nearest at {records.phrases(least, keys)}, farthest at {records.phrases(most, keys)}."
    return Finding(sentence(lead), support)


def _below(row: Mapping[str, Any]) -> str:
    return f"{metric_text(_GAP, row)} %"


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
    lead = f"The most profit lies off the energy/makespan front at {_ratios(off)}."
    support = f"Every schedule makes a loss at {_ratios(loss)}." if loss else ""
    return [Finding(lead, support)]


def _ratios(ratios: Sequence[float]) -> str:
    if len(ratios) < 3:
        return f"profit ratio {' and '.join(map(plain, ratios))}"
    return f"profit ratios from {plain(ratios[0])} to {plain(ratios[-1])}"
