"""The texts of a Slurm: slurm.conf with what it includes, gres.conf, and what scontrol and sacctmgr show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from joulewise.errors import InputError, Problem
from joulewise.worlds.jobs.logs import opened
from joulewise.worlds.jobs.sites.hostlists import expanded
from joulewise.worlds.jobs.sites.imported import Entry
from joulewise.worlds.jobs.sites.written import RefusedError

_MOST_BYTES = 2**26
_MOST_FILES = 1000
DEFAULT = "default"


Entries: TypeAlias = Mapping[str, Entry]
"""Keys of one thing by their names in lower case."""


@dataclass
class SlurmTexts:
    """What stands in all texts together, as written. Nodes and partitions are by name."""

    settings: dict[str, Entry] = field(default_factory=dict)
    nodes: dict[str, Entries] = field(default_factory=dict)
    partitions: dict[str, Entries] = field(default_factory=dict)
    nodesets: dict[str, Entries] = field(default_factory=dict)
    gres: list[Entries] = field(default_factory=list)
    qos: list[Entries] = field(default_factory=list)
    associations: list[Entries] = field(default_factory=list)
    others: list[Entry] = field(default_factory=list)
    repeated: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def overlay(self, later: SlurmTexts) -> None:
        """Let what is in force, as a command shows it, take the place of what a file asks for."""
        for name in ("settings", "nodes", "partitions", "nodesets"):
            getattr(self, name).update(getattr(later, name))
        for name in ("gres", "qos", "associations", "others", "repeated", "problems"):
            getattr(self, name).extend(getattr(later, name))


class TextForm(NamedTuple):
    """A form of texts: what it is called, how it is recognised, how it is read."""

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[Path, str, SlurmTexts], None]


def read_text(path: Path) -> str:
    """A text in UTF-8, plain or packed by gzip; InputError where it is none."""
    with opened(path) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InputError(Problem(path.name, f"is larger than {_MOST_BYTES:,} bytes", "must be settings of a site"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Problem(f"{path.name}: line {line:,}", "is not UTF-8 text", advice="save it as UTF-8")
        ) from None


# --- slurm.conf ---------------------------------------------------------------------------------------------

_PAIR = re.compile(r'\s*([A-Za-z][\w.]*)\s*=\s*(?:"([^"]*)"|(\S*))')
_INCLUDE = re.compile(r"\s*include\s+(\S.*?)\s*", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*")
_CONF_KEY = re.compile(
    r"^\s*(ClusterName|ControlMachine|SlurmctldHost|PartitionName|SelectType|SchedulerType|Include|"
    r"NodeName(?!=\S+\s+(?:Name|AutoDetect)=))\b",
    re.IGNORECASE | re.MULTILINE,
)
_SHOWN = re.compile(r"^Configuration data as of|\bCPUAlloc=|\bTotalCPUs=", re.MULTILINE)
_GRES = re.compile(r"^\s*(NodeName=\S+\s+)?(Name=\w+|AutoDetect=)", re.IGNORECASE | re.MULTILINE)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, those that a backslash continues as one, each with the number of its first."""
    begun, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        plain = _COMMENT.sub("", line).rstrip().replace("\\#", "#")
        first = first or number
        if plain.endswith("\\"):
            begun += plain[:-1]
            continue
        yield first, begun + plain
        begun, first = "", 0
    if begun:
        yield first, begun


def _pairs(line: str, where: str, problems: list[Problem]) -> list[Entry]:
    """The keys and values of a line."""
    entries, end = [], 0
    while pair := _PAIR.match(line, end):
        entries.append(Entry(pair[1], pair[2] if pair[2] is not None else pair[3], where))
        end = pair.end()
    if line[end:].strip():
        found = f"found {line[end:].strip()[:60]!r}"
        problems.append(Problem(where, found, "must be Key=Value, with spaces in between", "quote values with spaces"))
    return entries


def _read_conf(path: Path, text: str, texts: SlurmTexts) -> None:
    _Conf(texts).read(path, text, (path.resolve(),), path.parent)


