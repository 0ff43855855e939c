"""Groups of nodes from the lines of a Slurm: those that are alike, and in the same partitions, are one group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from joulewise.errors import Problem
from joulewise.worlds.jobs.sites.hostlists import compacted, expanded, split_list
from joulewise.worlds.jobs.sites.imported import CHANGED, GUESSED, LOST, READ, Entry, Findings
from joulewise.worlds.jobs.sites.site import NodeGroup
from joulewise.worlds.jobs.sites.slurm_text import Entries, SlurmTexts
from joulewise.worlds.jobs.sites.slurm_values import slurm_count, slurm_names, slurm_things

NO_KIND = "gpu"
"""The kind of GPUs of which no kind is known."""

_TOPOLOGY = ("boards", "sockets", "socketsperboard", "corespersocket", "threadspercore")
_FEATURES = ("feature", "features", "availablefeatures")
_CPUS = ("cpuefctv", "cputot", "cpus", "procs")
_SPARED = ("corespeccount", "cpuspeclist", "memspeclimit")
_KNOWN = {"nodename", "realmemory", "gres", "weight", "state", "partitions", *_TOPOLOGY, *_FEATURES, *_CPUS, *_SPARED}
_AWAY = {"down", "drain", "drained", "draining", "fail", "failing", "error", "maint", "reboot", "not_responding"}
_NOTE = 200


class NodeKind(NamedTuple):
    """What counts of a node."""

    cores: int
    memory_mib: int | None
    gpus: tuple[tuple[str, int], ...]
    other: tuple[tuple[str, int], ...]
    features: tuple[str, ...]
    weight: int

    def group(self, name: str, count: int) -> NodeGroup:
        """So many nodes of this kind."""
        values = {**self._asdict(), "gpus": dict(self.gpus), "other": dict(self.other)}
        return NodeGroup(name=name, count=count, **values)


@dataclass
class NodeReader:
    """Reads what lines say of nodes; `gres` are lines of gres.conf, which may know the kinds of GPUs.

    `whole` says what jobs get no parts of: "core", "socket", or "" where each processor is given for itself.
    """

    findings: Findings
    counts_memory: bool
    whole: str
    gres: Sequence[Entries]
    _kinds: dict[tuple[int, tuple[tuple[str, int], ...]], NodeKind | None] = field(default_factory=dict)

    def kinds(self, nodes: Mapping[str, Entries]) -> dict[str, NodeKind]:
        """What counts of each node that is there."""
        typed = self._typed()
        found = {}
        for name, entries in nodes.items():
            of_node = typed.get(name, typed.get("", ()))
            key = (id(entries), of_node)
            if key not in self._kinds:
                self._kinds[key] = self._kind(entries, of_node)
            kind = self._kinds[key]
            if kind is not None:
                found[name] = kind
        return found

    def _kind(self, entries: Entries, typed: tuple[tuple[str, int], ...]) -> NodeKind | None:
        head = entries["nodename"].value
        for key, entry in entries.items():
            if key not in _KNOWN:
                self.findings.lose("NodeName", entry.key)
        if self._is_away(entries, head):
            return None
        gpus, other = self._things(entries, head, typed)
        features = next((entries[key] for key in _FEATURES if key in entries), None)
        weight = self._number(entries, "weight", 1)
        return NodeKind(
            cores=max(self._cores(entries), 1),
            memory_mib=self._memory(entries, head),
            gpus=gpus,
            other=other,
            features=slurm_names(re.sub(r"\(\d+\)|[\[\]]", "", features.value)) if features else (),
            weight=weight,
        )

    def _is_away(self, entries: Entries, head: str) -> bool:
        """Whether nodes are only planned for; those that are away for a while are counted."""
        state = entries["state"].value.casefold() if "state" in entries else ""
        if state.startswith("future"):
            self.findings.tell(LOST, "State=FUTURE", "nodes that are not there yet are left out", head)
            return True
        if _AWAY & set(re.split(r"[^a-z_]+", state)):
            said = "counted as nodes that can be used: what is away now need not be in the time of a log"
            self.findings.tell(GUESSED, "nodes that are down or drained", said, head)
        return False

    def _number(self, entries: Entries, key: str, default: int) -> int:
        if key not in entries:
            return default
        found = self.findings.value(entries[key], slurm_count)
        return default if found is None else found

    def _cores(self, entries: Entries) -> int:
        """Processors that jobs may have: as said, or as the topology has them, without those kept for the system."""
        boards, sockets, per_board, cores, threads = (self._number(entries, key, 1) for key in _TOPOLOGY)
        topology = (boards * per_board if "socketsperboard" in entries else sockets) * cores * threads
        all_cpus = [self._number(entries, key, topology) for key in _CPUS if key in entries]
        cpus = all_cpus[0] if all_cpus else topology
        if self.whole and (self.whole == "socket" or (threads > 1 and cpus > topology // threads)):
            said = f"Slurm gives whole {self.whole}s: what a log says was allocated is rounded up, requests are not"
            self.findings.tell(LOST, f"processors that are parts of a {self.whole}", said, entries["nodename"].value)
        if "cpuefctv" in entries:
            return cpus
        spared = self._number(entries, "corespeccount", 0) * (threads if cpus == topology else 1)
        listed = entries.get("cpuspeclist")
        if listed and listed.value:
            spared = spared or len(self.findings.value(listed, lambda text: expanded(f"[{text}]")) or ())
        if spared:
            said = "processors that are kept for the system are not those of jobs"
            self.findings.tell(CHANGED, "CoreSpecCount or CpuSpecList", said, entries["nodename"].value)
        return cpus - spared

    def _memory(self, entries: Entries, head: str) -> int | None:
        if not self.counts_memory:
            return None
        if "realmemory" not in entries:
            said = "RealMemory is not said, so that memory of these nodes is not limited"
            self.findings.tell(GUESSED, "memory", said, head)
            return None
        memory, spared = self._number(entries, "realmemory", 1), self._number(entries, "memspeclimit", 0)
        if spared:
            said = "memory that is kept for the system is not that of jobs"
            self.findings.tell(CHANGED, "MemSpecLimit", said, head)
        return max(memory - spared, 1)

    def _things(
        self, entries: Entries, head: str, typed: tuple[tuple[str, int], ...]
    ) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        """GPUs by kind, and other things by name."""
        entry = entries.get("gres")
        things = (self.findings.value(entry, slurm_things) or []) if entry else []
        if entry and "no_consume" in entry.value.casefold():
            said = "things of no_consume are never used up, and are left out"
            self.findings.tell(LOST, "no_consume in Gres", said, head)
            kept = [part for part in split_list(entry.value) if "no_consume" not in part.casefold()]
            things = self.findings.value(Entry(entry.key, ",".join(kept), entry.where), slurm_things) or []
        gpus, other = Counter[str](), Counter[str]()
        for name, kind, n in things:
            if name.casefold() == NO_KIND:
                gpus[kind or NO_KIND] += n
            else:
                other[name] += n
        if set(gpus) == {NO_KIND}:
            if sum(n for _, n in typed) == gpus[NO_KIND]:
                gpus = Counter(dict(typed))
                self.findings.tell(READ, "kinds of GPUs", "as gres.conf has them", head)
            else:
                said = f"their kind is not said: they are of the kind {NO_KIND!r}"
                self.findings.tell(GUESSED, "GPUs", said, head)
        return (
            tuple(sorted((name, n) for name, n in gpus.items() if n)),
            tuple(sorted((name, n) for name, n in other.items() if n)),
        )

    def _typed(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Kinds of GPUs by node, as gres.conf has them; by "" for nodes that it does not name."""
        found: dict[str, Counter[str]] = {}
        for line in self.gres:
            for key, entry in line.items():
                if key not in ("nodename", "name", "type", "count", "file"):
                    self.findings.lose("gres.conf", entry.key)
            if "type" not in line or "name" not in line or line["name"].value.casefold() != NO_KIND:
                continue
            names = (self.findings.value(line["nodename"], expanded) or []) if "nodename" in line else [""]
            files = (self.findings.value(line["file"], expanded) or [""]) if "file" in line else [""]
            n = self._number(line, "count", len(files))
            for name in names:
                found.setdefault(name, Counter())[line["type"].value] += n
        return {name: tuple(sorted(counts.items())) for name, counts in found.items()}


