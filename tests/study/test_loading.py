"""A study loads the modules of its own system, and of no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from joulewise.study.built_in import BUILT_IN
from tests.strategies import small, small_bags, small_fronts, small_jobs

ONE_FLOW = """
name = "facility"
[system]
generator = "facility"
nodes = 4
cracs = 1
[workload]
generator = "flows"
task_types = 2
[optimise]
goal = "reward"
method = "greedy"
"""
STUDIES = {
    "managed": small.TEXT,
    "jobs": small_jobs.CLUSTERS,
    "front": small_bags.FRONT,
    "profit": small_bags.PROFIT,
    "utility": small_fronts.UTILITY + small_fronts.EVOLVED,
    "facility": ONE_FLOW,
}

SHARED = {"assignments": ("joulewise.worlds.tasks",), "jobs": ("joulewise.kernels.tasks",)}
"""What a system loads besides its own: tables of tasks, also of those known in advance, and the energy ledger's idea
of machines."""

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


def strangers(system: str, folder: Path) -> list[str]:
    """The modules of other systems that a run of a study of each kind of this one loads."""
    for kind in BUILT_IN[system]:
        (folder / f"{kind}.toml").write_text(STUDIES[kind].replace("trials = 2", "trials = 1"))
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    others = set(BUILT_IN) - {system}
    loaded = [name for name in done.stdout.split() if name.startswith("joulewise.")]
    return [
        name for name in loaded if others & {*name.split(".")[2:3]} and not name.startswith(SHARED.get(system, ("-",)))
    ]


LATER = pytest.mark.thorough("starts a process")
FIRST, *OTHERS = BUILT_IN


@pytest.mark.parametrize("system", [FIRST, *(pytest.param(system, marks=LATER) for system in OTHERS)])
def test_no_kind_of_study_loads_a_module_of_another_system(system: str, tmp_path: Path) -> None:
    assert strangers(system, tmp_path) == []


def test_every_kind_is_looked_at() -> None:
    assert set(STUDIES) == {kind for kinds in BUILT_IN.values() for kind in kinds}
