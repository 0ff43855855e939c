"""Resamples of logs: blocks of whole days, jobs as they are logged, hours and weekdays in their places."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model.supply import DAY_S
from joulewise.worlds.jobs.resample import Blocks
from joulewise.worlds.jobs.trace_jobs import TraceJobs
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace
from tests.worlds.jobs.test_traces import HEADER, line

_WEEK_S = 7 * DAY_S


def jobs_of(submit_s: list[int]) -> TraceJobs:
    """Jobs submitted then, each with a run time that tells it from all others."""
    at_s, run_s = (np.array(times, np.float64) for times in (submit_s, range(1, len(submit_s) + 1)))
    log = pl.DataFrame(
        {"job_id": [str(n) for n in range(len(submit_s))], "after_job": [None, *map(str, range(len(submit_s) - 1))],
         "submit_s": submit_s},
        schema_overrides={"after_job": pl.String},
    )  # fmt: skip
    return TraceJobs(at_s, run_s, 2 * run_s, 2 * run_s, np.arange(len(submit_s)), log, at_s[-1])


LOGS = st.lists(st.integers(0, int(40 * DAY_S)), min_size=1, max_size=30).map(lambda at: jobs_of(sorted([0, *at])))


@given(jobs=LOGS, days=st.integers(1, 40), seed=st.integers(0, 5), trial=st.integers(1, 5))
def test_resampled_jobs_are_those_of_the_log_moved_by_whole_days(
    jobs: TraceJobs, days: int, seed: int, trial: int
) -> None:
    n_whole = int(jobs.end_s // DAY_S)
    assume(n_whole)
    blocks = Blocks.of(jobs.end_s, DAY_S * min(days, n_whole))
    try:
        drawn = blocks.resampled(jobs, blocks.drawn(seed, trial))
    except InputError:
        return  # no job is in these blocks
    row = (drawn.run_s - 1).astype(int)
    moved_s = drawn.submit_s - jobs.submit_s[row]
    assert not (moved_s % (_WEEK_S if blocks.length % 7 == 0 else DAY_S)).any()
    assert (np.diff(drawn.submit_s) >= 0).all()
    assert 0 <= drawn.submit_s[0] <= drawn.submit_s[-1] < jobs.end_s
    assert (jobs.submit_s[row] < n_whole * DAY_S).all()  # no job of a day that is not whole
    assert np.array_equal(drawn.log["submit_s"].to_numpy(), drawn.submit_s)
    for name in ("requested_s", "planned_s", "cores"):
        assert np.array_equal(getattr(drawn, name), getattr(jobs, name)[row])
    place = (drawn.submit_s // (blocks.length * DAY_S)).astype(int)
    names = zip(row.tolist(), place.tolist(), strict=True)
    assert drawn.log["job_id"].to_list() == [f"{job}@{block + 1}" for job, block in names]


@given(LOGS)
def test_one_block_of_all_days_is_the_log(jobs: TraceJobs) -> None:
    n_days = int(jobs.end_s // DAY_S) + 1
    blocks = Blocks.of(n_days * DAY_S, n_days * DAY_S)  # as if a span said that its last day is whole
    drawn = blocks.resampled(jobs, blocks.drawn(0, 1))
    assert all(np.array_equal(*pair) for pair in zip(drawn[:5], jobs[:5], strict=True))


def test_a_day_that_is_not_whole_is_not_drawn_and_the_last_block_ends_where_the_log_does() -> None:
    hours = [0, 20, 24, 44, 48, 50]  # the third day lasts two hours
    jobs = jobs_of([3600 * hour for hour in hours])
    blocks = Blocks.of(jobs.end_s, DAY_S)
    assert (blocks.n_days, blocks.tail_s, list(blocks.places), list(blocks.first_days)) == (2, 7200, [0, 1, 2], [0, 1])
    drawn = blocks.resampled(jobs, np.array([1, 0, 1]))
    assert (drawn.submit_s / 3600).tolist() == [0, 20, 24, 44, 48]
    assert drawn.log["job_id"].to_list() == ["2@1", "3@1", "0@2", "1@2", "2@3"]


@pytest.mark.parametrize(
    ("keys", "n_days", "tail_h"),
    [
        ({}, 6, 1),  # the last job comes at 1 o'clock on the seventh day
        ({"span_s": 7 * DAY_S}, 7, 0),
        ({"span_s": 3.5 * DAY_S}, 3, 12),
        ({"span_s": 10 * DAY_S}, 10, 0),
        ({"from_s": 1800.0, "span_s": 2 * DAY_S}, 1, 23.5),  # days count from the first job, half an hour later
    ],
)
def test_a_log_is_as_long_as_its_span_or_as_its_jobs_say(
    keys: dict[str, Any], n_days: int, tail_h: float, tmp_path: Path
) -> None:
    log_of_days(tmp_path, 7)
    blocks = load_trace(TraceParameters(trace="log.swf", resample_s=DAY_S, **keys), None, tmp_path).blocks
    assert blocks is not None
    assert (blocks.n_days, blocks.tail_s / 3600) == (n_days, tail_h)


def log_of_days(folder: Path, n_days: int) -> None:
    """Two jobs a day, of which the second follows the first, and that the last one of the day before."""
    jobs = [
        line(2 * day + n + 1, int(day * DAY_S) + 3600 * n, run=10 + day, after=2 * day + n, think=0)
        for day in range(n_days)
        for n in range(2)
    ]
    (folder / "log.swf").write_text(HEADER + "\n".join(jobs))


def loaded(folder: Path, trial: int, seed: int = 7, **keys: Any) -> Trace:
    return load_trace(TraceParameters(trace="log.swf", resample_s=7 * DAY_S, **keys), None, folder, seed, trial)


def test_a_trial_is_the_same_whatever_else_varies_and_the_first_is_the_log(tmp_path: Path) -> None:
    log_of_days(tmp_path, 35)
    plain = load_trace(TraceParameters(trace="log.swf"), None, tmp_path)
    first, second, third = (loaded(tmp_path, trial) for trial in range(3))
    assert first.jobs.work.arrival_s.tolist() == plain.jobs.work.arrival_s.tolist()
    assert first.job_id.equals(plain.job_id)
    assert not second.job_id.equals(third.job_id)
    assert second.clock == third.clock == plain.clock
    others = ({"requested_scale": 0.5}, {"machine_processors": 99}, {"planned": "true"})
    assert all(loaded(tmp_path, 1, **other).job_id.equals(second.job_id) for other in others)
    assert not loaded(tmp_path, 1, seed=8).job_id.equals(second.job_id)


def test_jobs_that_follow_one_of_another_block_follow_none_and_are_counted(tmp_path: Path) -> None:
    log_of_days(tmp_path, 35)
    trace = loaded(tmp_path, 1)
    n_cut = {finding.key: finding.n for finding in trace.findings}["follows an absent job"]
    job, block = zip(*(map(int, name.split("@")) for name in trace.job_id), strict=True)
    firsts = [job[block.index(each)] for each in range(1, 6)]
    assert n_cut == sum(first != 1 for first in firsts)
    assert trace.jobs.conditions is not None
    after, _ = trace.jobs.conditions.one_before(trace.jobs.n_jobs)
    followers = [row for row, other in enumerate(after) if other >= 0]
    assert len(followers) == len(job) - len(firsts)
    assert all((job[row] - 1, block[row]) == (job[after[row]], block[after[row]]) for row in followers)


def test_blocks_longer_than_the_log_are_refused(tmp_path: Path) -> None:
    log_of_days(tmp_path, 6)
    with pytest.raises(InputError, match=r"workload\.resample: found blocks of 7 days; must not .* 5 whole days"):
        loaded(tmp_path, 0)


@pytest.mark.parametrize("block_s", [0.0, -DAY_S, 1.5 * DAY_S, 3600.0, math.inf, math.nan])
def test_blocks_are_whole_days(block_s: float) -> None:
    with pytest.raises(InputError, match="must be whole days"):
        TraceParameters(trace="log.swf", resample_s=block_s)


def test_a_resample_without_a_job_is_refused() -> None:
    jobs = jobs_of([0, int(30 * DAY_S)])
    with pytest.raises(InputError, match="found no job in the blocks"):
        Blocks.of(jobs.end_s, DAY_S).resampled(jobs, np.full(30, 3))


def test_days_that_no_block_reaches_are_told() -> None:
    blocks = Blocks.of(16.5 * DAY_S, _WEEK_S)
    assert (list(blocks.first_days), blocks.n_left_out, blocks.n_apart) == ([0, 7], 2, 2)
