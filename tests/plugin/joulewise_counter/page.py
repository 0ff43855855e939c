"""What the report of people at a counter says and shows."""

from __future__ import annotations

import altair as alt
from joulewise.present.page import Figure, Page

from joulewise.present.findings import Finding
from joulewise.present.layout import Drawing
from joulewise.present.records import Records


def _found(records: Records) -> list[Finding]:
    return [Finding(f"{records.details['visits'].height} people waited.")]


def _drawn(records: Records) -> Drawing:
    rows = records.runs.select("serving.rule", "mean_wait_s").to_dicts()
    chart = alt.Chart(alt.Data(values=rows)).mark_bar().encode(x="serving\\.rule:N", y="mean(mean_wait_s):Q")
    return Drawing(chart, "How long people wait.")


PAGE = Page(
    findings=_found,
    figures=(Figure("waits-at-a-counter", "Waits at a counter", (), _drawn),),
    glossary={"Counter": "where people are served"},
    frames={"visits": None},
)
