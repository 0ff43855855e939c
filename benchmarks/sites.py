"""Sites whose nodes jobs share: whole nodes as fast and as ever, and a large GPU cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks.cluster import first_jobs, trace_of, twin_jobs
from benchmarks.measure import Bar, Case, Subject, command_spent, seconds
from benchmarks.simulators import easy_of_accasim
from joulewise.model import UtilityShapes, Workload, constant
from joulewise.model.arrays import Counts, Floats
from joulewise.model.clusters import Clusters, JobTypes
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.model.shares import Priorities, ShareTree
from joulewise.model.site import Demands, Limits, Site, no_limits
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.twins.jobs import backfill as twins

EASY = Scheduler(JOB_POLICIES["easy"])
N_NODES = {"cpu": 310, "t4": 404, "g2": 549, "v100": 237}
CAPACITY = {"cpu": (96, 512, 0), "t4": (96, 384, 2), "g2": (96, 768, 8), "v100": (64, 512, 8)}
"""Nodes, and processors, GB and GPUs of each: 1,500 nodes, about like those of the cluster that Alibaba described."""

PEER_JOBS = 5_000
JOBS, LOAD, MEAN_S = 100_000, 1.0, 3_600.0
YEAR_JOBS, YEAR_LOAD, YEAR_MEAN_S, YEAR_PART = 275_000, 0.9, 36_000.0, 1 / 8
ACCOUNTS, USERS, MOST_OF_A_USER = 60, 600, 300
WEIGHTS = {"age": 1_000.0, "fair_share": 10_000.0, "size": 100.0, "partition": 500.0, "qos": 1_000.0}
_NODES = '[[nodes]]\nname = "{}"\ncount = {}\ncores = {}\nmemory = "{} GiB"\ngpus = {}\n'
_PARTITION = f'[[partition]]\nname = "batch"\nnodes = {list(N_NODES)}\n'
_COLUMNS = "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|AllocTRES|User|State"
_STUDY = """name = "flow"
[system]
site = "site.toml"
[workload]
trace = "log.txt"
[scheduler]
policy = "easy"
"""
KINDS = {
    (8, 16, 0, 1): 0.25, (32, 64, 0, 1): 0.05, (4, 16, 1, 1): 0.4, (12, 48, 2, 1): 0.1, (24, 96, 4, 1): 0.08,
    (64, 256, 8, 1): 0.08, (64, 256, 8, 2): 0.03, (48, 256, 8, 4): 0.01,
}  # fmt: skip
"""Processors, GB and GPUs on each node, and nodes, of kinds of jobs, with their shares of all jobs."""


def whole(case: Case) -> dict[str, float]:
    """A log on whole nodes: jobs per second as ever, and on a site that says the same; whether all starts are alike."""
    plain = trace_of(case)
    sited = _as_site(plain)
    runs = {"plain": simulate_jobs(plain, EASY), "site": simulate_jobs(sited, EASY)}
    starts = [run.allocation.start_s for run in runs.values()]
    return {
        **{f"whole.{name}.jobs_per_s": plain.n_jobs / run.mapping_s for name, run in runs.items()},
        "whole.same_starts": float(np.array_equal(starts[0], starts[1], equal_nan=True)),
    }


def shared(case: Case) -> dict[str, float]:
    """A cluster of 1,500 nodes with GPUs whose jobs share nodes: jobs per second with EASY, waits and use."""
    world = gpu_cluster(case)
    outcome = min((simulate_jobs(world, EASY) for _ in range(1 if case.smoke else 3)), key=lambda run: run.mapping_s)
    allocation = outcome.allocation
    wait_s: Floats = allocation.start_s - world.jobs.work.arrival_s
    return {
        "shared.jobs": float(world.n_jobs),
        "shared.jobs_per_s": world.n_jobs / outcome.mapping_s,
        "shared.mean_wait_s": float(np.nanmean(wait_s)),
        "shared.waited_percent": float(100 * np.mean(wait_s > 0)),
    }


def peers(case: Case) -> dict[str, float]:
    """EASY on the start of a log: jobs per second of ours, plain Python and AccaSim, and which starts are alike."""
    world = first_jobs(trace_of(case), PEER_JOBS)
    ours = min((simulate_jobs(world, EASY) for _ in range(5)), key=lambda run: run.mapping_s)
    used, n_nodes = ours.allocation.used, int(world.clusters.n_nodes[0])
    jobs, plain = twin_jobs(world), list[float]()
    plain_s = seconds(lambda: plain.extend(twins.easy(jobs, n_nodes)), 1)
    theirs = easy_of_accasim(jobs, n_nodes)
    n, ours_s = len(jobs.nodes), ours.mapping_s
    return {
        "peers.jobs": float(n),
        "peers.ours.jobs_per_s": n / ours_s,
        "peers.plain.jobs_per_s": n / plain_s,
        "peers.accasim.jobs_per_s": n / theirs.seconds,
        "peers.over_plain": plain_s / ours_s,
        "peers.over_accasim": theirs.seconds / ours_s,
        "peers.plain.same_starts": float(np.array_equal(ours.allocation.start_s[used], plain)),
        "peers.accasim.same_starts_percent": 100 * float(np.mean(np.array(theirs.start_s) == plain)),
    }


def year(case: Case) -> dict[str, float]:
    """A year of a cluster whose users have fair shares, qualities of service and limits: seconds that it takes."""
    world = _with_users(case, gpu_cluster(case, YEAR_JOBS, YEAR_LOAD, YEAR_MEAN_S, YEAR_PART))
    outcome = simulate_jobs(world, Scheduler(JOB_POLICIES["multifactor"]))
    arrival_s = world.jobs.work.arrival_s
    return {
        "year.jobs": float(world.n_jobs),
        "year.days": float(arrival_s[-1]) / 86_400.0,
        "year.seconds": outcome.mapping_s,
        "year.mean_wait_s": float(np.nanmean(outcome.allocation.start_s - arrival_s)),
    }


def flow(case: Case) -> dict[str, float]:
    """The same cluster from a file of the site and what `sacct` prints to the report: seconds, and the most memory.

    The first run finds an empty cache, as on a new machine, and compiles; a smoke run has only the second.
    """
    n_nodes, *jobs = _drawn(case, JOBS, LOAD, MEAN_S, 1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        groups = zip(N_NODES, n_nodes, CAPACITY.values(), strict=True)
        nodes = "".join(
            _NODES.format(name, n, cores, memory, f"{{gpu = {gpus}}}" if gpus else "{}")
            for name, n, (cores, memory, gpus) in groups
        )
        (folder / "site.toml").write_text(f'name = "site"\n{nodes}{_PARTITION}', encoding="utf-8")
        with (folder / "log.txt").open("w", encoding="utf-8") as log:
            log.write(f"{_COLUMNS}\n")
            for i, (arrival_s, time_s, planned_s, kind) in enumerate(zip(*jobs, strict=True)):
                cores, memory, gpus, n = list(KINDS)[kind]
                asked = f"cpu={n * cores},mem={n * memory}G,node={n}" + (f",gres/gpu={n * gpus}" if gpus else "")
                submitted = datetime.fromtimestamp(arrival_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
                row = (i, submitted, f"{time_s:.0f}", f"{planned_s / 60:.0f}", n * cores, n, asked, f"user{i % USERS}")
                log.write(f"{'|'.join(map(str, row))}|COMPLETED\n")
        (folder / "study.toml").write_text(_STUDY, encoding="utf-8")
        figures, cache = {"flow.jobs": float(len(jobs[0]))}, {"XDG_CACHE_HOME": f"{folder}/cache"}
        for run in ("again",) if case.smoke else ("first", "again"):
            command = ["run", str(folder / "study.toml"), "--out", str(folder / run)]
            spent_s, largest_mb = command_spent(command, {} if case.smoke else cache, case)
            figures |= {f"flow.{run}.seconds": spent_s, f"flow.{run}.largest_mb": largest_mb}
    return figures


def _with_users(case: Case, world: JobWorld) -> JobWorld:
    """The same jobs as those of users, of whom few have many, in accounts within accounts, each with a limit."""
    assert world.jobs.demands is not None
    draws, n = generator(case.seed, "benchmarks.sites", 0, "users"), world.n_jobs
    first, n_rows = ACCOUNTS + 1, ACCOUNTS + USERS + 1
    above = [np.zeros(10, np.int64), draws.integers(1, 11, ACCOUNTS - 10), draws.integers(1, first, USERS)]
    tree = ShareTree(
        tuple(map(str, range(n_rows))), np.concatenate(([-1], *above)), draws.integers(1, 20, n_rows),
        np.arange(n_rows) >= first,
    )  # fmt: skip
    user = np.minimum(draws.zipf(1.4, n) - 1, USERS - 1)
    factors = {name: draws.integers(0, 5, n) / 4 for name in ("size", "partition", "qos")}
    limits = Limits(
        ("jobs",), tuple(map(str, range(USERS))), np.full((USERS, 1), MOST_OF_A_USER),
        np.ones((world.jobs.demands.n_classes, 1), np.int64), user[:, None],
    )  # fmt: skip
    priorities = Priorities(tree, user + first, np.full(n, 8.0), factors, WEIGHTS)
    demands = replace(world.jobs.demands, priorities=priorities, limits=limits)
    return replace(world, jobs=replace(world.jobs, demands=demands))


class Drawn(NamedTuple):
    """The nodes of each group, and for each job when it comes, how long it runs and is planned to, and its kind."""

    n_nodes: Counts
    arrival_s: Floats
    time_s: Floats
    planned_s: Floats
    kind: Counts


def _drawn(case: Case, jobs: int, load: float, mean_s: float, part: float) -> Drawn:
    """Jobs of random kinds that ask for this share of the GPUs of this part of the nodes."""
    draws, n = generator(case.seed, "benchmarks.sites", 0, ""), max(int(case.part * jobs), 500)
    n_nodes = np.array([max(int(case.part * part * count), 4) for count in N_NODES.values()])
    capacity = np.array(list(CAPACITY.values()))
    kinds, shares = np.array(list(KINDS)), np.array(list(KINDS.values()))
    kind = draws.choice(len(kinds), n, p=shares / shares.sum())
    time_s = np.ceil(draws.exponential(mean_s, n)) + 60.0
    planned_s = time_s * draws.uniform(1.0, 4.0, n) // 60.0 * 60.0 + 60.0
    gpus = kinds[:, 2] * kinds[:, 3]
    span_s = float((gpus[kind] * time_s).sum()) / (load * float((n_nodes * capacity[:, 2]).sum()))
    return Drawn(n_nodes, np.sort(np.floor(draws.uniform(0.0, span_s, n))), time_s, planned_s, kind)


def gpu_cluster(case: Case, jobs: int = JOBS, load: float = LOAD, mean_s: float = MEAN_S, part: float = 1) -> JobWorld:
    """Jobs that ask for parts of nodes, or several whole ones, at random, on this part of the nodes."""
    n_nodes, arrival_s, time_s, planned_s, kind = _drawn(case, jobs, load, mean_s, part)
    capacity, kinds = np.array(list(CAPACITY.values())), np.array(list(KINDS))
    site = Site(
        ("cores", "memory", "gpus"), tuple(N_NODES), n_nodes, capacity, np.arange(len(CAPACITY)), ("batch",),
        np.ones((1, len(CAPACITY)), np.bool_), np.zeros(1, np.int64), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    need = np.repeat(kinds[:, None, :3], len(CAPACITY), axis=1)
    return _world(site, arrival_s, time_s, planned_s, kind, kinds[:, 3], need, kinds[:, 0] * kinds[:, 3])


def _as_site(plain: JobWorld) -> JobWorld:
    """A world of whole nodes on one cluster as a site with one partition that gives whole nodes."""
    types, one = plain.types, np.ones(1, np.int64)
    fits = np.diff(types.first) > 0
    nodes = np.where(
        fits, types.nodes[np.minimum(types.first[:-1], types.n_options - 1)], plain.clusters.n_nodes[0] + 1
    )
    units, kind = np.unique(nodes, return_inverse=True)
    site = Site(
        ("cores",), ("all",), plain.clusters.n_nodes, one[None], one, ("batch",), np.ones((1, 1), np.bool_), one,
        np.ones(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    demands = _demands(kind[plain.jobs.work.task_type], units, np.ones((units.size, 1, 1), np.int64))
    return replace(plain, jobs=replace(plain.jobs, demands=demands), site=site)


def _world(
    site: Site, arrival_s: Floats, time_s: Floats, planned_s: Floats, kind: Counts, units: Counts, need: Counts,
    cores: Counts,
) -> JobWorld:  # fmt: skip
    n, one = arrival_s.size, np.ones(1, np.int64)
    clusters = Clusters(("cores",), np.array([int((site.n_nodes * site.capacity[:, 0]).sum())]), one, one)
    none, zeros = np.full(n, np.nan), np.zeros(n, np.int32)
    types = JobTypes(
        (), np.arange(n + 1), zeros, zeros.astype(np.int8), cores[kind].astype(np.int32), time_s, planned_s, none
    )
    work = Workload(
        arrival_s, np.arange(n, dtype=np.int32), zeros, np.ones(n), np.zeros(n), UtilityShapes.of([constant()])
    )
    return JobWorld(clusters, types, Jobs(work, demands=_demands(kind, units, need)), site=site)


def _demands(kind: Counts, units: Counts, need: Counts) -> Demands:
    """Classes of like pieces, at most one on each node, in the only partition."""
    n, n_groups = need.shape[:2]
    ones = np.ones((n, n_groups), np.int64)
    return Demands(
        kind.astype(np.int32),
        np.zeros(n, np.int32),
        units,
        ones[:, 0],
        need,
        ones,
        np.empty((n, 0), np.int64),
        no_limits(kind.size, n),
    )


SUBJECT = Subject(
    "sites",
    {"whole": whole, "shared": shared, "year": year, "peers": peers, "flow": flow},
    (
        Bar("EASY on whole nodes of SDSC-BLUE: the same starts on a site that says the same", "whole.same_starts",
            "at least", 1),
        Bar("EASY on 1,500 nodes that jobs share, in jobs per second", "shared.jobs_per_s", "at least", 100_000),
        Bar("EASY on the start of SDSC-BLUE: the starts of plain Python", "peers.plain.same_starts", "at least", 1),
        Bar("a year with fair shares, qualities of service and limits, in seconds", "year.seconds", "at most", 60),
        Bar("100,000 jobs on 1,500 nodes from the files to the report: the most memory of a process, in MB",
            "flow.again.largest_mb", "at most", 500),
    ),
)  # fmt: skip
