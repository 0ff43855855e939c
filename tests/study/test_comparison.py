"""Studies held against each other: what differs, what is a pair, what is told of each difference."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from joulewise.errors import InputError
from joulewise.study import Comparison, Results, Run, compare
from joulewise.study.answers.comparison import HIGHER, LOWER, NO_CHANCE, NO_SPREAD, NO_VALUES, ONE_TRIAL, SAME
from joulewise.study.answers.settings import NOTHING
from joulewise.study.answers.sides import sides_of
from joulewise.study.answers.statistics import TIED
from joulewise.study.answers.trials import FIXED, SAME_DRAWS, SAME_WORLDS, UNPAIRED
from tests.strategies.every_kind import made
from tests.strategies.made_results import STUDY, made_results
from tests.strategies.small import run_small

METRIC = "possible_percent"
POLICY, THRESHOLD, LOAD = "manager.policy", "manager.dropping_threshold", "workload.tasks_per_day"
ONE = {'["random", "max-max-upt"]': '"random"', "[0, 0.5]": "0.5"}
"""A study of one point."""
TEN, FOUR, SINGLE = "trials = 10", "trials = 4", "trials = 1"


def noise(*of: object) -> float:
    """A number from -1 to 1 that follows from these."""
    digest = hashlib.sha256(repr(of).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def earning(shift: float = 0.0, spread: float = 0.2, name: str = "") -> Callable[[Run], dict[str, float]]:
    """What a run earns: its world's share, which all have in common, the shift, and some of its own."""

    def numbers(run: Run) -> dict[str, float]:
        own = spread * noise(run.key, name)
        return {METRIC: 50 + 10 * noise(run.seed, run.trial) + shift + own, "utility": 100.0 + run.trial, "run_s": 1.0}

    return numbers


def study(name: str, shift: float = 0.0, changes: Mapping[str, str] | None = None, **about: Any) -> Results:
    return made_results(earning(shift, name=name), {'"small"': f'"{name}"', **(changes or {})}, **about)


def values_of(results: Results, **at: object) -> np.ndarray[Any, np.dtype[np.float64]]:
    runs = results.runs.filter(*(pl.col(key.replace("__", ".")) == value for key, value in at.items()))
    return runs.sort("trial")[METRIC].to_numpy()


def row_of(found: Comparison, metric: str = METRIC, **at: Any) -> dict[str, Any]:
    rows = found.differences.filter(pl.col("metric") == metric)
    return rows.filter(*(pl.col(key.replace("__", ".")) == value for key, value in at.items())).row(0, named=True)


# --- what is a pair -------------------------------------------------------------------------------------------------


def test_runs_in_the_same_worlds_are_paired_as_scipy_pairs_them() -> None:
    a, b = study("a"), study("b", 1.0, {"[0, 0.5]": "[0.5, 1]"})
    found = compare(a, b)
    assert found.pairs["pairing"].unique().to_list() == [SAME_WORLDS]
    assert found.pairs[THRESHOLD].unique().to_list() == [0.5]  # the only one that both have
    at: dict[str, Any] = {"manager__policy": "random", "manager__dropping_threshold": 0.5}
    values, base, row = values_of(b, **at), values_of(a, **at), row_of(found, manager__policy="random")
    oracle = stats.ttest_rel(values, base)
    low, high = oracle.confidence_interval(0.95)
    assert (row["p"], row["low"], row["high"]) == pytest.approx((oracle.pvalue, low, high))
    assert (row["mean"], row["base_mean"]) == pytest.approx((values.mean(), base.mean()))
    assert row["percent"] == pytest.approx(100 * (values - base).mean() / base.mean())
    assert (row["n"], row["n_base"], row["verdict"]) == (10, 10, HIGHER)
    assert any("met the same worlds" in note for note in found.notes)
    assert [note for note in found.notes if "without a partner" in note] == [
        "Left out, without a partner: 2 of 4 points of b.",
        "Left out, without a partner: 2 of 4 points of a.",
    ]


