"""Drawings as charts of Altair, which notebooks show, and as still images."""

from __future__ import annotations

import re
from typing import Any

from joulewise.errors import printable
from joulewise.present.export import spec_of
from joulewise.present.layout import Drawing
from joulewise.present.parts import unchecked
from joulewise.present.report import picture_of


def chart_of(drawing: Drawing) -> Any:
    """A drawing as a chart of Altair; its caption is the description, which is read to people who do not see it."""
    import altair as alt

    kinds: dict[str, Any] = {
        "layer": alt.LayerChart,
        "concat": alt.ConcatChart,
        "hconcat": alt.HConcatChart,
        "vconcat": alt.VConcatChart,
    }
    spec = {**_shown_spec(drawing), "description": drawing.caption}
    kind: Any = next((kinds[name] for name in kinds if name in spec), alt.Chart)
    with unchecked():  # it is checked when it is shown
        return kind.from_dict(spec, validate=False)


def image_of(drawing: Drawing) -> str:
    """A drawing as the address of a still image, in which nothing can run."""
    return picture_of(_shown_spec(drawing))


def _shown_spec(drawing: Drawing) -> dict[str, Any]:
    """A drawing as Vega-Lite whose texts are harmless: names in memory may have what pictures and pages may not."""
    spec: dict[str, Any] = _harmless(spec_of(drawing.chart))
    return spec


def _harmless(value: Any) -> Any:
    """Texts without control characters, and without what would end the script in which a page holds them."""
    if isinstance(value, str):
        return _ENDS_SCRIPT.sub("<\u2060", "\n".join(map(printable, value.split("\n"))))
    if isinstance(value, dict):
        return {_harmless(key): _harmless(each) for key, each in value.items()}
    return [_harmless(each) for each in value] if isinstance(value, list) else value


_ENDS_SCRIPT = re.compile("<(?=[/!])")
