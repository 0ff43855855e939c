"""Where the values of a section come from: generators and tables for each section of a study file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from joulewise.files import sha256_of
from joulewise.study.managers import ManagerParameters
from joulewise.study.spec import Part, Point, WorldParts
from joulewise.worlds.arrivals import WorkloadParameters, generate_workload
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.frames import read_table
from joulewise.worlds.outages import draw_outages
from joulewise.worlds.supply import SupplyParameters, check_limits, read_supply
from joulewise.worlds.tables import SystemTables, WorkloadTable, read_system, read_workload
from joulewise.worlds.truth import truth_stream, with_truth

if TYPE_CHECKING:
    from joulewise.model import Supply, System, Workload, World
    from joulewise.policies import Policy
    from joulewise.simulate import Manager

SYSTEM, WORKLOAD, SUPPLY, MANAGER = "system", "workload", "supply", "manager"
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
    is_random: Callable[[Any], bool] = lambda _parameters: False
    n_tasks: Callable[[Any, Draw], float] = lambda _parameters, _draw: 0.0


@dataclass(frozen=True)
class Section:
    """One section of a study file.

    `source_keys` are the keys that say where its values come from; without any it has one source, of its own name.
    """

    name: str
    summary: str
    sources: Mapping[str, Source]
    source_keys: frozenset[str]
    tables: str = TABLES
    is_required: bool = True

    @property
    def generators(self) -> list[str]:
        """The names that the key `generator` may have."""
        return [name for name in self.sources if name not in (TABLES, self.name)]


def _generated_system(parameters: SystemParameters, draw: Draw) -> System:
    return generate_system(parameters, draw.seed, draw.trial)


def _tabled_system(tables: SystemTables, draw: Draw) -> System:
    return read_system(tables, draw.folder)


def _generated_workload(parameters: WorkloadParameters, system: System, draw: Draw) -> Workload:
    return generate_workload(parameters, system, draw.seed, draw.trial)


def _tabled_workload(table: WorkloadTable, system: System, draw: Draw) -> Workload:
    return with_truth(read_workload(table, system, draw.folder), table, truth_stream(draw.seed, draw.trial))


def _supply(parameters: SupplyParameters, draw: Draw) -> Supply:
    return read_supply(parameters, draw.folder)


def _manager(parameters: ManagerParameters, draw: Draw) -> Manager:
    return parameters.manager(policy_of(parameters.policy, draw.folder))


_SYSTEMS = (
    Source(
        "oversubscribed",
        "100 machines of 13 types and 100 task types, some for special-purpose machines only (Friese app. E)",
        SystemParameters,
        _generated_system,
        is_random=lambda _: True,
    ),
    Source(
        TABLES,
        "execution times, powers and machines from your own files",
        SystemTables,
        _tabled_system,
        is_random=lambda tables: tables.mtbf_s is not None,
    ),
)

_WORKLOADS = (
    Source(
        "day",
        "a day of tasks at sinusoidal and bursty rates, worth less the later they end (Friese 2.6, app. B-F)",
        WorkloadParameters,
        _generated_workload,
        is_random=lambda _: True,
        n_tasks=lambda day, _: day.n_tasks,
    ),
    Source(
        TABLES,
        "tasks from your own file",
        WorkloadTable,
        _tabled_workload,
        is_random=lambda table: table.time_spread > 0,
        n_tasks=lambda table, draw: read_table(table.tasks, draw.folder).frame.height,
    ),
)

_SUPPLY = Source(SUPPLY, "limits and costs of energy", SupplyParameters, _supply)
_MANAGER = Source(MANAGER, "how tasks are mapped to machines", ManagerParameters, _manager)

SECTIONS = {
    section.name: section
    for section in (
        Section(SYSTEM, "the machines", {s.name: s for s in _SYSTEMS}, frozenset({"generator", "etc_s"})),
        Section(WORKLOAD, "the tasks", {s.name: s for s in _WORKLOADS}, frozenset({"generator", "tasks"})),
        Section(SUPPLY, "the energy", {SUPPLY: _SUPPLY}, frozenset(), is_required=False),
        Section(MANAGER, "the decisions", {MANAGER: _MANAGER}, frozenset()),
    )
}
"""Every section of a study file, in the order in which sweeps multiply."""


def is_random_world(point: Point) -> bool:
    """Whether the world of a point differs from trial to trial."""
    return any(_source(name, part).is_random(part.parameters) for name, part in point.world._asdict().items())


def is_random_system(system: Part) -> bool:
    """Whether a system, or when it fails, differs from trial to trial."""
    return _source(SYSTEM, system).is_random(system.parameters)


def is_random(point: Point, folder: Path) -> bool:
    """Whether the runs of a point differ from trial to trial: its world does, or its policy draws machines."""
    return is_random_world(point) or _draws(policy_of(point.manager.parameters.policy, folder))


def _draws(policy: Policy) -> bool:
    return policy.picks is not None or policy.rule == "at-random"


def reads_tables(parts: WorldParts) -> bool:
    """Whether the world of these needs what the study's files or inline tables say."""
    return TABLES in (parts.system.source, parts.workload.source)


def build_world(parts: WorldParts, draw: Draw) -> World:
    """The world of one trial; InputError when tables do not describe one."""
    from joulewise.model import World

    system = build_system(parts.system, draw)
    workload = _source(WORKLOAD, parts.workload).build(parts.workload.parameters, system, draw)
    supply = _build(SUPPLY, parts.supply, draw)
    check_limits(supply, system)
    failures = parts.system.parameters
    outages = draw_outages(failures, system.n_machines, workload.end_s, draw.seed, draw.trial)
    return World(system, workload, supply, outages)


def build_supply(supply: Part, system: Part, draw: Draw) -> Supply:
    """The supply that a section describes; InputError when the system of a trial could run nothing with it."""
    found: Supply = _build(SUPPLY, supply, draw)
    if found.is_limited:
        check_limits(found, build_system(system, draw))
    return found


def build_system(system: Part, draw: Draw) -> System:
    """The system of one trial; InputError when tables do not describe one."""
    return cast("System", _build(SYSTEM, system, draw))


def expected_tasks(workload: Part, draw: Draw) -> float:
    """About how many tasks a workload has, warm-up included."""
    return _source(WORKLOAD, workload).n_tasks(workload.parameters, draw)


def build_manager(manager: Part, draw: Draw) -> Manager:
    """The manager that a section describes; InputError when its policy cannot be found or compiled."""
    return cast("Manager", _build(MANAGER, manager, draw))


def _build(section: str, part: Part, draw: Draw) -> Any:
    return _source(section, part).build(part.parameters, draw)


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
