"""How clusters, jobs, worlds and outcomes of parallel jobs show themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.looks.arrivals import arrival_pictures
from joulewise.looks.look import Facts, Look, counted, known, of_one, percent, table_of, whole
from joulewise.units import count, duration, energy, power

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.model.clusters import Clusters, ClusterSystem, JobTypes
    from joulewise.model.conditions import Conditions
    from joulewise.model.jobs import JobAllocation, Jobs, JobWorld
    from joulewise.optimise.jobs.bound import JobBound
    from joulewise.simulate.jobs.run import JobOutcome
    from joulewise.study.store.store import Tables


def _cluster_facts(clusters: Clusters) -> Facts:
    return {
        "clusters": f"{clusters.n_clusters:,}",
        "nodes": f"{int(clusters.n_nodes.sum()):,}",
        "cores": f"{clusters.n_cores:,}",
        "idle power": "" if clusters.standby is None else power(float(clusters.n_nodes @ clusters.standby.idle_w)),
    }


def _cluster_tables(clusters: Clusters) -> Tables:
    import polars as pl

    names = ("n_nodes", "cores_per_node", "processors_per_node")
    standby = {} if clusters.standby is None else vars(clusters.standby)
    columns = {name: getattr(clusters, name) for name in names}
    return {"clusters": pl.DataFrame({"cluster": clusters.names, **columns, **standby})}


def _type_facts(types: JobTypes) -> Facts:
    return {
        "job types": f"{types.n_types:,}",
        "options": f"{types.n_options:,}",
        "P-states": f"{types.n_pstates}" if types.n_options else "",
    }


def _type_tables(types: JobTypes) -> Tables:
    import polars as pl

    kind = types.of_option
    names = ("cluster", "pstate", "nodes", "time_s", "planned_s", "power_w")
    columns: dict[str, Any] = {name: getattr(types, name) for name in names}
    return {"options": pl.DataFrame({"job_type": np.take(types.names, kind) if types.names else kind, **columns})}


def _system_facts(system: ClusterSystem) -> Facts:
    return {**_cluster_facts(system.clusters), **_type_facts(system.types)}


def _system_tables(system: ClusterSystem) -> Tables:
    return {**_cluster_tables(system.clusters), **_type_tables(system.types)}


def _job_facts(jobs: Jobs) -> Facts:
    arrival_s = jobs.work.arrival_s
    labels = {f"{name}s": f"{len(label.names):,}" for name, label in jobs.labels.items()}
    return {"jobs": f"{jobs.n_jobs:,}", "arrive in": duration(float(arrival_s[-1] - arrival_s[0])), **labels}


def _jobs_tables(jobs: Jobs) -> Tables:
    import polars as pl

    from joulewise.study.jobs.names import names_of

    labels = {name: names_of(label.names, label.codes) for name, label in jobs.labels.items()}
    return {"jobs": pl.DataFrame({**jobs.work.columns, **labels}), **_condition_tables(jobs.conditions)}


def _condition_tables(conditions: Conditions | None) -> Tables:
    """What jobs wait for, a row for each thing."""
    import polars as pl

    from joulewise.model.conditions import Kind

    if conditions is None:
        return {}
    words = [Kind(kind).name.casefold() for kind in conditions.kind.tolist()]
    columns = {"job": conditions.job, "on": conditions.on, "kind": words, "delay_s": conditions.delay_s}
    return {"conditions": pl.DataFrame(columns)}


def _jobs_pictures(jobs: Jobs) -> Pictures:
    return arrival_pictures(jobs.work, "job")


def _world_facts(world: JobWorld) -> Facts:
    supply, n_outages = world.supply, _n_outages(world)
    return {
        **_job_facts(world.jobs),
        **_cluster_facts(world.clusters),
        **_type_facts(world.types),
        "budget": known(energy, supply.budget_j),
        "power cap": "" if supply.cap_w is None else power(float(supply.cap_w.min())),
        "outages": f"{n_outages:,}" if n_outages else "",
    }


def _n_outages(world: JobWorld) -> int:
    """How often nodes are away: those of clusters or, on a site, what is kept for nobody and each node that fails."""
    site, demands = world.site, world.jobs.demands
    if site is None or demands is None:
        return world.outages.n_outages
    for_some = np.unique(demands.kept_of[demands.kept_of >= 0]).size
    return len(site.kept.names) - for_some + site.failures.n_failures


def _world_tables(world: JobWorld) -> Tables:
    return {**_cluster_tables(world.clusters), **_type_tables(world.types), **_jobs_tables(world.jobs)}


def _world_pictures(world: JobWorld) -> Pictures:
    return _jobs_pictures(world.jobs)


def _allocation_facts(allocation: JobAllocation) -> Facts:
    from joulewise.model.jobs import Fate

    return {"jobs": f"{allocation.fate.size:,}", **counted(allocation.fate, Fate)}


def _allocation_tables(allocation: JobAllocation) -> Tables:
    return {"jobs": table_of(allocation, "option", "start_s", "end_s", "ready_s", "fate")}


def _outcome_facts(outcome: JobOutcome) -> Facts:
    from joulewise.simulate.jobs.measures import job_measures

    found = job_measures(outcome.world, outcome.allocation)
    return {
        "jobs": f"{outcome.world.n_jobs:,}",
        "counted": f"{found['jobs_arrived']:,}",
        **{name: f"{found[f'jobs_{name}']:,}" for name in ("ran", "dropped", "waiting")},
        "cancelled": f"{found['jobs_cancelled']:,}" if found["jobs_cancelled"] else "",
        "utility": whole(found["utility"]),
        "mean wait": known(duration, found["mean_wait_s"]),
        "bounded slowdown": known(whole, found["mean_bounded_slowdown"]),
        "busy": known(percent, found["busy_percent"]),
        "energy": known(energy, found["energy_j"]),
    }


def _outcome_tables(outcome: JobOutcome) -> Tables:
    from joulewise.study.jobs.tables import tables
    from joulewise.study.jobs.worlds import Scene
    from joulewise.worlds.clock import NO_CLOCK

    return tables(Scene(outcome.world, None, None, NO_CLOCK), outcome.allocation)


def _outcome_pictures(named: Mapping[str, JobOutcome], bound: JobBound | None) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.optimise.jobs.bound import job_bound
    from joulewise.study.jobs.schedule import JobsKind, columns_of

    bounds = {name: bound or job_bound(each.world, "trivial") for name, each in named.items()}
    runs = {name: (columns_of(each, bounds[name].value), _outcome_tables(each)) for name, each in named.items()}
    return pictures_of(JobsKind(), runs, is_proven=bound is not None)


def _bound_facts(bound: JobBound) -> Facts:
    prices = bound.certificate
    told = f"prices of {count(prices.per_s.shape[0], 'cluster')}" if prices else "each job alone"
    return {"utility": f"{whole(bound.value)} at most", "proven by": told}


def _bound_tables(bound: JobBound) -> Tables:
    import polars as pl

    return {"bound": pl.DataFrame({"kind": [bound.kind], "utility": [bound.value], "preempts": [bound.preempts]})}


LOOKS = {
    "ClusterSystem": Look("Clusters and what runs on them", _system_facts, _system_tables),
    "Clusters": Look("Clusters of nodes", _cluster_facts, _cluster_tables),
    "JobTypes": Look("What jobs may choose", _type_facts, _type_tables),
    "Jobs": Look("Parallel jobs", _job_facts, _jobs_tables, of_one(_jobs_pictures)),
    "JobWorld": Look("A world of parallel jobs", _world_facts, _world_tables, of_one(_world_pictures)),
    "JobAllocation": Look("What became of jobs", _allocation_facts, _allocation_tables),
    "JobOutcome": Look(
        "What a scheduler did", _outcome_facts, _outcome_tables, _outcome_pictures, "clusters-over-time", "JobBound"
    ),
    "JobBound": Look("A proven bound", _bound_facts, _bound_tables),
}
