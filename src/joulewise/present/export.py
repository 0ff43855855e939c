"""Figures as files: PNG, SVG and PDF without a browser, HTML without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, unknown_name
from joulewise.files import write_atomic
from joulewise.present.html import check_figure_maker, figure_page, vegalite_version

PNG_SCALE = 2.0
Spec = dict[str, Any]


def spec_of(chart: Any) -> dict[str, Any]:
    """The chart as Vega-Lite, if it is none yet; without the address of a schema, so that it points to no network."""
    import altair as alt

    if isinstance(chart, dict):
        return chart
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict()
    spec.pop("$schema", None)
    return spec


def _png(spec: Spec) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, vl_version=vegalite_version(), scale=PNG_SCALE))


def _svg(spec: Spec) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, vl_version=vegalite_version()))


def _pdf(spec: Spec) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=vegalite_version()))


_WRITERS: dict[str, Callable[[Spec], str | bytes]] = {"png": _png, "svg": _svg, "pdf": _pdf, "html": figure_page}
FORMATS = tuple(_WRITERS)


def render(spec: Spec, kind: str) -> str | bytes:
    """A figure in one of FORMATS; PNG at twice the size in pixels; InputError for any other format."""
    if kind not in _WRITERS:
        raise InputError(unknown_name("figure format", kind, FORMATS))
    check_figure_maker()
    return _WRITERS[kind](spec)


def export(chart: Any, path: Path) -> Path:
    """Write the chart in the format its file name ends with and return the path; InputError if unknown."""
    write_atomic(path, render(spec_of(chart), path.suffix.removeprefix(".").lower()))
    return path
