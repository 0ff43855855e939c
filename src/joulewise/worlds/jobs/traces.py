"""Worlds of real jobs: what a log says about them, on its own machine or on clusters that a study describes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import InputError, Problem, as_written, raise_if_any
from joulewise.model import Workload
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.clusters import Clusters, ClusterSystem, JobTypes
from joulewise.model.jobs import Jobs
from joulewise.model.site import Site
from joulewise.model.site_power import least_w
from joulewise.model.supply import DAY_S
from joulewise.units import count, noun
from joulewise.worlds.clock import ZONES, Clock, zone_named
from joulewise.worlds.jobs.logged_conditions import LoggedConditions
from joulewise.worlds.jobs.logs import LogAbout
from joulewise.worlds.jobs.resample import LOGGED_TRIAL, Blocks
from joulewise.worlds.jobs.ruled import RuledJobs
from joulewise.worlds.jobs.rules import Rule, read_rules
from joulewise.worlds.jobs.sites.arrays import with_array_limits
from joulewise.worlds.jobs.sites.demands import demands_on
from joulewise.worlds.jobs.sites.ground import clusters_of, few, not_replayed, site_of, with_partitions
from joulewise.worlds.jobs.sites.hours import Calendar
from joulewise.worlds.jobs.sites.parts import parts_that_fit
from joulewise.worlds.jobs.sites.reservations import kept_nodes
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.usual_times import usual_times
from joulewise.worlds.jobs.trace_clock import clock_of_log, with_zone
from joulewise.worlds.jobs.trace_files import TraceTable, read_trace_table
from joulewise.worlds.jobs.trace_jobs import (
    COLUMNS,
    TOLD_OF_SITES,
    TraceConventions,
    TraceFinding,
    TraceJobs,
    convention_problems,
    findings_of_reading,
    jobs_to_replay,
    labels_of,
    processors_of,
)
from joulewise.worlds.parameters import broken_rules, explained, is_positive

_ONE_MACHINE = "machine"
_ROUNDING = 1e-12
_TOO_LARGE = "jobs that no cluster allowed to them is large enough for"


@dataclass(frozen=True, kw_only=True)
class TraceParameters(TraceConventions):
    """The log, how it is read, and the machine on which its jobs are replayed where the study has no clusters.

    Raises InputError with every problem found; the log itself is checked when it is read.
    """

    trace: str = field(
        metadata={"help": "log of jobs: what `joulewise import` made of one, or SWF or sacct itself", "file": True}
    )
    unit: Literal["processor", "node"] = explained(
        "processor", "what jobs get on the log's own machine: processors, or whole nodes"
    )
    machine_processors: int | None = explained(None, "processors of the log's own machine, in place of what it says")
    machine_nodes: int | None = explained(None, "nodes of the log's own machine, in place of what it says")
    rules: str | None = explained(
        None,
        "file of rules that give jobs their worth, power, speed and clusters; those that come with the package give "
        "what it does not",
        file=True,
    )
    pstates: int = explained(1, "number of P-states, the first ones of power_fractions")
    power_fractions: tuple[float, ...] = explained(
        (1.0, 0.75, 0.5), "power in each P-state relative to P-state 0; jobs take 1 / sqrt(fraction) as long"
    )
    start_s: float = explained(0.0, "completions after this instant count")
    end_s: float | None = explained(None, "completions up to this instant count; there is no end if left out")
    prorated: bool = explained(False, "runs count by the share of them in the counted window")
    timezone: str | None = explained(
        None,
        'where the log is from, such as "Europe/Berlin": of its times, if they are local, and of instants of tables '
        "without a zone; left out: as the log says",
        late=True,
    )
    resample_s: float | None = explained(
        None,
        'blocks of so many whole days, such as "7 d", that trials draw from the log with replacement and set behind '
        "each other; the first trial is the log itself. Blocks of whole weeks keep weekdays. Left out: there is one "
        "trial, the log",
        late=True,
    )

    def __post_init__(self) -> None:
        raise_if_any((*convention_problems(self), *_problems(self)))


class Trace(NamedTuple):
    """A trace as a world: its system and jobs, what the log tells of each job, and what was odd.

    Of a site it has that as well. What the log tells of waits and runs counts from when jobs come, by the conventions;
    a wait that is not known is NaN. Where jobs come before they could start, `logged_eligible_s` is how long before.
    `blocks` are those of which resamples of the log are made, where there are any; of such, jobs never happened as a
    resample has them.
    """

    system: ClusterSystem
    jobs: Jobs
    job_id: pl.Series
    requested_s: Floats
    cores: Counts
    about: LogAbout
    findings: tuple[TraceFinding, ...]
    clock: Clock
    logged_wait_s: Floats
    logged_run_s: Floats
    logged_eligible_s: Floats
    site: Site | None = None
    blocks: Blocks | None = None
    is_resample: bool = False


def read_trace(
    parameters: TraceParameters,
    system: ClusterSystem | SiteTables | None = None,
    folder: Path = Path(),
    seed: int = 0,
    trial: int = LOGGED_TRIAL,
) -> tuple[ClusterSystem, Jobs]:
    """The jobs of a trace with a type for each, on the given clusters or else on the log's own machine.

    Where the log is resampled, all trials but the first draw blocks of it, by the seed. InputError says what is wrong
    with the log, or that the size of its machine is not known.
    """
    trace = load_trace(parameters, system, folder, seed, trial)
    return trace.system, trace.jobs


def load_trace(
    p: TraceParameters,
    system: ClusterSystem | SiteTables | None = None,
    folder: Path = Path(),
    seed: int = 0,
    trial: int = LOGGED_TRIAL,
) -> Trace:
    """What `read_trace` gives, with what the log calls its jobs and everything that was odd in it."""
    return replayed(read_trace_table(p.trace, folder, COLUMNS), p, read_rules(p.rules, folder), system, seed, trial)


def replayed(
    table: TraceTable,
    p: TraceParameters,
    rules: tuple[Rule, ...],
    system: ClusterSystem | SiteTables | None = None,
    seed: int = 0,
    trial: int = LOGGED_TRIAL,
) -> Trace:
    """The jobs of a log that has been read, as `load_trace` gives them, with these rules for those of its file."""
    findings = findings_of_reading(table)
    zone = None if p.timezone is None else zone_named(p.timezone)
    if zone is not None:
        table, put_right = with_zone(table, zone)
        findings += put_right
    tables = with_partitions(system) if isinstance(system, SiteTables) else None
    jobs, more = jobs_to_replay(table, p, None if tables is None else usual_times(tables))
    table = replace(table, jobs=table.jobs.clear())  # two copies of a long log would be in memory
    if jobs is None:
        raise _nothing_left(p, findings + more)
    clock = clock_of_log(table.about, jobs.log["submit_s"][0], zone)
    blocks = None if p.resample_s is None else Blocks.of(jobs.end_s, p.resample_s)
    is_resample = blocks is not None and trial != LOGGED_TRIAL
    if blocks is not None and is_resample:
        jobs = blocks.resampled(jobs, blocks.drawn(seed, trial))
    if system is not None:
        raise_if_any(_spare(p))
    if blocks is not None and tables is not None:
        raise_if_any(_reserved_for_some(tables))
    findings += more if tables is None else [finding for finding in more if finding.key not in TOLD_OF_SITES]
    site, calendar = None, None
    if tables is not None:
        calendar = Calendar.of(tables, clock, float(jobs.submit_s[-1]))
        site = replace(site_of(tables, clock, kept_nodes(tables, clock, findings)), hours=calendar.hours())
    clusters = _clusters(p, table, jobs, system)
    ruled = RuledJobs.of(jobs, clusters, rules)
    findings += ruled.findings
    waits = None if p.dependencies == "ignore" else LoggedConditions(jobs, table.source, has_site=site is not None)
    fits, demands = np.ones(jobs.cores.size, np.bool_), None
    if tables is not None and site is not None:
        demands = demands_on(tables, site, jobs, processors_of(table.about, p), findings, calendar)
        findings += not_replayed(tables)
        if waits is not None:
            demands = replace(demands, limits=with_array_limits(demands.limits, jobs.log))
        together = None if waits is None else waits.together
        fits = demands.can_start(site) if together is None else parts_that_fit(site, demands, together, findings)
    types = _types(ruled, np.array(p.power_fractions[: p.pstates]), fits)
    if site is not None and site.power is not None and demands is not None:
        types = _with_powers(types, least_w(site, demands)[demands.of_job], ruled)
    fits = np.diff(types.first) > 0
    if not fits.all():
        largest, n = int(jobs.cores[~fits].max()), int((~fits).sum())
        what = "jobs that no nodes allowed to them have room for" if tables else _TOO_LARGE
        reason = f"{what} (the largest needs {largest:,} processors)"
        findings.append(TraceFinding("too large", n, reason, "reported as impossible, they never start", "lost"))
    conditions = (
        None if waits is None else waits.conditions(fits, findings, None if demands is None else demands.giving)
    )
    made = Jobs(_work(ruled, p), conditions, labels_of(jobs.log), demands)
    replayed = ClusterSystem(clusters, types)
    told = (jobs.log["job_id"], jobs.requested_s, jobs.cores, table.about, tuple(findings), clock)
    return Trace(replayed, made, *told, *_logged(jobs, p), site, blocks, is_resample)


def _logged(jobs: TraceJobs, p: TraceParameters) -> tuple[Floats, Floats, Floats]:
    """How long each job waited and ran, and how long it could not start after it had come, as the log has it."""
    wait_s = jobs.log["wait_s"].cast(pl.Float64).fill_null(math.nan).to_numpy()
    late_s = jobs.log["eligible_s"].cast(pl.Float64).fill_null(0.0).clip(0.0).to_numpy()
    return wait_s, jobs.run_s, late_s if p.arrival == "submission" else np.zeros(late_s.size)


def _clusters(
    p: TraceParameters, table: TraceTable, jobs: TraceJobs, system: ClusterSystem | SiteTables | None
) -> Clusters:
    """The clusters that jobs come to; those of a site are one, of its processors."""
    if isinstance(system, SiteTables):
        return clusters_of(system)
    return own_machine(p, table, jobs) if system is None else system.clusters


def own_machine(p: TraceParameters, table: TraceTable, jobs: TraceJobs) -> Clusters:
    """The machine that a log is of, as one cluster; InputError where its size is not known."""
    cores = p.machine_processors or table.about.cores
    nodes = p.machine_nodes or table.about.nodes
    if p.unit == "processor":
        n_nodes, per_node = cores or nodes, 1
    else:
        n_nodes, per_node = nodes, (cores or 0) // (nodes or 1)
    if not n_nodes or not per_node:
        raise _no_size(p, table, jobs, {"nodes": nodes, "processors": cores})
    if p.unit == "node" and n_nodes * per_node != cores:
        found = f"found {cores:,} processors on {n_nodes:,} nodes, so that nodes differ"
        advice = 'describe the clusters in [system], or use unit = "processor"'
        raise InputError(Problem(table.source, found, "nodes of one cluster are alike", advice))
    return Clusters((_ONE_MACHINE,), np.array([n_nodes]), np.array([per_node]), np.array([1]))


def _problems(p: TraceParameters) -> Iterator[Problem]:
    at_least_1 = "must be 1 or more"
    fractions = p.power_fractions
    rules = (
        ("pstates", 1 <= p.pstates <= len(fractions), f"must be from 1 to {len(fractions)}"),
        (
            "power_fractions",
            is_positive(*fractions) and fractions[:1] == (1.0,) and list(fractions) == sorted(fractions, reverse=True),
            "must start with 1 and fall, each above 0",
        ),
        ("machine_processors", p.machine_processors is None or p.machine_processors >= 1, at_least_1),
        ("machine_nodes", p.machine_nodes is None or p.machine_nodes >= 1, at_least_1),
        ("timezone", p.timezone is None or zone_named(p.timezone) is not None, ZONES),
        ("start_s", 0 <= p.start_s < math.inf, "must be 0 s or later"),
        ("end_s", p.end_s is None or p.end_s > p.start_s, f"must be after the start, {p.start_s:g} s"),
        (
            "resample_s",
            p.resample_s is None or (0 < p.resample_s < math.inf and p.resample_s % DAY_S == 0),
            'must be whole days, 1 or more, such as "7 d"',
        ),
    )
    yield from broken_rules("workload", p, rules)


def _spare(p: TraceParameters) -> Iterator[Problem]:
    """What would say how large the log's own machine is, where jobs come to other clusters."""
    for name, usual in (("unit", "processor"), ("machine_processors", None), ("machine_nodes", None)):
        if getattr(p, name) != usual:
            allowed = "is for the log's own machine, and the study has clusters"
            yield Problem(f"workload.{name}", f"found {as_written(getattr(p, name))}", allowed, "leave one of them out")


