"""Tuned values: the best is chosen where that is easy, never judged by what chose it, and always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.present.results import write_report
from joulewise.study import Progress, Study, compare, open_results, run_study
from joulewise.study.answers.export import to_export
from joulewise.study.answers.rounds import first_shares, next_shares
from joulewise.study.answers.tables import stored_tables
from joulewise.study.answers.tuned import tuning_means
from joulewise.study.running.estimate import estimate
from joulewise.study.spec.trials import FIRST_TUNING, Share
from joulewise.study.verifying.verification import verify
from tests.strategies.queues import queue, with_queues
from tests.strategies.small import lasting

PACES = "pace = [1.0, 1.1, 0.5, 1.2, 1.3, 1.4, 1.5, 1.6]"
TUNE = '[tune]\nkeys = ["system.pace"]\ntrials = 2\n'


@pytest.fixture(autouse=True)
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from with_queues(monkeypatch)


def tuned(more: str = "", trials: str = "6", tune: str = TUNE, system: str = PACES) -> Study:
    return queue(trials, system=system, change=lambda text: text + tune + more)


def last_shares(study: Study, value: Callable[[int, int], float | None]) -> tuple[Share, ...]:
    """The trials that points have in the end, given what comes out of a point in a trial."""
    shares = first_shares(study)
    while True:
        rows = [
            {"point": point, "trial": trial, "world": f"{point} {trial}", "mean_wait_s": value(point, trial)}
            for point, share in enumerate(shares)
            for trial in share.numbers()
        ]
        told = pl.DataFrame(rows, infer_schema_length=None)
        further = next_shares(study, shares, lambda told=told: told)  # type: ignore[misc]
        if further is None:
            return shares
        shares = further


def test_the_worse_half_is_dropped_and_the_better_half_gets_twice_the_trials() -> None:
    shares = last_shares(tuned(), lambda point, _: float(point))
    # points are by pace, the two rules of each together
    assert [share.tuning for share in shares] == [2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8]
    assert [share.judging for share in shares] == [0] * 14 + [6, 6]


def test_of_three_one_goes_on_and_the_lowest_may_be_best() -> None:
    shares = last_shares(tuned('survivors = "1/3"\nbest = "lowest"'), lambda point, _: float(point))
    assert [share.tuning for share in shares] == [6] * 6 + [2] * 10
    assert [share.judging for share in shares] == [6, 6] + [0] * 14


def test_of_equals_the_first_is_chosen_and_a_point_that_fails_is_last() -> None:
    assert last_shares(tuned(), lambda *_: 1.0)[:2] == (Share(6, 8),) * 2
    shares = last_shares(tuned(), lambda point, _: None if point < 2 else 1.0)
    assert [point for point, share in enumerate(shares) if share.judging] == [2, 3]
    assert last_shares(tuned(), lambda *_: None)[0].judging == 6


def test_a_group_of_one_is_judged_at_once() -> None:
    shares = first_shares(tuned(system="pace = [1.0, 1.0]"))
    assert shares == (Share(6),) * 2


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_judging_by_the_trials_that_tuned_flatters_and_others_do_not() -> None:
    """All points are equal, with a mean of 0: whatever is above that is luck, which chose the point."""
    study, rng = tuned(), np.random.default_rng(3)
    by_tuning, by_judging = [], []
    for _ in range(150):
        noise: dict[tuple[int, int], float] = {}

        def value(point: int, trial: int, noise: dict[tuple[int, int], float] = noise) -> float:
            return noise.setdefault((point, trial), rng.normal())

        shares = last_shares(study, value)
        rows = [
            {"point": point, "trial": trial, "mean_wait_s": value(point, trial)}
            for point, share in enumerate(shares)
            for trial in share.numbers()
        ]
        means = tuning_means(pl.DataFrame(rows), shares, "mean_wait_s")
        chosen = [point for point, share in enumerate(shares) if share.judging]
        by_tuning += [means[point] for point in chosen]
        by_judging += [np.mean([value(point, trial) for trial in range(6)]) for point in chosen]
    error = np.std(by_judging) / np.sqrt(len(by_judging))
    assert np.mean(by_tuning) > 8 * error
    assert abs(np.mean(by_judging)) < 3 * error


def test_the_slowest_counter_is_chosen_for_each_rule_and_judged_by_other_trials(tmp_path: Path) -> None:
    results = run_study(tuned(), tmp_path, 1)
    found = results.tuned()
    assert found["system.pace"].to_list() == [0.5, 0.5]
    assert found["tuning_trials"].to_list() == [8, 8]
    assert results.axes == ("serving.rule",)
    assert results.summary().filter(metric="mean_wait_s")["n"].to_list() == [6, 6]
    assert results.differences().filter(metric="mean_wait_s").height == 2
    stages = results.runs.group_by("stage").agg(pl.col("trial").min(), last=pl.col("trial").max()).sort("stage")
    assert list(stages.iter_rows()) == [("judge", 0, 5), ("tune", FIRST_TUNING, FIRST_TUNING + 7)]
    assert set(results.details("visits")["run"]) == set(results.judged.filter(pl.col("trial") == 0)["run"])
    opened = open_results(tmp_path)
    assert opened.tuned().equals(found)
    assert opened.notes == results.notes
    assert "runs" not in vars(opened)  # all columns of all runs
    assert "tuned by the highest mean of mean_wait_s" in opened.notes[0]
    assert all(verdict.problems == () for verdict in verify(tmp_path))
    page = write_report(opened).read_text()
    assert "What was tuned" in page
    assert "which tuned nothing" in page


def test_details_are_kept_of_trials_that_judge_and_an_export_says_so(tmp_path: Path) -> None:
    study = queue("2", system=PACES, change=lambda text: 'keep = "all"' + text + TUNE)
    results = run_study(study, tmp_path / "results", 1)
    kept = stored_tables(results.folder).scan("visits").select("run").collect()["run"]
    assert set(kept) == set(results.judged["run"])
    to_export(results.folder, "parquet", tmp_path).write()
    visits = pl.read_parquet(tmp_path / "visits.parquet")
    assert visits.columns[: len(study.axes) + 3] == ["run", *study.axes, "trial", "stage"]
    assert visits["stage"].unique().to_list() == ["judge"]
    assert pl.read_csv(tmp_path / "columns.csv").filter(column="stage").height == 1


def test_what_was_chosen_is_compared_by_the_trials_that_judge(tmp_path: Path) -> None:
    plain = run_study(queue("6", system="pace = 0.8"), tmp_path / "plain", 1)
    results = run_study(tuned(), tmp_path / "tuned", 1)
    found = compare(plain, results, metrics=["mean_wait_s"])
    assert found.pairs["n_runs"].to_list() == [6, 6]
    assert found.settings.filter(setting="system.pace")["values"].to_list() == ["0.8", "0.5"]
    means = results.summary().filter(metric="mean_wait_s")["mean"].to_list()
    assert found.differences["mean"].to_list() == pytest.approx(means)
    n_tuning = results.runs.filter(stage="tune").height
    assert any(f"were tuned by {n_tuning} runs, which are left out" in note for note in found.notes)


@pytest.mark.thorough("starts processes and takes seconds")
def test_an_interruption_changes_nothing_and_more_judging_tunes_nothing_anew(tmp_path: Path) -> None:
    whole = run_study(tuned(), tmp_path / "whole", 1)
    for after in (1, 33, 50, 55):

        def interrupt(now: Progress, after: int = after) -> None:
            if now.n_done == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_study(tuned(), tmp_path / str(after), 1, interrupt)
        assert lasting(run_study(tuned(), tmp_path / str(after), 1).runs).equals(lasting(whole.runs))
    seen: list[Progress] = []
    run_study(tuned(trials="8"), tmp_path / "whole", 1, seen.append)
    assert seen[-1].n_done == 4


def test_what_was_tuned_is_judged_until_it_is_known(tmp_path: Path) -> None:
    results = run_study(tuned(trials='"until 30 %, at most 41"'), tmp_path, 1)
    assert 5 <= results.n_trials < 41
    assert len(results.notes) == 4
    assert all(verdict.problems == () for verdict in verify(tmp_path))


def test_the_estimate_knows_how_many_runs_tuning_takes(tmp_path: Path) -> None:
    before = estimate(tuned(), tmp_path)
    height = run_study(tuned(), tmp_path, 1).runs.height
    assert (before.n_runs_least, before.n_runs) == (height, height)
    assert estimate(tuned(), tmp_path).n_missing == 0


def test_other_choices_than_follow_are_noticed(tmp_path: Path) -> None:
    run_study(tuned(), tmp_path, 1)
    text = pl.read_parquet(tmp_path / "runs.parquet")
    better = pl.when(pl.col("system.pace") == 1.0).then(1e6).otherwise(pl.col("mean_wait_s"))
    text.with_columns(mean_wait_s=better).write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="holds runs of other inputs"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("tune", "words"),
    [
        ("[tune]\ntrials = 0\n", "tune.trials: found 0; must be 1 or more"),
        ('[tune]\nkeys = ["system.pase"]\n', "tune.keys: .*only what has several values can be tuned.*system.pace"),
        ('[tune]\nkeys = ["system.generator"]\n', "tune.keys: .*only what has several values can be tuned"),
        ("[tune]\n", r"tune: found no swept key of \[serving\] but rule; must have something to tune"),
        ('[tune]\nsurvivors = "1/4"\n', "tune.survivors: .*1/2"),
        ('[tune]\nmetric = "wait"\n', "tune.metric: .*mean_wait_s"),
        ('[tune]\nmetric = "run_s"\n', "tune.metric: found 'run_s', which measures the computer"),
        ('[tune]\nbest = "most"\n', "tune.best: .*highest"),
        ("[tune]\njudge = 5\n", "tune.judge: there is no such key"),
    ],
)
def test_wrong_tuning_is_told(tune: str, words: str) -> None:
    with pytest.raises(InputError, match=f"queue.toml: {words}"):
        tuned(tune=tune)


def test_tune_is_a_section() -> None:
    with pytest.raises(InputError, match=r"queue.toml: tune: found a value; must be a section, \[tune\]"):
        queue(change=lambda text: "tune = 3\n" + text)


def test_where_no_metric_is_best_one_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from joulewise.study.kinds.systems import all_kinds

    monkeypatch.setattr(type(all_kinds()["serving"]), "has_best", False)
    with pytest.raises(InputError, match="must have metric and best"):
        tuned()
    assert tuned('metric = "mean_wait_s"\nbest = "lowest"').tuning is not None
