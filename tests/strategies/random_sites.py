"""Small sites at random: groups of nodes with several resources, partitions that overlap, and jobs that share nodes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from joulewise.model.conditions import ALONE, NO_JOB, Conditions, Kind, cycles_of
from joulewise.model.failures import NodeFailures
from joulewise.model.hours import Hours
from joulewise.model.jobs import Jobs, JobWorld, Label
from joulewise.model.kept import KeptNodes
from joulewise.model.preemption import Preemption
from joulewise.model.shares import Priorities, ShareTree
from joulewise.model.site import Demands, Limits, Site, no_limits
from tests.strategies.job_worlds import QUEUES, USERS, clusters_of, types_of, work_of

MOST_UNITS = 6
N_CORES = 1000


@st.composite
def sites(draw: st.DrawFn, *, is_roomy: bool = False) -> Site:
    """Up to 3 groups of up to 4 nodes with up to 3 resources, and up to 3 partitions; a roomy one has no nodes that
    are alone in their group or given as wholes.
    """
    n, n_resources, n_partitions = (draw(st.integers(1, 3)) for _ in range(3))
    rows = st.lists(st.integers(0, 4), min_size=n_resources, max_size=n_resources)
    masks = st.lists(st.booleans(), min_size=n, max_size=n).filter(any)
    wholes = st.just(False) if is_roomy else st.booleans()
    partitions = draw(st.lists(masks, min_size=n_partitions, max_size=n_partitions))
    return Site(
        tuple(f"r{i}" for i in range(n_resources)),
        tuple(f"g{i}" for i in range(n)),
        np.array(draw(st.lists(st.integers(1 + is_roomy, 4), min_size=n, max_size=n))),
        np.array(draw(st.lists(rows, min_size=n, max_size=n))),
        np.array(draw(st.lists(st.integers(1, 2), min_size=n, max_size=n))),
        tuple(f"p{i}" for i in range(n_partitions)),
        np.array(partitions),
        np.array(draw(st.lists(st.integers(0, 1), min_size=n_partitions, max_size=n_partitions))),
        np.array(draw(st.lists(wholes, min_size=n_partitions, max_size=n_partitions))),
        ("l0",),
        np.array([draw(st.integers(0, 2))]),
    )


@st.composite
def kept_nodes(draw: st.DrawFn, site: Site) -> KeptNodes:
    """Up to 3 names under which up to 4 nodes are kept, some of them under several."""
    nodes = [(g, n) for g in range(site.n_groups) for n in range(int(site.n_nodes[g]))]
    parts = draw(st.lists(st.lists(st.sampled_from(nodes), unique=True, max_size=4), max_size=3))
    spans = [(draw(st.integers(-2, 20)), draw(st.integers(1, 20))) for _ in parts]
    rows = [(of, *node) for of, part in enumerate(parts) for node in part]
    of, group, node = np.array(rows, np.int32).reshape(-1, 3).T
    start_s, length_s = np.array(spans, float).reshape(-1, 2).T
    return KeptNodes(tuple(f"k{i}" for i in range(len(parts))), start_s, start_s + length_s, of, group, node)


@st.composite
def failing_sites(draw: st.DrawFn, site: Site) -> Site:
    """The site with up to 5 failures of nodes, partitions that have hours, or both."""
    nodes = [(g, n) for g in range(site.n_groups) for n in range(int(site.n_nodes[g]))]
    row = st.tuples(st.integers(0, 25), st.integers(1, 12), st.sampled_from(nodes))
    back_s = dict.fromkeys(nodes, -1)
    rows = []
    for start_s, length_s, node in sorted(draw(st.lists(row, min_size=1, max_size=5))):
        if start_s >= back_s[node]:
            rows.append((*node, start_s, start_s + length_s))
            back_s[node] = start_s + length_s
    group, node, start_s, end_s = np.array(rows).T
    failures = NodeFailures(group, node, start_s, end_s)
    return replace(site, failures=failures, requeues=draw(st.booleans()), hours=draw(hours(site)))


@st.composite
def hours(draw: st.DrawFn, site: Site) -> Hours:
    """Up to 5 instants at which a partition begins to start jobs, or no longer does."""
    turn = st.tuples(st.integers(-3, 30), st.integers(0, len(site.partitions) - 1), st.booleans())
    at_s, partition, is_up = np.array(sorted(draw(st.lists(turn, max_size=5))), float).reshape(-1, 3).T
    return Hours(at_s, partition, is_up)


@st.composite
def hourly_worlds(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds whose partitions have hours."""
    world = draw(worlds)
    assert world.site is not None
    return replace(world, site=replace(world.site, hours=draw(hours(world.site))))