def _reserved_for_some(tables: SiteTables) -> Iterator[Problem]:
    """Reservations at their instants, where blocks bring their jobs on other days: these would wait without end."""
    names = [each.name for each in tables.reservations if each.users or each.accounts]
    if names:
        found = f"found reservations for users or accounts ({few(names)}), and a log that is resampled"
        allowed = "their jobs would come on other days, and wait for what is over"
        yield Problem("workload.resample", found, allowed, "take them out of the file of the site, or leave it out")


def _nothing_left(p: TraceParameters, findings: list[TraceFinding]) -> InputError:
    why = "; ".join(f"{found.reason}: {found.n:,}, {found.done}" for found in findings)
    advice = 'choose an earlier from, a longer span, or other conventions, such as no_run_time = "one-second"'
    return InputError(Problem(p.trace, f"no job is left to replay ({why or 'none in the span'})", advice=advice))


def _no_size(p: TraceParameters, table: TraceTable, jobs: TraceJobs, sizes: dict[str, int | None]) -> InputError:
    needed = ("processors",) if p.unit == "processor" else tuple(sizes)
    missing = [what for what in needed if not sizes[what]]
    largest = f"its largest job has {count(int(jobs.cores.max()), 'processor')}"
    found = f"does not say how many {' and '.join(missing)} its machine has; {largest}"
    advice = f"give {' and '.join(f'workload.machine_{what}' for what in missing)}, or describe clusters in [system]"
    return InputError(Problem(table.source, found, advice=advice))


