"""The policy file of the bridge: what is managed, how it is decided, and what there is to decide with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field

from joulewise.errors import InputError, Problem, attempt, raise_if_any, unknown_name
from joulewise.files import toml_of, toml_text
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.slurm.calls import Patience
from joulewise.slurm.queue import QueuedJob
from joulewise.slurm.worth import CommentLimits
from joulewise.study.jobs.scheduler import SchedulerParameters
from joulewise.study.jobs.sources import job_policy_of
from joulewise.study.spec import parameters
from joulewise.study.spec.parameters import InlineTable
from joulewise.worlds.jobs.rules import Rule, default_rules, rules_of
from joulewise.worlds.jobs.sites.hostlists import expanded
from joulewise.worlds.jobs.sites.written import RefusedError
from joulewise.worlds.parameters import explained
from joulewise.worlds.supply import SupplyParameters

_Made = TypeVar("_Made")
_Most = Annotated[tuple[tuple[str, float], ...], InlineTable("{urgent = 20}")]
_DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class ManagedParameters:
    """What of a Slurm is managed, and how patiently it is asked."""

    partitions: Annotated[tuple[str, ...], Field(min_length=1)] = field(
        metadata={"help": "partitions whose held jobs are decided about; all other jobs are Slurm's own"}
    )
    patience_s: Annotated[float, Field(gt=0)] = explained(Patience.limit_s, "how long an answer of Slurm may take")
    looks_ahead_s: Annotated[float, Field(gt=0, le=366 * _DAY_S)] = explained(
        7 * _DAY_S, "how far ahead is looked for when waiting jobs will start"
    )


@dataclass(frozen=True, kw_only=True)
class PowerParameters:
    """What some nodes draw; of several [[power]] for a node the first counts."""

    idle_power_w: Annotated[float, Field(ge=0)] = field(metadata={"help": "what a node draws without a job"})
    nodes: str | None = explained(None, "names of nodes, such as node[01-10]")
    feature: str | None = explained(None, "a feature, in place of nodes: all nodes that have it")
    core_power_w: Annotated[float, Field(ge=0)] = explained(0.0, "what it draws more for each processor that jobs have")
    gpu_power_w: Annotated[float, Field(ge=0)] = explained(0.0, "what it draws more for each GPU that jobs have")

    def __post_init__(self) -> None:
        raise_if_any(_power_problems(self))

    @property
    def names(self) -> list[str]:
        """The nodes that it names."""
        return [] if self.nodes is None else expanded(self.nodes)


@dataclass(frozen=True, kw_only=True)
class CommentParameters:
    """What jobs may say of their worth in their comments."""

    longest: Annotated[int, Field(ge=0)] = explained(CommentLimits.longest, "longest comment, in characters")
    words: tuple[str, ...] = explained(CommentLimits.words, "words that comments may have")
    most_utility: Annotated[float, Field(ge=0)] = explained(
        CommentLimits.most_utility, "the most that a job may say it is worth"
    )
    most_by_qos: _Most = explained((), "the same by QOS, which comes before that by account")
    most_by_account: _Most = explained((), "the same by account")

    def __post_init__(self) -> None:
        unknown = [word for word in self.words if word not in CommentLimits.words]
        raise_if_any(unknown_name("comment.words", word, CommentLimits.words) for word in unknown)

    @property
    def limits(self) -> CommentLimits:
        """The same as those who read comments have it."""
        by = (dict(self.most_by_qos), dict(self.most_by_account))
        return CommentLimits(self.longest, self.words, self.most_utility, *by)


@dataclass(frozen=True, kw_only=True)
class ProtectedParameters:
    """Whose held jobs are released at once, whatever they are worth."""

    users: tuple[str, ...] = explained((), "names of users")
    accounts: tuple[str, ...] = explained((), "names of accounts")
    qos: tuple[str, ...] = explained((), "names of qualities of service")
    partitions: tuple[str, ...] = explained((), "names of partitions")

    def has(self, job: QueuedJob) -> bool:
        """Whether a job is one of these."""
        of_partition = any(name in self.partitions for name in job.partitions)
        return of_partition or job.user in self.users or job.account in self.accounts or job.qos in self.qos


class SlurmPolicy(NamedTuple):
    """A policy file; `rules` are its own and those of the package behind them, `folder` holds the files it names."""

    managed: ManagedParameters
    scheduler: Scheduler
    supply: SupplyParameters
    powers: tuple[PowerParameters, ...]
    rules: tuple[Rule, ...]
    comments: CommentLimits
    protected: ProtectedParameters
    name: str
    folder: Path

    @property
    def is_limited(self) -> bool:
        """Whether energy or power can run short."""
        supply = self.supply
        return any(
            limit is not None for limit in (supply.budget_j, supply.power_cap_w, supply.power_cap_by_hour)
        )  # fmt: skip


_SECTIONS: Mapping[str, type] = {
    "slurm": ManagedParameters,
    "scheduler": SchedulerParameters,
    "supply": SupplyParameters,
    "comment": CommentParameters,
    "protected": ProtectedParameters,
}
_LISTS = ("power", "rule")


def read_policy(path: Path) -> SlurmPolicy:
    """The policy in a TOML file; InputError with every problem."""
    return parse_policy(toml_text(path.name, path.parent), path.name, path.parent)


def parse_policy(text: str, name: str, folder: Path = Path()) -> SlurmPolicy:
    """The policy in a TOML text, which problems call by its name; InputError with every problem."""
    raw, problems = toml_of(text, name), list[Problem]()
    unknown = [key for key in raw if key not in (*_SECTIONS, *_LISTS)]
    problems += (unknown_name(f"{name}: {key}", key, (*_SECTIONS, *_LISTS)) for key in unknown)
    made = {key: _section(kind, raw.get(key, {}), f"{name}: {key}", problems) for key, kind in _SECTIONS.items()}
    powers = [
        _section(PowerParameters, table, f"{name}: power[{at}]", problems)
        for at, table in enumerate(_tables(raw, "power", name, problems))
    ]
    rules = attempt(problems, rules_of, _tables(raw, "rule", name, problems), text, name)
    scheduler = None if made["scheduler"] is None else _scheduler(made["scheduler"], name, folder, problems)
    if made["supply"] is not None:
        problems += _not_planned(made["supply"], name)
    if scheduler is not None and made["comment"] is not None:
        problems += _worthless(scheduler, rules or (), made["comment"], name)
    raise_if_any(problems)
    assert scheduler is not None
    assert rules is not None
    return SlurmPolicy(
        made["slurm"], scheduler, made["supply"], tuple(powers), (*rules, *default_rules()), made["comment"].limits,
        made["protected"], name, folder,
    )  # fmt: skip


def _section(kind: type, table: Any, where: str, problems: list[Problem]) -> Any:
    """The parameters of a section; None where it has none, and its problems noted."""
    if not isinstance(table, dict):
        problems.append(Problem(where, "found a value", "must be a section, with keys of its own"))
        return None
    made, more = parameters.read(kind, table, lambda key: f"{where}.{key}" if key else where)
    problems += more
    return made


def _tables(raw: Mapping[str, Any], key: str, name: str, problems: list[Problem]) -> list[dict[str, Any]]:
    """The tables of a list; none where it is no list of tables, which is noted."""
    tables = raw.get(key, [])
    if isinstance(tables, list) and all(isinstance(table, dict) for table in tables):
        return tables
    problems.append(Problem(f"{name}: {key}", "found no list of tables", f"must be written as [[{key}]]"))
    return []


def _scheduler(made: SchedulerParameters, name: str, folder: Path, problems: list[Problem]) -> Scheduler | None:
    """The scheduler with its policy; None where there is none, and why noted."""
    where = f"{name}: scheduler"
    for key in ("mapping_interval_s", "passes"):
        if getattr(made, key) != getattr(SchedulerParameters, key):
            allowed = "must be left out: on a live cluster is decided whenever it is looked at"
            problems.append(Problem(f"{where}.{key.removesuffix('_s')}", "found it", allowed))

    def of_policy() -> Scheduler:
        return made.scheduler(job_policy_of(made.policy, folder))

    return _in_file(of_policy, name, problems)


def _in_file(make: Callable[[], _Made], name: str, problems: list[Problem]) -> _Made | None:
    """What a function makes; None where it has problems, which are noted as of this file."""
    try:
        return make()
    except InputError as error:
        problems += (Problem(f"{name}: {each.where}", each.found, each.allowed, each.advice) for each in error.problems)
        return None


def _not_planned(supply: SupplyParameters, name: str) -> Iterator[Problem]:
    """What of a supply a plan without an end cannot keep."""
    if supply.budget_total_j is not None:
        allowed = "must be left out: a live cluster has no last day"
        yield Problem(f"{name}: supply.budget_total", "found it", allowed, "give budget, and day")
    if supply.day_s != round(supply.day_s):
        yield Problem(f"{name}: supply.day", f"found {supply.day_s:g} s", "must be whole seconds")


def _worthless(
    scheduler: Scheduler, rules: tuple[Rule, ...], comment: CommentParameters, name: str
) -> Iterator[Problem]:
    """A rule that makes every job worthless, where worthless jobs are never started."""
    drops = scheduler.policy.declines or scheduler.dropping_threshold > 0
    of_worth = (rule for rule in rules if {"priority", "max_utility"} & rule.given.keys())
    first = next(of_worth, None)
    may_say = comment.longest > 0 and comment.most_utility > 0 and {"priority", "max_utility"} & {*comment.words}
    if drops and not may_say and first is not None and not first.conditions and first.given.get("max_utility") == 0:
        found = f"gives every job a utility of 0, and {scheduler.policy.name!r} starts no such job"
        allowed, advice = "some jobs must be worth something, or all are held for ever", "give it a condition"
        yield Problem(f"{name}: rule {first.name!r}", found, allowed, advice)


def _power_problems(p: PowerParameters) -> Iterator[Problem]:
    if (p.nodes is None) == (p.feature is None):
        found = "found neither" if p.nodes is None else "found both"
        yield Problem("power.nodes", f"{found} nodes and feature", "must be exactly one of the two")
    try:
        _ = p.names
    except RefusedError as error:
        yield Problem("power.nodes", f"found {p.nodes!r}", error.allowed)
