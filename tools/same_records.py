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

from joulewise.study.kinds.systems import all_kinds

PACKAGE = Path(__file__).parent.parent / "src" / "joulewise"
STUDIES, EXAMPLES = PACKAGE / "study" / "catalogue" / "studies", PACKAGE / "examples"
PLANS = ("measure.toml", "measure-synthetic.toml")
"""Examples of the laboratory, which measures times and nothing else."""
SITE = "site.toml"
"""The site that an example names."""

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

MEASURED = {column.name for kind in all_kinds().values() for column in kind.all_columns() if column.is_measured}
MEASURED_IN = {"runs": {"run_at", "machine"}, "progress": {"at_s"}}
"""Columns that hold measured times and speeds, in all tables and in some."""


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


def make(folder: Path) -> int:
    """Run everything into a folder for each study; what is there already is kept. Returns how many failed."""
    n_failed = 0
    inputs = folder / "studies"
    inputs.mkdir(parents=True, exist_ok=True)
    for source in [*STUDIES.iterdir(), *EXAMPLES.iterdir()]:
        if source.is_file() and (source.suffix != ".toml" or source.name == SITE):
            shutil.copy(source, inputs)
    for source in sorted([*STUDIES.glob("*.toml"), *EXAMPLES.glob("*.toml")]):
        if source.name in (*PLANS, SITE):
            continue
        text = source.read_text(encoding="utf-8")
        (inputs / source.name).write_text(small(text) if source.parent == STUDIES else text, encoding="utf-8")
        command = ["run", str(inputs / source.name), "--out", str(folder / source.stem), "--no-report"]
        done = subprocess.run([sys.executable, "-m", "joulewise", *command], capture_output=True, text=True)
        n_failed += done.returncode != 0
        said = "done" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-400:]}"
        print(source.stem, said, flush=True)
    return n_failed


def compare(before: Path, after: Path) -> Iterator[str]:
    """What differs between two folders, a line each."""
    here, there = (_files(folder) for folder in (before, after))
    yield from (f"{path}: only in one of the two" for path in sorted(here ^ there))
    both = sorted(here & there)
    for path in both:
        one, two = before / path, after / path
        measured = MEASURED | MEASURED_IN.get(path.parts[1].removesuffix(".parquet"), set())
        tables = (pl.read_parquet(file).drop(measured, strict=False) for file in (one, two))
        yield from (f"{path}: {difference}" for difference in _differences(*tables))
    print(f"{len(both)} tables compared")
    if not both:
        yield "there is nothing to compare"


def _files(folder: Path) -> set[Path]:
    """The tables of all studies, the proofs of their bounds among them."""
    return {path.relative_to(folder) for path in folder.rglob("*.parquet")}


def _differences(one: pl.DataFrame, two: pl.DataFrame) -> Iterator[str]:
    if one.columns != two.columns:
        yield f"columns {sorted(set(one.columns) ^ set(two.columns)) or 'in another order'}"
    elif one.height != two.height:
        yield f"{one.height} rows and {two.height}"
    else:
        yield from (f"column {name}" for name in one.columns if not one[name].equals(two[name], null_equal=True))


def main(arguments: list[str]) -> int:
    match arguments:
        case ["make", folder]:
            return int(make(Path(folder)) > 0)
        case ["compare", before, after]:
            differences = list(compare(Path(before), Path(after)))
            print(*differences, sep="\n")
            print("the same records" if not differences else f"{len(differences)} differences")
            return int(bool(differences))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
