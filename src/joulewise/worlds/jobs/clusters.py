"""The published system of parallel jobs: general- and special-purpose clusters, and job types (Machovec IV.B)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.clusters import Clusters, ClusterSystem, JobTypes, NodeStandby, TypeTraits
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV, cov_matrix, gamma_values
from joulewise.worlds.jobs.downey import downey_speedup
from joulewise.worlds.jobs.node_outages import NodeOutageParameters
from joulewise.worlds.outages import failure_problems
from joulewise.worlds.parameters import Rule, broken_rules, explained, is_not_negative, is_positive, numbered
from joulewise.worlds.standby import StandbyParameters, standby_of, standby_problems
from joulewise.worlds.utilities import PRIORITIES, URGENCIES, drawn_by_weight

Randomness: TypeAlias = Literal["independent", "shared"]
SpeedupOver: TypeAlias = Literal["nodes", "cores"]

_HOUR_S = 3600.0
_LEAST_SHARE = 0.1
MAX_CORES = 1_000_000_000
MAX_OPTIONS = 5_000_000
MAX_PSTATES = 127
_FACTOR_COVS = ("general_factor_cov", "special_factor_cov", "general_pstate_cov", "special_pstate_cov")


@dataclass(frozen=True)
class ClusterParameters(NodeOutageParameters, StandbyParameters):
    """The clusters and the job types of a generated system; the defaults are the published ones and our readings.

    COV is the coefficient of variation. Raises InputError with every problem found.
    """

    boot_power_w: float = explained(
        0.0, "power of a node while it wakes up; what is above idle_power is metered, but cap and budget do not see it"
    )
    boot_delay_s: float = explained(
        0.0, "time that a node draws boot_power before a job starts on it, if it slept; no job is delayed by it yet"
    )
    cores: int = explained(100_000, "number of cores of all clusters together, but for the rounding to whole nodes")
    general_clusters: int = explained(4, "number of general-purpose clusters")
    special_clusters: int = explained(2, "number of special-purpose clusters")
    general_share: tuple[float, float] = explained(
        (0.12, 0.18), "least and most of the cores on a general-purpose cluster, before all shares are made to sum to 1"
    )
    special_share: tuple[float, float] = explained((0.18, 0.22), "the same for a special-purpose cluster")
    cores_per_node: tuple[int, int] = explained((48, 52), "least and most cores of a node, drawn for each cluster")
    processors_per_node: tuple[int, int] = explained(
        (1, 4), "least and most processors of a node, drawn for each cluster"
    )
    job_types: int = explained(100, "number of job types")
    special_job_types: int = explained(40, "how many of them run on one special-purpose cluster only, as many on each")
    utility_ranges: tuple[tuple[float, float], ...] = explained(
        ((6.0, 8.0), (4.0, 6.0), (2.0, 4.0), (1.0, 2.0)),
        "least and most starting utility of job types of critical, high, medium and low priority",
    )
    priority_urgency_percent: tuple[tuple[float, ...], ...] = explained(
        ((2.0, 2.0, 0.05, 0.0), (3.45, 5.0, 1.5, 3.0), (0.0, 10.0, 10.0, 10.0), (0.0, 0.0, 20.0, 33.0)),
        "percent of the job types of each priority (row) and urgency (column)",
    )
    shortest_s: float = explained(1 * _HOUR_S, "mean execution time, not in parallel, at the least starting utility")
    longest_s: float = explained(18 * _HOUR_S, "the same at the most starting utility")
    single_cov: float = explained(0.15, "COV of the execution time around the mean for its utility, normal")
    cluster_cov: float = explained(0.3, "COV of execution times over clusters")
    size_limits: tuple[int, ...] = explained(
        (2, 4, 256, 4096),
        "cores that job types ask for: from the first to the second number, then above each number to the next, then "
        "above the last to all of a cluster but one core, then all of a cluster",
    )
    size_percent: tuple[float, ...] = explained(
        (20.0, 20.0, 40.0, 19.0, 1.0), "percent of the job types of these sizes"
    )
    sigma: tuple[float, float] = explained((4.0, 10.0), "least and most sigma in Downey's model of speed-up")
    speedup_over: SpeedupOver = explained(
        "nodes", "what Downey's model counts: the nodes, or the cores, that a job asks for"
    )
    parallelism_share: float = explained(
        0.5, "average parallelism in Downey's model (1 at least) relative to the nodes, or the cores, asked for"
    )
    parallelism: float | None = explained(None, "average parallelism of all jobs, in place of parallelism_share")
    power_w: float = explained(133.0, "mean power of a node in P-state 0")
    power_cov: float = explained(0.2, "COV of power over job types and over clusters")
    pstates: int = explained(3, "number of P-states, with powers that fall evenly to least_power_fraction")
    least_power_fraction: float = explained(0.5, "power of the last P-state relative to P-state 0")
    randomness: Randomness = explained(
        "independent", "whether power and time of a job type on a cluster are off by factors of their own or by one"
    )
    general_factor_cov: float = explained(0.3, "COV of these factors, of mean 1, for general-purpose job types")
    special_factor_cov: float = explained(0.2, "the same for special-purpose job types")
    general_pstate_cov: float = explained(
        0.03, "COV of power and speed of each P-state around what they should be, for general-purpose job types"
    )
    special_pstate_cov: float = explained(0.02, "the same for special-purpose job types")

    def __post_init__(self) -> None:
        raise_if_any((*_value_problems(self), *standby_problems(self), *failure_problems(self)))

    @property
    def n_clusters(self) -> int:
        return self.general_clusters + self.special_clusters

    @property
    def power_fractions(self) -> Floats:
        """Power of each P-state relative to P-state 0."""
        return np.linspace(1.0, self.least_power_fraction, self.pstates)


def generate_clusters(parameters: ClusterParameters, seed: int, trial: int) -> ClusterSystem:
    """The system of one trial; general-purpose clusters and job types come first."""
    clusters = _clusters(parameters, seed, trial)
    can_run = _can_run(parameters)
    traits = _traits(parameters, clusters, can_run, seed, trial)
    nodes = -(-traits.cores[:, None] // clusters.cores_per_node)
    time_s = _times_s(parameters, traits, nodes, seed, trial)
    power_w = nodes[:, :, None] * _node_powers_w(parameters, seed, trial)
    return ClusterSystem(clusters, _job_types(parameters, can_run, nodes, time_s, power_w), traits)


def _clusters(p: ClusterParameters, seed: int, trial: int) -> Clusters:
    stream = generator(seed, trial, "clusters.sizes")
    ranges = np.array([p.general_share] * p.general_clusters + [p.special_share] * p.special_clusters)
    share = stream.uniform(ranges[:, 0], ranges[:, 1])
    cores_per_node = stream.integers(*p.cores_per_node, p.n_clusters, endpoint=True)
    n_nodes = np.maximum(np.rint(p.cores * share / share.sum() / cores_per_node), 1)
    standby = standby_of(p, p.n_clusters)
    return Clusters(
        (*numbered("general", p.general_clusters), *numbered("special", p.special_clusters)),
        n_nodes,
        cores_per_node,
        stream.integers(*p.processors_per_node, p.n_clusters, endpoint=True),
        None if standby is None else NodeStandby(**vars(standby)),
    )


def _can_run(p: ClusterParameters) -> Bools:
    """Whether jobs of a type may run on a cluster, as [job type, cluster]."""
    n_general = p.job_types - p.special_job_types
    allowed = np.zeros((p.job_types, p.n_clusters), np.bool_)
    allowed[:n_general, : p.general_clusters] = True
    if p.special_clusters:
        home = np.arange(p.special_job_types) * p.special_clusters // max(p.special_job_types, 1)
        allowed[np.arange(n_general, p.job_types), p.general_clusters + home] = True
    return allowed


def _traits(p: ClusterParameters, clusters: Clusters, can_run: Bools, seed: int, trial: int) -> TypeTraits:
    """Utility, levels, cores and times of the job types; the more a type is worth, the longer it takes."""
    stream = generator(seed, trial, "clusters.job types")
    pair = drawn_by_weight(stream, np.array(p.priority_urgency_percent).ravel(), p.job_types)
    priority, urgency = pair // len(URGENCIES), pair % len(URGENCIES)
    low, high = np.array(p.utility_ranges)[priority].T
    utility = high - (high - low) * stream.random(p.job_types)
    least, most = np.min(p.utility_ranges), np.max(p.utility_ranges)
    mean_s = p.shortest_s + (p.longest_s - p.shortest_s) * (utility - least) / (most - least)
    share = 1 + p.single_cov * stream.standard_normal(p.job_types)
    cores = _cores(p, clusters, can_run, generator(seed, trial, "clusters.job sizes"))
    return TypeTraits(utility, priority, urgency, cores, mean_s * np.maximum(share, _LEAST_SHARE))


def _cores(p: ClusterParameters, clusters: Clusters, can_run: Bools, stream: np.random.Generator) -> Counts:
    """The cores that each type asks for: never more than the smallest cluster that it may run on has."""
    of_cluster = np.where(can_run, clusters.n_nodes * clusters.cores_per_node, np.iinfo(np.int64).max).min(axis=1)
    size = drawn_by_weight(stream, np.array(p.size_percent), p.job_types)
    limits = np.array(p.size_limits)
    lows = np.concatenate((limits[:1], limits[1:] + 1, [MAX_CORES]))
    highs = np.concatenate((limits[1:], [0, MAX_CORES]))
    is_large = size == limits.size - 1
    low = np.minimum(lows[size], of_cluster)
    high = np.where(is_large, of_cluster - 1, np.minimum(highs[size], of_cluster))
    return np.asarray(stream.integers(low, np.maximum(high, low), endpoint=True))


def _times_s(p: ClusterParameters, traits: TypeTraits, nodes: Counts, seed: int, trial: int) -> Floats:
    """Execution times as [job type, cluster, P-state]."""
    shape = nodes.shape
    single_s = gamma_values(generator(seed, trial, "clusters.times"), traits.single_s[:, None], p.cluster_cov, shape)
    sigma = generator(seed, trial, "clusters.sigma").uniform(*p.sigma, p.job_types)[:, None]
    n = nodes if p.speedup_over == "nodes" else np.broadcast_to(traits.cores[:, None], shape)
    parallelism = np.maximum(p.parallelism_share * n, 1.0) if p.parallelism is None else p.parallelism
    speed = _pstate_factors(p, np.sqrt(p.power_fractions), "speed", seed, trial)
    return np.asarray((single_s / downey_speedup(n, parallelism, sigma))[:, :, None] / speed)


def _node_powers_w(p: ClusterParameters, seed: int, trial: int) -> Floats:
    """Power of one node as [job type, cluster, P-state]."""
    stream, cov = generator(seed, trial, "clusters.power"), p.power_cov
    power_w = cov_matrix(stream, p.job_types, p.n_clusters, mean=p.power_w, task_cov=cov, machine_cov=cov)
    return power_w[:, :, None] * _pstate_factors(p, p.power_fractions, "power", seed, trial)


def _pstate_factors(p: ClusterParameters, means: Floats, of: str, seed: int, trial: int) -> Floats:
    """What power, or speed, is multiplied by, as [job type, cluster, P-state]; more P-states change none there is."""
    n_general = p.job_types - p.special_job_types
    whose = of if p.randomness == "independent" else "both"
    parts = (
        ("general", n_general, p.general_factor_cov, p.general_pstate_cov),
        ("special", p.special_job_types, p.special_factor_cov, p.special_pstate_cov),
    )
    factors = []
    for name, n, factor_cov, pstate_cov in parts:
        off = gamma_values(generator(seed, trial, "clusters.off", name, whose), 1.0, factor_cov, (n, p.n_clusters, 1))
        drawn = [
            gamma_values(
                generator(seed, trial, "clusters.pstates", name, of, f"{fraction:.9f}"),
                off * mean,
                pstate_cov,
                off.shape,
            )
            for fraction, mean in zip(p.power_fractions, means, strict=True)
        ]
        factors.append(np.concatenate(drawn, axis=2))
    return np.concatenate(factors)


def _job_types(p: ClusterParameters, can_run: Bools, nodes: Counts, time_s: Floats, power_w: Floats) -> JobTypes:
    """The options by job type, then cluster, then P-state."""
    job_type, cluster = (np.repeat(index, p.pstates) for index in np.nonzero(can_run))
    pstate = np.tile(np.arange(p.pstates), int(can_run.sum()))
    at = (job_type, cluster, pstate)
    n_general = p.job_types - p.special_job_types
    return JobTypes(
        (*numbered("general-job", n_general), *numbered("special-job", p.special_job_types)),
        np.concatenate(([0], np.cumsum(can_run.sum(axis=1) * p.pstates))),
        cluster.astype(np.int32),
        pstate.astype(np.int8),
        nodes[job_type, cluster].astype(np.int32),
        time_s[at],
        time_s[at],
        power_w[at],
    )


def _is_range(values: tuple[float, ...], least: float) -> bool:
    return len(values) == 2 and is_not_negative(*values) and least <= values[0] <= values[1]


def _value_problems(p: ClusterParameters) -> Iterator[Problem]:
    yield from broken_rules("system", p, [*_size_rules(p), *_job_rules(p), *_power_rules(p)])


def _size_rules(p: ClusterParameters) -> Iterator[Rule]:
    pair = "must be (least, most), least first, "
    yield "cores", 1 <= p.cores <= MAX_CORES, f"must be from 1 to {MAX_CORES:,}"
    yield "general_clusters", p.general_clusters >= 0, "must be 0 or more"
    yield "special_clusters", p.special_clusters >= 0, "must be 0 or more"
    yield "general_clusters", p.n_clusters >= 1, "there must be one cluster at least, of either kind"
    for name in ("general_share", "special_share"):
        shares = getattr(p, name)
        yield name, _is_range(shares, 0) and shares[0] > 0, f"{pair}above 0"
    for name in ("cores_per_node", "processors_per_node"):
        yield name, _is_range(getattr(p, name), 1), f"{pair}1 or more"


def _job_rules(p: ClusterParameters) -> Iterator[Rule]:
    n_options = p.job_types * max(p.n_clusters, 1) * max(p.pstates, 1)
    yield "job_types", p.job_types >= 1, "must be 1 or more"
    yield "job_types", n_options <= MAX_OPTIONS, f"job types x clusters x P-states may be up to {MAX_OPTIONS:,}"
    yield "special_job_types", 0 <= p.special_job_types <= p.job_types, f"must be from 0 to {p.job_types}"
    yield "special_job_types", p.special_job_types == 0 or p.special_clusters > 0, "needs special_clusters"
    is_general = p.special_job_types < p.job_types
    yield "general_clusters", not is_general or p.general_clusters > 0, "there are job types that need one"
    ranges, percents = p.utility_ranges, [percent for row in p.priority_urgency_percent for percent in row]
    has_ranges = len(ranges) == len(PRIORITIES) and all(_is_range(limits, 0) for limits in ranges)
    differ = has_ranges and np.min(ranges) < np.max(ranges)
    yield "utility_ranges", differ, f"must be (least, most) for {', '.join(PRIORITIES)}, not all the same"
    is_table = [len(row) for row in p.priority_urgency_percent] == [len(URGENCIES)] * len(PRIORITIES)
    yield "priority_urgency_percent", is_table, f"must be {len(PRIORITIES)} rows of {len(URGENCIES)}"
    for name, values in (("priority_urgency_percent", percents), ("size_percent", p.size_percent)):
        sums = is_not_negative(*values) and math.isclose(sum(values), 100.0, abs_tol=1e-6)
        yield name, sums, "must be 0 or more each and sum to 100"
    limits = p.size_limits
    rises = len(limits) >= 2 and limits[0] >= 1 and all(low < high for low, high in pairwise(limits))
    yield "size_limits", rises and limits[-1] < MAX_CORES, "must be two numbers or more, rising from 1 or more"
    yield "size_percent", len(p.size_percent) == len(limits) + 1, f"must be {len(limits) + 1} values, one for each size"
    yield "shortest_s", is_positive(p.shortest_s), "must be above 0 s"
    yield "longest_s", p.shortest_s <= p.longest_s < math.inf, "must not be below shortest"
    yield "sigma", _is_range(p.sigma, 0), "must be (least, most), 0 or more"
    yield "speedup_over", p.speedup_over in get_args(SpeedupOver), f"must be one of {', '.join(get_args(SpeedupOver))}"
    yield "parallelism_share", is_positive(p.parallelism_share), "must be above 0"
    if p.parallelism is not None:
        yield "parallelism", 1 <= p.parallelism < math.inf, "must be 1 or more"


def _power_rules(p: ClusterParameters) -> Iterator[Rule]:
    yield "power_w", is_positive(p.power_w), "must be above 0 W"
    yield "pstates", 1 <= p.pstates <= MAX_PSTATES, f"must be from 1 to {MAX_PSTATES}"
    yield "least_power_fraction", 0 < p.least_power_fraction <= 1, "must be above 0 and at most 1"
    yield "randomness", p.randomness in get_args(Randomness), f"must be one of {', '.join(get_args(Randomness))}"
    for name in ("single_cov", "cluster_cov", "power_cov", *_FACTOR_COVS):
        allowed = f"must be a coefficient of variation from 0 to {MAX_COV:g}"
        yield name, 0 <= getattr(p, name) <= MAX_COV, allowed
