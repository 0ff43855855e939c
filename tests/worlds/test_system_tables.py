"""Systems from tables: round trips, and every way in which a table can be wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from joulewise.errors import InputError
from joulewise.model import Standby, System
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.system_tables import SystemTables, read_system, system_frames
from tools.reference import TABLES

ETC = "task_type,fast,slow\nrender,60,120\nsolve,,300\n"
LIMITS = ((20, 50), (0, 20), (0, 100), (0, 60))
"""Idle, sleep and boot power, and boot delay."""
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=5)


def unique_names(n: int) -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES.filter(lambda name: name not in ("pstate", "task_type")), min_size=n, max_size=n, unique=True)


@st.composite
def systems(draw: st.DrawFn) -> System:
    n_tasks, n_machines, n_pstates = (draw(st.integers(1, 4)) for _ in range(3))
    times = st.floats(1e-3, 1e6)
    fastest = draw(arrays(np.float64, (n_tasks, n_machines, 1), elements=times | st.just(np.inf)))
    fastest[:, 0] = draw(arrays(np.float64, (n_tasks, 1), elements=times))
    slower = draw(arrays(np.float64, (n_tasks, n_machines, n_pstates), elements=st.floats(1, 9)))
    slower[:, :, 0] = 1
    power_w = draw(st.none() | arrays(np.float64, (n_tasks, n_machines, n_pstates), elements=st.floats(50, 1e4)))
    return System(
        tuple(draw(unique_names(n_tasks))),
        tuple(draw(unique_names(n_machines))),
        draw(arrays(np.int64, n_machines, elements=st.integers(1, 99))),
        fastest * slower,
        power_w,
        tuple(draw(st.lists(st.sampled_from(["general", "special"]), min_size=n_machines, max_size=n_machines))),
        None if power_w is None else draw(st.none() | standbys(n_machines)),
    )


@st.composite
def standbys(draw: st.DrawFn, n: int) -> Standby:
    columns = [draw(arrays(np.float64, n, elements=st.floats(low, high))) for low, high in LIMITS]
    columns.append(draw(arrays(np.float64, n, elements=st.floats(0, 1e6) | st.just(np.inf))))
    return Standby(*columns)


def tables_named(names: Iterable[str], ending: str) -> SystemTables:
    given = {name: f"{name}.{ending}" for name in names}
    return SystemTables(given["etc_s"], given.get("machines"), given.get("power_w"))


def write(frames: dict[str, pl.DataFrame], folder: Path, ending: str) -> SystemTables:
    for name, frame in frames.items():
        path = folder / f"{name}.{ending}"
        frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    return tables_named(frames, ending)


def assert_same(one: System, other: System) -> None:
    assert one.task_types == other.task_types
    assert one.machine_types == other.machine_types
    assert one.machine_group == other.machine_group
    assert np.array_equal(one.counts, other.counts)
    assert np.array_equal(one.etc_s, other.etc_s)
    assert np.array_equal(one.eec_j, other.eec_j)
    assert (one.standby is None) == (other.standby is None)
    for name in () if one.standby is None else one.standby.__dataclass_fields__:
        assert np.array_equal(getattr(one.standby, name), getattr(other.standby, name)), name


@given(system=systems(), ending=st.sampled_from(["csv", "parquet"]))
def test_round_trip(system: System, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tables = write(system_frames(system), Path(folder), ending)
        assert_same(read_system(tables, Path(folder)), system)


def test_round_trip_of_the_published_system(tmp_path: Path) -> None:
    system = generate_system(SystemParameters(pstates=3), 0, 0)
    assert_same(read_system(write(system_frames(system), tmp_path, "csv"), tmp_path), system)


def files(folder: Path, **texts: str) -> SystemTables:
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return tables_named(texts, "csv")


def problems(folder: Path, **texts: str) -> list[str]:
    tables = files(folder, **texts)
    with pytest.raises(InputError) as caught:
        read_system(tables, folder)
    return [str(problem) for problem in caught.value.problems]


def test_a_table_as_people_write_it(tmp_path: Path) -> None:
    etc_s = '\ufeffprogram , fast ,"slow, old"\n\nrender, 60 ,inf\n\nsolve,,3e2\n'
    machines = 'machine_type,count,group\n"slow, old",3,\nfast,2,special\n'
    system = read_system(files(tmp_path, etc_s=etc_s, machines=machines), tmp_path)
    assert system.task_types == ("render", "solve")
    assert system.machine_types == ("fast", "slow, old")
    assert system.counts.tolist() == [2, 3]
    assert system.machine_group == ("special", "general")
    assert system.etc_s[:, :, 0].tolist() == [[60, np.inf], [np.inf, 300]]


def test_counts_from_a_list_or_one_each(tmp_path: Path) -> None:
    files(tmp_path, etc_s=ETC)
    assert read_system(SystemTables("etc_s.csv"), tmp_path).counts.tolist() == [1, 1]
    assert read_system(SystemTables("etc_s.csv", counts=(4, 5)), tmp_path).counts.tolist() == [4, 5]
    with pytest.raises(InputError, match="found 3 counts"):
        read_system(SystemTables("etc_s.csv", counts=(1, 2, 3)), tmp_path)
    with pytest.raises(InputError, match="leave one of them out"):
        SystemTables("etc_s.csv", "machines.csv", counts=(1, 2))


def test_tables_are_matched_by_name(tmp_path: Path) -> None:
    power_w = "task_type,slow,fast\nsolve,5,\nrender,7,8\n"
    system = read_system(files(tmp_path, etc_s=ETC, power_w=power_w), tmp_path)
    assert system.power_w is not None
    assert system.power_w[:, :, 0].tolist() == [[8, 7], [np.inf, 5]]


def test_pstates_in_rows(tmp_path: Path) -> None:
    etc_s = "pstate,task_type,m\n1,a,20\n0,a,10\n0,b,30\n1,b,\n"
    system = read_system(files(tmp_path, etc_s=etc_s), tmp_path)
    assert system.etc_s.tolist() == [[[10, 20]], [[30, np.inf]]]


def test_every_wrong_cell_is_located(tmp_path: Path) -> None:
    found = problems(tmp_path, etc_s="task_type,x,y\na,-1,NaN\nb,0,-inf\n,1,10 min\n")
    assert [line.partition("; ")[0] for line in found] == [
        "etc_s.csv: line 4, task_type: found nothing",
        "etc_s.csv: line 2, x: found '-1'",
        "etc_s.csv: line 2, y: found 'NaN'",
        "etc_s.csv: line 3, x: found '0'",
        "etc_s.csv: line 3, y: found '-inf'",
        "etc_s.csv: line 4, y: found '10 min'",
    ]


def test_many_problems_of_one_kind_are_counted(tmp_path: Path) -> None:
    found = problems(tmp_path, etc_s="task_type,x\n" + "".join(f"t{i},-1\n" for i in range(100)))
    assert len(found) == 6
    assert found[-1].startswith("etc_s.csv: 95 more cells of this kind")


@pytest.mark.parametrize(
    ("etc_s", "message"),
    [
        ("task_type,x\na,1\na,2\n", "line 3, task_type: found 'a'; each task type may have one row"),
        ("task_type,x,x\na,1,2\n", "found the column 'x' more than once"),
        ("task_type,x,\na,1,2\n", "column 3 has no name"),
        ("task_type\na\n", "found one column, 'task_type'"),
        ("task_type\tx\na\t1\n", "separate the columns by commas"),
        ("x,y\n1,2\n", "call it 'task_type' if they are names"),
        ("task_type,pstate,x\na,0,1\nb,0,1\nb,1,2\n", "has no row for 'a' in P-state 1"),
        ("task_type,pstate,x\na,0,1\na,0,2\n", "each task type may have one row"),
        ("task_type,pstate,x\na,0.5,1\n", "line 2, pstate: found '0.5'; must be a whole number"),
        ("task_type,pstate,x\na,1000000,1\n", "must be a whole number from 0 to 127"),
        ("task_type,pstate\na,0\n", "has no machine types"),
        ("task_type,x\na,\n", "no machine can run this task type"),
        ("task_type,x,y\na,1,2\nb,3\n", "line 3: found 2 cells; must be 3"),
        ("task_type,x,y\na,1,2,3\n", "line 2: found 4 cells; must be 3"),
        ('task_type,x\na,"1\n', "cannot be read as CSV"),
        ("task_type,pstate,x\na,0,5\na,1,4\n", "P-state 0 must be the fastest"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("task_type,x\n", "has no rows"),
        ("task_type,x\n,\n", "has no rows"),
    ],
)
def test_wrong_tables_of_times(tmp_path: Path, etc_s: str, message: str) -> None:
    assert any(message in line for line in problems(tmp_path, etc_s=etc_s))


@pytest.mark.parametrize(
    ("power_w", "message"),
    [
        ("task_type,fast,slow\nrender,1,2\nsolve,,\n", "line 3, slow: found nothing"),
        ("task_type,fast,slow\nrender,1,2\nsolv,,3\n", "did you mean 'solve'?"),
        ("task_type,fast,slow\nrender,1,2\n", "has no task type 'solve'"),
        ("task_type,fast\nrender,1\nsolve,2\n", "has no machine type 'slow'"),
        ("task_type,fast,slow\nrender,1,-2\nsolve,,3\n", "line 2, slow: found '-2'"),
        (
            "task_type,pstate,fast,slow\nrender,0,1,2\nsolve,0,,3\nrender,1,1,2\nsolve,1,,3\n",
            "found 2 P-states",
        ),
    ],
)
def test_wrong_tables_of_powers(tmp_path: Path, power_w: str, message: str) -> None:
    assert any(message in line for line in problems(tmp_path, etc_s=ETC, power_w=power_w))


@pytest.mark.parametrize(
    ("machines", "message"),
    [
        ("machine_type,count\nfast,2\n", "has no machine type 'slow'"),
        ("machine_type,count\nfast,2\nslow,1\nslwo,1\n", "did you mean 'slow'?"),
        (
            "machine_type,count\nfast,2\nslow,1\nslow,1\n",
            "line 4, machine_type: found 'slow'; may have one row",
        ),
        ("machine_type,count\nfast,2.5\nslow,-1\n", "line 2, count: found '2.5'; must be a whole number"),
        ("machine_type,count\nfast,2.5\nslow,-1\n", "line 3, count: found '-1'"),
        ("machine_type,count\nfast,2\nslow,\n", "line 3, count: found nothing"),
        ("machine_type,count\nfast,2\nslow,10000000\n", "there may be up to 1,000,000"),
        ("machine_type,counts\nfast,2\nslow,1\n", "did you mean 'count'?"),
        ("machine_type,counts\nfast,2\nslow,1\n", "has no column 'count'"),
    ],
)
def test_wrong_tables_of_machines(tmp_path: Path, machines: str, message: str) -> None:
    assert any(message in line for line in problems(tmp_path, etc_s=ETC, machines=machines))


POWER = "task_type,fast,slow\nrender,60,50\nsolve,,50\n"


def test_standby_by_machine_type(tmp_path: Path) -> None:
    machines = "machine_type,count,idle_w,sleep_after_s,boot_s\nslow,1,20,,\nfast,1,,600,5\n"
    standby = read_system(files(tmp_path, etc_s=ETC, power_w=POWER, machines=machines), tmp_path).standby
    assert standby is not None
    assert standby.idle_w.tolist() == [0, 20]
    assert standby.sleep_after_s.tolist() == [600, np.inf]
    assert (standby.boot_s.tolist(), standby.boot_w.tolist(), standby.sleep_w.tolist()) == ([5, 0], [0, 0], [0, 0])


@pytest.mark.parametrize(
    ("columns", "cells", "message"),
    [
        ("idle_w", "-1", "line 2, idle_w: found '-1'; must be a finite number of 0 or more, in W"),
        ("idle_w", "70", "system.power_w: render on fast, P-state 0: found 60.0"),
        ("boot_s", "5", "header: found boot_s; needs a column 'sleep_after_s'"),
        ("sleep_w,sleep_after_s", "5,9", "line 2, sleep_w: found '5'; must not be above idle_w"),
        ("sleep_after_s", "nan", "line 2, sleep_after_s: found 'nan'"),
        ("idle", "3", "did you mean 'idle_w'?"),
    ],
)
def test_wrong_standby(tmp_path: Path, columns: str, cells: str, message: str) -> None:
    commas = "," * columns.count(",")
    machines = f"machine_type,count,{columns}\nfast,1,{cells}\nslow,1,{commas}\n"
    found = problems(tmp_path, etc_s=ETC, power_w=POWER, machines=machines)
    assert any(message in line for line in found), found


def test_standby_needs_powers(tmp_path: Path) -> None:
    machines = "machine_type,count,idle_w\nfast,1,1\nslow,1,1\n"
    (found,) = problems(tmp_path, etc_s=ETC, machines=machines)
    assert found.startswith("machines.csv: header: found idle_w; needs the powers of running tasks as well (power_w)")


def test_machines_of_tables_may_fail() -> None:
    assert SystemTables("etc_s.csv", mtbf_s=3600.0, mttr_s=60.0).mtbf_s == 3600
    with pytest.raises(InputError, match="mtbf and mttr go together"):
        SystemTables("etc_s.csv", mtbf_s=3600.0)


def test_problems_of_all_tables_come_together(tmp_path: Path) -> None:
    found = problems(tmp_path, etc_s=ETC, power_w="", machines="machine_type,count\nfast,x\n")
    assert {line.partition(":")[0] for line in found} == {"power_w.csv", "machines.csv"}


def test_all_problems_of_a_table_come_together(tmp_path: Path) -> None:
    files(tmp_path, etc_s="task_type,x,y\na,1,NaN\nb,-2,3\na,1,1\nc,,\n")
    with pytest.raises(InputError) as caught:
        read_system(SystemTables("etc_s.csv", counts=(1, -2, 3)), tmp_path)
    assert [str(problem).partition("; ")[0] for problem in caught.value.problems] == [
        "etc_s.csv: line 2, y: found 'NaN'",
        "etc_s.csv: line 3, x: found '-2'",
        "etc_s.csv: line 4, task_type: found 'a'",
        "system.counts: found 3 counts",
        "system.counts: found -2",
        "system.etc_s: c: no machine can run this task type",
    ]


def test_wrong_rows_are_passed_over_without_further_complaints(tmp_path: Path) -> None:
    etc_s = "task_type,pstate,x\na,0,5\na,first,6\n,1,7\nb,0,5\nb,1,4\n"
    power_w = "task_type,pstate,x\na,0,-1\na,1,2\nb,0,3\nb,1,\n"
    found = problems(tmp_path, etc_s=etc_s, power_w=power_w)
    assert [line.partition("; ")[0] for line in found] == [
        "etc_s.csv: line 4, task_type: found nothing",
        "etc_s.csv: line 3, pstate: found 'first'",
        "power_w.csv: line 2, x: found '-1'",
        "power_w.csv: line 5, x: found nothing",
        "system.etc_s: b on x, P-state 1: found 4.0",
    ]


def test_too_many_values_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.worlds.system_tables.MAX_CELLS", 3)
    assert problems(tmp_path, etc_s=ETC) == ["etc_s.csv: found 4 values; there may be up to 3"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "garbage.parquet").write_bytes(b"PAR1 and then nothing of the kind")
    (tmp_path / "latin.csv").write_bytes("task_type,x\nM\xfcll,1\n".encode("latin-1"))
    (tmp_path / "folder.csv").mkdir()
    frame = pl.DataFrame({"task_type": ["a"] * 1000, "x": np.arange(1000.0)})
    frame.write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-100])
    messages = {
        "garbage.parquet": "cannot be read as Parquet",
        "cut.parquet": "the file may be truncated",
        "latin.csv": "is not UTF-8 text",
        "folder.csv": "there is no such file",
        "absent.csv": "there is no such file",
        "times.xlsx": "must be one of .csv, .parquet",
    }
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            read_system(SystemTables(name), tmp_path)


def test_parquet_rows_are_counted_from_one_and_types_checked(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task_type": ["a", "b"], "x": [1.0, float("nan")], "y": [True, None]})
    frame.write_parquet(tmp_path / "etc.parquet")
    with pytest.raises(InputError) as caught:
        read_system(SystemTables("etc.parquet"), tmp_path)
    assert [problem.where for problem in caught.value.problems] == [
        "etc.parquet: row 1, y",
        "etc.parquet: row 2, x",
    ]


def test_parquet_with_numbers_and_categories(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task_type": pl.Series(["a", "b"], dtype=pl.Categorical), "x": [1, 2]})
    frame.write_parquet(tmp_path / "etc.parquet")
    assert read_system(SystemTables("etc.parquet"), tmp_path).etc_s[:, 0, 0].tolist() == [1, 2]


def test_every_column_is_described() -> None:
    for columns in TABLES.values():
        assert all(column.name and column.meaning for column in columns)
        assert any(column.required for column in columns)
