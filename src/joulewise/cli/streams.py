"""Standard output and error as they come: closed, or in a code that lacks the characters of ours."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from typing import TextIO

_IN_ASCII = "joulewise_ascii"
_PLAIN = {"\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{MINUS SIGN}": "-", "\N{MULTIPLICATION SIGN}": "x",
          "\N{PLUS-MINUS SIGN}": "+-", "\N{INFINITY}": "inf", "\N{HORIZONTAL ELLIPSIS}": "...",
          "\N{GREATER-THAN OR EQUAL TO}": ">=", "\N{LESS-THAN OR EQUAL TO}": "<="}  # fmt: skip


def prepare_streams() -> None:
    """Let every stream take whatever is printed: nothing where it is closed, ASCII where it has no better."""
    codecs.register_error(_IN_ASCII, _in_ascii)
    sys.stdout = _open_stream(sys.stdout, 1)
    sys.stderr = _open_stream(sys.stderr, 2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors=_IN_ASCII)


def _open_stream(stream: TextIO | None, number: int) -> TextIO:
    """The stream, or one that takes everything; a file opened later must not get the number of one that is closed."""
    if stream is not None:
        return stream
    null = os.open(os.devnull, os.O_WRONLY)
    if null != number:
        os.dup2(null, number)
        os.close(null)
    return open(number, "w", encoding="utf-8", closefd=False)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Characters that a stream does not have: as near as ASCII comes to them."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_nearest, error.object[error.start : error.end])), error.end


def _nearest(character: str) -> str:
    letters = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _PLAIN.get(character) or letters or "?"
