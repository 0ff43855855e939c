"""Claims on parallel jobs, judged on made-up runs that do not bear them out."""

from __future__ import annotations

import math

import polars as pl
import pytest

from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.study.catalogue import machovec
from joulewise.study.catalogue.experiment import Reading, Told
from joulewise.study.spec.column import JOB_TYPES
from tests.strategies.claims import Cells, Metrics, cells_of, verdicts
from tests.strategies.true_jobs import JOBS


@pytest.mark.parametrize("reading", machovec.READINGS, ids=["nodes", "cores"])
def test_policies_the_other_way_round(reading: Reading) -> None:
    name = f"machovec{reading.suffix}-fig-9"

    def turned(run: Cells) -> Metrics:
        found = JOBS[name](run)
        return {"utility_percent": 100.0 - found["utility_percent"], "energy_j": 1e20 / found["energy_j"]}

    assert verdicts(name, turned) == dict.fromkeys(("M1", "M2", "M3", "M8"), "not reproduced")


def test_pstates_must_not_matter() -> None:
    def more(run: Cells) -> Metrics:
        return {**JOBS["machovec-time"](run), "utility_percent": 60.0 * (1.1 if run[machovec.PSTATES] == 15 else 1.0)}

    assert verdicts("machovec-time", more) == {"M9": "not testable", "M10": "not reproduced"}


def test_longer_job_types_are_told_by_those_that_were_kept() -> None:
    kept = pl.DataFrame({"starting_utility": [1.0, 2.0, 4.0], "single_s": [10.0, 20.0, 40.0]})
    assert machovec.worth_time_correlation(Told({}, {JOB_TYPES: kept})) == pytest.approx(1.0)
    turned = kept.with_columns(single_s=-pl.col("single_s"))
    assert machovec.worth_time_correlation(Told({}, {JOB_TYPES: turned})) == pytest.approx(-1.0)
    assert math.isfinite(machovec.worth_time_correlation(Told({}, {JOB_TYPES: kept[:2]})))


def test_all_policies_of_the_text_are_there() -> None:
    policies = {*machovec.BY_UTILITY, *machovec.COMPARED}
    assert policies <= set(JOB_POLICIES)
    assert {cells[machovec.POLICY] for cells in cells_of("machovec-fig-9")} == policies