def none_suspended(world: JobWorld) -> JobWorld:
    """The same world in which nobody is suspended, for what does not allow that."""
    demands = world.jobs.demands
    if demands is None or demands.preemption is None:
        return world
    preemption = replace(demands.preemption, suspends=None)
    return replace(world, jobs=replace(world.jobs, demands=replace(demands, preemption=preemption)))


@st.composite
def failing_worlds(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds whose nodes fail, whose partitions have hours, and in which nobody is suspended."""
    world = none_suspended(draw(worlds))
    assert world.site is not None
    return replace(world, site=draw(failing_sites(world.site)))


@st.composite
def demands(draw: st.DrawFn, site: Site, n_jobs: int, *, is_roomy: bool = False) -> Demands:
    """Up to 4 classes of jobs, of which some fit nowhere; few of them on a roomy site."""
    n, n_groups, n_resources = draw(st.integers(1, 4)), site.n_groups, len(site.resources)
    partition = np.array(draw(st.lists(st.integers(0, len(site.partitions) - 1), min_size=n, max_size=n)))
    need = np.array([draw(st.lists(st.integers(0, 3), min_size=n_resources, max_size=n_resources)) for _ in range(n)])
    wholes = site.gives_wholes[partition][:, None, None]
    given = st.lists(st.integers(int(is_roomy), 2), min_size=n_groups, max_size=n_groups)
    gives = np.array([draw(given) for _ in range(n)])
    return Demands(
        np.array(draw(st.lists(st.integers(0, n - 1), min_size=n_jobs, max_size=n_jobs))),
        partition,
        np.array(draw(st.lists(st.integers(1, MOST_UNITS), min_size=n, max_size=n))),
        np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))),
        np.where(wholes, site.capacity[None], np.minimum(need[:, None, :], site.capacity if is_roomy else need.max())),
        np.where(site.in_partition[partition], gives, 0),
        np.array([[draw(st.sampled_from((0, 0, 1)))] for _ in range(n)]),
        draw(limits(n_jobs, n)),
    )


@st.composite
def limits(draw: st.DrawFn, n_jobs: int, n_classes: int) -> Limits:
    """Up to 3 holders of jobs and two things; each job has up to 2 of the holders."""
    n = draw(st.integers(0, 3))
    pair = st.tuples(st.integers(1, 3), st.integers(1, 9))
    holders = [draw(st.permutations(range(-1, n)))[:2] for _ in range(n_jobs)] if n else [(-1, -1)] * n_jobs
    return Limits(
        ("jobs", "things"),
        tuple(f"h{i}" for i in range(n)),
        np.array(draw(st.lists(pair, min_size=n, max_size=n))).reshape(n, 2),
        np.array([(1, draw(st.integers(0, 5))) for _ in range(n_classes)]),
        np.array(holders),
        draw(st.sampled_from((0, 0, 1))),
    )


@st.composite
def submitted(draw: st.DrawFn, n_jobs: int, n_classes: int) -> Limits:
    """How many jobs up to 3 holders may have that wait or run."""
    one = draw(limits(n_jobs, n_classes))
    return Limits(("jobs",), one.names, one.most[:, :1], np.ones((n_classes, 1), np.int64), one.holders, one.n_counting)


@st.composite
def preemptions(draw: st.DrawFn, n_jobs: int) -> Preemption:
    """Up to 3 qualities of service of which later ones may stop earlier ones."""
    n = draw(st.sampled_from((3, 2)))
    rows = st.lists(st.sampled_from((0, 0, 1)), min_size=n, max_size=n)
    likely = st.lists(st.sampled_from((True, True, False)), min_size=n, max_size=n)
    stops = np.tril(np.array([draw(likely) for _ in range(n)]), -1)
    suspends = np.array(draw(st.sampled_from(([0] * n, [1] * n, None))) or draw(rows), np.bool_)
    return Preemption(
        tuple(f"q{i}" for i in range(n)),
        np.array(draw(st.lists(st.sampled_from((n - 1, 0, 1, -1)), min_size=n_jobs, max_size=n_jobs))),
        stops,
        np.array(draw(rows)),
        np.where(suspends, 0.0, draw(st.lists(st.sampled_from((0, 0, 0, 2, 3)), min_size=n, max_size=n))),
        np.array(draw(rows), np.bool_) & ~suspends,
        draw(st.sampled_from((0.0, 0.0, 2.0))),
        suspends,
    )


@st.composite
def site_worlds(
    draw: st.DrawFn,
    most_jobs: int = 14,
    *,
    overruns: bool = False,
    is_roomy: bool = False,
    keeps: bool = False,
) -> JobWorld:
    """Jobs in whole seconds, of which many end early and, if asked, some run past their plan; some follow others.

    A site that `keeps` has nodes that are kept for some jobs, or for nobody, and limits on jobs that wait or run.
    """
    site = draw(sites(is_roomy=is_roomy))
    if keeps:
        site = replace(site, kept=draw(kept_nodes(site)))
    row = st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 6))
    rows = draw(st.lists(row, min_size=1, max_size=most_jobs))
    n = len(rows)
    asked = draw(demands(site, n, is_roomy=is_roomy))
    if keeps:
        mine = st.integers(-1, len(site.kept.names) - 1)
        of_class = draw(st.lists(mine, min_size=asked.n_classes, max_size=asked.n_classes))
        asked = replace(asked, kept=np.array(of_class), submitted=draw(submitted(n, asked.n_classes)))
    fits = asked.can_start(site)
    gap, time_s, more = np.array(rows, float).T
    planned_s = np.maximum(time_s + more - (2 if overruns else 0), 1.0)
    cores = asked.units[asked.of_job]
    options: Any = [[(0, int(cores[i]), time_s[i], planned_s[i])] if fits[i] else [] for i in range(n)]
    after = np.array(
        [draw(st.sampled_from((NO_JOB, NO_JOB, NO_JOB, max(i - 1, NO_JOB)))) if i else NO_JOB for i in range(n)]
    )
    codes = {name: np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))) for name in ("user", "queue")}
    labels = {"user": Label(USERS, codes["user"]), "queue": Label(QUEUES, codes["queue"])}
    think_s = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), float)
    conditions = Conditions.following(after, think_s)
    jobs = Jobs(work_of(np.cumsum(gap).tolist()), conditions, labels, asked)
    return JobWorld(clusters_of([N_CORES]), types_of(options), jobs, site=site)


@st.composite
def waiting_worlds(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld], *, has_parts: bool = True) -> JobWorld:
    """Worlds whose jobs wait for others in all ways, of which some come later; for instants, and for their parts."""
    world = draw(worlds)
    n = world.n_jobs
    order = draw(st.permutations(range(n)))  # whoever waits is later here, so that nobody waits for itself
    row = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.sampled_from(list(Kind)), st.integers(0, 4))
    rows = [(max(a, b), min(a, b), *rest) for a, b, *rest in draw(st.lists(row, max_size=n)) if a != b]
    begin_s = world.jobs.work.arrival_s + draw(st.lists(st.sampled_from((-5, 0, 0, 0, 3, 12)), min_size=n, max_size=n))
    numbers = st.lists(st.sampled_from((ALONE, ALONE, ALONE, ALONE, 3, 8)), min_size=n, max_size=n)
    together = np.array(draw(numbers)) if has_parts else np.full(n, ALONE)
    conditions = Conditions(
        np.array([order[row[0]] for row in rows], np.int32),
        np.array([order[row[1]] for row in rows], np.int32),
        np.array([row[2] for row in rows], np.int8),
        np.array([row[3] for row in rows], float),
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
        begin_s,
        together if has_parts else None,
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
    )
    if cycles_of(conditions, n):  # by parts that wait for each other's
        conditions = replace(conditions, together=None)
    return replace(world, jobs=replace(world.jobs, conditions=conditions))


@st.composite
def crowded_worlds(draw: st.DrawFn, *, keeps: bool = False) -> JobWorld:
    """One partition of few nodes for which many jobs wait, some of which give way to others."""
    cores = draw(st.integers(2, 4))
    n_groups = draw(st.integers(1, 2))
    memory = draw(st.integers(3, 9))
    ones = np.ones(n_groups, np.int64)
    site = Site(
        ("cores", "memory"), tuple(f"g{i}" for i in range(n_groups)),
        np.array(draw(st.lists(st.integers(1, 3), min_size=n_groups, max_size=n_groups))),
        np.array([cores, memory]) * ones[:, None], ones, ("p",), np.ones((1, n_groups), np.bool_),
        np.zeros(1, np.int64),
        np.array([draw(st.sampled_from((False, False, True)))]), (), np.empty(0, np.int64),
    )  # fmt: skip
    site = replace(site, kept=draw(kept_nodes(site))) if keeps else site
    n, n_classes = draw(st.integers(5, 14)), 3
    need = np.array([(draw(st.integers(1, cores)), draw(st.sampled_from((0, 1, 1, 2)))) for _ in range(n_classes)])
    wholes = bool(site.gives_wholes[0])
    if wholes:
        site = replace(site, capacity=site.capacity * np.array([1, draw(st.integers(0, 1))]))
    asked = Demands(
        np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))),
        np.zeros(n_classes, np.int64),
        np.array([draw(st.integers(1, 2)) for _ in range(n_classes)]),
        np.full(n_classes, draw(st.integers(1, 2))),
        np.broadcast_to(site.capacity[0] if wholes else need[:, None], (n_classes, n_groups, 2)),
        np.ones((n_classes, n_groups), np.int64),
        np.empty((n_classes, 0), np.int64),
        draw(limits(n, n_classes)) if draw(st.booleans()) else no_limits(n, n_classes),
        preemption=draw(preemptions(n)),
    )
    rows = st.tuples(st.integers(0, 2), st.integers(2, 9), st.integers(-2, 6))
    gap, time_s, more = np.array(draw(st.lists(rows, min_size=n, max_size=n)), float).T
    fits = asked.can_start(site)
    options: Any = [
        [(0, int(asked.units[kind]), time_s[i], max(time_s[i] + more[i], 1.0))] if fits[i] else []
        for i, kind in enumerate(asked.of_job)
    ]
    after = np.array([draw(st.sampled_from((NO_JOB,) * 5 + (max(i - 1, NO_JOB),))) if i else NO_JOB for i in range(n)])
    jobs = Jobs(work_of(np.cumsum(gap).tolist()), Conditions.following(after), demands=asked)
    return JobWorld(clusters_of([N_CORES]), types_of(options), jobs, site=site)


@st.composite
def suspending_worlds(draw: st.DrawFn, *, keeps: bool = False) -> JobWorld:
    """Crowded worlds to which higher kinds of jobs come later, and most that give way are suspended."""
    world = draw(crowded_worlds(keeps=keeps))
    demands, n = world.jobs.demands, world.n_jobs
    assert demands is not None
    suspends = np.array(draw(st.sampled_from(((1, 1, 1), (1, 1, 0), (1, 0, 1)))), np.bool_)
    kinds = np.sort(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    preemption = Preemption(
        ("q0", "q1", "q2"), kinds, np.tril(np.ones((3, 3), np.bool_), -1), np.arange(3),
        np.where(suspends, 0.0, draw(st.sampled_from((0.0, 2.0)))), ~suspends & draw(st.booleans()),
        draw(st.sampled_from((0.0, 2.0))), suspends,
    )  # fmt: skip
    gaps_s = draw(st.lists(st.integers(1, 2), min_size=n, max_size=n))
    work = replace(world.jobs.work, arrival_s=np.cumsum(gaps_s).astype(float))
    return replace(world, jobs=replace(world.jobs, work=work, demands=replace(demands, preemption=preemption)))


@st.composite
def share_trees(draw: st.DrawFn) -> ShareTree:
    """Up to 4 accounts in each other, and users of which some have no shares; there is one at least."""
    n_accounts = draw(st.integers(0, 4))
    parent = [-1, *(draw(st.integers(0, i)) for i in range(n_accounts))]
    users = draw(st.lists(st.integers(0, n_accounts), min_size=1, max_size=6))
    n = len(parent) + len(users)
    shares = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    is_user = np.arange(n) > n_accounts
    return ShareTree(tuple(f"a{row}" for row in range(n)), np.array([*parent, *users]), np.array(shares), is_user)


@st.composite
def priorities(draw: st.DrawFn, n_jobs: int) -> Priorities:
    """Jobs of users of a tree, some of nobody, with all that a site may weigh."""
    tree = draw(share_trees())
    rows = [-1, *np.flatnonzero(tree.is_user).tolist()]
    eighths = st.lists(st.integers(0, 8), min_size=n_jobs, max_size=n_jobs)
    names = ("size", "partition", "qos", "tres")
    weights = {name: float(draw(st.sampled_from((0, 1, 50)))) for name in (*names, "age")}
    of_job = [rows[-1], *draw(st.lists(st.sampled_from(rows), min_size=n_jobs - 1, max_size=n_jobs - 1))]
    return Priorities(
        tree,
        np.array(of_job),
        np.array(draw(eighths)) / 8,
        {name: np.array(draw(eighths)) / 8 for name in names},
        {**weights, "fair_share": 1000.0} if draw(st.booleans()) else {},
        draw(st.booleans()),
        draw(st.sampled_from((5.0, 40.0, math.inf))),
        draw(st.sampled_from((1.0, 3.0))),
        draw(st.sampled_from((0.0, 8.0))),
        draw(st.sampled_from((0.0, 1.0, 4.0, 7.0))),
    )


@st.composite
def ranked_worlds(draw: st.DrawFn) -> JobWorld:
    """Worlds of sites whose jobs have priorities, and on some give way to others."""
    world = draw(st.one_of(site_worlds(overruns=True), crowded_worlds(), suspending_worlds()))
    assert world.jobs.demands is not None
    demands = replace(world.jobs.demands, priorities=draw(priorities(world.n_jobs)))
    return replace(world, jobs=replace(world.jobs, demands=demands))
