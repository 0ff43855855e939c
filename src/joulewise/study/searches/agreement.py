"""Stored numbers compared with those that are computed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_RELATIVE_ROUNDING = 3e-9  # bounds are stored rounded by 1e-9


def differs(what: str, stored: Any, recomputed: Any) -> Iterator[str]:
    """That numbers differ by more than rounding; what is missing in a file must come out as not a number."""
    there, anew = np.ravel(np.asarray(stored, float)), np.ravel(np.asarray(recomputed, float))
    if there.size != anew.size:
        yield f"{what}: {there.size} numbers are stored, {anew.size} come out"
        return
    alike = np.isclose(there, anew, rtol=_RELATIVE_ROUNDING, atol=_RELATIVE_ROUNDING, equal_nan=True)
    if not alike.all():
        first = int(np.argmin(alike))
        yield f"{what}: {there[first]:.12g} is stored, {anew[first]:.12g} comes out"
