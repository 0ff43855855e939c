"""What studies reached trial by trial: side by side, and one against the other."""

from __future__ import annotations

from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.comparison.differences import MOST_PANELS
from joulewise.present.comparison.view import Amount, View
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.parts import layer
from joulewise.study.answers.comparison import Comparison
from joulewise.study.answers.points import STUDY
from joulewise.study.answers.sampling import RESAMPLES
from joulewise.study.answers.trials import PAIR, SAME_DRAWS, SAME_WORLDS

MOST_POINTS = 12
_MOST_DOTS = 60
"""So many trials are drawn one by one; of more, where they lie."""
_MOST_TRIALS = 2_000
_LEAST_TRIALS = 3
_WIDTH_PX, _BAND_PX, _SQUARE_PX = 430, 15, 250
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}


# --- side by side -------------------------------------------------------------------------------------------------


def has_spread(comparison: Comparison) -> bool:
    """Whether some study has several trials to be shown."""
    return bool((comparison.differences.select(pl.max_horizontal("n", "n_base").max()).item() or 0) > 1)


def draw_distributions(view: View) -> Drawing:
    """Values of all trials by point and study, or where they lie, with their means."""
    metrics = view.comparison.metrics[:MOST_PANELS]
    shown = [_grouped(view, metric) for metric in metrics]
    parts = [_panel(view, view.amount(metric), table) for metric, table in zip(metrics, shown, strict=True)]
    most = max(int(table["n"].max() or 0) for table in shown)  # type: ignore[arg-type]
    dots = "Dots are trials" if most <= _MOST_DOTS else "Thick lines hold half of the trials, thin ones 90 %"
    n = view.comparison.pairs.height
    more = f" The first {MOST_POINTS} of {n:,} points are shown." if n > MOST_POINTS else ""
    is_resampled = any(side.is_resampled for side in view.comparison.sides)
    logs = ", or what came out of the log itself where that is resampled" if is_resampled else ""
    return Drawing(assemble(parts), f"{dots}; upright marks are means{logs}.{more}")


def _grouped(view: View, metric: str) -> pl.DataFrame:
    """The values of each point and study, and where they lie: `name`, `study`, `n`, `mean`, quantiles, `values`.

    Where there is one point, it is called by its study.
    """
    names = pl.DataFrame(
        [
            {PAIR: at, "name": view.point(row), STUDY: row[STUDY]}
            for at, row in enumerate(view.comparison.pairs.head(MOST_POINTS).iter_rows(named=True))
        ],
        schema_overrides={PAIR: pl.UInt32},
    )
    value = pl.col("value") / view.amount(metric).size
    groups = view.comparison.values(metric).filter(pl.col(PAIR) < MOST_POINTS).group_by(PAIR, "is_base").agg(
        n=pl.len(), mean=RESAMPLES.figure(value), values=value.head(_MOST_DOTS),
        **{name: value.quantile(at, "linear") for name, at in _QUANTILES.items()},
    )  # fmt: skip
    named = groups.collect().join(names, on=PAIR).sort(PAIR, "is_base", descending=[False, True])
    study = pl.when("is_base").then(pl.lit(view.base)).otherwise(STUDY).alias(STUDY)
    told = named.with_columns(study).unique(["name", STUDY], keep="first", maintain_order=True)
    return told.with_columns(name=pl.when(pl.col("name") == "").then(STUDY).otherwise("name"))


def _panel(view: View, amount: Amount, table: pl.DataFrame) -> Any:
    import altair as alt

    labels = view.comparison.labels
    names = table["name"].unique(maintain_order=True).to_list()
    is_many = int(table["n"].max() or 0) > _MOST_DOTS  # type: ignore[arg-type]
    base = alt.Chart(inline(table.drop("values").rows(named=True))).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=260)),
        tooltip=[alt.Tooltip("name:N", title="at"), "study:N", alt.Tooltip("mean:Q", format=",.4~g"), "n:Q"],
        **_by_study(labels, are_named=names == table[STUDY].to_list()),
    )
    x = alt.X(
        "x:Q" if not is_many else "q05:Q",
        title=amount.title,
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=6, labelFlush=False),
    )
    spread = _lines(base, x) if is_many else [_dots(base, table, x)]
    mean = base.mark_tick(thickness=2.4, size=_BAND_PX - 2, opacity=1).encode(x=alt.X("mean:Q"))
    n_bands = int(table.group_by("name").len()["len"].max() or 1)  # type: ignore[arg-type]
    height = {"step": _BAND_PX * n_bands + 12, "for": "position"}
    return layer(*spread, mean, width=_WIDTH_PX, height=height)


