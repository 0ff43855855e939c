"""Numbers as names in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def names_of(names: tuple[str, ...], codes: Any) -> pl.Series:
    """Codes as names, stored once each, though several codes may have one; null below 0."""
    import polars as pl

    place = {name: at for at, name in enumerate(dict.fromkeys(names))}
    places = np.array([place[name] for name in names], np.uint32)[np.maximum(codes, 0)]
    series = pl.Series(places).cat.to(pl.Enum(list(place)))
    return series if (codes >= 0).all() else series.set(pl.Series(codes < 0), None)
