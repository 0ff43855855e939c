"""Where the values of a section come from: generators and tables for each section of a study file."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from joulewise.files import sha256_of
from joulewise.study.facility.sources import (
    FACILITY_GOAL,
    FACILITY_SYSTEMS,
    FACILITY_WORKLOADS,
    FLOW_KEYS,
    SITE_KEYS,
)
from joulewise.study.jobs.sources import JOB_SCHEDULER, JOB_SYSTEMS, JOB_WORKLOADS, SYSTEM_TABLES, WORKLOAD_TABLES
from joulewise.study.optimising import FrontParameters, ProfitParameters, UtilityFrontParameters
from joulewise.study.source import (
    MANAGER,
    OPTIMISE,
    SCHEDULER,
    SUPPLY,
    SYSTEM,
    WORKLOAD,
    Draw,
    Section,
    Source,
)
from joulewise.study.spec import Part, WorldParts
from joulewise.study.tasks.manager import ManagerParameters
from joulewise.worlds.assignments.known import KnownParameters, generate_known
from joulewise.worlds.bags.bag import BagParameters, BagTable, generate_bag, read_bag
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.frames import read_table
from joulewise.worlds.gpus import GpuParameters, gpu_system
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.outages import draw_outages
from joulewise.worlds.supply import SupplyParameters, check_limits, read_supply
from joulewise.worlds.system_tables import SystemTables, read_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload
from joulewise.worlds.tasks.tables import WorkloadTable, read_workload
from joulewise.worlds.tasks.truth import truth_stream, with_truth

if TYPE_CHECKING:
    from joulewise.model import Supply, System, Workload, World
    from joulewise.model.bag import Bag
    from joulewise.policies.tasks.policy import Policy
    from joulewise.simulate.tasks.manager import Manager

TABLES, BAG, BAG_TABLE, KNOWN = "tables", "bag", "bag table", "known"
FRONT, PROFIT, UTILITY = "front", "profit", "utility"


def _has_chance(parameters: Any) -> bool:
    """Whether trials of a system that is itself the same in all differ: in failures, or in how certain times are."""
    return parameters.mtbf_s is not None or parameters.draws_chances


def _generated_system(parameters: SystemParameters, draw: Draw) -> System:
    return generate_system(parameters, draw.seed, draw.trial)


def _cov_system(parameters: CovSystemParameters, draw: Draw) -> System:
    return generate_cov_system(parameters, draw.seed, draw.trial)


def _nine_machines(parameters: NineMachineParameters, draw: Draw) -> System:
    return generate_nine_machines(parameters, draw.seed)


def _gpus(parameters: GpuParameters, _draw: Draw) -> System:
    return gpu_system(parameters)


def _tabled_system(tables: SystemTables, draw: Draw) -> System:
    return read_system(tables, draw.folder)


def _generated_workload(parameters: WorkloadParameters, system: System, draw: Draw) -> Workload:
    return generate_workload(parameters, system, draw.seed, draw.trial)


def _known_workload(parameters: KnownParameters, system: System, draw: Draw) -> Workload:
    return generate_known(parameters, system, draw.seed, draw.trial)


def _tabled_workload(table: WorkloadTable, system: System, draw: Draw) -> Workload:
    return with_truth(read_workload(table, system, draw.folder), table, truth_stream(draw.seed, draw.trial))


def _generated_bag(parameters: BagParameters, system: System, draw: Draw) -> Bag:
    return generate_bag(parameters, system, draw.seed, draw.trial)


def _tabled_bag(table: BagTable, system: System, draw: Draw) -> Bag:
    return read_bag(table, system, draw.folder)


def _supply(parameters: SupplyParameters, draw: Draw) -> Supply:
    return read_supply(parameters, draw.folder)


def _manager(parameters: ManagerParameters, draw: Draw) -> Manager:
    return parameters.manager(policy_of(parameters.policy, draw.folder))


def _with_start(parameters: UtilityFrontParameters, draw: Draw) -> UtilityFrontParameters:
    """The parameters with the whole path of the population to go on from."""
    start = parameters.start_from
    return parameters if start is None else replace(parameters, start_from=str(draw.folder / start))


def _as_given(parameters: Any, _draw: Draw) -> Any:
    return parameters


MACHINE_SYSTEMS = (
    Source(
        "oversubscribed",
        "100 machines of 13 types and 100 task types, some for special-purpose machines only (Friese app. E)",
        SystemParameters,
        _generated_system,
        is_random=lambda _: True,
    ),
    Source(
        "nine-machines",
        "machines of nine desktop types and task types like five benchmarks, a stand-in (Friese 5.3.4, 6.6; Tarplee V)",
        NineMachineParameters,
        _nine_machines,
        is_random=_has_chance,
    ),
    Source(
        "cov",
        "50 machines of 10 types and 50 task types, all drawn with given coefficients of variation (Friese 6.5)",
        CovSystemParameters,
        _cov_system,
        is_random=lambda _: True,
    ),
    Source(
        "gpus",
        "GPUs of four models that train six networks under power limits, as measured",
        GpuParameters,
        _gpus,
        is_random=_has_chance,
    ),
    Source(
        TABLES,
        "execution times, powers and machines from your own files",
        SystemTables,
        _tabled_system,
        is_random=_has_chance,
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
    Source(
        KNOWN,
        "tasks that arrived within an hour or so and are all known in advance (Friese 5.5.1, 7.3.1)",
        KnownParameters,
        _known_workload,
        is_random=lambda _: True,
        n_tasks=lambda known, _: known.n_tasks,
    ),
    Source(
        BAG,
        "tasks that are all there at once, their types drawn (Tarplee V, Friese 6.5)",
        BagParameters,
        _generated_bag,
        is_random=lambda _: True,
        n_tasks=lambda bag, _: bag.n_tasks,
    ),
    Source(BAG_TABLE, "numbers of tasks that are all there at once, from your own file", BagTable, _tabled_bag),
)

_GOALS = (
    Source(FRONT, "the trade-off between energy and makespan (Friese 6, Tarplee III)", FrontParameters, _as_given),
    Source(PROFIT, "the most profit per second (Tarplee IV)", ProfitParameters, _as_given),
    Source(
        UTILITY,
        "the trade-off between energy and utility of tasks known in advance (Friese 5, 7)",
        UtilityFrontParameters,
        _with_start,
    ),
    FACILITY_GOAL,
)

_SUPPLY = Source(SUPPLY, "limits and costs of energy", SupplyParameters, _supply)
_MANAGER = Source(MANAGER, "how tasks are mapped to machines", ManagerParameters, _manager)


def _named(sources: tuple[Source, ...]) -> dict[str, Source]:
    return {source.name: source for source in sources}


_FROM = "where {} come from; left out when tables are named"

SECTIONS = {
    section.name: section
    for section in (
        Section(
            SYSTEM,
            "the machines, the clusters, or the nodes with their room",
            _named((*MACHINE_SYSTEMS, *JOB_SYSTEMS, *FACILITY_SYSTEMS)),
            "generator",
            {"etc_s": TABLES, **SYSTEM_TABLES, **SITE_KEYS},
            _FROM.format("the machines"),
        ),
        Section(
            WORKLOAD,
            "the tasks, the jobs, or the flows of tasks",
            _named((*_WORKLOADS, *JOB_WORKLOADS, *FACILITY_WORKLOADS)),
            "generator",
            {"tasks": TABLES, "bag": BAG_TABLE, **WORKLOAD_TABLES, **FLOW_KEYS},
            _FROM.format("the tasks"),
        ),
        Section(SUPPLY, "the energy", _named((_SUPPLY,)), is_required=False),
        Section(MANAGER, "the decisions over time, as tasks arrive", _named((_MANAGER,)), decides=True),
        Section(
            SCHEDULER,
            "the decisions over time, for parallel jobs on clusters",
            _named((JOB_SCHEDULER,)),
            decides=True,
            spares=(SYSTEM,),
        ),
        Section(
            OPTIMISE,
            "the decisions for a bag, for tasks known in advance or for a facility, all at once",
            _named(_GOALS),
            "goal",
            chosen="what is sought",
            decides=True,
        ),
    )
}
"""Every section of a study file, in the order in which sweeps multiply."""


def is_random_part(part: Part) -> bool:
    """Whether what a section describes differs from trial to trial."""
    return _source(part).is_random(part.parameters)


def reads_tables(parts: WorldParts) -> bool:
    """Whether the world of these needs what the study's files or inline tables say."""
    return TABLES in (parts.system.source, parts.workload.source)


