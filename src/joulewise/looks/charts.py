"""Drawings as charts of Altair, which notebooks show."""

from __future__ import annotations

from typing import Any

from joulewise.present.export import spec_of
from joulewise.present.layout import Drawing
from joulewise.present.parts import unchecked


def chart_of(drawing: Drawing) -> Any:
    """A drawing as a chart of Altair; its caption is the description, which is read to people who do not see it."""
    import altair as alt

    kinds: dict[str, Any] = {
        "layer": alt.LayerChart,
        "concat": alt.ConcatChart,
        "hconcat": alt.HConcatChart,
        "vconcat": alt.VConcatChart,
    }
    spec = {**spec_of(drawing.chart), "description": drawing.caption}
    kind: Any = next((kinds[name] for name in kinds if name in spec), alt.Chart)
    with unchecked():  # it is checked when it is shown
        return kind.from_dict(spec, validate=False)