def test_other_worlds_of_one_seed_are_paired_by_trial_and_that_is_told() -> None:
    a, b = study("a"), study("b", 1.0, {"tasks_per_day = 150": "tasks_per_day = 250", TEN: "trials = 12"})
    found = compare(a, b)
    assert found.pairs["pairing"].unique().to_list() == [SAME_DRAWS]
    assert set(found.pairs["n_same_world"]) == {0}
    oracle = stats.ttest_rel(values_of(b, manager__policy="random", manager__dropping_threshold=0.5)[:10],
                             values_of(a, manager__policy="random", manager__dropping_threshold=0.5))  # fmt: skip
    row = row_of(found, manager__policy="random", manager__dropping_threshold=0.5)
    assert (row["p"], row["n"]) == pytest.approx((oracle.pvalue, 10))
    assert any("the worlds are not the same" in note for note in found.notes)
    assert "Left out, without a partner: 2 trials of a point of b, at most." in found.notes


def test_trials_of_other_seeds_are_independent_and_that_is_told() -> None:
    a, b = study("a"), study("b", 1.0, {TEN: "trials = 7\nseed = 3"})
    found = compare(a, b)
    assert found.pairs["pairing"].unique().to_list() == [UNPAIRED]
    at: dict[str, Any] = {"manager__policy": "random", "manager__dropping_threshold": 0.5}
    oracle = stats.ttest_ind(values_of(b, **at), values_of(a, **at), equal_var=False)
    row = row_of(found, **at)
    assert (row["p"], row["n"], row["n_base"]) == pytest.approx((oracle.pvalue, 7, 10))
    assert (row["low"], row["high"]) == pytest.approx(tuple(oracle.confidence_interval(0.95)))
    assert any("not paired" in note for note in found.notes)
    assert any("seeds are others (3 and 0)" in note for note in found.notes)


def test_pairing_finds_what_independent_samples_would_not() -> None:
    paired, apart = (
        compare(study("a"), study("b", 0.5)),
        compare(study("a"), study("b", 0.5, {TEN: TEN + "\nseed = 1"})),
    )
    assert set(paired.differences.filter(pl.col("metric") == METRIC)["verdict"]) == {HIGHER}
    assert set(apart.differences.filter(pl.col("metric") == METRIC)["verdict"]) == {TIED}


def test_trials_without_a_common_number_are_not_paired() -> None:
    early = made_results(lambda run: earning()(run) if run.trial < 5 else None, {'"small"': '"a"', **ONE})
    late = made_results(lambda run: earning()(run) if run.trial > 4 else None, {'"small"': '"b"', **ONE})
    found = compare(early, late)
    assert found.pairs.row(0, named=True)["pairing"] == UNPAIRED
    assert any("5 runs of a" in note for note in found.notes)


TABLES = (
    STUDY.partition("[system]")[0] + '[system]\netc_s = "etc.csv"\nmachines = "m.csv"\n\n[workload]\ntasks = "t.csv"\n'
)
NOT_RANDOM = TABLES + '\n[manager]\npolicy = "max-max-upt"\n'
DRAWING = TABLES + '\n[manager]\npolicy = "random"\n'


def test_the_only_run_of_a_point_without_chance_meets_every_trial() -> None:
    fixed = made_results(lambda _: {METRIC: 40.0}, {'"small"': '"fixed"'}, NOT_RANDOM)
    drawing = made_results(earning(), {'"small"': '"drawing"'}, DRAWING)
    assert (fixed.runs.height, drawing.runs.height) == (1, 10)
    found = compare(fixed, drawing, metrics=[METRIC])
    row, oracle = row_of(found), stats.ttest_1samp(drawing.runs[METRIC].to_numpy(), 40)
    assert (row["pairing"], row["n"], row["p"]) == (FIXED, 10, pytest.approx(oracle.pvalue))
    exact = row_of(compare(fixed, made_results(lambda _: {METRIC: 44.0}, {'"small"': '"b"'}, NOT_RANDOM)))
    assert (exact["difference"], exact["p"], exact["verdict"], exact["reason"]) == (4.0, None, HIGHER, NO_CHANCE)


