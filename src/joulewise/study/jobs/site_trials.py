"""Small worlds of a site in which policies are checked: with nodes that fail, hours, a power cap and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from joulewise.model.arrays import Ints
from joulewise.model.clusters import Clusters, JobTypes
from joulewise.model.failures import NodeFailures
from joulewise.model.hours import Hours
from joulewise.model.jobs import Jobs, JobWorld, Label
from joulewise.model.kept import KeptNodes
from joulewise.model.site import Demands, NodePower, Site, no_limits
from joulewise.model.site_power import least_w
from joulewise.model.supply import Supply
from joulewise.model.utility import UtilityShapes, constant, linear, step
from joulewise.model.workload import Workload
from joulewise.rng import generator

_LENGTH_S = 40_000.0


def site_trials(n_jobs: int) -> Mapping[str, JobWorld]:
    """Worlds of so many jobs by what is there."""
    world = small_site_world(n_jobs)
    assert world.site is not None
    away = replace(world.site, failures=_failures(), hours=_hours(), kept=_maintenance())
    cap, budget = Supply(cap_w=np.array([460.0, 380.0])), Supply(3e6, day_s=10_000.0)
    return {
        "a site": world,
        "a site with failures, maintenance and hours": replace(world, site=away),
        "a site with a power cap": replace(world, supply=cap),
        "a site with a budget": replace(world, supply=budget),
    }


def small_site_world(n_jobs: int) -> JobWorld:
    """Jobs of three kinds on a site of two groups of nodes, which draw power; most end before they are planned to."""
    site, rng = _site(), generator(n_jobs, "study.jobs.site_trials")
    asked = _demands(site, rng.integers(0, 3, n_jobs, np.int32))
    planned_s = 100.0 * rng.integers(5, 60, n_jobs).astype(np.float64)
    first, one = np.arange(n_jobs + 1), np.zeros(n_jobs, np.int32)
    power_w, cores = least_w(site, asked)[asked.of_job], asked.units[asked.of_job].astype(np.int32)
    types = JobTypes((), first, one, one.astype(np.int8), cores, np.ceil(0.7 * planned_s), planned_s, power_w)
    arrival_s = np.sort(rng.integers(0, 250 * n_jobs, n_jobs)).astype(np.float64)
    shape = rng.integers(0, 3, n_jobs, np.int32)
    shapes = UtilityShapes.of([constant(), linear(40_000.0), step(9000.0)])
    scale, end_s = rng.choice([1.0, 2.0, 4.0], n_jobs), 250.0 * n_jobs + _LENGTH_S
    work = Workload(arrival_s, first[:-1].astype(np.int32), shape, scale, np.zeros(n_jobs), shapes, 0.0, end_s)
    users = {"user": Label(("ann", "bob"), rng.integers(-1, 2, n_jobs, np.int32))}
    clusters = Clusters(("site",), np.array([32]), np.array([1]), np.array([1]))
    return JobWorld(clusters, types, Jobs(work, labels=users, demands=asked), site=site)


def _site() -> Site:
    """Two nodes of 4 processors that are shared, and three of 8 that are given as wholes as well."""
    power = NodePower(np.array([40.0, 60.0]), np.array([[10.0, 0.0], [8.0, 0.5]]))
    return Site(
        ("cores", "memory"), ("old", "new"), np.array([2, 3]), np.array([[4, 8], [8, 16]]), np.array([1, 2]),
        ("shared", "whole"), np.array([[True, True], [False, True]]), np.array([0, 1]), np.array([False, True]), (),
        np.empty(0, np.int64), power=power,
    )  # fmt: skip


def _demands(site: Site, of_job: Ints) -> Demands:
    """Four processors wherever they are, three with much memory on one node, and two whole nodes."""
    return Demands(
        of_job, np.array([0, 0, 1]), np.array([4, 1, 2]), np.array([8, 1, 1]),
        np.array([[[1, 1], [1, 1]], [[3, 6], [3, 6]], site.capacity]), np.array([[1, 1], [1, 1], [0, 1]]),
        np.empty((3, 0), np.int64), no_limits(of_job.size, 3),
    )  # fmt: skip


def _failures() -> NodeFailures:
    return NodeFailures(np.array([0, 1]), np.array([1, 0]), np.array([1500.0, 2500.0]), np.array([6000.0, 4000.0]))


def _maintenance() -> KeptNodes:
    """A node that is serviced."""
    return KeptNodes(
        ("service",), np.array([5000.0]), np.array([9000.0]), np.array([0]), np.array([1]), np.array([2])
    )  # fmt: skip


def _hours() -> Hours:
    """Whole nodes are given at some hours alone."""
    return Hours(np.array([0.0, 2000.0, 8000.0, 9000.0]), np.ones(4, np.int32), np.array([False, True, False, True]))
