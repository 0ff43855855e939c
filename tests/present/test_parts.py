"""Charts put together as Vega-Lite."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from joulewise.present.parts import concat, hconcat, layer, whole
from tests.strategies.vega import is_vega_lite

CONFIG = {"background": "white"}


def _chart(table: pl.DataFrame) -> Any:
    return alt.Chart(table).mark_point().encode(x=alt.X("x:Q"))


def test_charts_are_joined_as_altair_joins_them() -> None:
    first, second = pl.DataFrame({"x": [1.0, 2.0]}), pl.DataFrame({"x": [3.0]})
    one, other = [_chart(first), _chart(first).mark_line()], [_chart(first), _chart(second)]
    ours = hconcat(layer(*one, width=50), layer(*other), spacing=3)
    theirs = alt.hconcat(alt.layer(*one).properties(width=50), alt.layer(*other), spacing=3)
    config: dict[str, Any] = {"background": "white", "view": {"continuousWidth": 300, "continuousHeight": 300}}
    expected = theirs.configure(**config).to_dict()
    del expected["$schema"]
    assert whole(ours, config) == expected


def test_equal_tables_stand_in_a_figure_once() -> None:
    spec = whole(concat(*(_chart(pl.DataFrame({"x": [1.0]})) for _ in range(2))), CONFIG)
    assert list(spec["datasets"].values()) == [[{"x": 1.0}]]
    assert [part["data"]["name"] for part in spec["concat"]] == list(spec["datasets"]) * 2


def test_no_charts_make_an_empty_figure() -> None:
    assert whole(concat(), CONFIG) == {"concat": [], "config": CONFIG, "datasets": {}}


def test_what_vega_lite_does_not_know_is_found() -> None:
    assert is_vega_lite({"data": {"values": []}, "mark": "bar"})
    assert not is_vega_lite({"data": {"values": []}, "mark": "bra"})
    assert not is_vega_lite({"data": {"values": []}, "mark": "bar", "encoding": {"x": {"feild": "a"}}})