# --- which points meet ----------------------------------------------------------------------------------------------


def test_points_are_chosen_by_keys_as_people_write_them(small_results: Path) -> None:
    found = compare(
        f"{small_results}:policy=random,dropping_threshold=0", f"{small_results}:manager.policy=max-max-upt"
    )
    assert found.labels == ["random, dropping threshold 0", "max-max-upt"]
    assert found.pairs.height == 1
    assert found.settings["setting"].to_list() == [POLICY, POLICY, THRESHOLD, THRESHOLD]
    assert row_of(found)["pairing"] == SAME_WORLDS
    lists = compare(f"{small_results}:general_counts=[2, 3],policy=random", f"{small_results}:policy=max-max-upt")
    assert lists.pairs.height == 2
    both = compare(f"{small_results}:policy=random,warm_up=600", f"{small_results}:policy=max-max-upt,warm_up=10 min")
    assert (both.labels, both.notes[0]) == (["random", "max-max-upt"], "Of every study: warm up 10 min.")


@pytest.mark.parametrize("text", ["10 min", "600", "600.0", "6_00", "0.6e3"])
def test_a_quantity_may_be_written_in_any_way(text: str, small_results: Path) -> None:
    side, _ = sides_of([f"{small_results}:warm_up={text}", f"{small_results}:policy=random"])
    assert side.chosen == {"workload.warm_up_s": 600.0}


def test_what_two_studies_do_not_share_meets_all_of_the_other() -> None:
    a, b = study("a", changes={"[0, 0.5]": "0.5"}), study("b", changes={"[0, 0.5]": "[1, 1.5]"})
    found = compare(a, b)
    assert found.pairs.select(THRESHOLD, f"against:{THRESHOLD}").rows() == [(1.0, 0.5), (1.5, 0.5)] * 2
    assert found.keys[0] == POLICY or POLICY in found.keys


def test_several_studies_meet_the_first() -> None:
    found = compare(study("a"), study("b", 1.0), study("c", -1.0))
    verdicts = (
        found.differences.filter(pl.col("metric") == METRIC).group_by("study", maintain_order=True).agg("verdict")
    )
    assert verdicts.rows() == [("b", [HIGHER] * 4), ("c", [LOWER] * 4)]
    values = found.values(METRIC).collect()
    assert values.height == 2 * 10 * 8
    assert values["pair"].n_unique() == 8


VARIANTS = """
[[variant]]
name = "calm"
workload.tasks_per_day = 150

[[variant]]
name = "busy"
workload.tasks_per_day = 300
"""


def test_variants_meet_those_of_their_name_or_those_that_set_the_same() -> None:
    a = made_results(earning(), {'"small"': '"a"', "[0, 0.5]": "0.5"}, STUDY + VARIANTS)
    b = made_results(earning(), {'"small"': '"b"', "[0, 0.5]": "0.5", "= 300": "= 400"}, STUDY + VARIANTS)
    named = compare(a, b)
    assert named.pairs.select("variant", POLICY, "pairing").rows() == [
        ("calm", "random", SAME_WORLDS), ("calm", "max-max-upt", SAME_WORLDS),
        ("busy", "random", SAME_DRAWS), ("busy", "max-max-upt", SAME_DRAWS),
    ]  # fmt: skip
    other = made_results(earning(), {'"small"': '"c"', "[0, 0.5]": "0.5", '"calm"': '"low"', '"busy"': '"high"'},
                         STUDY + VARIANTS)  # fmt: skip
    found = compare(a, other)
    assert set(found.pairs.select("variant", "against:variant").rows()) == {("low", "calm"), ("high", "busy")}
    assert set(found.pairs["pairing"]) == {SAME_WORLDS}


# --- what is told ---------------------------------------------------------------------------------------------------


