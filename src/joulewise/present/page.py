"""What the report of one kind of study says and shows, and where the page of each kind comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import getdoc
from typing import NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.present.findings import NONE_YET, Finding
from joulewise.present.glossary import STATISTICS
from joulewise.present.layout import Drawing
from joulewise.present.parts import unchecked
from joulewise.present.records import Key, Records
from joulewise.present.tables import Table, full_table
from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.kinds.packages import loaded
from joulewise.study.parsing.study import Study
from joulewise.units import count

ENTRY_POINTS = "joulewise.pages"
"""The group of entry points by which other packages bring pages: the name is that of the kind, the value a Page."""

_SYSTEMS = {kind: system for system, kinds in BUILT_IN.items() for kind in kinds}
"""The folder of each of our kinds; its module `page` has `PAGES`, by kind."""


@dataclass(frozen=True)
class Need:
    """What a figure needs of the records: in words, and whether it is there."""

    words: str
    holds: Callable[[Records], bool]


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn whenever the records hold all that it needs; `name` is also its file name.

    One that `is_schedule` shows where and when things ran, and reads of runs no metrics but shares of utility.
    """

    name: str
    title: str
    needs: tuple[Need, ...]
    drawer: Callable[[Records], Drawing]
    is_schedule: bool = False

    def draw(self, records: Records) -> Drawing:
        """The figure of the records."""
        with unchecked():
            return self.drawer(records)

    @property
    def shows(self) -> str:
        """What it shows, in a line: what its drawer says of itself, else its title."""
        return (getdoc(self.drawer) or self.title).partition("\n")[0].removesuffix(".")

    @property
    def file_name(self) -> str:
        """What it is called as a file, less its ending: levels of metrics may be named as no file can be."""
        return re.sub(r"[^\w.-]", "_", self.name)

    @property
    def needs_words(self) -> str:
        """What it needs, in words."""
        return ", ".join(need.words for need in self.needs)

    def lacking(self, records: Records) -> str:
        """What of that the records do not hold, in words."""
        return ", ".join(need.words for need in self.needs if not need.holds(records))

    def is_drawable(self, records: Records) -> bool:
        """Whether the records hold what it needs."""
        return all(need.holds(records) for need in self.needs)


@dataclass(frozen=True)
class Illustration:
    """A drawing of what there is in the world of a study, before anything is run; `name` is also its file name."""

    name: str
    title: str
    drawer: Callable[[Study], Drawing]

    def draw(self, study: Study) -> Drawing:
        """The drawing for a study."""
        with unchecked():
            return self.drawer(study)


def count_results(records: Records) -> list[Finding]:
    """How many runs have a result, where there is nothing better to say of them."""
    return [Finding(f"{count(records.n_runs, 'run')} gave results.")] if records.n_runs else NONE_YET


def all_metrics(records: Records) -> list[Table]:
    """Every metric at every point, where nobody says which matter; none without results."""
    return [full_table(records)] if records.n_runs else []


@dataclass(frozen=True)
class Page:
    """What the report of one kind of study says and shows; what is left out has a plain default.

    `frames` are the detail tables that it reads, each with the columns it needs, or None for all of them; of those with
    a row for each task, `glimpses`, it reads a few runs only: the first ones, and one of the best point. `keys` says
    how study keys are spoken of that are not just read out. `across` is a key whose values head columns of tables.
    `illustrations` show worlds of this kind, for the entry of the catalogue that draws them.
    """

    findings: Callable[[Records], list[Finding]] = count_results
    tables: Callable[[Records], list[Table]] = all_metrics
    figures: tuple[Figure, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=lambda: STATISTICS)
    frames: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)
    across: str = ""
    illustrations: tuple[Illustration, ...] = ()
    glimpses: Mapping[str, Sequence[str]] = field(default_factory=dict)


def page_of(kind: str) -> Page:
    """The page of a kind of study, a plain one where nobody brings one; InputError where a package's page is broken."""
    if kind in _SYSTEMS:
        return _built_in(kind)
    found = next((_loaded(point, ()) for point in entry_points(group=ENTRY_POINTS, name=kind)), Page())
    if isinstance(found, Problem):
        raise InputError(found)
    return found


class InstalledPages(NamedTuple):
    """The pages of installed packages by the kind of study they are for, and why others are none."""

    pages: Mapping[str, Page]
    problems: tuple[Problem, ...]


def installed_pages() -> InstalledPages:
    """What installed packages bring; one that is broken keeps nobody else from working."""
    pages: dict[str, Page] = {}
    problems: list[Problem] = []
    taken = list(_SYSTEMS)
    for point in entry_points(group=ENTRY_POINTS):
        found = _loaded(point, taken)
        pages |= {point.name: found} if isinstance(found, Page) else {}
        problems += [found] if isinstance(found, Problem) else []
        taken.append(point.name)
    return InstalledPages(pages, tuple(problems))


def all_pages() -> dict[str, Page]:
    """Every page by the kind of study it is for, ours first; those of broken packages are left out."""
    return {**{kind: _built_in(kind) for kind in _SYSTEMS}, **installed_pages().pages}


def kinds_of_figures() -> dict[Figure, list[str]]:
    """Every figure of every page, each name once, with the kinds of studies that have one of its name."""
    figures: dict[str, Figure] = {}
    kinds: dict[str, list[str]] = {}
    for kind, page in all_pages().items():
        for figure in page.figures:
            figures.setdefault(figure.name, figure)
            kinds.setdefault(figure.name, []).append(kind)
    return {figure: kinds[name] for name, figure in figures.items()}


def all_figures() -> list[Figure]:
    """Every figure of every page, each name once."""
    return list(kinds_of_figures())


def drawable(records: Records) -> list[Figure]:
    """The figures of the page of this kind of study that the records allow, in the order of the page."""
    return [figure for figure in page_of(records.study.kind).figures if figure.is_drawable(records)]


def _built_in(kind: str) -> Page:
    pages: Mapping[str, Page] = import_module(f"joulewise.present.{_SYSTEMS[kind]}.page").PAGES
    return pages[kind]


def _loaded(point: EntryPoint, taken: Collection[str]) -> Page | Problem:
    """The page of an entry point, or why it is none that can be used."""
    return loaded(point, "page", Page, lambda page: _flaws(page, point.name, taken))


def _flaws(page: Page, kind: str, taken: Collection[str]) -> Iterator[str]:
    """What keeps a page from being used for a kind of study."""
    if kind in taken:
        yield f"the kind of study {kind!r} has a page already"
    if not all(isinstance(figure, Figure) for figure in page.figures):
        yield "has figures that must each be a Figure"
    if not isinstance(page.glossary, Mapping):
        yield "has a glossary that must be a mapping from words to meanings"
