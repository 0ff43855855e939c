"""Pixels of a PNG, which plain Python writes with each of the filters that there are."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from joulewise.gym.pixels import pixels_of


def _nearest(left: int, up: int, corner: int) -> int:
    return min((left, up, corner), key=lambda value: abs(left + up - corner - value))


FILTERS: Sequence[Callable[[int, int, int], int]] = (
    lambda _left, _up, _corner: 0,
    lambda left, _up, _corner: left,
    lambda _left, up, _corner: up,
    lambda left, up, _corner: (left + up) // 2,
    _nearest,
)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(pixels: np.ndarray) -> bytes:
    """A PNG whose lines have the filters in turn."""
    n_rows, n_columns, n = pixels.shape
    at = np.zeros((n_rows + 1, n_columns + 1, n), int)
    at[1:, 1:] = pixels
    lines = bytearray()
    for row in range(n_rows):
        kind = row % len(FILTERS)
        lines.append(kind)
        for column in range(n_columns):
            around = zip(at[row + 1, column], at[row, column + 1], at[row, column], strict=True)
            guesses = [FILTERS[kind](*map(int, values)) for values in around]
            lines += bytes(((pixels[row, column].astype(int) - guesses) % 256).tolist())
    head = struct.pack(">IIBBBBB", n_columns, n_rows, 8, 2 if n == 3 else 6, 0, 0, 0)
    content, end = zlib.compress(bytes(lines)), _chunk(b"IEND", b"")
    half = len(content) // 2
    parts = _chunk(b"IDAT", content[:half]) + _chunk(b"tEXt", b"of\0nobody") + _chunk(b"IDAT", content[half:])
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + parts + end


@pytest.mark.parametrize("n", [3, 4])
def test_every_filter_gives_the_pixels_back(n: int) -> None:
    drawn = np.random.default_rng(n).integers(0, 256, (15, 8, n)).astype(np.uint8)
    if n == 4:
        drawn[:, :, 3] = np.where(np.arange(8) < 4, 255, 0)
    expected = drawn[:, :, :3].copy()
    if n == 4:
        expected[:, 4:] = 255
    np.testing.assert_array_equal(pixels_of(png_of(drawn)), expected)
