"""Whether a drawn figure shows anything: of what its marks stand for, whether anything differs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import isclose
from typing import Any

from joulewise.present.export import Spec

_ROUNDING = 1e-9
_JOINS = ("layer", "concat", "hconcat", "vconcat")
_MEASURED = {
    "bar": ("x", "y"),
    "rect": ("x", "y", "color"),
    "line": ("y",),
    "area": ("y",),
    "point": ("x", "y"),
    "circle": ("x", "y"),
    "rule": ("x", "y"),
    "tick": (),
    "text": (),
}
"""Where marks have what was measured; ticks and texts have nothing, and a rule only where it is an interval."""


def is_blank(spec: Spec) -> bool:
    """Whether nothing differs in a figure of Vega-Lite: it has no value, or one and the same everywhere."""
    first: dict[str, float] = {}
    found = _values(spec, {}, spec.get("datasets", {}))
    return all(isclose(first.setdefault(place, value), value, rel_tol=_ROUNDING) for place, value in found)


def _values(part: Spec, above: Spec, datasets: Spec) -> Iterator[tuple[str, float]]:
    """What all marks of a part stand for, each with where it has that; `above` is what it inherits."""
    encoding = {**above.get("encoding", {}), **part.get("encoding", {})}
    data: Spec = part.get("data") or above.get("data") or {}
    for each in chain.from_iterable(part.get(how, ()) for how in _JOINS):
        yield from _values(each, {"data": data, "encoding": encoding}, datasets)
    if "mark" in part:
        yield from _measured(part["mark"], encoding, data.get("values") or datasets.get(data.get("name", ""), []))


def _measured(mark: Any, encoding: Spec, rows: list[Spec]) -> Iterator[tuple[str, float]]:
    """What a mark stands for in each row; of a kind that is not known, each row stands for something else."""
    kind = mark if isinstance(mark, str) else mark["type"]
    if kind not in _MEASURED:
        yield from (("row", i) for i in range(len(rows)))
    for channel in _MEASURED.get(kind, ()):
        is_number = encoding.get(channel, {}).get("type") == "quantitative"
        if is_number and (kind != "rule" or f"{channel}2" in encoding):
            fields = (encoding.get(name, {}).get("field") for name in (channel, f"{channel}2"))
            found = (row.get(field) for field in fields if field for row in rows)
            yield from ((channel, value) for value in found if isinstance(value, int | float))