def test_settings_that_differ_are_told_with_sweeps_versions_machines_and_files() -> None:
    a = study("a", machine="mine", files={"x.csv": "0" * 64})
    b = study("b", changes={"[0, 0.5]": "1", TEN: FOUR}, machine="yours", files={"x.csv": "1" * 64}, joulewise="2")
    settings = compare(a, b, metrics=[METRIC]).settings
    told = {(row["setting"], row["study"]): row["values"] for row in settings.iter_rows(named=True)}
    assert told[THRESHOLD, "a"] == "0; 0.5"
    assert told[THRESHOLD, "b"] == "1"
    assert (told["trials", "a"], told["trials", "b"]) == ("10", "4")
    assert (told["machine", "b"], told["Joulewise", "b"]) == ("yours", "2")
    assert told["content of x.csv", "a"] == "0" * 12
    assert set(settings["setting"]) == {THRESHOLD, "trials", "machine", "Joulewise", "content of x.csv"}


def test_a_key_that_one_study_lacks_has_no_value_there() -> None:
    b = study("b", changes={"[workload]": '[supply]\nbudget = "9 MJ"\n\n[workload]', '"random", ': ""})
    rows = compare(study("a"), b).settings.filter(pl.col("setting") == "supply.budget_j")
    assert rows.select("values", "n_values").rows() == [(NOTHING, 0), ("9 MJ", 1)]


def test_what_reads_differently_is_cautioned_against() -> None:
    b = study("b", changes={'bound = "trivial"': 'bound = "prices"'}, results_version=4, machine="other")
    notes = " ".join(compare(study("a"), b).notes)
    assert "bounds are proven in other ways" in notes
    assert "versions of results differ" in notes
    assert "other machines" in notes


def test_chances_are_corrected_for_all_that_is_shown() -> None:
    found = compare(study("a"), study("b", 0.1), metrics=[METRIC])
    p = found.differences["p"].to_list()
    assert found.n_corrected == len(p) == 4
    least = min(p)
    assert min(found.differences["holm_p"]) == pytest.approx(4 * least)
    row = found.differences.sort("p").row(0, named=True)
    half = (row["high"] - row["low"]) / 2
    wide = stats.t.ppf(1 - 0.05 / 8, 9) / stats.t.ppf(0.975, 9)
    assert row["all_high"] - row["difference"] == pytest.approx(wide * half)
    assert compare(study("a", changes=ONE), study("b", 0.1, ONE), metrics=[METRIC]).n_corrected == 1


def test_one_trial_has_no_interval_and_no_verdict() -> None:
    found = compare(study("a", changes={TEN: SINGLE}), study("b", 1.0))
    assert set(found.pairs["n_pairs"]) == {1}
    row = row_of(found)
    assert (row["low"], row["p"], row["effect"], row["verdict"], row["reason"]) == (None,) * 4 + (ONE_TRIAL,)
    apart = row_of(compare(study("a", changes={TEN: SINGLE}), study("b", 1.0, {TEN: TEN + "\nseed = 1"})))
    assert (apart["verdict"], apart["reason"], apart["n"], apart["n_base"]) == (None, ONE_TRIAL, 10, 1)


def test_what_is_the_same_in_every_trial_is_told_so_even_if_rounded() -> None:
    a = made_results(lambda run: {METRIC: 0.1 + 0.2, "utility": run.trial / 3}, {'"small"': '"a"', **ONE})
    b = made_results(lambda run: {METRIC: 0.3, "utility": run.trial / 3 + 2}, {'"small"': '"b"', **ONE})
    found = compare(a, b, metrics=[METRIC, "utility"])
    same, higher = row_of(found), row_of(found, "utility")
    assert (same["difference"], same["p"], same["verdict"], same["reason"]) == (0.0, None, SAME, NO_SPREAD)
    assert (higher["difference"], higher["p"], higher["verdict"]) == (pytest.approx(2.0), None, HIGHER)
    assert found.n_corrected == 0


