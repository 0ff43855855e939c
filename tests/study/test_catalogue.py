"""Every bundled study is valid, and its claims can be judged on what such a study writes."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from joulewise.present.figures import FIGURES
from joulewise.study import parse_study
from joulewise.study.catalogue import EXPERIMENTS, Experiment
from joulewise.study.catalogue.judging import best_by_mean, best_by_trial, gain, spread
from joulewise.study.columns import COLUMNS
from joulewise.study.planning import plan

METRICS = [column.name for column in COLUMNS if column.is_metric]

each_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)


def made_up_runs(experiment: Experiment) -> pl.DataFrame:
    """The runs of a study in three trials, with numbers near 1000 for every metric."""
    stream = np.random.default_rng(1)
    rows = [
        {**run.cells(), "trial": run.trial} | {name: 1000 + stream.random() for name in METRICS}
        for run in plan(experiment.study(trials=3))
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


@each_experiment
def test_a_bundled_study_is_valid_with_the_files_that_it_names(experiment: Experiment) -> None:
    study = experiment.study()
    assert experiment.figure in {figure.name for figure in FIGURES}
    assert study.name == experiment.id
    assert parse_study(study.source, study.file_name, study.folder, check_inputs=True).points == study.points


@each_experiment
def test_every_claim_is_judged_on_made_up_runs(experiment: Experiment) -> None:
    runs = made_up_runs(experiment)
    for claim, finding in zip(experiment.claims, experiment.findings(runs), strict=True):
        assert finding.claim == claim.id
        assert "nan" not in finding.ours
        assert "fewer than two trials" not in finding.ours


def test_no_claim_has_the_id_of_another() -> None:
    ids = [claim.id for experiment in EXPERIMENTS.values() for claim in experiment.claims]
    assert len(set(ids)) == len(ids)


def test_the_best_of_a_sweep_is_found_by_mean_and_by_trial() -> None:
    sweep = {0.1: np.array([1.0, 5.0, math.nan]), 0.5: np.array([2.0, 2.0, 2.0])}
    assert best_by_mean(sweep) is sweep[0.1]
    assert best_by_trial(sweep).tolist() == pytest.approx([0.5, 0.1, math.nan], nan_ok=True)
    assert spread([np.array([1.0, 2.0]), np.array([4.0, 3.0])]).tolist() == [3.0, 1.0]
    assert gain(np.array([3.0]), np.array([2.0])).tolist() == [50.0]
