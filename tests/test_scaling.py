"""How cost grows: the line through what was measured, the model of the executor, and the page that tells both."""

from __future__ import annotations

import math
import re
import shutil
import time
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import watching
from benchmarks.executor import (
    AHEAD,
    JOB_S,
    MOST_RUNS,
    Costs,
    Job,
    Seen,
    costs_of,
    least_run_s,
    pace_of,
    predicted,
    simulated,
    steady,
)
from benchmarks.measure import Case, machine, versions
from benchmarks.scaling import CURVES, carried_on
from benchmarks.scaling_page import PAGE, write_page
from benchmarks.slopes import last_slope, line_through
from benchmarks.watching import ENGINES, LENGTHS, POINTS, RUNS_MS, SATURATING, WATCHED, WORKERS
from joulewise.errors import InputError
from joulewise.study.running import work, worker
from joulewise.study.running.engines.processes import Processes

PARTS = re.compile(r"-->\n.*?<!-- end", re.DOTALL)
IMAGES = PAGE.parents[1] / "images"
NOTHING = Costs(0.0, 0.0, 0.0, 0.0)
COSTS = Costs(job_s=0.004, run_s=0.001, worker_job_s=0.03, worker_run_s=0.02)


# --- the line ---------------------------------------------------------------------------------------------------------


def test_a_power_of_the_size_is_found_and_carried_on() -> None:
    line = line_through({size: 3e-6 * size**1.5 for size in (100, 200, 400, 800)})
    assert line.growth == pytest.approx((1.5, 1.5, 1.5))
    assert line.at(10_000) == pytest.approx((3.0, 3.0, 3.0))


def test_the_interval_of_a_slope_is_that_of_ordinary_least_squares() -> None:
    from scipy.stats import linregress, t

    sizes, costs = np.array([1, 2, 4, 8, 16]), np.array([1.0, 2.3, 3.7, 9.1, 14.0])
    line, known = line_through(dict(zip(sizes.tolist(), costs, strict=True))), linregress(np.log(sizes), np.log(costs))
    half = t.ppf(0.975, 3) * known.stderr
    assert line.growth == pytest.approx((known.slope, known.slope - half, known.slope + half))
    assert line.at(1.0).value == pytest.approx(math.exp(known.intercept))


def test_a_cost_that_bends_is_told_by_the_slope_of_the_last_two_sizes() -> None:
    costs = {size: 1 + 1e-4 * size**2 for size in (10, 20, 800, 1_600)}
    assert last_slope(dict(reversed(costs.items()))) == pytest.approx(math.log2(257 / 65), abs=0.002)
    assert last_slope(costs) > line_through(costs).growth.value


def test_one_more_measurement_lies_in_its_interval_as_often_as_it_should() -> None:
    random = np.random.default_rng(1)
    sizes = (100, 200, 400, 800, 1_600)
    inside = 0
    for _ in range(400):
        costs = {size: size * math.exp(random.normal(0, 0.1)) for size in (*sizes, 10_000)}
        found = line_through({size: costs[size] for size in sizes}).at(10_000)
        inside += found.low <= costs[10_000] <= found.high
    assert 0.92 <= inside / 400 <= 0.98


# --- the curves -------------------------------------------------------------------------------------------------------


def test_more_nodes_have_more_jobs() -> None:
    """The same load at every size, so that no site gets a curve of empty nodes."""
    ready = CURVES["jobs"]["nodes"].ready
    few, many = (ready(n, Case())().allocation.start_s.size for n in (2_000, 4_000))  # type: ignore[attr-defined]
    assert many == pytest.approx(2 * few, rel=0.1)


# --- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_workers", [1, 2, 7, 100])
def test_workers_that_cost_nothing_are_always_busy(n_workers: int) -> None:
    assert predicted(0.1, n_workers, NOTHING, points=1) == pytest.approx((1.0, n_workers / 0.1))


@pytest.mark.parametrize("n_runs", [1, 8])
def test_one_worker_waits_for_nothing_but_what_it_does_beside_runs(n_runs: int) -> None:
    seconds = 0.5 * n_runs
    seen = simulated([Job(n_runs, seconds)] * 20, 1, COSTS)
    beside_s = COSTS.worker_job_s + n_runs * COSTS.worker_run_s
    first_s = COSTS.job_s / 2 + seconds + beside_s
    stored_s = COSTS.job_s / 2 + n_runs * COSTS.run_s
    assert [each.at_s for each in seen] == pytest.approx(
        [first_s + i * (seconds + beside_s) + stored_s for i in range(20)]
    )
    assert pace_of(seen, 1).busy == pytest.approx(seconds / (seconds + beside_s))


