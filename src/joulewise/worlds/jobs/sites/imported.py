"""What an import gives: a site, what is told of it, and notes for its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from joulewise.errors import Problem
from joulewise.units import count
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.written import RefusedError

READ, CHANGED, GUESSED, LOST = "read", "changed", "guessed", "not modelled"
FATES = (READ, CHANGED, GUESSED, LOST)
"""What may become of what the files of a site say, in the order in which it is told."""

_MOST_NAMES = 6
_Value = TypeVar("_Value")


class Entry(NamedTuple):
    """A key with its value, as written, and where it stands."""

    key: str
    value: str
    where: str


class SiteFinding(NamedTuple):
    """Something that the files say: what became of it (one of `FATES`), what it is, and how."""

    fate: str
    what: str
    said: str


@dataclass(frozen=True)
class ImportedSite:
    """A site from its own files, and what became of all they say; `notes` are for its file, by section and name.

    `members` are the names of the nodes of each group, in order, where these are known.
    """

    site: SiteTables
    findings: tuple[SiteFinding, ...]
    notes: Mapping[tuple[str, str], str]
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class Findings:
    """What is found while files are read, and everything that is wrong with them."""

    told: dict[tuple[str, str, str], dict[str, None]] = field(default_factory=dict)
    keys: dict[str, dict[str, None]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def tell(self, fate: str, what: str, said: str, of: str = "") -> None:
        """Note what became of something; `of` names one of the things that it stands in."""
        self.told.setdefault((fate, what, said), {})[of] = None

    def lose(self, where: str, key: str) -> None:
        """Note a key that has no place in a site."""
        self.keys.setdefault(where, {})[key] = None

    def value(self, entry: Entry, read: Callable[[str], _Value], name: str = "") -> _Value | None:
        """What the value of a key stands for; None where it is none, which is noted."""
        try:
            return read(entry.value)
        except RefusedError as error:
            where = f"{entry.where}, {name or entry.key}"
            self.problems.append(Problem(where, f"found {entry.value!r}", error.allowed, error.advice))
            return None

    def rows(self) -> tuple[SiteFinding, ...]:
        """All that was noted, by what became of it."""
        told = [SiteFinding(fate, what + _listed(list(of)), said) for (fate, what, said), of in self.told.items()]
        lost = [SiteFinding(LOST, f"other keys of {where}", ", ".join(keys)) for where, keys in self.keys.items()]
        return tuple(sorted((*told, *lost), key=lambda row: FATES.index(row.fate)))


def tell_read(site: SiteTables, findings: Findings) -> None:
    """Note what a site has."""
    n_nodes = sum(group.count for group in site.nodes)
    findings.tell(READ, count(n_nodes, "node"), _first([f"{group.count:,} {group.name}" for group in site.nodes]))
    parts = (
        ("partition", "partitions", [partition.name for partition in site.partitions]),
        ("licence", "licences", [f"{licence.count:,} {licence.name}" for licence in site.licences]),
        ("quality of service", "qualities of service", [qos.name for qos in site.qos]),
        ("account", "accounts", [account.name for account in site.accounts]),
        ("user with limits", "users with limits", [user.name for user in site.users]),
        ("setting of Slurm", "settings of Slurm", list(site.slurm)),
    )
    for singular, plural, names in parts:
        if names:
            findings.tell(READ, count(len(names), singular, plural), _first(names))


def _first(names: list[str]) -> str:
    """The first of some names, and how many there are more."""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _listed(names: list[str]) -> str:
    """Names behind what they have: " of a, b and 3 more"."""
    given = [name for name in names if name]
    return f" of {_first(given)}" if given else ""
