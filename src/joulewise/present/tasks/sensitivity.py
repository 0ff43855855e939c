"""Utility and energy as the leniency of the filter or the weight of energy is turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from joulewise.present.compared import thinned
from joulewise.present.formats import energy_unit, plain
from joulewise.present.layout import Drawing, Panel, assemble, panels_of, scaled, shared_value, whiskers
from joulewise.present.lines import BUDGET, LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import BOUND, Records
from joulewise.present.tasks.keys import FILTER, LENIENCY, POLICY, SETTING, WEIGHT
from joulewise.present.tasks.settings import FILTERS, WITH_LENIENCY, tunes, with_setting
from joulewise.present.views import beside, looks_of, reshaped

_PLACE = "place"
"""Where a run stands on the axis: its value of the turned key, or right of them all if that has no effect."""
_LIMITS = {"utility": BOUND, "energy_j": "budget_j"}
"""What limits each metric."""


@dataclass(frozen=True)
class _Turned:
    """What all panels share: the records with their places, the key whose values are lines, and the axis."""

    records: Records
    lines: str
    x: LineAxis
    last: float


def over_leniency(records: Records) -> Drawing:
    """Utility and energy over the leniency of the energy filter; runs without leniency stand apart."""
    return _over(records, LENIENCY, (LENIENCY, FILTER), (WEIGHT,))


def over_weight(records: Records) -> Drawing:
    """Utility and energy over the weight of energy against utility."""
    return _over(records, WEIGHT, (WEIGHT,), (FILTER, LENIENCY))


def _over(records: Records, turned: str, covered: Sequence[str], others: Sequence[str]) -> Drawing:
    scene = _scene(records, turned, covered, others)
    seen = scene.records
    keys = [key for key in seen.varying if key not in (_PLACE, scene.lines)]
    metrics = [name for name in ("utility", "energy_j") if seen.measures(name)]
    means = {metric: panels_of(seen, seen.means(metric, [_PLACE, scene.lines, *keys]), keys) for metric in metrics}
    plots = [_plots(scene, metric, panels) for metric, (panels, _) in means.items()]
    parts = [draw_lines(plot) for pair in zip(*plots, strict=True) for plot in pair]
    apart = " Runs whose filter has no leniency stand at the right end." if len(_apart(records, covered)) else ""
    energy = " and the energy used" if "energy_j" in metrics else ""
    caption = (
        f"The utility earned{energy} at each {seen.words(turned).name}, for each {seen.words(scene.lines).name}."
        f"{apart} {whiskers(seen, 'Points')}{means['utility'][1]}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _scene(records: Records, turned: str, covered: Sequence[str], others: Sequence[str]) -> _Turned:
    """The records with the place of each run; the other tuning, if it is turned as well, becomes the lines."""
    apart = _apart(records, covered)
    has_effect = ~pl.col(FILTER).is_in(apart) if apart else pl.lit(True)
    values: list[float] = records.runs.filter(has_effect)[turned].drop_nulls().unique().sort().to_list()
    gap = (values[-1] - values[0]) / (len(values) - 1)
    places = {name: values[-1] + (i + 1) * gap for i, name in enumerate(apart)}
    place = pl.col(turned).cast(pl.Float64)
    if apart:
        place = pl.when(has_effect).then(place).otherwise(pl.col(FILTER).replace_strict(places, default=None))
    runs = records.runs.with_columns(place.alias(_PLACE))
    seen = reshaped(records, runs, [*beside(records, covered, POLICY), _PLACE])
    by_other = any(tunes(records, key) for key in others if key != FILTER)
    seen = with_setting(seen, others) if by_other else seen
    lines = SETTING if by_other else POLICY if seen.varies(POLICY) else seen.main or POLICY
    named = {**{value: plain(value) for value in values}, **{place: name for name, place in places.items()}}
    room = 0.04 * (max(named) - values[0])
    x = LineAxis(records.words(turned).name, values[0] - room, max(named) + room, thinned(named))
    return _Turned(seen, POLICY if lines == _PLACE else lines, x, values[-1])


def _apart(records: Records, covered: Sequence[str]) -> list[str]:
    """The filters in use that have no leniency, where leniency is what is turned; none last."""
    if FILTER not in covered or FILTER not in records.runs.columns:
        return []
    others = set(records.values(FILTER)) - {WITH_LENIENCY}
    return [name for name in reversed(FILTERS) if name in others]


def _plots(scene: _Turned, metric: str, panels: Sequence[Panel]) -> list[Plot]:
    records, labels = scene.records, scene.records.labels(scene.lines)
    limit_name = BUDGET if metric == "energy_j" else records.bound_name
    limits = [shared_value(records, panel, _LIMITS[metric]) for panel in panels]
    shown = [v for panel in panels for name in ("mean", "low", "high") for v in panel.rows[name].drop_nulls()]
    shown += [value for value in limits if value is not None]
    unit, size = energy_unit(max(shown)) if metric == "energy_j" else ("", 1.0)
    room = max(0.04 * (max(shown) - min(shown)), 0.02 * max(shown)) or 1.0
    y = LineAxis(
        f"energy used ({unit})" if unit else "utility earned",
        max(min(shown) - room, min(0.0, min(shown))) / size,
        (max(shown) + room) / size,
    )
    plots = []
    for panel, value in zip(panels, limits, strict=True):
        parts = {part[scene.lines][0]: part for part in panel.rows.partition_by(scene.lines)}
        lines = {label: _points(scene, parts[value], size) for value, label in labels.items() if value in parts}
        if value is not None:
            lines[limit_name] = [LinePoint(end, value / size) for end in (scene.x.low, scene.x.high)]
        looks = {**looks_of(records, scene.lines), limit_name: LIMIT_LOOK}
        plots.append(Plot(lines, looks, scene.x, y, panel.title))
    return plots


def _points(scene: _Turned, rows: pl.DataFrame, size: float) -> list[LinePoint]:
    return [
        LinePoint(
            row[_PLACE],
            row["mean"] / size,
            scaled(row["low"], size),
            scaled(row["high"], size),
            piece=max(0, round(100 * (row[_PLACE] - scene.last))),
        )
        for row in rows.sort(_PLACE).iter_rows(named=True)
    ]
