"""Detail tables of one run of parallel jobs: a row for each job, use over time, users, queues, clusters and types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.model.jobs import NO_PIECES, Fate, JobAllocation, Pieces
from joulewise.model.site import LAST, Places
from joulewise.study.jobs.agreement import agreement, waits
from joulewise.study.jobs.names import names_of
from joulewise.study.jobs.worlds import Scene
from joulewise.study.spec.column import (
    CLUSTERS,
    FINDINGS,
    JOB_TRACES,
    JOB_TYPES,
    JOBS,
    LOGGED,
    PIECES,
    PLACES,
    QUEUES,
    USERS,
    WAITS,
)
from joulewise.study.store.store import Tables

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Floats
    from joulewise.model.jobs import JobWorld
    from joulewise.model.site import Site
    from joulewise.worlds.jobs.traces import Trace

STEP_S = 60.0
MAX_STEPS = 2880
"""A trace of use has a step for each minute, or fewer on windows longer than two days."""

_FATES = tuple(fate.name.lower() for fate in Fate)
_WITH_NODES = (
    "option", "cluster", "pstate", "nodes", "cores", "planned_s", "true_s", "start_s", "end_s", "wait_s",
    "bounded_slowdown", "utility", "energy_j",
)  # fmt: skip
"""What only a job with nodes has."""


def tables(scene: Scene, allocation: JobAllocation) -> Tables:
    """Every detail table of a run."""
    world = scene.world
    found = {JOBS: jobs(scene, allocation), JOB_TRACES: use(world, allocation), CLUSTERS: clusters(world, allocation)}
    for table, label in ((USERS, "user"), (QUEUES, "queue")):
        if label in world.jobs.labels:
            found[table] = summary(world, allocation, label)
    both = waits(scene, allocation)
    if both is not None:
        found |= {LOGGED: agreement(both), WAITS: both}
    if scene.traits is not None:
        found[JOB_TYPES] = job_types(scene)
    if scene.trace is not None and scene.trace.findings:
        found[FINDINGS] = findings(scene.trace)
    if allocation.pieces.job.size:
        found[PIECES] = pieces(scene, allocation)
    if world.site is not None and allocation.places is not None and allocation.places.job.size:
        found[PLACES] = places(scene, allocation.places, world.site)
    return found


def jobs(scene: Scene, allocation: JobAllocation) -> pl.DataFrame:
    """One row per job in order of arrival; what a job never had is null."""
    import polars as pl

    from joulewise.simulate.jobs.measures import earned_utility, job_times, used_energy_j

    world, used = scene.world, allocation.used
    work, types = world.jobs.work, world.types
    option = np.where(used, allocation.option, 0)
    times = job_times(world, allocation)
    nodes = _chosen(types.nodes, option)
    cluster = _chosen(types.cluster, option)
    columns: dict[str, Any] = {
        "job": np.arange(world.n_jobs, dtype=np.int32),
        **({} if scene.trace is None else {"job_id": scene.trace.job_id}),
        **({"job_type": names_of(types.names, work.task_type)} if types.names else {}),
        **{name: names_of(label.names, label.codes) for name, label in world.jobs.labels.items()},
        **{name: names_of(tag.names, tag.codes) for name, tag in work.tags.items()},
        "arrival_s": work.arrival_s,
        "ready_s": allocation.ready_s,
        "fate": names_of(_FATES, allocation.fate),
        "option": option,
        "cluster": names_of(world.clusters.names, cluster),
        "pstate": _chosen(types.pstate, option),
        "nodes": nodes,
        "cores": nodes * world.clusters.cores_per_node[cluster],
        "planned_s": _chosen(types.planned_s, option),
        "true_s": _chosen(types.time_s, option),
        **({} if scene.trace is None else {"requested_s": scene.trace.requested_s}),
        "start_s": allocation.start_s,
        "end_s": allocation.end_s,
        "wait_s": times.wait_s,
        "bounded_slowdown": times.bounded_slowdown,
        "starting_utility": work.scale,
        "utility": earned_utility(world, allocation),
        "energy_j": used_energy_j(world, allocation),
    }
    table = pl.DataFrame(columns).with_columns(
        pl.when(pl.Series(used)).then(pl.col(name)).alias(name) for name in _WITH_NODES
    )
    return _without_nan(table)


def _chosen(column: Any, option: Any) -> Any:
    """What the options say; 0 where there are none at all."""
    return column[option] if column.size else np.zeros(option.size, column.dtype)


def pieces(scene: Scene, allocation: JobAllocation) -> pl.DataFrame:
    """One row per stretch of running that did not complete its job."""
    import polars as pl

    world, found = scene.world, allocation.pieces
    types = world.types
    return pl.DataFrame(
        {
            "job": found.job,
            **({} if scene.trace is None else {"job_id": scene.trace.job_id[found.job]}),
            **({"job_type": names_of(types.names, world.jobs.work.task_type[found.job])} if types.names else {}),
            "option": found.option,
            "cluster": names_of(world.clusters.names, types.cluster[found.option]),
            "pstate": types.pstate[found.option],
            "nodes": types.nodes[found.option],
            "start_s": found.start_s,
            "end_s": found.end_s,
            "is_lost": found.is_lost,
        }
    )


def places(scene: Scene, places: Places, site: Site) -> pl.DataFrame:
    """One row per piece of a job on a node of a site, or on nodes of a group that are only counted."""
    import polars as pl

    demands = scene.world.jobs.demands
    assert demands is not None
    node, stretch = pl.Series(places.node), pl.Series(places.stretch_of)
    return pl.DataFrame(
        {
            "job": places.job,
            **({} if scene.trace is None else {"job_id": scene.trace.job_id[places.job]}),
            "partition": names_of(site.partitions, demands.partition[demands.of_job[places.job]]),
            "group": names_of(site.groups, places.group),
            "node": node.set(node < 0, None),
            "pieces": places.pieces,
            **({} if places.stretch is None else {"stretch": stretch.set(stretch < 0, None)}),
        }
    )


def allocation_of(world: JobWorld, tables: Tables) -> JobAllocation:
    """The allocation that the tables of a run describe."""
    table = tables[JOBS]
    codes = {name: code for code, name in enumerate(_FATES)}
    fate = table["fate"].cast(str).replace_strict(codes).to_numpy()
    start_s, end_s = (table[name].fill_null(math.nan).to_numpy() for name in ("start_s", "end_s"))
    ready_s = table["ready_s"].fill_null(math.inf).to_numpy()
    option = table["option"].fill_null(-1).to_numpy()
    return JobAllocation(option, start_s, end_s, ready_s, fate, _pieces_of(tables), _places_of(world.site, tables))


def _pieces_of(tables: Tables) -> Pieces:
    cut = tables.get(PIECES)
    names = ("job", "option", "start_s", "end_s", "is_lost")
    return NO_PIECES if cut is None else Pieces(**{name: cut[name].to_numpy() for name in names})


def _places_of(site: Site | None, tables: Tables) -> Places | None:
    """Where jobs ran; a site without a table had no job that did."""
    if site is None:
        return None
    told = tables.get(PLACES)
    if told is None:
        none = np.empty(0, np.int32)
        return Places(none, none, none, none.astype(np.int64))
    groups = {name: code for code, name in enumerate(site.groups)}
    group = told["group"].cast(str).replace_strict(groups, default=-1).to_numpy()
    node, stretch = told["node"].fill_null(-1).to_numpy(), told.get_column("stretch", default=None)
    before = None if stretch is None else stretch.fill_null(LAST).to_numpy()
    return Places(told["job"].to_numpy(), group, node, told["pieces"].to_numpy(), before)


def use(world: JobWorld, allocation: JobAllocation) -> pl.DataFrame:
    """Nodes, jobs and power step by step, means over the steps of the counted window."""
    import polars as pl

    from joulewise.simulate.jobs.measures import all_draws, earned_utility, queue_steps, steps, window_end_s
    from joulewise.simulate.jobs.power import has_power, stretches
    from joulewise.simulate.meter import budget_until_j, mean_cap_w

    work, runs = world.jobs.work, stretches(allocation)
    last_s = window_end_s(world, allocation)
    n_steps = int(np.clip(math.ceil((last_s - work.start_s) / STEP_S), 1, MAX_STEPS))
    edge_s = np.linspace(work.start_s, last_s, n_steps + 1)
    nodes = world.types.nodes[runs.option].astype(float)
    cores = nodes * world.clusters.cores_per_node[world.types.cluster[runs.option]].astype(float)

    def mean(totals: Floats) -> Floats:
        return np.asarray(np.diff(totals) / np.maximum(np.diff(edge_s), np.finfo(float).tiny))

    energy_j = np.full(edge_s.size, math.nan)
    if has_power(world):
        energy_j = all_draws(world, allocation).energy_until_j(edge_s)
    ran = np.flatnonzero(allocation.ran)
    columns = {
        "at_s": edge_s[:-1],
        "step_s": np.diff(edge_s),
        "nodes_busy": mean(steps(runs.start_s, runs.end_s, nodes).total_until(edge_s)),
        "busy_percent": mean(steps(runs.start_s, runs.end_s, cores).total_until(edge_s)) * 100 / world.clusters.n_cores,
        "running_jobs": mean(steps(runs.start_s, runs.end_s).total_until(edge_s)),
        "queue_length": mean(queue_steps(world, allocation).total_until(edge_s)),
        "power_w": mean(energy_j),
        **({} if world.supply.cap_w is None else {"power_cap_w": mean_cap_w(world.supply.cap_w, edge_s)}),
        "utility_cumulative": _summed(
            np.minimum(allocation.end_s[ran], last_s), earned_utility(world, allocation)[ran], edge_s[1:]
        ),
        "energy_cumulative_j": energy_j[1:],
        "budget_cumulative_j": budget_until_j(world.supply, work, edge_s[1:], last_s),
    }
    numbers = pl.DataFrame(columns)
    return numbers.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))


def _summed(at_s: Floats, values: Floats, until_s: Floats) -> Floats:
    """The sum of what came up to each of these instants."""
    order = np.argsort(at_s, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(values[order])))
    return np.asarray(total[np.searchsorted(at_s[order], until_s, side="right")])


def summary(world: JobWorld, allocation: JobAllocation, label: str) -> pl.DataFrame:
    """One row per user, or per queue."""
    import polars as pl

    from joulewise.simulate.jobs.measures import by_label

    columns = pl.DataFrame(by_label(world, allocation, label), schema_overrides={label: pl.String})
    return _without_nan(columns)


def clusters(world: JobWorld, allocation: JobAllocation) -> pl.DataFrame:
    """One row per cluster."""
    import polars as pl

    from joulewise.simulate.jobs.measures import cluster_seconds, window_end_s

    found, work = world.clusters, world.jobs.work
    length_s = max(window_end_s(world, allocation) - work.start_s, np.finfo(float).tiny)
    return pl.DataFrame(
        {
            "cluster": found.names,
            "n_nodes": found.n_nodes,
            "cores_per_node": found.cores_per_node,
            "busy_percent": 100 * cluster_seconds(world, allocation) / (found.n_nodes * length_s),
        }
    )


def job_types(scene: Scene) -> pl.DataFrame:
    """One row per job type of which a generator knows more."""
    import polars as pl

    from joulewise.worlds.utilities import PRIORITIES, URGENCIES

    traits, types = scene.traits, scene.world.types
    assert traits is not None
    return pl.DataFrame(
        {
            "job_type": types.names,
            "starting_utility": traits.utility,
            "priority": names_of(PRIORITIES, traits.priority),
            "urgency": names_of(URGENCIES, traits.urgency),
            "cores": traits.cores,
            "single_s": traits.single_s,
        }
    )


def findings(trace: Trace) -> pl.DataFrame:
    """One row per thing that is odd in a log."""
    import polars as pl

    return pl.DataFrame([found._asdict() for found in trace.findings])


def _without_nan(table: pl.DataFrame) -> pl.DataFrame:
    """Missing is null in files."""
    import polars as pl
    import polars.selectors as cs

    return table.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
