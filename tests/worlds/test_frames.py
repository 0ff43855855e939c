"""Reading files: whatever they hold, the answer is a table or an InputError."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds import frames
from joulewise.worlds.frames import InputTable, read_table

CELLS = st.text("ab1.-\"' ;,:\t", max_size=4)
SOUP = st.text('a1,."\n\r ;\x00\ufeff', max_size=60) | st.binary(max_size=60)


def read_bytes(data: bytes, ending: str) -> InputTable:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"table.{ending}").write_bytes(data)
        return read_table(f"table.{ending}", Path(folder))


@given(soup=SOUP, ending=st.sampled_from(["csv", "parquet"]))
def test_anything_is_a_table_or_an_input_error(soup: str | bytes, ending: str) -> None:
    data = soup if isinstance(soup, bytes) else soup.encode()
    try:
        table = read_bytes(data, ending)
    except InputError:
        pass
    else:
        assert table.frame.height == table.numbers_of_rows.size > 0


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), crlf=st.booleans())
def test_cells_and_lines_are_kept(rows: list[tuple[str, str, str]], crlf: bool) -> None:
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [("x", "y", "z"), *rows]]
    kept = [(number, row) for number, row in enumerate(rows, 2) if any(cell.strip() for cell in row)]
    data = ("\r\n" if crlf else "\n").join(lines).encode()
    if not kept:
        with pytest.raises(InputError, match="has no rows"):
            read_bytes(data, "csv")
        return
    table = read_bytes(data, "csv")
    assert table.frame.rows() == [tuple(cell.strip() or None for cell in row) for _, row in kept]
    assert table.numbers_of_rows.tolist() == [number for number, _ in kept]


@given(data=st.data())
def test_a_damaged_parquet_file_is_refused_or_read(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pl.DataFrame({"x": np.arange(50.0), "y": ["a"] * 50}).write_parquet(path)
        whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(InputError):
        read_bytes(whole[:cut], "parquet")


def test_absurd_sizes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]}).write_parquet(tmp_path / "table.parquet")
    monkeypatch.setattr(frames, "MAX_ROWS", 2)
    with pytest.raises(InputError, match="found 3 rows; a table may have up to 2"):
        read_table("table.parquet", tmp_path)
    monkeypatch.setattr(frames, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="bytes; a table may have up to 10"):
        read_table("table.parquet", tmp_path)
