"""Trials that stop by themselves: when, that interruptions change nothing, and that nobody can change where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from joulewise.confidence import CONFIDENCE, error_at_look, looks
from joulewise.errors import InputError
from joulewise.rng import generator
from joulewise.study import Progress, Study, open_results, run_study
from joulewise.study.answers.rounds import Shares, Told, first_shares, next_shares, points_of, stopping_words
from joulewise.study.running import planning
from joulewise.study.running.estimate import estimate
from joulewise.study.spec.trials import Share
from joulewise.study.verifying.verification import verify
from tests.strategies.queues import queue, with_queues
from tests.strategies.small import QUICKLY, lasting, small


@pytest.fixture(autouse=True)
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from with_queues(monkeypatch)


def told(values: Callable[[int, int], float | None], n_points: int = 2, n_trials: int = 210) -> pl.DataFrame:
    """What came out of points of one world, by the number of the point and the trial."""
    rows = [
        {"point": point, "trial": trial, "world": f"w{trial}", "mean_wait_s": values(point, trial)}
        for point in range(n_points)
        for trial in range(n_trials)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def stops_at(study: Study, values: Callable[[int, int], float | None]) -> int:
    """How many trials there are in the end."""
    shares = first_shares(study)
    out = told(values, len(study.points))
    while (further := next_shares(study, shares, lambda: out)) is not None:
        shares = further
    (share,) = set(shares)
    return share.judging


def noise(trial: int) -> float:
    return float(generator(1, trial).normal(0, 3))


def test_it_stops_as_soon_as_the_best_is_told_from_all_others() -> None:
    def values(point: int, trial: int) -> float:
        return 100 * (1 + point) + noise(2 * trial + point)

    assert stops_at(queue('"until 0.1 %, at most 41"'), values) == 5


def test_it_stops_where_the_lead_is_known_well_enough_though_none_is_best() -> None:
    def values(point: int, trial: int) -> float:
        return 100 + noise(2 * trial + point)

    assert stops_at(queue('"until 20 %, at most 41"'), values) == 5
    assert stops_at(queue('"until 3 %, at most 41"'), values) in (12, 18, 27)


def test_it_ends_at_the_most_that_there_may_be() -> None:
    assert stops_at(queue('"until 0.01 %, at most 41"'), lambda point, trial: 100 + noise(2 * trial + point)) == 41


@pytest.mark.parametrize("behind", [0.0, 7.0])
def test_what_comes_out_the_same_is_known_when_little_can_be_unseen(behind: float) -> None:
    def values(point: int, trial: int) -> float:
        return 100 + noise(trial) - point * behind

    assert stops_at(queue('"until 0.01 %, at most 41"'), values) == 41
    assert stops_at(queue('"until 0.01 %, at most 210"'), values) == 93
    alone = queue('"until 1 %"', change=lambda text: text.replace('["in-order", "shortest"]', '"shortest"'))
    assert stops_at(alone, lambda *_: 100.0) == 93


def test_settings_whose_means_happen_to_be_equal_are_not_the_same() -> None:
    assert stops_at(queue('"until 1 %, at most 41"'), lambda point, trial: 100.0 + 50 * (trial % 5 == point)) == 41


def test_a_study_without_chance_stops_at_its_only_trial() -> None:
    study, out = queue('"until 1 %"'), told(lambda point, _: 100.0 - point, n_trials=1)
    assert next_shares(study, first_shares(study), lambda: out) is None


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_rare_event_is_seldom_overlooked_and_what_may_be_is_told() -> None:
    """The second setting loses half in a tenth of the trials."""
    study = queue('"until 0.5 %, at most 93"')
    assert study.until is not None
    for seed in range(20):
        events = generator(seed, 7).random(210) < 0.1
        n_trials = stops_at(study, lambda point, trial, events=events: 100 - 50 * point * events[trial])  # type: ignore[misc]
        assert events[:n_trials].any()
    words = list(stopping_words(study, study.until, (Share(93),) * 2, told(lambda *_: 100.0, n_trials=93)))
    assert words[1] == (
        "Some values or differences came out the same in all 93 trials; what happens in fewer than 7.9 % of trials may "
        "be unseen."
    )


def test_points_whose_runs_fail_are_left_out() -> None:
    assert stops_at(queue('"until 0.01 %, at most 41"'), lambda *_: None) == 5


def test_a_setting_alone_is_known_by_its_mean() -> None:
    alone = queue('"until 1 %, at most 41"', change=lambda text: text.replace('["in-order", "shortest"]', '"shortest"'))
    assert stops_at(alone, lambda _, trial: 100 + 3 * noise(trial)) == 41
    assert stops_at(alone, lambda _, trial: 100 + noise(trial) / 10) == 5


def test_each_world_stops_by_itself(tmp_path: Path) -> None:
    study = queue('"until 20 %, at most 100"', n_visitors="[2, 200]")
    results = run_study(study, tmp_path, 1)
    n_trials = dict(results.runs.group_by("workload.n_visitors").agg(pl.col("trial").n_unique()).iter_rows())
    assert n_trials[200] == 5 < n_trials[2]
    assert any("1 of 2 worlds" in note or "2 of 2 worlds" in note for note in results.notes)
    assert all(verdict.problems == () for verdict in verify(tmp_path))


@pytest.mark.thorough("starts processes and takes seconds")
def test_an_interruption_in_any_round_changes_nothing(tmp_path: Path) -> None:
    whole = run_study(queue(), tmp_path / "whole", 1)
    assert whole.runs["trial"].n_unique() > 5
    for after in range(1, whole.runs.height, 3):

        def interrupt(now: Progress, after: int = after) -> None:
            if now.n_done == after:
                raise KeyboardInterrupt

        folder = tmp_path / str(after)
        with pytest.raises(KeyboardInterrupt):
            run_study(queue(), folder, 1, interrupt)
        resumed = run_study(queue(), folder, 1)
        assert lasting(resumed.runs).equals(lasting(whole.runs))


def test_running_it_again_computes_nothing_and_more_is_found_from_there(tmp_path: Path) -> None:
    first = run_study(queue('"until 60 %, at most 41"'), tmp_path, 1)
    seen: list[Progress] = []
    run_study(queue('"until 60 %, at most 41"'), tmp_path, 1, seen.append)
    assert [(now.n_total, now.n_reused) for now in seen] == [(0, first.runs.height)]
    seen.clear()
    finer = run_study(queue('"until 10 %, at most 41"'), tmp_path, 1, seen.append)
    assert (seen[0].n_reused, seen[-1].n_reused + seen[-1].n_total) == (first.runs.height, finer.runs.height)


def test_rounds_are_decided_by_what_people_see_first_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, seen = queue(), list[list[str]]()

    def looking(of: Study, shares: Shares, told: Told) -> Shares | None:
        seen.append(told().columns)
        return next_shares(of, shares, told)

    monkeypatch.setattr(planning, "next_shares", looking)
    run_study(study, tmp_path, 1)
    first = [column.name for column in study.kind.shown()]
    assert all(set(columns) <= {"point", "trial", "world", "status", *first} for columns in seen)
    assert seen


@pytest.mark.thorough("starts processes")
def test_two_processes_make_the_same_rounds(tmp_path: Path) -> None:
    def change(text: str) -> str:
        return QUICKLY + text.replace("trials = 2", 'trials = "until 5 %, at most 8"') + "[tune]\ntrials = 1\n"

    one, two = (run_study(small(change), tmp_path / str(n), n) for n in (1, 2))
    assert set(one.runs["stage"]) == {"tune", "judge"}
    assert lasting(one.runs).equals(lasting(two.runs))


def test_results_say_how_many_trials_were_made_and_why(tmp_path: Path) -> None:
    run_study(queue(), tmp_path, 1)
    results = open_results(tmp_path)
    assert results.study.until is not None
    stopped, intervals = results.notes
    assert results.n_trials < 41
    assert "runs" not in vars(results)  # all columns of all runs
    assert results.n_trials == results.runs["trial"].n_unique()
    assert stopped == (
        f"Trials stopped by themselves after {results.n_trials} of 41 at most: the best is told from the others, or "
        "its lead is known to 30 %."
    )
    assert "sequential" in intervals
    plain = run_study(queue(str(results.n_trials)), tmp_path / "plain", 1)
    wide, narrow = (each.summary().filter(metric="mean_wait_s") for each in (results, plain))
    assert wide["mean"].equals(narrow["mean"])
    assert (wide["high"] > narrow["high"]).all()


def test_the_most_that_were_made_is_said_too(tmp_path: Path) -> None:
    note = run_study(queue('"until 0.1 %, at most 8"'), tmp_path, 1).notes[0]
    assert note.startswith("All 8 trials were made that there may be: a lead that is left open is known to ")


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_the_estimate_tells_the_least_and_the_most(tmp_path: Path) -> None:
    before = estimate(queue(), tmp_path)
    assert (before.n_runs_least, before.n_runs, before.n_missing_least, before.n_missing) == (10, 82, 10, 82)
    assert (
        "10 to 82 (2 points, judged by 41 trials at most; what comes out decides)"
        in dict(before.lines(tmp_path)).values()
    )
    height = run_study(queue(), tmp_path, 1).runs.height
    after = estimate(queue(), tmp_path)
    assert (after.n_runs_least, after.n_runs, after.n_missing) == (height, height, 0)


def test_trials_that_were_left_out_afterwards_are_noticed(tmp_path: Path) -> None:
    results = run_study(queue(), tmp_path, 1)
    fewer = results.runs.filter(pl.col("trial") < 5)
    fewer.write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="holds runs of other inputs"):
        verify(tmp_path)
    some = fewer.filter((pl.col("serving.rule") == "shortest") | (pl.col("trial") != 2))
    some.write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="row 2: runs: trial: 3 is stored, 2 was run"):
        open_results(tmp_path, must_be_sealed=False)


@pytest.mark.parametrize(("trials", "points"), [([0, 1, 0, 0, 1, 2], [0, 0, 1, 2, 2, 2]), ([], []), ([0], [0])])
def test_rows_tell_their_points_by_their_trials(trials: list[int], points: list[int]) -> None:
    assert points_of(trials) == points


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        ('"until"', "found 'until'; must be a whole number, or text such as"),
        ('"until 0.5"', "must be a whole number, or text such as"),
        ('"20"', "must be a whole number, or text such as"),
        ('"until 1 %, at most many"', "must be a whole number, or text such as"),
        ('"until 0 %"', "found until 0 %; must be above 0 %"),
        ('"until -1 %"', "found until -1 %; must be above 0 %"),
        ('"until 101 %"', "must be above 0 % and 100 % or less"),
        ('"until 1 %, at most 4"', "must be at least 5, as fewer say little, and at most 100,000"),
        ('"until 1 %, at most 100_001"', "and at most 100,000"),
        ("1.5", "must be a whole number"),
        ("0", "must be 1 or more"),
        ('["until 1 %"]', "must be a whole number"),
    ],
)
def test_wrong_trials_are_told(trials: str, words: str) -> None:
    with pytest.raises(InputError, match=f"queue.toml: trials: .*{words}"):
        queue(trials)


def test_errors_sum_to_that_of_one_interval_however_the_most_is_raised() -> None:
    ends = {queue(f'"until 0.01 %, at most {most}"').heading.trials for most in range(5, 250)}
    assert sum(map(error_at_look, ends)) < 1 - CONFIDENCE
    assert sorted(ends) == list(islice(looks(), len(ends)))


@pytest.mark.parametrize(("text", "most"), [("until 0.5 %", 1_065), ("until 0.5% at most 2_000", 1_598)])
def test_trials_say_how_many_there_are_at_most(text: str, most: int) -> None:
    study = queue(f'"{text}"')
    assert (study.heading.trials, study.until and study.until.percent) == (most, 0.5)
    assert first_shares(study) == (Share(5),) * 2


def test_a_study_whose_runs_all_fail_ends_after_the_first_look_and_claims_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise ZeroDivisionError

    study = queue()
    monkeypatch.setattr(type(study.kind), "compute", failing)
    results = run_study(study, tmp_path, 1)
    assert (results.failed.height, results.notes) == (10, ())
    assert open_results(tmp_path).tuned().is_empty()
