"""Figures and reports of parallel jobs: bars by scheduler, leniency, waits, times, clusters over time, Gantt charts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.present import theme
from joulewise.present.export import spec_of
from joulewise.present.jobs.bars import (
    earned_over_time,
    energy_by_scheduler,
    job_fates,
    used_over_time,
    utility_by_scheduler,
    waits_by_scheduler,
)
from joulewise.present.jobs.curves import jobs_over_time
from joulewise.present.jobs.findings import job_findings
from joulewise.present.jobs.gantt import gantt, name_nodes
from joulewise.present.jobs.keys import ADAPTS, FILTER, LENIENCY, LOAD, PLANNED, POLICY, SCHEDULER
from joulewise.present.jobs.leniency import filtered_view, over_job_leniency
from joulewise.present.jobs.leniency_map import lead_of, leniency_map
from joulewise.present.jobs.logs import count_axis, time_axis
from joulewise.present.jobs.tables import job_tables
from joulewise.present.jobs.times import run_times, utility_by_size
from joulewise.present.jobs.view import JOB_COLUMNS, by_scheduler, job_view
from joulewise.present.jobs.waits import slowdown_by_user, wait_distribution, waits_by_queue
from joulewise.present.layout import Drawing, group_colours
from joulewise.present.page import all_figures, drawable
from joulewise.present.records import VARIANT, Records
from joulewise.present.report import render_report
from joulewise.present.windows import Limits, lively
from joulewise.study.answers import statistics
from tests.strategies.made import with_frames
from tests.strategies.made_jobs import BUDGET_J, FIG_7, FIG_9, MAPPED, NODES, TITLES, TRACE, job_records
from tests.strategies.vega import is_vega_lite

COMPARED = {
    "utility-by-scheduler", "energy-by-scheduler", "scheduler-differences", "schedulers-against-energy",
    "waits-by-scheduler", "job-fates",
}  # fmt: skip
DETAILED = {
    "wait-distribution", "waits-by-queue", "slowdown-by-user", "clusters-over-time", "gantt", "run-times",
    "utility-by-size", "logged-waits", "wait-differences",
}  # fmt: skip
OVER_TIME = {"job-utility-over-time", "job-energy-over-time"}
PUBLISHED = job_records(FIG_9, n_trials=3, details=False)
REPLAYED = job_records(TRACE, n_jobs=80)


def _names(records: Records) -> set[str]:
    return {figure.name for figure in drawable(records)}


def _rows(drawing: Drawing) -> list[dict[str, Any]]:
    return [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]


def _with(drawing: Drawing, *fields: str) -> list[dict[str, Any]]:
    return [row for row in _rows(drawing) if set(fields) <= set(row)]


# --- which figures --------------------------------------------------------------------------------------


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_studies_of_jobs_get_the_figures_they_hold() -> None:
    assert _names(PUBLISHED) == COMPARED
    assert _names(job_records(FIG_7, details=False)) == COMPARED | {"job-leniency"}
    assert _names(REPLAYED) == COMPARED | DETAILED | OVER_TIME
    assert _names(job_records(TRACE[1:], n_jobs=40)) == DETAILED


def test_variants_with_a_swept_leniency_have_figures_and_no_budget_that_is_the_mean_of_theirs() -> None:
    points = [{VARIANT: f"{load} jobs", LOAD: load, **point} for load in (5000, 10_000) for point in FIG_7[:8:2]]
    records = job_records(points, n_trials=2, details=False)
    swept = replace(records, study=replace(records.study, axes=(VARIANT, LENIENCY)))
    assert _names(swept) == COMPARED | {"job-leniency"}
    budget_j = pl.when(pl.col(LOAD) == 5000).then(BUDGET_J).otherwise(2 * BUDGET_J)
    apart = replace(swept, runs=swept.runs.with_columns(budget_j=budget_j))
    assert not _with(energy_by_scheduler(apart), "at")
    assert "budget" not in {row["name"] for row in _with(over_job_leniency(apart), "name")}


def test_one_leniency_for_each_filter_is_no_sweep() -> None:
    assert _names(job_records((FIG_7[3], FIG_7[15]), details=False)) == COMPARED - {"schedulers-against-energy"}


def test_without_powers_and_queues_there_are_no_figures_of_them() -> None:
    runs = REPLAYED.runs.with_columns(energy_j=pl.lit(None, pl.Float64))
    bare = with_frames(replace(REPLAYED, runs=runs), queues=None, job_types=None)
    missing = {"energy-by-scheduler", "schedulers-against-energy", "waits-by-queue", "utility-by-size"}
    assert _names(bare) == (COMPARED | DETAILED | OVER_TIME) - missing


def test_where_all_earn_the_same_utility_is_no_matter() -> None:
    flat = replace(REPLAYED, runs=REPLAYED.runs.with_columns(possible_percent=pl.lit(98.5)))
    missing = {"utility-by-scheduler", "scheduler-differences", "schedulers-against-energy", "job-utility-over-time"}
    assert _names(flat) == (COMPARED | DETAILED | OVER_TIME) - missing
    assert len(job_findings(flat)) == 1


@pytest.mark.parametrize("figure", [f for f in all_figures() if f.name in COMPARED | DETAILED | OVER_TIME])
def test_figures_are_valid_and_captions_are_sentences(figure: Any) -> None:
    drawing = figure.draw(REPLAYED)
    assert is_vega_lite(spec_of(drawing.chart))
    assert drawing.caption.endswith(".")
    assert "  " not in drawing.caption


def test_figures_look_at_no_other_columns_of_jobs() -> None:
    there = [name for name in ("run", *JOB_COLUMNS) if name in REPLAYED.frame("jobs").columns]
    seen = with_frames(REPLAYED, jobs=REPLAYED.frame("jobs").select(there))
    assert [figure.name for figure in drawable(seen)] == [figure.name for figure in drawable(REPLAYED)]


# --- schedulers -----------------------------------------------------------------------------------------


def test_a_scheduler_is_a_policy_with_its_commitment_where_that_is_a_choice() -> None:
    names = [str(name) for name in by_scheduler(PUBLISHED).values(SCHEDULER)]
    assert names[:6] == ["Random", "Conservative", "EASY", "Multiple Queues", "Max Util, reservations",
                         "Max Util, place-holders"]  # fmt: skip
    assert len(names) == 12
    assert [*by_scheduler(REPLAYED).values(SCHEDULER)] == ["Conservative", "EASY"]


@pytest.mark.parametrize("policies", [("easy", "easy"), ("easy", "conservative")])
def test_schedulers_go_by_the_names_of_variants_in_their_order(policies: tuple[str, str]) -> None:
    points = [{VARIANT: name, POLICY: policy} for name, policy in zip(("usual", "another"), policies, strict=True)]
    records = job_records(points, details=False)
    seen, _ = job_view(replace(records, study=replace(records.study, axes=(VARIANT,))), folds=True)
    assert seen.study.axes == (SCHEDULER,)
    assert seen.values(SCHEDULER) == ["usual", "another"]


def test_variants_of_the_world_are_compared_beside_the_policies() -> None:
    points = [{VARIANT: name, POLICY: policy} for name in ("small", "large") for policy in ("easy", "conservative")]
    seen = by_scheduler(job_records(points, details=False))
    assert seen.study.axes == (SCHEDULER, VARIANT)
    assert seen.values(SCHEDULER) == ["Conservative", "EASY"]
    assert seen.runs.height == 4


def test_variants_that_differ_in_the_load_are_compared_at_each_load() -> None:
    points = [
        {VARIANT: "many", POLICY: "max-upr", FILTER: "per-task", LOAD: 10_000},
        {VARIANT: "in order", POLICY: "easy", FILTER: "none", LOAD: 10_000},
        {VARIANT: "fewer", POLICY: "easy", FILTER: "none", LOAD: 5000},
        {VARIANT: "fewer", POLICY: "conservative", FILTER: "none", LOAD: 5000},
    ]
    records = job_records(points, details=False)
    seen, _ = job_view(replace(records, study=replace(records.study, axes=(VARIANT, POLICY))))
    assert seen.study.axes == (SCHEDULER, LOAD)
    assert seen.values(SCHEDULER) == ["Conservative", "EASY", "Max UPR, filter per task"]
    assert group_colours(seen, LOAD) == theme.categorical(2)  # whiskers are seen on these


def test_a_filter_that_a_scheduler_always_has_is_part_of_its_name() -> None:
    points = [{POLICY: "easy", FILTER: "none"}, {POLICY: "max-upr", FILTER: "per-resource"}]
    seen, said = job_view(job_records(points, details=False))
    assert (seen.values(SCHEDULER), said) == (["EASY", "Max UPR, filter per resource"], "")
    assert seen.varying == (SCHEDULER,)
    assert len(job_view(PUBLISHED, folds=True)[0].values(SCHEDULER)) == len(FIG_9)


def test_each_scheduler_is_shown_at_its_best_leniency() -> None:
    seen, said = job_view(job_records(FIG_7, n_trials=2, details=False))
    assert seen.runs[LENIENCY].unique().sort().to_list() == [2.0, 4.0]
    assert "leniency at which it earned most" in said


def test_a_filter_that_adapts_is_one_of_its_own() -> None:
    points = [{POLICY: "max-upr", FILTER: "per-task", ADAPTS: adapts} for adapts in (False, True)]
    seen, _ = job_view(job_records(points, details=False))
    assert list(seen.labels(FILTER).values()) == ["filter per task", "adaptive filter per task"]


def test_bars_of_one_filter_stand_in_the_middle_of_their_band() -> None:
    bars = _with(utility_by_scheduler(PUBLISHED), "offset", "name")
    offsets = {(row["name"], row["group"]): row["offset"] for row in bars}
    assert offsets["EASY", "no filter"] == 0
    assert [offsets["Max UPR, place-holders", f"filter per {name}"] for name in ("task", "resource")] == [0, 1]
    assert len(bars) == len(FIG_9)


def test_bars_of_energy_stand_under_the_budget_in_the_same_unit() -> None:
    drawing = energy_by_scheduler(PUBLISHED)
    limit = _with(drawing, "at")
    assert limit == [{"at": BUDGET_J / 1e9, "name": "budget"}]
    assert all(0.5 < row["mean"] < 1.3 for row in _with(drawing, "offset"))
    assert "energy used (GJ)" in str(spec_of(drawing.chart))


def test_loads_become_panels_where_filters_are_colours() -> None:
    points = [{**point, LOAD: load} for load in (5000, 10_000) for point in FIG_9[4:10]]
    text = str(spec_of(utility_by_scheduler(job_records(points, details=False)).chart))
    assert "5,000 jobs/day" in text
    assert "10,000 jobs/day" in text


def test_waits_and_slowdowns_are_drawn_in_units_a_person_would_choose() -> None:
    text = str(spec_of(waits_by_scheduler(REPLAYED).chart))
    assert "mean wait (h)" in text
    assert "mean bounded slowdown" in text


def test_fates_are_all_jobs_together() -> None:
    rows = _with(job_fates(PUBLISHED), "fate")
    assert {row["fate"] for row in rows} == {"completed", "dropped", "not completed when the time ended"}
    of_easy = [row["share"] for row in rows if row["main"] == "EASY"]
    assert sum(of_easy) == pytest.approx(100)
    assert "Max UPR, place-holders, filter per task" in {row["main"] for row in rows}


def test_every_filter_has_its_curve_over_the_leniency() -> None:
    drawing = over_job_leniency(job_records(FIG_7, n_trials=2, details=False))
    text = str(spec_of(drawing.chart))
    assert "Filter per task" in text
    assert "Filter per resource" in text
    best = max(
        (row for row in _with(drawing, "low") if row["name"] == "Max UPR" and row["y"] > 2), key=lambda r: r["y"]
    )
    assert best["x"] == 4.0


def test_a_map_has_a_panel_for_every_setting_with_both_filters_and_who_leads() -> None:
    records = job_records(MAPPED, n_trials=3, details=False)
    assert "leniency-map" in _names(records)
    drawing = leniency_map(records)
    panels = spec_of(drawing.chart)["concat"]
    assert [" ".join(panel["title"]["text"]).replace("\N{NO-BREAK SPACE}", " ") for panel in panels] == [
        name[0].upper() + name[1:] for name in dict.fromkeys(point[VARIANT] for point in MAPPED)
    ]
    assert {panel["title"]["subtitle"].partition(":")[0] for panel in panels} == {"filter per resource at 4"}
    assert is_vega_lite(spec_of(drawing.chart))
    assert {row["name"] for row in _with(drawing, "low")} == {"filter per task", "filter per resource"}


def test_the_lead_of_a_filter_is_paired_on_equal_trials() -> None:
    records = job_records(MAPPED, n_trials=3, details=False)
    seen = filtered_view(records)
    lead = lead_of(seen, {VARIANT: MAPPED[0][VARIANT]}, [VARIANT])
    here = records.runs.filter(pl.col(VARIANT) == MAPPED[0][VARIANT])
    best = {
        name: here.filter(pl.col(FILTER) == name, pl.col(LENIENCY) == leniency).sort("trial")[seen.share]
        for name, leniency in (("per-resource", 4.0), ("per-task", 2.0))
    }
    gaps = best["per-resource"] - best["per-task"]
    assert lead is not None
    assert (lead.name, lead.leniency) == ("filter per resource", 4.0)
    assert lead.points == pytest.approx(gaps.mean())
    assert lead.low is not None
    assert lead.low == pytest.approx(gaps.mean() - 4.302653 * gaps.std() / 3**0.5)  # type: ignore[operator]
    assert lead.is_shown
    assert lead.words.startswith("filter per resource at 4: +")


def test_a_setting_with_one_filter_has_no_lead_and_one_trial_shows_none() -> None:
    alone = [point for point in MAPPED if point[VARIANT] != MAPPED[0][VARIANT] or point[FILTER] == "per-task"]
    records = job_records(alone, details=False)
    first, second, *_ = spec_of(leniency_map(records).chart)["concat"]
    assert "subtitle" not in first["title"]
    assert second["title"]["subtitleColor"] == theme.MUTED
    assert "±" not in second["title"]["subtitle"]


def test_whiskers_of_a_map_end_at_0_and_100() -> None:
    rows = _with(leniency_map(job_records(MAPPED, n_trials=2, details=False)), "low")
    assert all(0.0 <= row["low"] <= row["y"] <= row["high"] <= 100.0 for row in rows)


@pytest.mark.thorough("draws many figures")
def test_a_map_needs_several_filters_in_several_settings_of_one_scheduler() -> None:
    for points in (
        FIG_7,
        [point for point in MAPPED if point[FILTER] == "per-task"],
        [{**point, POLICY: policy} for point in MAPPED for policy in ("max-upr", "max-upt")],
        [{**point, VARIANT: f"{point[VARIANT]} {i}"} for i in range(4) for point in MAPPED],
    ):
        assert "leniency-map" not in _names(job_records(points, details=False))


# --- waits and times ------------------------------------------------------------------------------------


def test_quantiles_of_waits_rise_from_the_shortest_to_the_longest() -> None:
    lines = _with(wait_distribution(REPLAYED), "piece")
    easy = [row["y"] for row in lines if row["name"] == "EASY"][:201]
    assert easy == sorted(easy)


def test_the_queue_with_most_jobs_is_on_top_and_missing_queues_are_left_out() -> None:
    unknown = REPLAYED.frame("queues").with_columns(queue=pl.when(pl.col("queue") != "long").then(pl.col("queue")))
    rows = _with(waits_by_queue(REPLAYED), "queue")
    assert rows[0]["queue"] == "short"
    assert {row["queue"] for row in _with(waits_by_queue(with_frames(REPLAYED, queues=unknown)), "queue")} == {"short"}
    assert "waits-by-queue" not in _names(with_frames(REPLAYED, queues=unknown))


def test_users_are_points_under_the_fairness_of_their_run() -> None:
    drawing = slowdown_by_user(REPLAYED)
    assert "fairness 0.60" in str(spec_of(drawing.chart))
    assert len(_with(drawing, "user")) == REPLAYED.frame("users").height


@pytest.mark.parametrize(("per_node", "word"), [(1, "processor"), (64, "node")])
def test_nodes_of_one_processor_are_called_processors(per_node: int, word: str) -> None:
    clusters = REPLAYED.frame("clusters").with_columns(cores_per_node=pl.lit(per_node))
    records = with_frames(REPLAYED, clusters=clusters)
    drawing, schedule = slowdown_by_user(records), gantt(records)
    assert f"the {word}-hours that these used" in drawing.caption
    assert f"{word}-hours used" in str(spec_of(drawing.chart))
    assert schedule.caption.startswith(f"Which {word}s ran")


def test_requested_predicted_and_true_times_stand_in_one_figure() -> None:
    points = [{POLICY: "easy", PLANNED: name} for name in ("requested", "recent", "true")]
    drawing = run_times(job_records(points, n_jobs=60))
    assert {row["name"] for row in _with(drawing, "piece")} == {"true time", "requested time", "predicted time"}
    assert sum(row["jobs"] for row in _with(drawing, "jobs")) == 2 * 60


def test_plans_that_are_true_need_no_figure() -> None:
    assert "run-times" not in _names(job_records([{POLICY: "easy", PLANNED: "true"}], n_jobs=40))


def test_every_job_type_of_a_world_is_one_point() -> None:
    drawing = utility_by_size(REPLAYED)
    assert len(_with(drawing, "x", "y")) == 100
    assert "100 job types" in drawing.caption


@pytest.mark.parametrize(
    ("axis", "values", "names"),
    [
        (time_axis, (0.0, 6.0), ["1 s", "1 min", "1 h", "1 d", "10 d"]),
        (time_axis, (4.73, 5.05), ["15 h", "20 h", "1 d"]),
        (count_axis, (0.0, 4.0), ["1", "10", "100", "1,000", "10,000"]),
        (count_axis, (3.0, 3.5), ["1,000", "1,500", "2,000", "3,000"]),
    ],
)
def test_logarithmic_axes_have_round_ticks_that_do_not_touch(axis: Any, values: Any, names: list[str]) -> None:
    assert list(axis("x", values).ticks.values()) == names


# --- over time ------------------------------------------------------------------------------------------


def test_panels_over_time_share_their_scales() -> None:
    drawing = jobs_over_time(REPLAYED)
    text = str(spec_of(drawing.chart))
    assert "cores busy (%)" in text
    assert "power (kW)" in text
    assert "same scale" in drawing.caption


def test_what_adds_up_is_drawn_until_the_last_schedule_ends() -> None:
    short = REPLAYED.frame("job_traces").filter((pl.col("run") == "0") | (pl.col("at_s") < 43_200))
    points = _with(earned_over_time(with_frames(REPLAYED, job_traces=short)), "piece")
    ends = {name: max(row["x"] for row in points if row["name"] == name) for name in ("Conservative", "EASY")}
    assert ends["EASY"] == pytest.approx(ends["Conservative"])


def test_a_job_has_the_lowest_nodes_that_are_free() -> None:
    starts, ends, nodes = [0.0, 0.0, 5.0, 6.0, 20.0], [5.0, 20.0, 9.0, 7.0, 21.0], [2, 3, 1, 3, 6]
    assert name_nodes(starts, ends, nodes) == [[(0, 2)], [(2, 5)], [(0, 1)], [(1, 2), (5, 7)], [(0, 6)]]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 5)), max_size=12))
def test_no_node_runs_two_jobs_at_once(runs: list[tuple[int, int, int]]) -> None:
    starts, ends = [float(start) for start, _, _ in runs], [float(start + length) for start, length, _ in runs]
    named = name_nodes(starts, ends, [n for _, _, n in runs])
    nodes = [{node for first, last in parts for node in range(first, last)} for parts in named]
    assert [len(found) for found in nodes] == [n for _, _, n in runs]
    for i, j in combinations(range(len(runs)), 2):
        assert starts[i] >= ends[j] or starts[j] >= ends[i] or not nodes[i] & nodes[j]


def test_rectangles_stay_inside_their_clusters() -> None:
    rows = _with(gantt(REPLAYED), "job", "x2")
    assert {row["job"] for row in rows} == set(range(80))
    assert max(row["y2"] for row in rows) <= max(NODES.values())


def test_of_long_schedules_a_window_is_drawn_that_is_neither_empty_nor_crowded() -> None:
    times = [i * 1200.0 for i in range(3000)] + [2e6 + i for i in range(1000)]
    arrival = pl.Series(sorted(times))
    runs = pl.DataFrame({"ready_s": arrival, "start_s": arrival, "end_s": arrival + 5, "nodes": [1] * len(times)})
    window = lively([runs], Limits(most_runs=1500, most_starts=250))
    inside = runs.filter(pl.col("start_s").is_between(window.start_s, window.end_s))
    assert 100 < inside.height <= 250
    assert window.end_s - window.start_s == 48 * 3600.0


def test_stretches_that_did_not_complete_their_job_are_marked() -> None:
    cut = pl.DataFrame(
        {"run": ["0"], "job": [3], "cluster": ["general"], "nodes": [4], "start_s": [0.0], "end_s": [600.0],
         "is_lost": [True]}
    )  # fmt: skip
    rows = _with(gantt(with_frames(REPLAYED, pieces=cut)), "wait")
    assert [row["job"] for row in rows if row["wait"] == "did not complete"] == [3]


# --- the report -----------------------------------------------------------------------------------------


def test_findings_tell_who_earned_most_and_waited_least() -> None:
    leads = [finding.lead for finding in job_findings(PUBLISHED)]
    assert leads[0].startswith("Max UPR, place-holders, filter per resource earned the most, at least 88")
    assert leads[1] == "How many jobs never started differs, so that no wait is called the shortest."
    started = replace(PUBLISHED, runs=PUBLISHED.runs.with_columns(jobs_waiting=pl.lit(1)))
    told = job_findings(started)[1]
    assert told.lead.startswith("With Max UPR, place-holders, filter per resource, jobs waited least")
    assert "Never started, and are in no mean: 13 of 300 jobs." in told.support


def test_no_scheduler_has_the_shortest_wait_where_fewer_jobs_started_with_it() -> None:
    left = pl.when(pl.col(POLICY) == "easy").then(0).otherwise(250).alias("jobs_waiting")
    (told,) = job_findings(replace(REPLAYED, runs=REPLAYED.runs.with_columns(left)))[1:]
    assert told.lead == "How many jobs never started differs, so that no wait is called the shortest."
    assert told.support.startswith("Never started: Conservative 262 of 300 jobs; EASY 12 of 300 jobs. Mean waits")


def test_waits_that_are_the_same_are_no_win() -> None:
    same = {"jobs_waiting": 0, "jobs_dropped": 0, "mean_wait_s": 0.0}
    runs = REPLAYED.runs.with_columns(pl.lit(value).alias(name) for name, value in same.items())
    (told,) = job_findings(replace(REPLAYED, runs=runs))[1:]
    assert told.lead.startswith("Jobs waited 0")
    assert told.support.startswith("That is the same with all. The mean is of 300 jobs.")


def test_why_jobs_of_a_site_could_never_start_is_told() -> None:
    found = pl.DataFrame(
        {"run": ["0"], "key": ["partition a is not for their accounts"], "n": [3], "reason": [""],
         "done": ["impossible"]}
    )  # fmt: skip
    runs = REPLAYED.runs.with_columns(jobs_impossible=pl.lit(3))
    told = job_findings(with_frames(replace(REPLAYED, runs=runs), findings=found))[-1]
    assert (told.lead, told.support) == ("3 jobs could never start.", "Partition a is not for their accounts (3).")


def test_jobs_that_fit_nowhere_are_a_finding() -> None:
    records = replace(REPLAYED, runs=REPLAYED.runs.with_columns(jobs_impossible=pl.lit(3)))
    assert job_findings(records)[-1].lead == "3 jobs fit nowhere and never ran."


def test_jobs_that_were_cancelled_are_a_finding() -> None:
    records = replace(REPLAYED, runs=REPLAYED.runs.with_columns(jobs_cancelled=pl.lit(1)))
    assert job_findings(records)[-1].lead == "1 job was cancelled, for others or as a node failed."


def test_tables_have_schedulers_queues_users_and_what_was_odd_in_the_log() -> None:
    tables = job_tables(REPLAYED)
    assert [table.caption for table in tables] == [
        "What came out", "Queues: mean wait and bounded slowdown", "Users: mean wait and bounded slowdown",
        "Why waits differ, Conservative", "Why waits differ, EASY",
        "The largest differences of waits, Conservative", "The largest differences of waits, EASY",
        "The first differences of waits, Conservative", "The first differences of waits, EASY",
        "What was odd in the log",
    ]  # fmt: skip
    assert [heading for heading, _ in tables[0].rows] == ["Conservative", "EASY"]
    assert tables[-1].rows[0][0] == "No run time"


def test_a_report_without_results_says_so() -> None:
    empty = replace(REPLAYED, runs=REPLAYED.runs.clear(), summary=REPLAYED.summary.clear(), frames={})
    assert job_findings(empty)[0].lead == "No run has a result yet."
    assert job_tables(empty) == []
    assert _names(empty) == set()


def test_a_report_tells_what_its_words_mean() -> None:
    records = job_records(TRACE[1:], n_jobs=40)
    page = render_report(replace(records, frames={"findings": records.frame("findings")}))
    assert "Bounded slowdown" in page
    assert "What was odd in the log" in page


def test_the_winner_is_among_the_schedules_of_a_gantt_chart() -> None:
    points = [{POLICY: name} for name in TITLES][:6]
    records = job_records(points, n_jobs=40)
    best = records.best[POLICY][0]
    assert TITLES[best] in str(spec_of(gantt(records).chart))


def test_a_power_cap_is_drawn_over_the_power() -> None:
    traces = REPLAYED.frame("job_traces")
    capped = with_frames(REPLAYED, job_traces=traces.with_columns(power_cap_w=pl.lit(5e6)))
    assert "The dashed line is the power cap." in jobs_over_time(capped).caption
    assert "power cap" not in jobs_over_time(REPLAYED).caption


def test_a_power_cap_by_the_hour_is_a_line_in_steps() -> None:
    by_hour = pl.when(pl.col("at_s") < 7200).then(5e6).otherwise(4e6)
    traces = REPLAYED.frame("job_traces").with_columns(power_cap_w=by_hour)
    drawing = jobs_over_time(with_frames(REPLAYED, job_traces=traces))
    assert "The dashed line is the power cap, which changes over time." in drawing.caption
    rows = [part["hconcat"] for part in spec_of(drawing.chart)["concat"]]
    marks = [part["layer"][-1]["mark"] for *_, part in rows]  # the last panel of a row is that of power
    assert all(mark["type"] == "line" and mark["interpolate"] == "step-after" for mark in marks)


# --- sites ----------------------------------------------------------------------------------------------

SITED = replace(
    REPLAYED, runs=REPLAYED.runs.with_columns(pl.lit("site.toml").alias("system.site")), headline="median_wait_s"
)


def test_captions_of_sites_say_whose_powers_they_are() -> None:
    caption = energy_by_scheduler(SITED).caption
    assert "Energy used, by running jobs and by nodes without one" in caption
    assert "Powers are those in the file of the site; where it gives none, those of rules" in caption
    of_log = energy_by_scheduler(replace(REPLAYED, headline="median_wait_s")).caption
    assert "rules that come with the package, not of the machine" in of_log


def test_a_budget_that_some_have_is_said_to_be_theirs_alone() -> None:
    traces = REPLAYED.frame("job_traces")
    first = pl.when(pl.col("run") == traces["run"][0]).then(pl.lit(1e9)).alias("budget_cumulative_j")
    some = used_over_time(with_frames(REPLAYED, job_traces=traces.with_columns(first))).caption
    assert "budget of the days that have begun of Conservative alone; a line of these that meets it" in some
    everyone = traces.with_columns(budget_cumulative_j=pl.lit(1e9))
    all_of_them = used_over_time(with_frames(REPLAYED, job_traces=everyone)).caption
    assert "budget of the days that have begun; a line that meets it ran out" in all_of_them


def test_reports_of_sites_have_waits_by_partition() -> None:
    jobs = SITED.frame("jobs").with_columns(
        partition=pl.when(pl.col("job") % 4 == 0).then(pl.lit("gpu")).otherwise(pl.lit("batch"))
    )
    table = next(t for t in job_tables(with_frames(SITED, jobs=jobs)) if t.caption.startswith("Partitions"))
    assert table.corner == "Partition"
    assert [(name, cells[0].text) for name, cells in table.rows] == [("batch", "60"), ("gpu", "20")]
    assert len(table.columns) == 3


def test_gantt_charts_of_sites_do_not_call_the_nodes_alike() -> None:
    assert "not on those of its nodes" in gantt(SITED).caption
    assert "Those of a cluster are alike" in gantt(REPLAYED).caption


def test_reports_of_logs_without_rules_have_no_tables_of_utility() -> None:
    made = job_records(n_trials=3, details=False)
    found = statistics.differences(made.runs, made.study.axes, ["possible_percent"], POLICY, made.error)
    earning = replace(made, differences=found)
    assert "Paired differences" in render_report(earning)
    assert "Paired differences" not in render_report(replace(earning, headline="median_wait_s"))


def test_variants_are_called_so() -> None:
    points = tuple({VARIANT: name, POLICY: "easy"} for name in ("as it is", "one rack more"))
    records = job_records(points, details=False)
    assert "for each variant" in waits_by_scheduler(records).caption
    assert "for each scheduler" in waits_by_scheduler(REPLAYED).caption


def test_waits_of_which_all_are_zero_have_an_axis_in_whole_units() -> None:
    zero = replace(REPLAYED, runs=REPLAYED.runs.with_columns(mean_wait_s=pl.lit(0.0)))
    assert "1e-1" not in str(spec_of(waits_by_scheduler(zero).chart))
