"""What turns the lines of a PNG into bytes: each was written as the difference to its neighbours."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, kernel

LEFT, UP, MEAN, NEAREST = 1, 2, 3, 4


@inlined
def nearest(left, up, corner):
    """Which of three neighbours is nearest to left + up - corner; the first of these where two are."""
    guess = left + up - corner
    far, high, across = abs(guess - left), abs(guess - up), abs(guess - corner)
    if far <= high and far <= across:
        return left
    return up if high <= across else corner


@kernel
def unfilter(lines, n, pixels):
    """Fill in the bytes of pixels of n bytes each, of lines that begin with the number of their filter."""
    for row in range(pixels.shape[0]):
        kind = lines[row, 0]
        for at in range(pixels.shape[1]):
            left = int(pixels[row, at - n]) if at >= n else 0
            up = int(pixels[row - 1, at]) if row > 0 else 0
            corner = int(pixels[row - 1, at - n]) if row > 0 and at >= n else 0
            guess = 0
            if kind == LEFT:
                guess = left
            elif kind == UP:
                guess = up
            elif kind == MEAN:
                guess = (left + up) // 2
            elif kind == NEAREST:
                guess = nearest(left, up, corner)
            pixels[row, at] = (lines[row, 1 + at] + guess) & 255
