"""Entries: what is written is read, what is altered is found, and code runs only where it is trusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from joulewise.errors import InputError
from joulewise.study.arena.entry import (
    Entry,
    Source,
    entry_of,
    held_against,
    place_to_run,
    read_entry,
    source_of,
    told_of,
)
from joulewise.study.arena.sets import SETS, place_of
from tests.strategies.small import HEURISTIC
from tests.strategies.small_arena import made_rows

ROWS = made_rows({"mine.py:mine": [[90, 80.5], [70, None]]})


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    """An entry of a policy in a file."""
    (tmp_path / "mine.py").write_bytes(HEURISTIC.replace("\n", "\r\n").encode())
    return made("mine.py:mine", tmp_path)


def made(policy: str, folder: Path) -> Entry:
    """The entry of a policy in a file of a folder, or in a table."""
    place = place_of(str(folder / policy) if ".py" in policy else policy)
    return entry_of(place, source_of(place), [(SETS["tasks"], ROWS)])


def test_what_changed_while_it_ran_is_no_entry(entry: Entry, tmp_path: Path) -> None:
    place, before = place_of(str(tmp_path / "mine.py:mine")), Source(entry.source, entry.sha256)
    (tmp_path / "mine.py").write_text(HEURISTIC + "# changed")
    with pytest.raises(InputError, match=r"mine\.py:mine: changed while it was run"):
        entry_of(place, before, [(SETS["tasks"], ROWS)])
    (tmp_path / "mine.py").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        entry_of(place, before, [(SETS["tasks"], ROWS)])


def test_an_entry_names_the_libraries_that_compute(entry: Entry) -> None:
    assert {"joulewise", "kernels", "numpy", "numba", "python", "machine"} == entry.versions.keys()


def test_what_is_written_is_read(entry: Entry, tmp_path: Path) -> None:
    entry.write(tmp_path / "entry.json")
    found = read_entry(tmp_path / "entry.json")
    assert_frame_equal(found.rows, entry.rows)
    assert (found.source, found.sha256, found.versions, found.sets) == (
        entry.source, entry.sha256, entry.versions, entry.sets
    )  # fmt: skip
    assert list(told_of(found)) == []
    assert all(not row.problems for row in held_against(found.rows, entry.rows))


@pytest.mark.parametrize("source", ["", "# \N{SNOWMAN} </script>\r\n", "x = '\\u0000'"])
def test_a_policy_of_a_table_has_no_source_and_any_other_is_kept_whole(source: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_bytes(source.encode())
    found = made("p.py", tmp_path)
    assert found.source == source
    table = made("prices", tmp_path)
    assert (table.source, table.sha256) == ("", "")
    assert place_to_run(table, tmp_path, None) == (Path(), "prices")


def test_code_is_run_where_it_is_trusted_and_is_what_it_was(entry: Entry, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing that came with an entry is run"):
        place_to_run(entry, tmp_path, None)
    assert place_to_run(entry, tmp_path, tmp_path) == (tmp_path, "mine.py:mine")
    with pytest.raises(InputError, match="found no file"):
        place_to_run(entry, tmp_path, tmp_path / "elsewhere")
    (tmp_path / "mine.py").write_text(HEURISTIC)
    with pytest.raises(InputError, match="the entry is of"):
        place_to_run(entry, tmp_path, tmp_path)


@given(st.sampled_from(["utility", "utility_bound", "slices", "error", "world", "trial"]), st.integers(0, 2))
def test_an_altered_row_is_found(name: str, number: int) -> None:
    stored = ROWS.select(pl.lit("tasks").alias("set"), pl.all())
    changes = {
        "utility": pl.col("utility") * 1.0001, "utility_bound": pl.col("utility_bound") - 0.01,
        "slices": pl.col("slices") * 0.999, "error": pl.lit("another"), "world": pl.lit("w"), "trial": pl.lit(9),
    }  # fmt: skip
    is_it = pl.int_range(pl.len()) == number
    altered = stored.with_columns(pl.when(is_it).then(changes[name]).otherwise(pl.col(name)).alias(name))
    held = held_against(altered, stored)
    assert [row.problems for row in held if row.problems]
    assert sum(not row.problems for row in held) == 3


def test_what_measures_the_computer_is_not_compared() -> None:
    stored = ROWS.select(pl.lit("tasks").alias("set"), pl.all())
    assert not any(row.problems for row in held_against(stored.with_columns(event_ms=9.0), stored))


def change(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda found: found.update({key: value})


@pytest.mark.parametrize(
    ("alter", "words"),
    [
        (change("entry", 1), "is an entry of format 1: this version reads entries of format 2"),
        (change("sets", {"tasks": "arena-tasks-0, x"}), "is of 'arena-tasks-0, x': this package has 'arena-tasks-"),
        (change("sets", {"chess": "x"}), "this package has the sets tasks, jobs, logs"),
        (change("rows", [{}]), "rows.0.set: is missing"),
        (change("rows", None), "rows: found None"),
        (lambda found: found["rows"][0].update(utility="9"), "rows.0.utility: found '9'"),
        (lambda found: found["rows"][0].update(policy="easy"), "rows.0: is of 'easy' on 'tasks'"),
        (lambda found: found["rows"].append(found["rows"][0]), "rows.4: 'world 0', trial 0, is there twice"),
        (lambda found: found["rows"][0].update(slices=[[1.0]]), "slices"),
    ],
)
def test_damaged_entries_and_those_of_other_versions_are_told(
    alter: Callable[[dict[str, Any]], None], words: str, entry: Entry, tmp_path: Path
) -> None:
    path = tmp_path / "entry.json"
    entry.write(path)
    found = json.loads(path.read_text())
    alter(found)
    path.write_text(json.dumps(found))
    with pytest.raises(InputError) as caught:
        read_entry(path)
    (problem, *_) = caught.value.problems
    assert words in f"{problem.where}: {problem.found}: {problem.allowed}"


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"entry": 1'])
def test_what_is_no_entry_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "entry.json").write_bytes(content)
    with pytest.raises(InputError):
        read_entry(tmp_path / "entry.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_entry(tmp_path / "none.json")


def test_an_altered_source_is_told(entry: Entry, tmp_path: Path) -> None:
    entry.write(tmp_path / "entry.json")
    text = (tmp_path / "entry.json").read_text().replace("utility / exec_s", "utility * exec_s")
    (tmp_path / "entry.json").write_text(text)
    with pytest.raises(InputError, match="its source is not that of its hash"):
        place_to_run(read_entry(tmp_path / "entry.json"), tmp_path, tmp_path)
