"""Days on the workbench: what is seen of a window is what happened in it, and all of it is what the run's row says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.present.windows import Window
from joulewise.serve.day import Bins, Boxes, counted, covered, cut, grouped, held, named_ranges, sizes
from joulewise.serve.jobs import day as jobs_day
from joulewise.serve.tasks import day as tasks_day
from joulewise.study import Results
from tests.strategies.asgi import Client
from tests.strategies.every_kind import made, results_of
from tests.strategies.served import client_of
from tests.strategies.vega import is_vega_lite
from tests.twins import days as twin

_N_BINS, _MOST_ROWS = 37, 5

_NUMBERS = st.floats(-20, 20).map(lambda value: round(value, 2))


@st.composite
def bins(draw: st.DrawFn) -> Bins:
    start = draw(_NUMBERS)
    return Bins(start, start + draw(st.sampled_from([0.5, 1.0, 7.3, 20.0])), draw(st.integers(1, 9)))


@st.composite
def intervals(draw: st.DrawFn) -> list[tuple[float, float, float]]:
    ends = draw(st.lists(st.tuples(_NUMBERS, st.floats(0, 15), st.floats(0, 4)), max_size=12))
    return [(start, start + length, height) for start, length, height in ends]


def _columns(rows: list[Any], n: int) -> np.ndarray:
    return np.array(rows, float).reshape(-1, n).T


@given(bins(), intervals())
def test_intervals_stand_on_each_other(pieces: Bins, spans: list[tuple[float, float, float]]) -> None:
    found = held(pieces, *_columns(spans, 3))
    assert found == pytest.approx(twin.held(pieces, spans), abs=1e-9)


@given(bins(), st.lists(_NUMBERS, max_size=20))
def test_instants_are_counted_once(pieces: Bins, at: list[float]) -> None:
    ends = [float(edge) for edge in pieces.edges]
    found = counted(pieces, np.array([*at, *ends]))
    assert found.tolist() == twin.counted(pieces, [*at, *ends])
    assert found.sum() == sum(pieces.start <= instant <= pieces.end for instant in [*at, *ends])


@given(bins(), bins(), intervals(), intervals())
def test_rectangles_cover_cells(
    columns: Bins, rows: Bins, along: list[tuple[float, float, float]], upright: list[tuple[float, float, float]]
) -> None:
    boxes = [(x, x2, y, y2, h) for (x, x2, h), (y, y2, _) in zip(along, upright, strict=False)]
    found = covered(columns, rows, Boxes(*_columns(boxes, 5)))
    assert found == pytest.approx(np.array(twin.covered(columns, rows, boxes)), abs=1e-6)


@given(st.integers(1, 300), st.integers(1, 60))
def test_rows_hold_all_machines(n: int, most: int) -> None:
    rows = grouped(n, most)
    assert rows.n <= most
    assert sizes(rows, n).sum() == n
    assert len(named_ranges(rows, n)) == rows.n
    assert named_ranges(rows, n)[-1].split(" to ")[-1] == str(n - 1)


def runs_of(results: Results) -> Iterator[tuple[dict[str, Any], Mapping[str, pl.DataFrame]]]:
    """The rows of runs that kept their tables, with these."""
    for row in results.runs.iter_rows(named=True):
        if tables := results.tables(row["run"]):
            yield row, tables


def test_a_whole_day_of_tasks_is_what_its_run_says() -> None:
    for row, tables in runs_of(made("managed")):
        day = tasks_day.day_of(tables)
        frame = tasks_day.frame_of(day, cut(day.whole, day.whole, _N_BINS))
        assert frame.curves.utility[-1] == pytest.approx(row["utility"])
        assert frame.curves.energy_j[-1] == pytest.approx(row["energy_j"])
        assert {f"tasks_{name}": n.sum() for name, n in frame.arrived.items() if name != "ran"} == {
            name: row[name] for name in ("tasks_killed", "tasks_dropped", "tasks_waiting")
        }
        assert sum(n.sum() for n in frame.arrived.values()) == row["tasks_arrived"]
        assert frame.completed.sum() == row["tasks_completed"]
        length_s = day.whole.end_s - day.whole.start_s
        busy_s = row["busy_percent"] / 100 * length_s
        rows = grouped(day.n_machines, _MOST_ROWS)
        share = tasks_day.busy_share(day, frame.bins, rows)
        in_rows_s = (share.mean(axis=1) * sizes(rows, day.n_machines)).sum() * length_s
        assert in_rows_s == pytest.approx(frame.busy.mean() * length_s)
        assert in_rows_s / busy_s == pytest.approx(round(in_rows_s / busy_s)), "of the number of all machines"
        used_j = tasks_day.power_w(day, frame.bins, rows).sum() * frame.bins.width
        assert used_j + row["standby_energy_j"] == pytest.approx(row["energy_j"])


@pytest.mark.parametrize("name", ["jobs", "log"])
def test_a_whole_day_of_jobs_is_what_its_run_says(name: str) -> None:
    for row, tables in runs_of(made(name)):
        day, steps = jobs_day.day_of(tables), tables["job_traces"]
        frame = jobs_day.frame_of(day, Bins(day.whole.start_s, day.whole.end_s, steps.height))
        assert frame.curves.utility[-1] == pytest.approx(row["utility"])
        assert frame.curves.energy_j[-1] == pytest.approx(row["energy_j"] or math.nan, nan_ok=True)
        assert {f"jobs_{fate}": n.sum() for fate, n in frame.arrived.items()} == {
            f"jobs_{fate}": row[f"jobs_{fate}"] for fate in jobs_day.FATES
        }
        assert frame.completed.sum() == row["jobs_completed"]
        for found, column in (
            (frame.waiting, "queue_length"),
            (frame.running, "running_jobs"),
            (frame.nodes, "nodes_busy"),
            (frame.busy_percent, "busy_percent"),
        ):
            assert found == pytest.approx(steps[column].to_numpy(), abs=1e-6), column
        waited = row["mean_wait_s"], row["mean_bounded_slowdown"]
        assert jobs_day.slowed(day, day.whole) == pytest.approx(waited)
        clusters = day.clusters.select("cluster", "n_nodes").rows()
        in_rows, powers_w = (
            sum(_over_nodes(of(day, name, frame.bins, grouped(n, _MOST_ROWS)), n) for name, n in clusters)
            for of in (jobs_day.busy_share, jobs_day.power_w)
        )
        assert in_rows == pytest.approx(frame.nodes.mean())
        used_j = powers_w * (day.whole.end_s - day.whole.start_s)
        assert used_j == pytest.approx((row["energy_j"] or 0.0) - (row["standby_energy_j"] or 0.0))


def _over_nodes(values: np.ndarray, n_nodes: int) -> float:
    """What rows of nodes have together, in the mean over all bins."""
    return float((values.mean(axis=1) * sizes(grouped(n_nodes, _MOST_ROWS), n_nodes)).sum())


def _broken_day(**changes: Any) -> tasks_day.TaskDay:
    """A day of 100 s on two machines: task 0 is suspended once, task 1 is lost and runs again, task 2 never runs."""
    types = {"task_type": "t", "machine_type": "m"}
    columns = ("task", "machine", "start_s", "end_s")
    records = pl.DataFrame([(0, 0, 30.0, 40.0), (1, 1, 50.0, 60.0), (2, None, None, None)], columns, orient="row")
    more = {"arrival_s": [0.0, 0.0, 90.0], "utility": [2.0, 3.0, None], "energy_j": [200.0, 50.0, None]}
    tables = {
        "records": records.with_columns(fate=pl.Series(["ran", "ran", "waiting"]), **_lits(types), **_series(more)),
        "pieces": pl.DataFrame([(0, 0, 0.0, 10.0)], columns, orient="row").with_columns(**_lits(types)),
        "losses": pl.DataFrame([(1, 1, 20.0, 25.0)], columns, orient="row").with_columns(**_lits(types)),
        "traces": pl.DataFrame(
            {"at_s": [0.0, 100.0], "energy_cumulative_j": [0.0, 260.0], "budget_cumulative_j": [None, None]}
        ),
    }
    return tasks_day.day_of({**tables, "records": tables["records"].with_columns(**_series(changes))})


def _lits(values: Mapping[str, str]) -> dict[str, pl.Expr]:
    return {name: pl.lit(value) for name, value in values.items()}


def _series(values: Mapping[str, Any]) -> dict[str, pl.Series]:
    return {name: pl.Series(value, dtype=pl.Float64) for name, value in values.items()}


def test_suspended_and_lost_runs_are_seen_and_lost_ones_have_no_power() -> None:
    day = _broken_day()
    bins, rows = Bins(0.0, 100.0, 10), grouped(day.n_machines, 2)
    frame = tasks_day.frame_of(day, bins)
    assert frame.busy.tolist() == pytest.approx([1, 0, 0.5, 1, 0, 1, 0, 0, 0, 0])
    assert frame.waiting.tolist() == pytest.approx([1, 2, 1.5, 1, 1, 0, 0, 0, 0, 1])
    assert tasks_day.power_w(day, bins, rows).tolist() == [
        pytest.approx([10, 0, 0, 10, 0, 0, 0, 0, 0, 0]),
        pytest.approx([0, 0, 0, 0, 0, 5, 0, 0, 0, 0]),
    ]
    assert tasks_day.busy_share(day, bins, rows).sum() * bins.width == pytest.approx(35)


def test_a_day_without_powers_draws_none() -> None:
    day = _broken_day(energy_j=[None] * 3)
    assert not tasks_day.power_w(day, Bins(0.0, 100.0, 10), grouped(2, 2)).any()


def test_windows_side_by_side_make_the_whole_day() -> None:
    _, tables = next(runs_of(made("managed")))
    day = tasks_day.day_of(tables)
    whole = tasks_day.frame_of(day, cut(day.whole, day.whole, 12))
    middle_s = (day.whole.start_s + day.whole.end_s) / 2
    halves = (Window(day.whole.start_s, middle_s), Window(middle_s, day.whole.end_s))
    parts = [tasks_day.frame_of(day, cut(half, day.whole, 6)) for half in halves]
    assert np.concatenate([part.waiting for part in parts]) == pytest.approx(whole.waiting)
    assert np.concatenate([part.completed for part in parts]).tolist() == whole.completed.tolist()
    rows = grouped(day.n_machines, _MOST_ROWS)
    shares = [tasks_day.busy_share(day, part.bins, rows) for part in parts]
    assert np.hstack(shares) == pytest.approx(tasks_day.busy_share(day, whole.bins, rows))


# --- pages ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["managed", "jobs", "log"])
def client(request: pytest.FixtureRequest) -> Client:
    return client_of(made(request.param).folder.parent)


def _blocks(twin: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in twin["blocks"] if block["type"] == kind]


def test_a_page_shows_a_day_and_parts_of_it(client: Client) -> None:
    assert client.get("/studies/results/day").status == 200
    twin = client.get("/api/studies/results/day").json()
    plots = {plot["name"]: plot for plot in _blocks(twin, "plot")}
    assert {"utility", "arrivals", "waiting", "machines"} <= set(plots)
    assert all(is_vega_lite(plot["spec"]) and plot["zooms"] == ["from", "to"] for plot in plots.values())
    assert all('"name": "span"' in repr(plot["spec"]).replace("'", '"') for plot in plots.values())
    (closer,) = (link["href"] for block in _blocks(twin, "links") for link in block["links"])
    part = client.get(f"/api/studies/results/day{closer}").json()
    asked = {key: float(values[0]) for key, values in parse_qs(closer[1:]).items()}
    assert {key: float(part["asked"][key]) for key in asked} == asked
    ways = [link["text"] for block in _blocks(part, "links") for link in block["links"]]
    assert ways == ["Earlier", "Later", "Closer", "Wider", "All of it"]
    for key, values in (("run", list(_wish(twin, "run")["options"])), ("from", ["nan", "1e9", "x"])):
        for value in values:
            status = client.get(f"/api/studies/results/day?{key}={value}").status
            assert status == (200 if key == "run" else 422)


def _wish(twin: dict[str, Any], key: str) -> dict[str, Any]:
    return next(wish for wish in twin["wishes"] if wish["key"] == key)


def test_an_empty_window_is_a_problem(client: Client) -> None:
    twin = client.get("/api/studies/results/day").json()
    low = _wish(twin, "from")["low"]
    reply = client.get(f"/api/studies/results/day?from={low}&to={low}")
    assert reply.status == 422
    assert "the window must end after it begins" in reply.text


@pytest.mark.parametrize("name", ["managed", "jobs"])
def test_many_runs_are_cells_and_few_are_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(made(name).folder.parent)
    page = f"joulewise.serve.{'tasks' if name == 'managed' else 'jobs'}.day_page._MOST_RUNS"
    shade = "?shade=power" if name == "managed" else "?cluster=all&shade=power"
    captions = []
    for most in (10_000, 1):
        monkeypatch.setattr(page, most)
        twin = client.get(f"/api/studies/results/day{shade}").json()
        plot = next(plot for plot in _blocks(twin, "plot") if plot["name"] == "machines")
        assert is_vega_lite(plot["spec"])
        captions.append(plot["caption"])
    assert "the darker" in captions[0]
    assert "each is drawn" in captions[1]


def test_what_a_page_says_is_what_the_run_says() -> None:
    results = made("managed")
    client = client_of(results.folder.parent)
    for row, _ in runs_of(results):
        twin = client.get(f"/api/studies/results/day?run={row['run']}").json()
        (facts,) = _blocks(twin, "facts")
        told = dict(facts["pairs"])
        assert told["tasks that arrived"] == f"{row['tasks_arrived']:,}"
        assert told["tasks completed"] == f"{row['tasks_completed']:,}"


def test_a_day_that_was_not_kept_is_computed_anew(tmp_path: Path) -> None:
    results = results_of("managed", tmp_path / "results")
    for table in results.study.kind.tables:
        for path in (results.folder / table).glob("*.parquet"):
            path.unlink()
    client = client_of(tmp_path)
    for point, row in enumerate(results.runs.iter_rows(named=True)):
        twin = client.get(f"/api/studies/results/day?point={point}").json()
        assert 'keep = "first"' in str(_blocks(twin, "sentences"))
        (facts,) = _blocks(twin, "facts")
        assert dict(facts["pairs"])["tasks completed"] == f"{row['tasks_completed']:,}"


def test_other_studies_have_no_day() -> None:
    client = client_of(made("profit").folder.parent)
    assert client.get("/studies/results/day").status == 404
