"""Figures as files: PNG, SVG and PDF without a browser, HTML without a network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, unknown_name
from joulewise.files import write_atomic
from joulewise.present.html import figure_page, vegalite_version
from joulewise.present.press import pressed

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


def _drawn(function: str, spec: Spec, **options: float) -> str | bytes:
    drawn: str | bytes = pressed(function, spec, vl_version=vegalite_version(), **options)
    return drawn


_WRITERS: dict[str, Callable[[Spec], str | bytes]] = {
    "png": partial(_drawn, "vegalite_to_png", scale=PNG_SCALE),
    "svg": partial(_drawn, "vegalite_to_svg"),
    "pdf": partial(_drawn, "vegalite_to_pdf"),
    "html": figure_page,
}
FORMATS = tuple(_WRITERS)


def render(spec: Spec, kind: str) -> str | bytes:
    """A figure in one of FORMATS; PNG at twice the size in pixels; InputError for any other format."""
    if kind not in _WRITERS:
        raise InputError(unknown_name("figure format", kind, FORMATS))
    return _WRITERS[kind](spec)


def screen_png(spec: Spec, scale: float = 1.0) -> bytes:
    """A figure as a PNG with so many pixels for each unit of length."""
    return bytes(_drawn("vegalite_to_png", spec, scale=scale))  # type: ignore[arg-type]


def export(chart: Any, path: Path) -> Path:
    """Write the chart in the format its file name ends with and return the path; InputError if unknown."""
    write_atomic(path, render(spec_of(chart), path.suffix.removeprefix(".").lower()))
    return path
