"""Where clusters and parallel jobs come from, and what schedules them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.parquet import reading_parquet
from joulewise.study.jobs.scheduler import SchedulerParameters
from joulewise.study.spec.source import SYSTEM, Draw, Section, Source
from joulewise.worlds.frames import read_table
from joulewise.worlds.jobs.cluster_tables import ClusterTables, read_clusters
from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin
from joulewise.worlds.jobs.node_outages import NodeOutageParameters
from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.site_file import read_site
from joulewise.worlds.jobs.tables import JobTable, check_jobs_table, read_jobs
from joulewise.worlds.jobs.traces import TraceParameters, load_trace
from joulewise.worlds.outages import failure_problems

if TYPE_CHECKING:
    from joulewise.model.clusters import ClusterSystem
    from joulewise.model.jobs import Jobs
    from joulewise.policies.jobs.policy import JobPolicy
    from joulewise.simulate.jobs.scheduler import Scheduler
    from joulewise.worlds.jobs.traces import Trace

SCHEDULER = "scheduler"
CLUSTERS, CLUSTER_TABLES, SITE, AS_LOGGED = "clusters", "cluster tables", "site", "as-logged"
PARALLEL_DAY, LUBLIN, TRACE, JOB_TABLE = "parallel-day", "lublin", "trace", "job table"

_LINE_BYTES, _PACKED_LINE_BYTES = 70, 13


@dataclass(frozen=True, kw_only=True)
class LoggedParameters(NodeOutageParameters):
    """The machine that a trace is of, as its log describes it."""

    def __post_init__(self) -> None:
        raise_if_any(failure_problems(self))


@dataclass(frozen=True, kw_only=True)
class SiteParameters(NodeOutageParameters):
    """A site of which a file tells; its jobs come from a log."""

    site: str = field(metadata={"help": "file of the site: its nodes, partitions and licences", "file": True})

    def __post_init__(self) -> None:
        raise_if_any(failure_problems(self))


def _fails(parameters: NodeOutageParameters) -> bool:
    return parameters.mtbf_s is not None or parameters.outages is not None


def _generated_clusters(parameters: ClusterParameters, draw: Draw) -> ClusterSystem:
    return generate_clusters(parameters, draw.seed, draw.trial)


def _tabled_clusters(tables: ClusterTables, draw: Draw) -> ClusterSystem:
    return read_clusters(tables, draw.folder)


def _described_site(parameters: SiteParameters, draw: Draw) -> SiteTables:
    return read_site(parameters.site, draw.folder)


def _as_logged(_parameters: LoggedParameters, _draw: Draw) -> None:
    """Nothing yet: the log says it."""


def _parallel_day(
    parameters: ParallelDayParameters, system: ClusterSystem | SiteTables | None, draw: Draw
) -> tuple[ClusterSystem, Jobs]:
    found = _given(system, PARALLEL_DAY)
    return found, generate_parallel_day(parameters, found, draw.seed, draw.trial)


def _lublin(
    parameters: LublinParameters, system: ClusterSystem | SiteTables | None, draw: Draw
) -> tuple[ClusterSystem, Jobs]:
    return generate_lublin(parameters, _given(system, LUBLIN), draw.seed, draw.trial)


def _tabled_jobs(table: JobTable, system: ClusterSystem | SiteTables | None, draw: Draw) -> tuple[ClusterSystem, Jobs]:
    return read_jobs(table, _given(system, JOB_TABLE), draw.folder)


def _trace(parameters: TraceParameters, system: ClusterSystem | SiteTables | None, draw: Draw) -> Trace:
    return load_trace(parameters, system, draw.folder, draw.seed, draw.trial)


def _is_resampled(parameters: TraceParameters) -> bool:
    return parameters.resample_s is not None


def _given(system: ClusterSystem | SiteTables | None, workload: str) -> ClusterSystem:
    """The clusters; InputError where only a log could tell what they are, or what its jobs ask of a site."""
    if isinstance(system, SiteTables):
        found, allowed = (
            f"found a site for the workload {workload!r}",
            "only the jobs of a log say what they ask of one",
        )
        raise InputError(Problem("system.site", found, allowed, 'give trace = "jobs.parquet" in [workload]'))
    if system is None:
        found = f"found none, or {AS_LOGGED!r}, for the workload {workload!r}"
        advice = f'give generator = "{CLUSTERS}", or clusters = "clusters.csv"'
        raise InputError(Problem("system", found, "only a trace comes with a machine of its own", advice))
    return system


def _lines(parameters: TraceParameters, draw: Draw) -> float:
    """About how many jobs a log has, by its size where it does not say."""
    path = draw.folder / parameters.trace
    if path.suffix == ".parquet":
        import polars as pl

        with reading_parquet(path) as table:
            return float(table.select(pl.len()).collect().item())
    return path.stat().st_size / (_PACKED_LINE_BYTES if path.suffix == ".gz" else _LINE_BYTES)


def _scheduler(parameters: SchedulerParameters, draw: Draw) -> Scheduler:
    return parameters.scheduler(job_policy_of(parameters.policy, draw.folder))


def job_policy_of(spec: str, folder: Path) -> JobPolicy:
    """The policy of a name; InputError when there is none."""
    from joulewise.policies.jobs.heuristic import find_job_policy

    return find_job_policy(spec, f"{SCHEDULER}.policy", folder)


JOB_SYSTEMS = (
    Source(
        CLUSTERS,
        "four general- and two special-purpose clusters of 100,000 cores, and 100 job types (Machovec IV.B)",
        ClusterParameters,
        _generated_clusters,
        is_random=lambda _: True,
    ),
    Source(
        CLUSTER_TABLES,
        "clusters, and times and powers of jobs by number of nodes, from your own files",
        ClusterTables,
        _tabled_clusters,
        is_random=_fails,
        table="clusters",
    ),
    Source(
        SITE,
        "nodes of several resources that jobs share, in partitions, from the file of a site",
        SiteParameters,
        _described_site,
        is_random=_fails,
        table="site",
    ),
    Source(
        AS_LOGGED,
        "the machine of a trace, as its log describes it; also what is meant where [system] is left out",
        LoggedParameters,
        _as_logged,
        is_random=_fails,
    ),
)

JOB_WORKLOADS = (
    Source(
        PARALLEL_DAY,
        "a day of parallel jobs, large ones in work hours, worth less the later they end (Machovec IV.B)",
        ParallelDayParameters,
        _parallel_day,
        is_random=lambda _: True,
        n_tasks=lambda day, _: day.n_jobs,
    ),
    Source(
        LUBLIN,
        "rigid parallel jobs like those of the logs of the 1990s, with a daily cycle (Lublin and Feitelson)",
        LublinParameters,
        _lublin,
        is_random=lambda _: True,
        n_tasks=lambda jobs, _: jobs.n_jobs,
    ),
    Source(
        JOB_TABLE,
        "parallel jobs from your own file",
        JobTable,
        _tabled_jobs,
        check=lambda table, draw: check_jobs_table(table, draw.folder),
        n_tasks=lambda table, draw: read_table(table.jobs, draw.folder).frame.height,
        table="jobs",
    ),
    Source(
        TRACE,
        "the jobs of a real log: SWF, or what `joulewise import` made",
        TraceParameters,
        _trace,
        is_random=_is_resampled,
        resamples=_is_resampled,
        n_tasks=_lines,
        table="trace",
    ),
)

SCHEDULER_SECTION = Section(
    SCHEDULER, "the decisions over time, for parallel jobs on clusters", decides=True, spares=(SYSTEM,)
)
SCHEDULER_SOURCE = Source(SCHEDULER, "how parallel jobs get their nodes", SchedulerParameters, _scheduler)
