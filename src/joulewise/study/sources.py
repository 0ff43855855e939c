"""Where the values of a section come from: generators and tables for each section of a study file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field

from joulewise.files import sha256_of
from joulewise.study.spec import Part, Point
from joulewise.worlds.arrivals import WorkloadParameters, generate_workload
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.frames import read_table
from joulewise.worlds.parameters import explained
from joulewise.worlds.tables import SystemTables, WorkloadTable, read_system, read_workload

if TYPE_CHECKING:
    from joulewise.model import System, Workload, World
    from joulewise.policies import Policy
    from joulewise.simulate import Manager

SYSTEM, WORKLOAD, MANAGER = "system", "workload", "manager"
TABLES = "tables"


@dataclass(frozen=True)
class Draw:
    """What a source is built for: the trial of a seed, and the folder of the files that the study names."""

    seed: int
    trial: int
    folder: Path


@dataclass(frozen=True)
class Source:
    """One way to fill a section: its parameter class, what makes a model of it, and whether trials differ.

    `n_tasks` says about how many tasks a workload will have, without making it.
    """

    name: str
    summary: str
    parameters: type
    build: Callable[..., Any]
    is_random: bool = False
    n_tasks: Callable[[Any, Draw], float] = lambda _parameters, _draw: 0.0


@dataclass(frozen=True)
class Section:
    """One section of a study file; `source_keys` are the keys that say where its values come from."""

    name: str
    summary: str
    sources: Mapping[str, Source]
    source_keys: frozenset[str]
    tables: str = TABLES

    @property
    def generators(self) -> list[str]:
        """The names that the key `generator` may have."""
        return [name for name in self.sources if name not in (TABLES, MANAGER)]


@dataclass(frozen=True)
class ManagerParameters:
    """How tasks are mapped to machines."""

    policy: Annotated[str, Field(min_length=1)] = field(
        metadata={
            "help": 'a name of `joulewise list policies`, or "file.py:function" of your own',
            "file": "code",
        }
    )
    dropping_threshold: Annotated[float, Field(ge=0)] = explained(
        0.0, "a task that can no longer earn this utility is dropped; 0 drops nothing"
    )
    mapping_interval_s: Annotated[float, Field(ge=1e-3)] = explained(
        60.0, "time between the mapping events of batch policies"
    )
    best_types: Annotated[int | None, Field(ge=1)] = explained(
        None, "tasks go only to so many machine types, those that run them fastest; left out: as the policy says"
    )


def _generated_system(parameters: SystemParameters, draw: Draw) -> System:
    return generate_system(parameters, draw.seed, draw.trial)


def _tabled_system(tables: SystemTables, draw: Draw) -> System:
    return read_system(tables, draw.folder)


def _generated_workload(parameters: WorkloadParameters, system: System, draw: Draw) -> Workload:
    return generate_workload(parameters, system, draw.seed, draw.trial)


def _tabled_workload(table: WorkloadTable, system: System, draw: Draw) -> Workload:
    return read_workload(table, system, draw.folder)


def _manager(parameters: ManagerParameters, draw: Draw) -> Manager:
    from joulewise.simulate import Manager

    policy = policy_of(parameters.policy, draw.folder)
    return Manager(policy, parameters.dropping_threshold, parameters.mapping_interval_s, parameters.best_types)


_SYSTEMS = (
    Source(
        "oversubscribed",
        "100 machines of 13 types and 100 task types, some for special-purpose machines only (Friese app. E)",
        SystemParameters,
        _generated_system,
        is_random=True,
    ),
    Source(TABLES, "execution times, powers and machines from your own files", SystemTables, _tabled_system),
)

_WORKLOADS = (
    Source(
        "day",
        "a day of tasks at sinusoidal and bursty rates, worth less the later they end (Friese 2.6, app. B-F)",
        WorkloadParameters,
        _generated_workload,
        is_random=True,
        n_tasks=lambda day, _: day.tasks_per_day * (1 + day.warm_up_s / day.day_s),
    ),
    Source(
        TABLES,
        "tasks from your own file",
        WorkloadTable,
        _tabled_workload,
        n_tasks=lambda table, draw: read_table(table.tasks, draw.folder).frame.height,
    ),
)

_MANAGER = Source(MANAGER, "how tasks are mapped to machines", ManagerParameters, _manager)

SECTIONS = {
    section.name: section
    for section in (
        Section(SYSTEM, "the machines", {s.name: s for s in _SYSTEMS}, frozenset({"generator", "etc_s"})),
        Section(WORKLOAD, "the tasks", {s.name: s for s in _WORKLOADS}, frozenset({"generator", "tasks"})),
        Section(MANAGER, "the decisions", {MANAGER: _MANAGER}, frozenset()),
    )
}
"""Every section of a study file, in the order in which sweeps multiply."""


def is_random_world(point: Point) -> bool:
    """Whether the world of a point differs from trial to trial."""
    return is_random_system(point.system) or _source(WORKLOAD, point.workload).is_random


def is_random_system(system: Part) -> bool:
    """Whether a system differs from trial to trial."""
    return _source(SYSTEM, system).is_random


def is_random(point: Point, folder: Path) -> bool:
    """Whether the runs of a point differ from trial to trial: its world does, or its policy draws machines."""
    return is_random_world(point) or policy_of(point.manager.parameters.policy, folder).picks is not None


def reads_tables(system: Part, workload: Part) -> bool:
    """Whether the world of these needs what the study's files or inline tables say."""
    return TABLES in (system.source, workload.source)


def build_world(system: Part, workload: Part, draw: Draw) -> World:
    """The world of one trial; InputError when tables do not describe one."""
    from joulewise.model import World

    machines = build_system(system, draw)
    return World(machines, _source(WORKLOAD, workload).build(workload.parameters, machines, draw))


def build_system(system: Part, draw: Draw) -> System:
    """The system of one trial; InputError when tables do not describe one."""
    return cast("System", _source(SYSTEM, system).build(system.parameters, draw))


def expected_tasks(workload: Part, draw: Draw) -> float:
    """About how many tasks a workload has, warm-up included."""
    return _source(WORKLOAD, workload).n_tasks(workload.parameters, draw)


def build_manager(manager: Part, draw: Draw) -> Manager:
    """The manager that a section describes; InputError when its policy cannot be found or compiled."""
    return cast("Manager", _source(MANAGER, manager).build(manager.parameters, draw))


def _source(section: str, part: Part) -> Source:
    return SECTIONS[section].sources[part.source]


def policy_of(spec: str, folder: Path) -> Policy:
    """The policy of a name; a user's file is loaded and compiled once for each content of it."""
    from joulewise.policies import is_file_spec

    path = folder / spec.partition(":")[0]
    content = sha256_of(path) if is_file_spec(spec) and path.is_file() else ""
    return _loaded_policy(spec, folder, content)


@lru_cache(maxsize=64)
def _loaded_policy(spec: str, folder: Path, content: str) -> Policy:  # noqa: ARG001 - part of the cache's key
    from joulewise.policies import find_policy, is_file_spec
    from joulewise.policies.compile import compiled

    policy = find_policy(spec, f"{MANAGER}.policy", folder)
    if policy.objective is not None and is_file_spec(spec):
        compiled(policy.objective)
    return policy
