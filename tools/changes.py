"""The tables of the page on what would have happened if one thing were changed, from the studies on that page.

    python -m tools.changes

It makes the files of the page, runs its studies, and writes the tables of their reports below them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from joulewise.present.page import page_of
from joulewise.present.results import records_of
from joulewise.present.tables import Table
from joulewise.study import read_study, run_study
from joulewise.study.parsing.examples import examples

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "change-one-thing.md"
EXAMPLES = ("gpu-site", "trace")
_BLOCKS = re.compile(r"```(toml|python)\n(.*?)```", re.DOTALL)
_NAME = re.compile(r'^name = "([\w-]+)"')


def main() -> None:
    """Write the tables anew."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def written(page: str) -> str:
    """The page with the tables of its studies as they come out."""
    with TemporaryDirectory() as folder:
        for path in files_of(page, Path(folder)):
            results = run_study(read_study(path), Path(folder) / path.stem)
            came_out, difference = page_of("jobs").tables(records_of(results))[:2]
            before, mark, behind = page.partition(f"<!-- {path.stem} -->\n")
            page = before + mark + _markdown(came_out, difference) + re.sub(r"\A(\|.*\n)*", "", behind)
    return page


def files_of(page: str, folder: Path) -> list[Path]:
    """The studies of the page in a folder, with the files that they name."""
    for name in EXAMPLES:
        for file, content in examples()[name].named.items():
            (folder / file).write_bytes(content)
    blocks = _BLOCKS.findall(page)
    for code in (text for language, text in blocks if language == "python"):
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    studies = [text for language, text in blocks if language == "toml" and _NAME.match(text)]
    paths = [folder / f"{_name_of(text)}.toml" for text in studies]
    for path, text in zip(paths, studies, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def _name_of(study: str) -> str:
    found = _NAME.match(study)
    assert found is not None, "only such blocks are studies"
    return found[1]


def _markdown(came_out: Table, difference: Table) -> str:
    """The first row of what came out, and the differences from it below, by the columns of the differences."""
    at = [came_out.columns.index(column) for column in difference.columns]
    label, cells = came_out.rows[0]
    rows = [
        (label, [cells[i].text for i in at]),
        *((name, [cell.text for cell in row]) for name, row in difference.rows),
    ]
    head = ["Variant", *difference.columns]
    lines = [head, ["---"] * len(head), *([name, *texts] for name, texts in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("\N{NO-BREAK SPACE}", " ")


if __name__ == "__main__":
    main()
