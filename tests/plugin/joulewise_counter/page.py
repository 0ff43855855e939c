"""What the report of people at a counter says and shows."""

from __future__ import annotations

import altair as alt
import polars as pl

from joulewise.present.findings import Finding
from joulewise.present.layout import Drawing
from joulewise.present.page import Figure, Page
from joulewise.present.records import Records


def _found(records: Records) -> list[Finding]:
    return [Finding(f"{records.frame('visits').height} people waited.")]


def _drawn(records: Records) -> Drawing:
    waits = records.runs.select(pl.col("serving.rule").alias("rule"), "mean_wait_s")
    chart = alt.Chart(waits).mark_bar().encode(x="rule:N", y="mean(mean_wait_s):Q")
    return Drawing(chart, "How long people wait.")


PAGE = Page(
    findings=_found,
    figures=(Figure("waits-at-a-counter", "Waits at a counter", (), _drawn),),
    glossary={"Counter": "where people are served"},
    frames={"visits": None},
)
