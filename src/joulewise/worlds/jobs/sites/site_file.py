"""Files of sites: read with everything that is wrong in one report, and written so that people can go on from there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from joulewise.errors import Problem, as_written, raise_if_any, unknown_name
from joulewise.files import toml_of, toml_text
from joulewise.worlds.jobs.sites.consistency import inconsistencies
from joulewise.worlds.jobs.sites.site import Account, Licence, NodeGroup, Partition, Qos, Reservation, SiteTables, User
from joulewise.worlds.jobs.sites.slurm_settings import SETTINGS
from joulewise.worlds.jobs.sites.written import KINDS, RefusedError, text, word


class Section(NamedTuple):
    """A kind of tables: what holds one, where a site keeps them, and what they are."""

    holds: type[Any]
    attribute: str
    meaning: str


SECTIONS: dict[str, Section] = {
    "nodes": Section(NodeGroup, "nodes", "Groups of nodes that are alike in all that counts."),
    "partition": Section(Partition, "partitions", "Partitions: groups of nodes under one set of limits."),
    "licence": Section(Licence, "licences", "Things that are counted for the whole site."),
    "qos": Section(Qos, "qos", "Qualities of service: what their jobs may have."),
    "account": Section(Account, "accounts", "Accounts: a tree with the shares of each part, and its limits."),
    "user": Section(User, "users", "Users with limits of their own in an account."),
    "reservation": Section(Reservation, "reservations", "Nodes that are kept for some jobs, for a time."),
}
"""The tables of a site's file, each written as [[name]]."""

_SLURM = "slurm"
_HEADING = re.compile(r"\s*\[\[?\s*([A-Za-z]+)\s*\]\]?\s*(?:#.*)?")


def key_of(of: Field[Any]) -> str:
    """The key that a field is written under: its name without the unit, which the value carries."""
    return of.name.removesuffix("_s").removesuffix("_mib").removesuffix("_w")


def read_site(name: str, folder: Path = Path()) -> SiteTables:
    """The site in a TOML file; InputError with every problem."""
    return parse_site(toml_text(name, folder), name)


def parse_site(source: str, file_name: str) -> SiteTables:
    """The site of a TOML text; InputError with every problem."""
    return _Reading(file_name, _lines(source)).site(toml_of(source, file_name))


