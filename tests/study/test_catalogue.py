"""Every published experiment has a sound study, and its claims can be judged on the runs of that study."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest

from joulewise.policies.tasks.table import POLICIES
from joulewise.present.page import all_figures
from joulewise.study.catalogue import EXPERIMENTS, Experiment, judging
from joulewise.study.kinds.columns import all_columns
from joulewise.study.spec.column import RUNS
from joulewise.study.spec.source import Draw
from joulewise.study.tasks.sources import MANAGER_SOURCE
from joulewise.verdicts import SILENT, IntervalEnds, Verdict
from tests.strategies.claims import can_fail, cells_of, runs_of, verdicts
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


@pytest.mark.thorough("takes seconds; others look at less of it")
@every_experiment
def test_every_claim_is_judged_on_every_trial(experiment: Experiment) -> None:
    findings = experiment.findings(made_up(experiment))
    assert len(findings) == len(experiment.claims) > 0
    for finding in findings:
        assert finding.verdict in get_args(Verdict)
        assert "fewer than two trials" not in finding.ours
        assert "nan" not in finding.ours


@every_experiment
def test_a_claim_is_reproduced_where_it_is_true(experiment: Experiment) -> None:
    found = verdicts(experiment.id, TRUE[experiment.id])
    assert {verdict for verdict in found.values() if verdict not in SILENT} <= {"reproduced"}


_MANY = {
    "fig-2.6", "fig-2.6-literal", "fig-g.1", "fig-3.5", "fig-3.8", "fig-3.8-literal", "fig-3.14", "fig-4.4-dynamic",
    "fig-5.3", "fig-5.4", "machovec-map", "machovec-dropping", "machovec-cores-dropping", "app-h",
}  # fmt: skip


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(
            experiment, marks=[pytest.mark.thorough("hundreds of alterations")] if name in _MANY else [], id=name
        )
        for name, experiment in EXPERIMENTS.items()
    ],
)
def test_every_claim_can_fail(experiment: Experiment) -> None:
    """Where it is true, other records at one point, or in one column, are enough to refute it."""
    runs = runs_of(experiment.id, TRUE[experiment.id])
    metrics = runs.columns[runs.columns.index("point") + 1 :]
    judged = [claim for claim in experiment.claims if claim.judge(runs)[1] == "reproduced"]
    assert [claim.id for claim in judged if not can_fail(claim, runs, metrics)] == []


def test_what_cannot_be_tested_is_shown_beside_the_published_figure() -> None:
    runs = pl.DataFrame()
    shown = judging.beside(lambda _: [np.array([1.0, 1.0]), np.array([2.0, 2.0])], " µs")
    assert shown(runs) == ("1.00 ± 0.00 / 2.00 ± 0.00 µs", "not testable")
    assert judging.beside(lambda _: [np.array([1.0])])(runs)[1] == "not judged"
    assert judging.untestable("why")(runs) == ("why", "not testable")


def test_every_claim_is_in_the_catalogue() -> None:
    found = {claim.id.split()[0] for experiment in EXPERIMENTS.values() for claim in experiment.claims}
    assert {f"2.{i}" for i in range(1, 24)} <= found
    assert {f"3.{i}" for i in range(1, 28)} <= found
    assert {f"4.{i}" for i in range(1, 16)} <= found
    assert {f"5.{i}" for i in range(1, 8)} <= found
    assert {f"6.{i}" for i in range(1, 8)} <= found
    assert {f"7.{i}" for i in range(1, 7)} <= found
    assert {f"T{i}" for i in range(1, 9)} <= found
    assert {f"M{i}" for i in range(1, 13)} <= found
    assert {f"O{i}" for i in range(1, 9)} <= found


def test_a_best_value_is_higher_where_differences_show_it() -> None:
    def swept(*means: float) -> dict[float, judging.Samples]:
        """Means by value, with a trifle of noise."""
        noise = 0.01 * np.sin(np.arange(24.0))
        return {at: mean + noise * at for at, mean in zip((0.1, 0.5, 0.9), means)}

    def ends(higher: dict[float, judging.Samples], lower: dict[float, judging.Samples]) -> IntervalEnds:
        return judging.interval(judging.best_difference(higher, lower))[1]

    low, middle, high, flat = swept(3, 2, 1), swept(2, 3, 1), swept(1, 2, 3), swept(2, 2, 2)
    assert ends(high, low).low > 0
    assert ends(middle, low).low > 0
    assert ends(low, high).high < 0
    assert ends(low, low).high < 0
    for one, other in ((flat, low), (high, flat), (flat, flat)):
        found = ends(one, other)
        assert found.low <= 0.01 <= found.high + 0.02
    lacking = {**high, 0.1: np.where(np.arange(24) == 3, math.nan, 1.0)}
    assert np.isnan(judging.best_difference(lacking, low)).tolist() == [at == 3 for at in range(24)]
    assert np.isnan(judging.best_difference({**high, 0.1: np.full(24, math.nan)}, low)).all()


def test_samples_are_alike_where_no_two_are_far_apart() -> None:
    several = {"a": np.array([1.0, 2.0]), "b": np.array([4.0, 3.0])}
    found = dict(judging.alike(several, 5.0))
    assert {name: values.tolist() for name, values in found.items()} == {
        "5 points less a over b": [8.0, 6.0],
        "5 points less b over a": [2.0, 4.0],
    }


def test_the_best_of_a_sweep_is_found_by_mean() -> None:
    sweep = {0.1: np.array([1.0, 5.0, math.nan]), 0.5: np.array([2.0, 2.0, 2.0])}
    assert judging.best_value(sweep) == 0.1
    assert judging.best_by_mean(sweep).tolist() == pytest.approx([1.0, 5.0, math.nan], nan_ok=True)
    assert judging.spread([np.array([1.0, 2.0]), np.array([4.0, 3.0])]).tolist() == [3.0, 1.0]
    assert judging.gain(np.array([3.0]), np.array([2.0])).tolist() == [50.0]
