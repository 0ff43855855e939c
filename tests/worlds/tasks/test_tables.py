"""Workloads from tables: round trips, shapes by hand, and every way in which a table can be wrong."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System, UtilityShapes, Workload, World, step
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload
from joulewise.worlds.tasks.tables import WorkloadTable, check_tasks, read_workload, workload_frame

SYSTEM = System(
    ("render", "solve"), ("fast", "slow"), np.array([1, 1]), np.array([[[60.0], [120.0]], [[30.0], [90.0]]])
)
BY_HAND = "arrival_s,task_type,utility,max_utility,hold_s,duration_s,utility_points\n"


def read(folder: Path, text: str, **parameters: Any) -> Workload:
    (folder / "tasks.csv").write_text(text)
    return read_workload(WorkloadTable(tasks="tasks.csv", **parameters), SYSTEM, folder)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_round_trip_of_a_published_day(tmp_path: Path, ending: str) -> None:
    system = generate_system(SystemParameters(), 0, 0)
    work = generate_workload(WorkloadParameters(tasks_per_day=2000.0, time_spread=0.3, rising_share=0.2), system, 0, 0)
    frame = workload_frame(work, system)
    path = tmp_path / f"tasks.{ending}"
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    again = read_workload(WorkloadTable(tasks=path.name, start_s=7200.0, end_s=93_600.0), system, tmp_path)
    for name in ("arrival_s", "task_type", "shape", "scale", "hold_s", "start_s", "end_s", "stretch", "rise_s"):
        assert np.array_equal(getattr(again, name), getattr(work, name))
    for name, tag in work.tags.items():
        assert again.tags[name].names == tag.names
        assert np.array_equal(again.tags[name].codes, tag.codes)


def test_tasks_alone_are_worth_1_for_ever(tmp_path: Path) -> None:
    work = read(tmp_path, "arrival_s,task_type\n0,solve\n2.5,render\n")
    assert World(SYSTEM, work).workload.task_type.tolist() == [1, 0]
    assert work.utility([0, 1], [1e9, 1e9]).tolist() == [1, 1]
    assert (work.start_s, work.end_s) == (0, np.inf)


def test_true_times_and_prorated_runs(tmp_path: Path) -> None:
    work = read(tmp_path, "arrival_s,task_type,stretch\n0,solve,2.5\n2.5,render,\n", prorated=True)
    assert work.stretch is not None
    assert (work.stretch.tolist(), work.is_prorated) == ([2.5, 1.0], True)
    with pytest.raises(InputError, match=r"stretch: found a column of true times, and workload.time_spread = 0.5"):
        read(tmp_path, "arrival_s,task_type,stretch\n0,solve,2.5\n", time_spread=0.5)


def test_utilities_that_rise_first(tmp_path: Path) -> None:
    """The hold follows the rise; where nothing rises, the column says nothing."""
    work = read(tmp_path, "arrival_s,task_type,hold_s,rise_s\n0,solve,2,10\n2.5,render,3,\n")
    assert (work.columns["rise_s"].tolist(), work.hold_s.tolist()) == ([10.0, 0.0], [12.0, 3.0])
    assert work.utility([0, 1], [2.5, 2.5]).tolist() == [0.25, 1.0]
    assert read(tmp_path, "arrival_s,task_type,rise_s\n0,solve,0\n").rise_s is None
    with pytest.raises(InputError, match=r"workload.prorated: .* must count by completion where utility rises"):
        read(tmp_path, "arrival_s,task_type,rise_s\n0,solve,1\n", prorated=True)


def test_shapes_by_hand(tmp_path: Path) -> None:
    rows = (
        "10,solve,constant,5,,,\n"
        "10,solve,linear,4,20,100,\n"
        "10,solve,step,3,20,100,\n"
        "10,solve,step,3,0,7,\n"
        "10,solve,piecewise,2,,,0:1 100:0.5; 100:0.25 200:0\n"
        "10,solve,,,,,\n"
    )
    work = read(tmp_path, BY_HAND + rows)
    tasks = np.arange(6)
    assert work.utility(tasks, np.full(6, 10.0)).tolist() == [5, 4, 3, 3, 2, 1]
    assert work.utility(tasks, np.full(6, 80.0)) == pytest.approx([5, 4 * 0.5, 3, 0, 2 * 0.75 - 0.2 * 1, 1])
    assert work.utility(tasks, np.full(6, 130.0)) == pytest.approx([5, 0, 0, 0, 2 * 0.2, 1])
    assert work.utility([2], [np.nextafter(130.0, 0)]) == 3
    assert work.utility(tasks, np.full(6, 130.1)) == pytest.approx([5, 0, 0, 0, 2 * (0.25 - 0.0025 * 20.1), 1])


def test_equal_shapes_are_shared(tmp_path: Path) -> None:
    rows = "".join(f"{i},solve,step,1,,{i + 1},\n{i},solve,linear,1,,{i % 3 + 1},\n" for i in range(50))
    work = read(tmp_path, BY_HAND + rows)
    assert len(work.shapes.names) == 50 + 3
    assert len(set(work.shape.tolist())) == 50 + 3


@given(duration_s=st.floats(1e-3, 1e6), hold_s=st.floats(0, 1e3), at_s=st.floats(0, 1e6))
def test_a_step_of_a_table_is_that_of_the_model(duration_s: float, hold_s: float, at_s: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = read(Path(folder), BY_HAND + f"0,solve,step,1,{hold_s!r},{duration_s!r},\n")
    model = replace(work, shapes=UtilityShapes.of([step(duration_s)]))
    for end_s in (at_s, hold_s + duration_s):
        assert work.utility([0], [end_s]) == model.utility([0], [end_s])
    assert work.shapes.value([0], [duration_s]) == 0


def test_every_wrong_cell_is_located(tmp_path: Path) -> None:
    text = "arrival_s,task_type\n5,solve\n4,solve\n-1,solvee\nNaN,\ninf,solve\n5 s,solve\n,solve\n"
    found = [line.partition("; ")[0] for line in problems(tmp_path, text)]
    assert found == [
        "tasks.csv: line 4, arrival_s: found '-1'",
        "tasks.csv: line 5, arrival_s: found 'NaN'",
        "tasks.csv: line 6, arrival_s: found 'inf'",
        "tasks.csv: line 7, arrival_s: found '5 s'",
        "tasks.csv: line 8, arrival_s: found nothing",
        "tasks.csv: line 3, arrival_s: found '4'",
        "tasks.csv: line 5, task_type: found nothing",
        "tasks.csv: line 4, task_type: found 'solvee'",
    ]


def test_all_that_is_wrong_whatever_the_system_is_told_without_it(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text(BY_HAND + "5,solve,step,1,,9,\n4,solve,cubic,-8,,9,\n")
    with pytest.raises(InputError) as caught:
        check_tasks(WorkloadTable(tasks="tasks.csv"), tmp_path)
    places = ("line 3, arrival_s", "line 3, utility", "line 3, max_utility")
    assert all(place in str(caught.value) for place in places)


def test_many_problems_of_one_kind_are_counted(tmp_path: Path) -> None:
    found = problems(tmp_path, "arrival_s,task_type\n" + "".join(f"{9000 - i},t{i}\n" for i in range(1000)))
    assert len(found) == 2 * 6
    assert "994 more cells of this kind" in found[5]
    assert "995 more unknown names (task type)" in found[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival,task_type\n1,solve\n", "did you mean 'arrival_s'?"),
        ("arrival,task_type\n1,solve\n", "has no column 'arrival_s'"),
        ("arrival_s,type\n1,solve\n", "has no column 'task_type'"),
        ("arrival_s,task_type\n2,solve\n1,solve\n", "sort the table by arrival_s"),
        ("arrival_s,task_type\n2,slove\n", "did you mean 'solve'?"),
        ("arrival_s,task_type,priority\n2,solve,high\n", "need priority, urgency, utility_class"),
        ("arrival_s,task_type,priority,urgency,utility_class\n2,solve,hgih,low,A\n", "did you mean 'high'?"),
        ("arrival_s,task_type,priority,urgency,utility_class\n2,solve,high,low,E\n", "one of A, B, C, D"),
        (
            "arrival_s,task_type,priority,urgency,utility_class\n2,solve,high,,A\n",
            "the urgency must be given",
        ),
        ("arrival_s,task_type,priority,utility\n2,solve,high,step\n", "both by level (priority) and by hand"),
        (BY_HAND + "1,solve,stpe,,,,\n", "did you mean 'step'?"),
        (BY_HAND + "1,solve,step,,,,\n", "line 2, duration_s: found nothing"),
        (BY_HAND + "1,solve,step,,,0,\n", "must be a finite number above 0"),
        (BY_HAND + "1,solve,constant,,,5,\n", "must be empty but for linear or step"),
        (BY_HAND + "1,solve,constant,-1,,,\n", "line 2, max_utility: found '-1'"),
        (BY_HAND + "1,solve,constant,1,NaN,,\n", "line 2, hold_s: found 'NaN'"),
        (BY_HAND + "1,solve,piecewise,,,,\n", "line 2, utility_points: found nothing"),
        (BY_HAND + "1,solve,piecewise,,,,0:1 5\n", "found '0:1 5'"),
        (BY_HAND + "1,solve,piecewise,,,,0:1 5:2\n", "found '0:1 5:2'"),
        (BY_HAND + "1,solve,piecewise,,,,1:1 5:0\n", "found '1:1 5:0'"),
        (BY_HAND + "1,solve,piecewise,,,,0:1 5:nan\n", "found '0:1 5:nan'"),
        ("arrival_s,task_type,utility\n1,solve,linear\n", "has no column 'duration_s'"),
        ("arrival_s,task_type\n1,solve\n2\n", "line 3: found 1 cells"),
        (
            "arrival_s,task_type,rise_s\n1,solve,-1\n",
            "line 2, rise_s: found '-1'; must be a finite number of 0 or more",
        ),
        ("arrival_s,task_type,stretch\n1,solve,0\n", "line 2, stretch: found '0'; must be a finite number above 0"),
        ("arrival_s,task_type\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_wrong_tables(tmp_path: Path, text: str, message: str) -> None:
    assert any(message in line for line in problems(tmp_path, text))


def test_wrong_levels() -> None:
    with pytest.raises(InputError) as caught:
        WorkloadTable(tasks="tasks.csv", utility_classes=("Z",))
    assert [problem.where for problem in caught.value.problems] == ["workload.utility_classes"]


@pytest.mark.parametrize(
    ("window", "wheres"),
    [
        ({"start_s": 5.0, "end_s": 5.0}, ["workload.end"]),
        ({"start_s": -1.0, "end_s": -2.0}, ["workload.start", "workload.end"]),
        ({"start_s": float("nan")}, ["workload.start", "workload.end"]),
    ],
)
def test_a_wrong_window_hides_no_other_problem(tmp_path: Path, window: dict[str, float], wheres: list[str]) -> None:
    text = "arrival_s,task_type\n-1,slove\n"
    cells = ["tasks.csv: line 2, arrival_s", "tasks.csv: line 2, task_type"]
    for contents, others in ((text, cells), ("", ["tasks.csv"])):
        with pytest.raises(InputError) as caught:
            read(tmp_path, contents, **window)
        assert [problem.where for problem in caught.value.problems] == wheres + others


def test_the_end_is_after_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"workload.end: found 5 s; must be after the start, 7 s"):
        read(tmp_path, "arrival_s,task_type\n1,solve\n", start_s=7.0, end_s=5.0)


def test_only_levels_have_a_table(tmp_path: Path) -> None:
    work = read(tmp_path, "arrival_s,task_type\n0,solve\n")
    with pytest.raises(InputError, match="only workloads described by these levels"):
        workload_frame(work, SYSTEM)


def test_line_numbers_count_blank_lines(tmp_path: Path) -> None:
    found = problems(tmp_path, "arrival_s,task_type\n\n1,solve\n\n\nx,solve\n\n")
    assert found[0].startswith("tasks.csv: line 6, arrival_s: found 'x'")


def test_numbers_as_names_in_parquet(tmp_path: Path) -> None:
    system = System(("1", "2"), ("fast",), np.array([1]), np.ones((2, 1, 1)))
    pl.DataFrame({"arrival_s": [0, 1], "task_type": [2, 1]}).write_parquet(tmp_path / "tasks.parquet")
    assert read_workload(WorkloadTable(tasks="tasks.parquet"), system, tmp_path).task_type.tolist() == [1, 0]