@pytest.mark.parametrize("n_runs", [1, 8])
def test_a_coordinator_that_is_never_idle_sets_the_pace(n_runs: int) -> None:
    n_workers, cost_s = 100, COSTS.job_s + n_runs * COSTS.run_s
    seen = simulated([Job(n_runs, 0.01 * n_runs)] * 100 * n_workers, n_workers, COSTS)
    found = pace_of(seen, n_workers)
    assert found.runs_per_s == pytest.approx(n_runs / cost_s, rel=0.01)
    assert found.busy == pytest.approx(0.01 * n_runs / (n_workers * cost_s), rel=0.01)
    assert seen[-1].at_s == pytest.approx(seen[-1].spent_s, rel=0.01)


def test_between_both_workers_get_what_the_coordinator_leaves() -> None:
    """As many workers as one coordinator can just serve: more of them do not help."""
    only = Costs(0.01, 0.0, 0.0, 0.0)
    busy = [predicted(0.1, n_workers, only, points=1).busy for n_workers in (5, 10, 20, 40)]
    assert busy == pytest.approx([1, 1, 0.5, 0.25], rel=0.02)
    assert least_run_s(100, only, points=1) == pytest.approx(0.9 * 100 * 0.01, rel=0.03)
    cheap = only._replace(job_s=JOB_S / 1_000)  # jobs of so many seconds, of 100 runs, are cheap enough
    assert least_run_s(100, cheap, points=100) == pytest.approx(0.9 * 100 * cheap.job_s / 100, rel=0.05)


def test_every_job_is_stored_once_and_no_more_are_out_than_are_allowed() -> None:
    jobs = [Job(1 + i % 3, 0.01 * (1 + i % 5)) for i in range(50)]
    seen = simulated(jobs, 4, COSTS)
    assert sorted(each.job for each in seen) == sorted(jobs)
    assert all(after.at_s > before.at_s for before, after in pairwise(seen))
    longest_s = max(job.seconds + COSTS.worker_job_s + job.n_runs * COSTS.worker_run_s for job in jobs)
    assert seen[-1].at_s <= longest_s * math.ceil(len(jobs) / 4) + seen[-1].spent_s


def test_costs_are_found_again_in_what_they_let_be_seen() -> None:
    small, large = (steady(simulated([Job(n, 0.2 * n)] * 30, 1, COSTS), 1) for n in (1, 16))
    assert tuple(costs_of(small, large)) == pytest.approx(tuple(COSTS))


def test_only_what_lies_in_the_window_counts_of_a_job() -> None:
    """A second worker that loads kernels with its first job: nobody is busy for more than all of the time."""
    one = [Seen(float(at_s), 0.0, Job(1, 1.0)) for at_s in range(1, 41)]
    other = [Seen(20.5, 0.0, Job(1, 20.5)), *(Seen(at_s + 0.5, 0.0, Job(1, 1.0)) for at_s in range(21, 40))]
    assert pace_of(sorted([*one, *other]), 2).busy == pytest.approx(1.0)


def test_imaginary_workers_answer_when_their_time_is_over() -> None:
    """Whole studies of the real executor: each job once, no sooner than the workers could have done it."""
    engine = watching._WatchedImaginary(3, 0.02, {"status": "done"})
    began_s = time.perf_counter()
    seen = watching._seen_of(watching.study_of(12, Case()), engine, 3, 1)
    assert [each.job for each in seen] == [Job(1, 0.02)] * 12
    assert seen[-1].at_s - began_s >= 4 * 0.02
    assert all(after.at_s >= before.at_s for before, after in pairwise(seen))


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_busy_for_more_than_all_of_the_time(seed: int) -> None:
    random = np.random.default_rng(seed)
    jobs = [Job(1, random.exponential(0.05)) for _ in range(200)]
    n_workers, costs = int(random.integers(1, 12)), Costs(*random.uniform(0, 0.02, 4))
    assert 0 < pace_of(simulated(jobs, n_workers, costs), n_workers).busy <= 1 + 1e-9


@pytest.mark.thorough("starts processes and takes seconds")
def test_every_process_has_done_a_job_before_any_is_watched(tmp_path: Path) -> None:
    """No window begins with the loading of kernels by a process that was late."""
    engine = watching._WatchedProcesses(2)
    with engine:
        engine.warm(worker.Job((), tmp_path, tmp_path))
        assert engine.seen == []
        assert engine._pool is not None
        assert all(process.is_alive() for process in engine._pool._processes.values())
        assert len(engine._pool._processes) == 2