@dataclass
class _Conf:
    """A slurm.conf while it is read: defaults hold for the lines that follow them."""

    texts: SlurmTexts
    defaults: dict[str, dict[str, Entry]] = field(default_factory=dict)
    n_files: int = 0

    def read(self, path: Path, text: str, inside: tuple[Path, ...], folder: Path) -> None:
        """Read a file and those that it includes; relative names are those of the folder of the first."""
        for number, line in _lines(text):
            where = f"{path.name}: line {number:,}"
            included = _INCLUDE.fullmatch(line)
            if included:
                self._include(folder / included[1].strip('"'), where, inside, folder)
                continue
            entries = _pairs(line, where, self.texts.problems)
            if entries:
                self._take(entries)

    def _include(self, path: Path, where: str, inside: tuple[Path, ...], folder: Path) -> None:
        self.n_files += 1
        if path.resolve() in inside or self.n_files > _MOST_FILES:
            self.texts.problems.append(Problem(where, f"{path.name} includes itself", advice="take the line away"))
            return
        try:
            self.read(path, read_text(path), (*inside, path.resolve()), folder)
        except InputError as error:
            advice = "copy it beside the file that includes it, or take the line away"
            self.texts.problems += [
                Problem(f"{where}: {each.where}", each.found, advice=advice) for each in error.problems
            ]

    def _take(self, entries: list[Entry]) -> None:
        head, *rest = entries
        kind = head.key.casefold()
        if kind == "nodename":
            self._named(head, rest, self._nodes)
        elif kind == "partitionname":
            self._named(head, rest, self._partition)
        elif kind == "nodeset":
            self.texts.nodesets[head.value] = _by_key(entries)
        elif rest:
            self.texts.others += entries
        else:
            _set(self.texts, head)

    def _named(self, head: Entry, rest: list[Entry], take: Callable[[Entry, Entries], None]) -> None:
        kind, given = head.key.casefold(), _by_key(rest)
        if head.value.casefold() == DEFAULT:
            self.defaults.setdefault(kind, {}).update(given)
        else:
            take(head, {**self.defaults.get(kind, {}), **given})

    def _nodes(self, head: Entry, entries: Entries) -> None:
        whole = {"nodename": head, **entries}
        for name in _expanded(head, self.texts.problems):
            _put(self.texts.nodes, name, whole, self.texts.problems)

    def _partition(self, head: Entry, entries: Entries) -> None:
        _put(self.texts.partitions, head.value, {"partitionname": head, **entries}, self.texts.problems)


def _set(texts: SlurmTexts, entry: Entry) -> None:
    """Take a setting; of several the last counts, as Slurm has it."""
    if entry.key.casefold() in texts.settings:
        texts.repeated.append(entry)
    texts.settings[entry.key.casefold()] = entry


def _by_key(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.key.casefold(): entry for entry in entries}


def _expanded(entry: Entry, problems: list[Problem]) -> list[str]:
    try:
        return expanded(entry.value)
    except RefusedError as error:
        problems.append(Problem(f"{entry.where}, {entry.key}", f"found {entry.value!r}", error.allowed))
        return []


def _put(things: dict[str, Entries], name: str, entries: Entries, problems: list[Problem]) -> None:
    """Take a node or a partition, of which the first key is its name, unless it is there already."""
    if name in things:
        (first, *_), (head, *_) = things[name].values(), entries.values()
        found = f"{name!r} is there already: {first.where}"
        problems.append(Problem(f"{head.where}, {head.key}", found, "each may be described once"))
    else:
        things[name] = entries


def is_conf(text: str) -> bool:
    """Whether a text is a slurm.conf."""
    return bool(_CONF_KEY.search(text)) and not _SHOWN.search(text)


def _read_gres(path: Path, text: str, texts: SlurmTexts) -> None:
    for number, line in _lines(text):
        entries = _pairs(line, f"{path.name}: line {number:,}", texts.problems)
        if entries:
            texts.gres.append(_by_key(entries))


def is_gres(text: str) -> bool:
    """Whether a text is a gres.conf."""
    return bool(_GRES.search(text)) and not is_conf(text)


# --- scontrol show ------------------------------------------------------------------------------------------

_SHOWN_KEY = re.compile(r"(?:^|\s)([A-Za-z]\w*)=")
_SHOWN_SETTING = re.compile(r"([A-Za-z][\w\[\]]*)\s+=\s*(.*?)\s*")
_SHOWN_HEAD = ("nodename", "partitionname")


