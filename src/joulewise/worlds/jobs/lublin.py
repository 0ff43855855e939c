"""Rigid jobs like those of the machines of the 1990s, with rush hours.

U. Lublin, D. G. Feitelson: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Floats, Ints
from joulewise.model.clusters import ClusterSystem
from joulewise.model.jobs import Jobs, Label
from joulewise.rng import generator
from joulewise.worlds.jobs.cluster_tables import rigid_types
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive
from joulewise.worlds.utilities import UtilityParameters, draw_levels, utility_problems, workload_of_times

Kinds: TypeAlias = Literal["undivided", "batch", "interactive", "both"]

MAX_JOBS = 5_000_000
_BUCKETS = 48
_BUCKET_S = 1800.0
_FIRST_BUCKET = 11
_MOST_LOG_RUN, _MOST_LOG_GAP = 12.0, 13.0
_LOG_NODES = 7.0
"""The table is that of machines of 2^7 nodes."""


class LublinKind(NamedTuple):
    """The parameters of one kind of jobs; gamma distributions are (shape, scale).

    Jobs are serial with `serial`, and of 2^k nodes with `power_of_2`. Otherwise they have 2^u nodes, u even from `low`
    to `middle` with `lower`, else from there to `high`. The logarithm of the run time is of the gamma `short` with
    `slope` * nodes + `intercept`, else of `long`; that of the time between arrivals is of `gap`; `day` says how many
    arrive in which half hour.
    """

    serial: float
    power_of_2: float
    low: float
    middle: float
    high: float
    lower: float
    short: tuple[float, float]
    long: tuple[float, float]
    slope: float
    intercept: float
    gap: tuple[float, float]
    day: tuple[float, float]


KINDS = {
    "batch": LublinKind(
        0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875, (6.57, 0.823), (639.1, 0.0156), -0.003, 0.6986,
        (6.0415 * 1.0519, 0.8531), (6.1271, 5.274),
    ),
    "interactive": LublinKind(
        0.1541, 0.625, 1.0, 3.0, 5.5, 0.705, (3.8351, 0.6605), (7.073, 0.6856), -0.0118, 0.9156,
        (6.551 * 0.9797, 0.6621), (8.9186, 3.668),
    ),
    "undivided": LublinKind(
        0.244, 0.576, 0.8, 4.5, 7.0, 0.86, (4.2, 0.94), (312.0, 0.03), -0.0054, 0.78,
        (10.2303 * 1.0225, 0.4871), (8.1737, 3.9631),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class LublinParameters(UtilityParameters):
    """How many jobs of which kinds arrive; their number of nodes goes with the largest cluster.

    Raises InputError with every problem found.
    """

    n_jobs: int = explained(10_000, "number of jobs")
    kinds: Kinds = explained(
        "undivided", "jobs without a difference, batch or interactive ones only, or both, each with arrivals of its own"
    )
    start_hour: int = explained(0, "hour of the day at which the first arrivals are drawn")
    gap_factor: float = explained(1.0, "multiplies the times between arrivals: below 1 there is more load")
    power_w: float = explained(133.0, "power of a node that runs a job")

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *_problems(self)))


class _Drawn(NamedTuple):
    """Jobs in order of arrival, in whole seconds."""

    arrival_s: Floats
    nodes: Ints
    run_s: Floats
    kind: Ints


def generate_lublin(
    parameters: LublinParameters, system: ClusterSystem, seed: int, trial: int
) -> tuple[ClusterSystem, Jobs]:
    """The jobs of one trial, each of a type of its own: it runs as long on every cluster that has nodes enough.

    The first job arrives at 0 s. All completions count.
    """
    names = ("batch", "interactive") if parameters.kinds == "both" else (parameters.kinds,)
    most = int(system.clusters.n_nodes.max())
    drawn = _merged([_drawn(parameters, name, most, seed, trial) for name in names], parameters.n_jobs)
    n_jobs, clusters = drawn.nodes.size, system.clusters
    nodes = np.broadcast_to(drawn.nodes[:, None], (n_jobs, clusters.n_clusters))
    types = rigid_types(clusters, nodes, drawn.run_s, drawn.run_s, np.full(n_jobs, parameters.power_w))
    levels = draw_levels(parameters, generator(seed, trial, "lublin.utility"), n_jobs)
    each = np.arange(n_jobs, dtype=np.int32)
    work = workload_of_times(drawn.arrival_s, each, levels, drawn.run_s, parameters)
    return ClusterSystem(clusters, types), Jobs(work, labels={"queue": Label(names, drawn.kind)})


def _merged(parts: list[_Drawn], n: int) -> _Drawn:
    """The first n of the jobs of all kinds, by arrival, numbered by kind."""
    columns = zip(*(part._replace(kind=np.full_like(part.nodes, k)) for k, part in enumerate(parts)), strict=True)
    arrival_s, nodes, run_s, kind = (np.concatenate(column) for column in columns)
    first = np.argsort(arrival_s, kind="stable")[:n]
    return _Drawn(arrival_s[first] - arrival_s[first[0]], nodes[first], run_s[first], kind[first])


def _drawn(p: LublinParameters, name: str, most: int, seed: int, trial: int) -> _Drawn:
    kind = KINDS[name]
    nodes = _nodes(kind, most, p.n_jobs, generator(seed, trial, "lublin.nodes", name))
    run_s = _run_times_s(kind, nodes, generator(seed, trial, "lublin.times", name))
    arrival_s = _arrivals_s(kind, p, generator(seed, trial, "lublin.arrivals", name))
    return _Drawn(arrival_s, nodes, run_s, nodes)


def _nodes(kind: LublinKind, most: int, n: int, stream: np.random.Generator) -> Ints:
    """Numbers of nodes up to `most`; the limits of the table move with the size of the machine."""
    shift = math.log2(most) - _LOG_NODES
    high = max(kind.high + shift, 0.0)
    middle = min(max(kind.middle + shift, 0.0), high)
    low = min(kind.low, middle)
    lot, stage, u = stream.random((3, n))
    is_lower = stage <= kind.lower
    exponent = np.where(is_lower, low + (middle - low) * u, middle + (high - middle) * u)
    exponent = np.where(lot <= kind.serial + kind.power_of_2, np.floor(exponent + 0.5), exponent)
    nodes = np.where(lot <= kind.serial, 1, np.floor(2**exponent + 0.5))
    return np.clip(nodes, 1, most).astype(np.int32)


def _run_times_s(kind: LublinKind, nodes: Ints, stream: np.random.Generator) -> Floats:
    is_short = stream.random(nodes.size) <= np.clip(kind.slope * nodes + kind.intercept, 0, 1)
    shape, scale = np.where(is_short[:, None], kind.short, kind.long).T
    return np.maximum(np.floor(np.exp(_gamma_up_to(_MOST_LOG_RUN, shape, scale, stream))), 1.0)


def _arrivals_s(kind: LublinKind, p: LublinParameters, stream: np.random.Generator) -> Floats:
    """Instants of arrival: each waits for points that are drawn, and rush hours give more points than others."""
    shape, scale = (np.full(p.n_jobs, value) for value in kind.gap)
    points_s = np.cumsum(p.gap_factor * np.exp(_gamma_up_to(_MOST_LOG_GAP, shape, scale, stream)))
    per_bucket = np.roll(_weights(kind), -p.start_hour * _BUCKETS // 24) * _BUCKET_S
    given_s = np.concatenate(([0.0], np.cumsum(per_bucket)))
    days, left_s = np.divmod(points_s, given_s[-1])
    of_day_s = np.interp(left_s, given_s, _BUCKET_S * np.arange(_BUCKETS + 1))
    return np.asarray(np.floor(days * _BUCKETS * _BUCKET_S + of_day_s))


def _weights(kind: LublinKind) -> Floats:
    """How many jobs arrive in each half hour of the day, of mean 1."""
    from scipy.special import gammainc

    shape, scale = kind.day
    number = np.arange(_FIRST_BUCKET, _FIRST_BUCKET + _BUCKETS)
    share = gammainc(shape, (number + 0.5) / scale) - gammainc(shape, (number - 0.5) / scale)
    weights = np.empty(_BUCKETS)
    weights[(number - 1) % _BUCKETS] = share
    return np.asarray(weights / weights.mean())


def _gamma_up_to(most: float, shape: Floats, scale: Floats, stream: np.random.Generator) -> Floats:
    """Gamma draws, drawn again while they are above `most`."""
    values = stream.gamma(shape, scale)
    over: Bools = values > most
    while over.any():
        values[over] = stream.gamma(shape[over], scale[over])
        over = values > most
    return values


def _problems(p: LublinParameters) -> Iterator[Problem]:
    rules = (
        ("n_jobs", 1 <= p.n_jobs <= MAX_JOBS, f"must be from 1 to {MAX_JOBS:,}"),
        ("kinds", p.kinds in get_args(Kinds), f"must be one of {', '.join(get_args(Kinds))}"),
        ("start_hour", 0 <= p.start_hour < 24, "must be from 0 to 23"),
        ("gap_factor", is_positive(p.gap_factor), "must be above 0"),
        ("power_w", is_not_negative(p.power_w), "must be 0 W or more"),
    )
    yield from broken_rules("workload", p, rules)
