"""The figure of how the rule of verdicts behaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joulewise.present.theme import CONFIG, NOTHING, PALETTE
from joulewise.study.catalogue.characteristics import DEVIATION_PERCENT, N_PAIRS, NUMBER, ORDERING, TRIALS
from joulewise.verdicts import CLOSE, NEAR

if TYPE_CHECKING:
    import polars as pl

_COLOURS = {"reproduced": PALETTE[0], "partly": PALETTE[4], "undecided": NOTHING, "not reproduced": PALETTE[1]}
_TITLES = {
    NUMBER: f"A number whose trials deviate by {DEVIATION_PERCENT:g} %",
    ORDERING: f"An ordering of {N_PAIRS} pairs that all differ alike",
}
_AXES = {NUMBER: "true distance (%)", ORDERING: "true difference (standard deviations)"}
_MARGINS = {NUMBER: (100 * CLOSE, 100 * NEAR), ORDERING: (0.0,)}
_WIDTH, _HEIGHT = 190, 170


def operating_chart(table: pl.DataFrame) -> Any:
    """The chance of each verdict by true distance, a row for each rule and a column for each number of trials."""
    import altair as alt

    rows = [
        alt.hconcat(*(_panel(table, rule, n) for n in TRIALS), spacing=14, title=_TITLES[rule])
        for rule in (NUMBER, ORDERING)
    ]
    return alt.vconcat(*rows, spacing=24).configure(**CONFIG)


def _panel(table: pl.DataFrame, rule: str, n_trials: int) -> Any:
    """Areas over one another that add up to 100 %, with the margins of the rule as dashed lines."""
    import altair as alt
    import polars as pl

    part = table.filter((pl.col("rule") == rule) & (pl.col("trials") == n_trials))
    order = {verdict: place for place, verdict in enumerate(_COLOURS)}
    rows = part.with_columns(place=pl.col("verdict").replace_strict(order)).to_dicts()
    colours = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    areas = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_area(line=False)
        .encode(
            alt.X("distance:Q", title=_AXES[rule], scale=alt.Scale(nice=False)),
            alt.Y("chance_percent:Q", title="chance (%)" if n_trials == TRIALS[0] else None, stack="zero",
                  scale=alt.Scale(domain=[0, 100])),
            alt.Color("verdict:N", title="verdict", scale=colours),
            alt.Order("place:Q"),
        )
    )  # fmt: skip
    margins = alt.Chart(alt.InlineData(values=[{"at": at} for at in _MARGINS[rule]])).mark_rule(
        strokeDash=[4, 3], color="black"
    )
    title = alt.Title(f"{n_trials} trials", anchor="middle")
    return (areas + margins.encode(alt.X("at:Q"))).properties(width=_WIDTH, height=_HEIGHT, title=title)
