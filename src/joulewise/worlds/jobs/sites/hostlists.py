"""Slurm's short way to write many names of nodes: node[01-10,12], rack[1-2]n[1-3], login1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, product

from joulewise.worlds.jobs.sites.written import RefusedError

MOST_NAMES = 1_000_000
"""A list of more names is refused: no site has so many nodes."""

EXAMPLE = "must be names such as node[01-10,12]"
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")
_NUMBER = re.compile(r"(.*?)([0-9]{1,12})([^0-9]*)")


def split_list(text: str, separator: str = ",") -> list[str]:
    """The parts between separators that are in no brackets, without empty ones."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(character, 0)
        if character == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def expanded(text: str) -> list[str]:
    """The names that a list stands for, in its order; `RefusedError` where it is none."""
    names: list[str] = []
    for part in split_list(text):
        names += _names_of(part, MOST_NAMES - len(names))
    return names


def _names_of(part: str, most: int) -> Iterator[str]:
    pieces, end = [], 0
    for piece in _PIECE.finditer(part):
        if piece.start() != end:
            break
        pieces.append(_numbers_of(piece[1], most) if piece[1] is not None else [piece[2]])
        end = piece.end()
    if end != len(part):
        raise RefusedError(EXAMPLE)
    n = 1
    for choices in pieces:
        n *= len(choices)
    if n > most:
        raise RefusedError(f"must be {MOST_NAMES:,} names at most")
    return ("".join(name) for name in product(*pieces))


def _numbers_of(text: str, most: int) -> list[str]:
    numbers: list[str] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if found is None or last < first:
            raise RefusedError(EXAMPLE)
        if last - first + 1 + len(numbers) > most:
            raise RefusedError(f"must be {MOST_NAMES:,} names at most")
        numbers += (f"{number:0{len(found[1])}d}" for number in range(first, last + 1))
    return numbers


def compacted(names: Iterable[str]) -> str:
    """The short way to write these names, each once: names that differ in their last number alone are put together."""
    parts = sorted({_parts(name) for name in names})
    return ",".join(
        _bracketed(stem, tail, [digits for *_, digits in alike])
        for (stem, tail), alike in groupby(parts, lambda part: part[:2])
    )


def _parts(name: str) -> tuple[str, str, int, str]:
    """What is before and behind the last number of a name, the number and its digits; none where it has no number."""
    found = _NUMBER.fullmatch(name)
    return (found[1], found[3], int(found[2]), found[2]) if found else (name, "", 0, "")


def _bracketed(stem: str, tail: str, all_digits: list[str]) -> str:
    """Names with these digits, of rising numbers, between what is before and behind them."""
    ranges: list[tuple[str, str]] = []
    for digits in all_digits:
        first, last = ranges[-1] if ranges else ("", "")
        if last and digits == f"{int(last) + 1:0{len(first)}d}":
            ranges[-1] = (first, digits)
        else:
            ranges.append((digits, digits))
    inner = ",".join(first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{stem}{inner}{tail}" if len(all_digits) == 1 else f"{stem}[{inner}]{tail}"
