"""Whether two versions of the package compute the same records: every example, and a small run of every experiment.

    python -m tools.same_records make FOLDER           # with the package that is installed, or on PYTHONPATH
    python -m tools.same_records compare BEFORE AFTER  # exit code 1 where any record differs

Times that were measured differ from run to run and are left out; every other column must be the same to the last bit.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parent.parent
STUDIES = ROOT / "src" / "joulewise" / "study" / "catalogue" / "studies"
PLANS = ("measure.toml", "measure-synthetic.toml")
"""Examples of the laboratory, which measures times and nothing else."""

MOST = {
    "trials": 1,
    "tasks_per_day": 2_000,
    "jobs_per_day": 200,
    "n_tasks": 500,
    "population": 20,
    "generations": 20,
    "snapshots": 10,
    "moves": 20_000,
    "nodes": 60,
}
"""The largest value of a key in a small run."""

MEASURED = re.compile(
    r"(^|_)(run|solve|mapping|mapping_event|bound|time|reached|best|wall|decide)_s$|generations_per_s|^(run_at|machine)$"
)
"""Columns that hold measured times and speeds; `at_s` does so too in the tables `progress` of searches."""


def small(text: str) -> str:
    """A study with its long sweeps cut: fewer tasks, generations and trials, no limits of time, the first run kept."""
    text = re.sub(r"^(optimise\.)?time_limit = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'^keep = "none"', 'keep = "first"', text, flags=re.MULTILINE)
    keys = "|".join(MOST)
    return re.sub(rf"^((?:\w+\.)?({keys}) = )(.*)$", _capped, text, flags=re.MULTILINE)


def _capped(match: re.Match[str]) -> str:
    most = MOST[match[2]]
    values = re.sub(r"(?<![\w.\"])\d[\d_]*(?![\w.\"])", lambda n: str(min(int(n[0].replace("_", "")), most)), match[3])
    if values.startswith("["):
        inside = dict.fromkeys(part.strip() for part in values[1 : values.index("]")].split(","))
        values = f"[{', '.join(inside)}]"
    return match[1] + values


def make(folder: Path) -> None:
    """Run everything into a folder for each study; what is there already is kept."""
    inputs = folder / "studies"
    inputs.mkdir(parents=True, exist_ok=True)
    for source in [*STUDIES.iterdir(), *(ROOT / "examples").iterdir()]:
        if source.is_file() and source.suffix != ".toml":
            shutil.copy(source, inputs)
    for source in sorted([*STUDIES.glob("*.toml"), *(ROOT / "examples").glob("*.toml")]):
        if source.name in PLANS:
            continue
        text = source.read_text(encoding="utf-8")
        (inputs / source.name).write_text(small(text) if source.parent == STUDIES else text, encoding="utf-8")
        command = ["run", str(inputs / source.name), "--out", str(folder / source.stem), "--no-report"]
        done = subprocess.run([sys.executable, "-m", "joulewise", *command], capture_output=True, text=True)
        print(
            source.stem, "done" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-400:]}", flush=True
        )


def compare(before: Path, after: Path) -> Iterator[str]:
    """What differs between two folders, a line each."""
    tables = {path.relative_to(before) for path in before.rglob("*.parquet")}
    others = {path.relative_to(after) for path in after.rglob("*.parquet")}
    yield from (f"{path}: only in one of the two" for path in sorted(tables ^ others))
    for path in sorted(tables & others):
        timed = ["at_s"] if "progress" in path.parts else []
        one, two = (pl.read_parquet(folder / path).drop(timed) for folder in (before, after))
        yield from (f"{path}: {difference}" for difference in _differences(one, two))
    print(f"{len(tables & others)} tables compared")


def _differences(one: pl.DataFrame, two: pl.DataFrame) -> Iterator[str]:
    if one.columns != two.columns:
        yield f"columns {sorted(set(one.columns) ^ set(two.columns)) or 'in another order'}"
    elif one.height != two.height:
        yield f"{one.height} rows and {two.height}"
    else:
        yield from (
            f"column {name}"
            for name in one.columns
            if not MEASURED.search(name) and not one[name].equals(two[name], null_equal=True)
        )


def main(arguments: list[str]) -> int:
    match arguments:
        case ["make", folder]:
            make(Path(folder))
            return 0
        case ["compare", before, after]:
            differences = list(compare(Path(before), Path(after)))
            print(*differences, sep="\n")
            print("the same records" if not differences else f"{len(differences)} differences")
            return int(bool(differences))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