def has_gpus_of_no_kind(texts: SlurmTexts) -> bool:
    """Whether a line of nodes has GPUs without their kind."""
    values = {entries["gres"].value for entries in texts.nodes.values() if "gres" in entries}
    return any(re.search(r"(^|,)gpu(:\d+)?($|[,(])", value, re.IGNORECASE) for value in values)


class Grouped(NamedTuple):
    """A group, and the names of its nodes in order, and in Slurm's short way."""

    group: NodeGroup
    nodes: str
    partitions: frozenset[str]
    names: tuple[str, ...]


def grouped(
    kinds: Mapping[str, NodeKind],
    members: Mapping[str, frozenset[str]],
    stem: Callable[[str, NodeKind], str] = lambda node, _: stem_of(node),
) -> list[Grouped]:
    """Nodes that are alike, and in the same of the partitions, as groups in the order of their first nodes.

    Groups are called by their stem, which follows from the first of their nodes, and by what tells them apart.
    """
    inside: dict[str, list[str]] = {name: [] for name in kinds}
    for partition, nodes in members.items():
        for name in nodes:
            inside[name].append(partition)
    together: dict[tuple[NodeKind, frozenset[str]], list[str]] = {}
    for name, kind in kinds.items():
        together.setdefault((kind, frozenset(inside[name])), []).append(name)
    names = distinct_names(
        [stem(alike[0], kind) for (kind, _), alike in together.items()],
        [_qualities(kind, partitions) for kind, partitions in together],
    )
    return [
        Grouped(kind.group(name, len(alike)), shortened(compacted(alike)), partitions, tuple(alike))
        for name, ((kind, partitions), alike) in zip(names, together.items(), strict=True)
    ]


