"""The Gantt chart of serial tasks: its bars are the runs of a window, however many tasks and machines there are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from joulewise.present.export import spec_of
from joulewise.present.page import page_of
from joulewise.present.records import Records
from joulewise.present.results import _a_few, records_of
from joulewise.present.tasks.gantt import GLIMPSES, has_runs, task_gantt
from joulewise.present.tasks.keys import POLICY
from tests.strategies.every_kind import made
from tests.strategies.made import make_records, with_frames
from tests.strategies.vega import is_vega_lite


def days(
    n_tasks: int, n_machines: int = 4, utility: float = 1.0, policies: tuple[str, ...] = ("max-upt",), types: int = 2
) -> Records:
    """Records of days on machines of a few types; each task runs for a minute, one after the other."""
    records = make_records({POLICY: list(policies)}, n_trials=1)
    i = pl.int_range(n_tasks, eager=True)
    start_s = (i // n_machines) * 60.0
    day = pl.DataFrame(
        {
            "task": i,
            "task_type": pl.Series(["t<b>"] * n_tasks),
            "machine": i % n_machines,
            "machine_type": (i % n_machines * types // n_machines).cast(pl.String) + "-kind",
            "arrival_s": start_s,
            "start_s": start_s,
            "end_s": start_s + 60.0,
            "utility": (i % 5) * utility / 4,
            "fate": pl.Series(["ran"] * n_tasks),
        }
    )
    frames = [day.select(pl.lit(run).alias("run"), pl.all()) for run in records.runs["run"]]
    return with_frames(records, records=pl.concat(frames))


def bars(records: Records) -> list[list[dict[str, Any]]]:
    """The bars of each panel."""
    spec = spec_of(task_gantt(records).chart)
    assert is_vega_lite(spec)
    panels = spec.get("concat", [spec])
    return [spec["datasets"][panel["layer"][0]["data"]["name"]] for panel in panels]


def test_every_run_of_a_short_day_is_a_bar() -> None:
    (found,) = bars(days(20))
    assert len(found) == 20
    assert {(bar["y"], bar["y2"]) for bar in found} == {(m, m + 1) for m in range(4)}
    assert sum(bar["x2"] - bar["x"] for bar in found) == pytest.approx(20 / 60)


def test_a_day_of_50_000_tasks_is_shown_in_a_window() -> None:
    records = days(50_000, n_machines=100)
    (found,) = bars(records)
    assert 500 <= len(found) <= 1500
    spans: dict[int, list[tuple[float, float]]] = {}
    for bar in found:
        spans.setdefault(bar["machine"], []).append((bar["x"], bar["x2"]))
    assert len(spans) == 100
    for span in map(sorted, spans.values()):
        assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(span))
    assert "during 15 min in which many arrived" in task_gantt(records).caption


def test_the_window_is_one_in_which_something_was_earned() -> None:
    """Most tasks come while nothing counts yet."""
    records = days(50_000, n_machines=100)
    is_early, busiest = pl.col("start_s") < 15_000, pl.col("task") % 5 < 4
    quiet_later = records.frames["records"].filter(is_early | busiest)
    earns_later = pl.when(is_early).then(0.0).otherwise("utility").alias("utility")
    (found,) = bars(with_frames(records, records=quiet_later.with_columns(earns_later)))
    assert min(bar["x2"] for bar in found) > 15_000 / 3600


def test_one_of_some_machines_is_shown_where_there_are_many() -> None:
    records = days(3_000, n_machines=1_000)
    (found,) = bars(records)
    assert {bar["machine"] for bar in found} == set(range(0, 1_000, 9))
    assert "One of 9 machines is shown." in task_gantt(records).caption


def test_colours_are_classes_of_what_was_earned() -> None:
    (found,) = bars(days(50, utility=8.0))
    told = {bar["told"]: bar["earned"] for bar in found}
    assert told == {"0": "nothing", "2": "up to 2", "4": "up to 4", "6": "up to 6", "8": "up to 8"}


@pytest.mark.parametrize("utility", [0.0, 1e-9, 0.3, 7.7, 1e12])
def test_every_amount_has_a_class(utility: float) -> None:
    (found,) = bars(days(50, utility=utility))
    assert sum(bar["earned"] == "nothing" for bar in found) == (10 if utility else 50)


def test_killed_and_suspended_runs_did_not_complete() -> None:
    records = days(20)
    day = records.frame("records").with_columns(
        fate=pl.when(pl.col("task") == 3).then(pl.lit("killed")).when(pl.col("task") == 4).then(pl.lit("dropped"))
        .otherwise("fate"),
    )  # fmt: skip
    piece = day.filter(pl.col("task") == 5).select("run", *GLIMPSES["pieces"])
    (found,) = bars(with_frames(records, records=day, pieces=piece.with_columns(pl.col("end_s") - 30)))
    assert sorted(bar["task"] for bar in found if bar["earned"] == "did not complete") == [3, 5]
    assert 4 not in {bar["task"] for bar in found}


def test_types_are_named_where_there_is_room() -> None:
    def names(records: Records) -> list[str]:
        spec = spec_of(task_gantt(records).chart)
        texts = [part for part in spec["layer"] if part["mark"]["type"] == "text"]
        return [row["name"] for part in texts for row in spec["datasets"][part["data"]["name"]]]

    assert names(days(20)) == ["0-kind", "1-kind"]
    assert names(days(500, n_machines=100, types=100)) == []


def test_four_panels_at_most_and_the_rest_is_counted() -> None:
    policies = ("random", "max-upt", "min-min-comp", "max-max-upt", "other-a", "other-b")
    records = days(20, policies=policies)
    assert len(bars(records)) == 4
    assert "2 further runs not shown." in task_gantt(records).caption


def test_without_records_there_is_no_figure() -> None:
    assert not has_runs(make_records())
    records = days(4)
    dropped = records.frame("records").with_columns(fate=pl.lit("dropped"))
    assert not has_runs(with_frames(records, records=dropped))


def test_a_study_has_it_and_reads_a_few_runs_only() -> None:
    results = made("managed")
    records = records_of(results)
    assert "task-gantt" in {figure.name for figure in page_of("managed").figures if figure.is_drawable(records)}
    assert set(_a_few(results)) == set(results.runs["run"])
    assert len(bars(records)) == 2