@pytest.mark.parametrize("nothing", [None, float("nan"), float("inf")])
def test_values_that_are_missing_on_one_side_leave_their_trial_out(nothing: float | None) -> None:
    def holed(run: Run) -> dict[str, Any]:
        return {**earning()(run), METRIC: nothing if run.trial < 3 else 50.0 + run.trial}

    a, b = study("a", changes=ONE), made_results(holed, {'"small"': '"b"', **ONE})
    assert row_of(compare(a, b))["n"] == 7
    none = made_results(lambda run: {**earning()(run), METRIC: nothing}, {'"small"': '"c"', **ONE})
    row = row_of(compare(a, none, metrics=[METRIC]))
    assert (row["n"], row["mean"], row["verdict"], row["reason"]) == (0, None, None, NO_VALUES)


def test_a_base_of_zero_has_no_percent_and_one_below_keeps_the_sign_of_the_difference() -> None:
    zero = made_results(lambda _: {METRIC: 0.0}, {'"small"': '"a"', **ONE})
    below = made_results(lambda _: {METRIC: -10.0}, {'"small"': '"b"', **ONE})
    assert row_of(compare(zero, study("c", changes=ONE), metrics=[METRIC]))["percent"] is None
    assert row_of(compare(below, zero, metrics=[METRIC]))["percent"] == 100.0


def test_metrics_are_those_of_a_summary_or_those_that_are_named() -> None:
    a, b = study("a"), study("b")
    assert compare(a, b).metrics == (METRIC,)
    assert compare(a, b, metrics=["*"]).metrics == ("utility", METRIC, "run_s")
    assert compare(a, b, metrics=["run_s", "util*"]).metrics == ("run_s", "utility")
    with pytest.raises(InputError, match="did you mean 'utility'"):
        compare(a, b, metrics=["utilty"])


# --- what is refused ------------------------------------------------------------------------------------------------


def test_less_than_two_and_the_same_twice_are_refused(small_results: Path) -> None:
    with pytest.raises(InputError, match="must be two at least"):
        compare(small_results)
    with pytest.raises(InputError, match="is named twice"):
        compare(small_results, small_results)
    with pytest.raises(InputError, match="is named twice"):
        compare(f"{small_results}:policy=random", f"{small_results}:manager.policy=random")


def test_every_mistake_is_told_at_once(small_results: Path, tmp_path: Path) -> None:
    wrong = f"{small_results}:polcy=random,dropping_threshold=7"
    with pytest.raises(InputError) as caught:
        compare(tmp_path / "nowhere", wrong, f"{small_results}:policy=randon", f"{small_results}:generator=x")
    lines = [str(problem) for problem in caught.value.problems]
    assert len(lines) == 5
    assert "there is no such folder" in lines[0]
    assert "did you mean 'policy'?" in lines[1]
    assert "must be one of 0.0, 0.5" in lines[2] or "must be one of 0, 0.5" in lines[2]
    assert "did you mean 'random'?" in lines[3]
    assert "several sections have it" in lines[4]


def crossed(name: str, *loads: int) -> Results:
    """Two variants of such loads, the first without a threshold."""
    pairs = zip(loads, (0, 0.5), strict=True)
    tables = (
        f'[[variant]]\nname = "{name} {load}"\n'
        f"workload.tasks_per_day = {load}\nmanager.dropping_threshold = {threshold}\n"
        for load, threshold in pairs
    )
    return made_results(earning(), {'"small"': f'"{name}"', "[0, 0.5]": "1"}, STUDY + "\n" + "\n".join(tables))


def test_studies_without_a_point_in_common_are_refused() -> None:
    assert compare(crossed("a", 150, 300), crossed("b", 150, 300)).pairs.height == 4
    with pytest.raises(InputError, match=r"no point of one agrees with one of the other in all of .*threshold"):
        compare(crossed("a", 150, 300), crossed("b", 300, 150))


def test_more_pairs_than_anybody_could_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.study.answers.points.MOST", 3)
    with pytest.raises(InputError, match="found 4 pairs of points"):
        compare(study("a"), study("b"))


def test_other_kinds_of_studies_are_refused(small_results: Path) -> None:
    with pytest.raises(InputError, match="holds a study of the kind 'front'; must be of the same kind as"):
        compare(small_results, made("front").folder)


