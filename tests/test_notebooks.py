"""The notebooks of the docs run, show what they did, and are small."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tests.test_project import SYSTEMS
from tools.notebooks import FOLDER, executed, read

EVERY_DAY = "bags"
MOST_BYTES = 300_000
NOTEBOOKS = [
    pytest.param(path, marks=[] if path.stem == EVERY_DAY else pytest.mark.thorough("compiles kernels"), id=path.stem)
    for path in sorted(FOLDER.glob("*.ipynb"))
]


def test_every_system_has_a_notebook_that_is_small_and_was_executed() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(SYSTEMS)
    for path in FOLDER.glob("*.ipynb"):
        cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
        assert path.stat().st_size < MOST_BYTES, path.stem
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), path.stem


@pytest.mark.thorough("starts processes and takes seconds")
@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebooks_run_and_show_what_they_did(path: Path) -> None:
    assert [shown_by(cell) for cell in executed(path).cells] == [shown_by(cell) for cell in read(path).cells]


def shown_by(cell: nbformat.NotebookNode) -> list[list[str]]:
    """The kinds of what a cell shows; text of progress, which is written where something takes its time, is none."""
    return [sorted(data) for output in cell.get("outputs", []) if (data := output.get("data"))]