def build_world(parts: WorldParts, draw: Draw) -> World:
    """The world of one trial; InputError when tables do not describe one."""
    from joulewise.model import World

    system = build_system(parts.system, draw)
    workload = build_workload(parts.workload, system, draw)
    supply = build_supply(parts.supply, draw)
    check_limits(supply, system)
    failures = parts.system.parameters
    outages = draw_outages(failures, system.n_machines, workload.end_s, draw.seed, draw.trial)
    return World(system, workload, supply, outages)


def check_supply(supply: Part, system: Part, draw: Draw) -> None:
    """InputError when a section describes no supply, or one with which the system of a trial could run nothing."""
    found = build_supply(supply, draw)
    if found.is_limited:
        check_limits(found, build_system(system, draw))


def build_supply(supply: Part, draw: Draw) -> Supply:
    """The supply that a section describes; InputError when it describes none."""
    return cast("Supply", build_part(supply, draw))


def build_system(system: Part, draw: Draw) -> System:
    """The system of one trial; InputError when tables do not describe one."""
    return cast("System", build_part(system, draw))


def build_workload(workload: Part, system: Any, draw: Draw) -> Any:
    """The workload, the bag or the jobs of one trial; InputError when tables do not describe one."""
    return _source(workload).build(workload.parameters, system, draw)


