"""On which line of a study's text a key stands, so that a problem can be shown beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joulewise.errors import Problem
from joulewise.study.parsing.study import VARIANT

HEADER = re.compile(r"\s*\[\[?\s*([\w.\s\"'-]+?)\s*\]\]?\s*(?:#.*)?$")
"""A line that opens a section."""
KEY = re.compile(r"\s*([\w\"'-]+(?:\s*\.\s*[\w\"'-]+)*)\s*=")
"""A line that gives a key a value."""

_STRINGS = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\])*\"|'[^']*'")
_LONG = ('"""', "'''")
_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)")
_IN_VARIANT = re.compile(rf"(?:variant '(?P<name>.*?)': |{VARIANT}\[(?P<number>\d+)\]\.?)(?P<path>.*)")
_INDEX = re.compile(r"\[\d+\]")
_FOUND = re.compile(r"found (?:the unit )?(?:'([^']*)'|(\[.*?\]|-?[\d.][\d.e+-]*))")


@dataclass(frozen=True)
class Place:
    """A key or a section in a text: its dotted path, the lines that it takes, from 1, and the number of its variant."""

    path: str
    first: int
    last: int
    variant: int | None
    is_section: bool


class Lines:
    """A text of TOML, right or wrong, with the places of its keys."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.places = list(_places(self.lines))

    def of(self, problem: Problem, file_name: str) -> int | None:
        """The line that a problem is about, if it can be told."""
        syntax = _SYNTAX.search(problem.found)
        if syntax or "end of document" in problem.found:
            return int(syntax[1]) if syntax else max(len(self.lines), 1)
        where = problem.where.removeprefix(f"{file_name}: ")
        inner = _IN_VARIANT.fullmatch(where)
        path = _INDEX.sub("", inner["path"] if inner else where)
        places = [place for place in self.places if _is_at(path, place.path)]
        if inner:
            number = int(inner["number"]) if inner["number"] else self._variant(inner["name"])
            places = [place for place in self.places if place.variant == number and _is_at(path, place.path)] or [
                place for place in self.places if place.variant == number and place.is_section
            ]
        return self._line_in(places, problem.found)

    def section_at(self, line: int) -> tuple[str, bool]:
        """The path of the section that a line stands in, "" above the first, and whether that is in a variant."""
        above = [place for place in self.places if place.is_section and place.first <= line]
        return (above[-1].path, above[-1].variant is not None) if above else ("", False)

    def key_at(self, line: int) -> Place | None:
        """The key whose value goes over a line and began above it."""
        return next((place for place in self.places if place.first < line <= place.last), None)

    def values_in(self, section: str, line: int) -> dict[str, str]:
        """The keys of the section around a line with what stands behind them, as text."""
        starts = [place.first for place in self.places if place.is_section] + [len(self.lines) + 1]
        begin = max((start for start in starts if start <= line), default=0)
        end = min((start for start in starts if start > line), default=len(self.lines) + 1)
        found = (place for place in self.places if not place.is_section and begin <= place.first < end)
        cut = len(section) + 1 if section else 0
        return {place.path[cut:]: self.lines[place.first - 1].partition("=")[2].strip() for place in found}

    def _variant(self, name: str) -> int | None:
        """The number of the variant with a name."""
        named = (place for place in self.places if place.variant is not None and place.path == "name")
        return next((place.variant for place in named if f'"{name}"' in self.lines[place.first - 1]), None)

    def _line_in(self, places: Sequence[Place], found: str) -> int | None:
        """Of places that are as near, the line with what was found; else the first line of the nearest one."""
        if not places:
            return None
        longest = max(len(place.path) for place in places)
        nearest = [place for place in places if len(place.path) == longest]
        told = _FOUND.search(found)
        value = (told[1] or told[2] or "") if told else ""
        lines = (line for place in nearest for line in range(place.first, place.last + 1))
        return next((line for line in lines if value and value in self.lines[line - 1]), nearest[0].first)


def _is_at(path: str, place: str) -> bool:
    """Whether what has a path stands at a place, or inside of what does."""
    return path == place or path.startswith(f"{place}.")


def _places(lines: Sequence[str]) -> Iterator[Place]:
    section, variant, number = "", None, 0
    while number < len(lines):
        line, first = lines[number], number + 1
        if (header := HEADER.match(line)) and not KEY.match(line):
            name = _plain(header[1])
            if name == VARIANT:
                variant = 0 if variant is None else variant + 1
            elif not name.startswith(f"{VARIANT}."):
                variant = None
            section = name.removeprefix(VARIANT).removeprefix(".") if variant is not None else name
            yield Place(section, first, first, variant, is_section=True)
        elif key := KEY.match(line):
            number = _last_line(lines, number)
            path = ".".join(filter(None, (section, _plain(key[1]))))
            yield Place(path, first, number + 1, variant, is_section=False)
        number += 1


def _last_line(lines: Sequence[str], number: int) -> int:
    """The line on which the value ends that begins on this one: where all its brackets and quotes are closed."""
    text = lines[number].partition("=")[2]
    while number + 1 < len(lines) and _is_open(text) and not KEY.match(lines[number + 1]):
        number += 1
        text += "\n" + lines[number]
    return number


def _is_open(text: str) -> bool:
    """Whether brackets or long quotes are left open."""
    bare = re.sub(r"#[^\n]*", "", _STRINGS.sub("", text))
    return any(quote in bare for quote in _LONG) or sum(map(bare.count, "[{")) > sum(map(bare.count, "]}"))


def _plain(key: str) -> str:
    """A dotted key without spaces and quotes."""
    return re.sub(r"[\s\"']", "", key)