def test_unfinished_folders_are_refused(small_copy: Path, small_results: Path) -> None:
    marker = small_copy / "study.json"
    marker.write_text(marker.read_text().replace('"is_finished": true', '"is_finished": false'))
    with pytest.raises(InputError, match="holds an unfinished study"):
        compare(small_results, small_copy)


def test_a_name_with_a_colon_is_a_folder_where_there_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "a:policy=b"
    run_small(folder, change=lambda text: text.replace("trials = 2", "trials = 1").replace("[0, 0.5]", "0.5"))
    with pytest.raises(InputError, match="is named twice"):
        compare(str(folder), folder)


def test_the_same_runs_are_refused_however_they_are_named(small_results: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(small_results)
    for other in (link, f"{small_results}/../{small_results.name}", f"{small_results}:policy=random"):
        with pytest.raises(InputError, match="is named twice"):
            compare(small_results, other)


def test_a_key_is_chosen_once(small_results: Path) -> None:
    with pytest.raises(InputError, match=r"found 'manager.policy' 2 times; must be chosen once"):
        compare(f"{small_results}:policy=random,policy=max-max-upt", small_results)


# --- trials that stop by themselves -----------------------------------------------------------------------------------


STOPS = 'trials = "until 0.5 %, at most 12"'
AT_FIRST_LOOK = 6 / np.pi**2


def test_pairs_of_trials_that_stopped_by_themselves_get_the_error_of_their_look() -> None:
    a, b = study("a", changes=ONE), study("b", 0.1, ONE | {TEN: STOPS})
    for found, stopped in (
        (compare(a, b), "b"),
        (compare(b, a), "b"),
        (compare(b, study("c", 0.1, ONE | {TEN: STOPS})), "b and c"),
    ):
        row = row_of(found)
        values = found.values(METRIC).collect().sort("trial")
        ours, base = (values.filter(is_base=is_base)["value"].to_numpy() for is_base in (False, True))
        oracle = stats.ttest_rel(ours, base)
        low, high = oracle.confidence_interval(1 - 0.05 * AT_FIRST_LOOK)
        assert (row["n"], row["p"]) == (5, pytest.approx(min(oracle.pvalue / AT_FIRST_LOOK, 1)))
        assert (row["low"], row["high"], row["all_low"], row["all_high"]) == pytest.approx((low, high) * 2)
        assert any(f"The trials of {stopped} stopped by themselves. Intervals and p are seq" in n for n in found.notes)


@pytest.mark.parametrize(("trials", "share"), [(TEN, AT_FIRST_LOOK), (STOPS, AT_FIRST_LOOK**2)])
def test_independent_trials_may_stop_at_any_two_looks(trials: str, share: float) -> None:
    a, b = study("a", changes=ONE | {TEN: STOPS}), study("b", 0.1, ONE | {TEN: f"{trials}\nseed = 3"})
    oracle = stats.ttest_ind(values_of(b), values_of(a), equal_var=False)
    low, high = oracle.confidence_interval(1 - 0.05 * share)
    row = row_of(compare(a, b))
    assert (row["p"], row["low"], row["high"]) == pytest.approx((min(oracle.pvalue / share, 1), low, high))


def test_the_only_run_of_a_point_without_chance_stops_nowhere() -> None:
    fixed = made_results(lambda _: {METRIC: 40.0}, {'"small"': '"fixed"', TEN: STOPS}, NOT_RANDOM)
    drawing = made_results(earning(), {'"small"': '"drawing"'}, DRAWING)
    oracle = stats.ttest_1samp(drawing.runs[METRIC].to_numpy(), 40)
    assert row_of(compare(fixed, drawing, metrics=[METRIC]))["p"] == pytest.approx(oracle.pvalue)


def test_what_was_asked_for_is_told_where_trials_stop_by_themselves() -> None:
    trials = compare(study("a"), study("b", changes={TEN: STOPS})).settings.filter(pl.col("setting") == "trials")
    assert trials["values"].to_list() == ["10", "until 0.5 %, at most 12"]
