"""The headline of a report on parallel jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present.findings import (
    MAX_FINDINGS,
    NONE_YET,
    Finding,
    best_findings,
    joined,
    means_at,
    place_of,
    tied_at,
    tied_said,
)
from joulewise.present.formats import number, percent
from joulewise.present.jobs.bars import SLOWDOWN, WAIT, earn_apart
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import job_view
from joulewise.present.layout import Panel, all_panels, sentence
from joulewise.present.records import Records
from joulewise.present.tables import metric_text
from joulewise.units import all_of, count

_IMPOSSIBLE, _CANCELLED = "jobs_impossible", "jobs_cancelled"


def job_findings(records: Records) -> list[Finding]:
    """Which scheduler earned most, with which jobs waited least, and what never ran."""
    if not records.n_runs:
        return NONE_YET
    seen, _ = job_view(records, folds=True)
    earned = best_findings(seen) if earn_apart(records) else []
    return [*earned, *_wait_findings(seen), *_cancelled(seen), *_impossible(seen)]


def _wait_findings(seen: Records) -> list[Finding]:
    """At each setting the scheduler with the shortest mean wait."""
    if not seen.measures(WAIT, SLOWDOWN):
        return []
    keys = [key for key in seen.varying if key != SCHEDULER]
    rows = seen.summary.filter(pl.col("metric") == WAIT, pl.col("mean").is_not_null())
    panels = all_panels(seen, rows, keys)
    return [_wait_finding(seen, panels[0])] if len(panels) == 1 else _common_waits(seen, panels)


def _common_waits(seen: Records, panels: Sequence[Panel]) -> list[Finding]:
    """With which schedulers jobs waited least, and at which settings."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        least = _least(panel)
        groups.setdefault(seen.phrases(least, [key for key in (SCHEDULER,) if key in seen.varying]), []).append(panel)
    ranked = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    return [_common_wait(seen, name, same, len(panels)) for name, same in ranked[:MAX_FINDINGS]]


def _common_wait(seen: Records, name: str, panels: Sequence[Panel], n_settings: int) -> Finding:
    least = sorted(map(_least, panels), key=lambda row: float(row["mean"]))
    span = " to ".join(dict.fromkeys(metric_text(WAIT, row) for row in (least[0], least[-1])))
    who = f"with {name}, jobs waited least" if name else "jobs waited"
    where = all_of(n_settings, "settings") if len(panels) == n_settings else f"{len(panels)} of {n_settings} settings"
    listed = "" if len(panels) == n_settings else "; ".join(panel.title for panel in panels[:MAX_FINDINGS]) + "."
    tied = tied_at([_tied(seen, panel) for panel in panels]) if name else ""
    return Finding(f"{sentence(who)} at {where}: {span} on average.", joined(sentence(listed), tied))


def _least(panel: Panel) -> dict[str, Any]:
    """The row of the shortest wait."""
    return panel.rows.sort("mean", maintain_order=True).row(0, named=True)


def _tied(seen: Records, panel: Panel) -> str:
    return tied_said(seen, panel, [SCHEDULER], WAIT, lowest=True)


def _wait_finding(seen: Records, panel: Panel) -> Finding:
    row = _least(panel)
    name = seen.phrases(row, [key for key in (SCHEDULER,) if key in seen.varying])
    of_several = panel.rows.height > 1 and name
    wait = metric_text(WAIT, row)
    lead = f"with {name}, jobs waited least: {wait}" if of_several else f"jobs waited {wait}"
    tied = _tied(seen, panel) if of_several else ""
    return Finding(f"{sentence(place_of(panel) + lead)} on average.", joined(tied, _beside(means_at(seen, row))))


def _beside(means: Mapping[str, float]) -> str:
    """The slowdown, and how busy the clusters were."""
    parts = [f"their mean bounded slowdown was {number(means[SLOWDOWN])}"]
    if "busy_percent" in means:
        parts.append(f"{percent(means['busy_percent'], 1)} of the cores' time was used")
    return f"{sentence('; '.join(parts))}."


def _cancelled(seen: Records) -> list[Finding]:
    """How many jobs were cancelled for others, in the run with most of them."""
    most = _most(seen, _CANCELLED)
    said = f"{count(most, 'job')} {'was' if most == 1 else 'were'} cancelled for others."
    return [Finding(said, "That many in the run with most of them; no mean of waits has them.")] if most else []


def _most(seen: Records, metric: str) -> int:
    """The most jobs of a run; none where they are not counted."""
    return int(seen.runs[metric].max() or 0) if seen.measures(metric) else 0  # type: ignore[arg-type]


def _impossible(seen: Records) -> list[Finding]:
    """How many jobs fit nowhere, in the run with most of them."""
    most = _most(seen, _IMPOSSIBLE)
    fit = "fits" if most == 1 else "fit"
    said = f"{count(most, 'job')} {fit} nowhere and never ran."
    return [Finding(said, "Nothing that they may use has room for them.")] if most else []
