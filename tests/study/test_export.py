"""Exported schedules and records: what is in them, what they mean, and that nothing else is overwritten."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.study.answers.export import FORMATS, ExportFolder, to_export
from joulewise.study.answers.tables import stored_tables
from joulewise.study.store.store import Store
from tests.strategies.every_kind import made, results_of

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {"csv": pl.read_csv, "parquet": pl.read_parquet}


def exported(name: str, into: Path, kind: str = "parquet") -> dict[str, pl.DataFrame]:
    """The tables of a study, as they are exported."""
    paths = to_export(made(name).folder, kind, into).write()
    return {path.stem: READERS[path.suffix[1:]](path) for path in paths}


@pytest.mark.parametrize("name", ["managed", "front", "pricing", "log", "utility"])
def test_every_row_tells_its_run_point_and_trial(name: str, tmp_path: Path) -> None:
    results, tables = made(name), exported(name, tmp_path)
    point = [*results.study.axes, "trial"]
    meanings = tables.pop("columns")
    assert set(tables) == {
        table for table in stored_tables(results.folder).names if stored_tables(results.folder).kept(table)
    }
    for table, frame in tables.items():
        assert frame.columns[: len(point) + 1] == ["run", *point], table
        told = frame.select("run", *point).unique().sort("run", *point)
        assert told.equals(results.runs.select("run", *point).unique().sort("run", *point)), table
        assert frame.height == results.details(table).height
        assert meanings.filter(pl.col("table") == table)["column"].to_list() == frame.columns
    assert meanings["meaning"].str.len_chars().min() > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "table", "columns"),
    [
        ("managed", "records", ("task_type", "machine_type")),
        ("front", "counts", ("task_type", "machine_type")),
        ("utility", "assignments", ("task_type", "machine_type")),
        ("log", "jobs", ("job_id", "user", "cluster")),
    ],
)
def test_names_are_told(name: str, table: str, columns: tuple[str, ...], tmp_path: Path) -> None:
    found = exported(name, tmp_path)[table]
    assert all(found[column].dtype == pl.String and found[column].null_count() < found.height for column in columns)


def test_machine_types_are_those_of_the_numbers(tmp_path: Path) -> None:
    pairs = exported("utility", tmp_path)["assignments"].select("machine", "machine_type").unique()
    assert pairs["machine"].n_unique() == pairs.height
    assert (pairs["machine_type"].is_null() == (pairs["machine"] < 0)).all()


def test_formats_hold_the_same(tmp_path: Path) -> None:
    csv, parquet = (exported("managed", tmp_path / kind, kind) for kind in FORMATS)
    for name in csv:
        assert csv[name].equals(parquet[name].cast(csv[name].schema)), name


def test_the_size_is_told_beforehand(tmp_path: Path) -> None:
    work = to_export(made("managed").folder, "csv", tmp_path)
    sizes = [path.stat().st_size for path in work.write() if path.name != "columns.csv"]
    assert work.n_rows == sum(made("managed").details(name).height for name in work.names)
    assert sum(sizes) / 1.2 < work.n_bytes < sum(sizes) * 1.2


def test_no_room_is_told_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(InputError, match="the disk has 10 left"):
        to_export(made("managed").folder, "csv", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_an_export_wrote_is_written_again(tmp_path: Path) -> None:
    first = to_export(made("managed").folder, "csv", tmp_path).write()
    before = {path: path.read_bytes() for path in first}
    assert to_export(made("managed").folder, "csv", tmp_path).write() == first
    assert {path: path.read_bytes() for path in first} == before


@pytest.mark.parametrize("name", ["records.csv", "traces.csv", "columns.csv"])
def test_files_of_others_are_not_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=re.escape(f"{name}: is there, and is not as an export wrote it")):
        to_export(made("managed").folder, "csv", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_files_that_were_changed_since_are_not_overwritten(tmp_path: Path) -> None:
    to_export(made("managed").folder, "csv", tmp_path).write()
    with (tmp_path / "records.csv").open("a") as file:
        file.write("mine\n")
    with pytest.raises(InputError, match=r"records.csv: is there"):
        to_export(made("managed").folder, "csv", tmp_path)


def test_links_are_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "records.csv").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match=r"records.csv: is there"):
        to_export(made("managed").folder, "csv", tmp_path / "export")
    results_of("managed", tmp_path / "day")
    (tmp_path / "day" / "export").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is a link to another place"):
        to_export(tmp_path / "day")
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"files": 3}'])
def test_a_marker_of_something_else_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(InputError, match=r"export.json.*choose another folder with --out"):
        to_export(made("managed").folder, "csv", tmp_path)
    assert (tmp_path / "export.json").read_text() == text


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="must be a folder"):
        to_export(made("managed").folder, "csv", tmp_path / "file")


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"format: found 'xls'.*csv, parquet"):
        to_export(made("managed").folder, "xls", tmp_path)


def test_nothing_kept_is_told(tmp_path: Path) -> None:
    results = results_of("managed", tmp_path)
    store = Store(tmp_path)
    for run in results.runs["run"]:
        for path in store.detail_files(run).values():
            path.unlink()
    with pytest.raises(InputError, match="keeps no detail tables"):
        to_export(tmp_path)


def test_results_with_an_export_are_read_and_run_as_before(tmp_path: Path) -> None:
    results = results_of("managed", tmp_path)
    to_export(tmp_path).write()
    assert json.loads((tmp_path / "export" / "export.json").read_text())["files"].keys() >= {"records.csv"}
    assert stored_tables(tmp_path).keys["run"].equals(results.runs["run"])
    Store(tmp_path).check_owner(results.study.owner)


def test_failures_leave_what_was_there(tmp_path: Path) -> None:
    place = ExportFolder(tmp_path)
    place.write("a.csv", lambda path: path.write_text("one"))

    def fails(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        place.write("a.csv", fails)
    assert (tmp_path / "a.csv").read_text() == "one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "export.json"]
