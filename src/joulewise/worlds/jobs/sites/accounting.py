"""Qualities of service and accounts, from what sacctmgr prints of a Slurm's database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from joulewise.worlds.jobs.sites.imported import GUESSED, LOST, Entry, Findings
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB, NODES, ROOT, Account, Qos, User
from joulewise.worlds.jobs.sites.slurm_text import Entries
from joulewise.worlds.jobs.sites.slurm_values import (
    NOTHING,
    our_name,
    slurm_count,
    slurm_grace_s,
    slurm_limit_s,
    slurm_mib,
    slurm_names,
    slurm_preemption,
)
from joulewise.worlds.jobs.sites.written import RefusedError

_EVERYWHERE = (CORES, NODES, GPUS, MEMORY_MIB)


class _Column(NamedTuple):
    """A column of qualities of service: which field of ours it fills, and how."""

    field: str
    read: Callable[[str], Any]


def _amounts(text: str) -> dict[str, int]:
    """Limits of what is counted, cpu=100,gres/gpu:a100=4,mem=1T,license/matlab=2, under our names."""
    amounts = {}
    for part in slurm_names(text):
        name, equals, number = part.partition("=")
        if not equals:
            raise RefusedError("must be things with numbers, for example cpu=100,gres/gpu=4")
        ours = our_name(name)
        amounts[ours] = slurm_mib(number) if ours == MEMORY_MIB else slurm_count(number)
    return amounts


_COLUMNS: Mapping[str, _Column] = {
    "priority": _Column("priority", slurm_count),
    "gracetime": _Column("grace_s", slurm_grace_s),
    "preempt": _Column("preempts", slurm_names),
    "preemptmode": _Column("preemption", slurm_preemption),
    "maxwall": _Column("max_time_s", slurm_limit_s),
    "grpjobs": _Column("max_jobs", slurm_count),
    "maxjobspu": _Column("max_jobs_per_user", slurm_count),
    "maxjobspa": _Column("max_jobs_per_account", slurm_count),
    "grpsubmit": _Column("max_submitted", slurm_count),
    "maxsubmitpu": _Column("max_submitted_per_user", slurm_count),
    "maxsubmitpa": _Column("max_submitted_per_account", slurm_count),
    "grptres": _Column("max", _amounts),
    "maxtrespu": _Column("max_per_user", _amounts),
    "maxtrespa": _Column("max_per_account", _amounts),
    "maxtres": _Column("max_per_job", _amounts),
}
"""Columns of qualities of service by their names in lower case."""

_OF_ACCOUNTS: Mapping[str, _Column] = {
    "grpjobs": _Column("max_jobs", slurm_count),
    "grpsubmit": _Column("max_submitted", slurm_count),
    "grptres": _Column("max", _amounts),
    "maxjobs": _Column("max_jobs_per_user", slurm_count),
    "maxsubmit": _Column("max_submitted_per_user", slurm_count),
    "maxtres": _Column("max_per_job", _amounts),
    "maxwall": _Column("max_time_s", slurm_limit_s),
}
_OF_USERS = {
    **_OF_ACCOUNTS,
    "maxjobs": _Column("max_jobs", slurm_count),
    "maxsubmit": _Column("max_submitted", slurm_count),
}
"""Columns of associations, of accounts and of users, by their names in lower case."""

_INHERITED = ("maxjobs", "maxsubmit", "maxtres", "maxwall")
"""What a user has from its account where it has none of its own; sacctmgr prints it for both."""

_OVER_PARTITION = "overpartqos"

_NOT_OF_QOS: Mapping[str, str] = {
    "usagefactor": "what its jobs use counts once",
    "usagethres": "no job waits for its account's fair share",
    "grptresmins": "no limit on what is used over time",
    "grptresrunmins": "no limit on what running jobs may still use",
    "grpwall": "no limit on the time that is used",
    "maxtresmins": "no limit on the time of a job's processors",
    "maxtrespernode": "no limit on what a job has of a node",
    "mintres": "no least size of a job",
    "preemptexempttime": "jobs give way from their start on",
}
_NOT_OF_ACCOUNTS = (
    "partition", "priority", "grpwall", "grptresmins", "grptresrunmins", "maxtrespernode", "maxtresmins",
)  # fmt: skip


def qos_of(rows: Sequence[Entries], things: Collection[str], findings: Findings) -> Iterator[tuple[Qos, Entries]]:
    """The qualities of service of a table, each with its row; `things` are those that the site has."""
    for row in rows:
        name = row["name"].value
        for key, said in _NOT_OF_QOS.items():
            if key in row and not _says_nothing(row[key].value):
                findings.tell(LOST, row[key].key, said, name)
        for key, entry in row.items():
            if key not in _COLUMNS and key not in _NOT_OF_QOS and key not in ("name", "flags"):
                findings.lose("sacctmgr show qos", entry.key)
        values = _values(row, _COLUMNS, things, name, findings)
        yield Qos(name=name, **values, over_partition=_goes_over_partitions(row, name, findings)), row


def _values(
    row: Entries, columns: Mapping[str, _Column], things: Collection[str], name: str, findings: Findings
) -> dict[str, Any]:
    """The fields that columns of a row fill; of two for one field, the least counts."""
    values: dict[str, Any] = {}
    for key, column in columns.items():
        if key not in row or row[key].value == "" or _is_closed(row[key], column, name, findings):
            continue
        value = findings.value(row[key], column.read)
        if isinstance(value, dict):
            value = _of_site(value, things, name, findings)
        if value is not None:
            values[column.field] = min(value, values[column.field]) if column.field in values else value
    return values


def _goes_over_partitions(row: Entries, name: str, findings: Findings) -> bool:
    """Whether a quality of service has the flag that its limits come before those of partitions; others are noted."""
    entry = row.get("flags")
    flags = [flag.casefold() for flag in slurm_names(entry.value)] if entry else []
    if entry and any(flag not in (_OVER_PARTITION, *NOTHING) for flag in flags):
        findings.tell(LOST, entry.key, "no flag but OverPartQOS changes how limits hold", name)
    return _OVER_PARTITION in flags


def _says_nothing(value: str) -> bool:
    return value.casefold() in (*NOTHING, "1.000000", "00:00:00")


def _is_closed(entry: Entry, column: _Column, name: str, findings: Findings) -> bool:
    """Whether a limit on jobs is 0: what is closed now may have been open in the time of a log."""
    closed = entry.value == "0" and column.field.startswith("max")
    if closed:
        findings.tell(GUESSED, f"{entry.key}=0", "which would keep every job from starting: left open", name)
    return closed


def _of_site(amounts: Mapping[str, int], things: Collection[str], name: str, findings: Findings) -> dict[str, int]:
    """Limits on what the site has; on processors, nodes and memory they are above 0."""
    kept = {}
    for thing, n in amounts.items():
        if thing not in _EVERYWHERE and thing not in things:
            findings.tell(LOST, f"limit on {thing}", "the site counts no such thing", name)
        elif n == 0 and thing in (CORES, NODES, MEMORY_MIB):
            findings.tell(GUESSED, f"{thing}=0", "which would keep every job from starting: left open", name)
        else:
            kept[thing] = n
    return kept


def of_cluster(rows: Sequence[Entries], cluster: str, findings: Findings) -> list[Entries]:
    """The rows of a table of associations that are of this cluster, where the table has several."""
    clusters = {row["cluster"].value for row in rows}
    own = [row for row in rows if row["cluster"].value == cluster] if len(clusters) > 1 else list(rows)
    if len(own) < len(rows):
        others = ", ".join(sorted(clusters - {cluster}))
        findings.tell(LOST, f"accounts of {others}", f"only those of {cluster} are taken")
    return own


def accounts_of(
    own: Sequence[Entries], things: Collection[str], findings: Findings
) -> Iterator[tuple[Account, Entries]]:
    """The accounts of associations, each with its row; `things` are those that the site has."""
    _tell_limits(own, findings)
    users: dict[str, dict[str, int]] = {}
    for row in own:
        if row["user"].value:
            users.setdefault(row["account"].value.strip(), {})[row["user"].value] = _shares(row, findings)
    parents = _parents([row for row in own if not row["user"].value], findings)
    for row, parent in parents:
        name = row["account"].value.strip()
        values = _values(row, _OF_ACCOUNTS, things, name, findings)
        if name != ROOT:
            shares, of_account = _shares(row, findings), users.get(name, {})
            yield Account(name=name, parent=parent, shares=shares, users=of_account, **values), row
        elif users.get(ROOT) or values:
            yield Account(name=ROOT, users=users.get(ROOT, {}), **values), row


def users_of(own: Sequence[Entries], things: Collection[str], findings: Findings) -> Iterator[tuple[User, Entries]]:
    """The users of associations who have limits of their own, each with its row."""
    above = {row["account"].value.strip(): row for row in own if not row["user"].value}
    for row in own:
        name, account = row["user"].value, row["account"].value.strip()
        if not name or (row["partition"].value if "partition" in row else ""):
            continue
        told: Entries = {
            key: entry
            for key, entry in row.items()
            if not (key in _INHERITED and account in above and key in above[account]
                    and above[account][key].value == entry.value)
        }  # fmt: skip
        values = _values(told, _OF_USERS, things, name, findings)
        if values:
            yield User(name=name, account=account, **values), row


def _shares(row: Entries, findings: Findings) -> int:
    entry = row["share"]
    if entry.value.casefold() == "parent":
        said = "users with the shares of their account are taken with one share each"
        findings.tell(LOST, "Share=parent", said, row["user"].value or row["account"].value.strip())
        return 1
    found = findings.value(entry, slurm_count) if entry.value else 1
    return 1 if found is None else found


def _parents(rows: Sequence[Entries], findings: Findings) -> Iterator[tuple[Entries, str | None]]:
    """Accounts with what they are parts of: as ParentName says, or the spaces before names in a tree."""
    is_told = all("parentname" in row for row in rows)
    is_tree = any(row["account"].value.startswith(" ") for row in rows)
    if not is_told and not is_tree and len(rows) > 1:
        said = f"parents are not told, so that all are parts of {ROOT!r}: print the table with tree or ParentName"
        findings.tell(GUESSED, "accounts", said)
    above: list[tuple[int, str]] = []
    for row in rows:
        written = row["account"].value
        depth, name = len(written) - len(written.lstrip()), written.strip()
        while above and above[-1][0] >= depth:
            above.pop()
        parent = row["parentname"].value if is_told else above[-1][1] if above and is_tree else ""
        above.append((depth, name))
        yield row, parent if parent and parent != ROOT else None


def _tell_limits(rows: Sequence[Entries], findings: Findings) -> None:
    """Tell of limits of associations that a site does not have."""
    for row in rows:
        for key in _NOT_OF_ACCOUNTS:
            if key in row and row[key].value:
                who = row["user"].value or row["account"].value.strip()
                findings.tell(LOST, f"{row[key].key} of associations", "the site has no such limit", who)
        for key in ("qos", "defqos"):
            if key in row and row[key].value:
                findings.lose("sacctmgr show assoc", row[key].key)