def in_order(node: str) -> list[tuple[int, str]]:
    """What nodes are sorted by, as Slurm does before it chooses among them: n9 comes before n10."""
    return [(int(part), part) if part.isdigit() else (0, part) for part in re.split(r"([0-9]{1,12})", node)]


def shortened(text: str) -> str:
    """A text for a line of comment."""
    return text if len(text) <= _NOTE else f"{text[:_NOTE]}..."


def stem_of(node: str) -> str:
    """What names of nodes begin with: node of node-017."""
    return re.sub(r"[^A-Za-z_-]", "", re.split(r"\d", node)[0]).strip("-_.") or "nodes"


def _qualities(kind: NodeKind, partitions: frozenset[str]) -> tuple[str, ...]:
    """What may tell a group from another one of the same stem, the best first."""
    memory = f"{round(kind.memory_mib / 1024)}g" if kind.memory_mib else ""
    parts = "-".join(sorted(partitions))
    return (
        "-".join(name for name, _ in kind.gpus if name != NO_KIND),
        f"{kind.cores}c",
        memory,
        parts if len(parts) < 20 else "",
    )


def distinct_names(stems: Sequence[str], qualities: Sequence[Sequence[str]]) -> list[str]:
    """Names for things, some of the same stem: with the first quality that tells them apart, or a number."""
    names = list(stems)
    for at in range(len(qualities[0]) if qualities else 0):
        said = {(name, quality[at]) for name, quality in zip(names, qualities, strict=True)}
        differing = Counter(name for name, _ in said)
        names = [
            _word(f"{name}-{quality[at]}") if differing[name] > 1 and quality[at] else name
            for name, quality in zip(names, qualities, strict=True)
        ]
    return list(_numbered(names))


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")


def _numbered(names: Sequence[str]) -> Iterator[str]:
    taken: set[str] = set()
    for name in names:
        number, unique = 1, name
        while unique in taken:
            number += 1
            unique = f"{name}-{number}"
        taken.add(unique)
        yield unique


@dataclass
class NodeLists:
    """Reads lists of nodes, as partitions have them: names, sets of nodes, ALL. Only nodes that are there are taken."""

    nodes: Mapping[str, Entries]
    there: Mapping[str, NodeKind]
    nodesets: Mapping[str, Entries]
    findings: Findings

    def read(self, entry: Entry) -> frozenset[str]:
        """The nodes of a list."""
        if entry.value.casefold() == "all":
            return frozenset(self.there)
        names: set[str] = set()
        for part in split_list(entry.value):
            if part in self.nodesets:
                names |= self._set(self.nodesets[part])
            else:
                names.update(self.findings.value(Entry(entry.key, part, entry.where), expanded) or ())
        unknown = names - self.nodes.keys()
        if unknown:
            found = f"found {shortened(compacted(unknown))}, which no NodeName describes"
            advice = "give --config the file that does, or what scontrol show node prints, too"
            self.findings.problems.append(Problem(f"{entry.where}, {entry.key}", found, "must be nodes", advice))
        return frozenset(names & self.there.keys())

    def _set(self, entries: Entries) -> frozenset[str]:
        names = self.read(entries["nodes"]) if "nodes" in entries else frozenset[str]()
        if "feature" in entries:
            feature = entries["feature"].value
            names |= {name for name, kind in self.there.items() if feature in kind.features}
        return names
