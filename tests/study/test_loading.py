"""A study loads the modules of its own system, and of no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from joulewise.present.kept import REPORT, mark_of_results
from joulewise.study import read_study, run_study
from joulewise.study.kinds.built_in import BUILT_IN
from tests.strategies import small, small_bags, small_facility, small_fronts, small_jobs

SIMULATED = 'seeds = ["min-energy", "max-max-upt"]'
STUDIES = {
    "managed": small.TEXT,
    "jobs": small_jobs.CLUSTERS,
    "front": small_bags.FRONT,
    "profit": small_bags.PROFIT,
    "pricing": small_bags.PRICING,
    "utility": small_fronts.UTILITY + small_fronts.EVOLVED + SIMULATED,
    "facility": small_facility.ROOM,
}

SHARED = {"assignments": {f"joulewise.{room}.tasks" for room in ("worlds", "kernels", "policies", "simulate")}}
"""What a system loads of others: tables of tasks, also of those known in advance, and what policies do with them."""

CODE = """
import sys
from pathlib import Path
from joulewise.study import parse_study, run_study
for path in Path().glob("*.toml"):
    study = parse_study(path.read_text(), path.name, Path(), check_inputs=True)
    results = run_study(study, Path("results", path.stem), 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
print(*sys.modules)
"""
AGAIN = """
import sys
from joulewise.cli import main
try: main(["run", "small.toml"])
finally: print(*sys.modules)
"""
NOT_AGAIN = {"altair", "jinja2", "numba", "scipy", "joulewise.present.page", "joulewise.present.report"}
"""What takes long to load, and only runs or figures need."""


def strangers(system: str, folder: Path) -> set[str]:
    """The folders of other systems that a run of a study of each kind of this one loads from."""
    for kind in BUILT_IN[system]:
        (folder / f"{kind}.toml").write_text(STUDIES[kind].replace("trials = 2", "trials = 1"))
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    others = set(BUILT_IN) - {system}
    loaded = [name.split(".") for name in done.stdout.split() if name.startswith("joulewise.")]
    return {".".join(parts[:3]) for parts in loaded if others & {*parts[2:3]}}


LATER = pytest.mark.thorough("starts a process")
FIRST, *OTHERS = BUILT_IN


@pytest.mark.thorough("starts processes and takes seconds")
@pytest.mark.parametrize("system", [FIRST, *(pytest.param(system, marks=LATER) for system in OTHERS)])
def test_a_study_loads_of_other_systems_what_is_shared_and_no_more(system: str, tmp_path: Path) -> None:
    assert strangers(system, tmp_path) == SHARED.get(system, set())


def test_a_finished_study_run_again_loads_what_tells_of_it_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(small.QUICKLY + small.TEXT)
    results = run_study(read_study(tmp_path / "small.toml"), tmp_path / "results" / "small", 1)
    (results.folder / REPORT).write_text(mark_of_results(results, ()))
    done = subprocess.run([sys.executable, "-c", AGAIN], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert "8 runs were there already" in done.stderr
    assert not NOT_AGAIN & set(done.stdout.split())


def test_every_kind_is_looked_at() -> None:
    assert set(STUDIES) == {kind for kinds in BUILT_IN.values() for kind in kinds}
