"""Charts laid over and beside each other, as plain Vega-Lite.

Altair would check and copy a chart, with all that is in it, at each level it is put into; here nothing is copied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import polars as pl

Part = dict[str, Any]
"""A chart as Vega-Lite, but that `data` is the frame itself, which `whole` gives a name."""

_MAKING = RLock()
_JOINS = ("layer", "concat", "hconcat", "vconcat")


def layer(*charts: Any, **properties: Any) -> Part:
    """Charts, of Altair or parts, over each other."""
    return _joined("layer", charts, properties)


def concat(*charts: Any, **properties: Any) -> Part:
    """Charts, of Altair or parts, in rows of as many as the property `columns` says."""
    return _joined("concat", charts, properties)


def hconcat(*charts: Any, **properties: Any) -> Part:
    """Charts, of Altair or parts, side by side."""
    return _joined("hconcat", charts, properties)


def vconcat(*charts: Any, **properties: Any) -> Part:
    """Charts, of Altair or parts, below each other."""
    return _joined("vconcat", charts, properties)


def whole(chart: Any, config: Part) -> Part:
    """A chart of Altair, or a part, as a figure of its own: each table stands in it once, named by its content."""
    datasets: dict[str, list[Part]] = {}
    return {**_named(_part(chart), datasets), "config": config, "datasets": datasets}


@contextmanager
def unchecked() -> Iterator[None]:
    """Altair does not check what is made herein, which takes longer than to make it; one thread at a time."""
    from altair.utils.schemapi import debug_mode

    with _MAKING, debug_mode(False):
        yield


def _part(chart: Any) -> Part:
    from altair import Undefined

    if isinstance(chart, dict):
        return chart
    bare = chart.copy(deep=False)
    bare.data = Undefined
    spec = bare.to_dict(validate=False, context={"top_level": False, "data": chart.data})
    return {"data": chart.data, **spec}


def _joined(how: str, charts: tuple[Any, ...], properties: Part) -> Part:
    """The charts as one part; data that all of them share are said once."""
    parts = [_part(chart) for chart in charts]
    data = parts[0].get("data") if parts else None
    if data is None or any(part.get("data") is not data for part in parts):
        return {how: parts, **properties}
    bare = [{name: value for name, value in part.items() if name != "data"} for part in parts]
    return {"data": data, how: bare, **properties}


def _named(part: Part, datasets: dict[str, list[Part]]) -> Part:
    """The part with names in place of its tables, which go into `datasets`."""
    data = {"data": {"name": _kept(part["data"], datasets)}} if "data" in part else {}
    inner = {how: [_named(each, datasets) for each in part[how]] for how in _JOINS if how in part}
    return {**part, **data, **inner}


def _kept(table: pl.DataFrame, datasets: dict[str, list[Part]]) -> str:
    rows = table.to_dicts()
    name = "data-" + hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:32]
    datasets[name] = rows
    return name
