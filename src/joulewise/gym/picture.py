"""A day so far as a report draws it, as a picture of lines or as an array of pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.gym.pixels import pixels_of
from joulewise.present.export import Spec, render, screen_png, spec_of

SIZE = 540, 860
"""Rows and columns of an array of pixels, the same for every picture, so that they make a film."""

_WHITE = 255
_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def svg(outcome: Any, figure: str) -> str:
    """The picture as an SVG; an empty one before anything ran."""
    return str(render(spec_of(outcome.plot(figure)), "svg")) if figure in outcome.figures() else _EMPTY


def rgb_array(outcome: Any, figure: str) -> NDArray[np.uint8]:
    """The picture in rows and columns of red, green and blue; a white one before anything ran."""
    picture = np.full((*SIZE, 3), _WHITE, np.uint8)
    if figure in outcome.figures():
        drawn = _drawn(spec_of(outcome.plot(figure)))
        picture[: drawn.shape[0], : drawn.shape[1]] = drawn
    return picture


def _drawn(spec: Spec) -> NDArray[np.uint8]:
    """The pixels of a figure, made smaller where it would not fit."""
    drawn = pixels_of(screen_png(spec))
    scale = min(most / size for most, size in zip(SIZE, drawn.shape, strict=False))
    return drawn if scale >= 1 else pixels_of(screen_png(spec, scale))[: SIZE[0], : SIZE[1]]


PICTURES: dict[str, Callable[[Any, str], Any]] = {"svg": svg, "rgb_array": rgb_array}
"""What pictures there are, by render mode."""