def test_the_model_hands_out_jobs_as_the_executor_does() -> None:
    assert (work._MOST_S, Processes.most_runs) == (JOB_S, MOST_RUNS)
    assert Processes(3).n_ahead == 3 * AHEAD


# --- the page ---------------------------------------------------------------------------------------------------------


def made_up() -> dict[str, float]:
    """A whole result's figures, every curve with a slope of 1."""
    figures: dict[str, float] = {"bytes.row": 50.0, "memory.no_runs.mb": 100.0, "memory.run.bytes": 400.0}
    for name, curve in ((name, curve) for curves in CURVES.values() for name, curve in curves.items()):
        costs = {at: at / 1e3 for at in curve.sizes}
        figures |= {f"{name}.{at}.s": cost for at, cost in costs.items()} | carried_on(name, costs, curve.beyond)
    for name in ENGINES:
        figures |= {f"cost.{name}.{each}_ms": 1e3 * value for each, value in COSTS._asdict().items()}
        for length, n in product(LENGTHS, WATCHED):
            figures |= {f"workers.{name}.{length}.{n}.{each}": 0.5 for each in ("run_ms", "busy", "model")}
        for points, n in product(POINTS, WORKERS):
            place = f"model.{name}.{points}.{n}"
            figures |= {f"{place}.{ms}_ms.{each}": 50.0 for ms in RUNS_MS for each in ("busy", "runs_per_s")}
            figures[f"{place}.least_run_s"] = 0.5
    for n in (1, *SATURATING):
        figures |= {f"saturated.{n}.{each}": 1234.0 for each in ("job_ms", "measured", "model")}
    return figures


def result_of(figures: dict[str, float]) -> dict[str, Any]:
    return {"figures": figures, "machine": machine(), "versions": versions(), "seed": 0}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A copy of the page, in folders like those of the docs."""
    folder = tmp_path / "docs" / "explanation"
    folder.mkdir(parents=True)
    return Path(shutil.copy(PAGE, folder))


def test_the_page_tells_what_was_measured_and_what_was_computed(page: Path) -> None:
    before = page.read_text()
    write_page(result_of(made_up()), page)
    text = page.read_text()
    assert "| planning a study | runs | 10,000 to 320,000 | 10 s to 320 s | 1.00 (1.00 to 1.00) | 1.00 |" in text
    assert "| 10,000 machines | 10 s (10 s to 10 s) | computed from the slope, measured up to 1,600 |" in text
    assert "| 10,000 nodes | 10 s | measured |" in text
    assert "| planning a study, in all | 2.78 hours (2.78 hours to 2.78 hours) |" in text
    assert (
        "| runs of 0.1 s on 1,000 workers, points in a world: 1; with storing | 2.43 days |" in text
    )  # 2.31 and 0.116
    assert "| memory of a process that plans one study of a million | 504.9 MB |" in text
    assert PARTS.sub("", text) == PARTS.sub("", before)
    images = {path.name for path in (page.parents[1] / "images").iterdir()}
    assert images == {"scaling-curves.png", "scaling-workers.png"} == {path.name for path in IMAGES.glob("scaling-*")}


def test_figures_of_models_have_few_digits_and_none_is_a_cost_of_zero(page: Path) -> None:
    none = {"cost.dask.worker_run_s_ms": 0.0, "model.dask.1.10.10_ms.busy": 0.17123, "cost.dask.job_s_ms": 5.4567}
    write_page(result_of({**made_up(), **none}), page)
    text = page.read_text()
    assert "| worker, each run beside its computing | 20 | not measurable |" in text
    assert "| coordinator, each job | 4 | 5.46 |" in text
    assert "| 1 | 10 | 17 %, 50 a second |" in text
    assert "| 1,000 | 1,230 | 1,230 | 1,230 |" in text


def test_a_page_without_a_part_is_refused_unwritten(page: Path) -> None:
    text = (
        page.read_text().replace("<!-- scaling site -->", "").replace("<!-- scaling study -->", "<!-- scaling of -->")
    )
    page.write_text(text)
    with pytest.raises(InputError) as caught:
        write_page(result_of(made_up()), page)
    assert [problem.found.split()[1] for problem in caught.value.problems] == ["of,", "site,", "study,"]
    assert page.read_text() == text
