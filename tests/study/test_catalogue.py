"""Every published experiment has a sound study, and its claims can be judged on the runs of that study."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

from joulewise.policies.tasks.table import POLICIES
from joulewise.present.page import all_figures
from joulewise.study import plan
from joulewise.study.catalogue import EXPERIMENTS, Experiment, judging
from joulewise.study.column import RUNS
from joulewise.study.columns import all_columns
from joulewise.study.source import Draw
from joulewise.study.tasks.sources import MANAGER_SOURCE
from joulewise.verdicts import Verdict
from tests.strategies.true_tables import TRUE

ENDS = ("least energy", "knee", "least makespan")
LEVELS = {
    "tasks": ("critical", "high", "medium", "low"),
    "priority": ("critical", "low"),
    "group": ("special",),
    **dict.fromkeys(("hypervolume", "normalised"), ("100", "1000", "10000", "30000", "100000", "1000000")),
    "task": ("AMD FX-8150", "Intel Core i7-3770K", "Intel Core i7-3770K @ 4.3 GHz"),
    **dict.fromkeys(("busy", "energy", "unused"), ENDS),
}
TRIALS = 3
OF_SYSTEMS = ("2.17",)
"""Claims about the machines alone, which no table of runs makes true."""
every_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.id)


@cache
def metric_names() -> list[str]:
    """Every metric, those of levels and groups under the names of the published environment."""
    columns = [described.column for described in all_columns()]
    names = [column.name for column in columns if column.table == RUNS and column.is_metric]
    return [
        name.replace("*", level)
        for name in names
        for level in (LEVELS[name.partition("_")[0]] if "*" in name else ("",))
    ]


@cache
def cells_of(name: str) -> list[dict[str, Any]]:
    """What is run in an experiment, run by run."""
    return [run.cells() for run in plan(EXPERIMENTS[name].study(TRIALS))]


def made_up(experiment: Experiment) -> pl.DataFrame:
    """The runs of an experiment with metrics that mean nothing."""
    rng = np.random.default_rng(1)
    names = [*metric_names(), *experiment.measures]
    rows = [
        {**cells, **dict(zip(names, rng.uniform(1.0, 2.0, len(names)), strict=True))}
        for cells in cells_of(experiment.id)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


@every_experiment
def test_the_study_of_an_experiment_is_sound(experiment: Experiment) -> None:
    study = experiment.study()
    assert study.heading.name == experiment.id
    assert study.heading.description
    assert experiment.figure in {figure.name for figure in all_figures()}
    if study.kind.name == "managed":
        for point in study.points:
            assert point.decision.parameters.policy in POLICIES
            MANAGER_SOURCE.build(point.decision.parameters, Draw(0, 0, Path()))


@every_experiment
def test_every_claim_is_judged_on_every_trial(experiment: Experiment) -> None:
    findings = experiment.findings(made_up(experiment))
    assert len(findings) == len(experiment.claims) > 0
    for finding in findings:
        assert finding.verdict in get_args(Verdict)
        assert "fewer than two trials" not in finding.ours
        assert "nan" not in finding.ours


@pytest.mark.parametrize("name", TRUE)
def test_a_claim_is_reproduced_where_it_is_true(name: str) -> None:
    """Trials differ by a trifle, so that there are intervals."""
    experiment = EXPERIMENTS[name]
    rows = [
        {**cells, **{metric: value * (1 + 1e-6 * cells["trial"]) for metric, value in TRUE[name](cells).items()}}
        for cells in cells_of(name)
    ]
    found = experiment.findings(pl.DataFrame(rows, infer_schema_length=None))
    judged = [finding for finding in found if finding.verdict != "not testable" and finding.claim not in OF_SYSTEMS]
    wrong = [finding for finding in judged if finding.verdict != "reproduced"]
    assert judged
    assert wrong == []


def test_what_cannot_be_tested_is_shown_beside_the_published_figure() -> None:
    runs = pl.DataFrame()
    shown = judging.beside(lambda _: [np.array([1.0, 1.0]), np.array([2.0, 2.0])], " µs")
    assert shown(runs) == ("1.00 ± 0.00 / 2.00 ± 0.00 µs", "not testable")
    assert judging.beside(lambda _: [np.array([1.0])])(runs)[1] == "not judged"
    assert judging.untestable("why")(runs) == ("why", "not testable")


def test_every_claim_is_in_the_catalogue() -> None:
    found = {claim.id.split()[0] for experiment in EXPERIMENTS.values() for claim in experiment.claims}
    assert {f"2.{i}" for i in range(1, 24)} <= found
    assert {f"3.{i}" for i in range(1, 23)} <= found
    assert {f"4.{i}" for i in range(1, 13)} <= found
    assert {f"5.{i}" for i in range(1, 8)} <= found
    assert {f"6.{i}" for i in range(1, 8)} <= found
    assert {f"7.{i}" for i in range(1, 7)} <= found
    assert {f"T{i}" for i in range(1, 9)} <= found
    assert {f"M{i}" for i in range(1, 13)} <= found
    assert {f"O{i}" for i in range(1, 9)} <= found


def test_the_best_of_a_sweep_is_found_by_mean_and_by_trial() -> None:
    sweep = {0.1: np.array([1.0, 5.0, math.nan]), 0.5: np.array([2.0, 2.0, 2.0])}
    assert judging.best_by_mean(sweep) is sweep[0.1]
    assert judging.best_by_trial(sweep).tolist() == pytest.approx([0.5, 0.1, math.nan], nan_ok=True)
    assert judging.spread([np.array([1.0, 2.0]), np.array([4.0, 3.0])]).tolist() == [3.0, 1.0]
    assert judging.gain(np.array([3.0]), np.array([2.0])).tolist() == [50.0]
