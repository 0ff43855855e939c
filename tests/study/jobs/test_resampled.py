"""Studies of resampled logs: what comes first, differences of pairs with the spread of resamples, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.cli.result import show_summary
from joulewise.confidence import student_quantile_of
from joulewise.errors import InputError
from joulewise.model.supply import DAY_S
from joulewise.present.curves import _mean_curve
from joulewise.present.page import drawable, page_of
from joulewise.present.results import findings_of, records_of
from joulewise.present.tables import Table
from joulewise.study import Results, Study, compare, parse_study, run_study, verify
from joulewise.study.answers.query import query
from joulewise.study.spec.trials import BLOCKS
from joulewise.units import duration
from tests.worlds.jobs.test_traces import HEADER, line

MINE = '''
import joulewise as jw


@jw.jobs.policy()
def mine(event):
    """It never comes to that."""
    raise ValueError("not today")
'''
N_TRIALS, N_BLOCKS = 6, 8
LUBLIN = 'generator = "lublin"\nn_jobs = 20\n[system]\ngenerator = "clusters"'
STUDY = f"""
name = "resampled"
trials = {N_TRIALS}
bound = "trivial"

[workload]
trace = "log.swf"
resample = "1 d"

[scheduler]
policy = "easy"

[[variant]]
name = "as it is"

[[variant]]
name = "larger"
workload.machine_processors = 20

