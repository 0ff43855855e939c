"""How a site's Slurm goes through jobs, by its settings."""

from __future__ import annotations

import math

import pytest

from joulewise.errors import InputError
from joulewise.model.passes import USUAL
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.worlds.clock import NO_CLOCK, Clock
from joulewise.worlds.jobs.sites.passes import passes_of
from joulewise.worlds.jobs.sites.site import NodeGroup, Setting, SiteTables
from tests.strategies.job_worlds import trace_world


def site(**slurm: Setting) -> SiteTables:
    return SiteTables(name="s", nodes=(NodeGroup(name="cpu", count=1, cores=1),), slurm=slurm)


def test_settings_that_are_left_out_are_those_of_slurm() -> None:
    assert passes_of(site(), NO_CLOCK) == USUAL


def test_settings_are_in_the_units_of_slurm() -> None:
    found = passes_of(
        site(bf_interval=10, bf_resolution=300, bf_window=60, default_queue_depth=7, bf_max_job_test=9),
        Clock(zero_s=1000.0),
    )
    assert (found.interval_s, found.resolution_s, found.window_s) == (10.0, 300.0, 3600.0)
    assert (found.n_first, found.n_tested, found.clock_s) == (7, 9, 100.0)


@pytest.mark.parametrize("slurm", [{"bf_interval": -1}, {"schedulertype": "sched/builtin"}])
def test_backfilling_may_be_off(slurm: dict[str, Setting]) -> None:
    assert passes_of(site(**slurm), NO_CLOCK).interval_s == math.inf


def test_passes_need_a_site() -> None:
    with pytest.raises(InputError, match=r"in a world without a site.*describe the site"):
        simulate_jobs(trace_world([(0, 1, 1)]), Scheduler(JOB_POLICIES["easy"], passes="slurm"))


@pytest.mark.parametrize(("said", "every_s"), [(-1, math.inf), (0, 1.0), (90, 90.0)])
def test_passes_over_the_whole_queue_may_be_off(said: int, every_s: float) -> None:
    assert passes_of(site(sched_interval=said), NO_CLOCK).full_s == every_s
