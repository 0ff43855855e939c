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
from joulewise.present.jobs.view import FINDINGS, job_view
from joulewise.present.layout import Panel, all_panels, runs_of, sentence
from joulewise.present.records import Records
from joulewise.present.tables import metric_text
from joulewise.units import all_of, count

_ARRIVED, _NOT_STARTED = "jobs_arrived", ("jobs_waiting", "jobs_dropped", "jobs_impossible")
_NOTABLE = 0.01
"""Of the jobs that arrived: where so many more never started with one scheduler, mean waits are of other jobs."""
_IMPOSSIBLE, _CANCELLED = "jobs_impossible", "jobs_cancelled"


def job_findings(records: Records) -> list[Finding]:
    """Which scheduler earned most, with which jobs waited least, and what never ran."""
    if not records.n_runs:
        return NONE_YET
    seen, _ = job_view(records, folds=True)
    earned = best_findings(seen) if earn_apart(records) else []
    return [*earned, *_wait_findings(seen), *_cancelled(seen), *_impossible(seen)]


def _wait_findings(seen: Records) -> list[Finding]:
    """At each setting the scheduler with the shortest mean wait, where much the same jobs started with all."""
    if not seen.measures(WAIT, SLOWDOWN):
        return []
    keys = [key for key in seen.varying if key != SCHEDULER]
    rows = seen.summary.filter(pl.col("metric") == WAIT, pl.col("mean").is_not_null())
    panels = all_panels(seen, rows, keys)
    apart = [panel for panel in panels if _starts_differ(seen, panel)]
    alike = [panel for panel in panels if panel not in apart]
    return [*_of_alike(seen, alike, len(panels)), *(_apart(seen, panel) for panel in apart[:MAX_FINDINGS])]


def _of_alike(seen: Records, panels: Sequence[Panel], n_settings: int) -> list[Finding]:
    """What is said of waits at settings at which they can be held against each other."""
    return [_wait_finding(seen, panels[0])] if n_settings == len(panels) == 1 else _common_waits(seen, panels)


def _starts_differ(seen: Records, panel: Panel) -> bool:
    """Whether notably more of the jobs started with one scheduler than with another."""
    shares = [row["left"] / row["arrived"] for row in _left(seen, panel).values() if row["arrived"]]
    return max(shares, default=0.0) - min(shares, default=0.0) > _NOTABLE


def _left(seen: Records, panel: Panel) -> dict[Any, dict[str, float]]:
    """How many jobs of a panel arrived and how many of them never started, by scheduler: means of the runs."""
    names = [name for name in (_ARRIVED, *_NOT_STARTED) if seen.measures(name)]
    if _ARRIVED not in names:
        return {}
    runs = runs_of(seen, panel).with_columns(left=pl.sum_horizontal(names[1:]) if names[1:] else pl.lit(0))
    means = runs.group_by(SCHEDULER, maintain_order=True).agg(pl.col("left").mean(), arrived=pl.col(_ARRIVED).mean())
    return {row[SCHEDULER]: row for row in means.iter_rows(named=True)}


def _apart(seen: Records, panel: Panel) -> Finding:
    """That fewer jobs waiting may only be those that never started."""
    labels, left = seen.labels(SCHEDULER), _left(seen, panel)
    numbers = [f"{labels[name]} {_of_arrived(row)}" for name, row in left.items()]
    lead = f"{place_of(panel)}how many jobs never started differs, so that no wait is called the shortest."
    waits = {row[SCHEDULER]: metric_text(WAIT, row) for row in panel.rows.iter_rows(named=True)}
    told = "; ".join(f"{labels[name]} {wait}" for name, wait in waits.items())
    return Finding(sentence(lead), f"Never started: {'; '.join(numbers)}. Mean waits of those that did: {told}.")


def _of_arrived(row: Mapping[str, float]) -> str:
    return f"{row['left']:,.0f} of {count(round(row['arrived']), 'job')}"