def _by_study(labels: list[str], *, are_named: bool) -> dict[str, Any]:
    """What tells studies apart: colours, and, where rows are not named by them, places in a row and a legend."""
    import altair as alt

    legend = None if are_named else alt.Legend(symbolType="square", symbolOpacity=1, columns=4)
    colours = alt.Scale(domain=labels, range=theme.categorical(len(labels)))
    colour = alt.Color("study:N", title="Study", sort=None, scale=colours, legend=legend)
    spans = alt.Scale(domain=labels, paddingInner=0.2, paddingOuter=0.3)
    places = {} if are_named else {"yOffset": alt.YOffset("study:N", sort=labels, scale=spans)}
    return {"color": colour, **places}


def _lines(base: Any, x: Any) -> list[Any]:
    import altair as alt

    wide = base.mark_rule(strokeWidth=1.2).encode(x=x, x2=alt.X2("q95:Q"))
    return [wide, base.mark_rule(strokeWidth=5, opacity=0.55).encode(x=alt.X("q25:Q"), x2=alt.X2("q75:Q"))]


def _dots(base: Any, table: pl.DataFrame, x: Any) -> Any:
    each = table.select("name", STUDY, "n", "mean", x="values").explode("x")
    dots = base.copy(deep=False)
    dots.data = inline(each.rows(named=True))
    return dots.mark_point(filled=True, size=30, opacity=0.45).encode(x=x)


# --- one against the other ----------------------------------------------------------------------------------------


def has_pairs(comparison: Comparison) -> bool:
    """Whether there are trials enough that met each other, with a first metric in which they differ."""
    return not _met(comparison).is_empty()


def _met(comparison: Comparison) -> pl.DataFrame:
    """The first pairs of points whose trials met, with the first metric that spreads over them."""
    first = comparison.differences.filter(pl.col("metric") == comparison.metrics[0]).with_row_index(PAIR)
    is_met = pl.col("pairing").is_in([SAME_WORLDS, SAME_DRAWS]) & pl.col("p").is_not_null()
    return first.filter(is_met & (pl.col("n") >= _LEAST_TRIALS)).head(MOST_PANELS)


def draw_trials(view: View) -> Drawing:
    """Each trial of a study against that of the base, with the line on which both are equal."""
    metric = view.comparison.metrics[0]
    amount, met = view.amount(metric), _met(view.comparison)
    values = view.comparison.values(metric).filter(pl.col(PAIR).is_in(met[PAIR].implode()))
    wide = values.collect().pivot("is_base", index=[PAIR, "trial"], values="value").sort(PAIR, "trial")
    points = wide.select(PAIR, "trial", x=pl.col("true") / amount.size, y=pl.col("false") / amount.size)
    parts = [
        _square(view, amount, points.filter(pl.col(PAIR) == row[PAIR]).head(_MOST_TRIALS), row)
        for row in met.iter_rows(named=True)
    ]
    caption = (
        f"{amount.title}, trial by trial. Above the line a trial has more of it than {view.base}. The closer dots "
        "follow the line's direction, the more pairs of trials have in common, and the narrower are intervals of "
        "differences."
    )
    return Drawing(assemble(parts, 2), caption)


def _square(view: View, amount: Amount, points: pl.DataFrame, row: dict[str, Any]) -> Any:
    import altair as alt

    values = [*points["x"], *points["y"]]
    room = 0.05 * (max(values) - min(values)) or 1.0
    ends = [min(values) - room, max(values) + room]
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    look = alt.Axis(format=AXIS_FORMAT, tickCount=5, grid=True)
    line = alt.Chart(inline([{"x": end, "y": end} for end in ends])).mark_line(color=theme.MUTED, strokeWidth=1)
    dots = alt.Chart(inline(points.rows(named=True))).mark_point(
        filled=True, size=40, opacity=0.65, color=theme.PALETTE[0]
    )
    drawn = (
        line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        dots.encode(
            x=alt.X("x:Q", title=view.base, scale=scale, axis=look),
            y=alt.Y("y:Q", title=row[STUDY], scale=scale, axis=look),
            tooltip=["trial:Q", alt.Tooltip("x:Q", title=view.base), alt.Tooltip("y:Q", title=row[STUDY])],
        ),
    )
    return layer(*drawn, width=_SQUARE_PX, height=_SQUARE_PX, title=view.point(row) or amount.title)
