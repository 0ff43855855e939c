"""The pixels of a PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.pixels import unfilter

_unfilter: Any = unfilter

_SIGNATURE = 8
_HEAD = struct.Struct(">IIBB")
_CHANNELS = {2: 3, 6: 4}
"""How many bytes a pixel has, by the type of its colours."""


def pixels_of(png: bytes) -> NDArray[np.uint8]:
    """Rows and columns of red, green and blue on white, of a PNG of one byte per colour that is not interlaced."""
    chunks = list(_chunks(png))
    n_columns, n_rows, depth, colours = _HEAD.unpack_from(dict(chunks)[b"IHDR"])
    assert depth == 8
    filtered = zlib.decompress(b"".join(data for name, data in chunks if name == b"IDAT"))
    n = _CHANNELS[colours]
    lines = np.frombuffer(filtered, np.uint8).reshape(n_rows, 1 + n * n_columns)
    pixels = np.zeros((n_rows, n * n_columns), np.uint8)
    _unfilter(lines, n, pixels)
    return _on_white(pixels.reshape(n_rows, n_columns, n))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The name and the content of each part."""
    at = _SIGNATURE
    while at < len(png):
        length, name = struct.unpack_from(">I4s", png, at)
        yield name, png[at + 8 : at + 8 + length]
        at += 12 + length


def _on_white(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Without transparency, where there is any."""
    if pixels.shape[2] == 3:
        return pixels
    part = pixels[:, :, 3:] / 255.0
    return np.rint(pixels[:, :, :3] * part + 255.0 * (1.0 - part)).astype(np.uint8)