def _types(ruled: RuledJobs, fractions: Floats, may_start: Bools) -> JobTypes:
    """A type for each job, with an option for each cluster that it may use and each P-state."""
    jobs, clusters = ruled.jobs, ruled.clusters
    every = range(clusters.n_clusters)
    nodes = -(-jobs.cores[:, None] // clusters.cores_per_node)
    fits = (nodes <= clusters.n_nodes) & ruled.may_run() & may_start[:, None]
    speed = np.stack([ruled.speed(cluster) for cluster in every], axis=1)
    power_w = np.stack([ruled.power_w(cluster, nodes[:, cluster]) for cluster in every], axis=1)
    job, cluster, pstate = np.nonzero(np.broadcast_to(fits[:, :, None], (*fits.shape, fractions.size)))
    pace = speed[job, cluster] * np.sqrt(fractions[pstate])
    return JobTypes(
        (),
        np.concatenate(([0], np.cumsum(fits.sum(axis=1) * fractions.size))),
        cluster.astype(np.int32),
        pstate.astype(np.int8),
        nodes[job, cluster].astype(np.int32),
        _whole_s(jobs.run_s[job] / pace),
        _whole_s(jobs.planned_s[job] / pace),
        power_w[job, cluster] * fractions[pstate],
        _whole_s(jobs.requested_s[job] / pace),
    )


def _with_powers(types: JobTypes, power_w: Floats, ruled: RuledJobs) -> JobTypes:
    """Types of jobs on a site that knows what its nodes draw, which goes before the rules of the package."""
    if named := ruled.of_power:
        found = f"found powers of nodes, and what jobs draw in the {noun(len(named), 'rule')} {', '.join(named)}"
        advice = "leave the powers out of the site, or out of the rules"
        raise InputError(Problem("system.site", found, "one of them must say it", advice))
    return replace(types, power_w=power_w[types.of_option])


def _whole_s(length_s: Floats) -> Floats:
    """Lengths in whole seconds, rounded up; what rounding alone has put above a whole second is not."""
    return np.asarray(np.ceil(length_s * (1 - _ROUNDING)))


def _work(ruled: RuledJobs, p: TraceParameters) -> Workload:
    worth, submit_s = ruled.worth(), ruled.jobs.submit_s
    return Workload(
        submit_s,
        np.arange(submit_s.size, dtype=np.int32),
        worth.shape,
        worth.scale,
        worth.hold_s,
        worth.shapes,
        p.start_s,
        math.inf if p.end_s is None else p.end_s,
        worth.tags,
        is_prorated=p.prorated,
    )
