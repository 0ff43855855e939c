"""The bundled examples are sound, and the quick ones run."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.policies.tasks.table import POLICIES
from joulewise.study import plan, read_study, run_study
from joulewise.study.parsing.examples import SITE
from joulewise.study.running.estimate import estimate
from tests.strategies.sources import EXAMPLES

STUDIES = sorted(set(EXAMPLES.glob("*.toml")) - set(EXAMPLES.glob("measure*.toml")) - {EXAMPLES / SITE})
"""All but the plans of the laboratory, and a site that one of them names."""
LONG = pytest.mark.thorough("200 generations; smaller studies under chance are run every day")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.name))
def test_an_example_is_sound(path: Path, tmp_path: Path) -> None:
    study = read_study(path)
    assert study.heading.description
    assert estimate(study, tmp_path / "out").n_missing == len(plan(study))


def test_the_demonstration_has_published_policies_and_our_own_in_one_world_with_too_little_energy() -> None:
    study = read_study(EXAMPLES / "demo.toml")
    sources = {POLICIES[p.decision.parameters.policy].source.partition(" ")[0] for p in study.points}
    assert sources == {"Friese", "Joulewise"}
    assert len({point.world for point in study.points}) == 1
    assert study.points[0].supply.parameters.budget_j == 1.11e9
    assert study.bound == "prices"
    assert study.heading.trials == 3


@pytest.mark.parametrize(
    "name", ["first", "heuristic", "front", "profit", "gpus", "gpu-site", pytest.param("stochastic-front", marks=LONG)]
)
def test_a_quick_example_runs(name: str, tmp_path: Path) -> None:
    results = run_study(read_study(EXAMPLES / f"{name}.toml"), tmp_path, 1)
    assert results.failed.is_empty()
    assert estimate(results.study, tmp_path).n_missing == 0
