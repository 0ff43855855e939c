"""Figures as files in every format."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.present.export import FORMATS, export
from joulewise.present.page import drawable
from joulewise.present.results import draw_figures
from joulewise.present.tasks.keys import POLICY
from tests.strategies.made import drawings, make_records


def test_every_format_is_what_it_says(tmp_path: Path) -> None:
    _, drawing = next(drawings(make_records({POLICY: ["random", "max-max-upt"]})))
    content = {kind: export(drawing.chart, tmp_path / f"figure.{kind}").read_bytes() for kind in FORMATS}
    assert content["png"].startswith(b"\x89PNG")
    assert content["pdf"].startswith(b"%PDF")
    assert content["svg"].startswith(b"<svg")
    assert b"vegaEmbed" in content["html"]


def test_all_figures_are_written_under_their_names(tmp_path: Path) -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]}, traces=False)
    paths = draw_figures(records, tmp_path / "figures", formats=["svg", "png"])
    stems = [figure.name for figure in drawable(records)]
    assert {"utility-by-policy", "differences", "utility-against-energy", "fates"} <= set(stems)
    assert paths == [tmp_path / "figures" / f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_png_has_twice_the_pixels_of_the_svg(tmp_path: Path) -> None:
    _, drawing = next(drawings(make_records({POLICY: ["random", "max-max-upt"]})))
    png = export(drawing.chart, tmp_path / "a.png").read_bytes()
    svg = export(drawing.chart, tmp_path / "a.SVG").read_text()
    width_px = float(svg.split('width="')[1].split('"')[0])
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(2 * width_px, abs=2)


def test_unknown_formats_are_all_reported_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        draw_figures(make_records(), tmp_path, formats=["pgn", "svg", "tiff"])
    assert len(caught.value.problems) == 2
    assert "did you mean 'png'" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_an_unknown_suffix_is_an_input_error(tmp_path: Path) -> None:
    _, drawing = next(drawings(make_records({POLICY: ["random", "max-max-upt"]})))
    with pytest.raises(InputError):
        export(drawing.chart, tmp_path / "figure.bmp")