def _lines(source: str) -> dict[str, list[int]]:
    """The lines on which tables begin, by their names."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(source.splitlines(), 1):
        heading = _HEADING.fullmatch(line)
        if heading:
            found.setdefault(heading[1], []).append(number)
    return found


@dataclass
class _Reading:
    """A file while it is read: lines of its tables, what is wrong, where tables stand, and names of those that are."""

    file_name: str
    lines: Mapping[str, list[int]]
    problems: list[Problem] = field(default_factory=list)
    places: dict[int, str] = field(default_factory=dict)
    broken: dict[str, list[str]] = field(default_factory=dict)

    def site(self, raw: Mapping[str, Any]) -> SiteTables:
        """The site of what is in the file."""
        known = ("name", *SECTIONS, _SLURM)
        self.problems += [unknown_name(f"{self.file_name}: {key}", key, known) for key in raw if key not in known]
        parts: dict[str, Any] = {
            section.attribute: tuple(self._tables(name, raw.get(name, []))) for name, section in SECTIONS.items()
        }
        name = self._value(raw.get("name"), "name", f"{self.file_name}: name")
        slurm = self._settings(raw.get(_SLURM, {}))
        if not raw.get("nodes"):
            found, advice = (
                "there are no nodes",
                'write one group at least: [[nodes]] with name = "cpu" and count = 100',
            )
            self.problems.append(Problem(self.file_name, found, "a site has nodes", advice))
        site = SiteTables(name=name or "", slurm=slurm, **parts)
        self.problems += inconsistencies(site, self._place, self.broken)
        raise_if_any(self.problems)
        return site

    def _tables(self, section: str, raw: Any) -> Iterator[Any]:
        """The tables of a section that are as they must be."""
        if not isinstance(raw, list) or not all(isinstance(table, dict) for table in raw):
            self.problems.append(Problem(f"{self.file_name}: {section}", "found no tables", f"must be [[{section}]]"))
            return
        for number, table in enumerate(raw):
            lines = self.lines.get(section, [])
            at = f"line {lines[number]}, " if len(lines) == len(raw) else ""
            where = f"{self.file_name}: {at}{section} {table.get('name', number + 1)!r}"
            n_before = len(self.problems)
            values = dict(self._values(SECTIONS[section].holds, table, where))
            if len(self.problems) == n_before:
                made = SECTIONS[section].holds(**values)
                self.places[id(made)] = where
                yield made
            else:
                self.broken.setdefault(section, []).append(str(table.get("name", "")))

    def _values(self, holds: Any, table: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
        by_key = {key_of(each): each for each in fields(holds)}
        for key, value in table.items():
            if key in by_key:
                yield by_key[key].name, self._value(value, by_key[key].metadata["kind"], f"{where}, {key}")
            else:
                self.problems.append(unknown_name(f"{where}, {key}", key, by_key))
        for key, each in by_key.items():
            if key not in table and each.default is MISSING and each.default_factory is MISSING:
                self.problems.append(Problem(where, f"has no {key}", f"must have one: {each.metadata['help']}"))

    def _settings(self, raw: Any) -> dict[str, Any]:
        if not isinstance(raw, dict):
            self.problems.append(Problem(f"{self.file_name}: {_SLURM}", "found no table", f"must be [{_SLURM}]"))
            return {}
        where = f"{self.file_name}: {_SLURM}"
        unknown = [unknown_name(f"{where}.{key}", key, SETTINGS) for key in raw if key not in SETTINGS]
        self.problems += unknown
        known = (key for key in raw if key in SETTINGS)
        return {key: self._value(raw[key], SETTINGS[key].kind, f"{where}.{key}") for key in known}

    def _value(self, value: Any, kind: str, where: str) -> Any:
        """What a value stands for; None where it is wrong, which is noted."""
        try:
            return KINDS[kind].read(value)
        except RefusedError as error:
            found = "is missing" if value is None else f"found {as_written(value)}"
            self.problems.append(Problem(where, found, error.allowed, error.advice))
            return None

    def _place(self, table: object, key: str) -> str:
        where = self.places.get(id(table), self.file_name)
        return f"{where}, {key}" if table is not None else f"{where}: {key}"


def site_text(site: SiteTables, head: Sequence[str] = (), notes: Mapping[tuple[str, str], str] | None = None) -> str:
    """A site as its file has it, with comments: lines at the head, and notes on tables, by section and name."""
    notes = notes or {}
    parts = [_commented(head) + f"name = {text(site.name)}\n"]
    for section, (_, attribute, meaning) in SECTIONS.items():
        tables = getattr(site, attribute)
        if tables:
            parts.append(_commented([meaning]))
        parts += [_commented([notes.get((section, table.name), "")]) + _table(section, table) for table in tables]
    if site.slurm:
        parts.append(_commented(["Settings of Slurm, under its own names."]) + _settings_text(site.slurm))
    return "\n".join(parts)


def _commented(lines: Sequence[str]) -> str:
    return "".join(f"# {line}\n" for line in lines if line)


def _table(section: str, table: Any) -> str:
    lines = [f"[[{section}]]"]
    for each in fields(table):
        value = getattr(table, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != default:
            lines.append(f"{key_of(each)} = {KINDS[each.metadata['kind']].write(value)}")
    return "\n".join([*lines, ""])


def _settings_text(settings: Mapping[str, Any]) -> str:
    written = {name: KINDS[SETTINGS[name].kind].write(value) for name, value in settings.items()}
    lines = (f"# {SETTINGS[name].meaning}\n{word(name)} = {value}" for name, value in written.items())
    return "\n".join([f"[{_SLURM}]", *lines, ""])