def _read_shown(path: Path, text: str, texts: SlurmTexts) -> None:
    """What scontrol shows: settings line by line, nodes and partitions in blocks, or in a line each (--oneliner)."""
    block: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path.name}: line {number:,}"
        setting = _SHOWN_SETTING.fullmatch(line)
        if setting:
            _set(texts, Entry(setting[1], setting[2], where))
            continue
        _, *parts = _SHOWN_KEY.split(line)
        entries = [Entry(key, value.strip(), where) for key, value in zip(parts[::2], parts[1::2])]
        if entries and entries[0].key.casefold() in _SHOWN_HEAD:
            _take_block(block, texts)
            block = []
        block += entries
    _take_block(block, texts)


def _take_block(block: list[Entry], texts: SlurmTexts) -> None:
    if block:
        things = texts.nodes if block[0].key.casefold() == "nodename" else texts.partitions
        _put(things, block[0].value, _by_key(block), texts.problems)


def is_shown(text: str) -> bool:
    """Whether a text is what scontrol shows of the configuration, of nodes or of partitions."""
    return bool(_SHOWN.search(text))


# --- sacctmgr show -P ---------------------------------------------------------------------------------------

_OF_QOS = {"name", "priority", "gracetime"}
_OF_ASSOCIATIONS = {"cluster", "account", "user", "share"}


def _columns(text: str) -> list[str]:
    """The names of the columns that the first line of a text has, in lower case and without spaces."""
    first = next(iter(text.splitlines()), "")
    return first.casefold().replace(" ", "").split("|")


def is_qos(text: str) -> bool:
    """Whether a text is what sacctmgr shows of qualities of service."""
    return set(_columns(text)) >= _OF_QOS


def is_associations(text: str) -> bool:
    """Whether a text is what sacctmgr shows of associations."""
    return set(_columns(text)) >= _OF_ASSOCIATIONS


def _read_qos(path: Path, text: str, texts: SlurmTexts) -> None:
    texts.qos += _rows(path, text, texts.problems)


def _read_associations(path: Path, text: str, texts: SlurmTexts) -> None:
    texts.associations += _rows(path, text, texts.problems)


def _rows(path: Path, text: str, problems: list[Problem]) -> Iterator[Entries]:
    """The rows of a table, each as its cells by the names of their columns."""
    head, *lines = text.splitlines()
    keys, names = _columns(text), head.split("|")
    for number, line in enumerate(lines, 2):
        cells, where = line.split("|"), f"{path.name}: line {number:,}"
        if len(cells) == len(keys):
            yield {key: Entry(name, cell, where) for key, name, cell in zip(keys, names, cells)}
        elif line.strip():
            found = f"found {len(cells):,} cells, where the first line names {len(keys):,}"
            problems.append(Problem(where, found, "must have as many", "print it again with -P"))


FORMS = (
    TextForm("scontrol show", is_shown, _read_shown),
    TextForm("slurm.conf", is_conf, _read_conf),
    TextForm("gres.conf", is_gres, _read_gres),
    TextForm("sacctmgr show qos -P", is_qos, _read_qos),
    TextForm("sacctmgr show assoc -P", is_associations, _read_associations),
)
"""All forms of texts of a Slurm, in the order in which they are tried."""


def form_of(text: str) -> TextForm | None:
    """The form of a text, None if it is none of these."""
    return next((form for form in FORMS if form.recognises(text)), None)


def read_slurm(given: Sequence[tuple[Path, str, TextForm]]) -> SlurmTexts:
    """What stands in several texts together: what commands show is in force, whatever the files say."""
    by_form = {form.name: SlurmTexts() for form in FORMS}
    for path, text, form in given:
        form.read(path, text, by_form[form.name])
    together = SlurmTexts()
    for form in reversed(FORMS):
        together.overlay(by_form[form.name])
    return together


def read_gres(path: Path, problems: list[Problem]) -> list[Entries]:
    """The lines of a gres.conf."""
    texts = SlurmTexts(problems=problems)
    _read_gres(path, read_text(path), texts)
    return texts.gres
