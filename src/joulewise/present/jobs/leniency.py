"""Utility and energy of parallel jobs as the leniency of an energy filter is turned."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from joulewise.present.formats import energy_unit, plain
from joulewise.present.jobs.keys import FILTER, LENIENCY, SCHEDULER
from joulewise.present.jobs.view import by_scheduler, filtered
from joulewise.present.layout import Drawing, Panel, assemble, panels_of, scaled, sentence, shared_value, whiskers
from joulewise.present.lines import BUDGET, LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import POSSIBLE, UTILITY, Records
from joulewise.present.views import looks_of, reshaped

_ENERGY = "energy_j"
_LABEL_PART = 0.06


def over_job_leniency(records: Records) -> Drawing:
    """Utility and energy over the leniency, a row of panels for each energy filter, a line for each scheduler."""
    seen = filtered_view(records)
    keys = [key for key in seen.varying if key not in (SCHEDULER, LENIENCY)]
    metrics = [name for name in (seen.share, _ENERGY) if seen.measures(name)]
    means = {name: panels_of(seen, seen.means(name, [SCHEDULER, LENIENCY, *keys]), keys) for name in metrics}
    plots = [_plots(seen, name, panels) for name, (panels, _) in means.items()]
    parts = [draw_lines(plot) for row in zip(*plots, strict=True) for plot in row]
    energy = " and the energy used" if _ENERGY in metrics else ""
    caption = (
        f"Percentage of {seen.whole} that was earned{energy} at each leniency of the energy filter{_filters(seen)}; "
        f"the more lenient, the fewer options it takes away. {whiskers(seen, 'Points')}{means[metrics[0]][1]}"
    )
    return Drawing(assemble(parts, across=len(metrics)), caption)


def has_leniencies(records: Records) -> bool:
    """Whether runs with the same energy filter differ in its leniency."""
    if not records.measures(UTILITY, FILTER, LENIENCY):
        return False
    runs = filtered(records)
    return runs.n_unique([FILTER, LENIENCY]) > runs[FILTER].n_unique()


def filtered_view(records: Records) -> Records:
    """The runs with a filter that has a leniency, by scheduler."""
    seen = by_scheduler(records)
    runs = filtered(seen).with_columns(pl.col(LENIENCY).cast(pl.Float64))
    axes = [key for key in seen.study.axes if key != LENIENCY]
    return reshaped(seen, runs, [*axes, LENIENCY])


def _filters(seen: Records) -> str:
    names = seen.labels(FILTER)
    return f", {next(iter(names.values()))}" if len(names) == 1 else ""


def _plots(seen: Records, metric: str, panels: Sequence[Panel]) -> list[Plot]:
    limits = [shared_value(seen, panel, "budget_j") if metric == _ENERGY else _bound(metric) for panel in panels]
    shown = [v for panel in panels for name in ("mean", "low", "high") for v in panel.rows[name].drop_nulls()]
    shown += [limit for limit in limits if limit is not None]
    unit, size = energy_unit(max(shown)) if metric == _ENERGY else ("", 1.0)
    room = max(0.06 * (max(shown) - min(shown)), 0.01 * max(shown)) or 1.0
    title = f"energy used ({unit})" if unit else f"% of {seen.whole}"
    y = LineAxis(title, max(0.0, min(shown) - room) / size, (max(shown) + room) / size)
    name = BUDGET if metric == _ENERGY else seen.bound_name
    return [_plot(seen, panel, y, size, (name, limit)) for panel, limit in zip(panels, limits, strict=True)]


def _bound(metric: str) -> float | None:
    return 100.0 if metric == POSSIBLE else None


def _plot(seen: Records, panel: Panel, y: LineAxis, size: float, limit: tuple[str, float | None]) -> Plot:
    labels, x = seen.labels(SCHEDULER), leniency_axis(panel.rows)
    parts = {part[SCHEDULER][0]: part.sort(LENIENCY) for part in panel.rows.partition_by(SCHEDULER)}
    lines = {label: points_over(parts[name], size) for name, label in labels.items() if name in parts}
    name, value = limit
    if value is not None:
        lines[name] = [LinePoint(end, value / size) for end in (x.low, x.high)]
    looks = {**looks_of(seen, SCHEDULER), name: LIMIT_LOOK}
    return Plot(lines, looks, x, y, sentence(panel.title), 330)


def points_over(rows: pl.DataFrame, size: float = 1.0) -> list[LinePoint]:
    """The means of rows over their leniency, in units of a size."""
    return [
        LinePoint(row[LENIENCY], row["mean"] / size, scaled(row["low"], size), scaled(row["high"], size))
        for row in rows.iter_rows(named=True)
    ]


def leniency_axis(rows: pl.DataFrame) -> LineAxis:
    """The leniencies of a panel, with the labels for which there is room."""
    values: list[float] = rows[LENIENCY].unique().sort().to_list()
    span = values[-1] - values[0] or 1.0
    ticks: dict[float, str] = {}
    last = -1e99
    for value in values:
        ticks[value] = plain(value) if value - last >= _LABEL_PART * span else ""
        last = value if ticks[value] else last
    return LineAxis("leniency", values[0] - 0.04 * span, values[-1] + 0.04 * span, ticks)
