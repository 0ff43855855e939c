"""The page on an import: what was read of a log, and what was changed, guessed and lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from joulewise._version import __version__
from joulewise.files import write_atomic
from joulewise.present.html import filled
from joulewise.present.layout import sentence
from joulewise.present.tables import WORDS, Cell, Table

_OURS = b"<!-- a page on an import -->\n"


class _About(NamedTuple):
    name: str
    description: str
    version: str


def write_import_page(
    path: Path,
    name: str,
    read: Mapping[str, str],
    parts: Mapping[str, Sequence[tuple[str, str, str]]],
    columns: Iterable[tuple[str, str, str]],
) -> None:
    """Write the page on the import of a log of this name.

    `read` are facts. Each row of a part is how often something is so, what it is and what becomes of it; each of
    `columns` is its name, of how many jobs it is told, and what it is.
    """
    page = filled(
        "import.html",
        about=_About(name, "", __version__),
        facts=[],
        plates=[],
        read=_table("What was read", ("What", "How much"), ((sentence(what), said) for what, said in read.items())),
        parts=[
            _table(
                title,
                ("What", "How often", "What becomes of it"),
                ((sentence(reason), n, sentence(done)) for n, reason, done in rows),
            )
            for title, rows in parts.items()
        ],
        columns=_table("Columns", ("Column", "Jobs", "What it is"), columns),
    )
    write_atomic(path, page + _OURS.decode())


def is_import_page(path: Path) -> bool:
    """Whether a file is a page that was written of an import."""
    return path.is_file() and path.read_bytes().endswith(_OURS)


def _table(caption: str, heads: Sequence[str], rows: Iterable[tuple[str, ...]]) -> Table:
    corner, *columns = heads
    cells = tuple((first, tuple(Cell(text, WORDS) for text in texts)) for first, *texts in rows)
    return Table(caption, corner, tuple(columns), cells)