def build_bag(parts: WorldParts, draw: Draw) -> Bag:
    """The bag of one trial with its system; InputError when tables do not describe one."""
    return cast("Bag", build_workload(parts.workload, build_system(parts.system, draw), draw))


def expected_tasks(workload: Part, draw: Draw) -> float:
    """About how many tasks a workload has, warm-up included."""
    return _source(workload).n_tasks(workload.parameters, draw)


def build_manager(manager: Part, draw: Draw) -> Manager:
    """The manager that a section describes; InputError when its policy cannot be found or compiled."""
    return cast("Manager", build_part(manager, draw))


def build_part(part: Part, draw: Draw) -> Any:
    """What a section stands for in one trial; InputError when it stands for nothing, as with an unknown policy."""
    return _source(part).build(part.parameters, draw)


def _source(part: Part) -> Source:
    return SECTIONS[part.section].sources[part.source]


def policy_of(spec: str, folder: Path) -> Policy:
    """The policy of a name; a user's file is loaded and compiled once for each content of it."""
    from joulewise.policies.user_files import is_file_spec

    path = folder / spec.partition(":")[0]
    content = sha256_of(path) if is_file_spec(spec) and path.is_file() else ""
    return _loaded_policy(spec, folder, content)


@lru_cache(maxsize=64)
def _loaded_policy(spec: str, folder: Path, content: str) -> Policy:  # noqa: ARG001 - part of the cache's key
    from joulewise.policies.tasks.compile import compiled
    from joulewise.policies.tasks.heuristic import find_policy
    from joulewise.policies.user_files import is_file_spec

    policy = find_policy(spec, f"{MANAGER}.policy", folder)
    if policy.objective is not None and is_file_spec(spec):
        compiled(policy.objective)
    return policy
