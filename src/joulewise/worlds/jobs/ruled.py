"""What rules make of the jobs of a log: utilities, powers, speeds and the clusters on which they may run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import raise_if_any, unknown_name
from joulewise.model import Segment, Shape, Tag, UtilityShapes
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.clusters import Clusters
from joulewise.worlds.jobs.rules import POWERS, Rule, default_rules
from joulewise.worlds.jobs.trace_jobs import TraceFinding, TraceJobs
from joulewise.worlds.utilities import PRIORITIES, URGENCIES, UtilityParameters, utility_shapes
from joulewise.worlds.utility_tables import KINDS

_PUBLISHED = UtilityParameters()

OF_JOBS = "job_id"
"""The condition of a rule that is for jobs by their names, which no file of rules can have."""


class Worth(NamedTuple):
    """What each job is worth, as columns of a workload."""

    shapes: UtilityShapes
    shape: Ints
    scale: Floats
    hold_s: Floats
    tags: dict[str, Tag]


@dataclass(frozen=True)
class RuledJobs:
    """Jobs, the clusters they come to, and the rules that hold for each; InputError where rules name no cluster."""

    jobs: TraceJobs
    clusters: Clusters
    rules: tuple[Rule, ...]
    holds: tuple[Bools, ...]

    @staticmethod
    def of(jobs: TraceJobs, clusters: Clusters, rules: tuple[Rule, ...]) -> RuledJobs:
        named = [
            name for rule in rules for name in (*rule.conditions.get("cluster", ()), *rule.given.get("clusters", ()))
        ]
        unknown = [name for name in dict.fromkeys(named) if name not in clusters.names]
        raise_if_any(unknown_name("rules: clusters", name, clusters.names) for name in unknown)
        by_name = any(OF_JOBS in rule.conditions for rule in rules)
        row_of = {name: row for row, name in enumerate(jobs.log["job_id"])} if by_name else {}
        return RuledJobs(jobs, clusters, rules, tuple(_holds(jobs, rule, row_of) for rule in rules))

    @property
    def findings(self) -> list[TraceFinding]:
        """Rules of the study that hold for no job."""
        pairs = zip(self.rules, self.holds, strict=True)
        idle = [rule.name for rule, holds in pairs if not holds.any() and rule not in default_rules()]
        reason = f"rules that hold for no job: {', '.join(idle)}"
        return [TraceFinding("idle rule", len(idle), reason, "they change nothing")] if idle else []

    @property
    def of_power(self) -> list[str]:
        """The rules of the study that say what jobs draw."""
        return [
            rule.name for rule in self.rules if rule not in default_rules() and any(key in rule.given for key in POWERS)
        ]

    def worth(self) -> Worth:
        """What each job is worth: the first rule that gives the most of it, its shape, and its hold."""
        of_shape, of_hold = self._first("utility", "urgency"), self._first("hold", "hold_requests", "urgency")
        of_worth = self._first("priority", "max_utility")
        used, shape = np.unique(of_shape, return_inverse=True)
        shapes = [_shape(self.rules[number].given) for number in used]
        holds = np.array([_hold(rule.given) for rule in self.rules])[of_hold]
        scale = np.array([_most(rule.given) for rule in self.rules])[of_worth]
        hold_s = holds[:, 0] + holds[:, 1] * self.jobs.logged_requests_s
        return Worth(UtilityShapes.of(shapes), shape.astype(np.int32), scale, hold_s, self._tags(of_worth))

    def may_run(self) -> Bools:
        """Whether each job may run on each cluster."""
        allowed = [
            [name in rule.given.get("clusters", self.clusters.names) for name in self.clusters.names]
            for rule in self.rules
        ]
        return np.array([*allowed, [True] * self.clusters.n_clusters])[self._first("clusters")]

    def speed(self, cluster: int) -> Floats:
        """How much faster than in the log each job runs on a cluster."""
        return np.array([*(rule.given.get("speed", 1.0) for rule in self.rules), 1.0])[self._first("speed", on=cluster)]

    def power_w(self, cluster: int, nodes: Counts) -> Floats:
        """What each job draws on this many nodes of a cluster, NaN where no rule says."""
        given = [(rule.given.get("power_per_node", 0.0), rule.given.get("power_per_core", 0.0)) for rule in self.rules]
        rates = np.array([*given, (np.nan, np.nan)])[self._first("power_per_node", "power_per_core", on=cluster)]
        ruled_w = rates[:, 0] * nodes + rates[:, 1] * self.jobs.cores
        is_measured = np.array([*(rule.given.get("measured_power", False) for rule in self.rules), False])
        wanted = is_measured[self._first("measured_power", on=cluster)]
        logged_w = self.jobs.log["energy_j"].fill_null(np.nan).to_numpy() / self.jobs.run_s
        return np.where(wanted & np.isfinite(logged_w), logged_w, ruled_w)

    def _first(self, *keys: str, on: int | None = None) -> Ints:
        """The first rule, for each job, that gives one of these; -1 where none does."""
        first_rule = np.full(self.jobs.cores.size, -1, np.int32)
        for number, (rule, holds) in reversed(list(enumerate(zip(self.rules, self.holds, strict=True)))):
            is_there = on is None or self.clusters.names[on] in rule.conditions.get("cluster", self.clusters.names)
            if is_there and any(key in rule.given for key in keys):
                first_rule[holds] = number
        return first_rule

    def _tags(self, of_worth: Ints) -> dict[str, Tag]:
        """The priority of each job, where all have one."""
        levels = np.array([PRIORITIES.index(rule.given.get("priority", PRIORITIES[0])) for rule in self.rules], np.int8)
        has_level = np.array(["priority" in rule.given for rule in self.rules])[of_worth]
        return {"priority": Tag(PRIORITIES, levels[of_worth])} if has_level.all() else {}


def _holds(jobs: TraceJobs, rule: Rule, row_of: Mapping[str, int]) -> Bools:
    """For which jobs a rule holds, clusters aside; `row_of` is the row of each job by its name."""
    holds = np.ones(jobs.cores.size, np.bool_)
    for key, value in rule.conditions.items():
        if key == OF_JOBS:
            holds &= np.isin(np.arange(holds.size), [row_of[name] for name in value if name in row_of])
        elif key in ("user", "group", "queue", "partition"):
            holds &= jobs.log[key].is_in(list(value)).fill_null(False).to_numpy()
        elif key != "cluster":
            least, most = value
            amounts = _amounts(jobs, key)
            holds &= ((amounts > least) | (least == 0) | ((key == "cores") & (amounts == least))) & (amounts <= most)
    return holds


def _amounts(jobs: TraceJobs, key: str) -> Floats:
    """What a condition compares: processors, requested times, or the share of jobs that have no more of something."""
    plain = {"cores": jobs.cores.astype(np.float64), "requested": jobs.logged_requests_s}
    plain["work"] = jobs.cores * jobs.logged_requests_s
    values = plain[key.removesuffix("_share")]
    if not key.endswith("_share"):
        return values
    return np.searchsorted(np.sort(values), values, side="right") / values.size


def _shape(given: Any) -> Shape:
    if "urgency" in given:
        return _published_shape(f"{given['urgency']}-{given['utility_class']}")
    return KINDS[given.get("utility", "constant")].shape(given.get("duration", 0.0), given.get("points", ""))


def _published_shape(name: str) -> Shape:
    table = utility_shapes(_PUBLISHED)
    at = table.names.index(name)
    rows = range(table.first[at], table.first[at + 1])
    return Shape(name, tuple(Segment(*(getattr(table, field)[row] for field in Segment._fields)) for row in rows))


def _hold(given: Any) -> tuple[float, float]:
    """Seconds, and requested times, in which the worth does not fall."""
    of_urgency = _PUBLISHED.first_interval[URGENCIES.index(given["urgency"])] if "urgency" in given else 0.0
    is_told = "hold" in given or "hold_requests" in given
    return given.get("hold", 0.0), given.get("hold_requests", 0.0 if is_told else of_urgency)


def _most(given: Any) -> float:
    level = given.get("priority")
    return given.get("max_utility", 1.0) if level is None else _PUBLISHED.priority_values[PRIORITIES.index(level)]
