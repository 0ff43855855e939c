"""A site from the texts of a Slurm: nodes that are alike become groups, partitions keep their limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from joulewise.errors import Problem, raise_if_any
from joulewise.units import count
from joulewise.worlds.jobs.sites.accounting import accounts_of, of_cluster, qos_of, users_of
from joulewise.worlds.jobs.sites.consistency import inconsistencies
from joulewise.worlds.jobs.sites.hostlists import split_list
from joulewise.worlds.jobs.sites.imported import CHANGED, GUESSED, LOST, Entry, Findings, ImportedSite, tell_read
from joulewise.worlds.jobs.sites.site import (
    CORES,
    GPUS,
    MEMORY_MIB,
    NODES,
    PARTITION_STATES,
    Account,
    Licence,
    Partition,
    Qos,
    Setting,
    SiteTables,
    User,
)
from joulewise.worlds.jobs.sites.slurm_nodes import Grouped, NodeLists, NodeReader, grouped, in_order
from joulewise.worlds.jobs.sites.slurm_settings import IN_CONF, IN_PARAMETERS, SETTINGS
from joulewise.worlds.jobs.sites.slurm_text import Entries, SlurmTexts
from joulewise.worlds.jobs.sites.slurm_values import (
    NOTHING,
    slurm_billing,
    slurm_count,
    slurm_flag,
    slurm_grace_s,
    slurm_limit,
    slurm_limit_s,
    slurm_names,
    slurm_preemption,
    slurm_setting,
)
from joulewise.worlds.jobs.sites.written import RefusedError

_Table = TypeVar("_Table", Account, User)

_LINEAR = "select/linear"
_USUAL = ("-1", "topology/none", "topology/default", "topology/flat")
_UNSET = ("", "(null)", "(null type)", "n/a")
_OF_SITE = {"clustername", "licenses", "schedulerparameters"}
_HELD_BACK: Mapping[str, str] = {
    "topologyplugin": "nodes are chosen without regard to switches",
    "jobsubmitplugins": "jobs are taken as the log has them",
    "prioritysitefactorplugin": "priorities have no factor of the site",
    "suspendtime": "nodes stay on; [system] of a study has standby",
    "completewait": "nodes are free as soon as a job ends",
    "preemptparameters": "jobs give way in the usual order",
}
"""Settings without a place in a site that may change when jobs start, and what happens instead."""

_NOT_OF_PARTITION: Mapping[str, str] = {
    "allowgroups": "users of all groups may use it",
    "allocnodes": "jobs may come from anywhere",
    "alternate": "its jobs do not go elsewhere",
    "defmempercpu": "jobs that ask for no memory have none counted",
    "defmempernode": "jobs that ask for no memory have none counted",
    "defmempergpu": "jobs that ask for no memory have none counted",
    "defcpupergpu": "jobs have the processors that they ask for",
    "maxmempercpu": "jobs may have all memory of a node",
    "maxmempernode": "jobs may have all memory of a node",
    "maxcpuspersocket": "jobs may have all processors of a socket",
    "exclusiveuser": "nodes are shared by jobs of different users",
    "exclusivetopo": "switches are shared by jobs",
    "lln": "nodes with the least load are not taken first",
    "reqresv": "jobs need no reservation",
    "rootonly": "jobs of all users may come",
    "overtimelimit": "jobs end at their limit",
    "selecttypeparameters": "nodes are shared as everywhere",
    "jobdefaults": "jobs have what they ask for",
}
"""Keys of partitions without a place in a site that may change when jobs start, and what happens instead."""


class _PartitionKey(NamedTuple):
    """A key of a partition: which field of ours it fills, and how."""

    field: str
    read: Callable[[str], Any]


def _state(text: str) -> str:
    if text.casefold() not in PARTITION_STATES:
        raise RefusedError(f"must be one of {', '.join(state.upper() for state in PARTITION_STATES)}")
    return text.casefold()


def _one_name(text: str) -> str | None:
    return None if text.casefold() in NOTHING else text


def _sharing(text: str) -> str:
    kind = text.casefold().partition(":")[0]
    if kind not in ("exclusive", "no", "yes", "force"):
        raise RefusedError("must be EXCLUSIVE, NO, YES or FORCE")
    return "exclusive" if kind == "exclusive" else "shared"


_PARTITION_KEYS: Mapping[str, _PartitionKey] = {
    "default": _PartitionKey("default", slurm_flag),
    "state": _PartitionKey("state", _state),
    "priority": _PartitionKey("tier", slurm_count),
    "prioritytier": _PartitionKey("tier", slurm_count),
    "priorityjobfactor": _PartitionKey("priority", slurm_count),
    "shared": _PartitionKey("sharing", _sharing),
    "oversubscribe": _PartitionKey("sharing", _sharing),
    "maxtime": _PartitionKey("max_time_s", slurm_limit_s),
    "defaulttime": _PartitionKey("default_time_s", slurm_limit_s),
    "minnodes": _PartitionKey("min_nodes", slurm_count),
    "maxnodes": _PartitionKey("max_nodes", slurm_limit),
    "maxcpuspernode": _PartitionKey("max_cores_per_node", slurm_limit),
    "qos": _PartitionKey("qos", _one_name),
    "allowaccounts": _PartitionKey("accounts", slurm_names),
    "denyaccounts": _PartitionKey("denied_accounts", slurm_names),
    "allowqos": _PartitionKey("qos_of_jobs", slurm_names),
    "denyqos": _PartitionKey("denied_qos", slurm_names),
    "preemptmode": _PartitionKey("preemption", slurm_preemption),
    "gracetime": _PartitionKey("grace_s", slurm_grace_s),
    "tresbillingweights": _PartitionKey("billing", slurm_billing),
}
"""Keys of partitions by their names in lower case; of two for one field, the later one counts."""

_SHOWN_OF_PARTITION = {
    "partitionname",
    "nodes",
    "nodesets",
    "totalcpus",
    "totalnodes",
    "tres",
    "disablerootjobs",
    "hidden",
}


def _says_nothing(value: str) -> bool:
    """Whether a value asks for nothing out of the usual."""
    return value.casefold().removesuffix(" sec") in (*NOTHING, *_USUAL)


def site_of_slurm(texts: SlurmTexts, default_name: str) -> ImportedSite:
    """The site that the texts of a Slurm describe; InputError with every problem."""
    return _SlurmSite(texts, default_name).imported()


@dataclass
class _SlurmSite:
    """A site while it is made of texts."""

    texts: SlurmTexts
    default_name: str
    findings: Findings = field(default_factory=Findings)
    places: dict[tuple[type, str, str], Entries] = field(default_factory=dict)

    def imported(self) -> ImportedSite:
        """The site, and what became of all that the texts say."""
        self.findings.problems += self.texts.problems
        if not self.texts.nodes and not self.texts.problems:
            advice = "give the file that has lines of NodeName, or what scontrol show node prints, with --config too"
            self.findings.problems.append(Problem("--config", "there are no nodes", "a site has nodes", advice))
        slurm = self._settings()
        groups, members = self._groups(slurm)
        partitions = tuple(self._partitions(slurm, groups, members))
        name, licences = self._name(), tuple(self._licences())
        of_nodes = (name for each in groups for name in (*each.group.gpus, *each.group.other))
        things = {*of_nodes, *(licence.name for licence in licences)}
        associations = of_cluster(self.texts.associations, name, self.findings)
        accounts = tuple(self._placed(accounts_of(associations, things, self.findings)))
        users = tuple(self._placed(users_of(associations, things, self.findings)))
        partitions = self._with_default(tuple(self._with_accounts(partitions, {account.name for account in accounts})))
        partitions = tuple(self._with_bills(partitions, {CORES, NODES, GPUS, MEMORY_MIB, *things}))
        site = SiteTables(
            name=name,
            nodes=tuple(each.group for each in groups),
            partitions=partitions,
            licences=licences,
            qos=tuple(self._qos(partitions, things)),
            accounts=accounts,
            users=users,
            slurm=slurm,
        )
        site = replace(site, slurm=self._with_preempttype(site))
        self.findings.problems += inconsistencies(site, self._place, {})
        raise_if_any(self.findings.problems)
        tell_read(site, self.findings)
        notes = {("nodes", each.group.name): each.nodes for each in groups}
        return ImportedSite(site, self.findings.rows(), notes, {each.group.name: each.names for each in groups})

    def _place(self, table: Any, key: str) -> str:
        """Where something stands that does not go together with the rest."""
        entries = self.places.get(_key(table), {})
        ours = {
            "preempts": "preempt",
            "max_time": "maxtime",
            "default_time": "defaulttime",
            "min_nodes": "minnodes",
            "max_nodes": "maxnodes",
        }
        entry = entries.get(ours.get(key, key)) or next(iter(entries.values()), None)
        return f"{entry.where}, {entry.key}" if entry else f"{getattr(table, 'name', 'the site')}, {key}"

    def _name(self) -> str:
        entry = self.texts.settings.get("clustername")
        if entry and entry.value:
            return entry.value
        self.findings.tell(GUESSED, "name of the site", f"{self.default_name!r}: ClusterName is not said")
        return self.default_name

    # --- settings -------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Setting]:
        """The settings that have a place, by their names in lower case."""
        for entry in self.texts.repeated:
            self.findings.tell(CHANGED, entry.key, "is there more than once: the last one counts")
        found: dict[str, Setting] = {}
        for key, entry in self.texts.settings.items():
            if key in IN_CONF:
                self._take(found, key, entry)
            elif key in _HELD_BACK:
                if not _says_nothing(entry.value):
                    self.findings.tell(LOST, f"{entry.key}={entry.value}", _HELD_BACK[key])
            elif key not in _OF_SITE and entry.value.casefold() not in _UNSET:
                self.findings.lose("the configuration", entry.key)
        for entry in self.texts.others:
            self.findings.lose("the configuration", entry.key)
        for entry in self._parameters():
            if entry.key.casefold() in IN_PARAMETERS:
                self._take(found, entry.key.casefold(), entry)
            else:
                self.findings.lose("SchedulerParameters", entry.key)
        return {key: found[key] for key in SETTINGS if key in found}

    def _with_preempttype(self, site: SiteTables) -> Mapping[str, Setting]:
        """The settings of a site; where jobs could give way and nothing says that they do, they do not, as in Slurm."""
        if "preempttype" in site.slurm or not any(each.preempts for each in site.qos):
            return site.slurm
        said = "preempt/none, which is Slurm's own where it is not said: no job gives way to another"
        self.findings.tell(GUESSED, "PreemptType", said)
        settings = {**site.slurm, "preempttype": "preempt/none"}
        return {key: settings[key] for key in SETTINGS if key in settings}

    def _take(self, found: dict[str, Setting], key: str, entry: Entry) -> None:
        value = self.findings.value(entry, lambda text: slurm_setting(text, SETTINGS[key]))
        if value is not None and value != ():
            found[key] = value

    def _parameters(self) -> Iterator[Entry]:
        """What SchedulerParameters holds; a word alone is a flag."""
        entry = self.texts.settings.get("schedulerparameters")
        parts = split_list(entry.value) if entry and entry.value.casefold() not in NOTHING else []
        for part in parts:
            key, equals, value = part.partition("=")
            yield Entry(key, value if equals else "yes", entry.where if entry else "")

    # --- nodes ----------------------------------------------------------------------------------------------

    def _groups(self, slurm: Mapping[str, Setting]) -> tuple[list[Grouped], dict[str, frozenset[str]]]:
        """Groups of nodes, and the nodes of each partition."""
        counted = " ".join(_as_names(slurm.get("selecttypeparameters", ("cr_core_memory",))))
        whole = next((unit for unit in ("socket", "core") if f"cr_{unit}" in counted), "")
        is_linear = slurm.get("selecttype") == _LINEAR
        reader = NodeReader(self.findings, self._counts_memory(slurm), "" if is_linear else whole, self.texts.gres)
        kinds = reader.kinds({name: self.texts.nodes[name] for name in sorted(self.texts.nodes, key=in_order)})
        lists = NodeLists(self.texts.nodes, kinds, self.texts.nodesets, self.findings)
        if not self.texts.partitions:
            self._partitions_of_nodes()
        members = {
            name: lists.read(entries["nodes"]) if "nodes" in entries and not self._is_empty(entries) else frozenset()
            for name, entries in self.texts.partitions.items()
        }
        groups = grouped(kinds, members)
        return groups, members

    def _is_empty(self, entries: Entries) -> bool:
        return entries["nodes"].value.casefold() in ("", "(null)", "none")

    def _counts_memory(self, slurm: Mapping[str, Setting]) -> bool:
        """Whether jobs get memory of their own: elsewhere that of a node does not run out."""
        select, parameters = slurm.get("selecttype"), slurm.get("selecttypeparameters", ())
        if select is None:
            said = "is not said: nodes are shared by processor and memory, as newer versions do by themselves"
            self.findings.tell(GUESSED, "SelectType", said)
        if select == _LINEAR or not parameters or any("memory" in str(each) for each in _as_names(parameters)):
            return True
        said = f"memory of nodes is left out: {', '.join(_as_names(parameters)).upper()} does not count it"
        self.findings.tell(CHANGED, "RealMemory", said)
        return False

    def _partitions_of_nodes(self) -> None:
        """Partitions without limits, from those that nodes name: what there is where nodes alone are shown."""
        names: dict[str, list[str]] = {}
        for node, entries in self.texts.nodes.items():
            for name in slurm_names(entries["partitions"].value) if "partitions" in entries else ():
                names.setdefault(name, []).append(node)
        for name, nodes in names.items():
            where = self.texts.nodes[nodes[0]]["partitions"].where
            self.texts.partitions[name] = {
                "partitionname": Entry("Partitions", name, where),
                "nodes": Entry("Partitions", ",".join(nodes), where),
            }
        if names:
            said = "only what nodes name is known: they have no limits; scontrol show partition prints them"
            self.findings.tell(GUESSED, count(len(names), "partition"), said)

    # --- partitions -----------------------------------------------------------------------------------------

    def _partitions(
        self, slurm: Mapping[str, Setting], groups: list[Grouped], members: Mapping[str, frozenset[str]]
    ) -> Iterator[Partition]:
        is_linear = slurm.get("selecttype") == _LINEAR
        for name, entries in self.texts.partitions.items():
            names = tuple(each.group.name for each in groups if name in each.partitions)
            if not names:
                self.findings.tell(LOST, "partitions without nodes", "left out", name)
                continue
            values = self._values(name, entries)
            if is_linear:
                values["sharing"] = "exclusive"
            if values.get("preemption") == self._usual_preemption():
                values.pop("preemption", None)
            partition = Partition(name=name, nodes=names, **values)
            self.places[_key(partition)] = entries
            yield partition
        if is_linear and members:
            said = "whole nodes are given to jobs, so that every partition is exclusive"
            self.findings.tell(CHANGED, f"SelectType={_LINEAR}", said)

    def _values(self, name: str, entries: Entries) -> dict[str, Any]:
        """What a partition's keys give."""
        for key, entry in entries.items():
            if key in _NOT_OF_PARTITION and not _says_nothing(entry.value):
                self.findings.tell(LOST, entry.key, _NOT_OF_PARTITION[key], name)
            elif key not in _NOT_OF_PARTITION and key not in _PARTITION_KEYS and key not in _SHOWN_OF_PARTITION:
                self.findings.lose("PartitionName", entry.key)
        found = {
            key.field: self.findings.value(entries[name], key.read)
            for name, key in _PARTITION_KEYS.items()
            if name in entries
        }
        for key in ("max_time_s", "default_time_s"):
            time_s = found.get(key)
            if time_s is not None and time_s % 60:
                found[key] = math.ceil(time_s / 60) * 60.0
                self.findings.tell(CHANGED, "times with seconds", "rounded up to whole minutes, as Slurm does", name)
        oversubscribed = entries.get("oversubscribe", entries.get("shared"))
        kind = oversubscribed.value.casefold() if oversubscribed else "no"
        if kind.startswith(("yes", "force")) and kind != "force:1":
            said = "no processor is given to two jobs at once"
            self.findings.tell(LOST, f"OverSubscribe={kind.partition(':')[0].upper()}", said, name)
        for denied, allowed, said in (
            ("denied_accounts", "accounts", "AllowAccounts"),
            ("denied_qos", "qos_of_jobs", "AllowQos"),
        ):
            if found.get(denied) and found.get(allowed):
                self.findings.tell(CHANGED, said.replace("Allow", "Deny"), f"left out: {said} is what holds", name)
                found[denied] = None
        return {key: value for key, value in found.items() if value is not None}

    def _usual_preemption(self) -> str:
        entry = self.texts.settings.get("preemptmode")
        return (self.findings.value(entry, slurm_preemption) if entry else None) or "off"

    def _with_default(self, partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
        """The partitions, of which one takes the jobs that name none."""
        if len(partitions) < 2 or any(partition.default for partition in partitions):
            return partitions
        first = replace(partitions[0], default=True)
        said = f"no partition has Default=YES: jobs that name none come to {first.name!r}"
        self.findings.tell(GUESSED, "default partition", said)
        return (first, *partitions[1:])

    def _with_accounts(self, partitions: tuple[Partition, ...], known: Collection[str]) -> Iterator[Partition]:
        """The partitions without accounts that are no longer there; one that has no others is left as it is."""
        for partition in partitions:
            lists = {"AllowAccounts": partition.accounts, "DenyAccounts": partition.denied_accounts}
            there = {key: tuple(name for name in names if name in known) for key, names in lists.items()}
            for key, names in lists.items():
                if known and there[key] != names and (there[key] or key == "DenyAccounts"):
                    self.findings.tell(LOST, key, "accounts that are not there are left out", partition.name)
                else:
                    there[key] = names
            yield replace(partition, accounts=there["AllowAccounts"], denied_accounts=there["DenyAccounts"])

    def _with_bills(self, partitions: tuple[Partition, ...], things: Collection[str]) -> Iterator[Partition]:
        """The partitions with bills for what there is."""
        for partition in partitions:
            there = {name: weight for name, weight in partition.billing.items() if name in things}
            for name in partition.billing.keys() - there.keys():
                self.findings.tell(LOST, f"bills for {name}", "the site counts no such thing", partition.name)
            yield replace(partition, billing=there)

    # --- licences and qualities of service ------------------------------------------------------------------

    def _licences(self) -> Iterator[Licence]:
        entry = self.texts.settings.get("licenses")
        for part in slurm_names(entry.value) if entry else ():
            name, colon, number = part.partition(":")
            n = (
                self.findings.value(Entry("Licenses", number, entry.where if entry else ""), slurm_count)
                if colon
                else 1
            )
            if n:
                yield Licence(name=name, count=n)
            else:
                self.findings.tell(LOST, "licences of which there are none", "left out", name)

    def _qos(self, partitions: tuple[Partition, ...], things: Collection[str]) -> Iterator[Qos]:
        """Qualities of service as the database has them; those that partitions alone name have no limits."""
        known = set()
        for qos, row in qos_of(self.texts.qos, things, self.findings):
            self.places[_key(qos)] = row
            known.add(qos.name)
            yield qos
        names = dict.fromkeys(
            name
            for partition in partitions
            for name in (*filter(None, [partition.qos]), *partition.qos_of_jobs, *partition.denied_qos)
        )
        for name in names:
            if name not in known:
                said = "its limits are left open: sacctmgr show qos -P prints them"
                self.findings.tell(GUESSED, "quality of service", said, name)
                yield Qos(name=name)

    def _placed(self, found: Iterator[tuple[_Table, Entries]]) -> Iterator[_Table]:
        """Tables, of which it is kept where they stand."""
        for table, row in found:
            self.places[_key(table)] = row
            yield table


def _key(table: object) -> tuple[type, str, str]:
    """By what a table is found again; users by their account too, as they may be in several."""
    return type(table), getattr(table, "account", ""), getattr(table, "name", "")


def _as_names(value: Setting) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
