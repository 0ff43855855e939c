"""The report that is there already: found by its mark, without what draws figures being loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise._version import __version__
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    from joulewise.study import Results

REPORT = "report.html"


def current_report(results: Results) -> Path | None:
    """The report in the folder of the results, if this version made it of them; None where it must be written."""
    return marked_report(results.folder, mark_of_results(results, results.study.shown.figures))


def mark_of_results(results: Results, names: Sequence[str]) -> str:
    """The mark of a report of results with the figures of these names."""
    return mark_of(results.study.kind.version, Store(results.folder).stamp(), *names)


def mark_of(*facts: str) -> str:
    """The last line of a report, which tells what it was made of, and by what."""
    made = json.dumps([__version__, *facts])
    return f"\n<!-- made of {hashlib.sha256(made.encode()).hexdigest()} -->\n"


def marked_report(folder: Path, mark: str) -> Path | None:
    """The report in a folder if it ends with this mark; None where it must be written."""
    path, end = folder / REPORT, mark.encode()
    if not path.is_file():
        return None
    with path.open("rb") as page:
        page.seek(max(path.stat().st_size - len(end), 0))
        return path if page.read() == end else None
