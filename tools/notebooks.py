"""Execute the notebooks of the docs and keep what they show: `python -m tools.notebooks`, or `make notebooks`.

They are committed with what they show, so that they can be read anywhere; tests execute them again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
LIMIT_S = 600


def read(path: Path) -> Any:
    """A notebook as it is kept."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path) -> Any:
    """A notebook with what its cells show now. Raises CellExecutionError where one fails."""
    notebook = read(path)
    with TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=LIMIT_S,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def main(names: list[str]) -> None:
    """Execute the notebooks with these names, or all."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(executed(path), path)  # type: ignore[no-untyped-call]
            print(f"{path.stem}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