def _never_started(seen: Records, panel: Panel, scheduler: object) -> str:
    """How many jobs never started, which are in no mean; where all did, of how many jobs the mean is."""
    row = _left(seen, panel).get(scheduler)
    if row is None:
        return ""
    if not row["left"]:
        return f"The mean is of {count(round(row['arrived']), 'job')}."
    return f"Never started, and are in no mean: {_of_arrived(row)}."


def _common_waits(seen: Records, panels: Sequence[Panel]) -> list[Finding]:
    """With which schedulers jobs waited least, and at which settings."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        least, keys = _least(panel), [key for key in (SCHEDULER,) if key in seen.varying]
        name = "" if keys and _equals(seen, panel) else seen.phrases(least, keys)
        groups.setdefault(name, []).append(panel)
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
    several = panel.rows.height > 1
    name = seen.phrases(row, [key for key in (SCHEDULER,) if key in seen.varying])
    equals = _equals(seen, panel) if several and name else ""
    of_several = several and name and not equals
    wait = metric_text(WAIT, row)
    lead = f"with {name}, jobs waited least: {wait}" if of_several else f"jobs waited {wait}"
    tied = _tied(seen, panel) if of_several else ""
    of_how_many = _never_started(seen, panel, row.get(SCHEDULER, seen.values(SCHEDULER)[0]))
    support = joined(equals, tied, of_how_many, _beside(means_at(seen, row)))
    return Finding(f"{sentence(place_of(panel) + lead)} on average.", support)


def _equals(seen: Records, panel: Panel) -> str:
    """That others have the very same shortest wait; nothing where one alone has it."""
    least = panel.rows.filter(pl.col("mean") == pl.col("mean").min())
    if least.height == 1:
        return ""
    names = [seen.phrases(row, [SCHEDULER]) for row in least.iter_rows(named=True)]
    alike = "all" if least.height == panel.rows.height else "; ".join(names)
    return f"That is the same with {alike}."


def _beside(means: Mapping[str, float]) -> str:
    """The slowdown, and how busy the clusters were."""
    parts = [f"their mean bounded slowdown was {number(means[SLOWDOWN])}"]
    if "busy_percent" in means:
        parts.append(f"{percent(means['busy_percent'], 1)} of the cores' time was used")
    return f"{sentence('; '.join(parts))}."


def _cancelled(seen: Records) -> list[Finding]:
    """How many jobs a site cancelled, for others or as nodes failed, in the run with most of them."""
    most = _most(seen, _CANCELLED)
    said = f"{count(most, 'job')} {'was' if most == 1 else 'were'} cancelled, for others or as a node failed."
    return [Finding(said, "That many in the run with most of them; no mean of waits has them.")] if most else []


def _most(seen: Records, metric: str) -> int:
    """The most jobs of a run; none where they are not counted."""
    return int(seen.runs[metric].max() or 0) if seen.measures(metric) else 0  # type: ignore[arg-type]


def _impossible(seen: Records) -> list[Finding]:
    """How many jobs could never start, in the run with most of them, and why, where tables of runs were kept."""
    most = _most(seen, _IMPOSSIBLE)
    if not most:
        return []
    reasons = _reasons(seen)
    said = f"{count(most, 'job')} {'fits' if most == 1 else 'fit'} nowhere and never ran."
    if not reasons:
        return [Finding(said, "Nothing that they may use has room for them.")]
    return [Finding(f"{count(most, 'job')} could never start.", f"{sentence(reasons)}.")]


def _reasons(seen: Records) -> str:
    """Why jobs of a log could never start on a site, as far as its first run that was kept tells."""
    if not seen.keeps(FINDINGS, "key", "n", "done"):
        return ""
    table = seen.frame(FINDINGS)
    shut = table.filter(pl.col("run") == table["run"][0], pl.col("done").cast(pl.String) == "impossible")
    return "; ".join(f"{key} ({n:,})" for key, n in shut.select("key", "n").head(MAX_FINDINGS).iter_rows())
