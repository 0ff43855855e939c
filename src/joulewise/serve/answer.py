"""What a page says: one object, of which the page and its JSON twin are two renderings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, the value behind it, where a link in it leads, and what it is.

    `kind` is that of a cell of a report: "best", "alike", "words" or nothing for a plain number.
    """

    text: str
    value: object = None
    href: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Said:
    """A sentence that matters, and what supports it."""

    lead: str
    support: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values, as text; of few words each."""

    pairs: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Sentences:
    """What was found, in words, the first sentence first of all."""

    lines: Sequence[Said]
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a heading for each column; the first cell of a row heads it. It may be `folded` at first."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Link:
    """Where one may go from here, and what is there."""

    text: str
    href: str
    about: str = ""


@dataclass(frozen=True)
class Plot:
    """A figure as Vega-Lite.

    Where it `follows` a key of the query, a click on a mark sets it to the value of that mark's `field`, so that a
    click is a link. Where it `zooms` into two keys, a span that is drawn along the figure sets them to its ends; the
    figure then has an interval parameter called "span" along `field`. `pictures` are where it can be downloaded.
    """

    name: str
    title: str
    caption: str
    spec: Mapping[str, Any]
    follows: str = ""
    field: str = ""
    zooms: tuple[str, str] | tuple[()] = ()
    folded: bool = False
    pictures: Sequence[Link] = ()


@dataclass(frozen=True)
class Links:
    """Where one may go from here; those of `is_files` are downloads."""

    links: Sequence[Link]
    title: str = ""
    is_files: bool = False


@dataclass(frozen=True)
class Source:
    """A text as it stands in a file."""

    title: str
    text: str


Block = Facts | Sentences | Table | Plot | Links | Source


@dataclass(frozen=True)
class Answer:
    """What a page says, block by block; `lead` stands below its title.

    Where it is `unsettled`, as while a study runs, its page asks again after a while.
    """

    title: str
    blocks: Sequence[Block] = ()
    lead: str = ""
    unsettled: bool = False


@dataclass(frozen=True)
class File:
    """A file to download: what it is called, of what type it is, and what it holds."""

    name: str
    media_type: str
    content: bytes


def to_json(found: object) -> Any:
    """What JSON can say of an answer or a part of it: finite numbers, `null` for what is missing."""
    if isinstance(found, _PARTS):
        inner = {each.name: to_json(getattr(found, each.name)) for each in fields(found)}
        return {"type": type(found).__name__.lower(), **inner} if isinstance(found, Block) else inner
    if isinstance(found, Mapping):
        return {str(key): to_json(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [to_json(value) for value in found]
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    return found if found is None or isinstance(found, bool | int | str) else str(found)


_PARTS = (Answer, Facts, Sentences, Table, Plot, Links, Source, Cell, Said, Link)
