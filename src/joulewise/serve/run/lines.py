"""On which line of a study's text a key stands, so that a problem can be shown beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joulewise.errors import Problem
from joulewise.study.parsing.study import VARIANT

KEY = re.compile(r"\s*([\w\"'-]+(?:\s*\.\s*[\w\"'-]+)*)\s*=")
"""A line that gives a key a value."""

_SECTION = re.compile(r"[\w.\s\"'-]+")
_LONG = ('"""', "'''")
_PIECE = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*+\"?|'[^']*'?|#.*|[\[{\]}]")
"""What matters for where a value ends; a string that is not closed goes to the end of its line."""
_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}
_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)")
_IN_VARIANT = re.compile(rf"(?:variant '(?P<name>.*?)': |{VARIANT}\[(?P<number>\d+)\]\.?)(?P<path>.*)", re.DOTALL)
_INDEX = re.compile(r"\[\d+\]")
_FOUND = re.compile(r"found (?:the unit )?(?:'([^']*)'|(\[.*?\]|-?[\d.][\d.e+-]*))")
_LONGEST_FOUND = 1_000
"""So much of what a problem says is looked at for what was found."""


@dataclass(frozen=True)
class Spot:
    """A key or a section in a text: its dotted path, the lines that it takes, from 1, and the number of its variant."""

    path: str
    first: int
    last: int
    variant: int | None
    is_section: bool


class Lines:
    """A text of TOML, right or wrong, with the spots of its keys."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.spots = list(_spots(self.lines))

    def of(self, problem: Problem, file_name: str) -> int | None:
        """The line that a problem is about, if it can be told."""
        syntax = _SYNTAX.search(problem.found)
        if syntax or "end of document" in problem.found:
            return int(syntax[1]) if syntax else max(len(self.lines), 1)
        where = problem.where.removeprefix(f"{file_name}: ")
        inner = _IN_VARIANT.fullmatch(where)
        path = _INDEX.sub("", inner["path"] if inner else where)
        spots = [spot for spot in self.spots if _is_at(path, spot.path)]
        if inner:
            number = int(inner["number"]) if inner["number"] else self._variant(inner["name"])
            spots = [spot for spot in self.spots if spot.variant == number and _is_at(path, spot.path)] or [
                spot for spot in self.spots if spot.variant == number and spot.is_section
            ]
        return self._line_in(spots, problem.found)

    def section_at(self, line: int) -> tuple[str, bool]:
        """The path of the section that a line stands in, "" above the first, and whether that is in a variant."""
        above = [spot for spot in self.spots if spot.is_section and spot.first <= line]
        return (above[-1].path, above[-1].variant is not None) if above else ("", False)

    def key_at(self, line: int) -> Spot | None:
        """The key whose value goes over a line and began above it."""
        return next((spot for spot in self.spots if spot.first < line <= spot.last), None)

    def values_in(self, section: str, line: int) -> dict[str, str]:
        """The keys of the section around a line with what stands behind them, as text."""
        starts = [spot.first for spot in self.spots if spot.is_section] + [len(self.lines) + 1]
        begin = max((start for start in starts if start <= line), default=0)
        end = min((start for start in starts if start > line), default=len(self.lines) + 1)
        found = (spot for spot in self.spots if not spot.is_section and begin <= spot.first < end)
        cut = len(section) + 1 if section else 0
        return {spot.path[cut:]: self.lines[spot.first - 1].partition("=")[2].strip() for spot in found}

    def _variant(self, name: str) -> int | None:
        """The number of the variant with a name."""
        named = (spot for spot in self.spots if spot.variant is not None and spot.path == "name")
        return next((spot.variant for spot in named if f'"{name}"' in self.lines[spot.first - 1]), None)

    def _line_in(self, spots: Sequence[Spot], found: str) -> int | None:
        """Of spots that are as near, the line with what was found; else the first line of the nearest one."""
        if not spots:
            return None
        longest = max(len(spot.path) for spot in spots)
        nearest = [spot for spot in spots if len(spot.path) == longest]
        told = _FOUND.search(found[:_LONGEST_FOUND])
        value = (told[1] or told[2] or "") if told else ""
        lines = (line for spot in nearest for line in range(spot.first, spot.last + 1))
        return next((line for line in lines if value and value in self.lines[line - 1]), nearest[0].first)


def _is_at(path: str, spot: str) -> bool:
    """Whether what has a path stands at a spot, or inside of what does."""
    return path == spot or path.startswith(f"{spot}.")


def _spots(lines: Sequence[str]) -> Iterator[Spot]:
    section, variant, number = "", None, 0
    while number < len(lines):
        line, first = lines[number], number + 1
        if header := section_in(line):
            name = _plain(header)
            if name == VARIANT:
                variant = 0 if variant is None else variant + 1
            elif not name.startswith(f"{VARIANT}."):
                variant = None
            section = name.removeprefix(VARIANT).removeprefix(".") if variant is not None else name
            yield Spot(section, first, first, variant, is_section=True)
        elif key := KEY.match(line):
            number = _last_line(lines, number)
            path = ".".join(filter(None, (section, _plain(key[1]))))
            yield Spot(path, first, number + 1, variant, is_section=False)
        number += 1


def section_in(line: str) -> str:
    """What stands in the brackets of a line that opens a section; "" where it opens none."""
    bare = line.partition("#")[0].strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return ""
    inner = bare[1:-1].removeprefix("[").removesuffix("]").strip()
    return inner if _SECTION.fullmatch(inner) else ""


def _last_line(lines: Sequence[str], number: int) -> int:
    """The line on which the value ends that begins on this one: where all its brackets and quotes are closed."""
    depth, quote = _left_open(lines[number].partition("=")[2], 0, "")
    while number + 1 < len(lines) and (depth > 0 or quote) and not KEY.match(lines[number + 1]):
        number += 1
        depth, quote = _left_open(lines[number], depth, quote)
    return number


def _left_open(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets are open behind a line, and which long quote, given what was open before it."""
    at = 0
    while at < len(line):
        if quote:
            end = line.find(quote, at)
            if end < 0:
                break
            at, quote = end + len(quote), ""
        elif piece := _PIECE.search(line, at):
            at = piece.end()
            quote = piece[0] if piece[0] in _LONG else ""
            depth += _DEPTHS.get(piece[0], 0)
        else:
            break
    return depth, quote


def _plain(key: str) -> str:
    """A dotted key without spaces and quotes."""
    return re.sub(r"[\s\"']", "", key)