[[variant]]
name = "in order"
scheduler.policy = "fcfs"
"""


def study_in(folder: Path, text: str = STUDY, n_days: int = 9) -> Study:
    """A study of a log with six jobs a day, more of them late than early."""
    rng = np.random.default_rng(3)
    submit_s = np.sort([day * DAY_S + 3600 * rng.random() for day in range(n_days) for _ in range(6)]).astype(int)
    sizes, run_s = rng.integers(4, 16, submit_s.size), rng.integers(600, 9000, submit_s.size)
    jobs = [
        line(n + 1, at - submit_s[0], run=run, asked=size, used=size, request=2 * run)
        for n, (at, size, run) in enumerate(zip(submit_s, sizes, run_s, strict=True))
    ]
    (folder / "log.swf").write_text(HEADER + "\n".join(jobs))
    (folder / "rules.toml").write_text('[[rule]]\nname = "all"\nmax_utility = 2.0\n')
    return parse_study(text, "resampled.toml", folder, check_inputs=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("resampled")
    return run_study(study_in(folder), folder / "results", workers=1)


def tables_of(results: Results) -> list[Table]:
    return page_of("jobs").tables(records_of(results))


def values_of(results: Results, variant: str, metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return results.runs.filter(pl.col("variant") == variant).sort("trial")[metric].to_numpy()


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("metric", ["mean_wait_s", "busy_percent"])
def test_differences_are_of_pairs_and_as_wide_as_resamples_spread(results: Results, metric: str) -> None:
    gaps = values_of(results, "larger", metric) - values_of(results, "as it is", metric)
    assert gaps.size == N_TRIALS
    quantile = student_quantile_of(1 / (1 / (N_TRIALS - 2) + 1 / (N_BLOCKS - 1)))
    assert quantile is not None
    half = quantile * gaps[1:].std(ddof=1) * math.sqrt(N_BLOCKS / (N_BLOCKS - 1))
    told = results.differences([metric]).filter(variant="larger", against="as it is").row(0, named=True)
    found = compare(*(f"{results.folder}:variant={name}" for name in ("as it is", "larger")), metrics=[metric])
    compared = found.differences.row(0, named=True)
    for mean, row in ((told["mean"], told), (compared["difference"], compared)):
        assert (mean, row["low"], row["high"]) == pytest.approx((gaps[0], gaps[0] - half, gaps[0] + half))
    assert (compared["effect"], compared["reason"]) == (None, None)
    is_sure = not compared["low"] <= 0 <= compared["high"]
    assert (compared["p"] <= 0.05) == is_sure
    assert any("resamples of one log" in note for note in found.notes)


def test_the_report_tells_the_same_differences(results: Results) -> None:
    tables = {table.caption: table for table in tables_of(results)}
    (table,) = (table for caption, table in tables.items() if caption.startswith("Difference from as it is"))
    gaps = values_of(results, "larger", "busy_percent") - values_of(results, "as it is", "busy_percent")
    cell = dict(table.rows)["larger"][table.columns.index("Cores busy (%)")].text
    assert float(cell.partition(" ± ")[0].replace("\N{MINUS SIGN}", "-")) == pytest.approx(gaps[0], abs=0.51)


def test_what_is_shown_is_what_came_out_of_the_log(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    logged_s = values_of(results, "as it is", "mean_wait_s")[0]
    row = results.summary(["mean_wait_s"]).row(by_predicate=pl.col("variant") == "as it is", named=True)
    assert (row["mean"], row["n"]) == (logged_s, N_TRIALS)
    show_summary(results, None)
    out = capsys.readouterr().out
    assert duration(logged_s) in out
    assert "the log itself, 95 % interval by resamples" in out
    frame = query(results.folder, "SELECT DISTINCT log_blocks FROM runs")
    assert frame["log_blocks"].to_list() == [N_BLOCKS]


def test_waits_are_held_against_those_of_the_log_alone(tmp_path: Path) -> None:
    kept = STUDY.partition("[[variant]]")[0].replace(f"trials = {N_TRIALS}", 'trials = 3\nkeep = "all"')
    found = run_study(study_in(tmp_path, kept), tmp_path / "kept", workers=1)
    first = found.runs.filter(trial=0)["run"].to_list()
    assert found.details("jobs")["run"].n_unique() == 3
    assert all(found.details(table)["run"].unique().to_list() == first for table in ("waits", "logged"))


def test_resamples_that_all_failed_are_shown_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    failing = STUDY.partition("[[variant]]")[0].replace('"easy"', '"mine.py:mine"')
    failed = run_study(study_in(tmp_path, failing), tmp_path / "failed", workers=1)
    assert failed.failed.height == N_TRIALS
    show_summary(failed, None)
    assert "one trial: no intervals" in capsys.readouterr().out
    assert findings_of(failed)


def test_two_trials_are_too_few_for_a_test(tmp_path: Path) -> None:
    two = study_in(tmp_path, STUDY.replace(f"trials = {N_TRIALS}", "trials = 2"))
    few = run_study(two, tmp_path / "few", workers=1)
    row = compare(f"{few.folder}:variant=as it is", f"{few.folder}:variant=larger", metrics=["busy_percent"])
    assert row.differences.select("n", "low", "p", "verdict", "reason").row(0) == (
        2, None, None, None, "too few resamples or blocks"
    )  # fmt: skip


def test_resamples_and_drawn_worlds_are_no_pairs(results: Results, tmp_path: Path) -> None:
    drawn = STUDY.partition("[[variant]]")[0].replace('trace = "log.swf"\nresample = "1 d"', LUBLIN)
    other = run_study(study_in(tmp_path, drawn), tmp_path / "drawn", workers=1)
    found = compare(f"{results.folder}:variant=as it is", other, metrics=["mean_wait_s"])
    assert found.differences["pairing"].to_list() == ["unpaired"]
    mean = other.runs["mean_wait_s"].mean() - values_of(results, "as it is", "mean_wait_s")[0]
    assert found.differences["difference"].to_list() == pytest.approx([mean])


def test_curves_are_those_of_the_log_and_bands_as_wide_as_resamples_spread(results: Results) -> None:
    ends = {"a": (0, 10.0), "b": (1, 8.0), "c": (2, 12.0)}
    rows = pl.DataFrame(
        [{"run": run, "trial": trial, BLOCKS: 5, "at_s": at_s, "used": end * at_s / 3600}
         for run, (trial, end) in ends.items() for at_s in (0.0, 3600.0)]
    )  # fmt: skip
    *_, last = _mean_curve(records_of(results), rows, "used")
    quantile = student_quantile_of(1 / (1 / 1 + 1 / 4))
    assert quantile is not None
    assert (last.x, last.y, last.high) == pytest.approx((1, 10, 10 + quantile * math.sqrt(8 * 5 / 4)))


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_waits_come_first_where_no_rules_give_worth(results: Results, tmp_path: Path) -> None:
    assert [column.name for column in results.study.first_columns][:3] == ["mean_wait_s", "median_wait_s", "p95_wait_s"]
    assert results.headline.name == "mean_wait_s"
    assert "energy_j" not in {column.name for column in results.study.first_columns}
    assert not any(table.caption == "Energy" or "Energy" in table.columns for table in tables_of(results)[:2])
    assert drawable(records_of(results))[0].name == "waits-by-scheduler"
    assert not any("earned" in finding.lead for finding in findings_of(results))
    ruled = study_in(tmp_path, STUDY.replace("resample =", 'rules = "rules.toml"\nresample ='))
    assert ruled.first_columns[0].name == "possible_percent"


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_logs_have_a_bound_where_rules_or_the_study_say_so(tmp_path: Path) -> None:
    plain = STUDY.replace('bound = "trivial"\n', "")
    ruled = plain.replace("resample =", 'rules = "rules.toml"\nresample =')
    assert [study_in(tmp_path, text).bound for text in (STUDY, plain, ruled)] == ["trivial", "none", "prices"]
    found = run_study(study_in(tmp_path, plain.partition("[[variant]]")[0]), tmp_path / "unbound", workers=1)
    assert found.runs["bound"].unique().to_list() == ["none"]
    assert found.runs["utility_bound"].null_count() == N_TRIALS
    assert all(not verdict.problems for verdict in verify(found.folder, files=tmp_path))
    energy = next(figure for figure in drawable(records_of(found)) if figure.name == "clusters-over-time")
    assert "rules that come with the package" in energy.draw(records_of(found)).caption


def test_the_best_of_waits_is_the_least(results: Results) -> None:
    means = {name: values_of(results, name, "mean_wait_s")[0] for name in ("as it is", "in order")}
    standing = dict(results.leaders("mean_wait_s").select("variant", "standing").iter_rows())
    assert standing[min(means, key=means.__getitem__)] == "best"


def test_worlds_of_trials_are_common_and_come_out_again(results: Results) -> None:
    worlds = results.runs.group_by("trial").agg(pl.col("world").n_unique())
    assert set(worlds["world"]) == {2}  # of a machine of each size
    assert results.runs["world"].n_unique() == 2 * N_TRIALS
    assert all(not verdict.problems for verdict in verify(results.folder, files=results.study.folder))


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_check_tells_what_trials_draw(tmp_path: Path) -> None:
    def warned(text: str) -> str:
        return " ".join(map(str, study_in(tmp_path, text).warnings))

    assert "a resample is 9 blocks, each drawn from 8 with replacement" in warned(STUDY)
    assert "blocks are of whole days, so it is in the first trial alone" in warned(STUDY)
    assert "found 8 blocks that fit side by side; how wide intervals of fewer than 10 are" in warned(STUDY)
    assert "found 5 resamples; the spread of fewer than 20 is not known well enough to say 95 %" in warned(STUDY)
    whole = STUDY.replace('"1 d"', '"1 d"\nspan = "12 d"').replace(f"trials = {N_TRIALS}", "trials = 31")
    told = warned(whole)
    assert "a resample is 12 blocks, each drawn from 12 with replacement" in told
    assert "resamples have such days without jobs as well" in told
    assert not any(what in told for what in ("how wide", "not known", "first trial alone"))
    assert "the only trial is the log itself" in warned(STUDY.replace(f"trials = {N_TRIALS}", "trials = 1"))
    assert "one such block, so trials are all alike" in warned(STUDY.replace('"1 d"', '"8 d"'))
    assert "found 1 day at the end" in warned(STUDY.replace('"1 d"', '"7 d"'))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (f"trials = {N_TRIALS}", 'trials = "until 1 %"', "resamples of one sample"),
        ('"1 d"', '"10 d"', "found blocks of 10 days; must not be longer .* 8 whole days"),
        ('"1 d"', '"36 h"', "must be whole days"),
        ('"1 d"', '"0 d"', "must be whole days"),
        ('trace = "log.swf"', 'generator = "lublin"', "no such key"),
    ],
)
def test_what_cannot_be_resampled_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        study_in(tmp_path, STUDY.replace(old, new))


def test_tuning_by_waits_says_so(tmp_path: Path) -> None:
    tuned = STUDY.partition("[[variant]]")[0] + "reservations_for = [1, 2]\n[tune]\n"
    with pytest.raises(InputError, match='give metric, and best = "lowest"'):
        study_in(tmp_path, tuned)
    assert len(study_in(tmp_path, f'{tuned}metric = "mean_wait_s"\nbest = "lowest"\n').points) == 2
