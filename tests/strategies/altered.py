"""Files that are almost right: texts and tables in which a few things are otherwise than anybody would write them."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

import polars as pl

ODD = (
    "", "0", "-0", "-1", "1", "7", "0.1", "1e-200", "1e300", "1e9", "99999999999999999999", "9" * 5000, "nan", "inf",
    "-inf", "true", "false", '""', '"x"', "'\\'", "x", '"1 h"', '"-1 s"', '"1e300 d"', '"5 GJ"', '"0 W"', "[]", "[[]]",
    "[1, 2]", '["x", 1]', "[" * 40 + "]" * 40, "{}", "{a = 1}", "{special = 0.5}", "2026-01-01", "2026-01-01T10:00:00Z",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-05:00", "10000-01-01T00:00", '"\\u001b[31m"', '"\\u202ename"',
    "\x1b[2J", "\x00", "\ud83d\ude00", "é", "\x85", "\u2028", "../x", "/dev/null", "/etc/passwd", '"study.toml"',
    '"missing.csv"', "=1+1", '"', "'''", ",", ";", "|", "\t", "#", "%s", "{0}", "NULL", "None", "1,5", "0x10", "1_000",
)  # fmt: skip
"""What may stand in place of a value, or beside it."""

_TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.-]*|-?\d[\d._:eE+-]*')

Change = Callable[[str, Random], str]


def _replace_token(text: str, draw: Random) -> str:
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    token = draw.choice(tokens)
    return text[: token.start()] + draw.choice(ODD) + text[token.end() :]


def _swap_tokens(text: str, draw: Random) -> str:
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) < 2:
        return text
    token, other = draw.choice(tokens), draw.choice(tokens)
    return text[: token.start()] + other[0] + text[token.end() :]


def _insert(text: str, draw: Random) -> str:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(ODD) + text[at:]


def _remove(text: str, draw: Random) -> str:
    at = draw.randrange(len(text) + 1)
    return text[:at] + text[at + draw.randint(1, 5) :]


def _drop_line(text: str, draw: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[draw.randrange(len(lines))]
    return "".join(lines)


def _move_line(text: str, draw: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        line = lines[draw.randrange(len(lines))]
        lines.insert(draw.randrange(len(lines) + 1), line)
    return "".join(lines)


def _cut(text: str, draw: Random) -> str:
    return text[: draw.randrange(len(text) + 1)]


_CHANGES: tuple[Change, ...] = (_replace_token,) * 5 + (_swap_tokens, _insert, _remove, _drop_line, _move_line, _cut)


def altered(text: str, draw: Random) -> str:
    """A text after a few changes, each of which a person, a program or a disk may have made."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        text = draw.choice(_CHANGES)(text, draw)
    return text


_VALUE = re.compile(r"(?m)(?<==)\s*[^\s#][^#\n]*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?![\w.])")
_FACTORS = (0, 0.001, 0.5, 1.1, 2, 10, -1)
_VALUES = tuple(value for value in ODD if re.fullmatch(r"[-+\w.\"\\ :\[\]{}=,/]+", value) and value not in ("x", "-"))


def _replace_value(text: str, draw: Random) -> str:
    values = list(_VALUE.finditer(text))
    if not values:
        return text
    value = draw.choice(values)
    return f"{text[: value.start()]} {draw.choice(_VALUES)}{text[value.end() :]}"


def _scale_number(text: str, draw: Random) -> str:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return text
    number = draw.choice(numbers)
    scaled = f"{float(number[0].replace('_', '')) * draw.choice(_FACTORS):g}"
    return text[: number.start()] + scaled + text[number.end() :]


def altered_toml(text: str, draw: Random) -> str:
    """A TOML text after a few changes, after most of which it is still one."""
    if draw.random() < 0.2:
        return altered(text, draw)
    for _ in range(draw.choice((1, 1, 2, 3))):
        text = draw.choice((_replace_value, _scale_number, _scale_number))(text, draw)
    return text


def damaged(data: bytes, draw: Random) -> bytes:
    """Bytes of which a few are others, or the last are missing."""
    if draw.random() < 0.3:
        return data[: draw.randrange(len(data) + 1)]
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def encoded(text: str, draw: Random) -> bytes:
    """A text as bytes: mostly as it should be, now and then in another code, or damaged."""
    data = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.1:
        data = text.encode(draw.choice(("utf-16", "utf-8-sig", "latin-1")), "replace")
    return damaged(data, draw) if draw.random() < 0.1 else data


def packed(data: bytes, draw: Random) -> bytes:
    """Bytes packed by gzip, now and then damaged."""
    data = gzip.compress(data, 1)
    return damaged(data, draw) if draw.random() < 0.5 else data


def _as_type(values: pl.Series, draw: Random) -> pl.Series:
    n = len(values)
    cells = draw.choice((
        [[1.0]] * n, [timedelta(1)] * n, [b"\xff\x00"] * n, [{"a": 1}] * n, [datetime(2026, 1, 1)] * n,
        [date(1, 1, 1)] * n, [Decimal("1.5")] * n, [True] * n, [None] * n, [-1] * n, [2**62] * n, [1e300] * n,
        ["\x1b[31m"] * n, [float("nan")] * n,
    ))  # fmt: skip
    return pl.Series(values.name, cells, strict=False)


def as_parquet(text: str, draw: Random) -> bytes:
    """A table of text as Parquet, of which a column may be of another type, and bytes may be damaged."""
    frame = pl.read_csv(io.BytesIO(text.encode()), infer_schema_length=None)
    if draw.random() < 0.7:
        name = draw.choice(frame.columns)
        frame = frame.with_columns(_as_type(frame[name], draw))
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return damaged(buffer.getvalue(), draw) if draw.random() < 0.3 else buffer.getvalue()
