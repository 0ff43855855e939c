"""Frozen arrays: what a model holds is converted once and can no longer be written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]
Element = TypeVar("Element", bound=np.generic)


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """A contiguous copy of the values that nobody can make writable again; the caller's array stays as it is."""
    array = np.array(values, dtype=dtype, order="C")
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape) if array.size else seen(array)


def seen(values: NDArray[Element]) -> NDArray[Element]:
    """A view of an array that nobody can write to."""
    view = values.view()
    view.setflags(write=False)
    return view


def freeze_fields(instance: object, dtypes: Mapping[str, DTypeLike]) -> None:
    """Replace the named fields of a frozen dataclass by frozen arrays of these types; None stays None."""
    for name, dtype in dtypes.items():
        values = getattr(instance, name)
        if values is not None:
            object.__setattr__(instance, name, frozen(values, dtype))
