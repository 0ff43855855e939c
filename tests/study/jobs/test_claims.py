"""Claims on parallel jobs, judged on made-up runs that bear them out and on such that do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.study import plan
from joulewise.study.catalogue import EXPERIMENTS, machovec

TRIALS = 4
Row = Mapping[str, Any]
WORLDS = ("machovec", "machovec-cores")


def verdicts(experiment: str, metrics: Callable[[Row], dict[str, float]]) -> dict[str, str]:
    """The verdict on each claim if every run had these metrics, a little different in each trial."""
    rows = []
    for run in plan(EXPERIMENTS[experiment].study(TRIALS)):
        cells: dict[str, Any] = run.cells()
        wobble = 1 + 1e-4 * math.sin(3 * cells["trial"])
        rows.append({**cells, **{name: wobble * value for name, value in metrics(cells).items()}})
    runs = pl.DataFrame(rows, infer_schema_length=None)
    return {finding.claim: finding.verdict for finding in EXPERIMENTS[experiment].findings(runs)}


def earned(row: Row) -> float:
    """Percent of maximum utility as the text has it: place-holders, then reservations, then the others."""
    is_high = row[machovec.LOAD] == machovec.HIGH
    if row[machovec.POLICY] in machovec.COMPARED:
        return 10.0 if is_high else 40.0
    held = 20.0 if row[machovec.COMMITMENT] == machovec.PLACE_HOLDERS else 0.0
    return 50.0 + held + {machovec.PER_RESOURCE: 5.0, machovec.PER_TASK: 2.0}.get(row[machovec.VARIANT], 4.0)


def published(row: Row) -> dict[str, float]:
    energy_j = 10e9 if row[machovec.POLICY] == machovec.UPE else 12e9
    return {"utility_percent": earned(row), "energy_j": energy_j}


def turned(row: Row) -> dict[str, float]:
    """Everything the other way round."""
    found = published(row)
    return {name: 100.0 - value if name == "utility_percent" else 1e20 / value for name, value in found.items()}


@pytest.mark.parametrize("world", WORLDS)
def test_policies_at_both_loads(world: str) -> None:
    of_9, of_10 = ("M1", "M2", "M3", "M8"), ("M1", "M2", "M7", "M8")
    assert verdicts(f"{world}-fig-9", published) == dict.fromkeys(of_9, "reproduced")
    assert verdicts(f"{world}-fig-10", published) == dict.fromkeys(of_10, "reproduced")
    assert verdicts(f"{world}-fig-9", turned) == {**dict.fromkeys(of_9, "not reproduced"), "M8": "not reproduced"}
    assert verdicts(f"{world}-filters", published) == {"M3 (tuned)": "reproduced"}
    found = verdicts(f"{world}-fig-10", turned)
    assert (found["M1"], found["M2"], found["M7"]) == ("not reproduced",) * 3


@pytest.mark.parametrize(("figure", "best"), [("fig-7", 2.0), ("fig-8", 4.0)])
def test_the_best_leniency(figure: str, best: float) -> None:
    def roof(slope: float) -> Callable[[Row], dict[str, float]]:
        return lambda row: {"utility_percent": 80.0 - slope * abs(row[machovec.LENIENCY] - best)}

    assert verdicts(f"machovec-{figure}", roof(1.0)) == {f"M4 ({figure})": "reproduced"}
    assert verdicts(f"machovec-{figure}", roof(-1.0)) == {f"M4 ({figure})": "not reproduced"}


def test_where_the_budgets_come_from() -> None:
    def metrics(row: Row) -> dict[str, float]:
        is_high = row[machovec.LOAD] == machovec.HIGH
        is_held = row[machovec.COMMITMENT] == machovec.PLACE_HOLDERS
        best = machovec.UPR if is_high else machovec.UTIL
        gj = (15.0 if is_high else 12.0) / 0.7
        return {"energy_j": gj * 1e9, "utility_percent": 80.0 + 5.0 * (row[machovec.POLICY] == best) * is_held}

    found = verdicts("machovec-budget", metrics)
    assert found == dict.fromkeys(("M5", "M5 (10,000)", "M6", "M6 (10,000)"), "reproduced")
    other = verdicts(
        "machovec-budget", lambda row: {"energy_j": 1e9, "utility_percent": -metrics(row)["utility_percent"]}
    )
    assert set(other.values()) == {"not reproduced"}


def test_times_are_shown_beside_and_pstates_must_not_matter() -> None:
    def metrics(many: float) -> Callable[[Row], dict[str, float]]:
        def of(row: Row) -> dict[str, float]:
            factor = many if row[machovec.PSTATES] == 15 else 1.0
            return {"mapping_event_s": 1e-4, "utility_percent": 60.0 * factor, "energy_j": 1e10}

        return of

    assert verdicts("machovec-time", metrics(1.02)) == {"M9": "not testable", "M10": "reproduced"}
    assert verdicts("machovec-time", metrics(1.1))["M10"] == "partly"


@pytest.mark.parametrize(("slope", "verdict"), [(1.0, "reproduced"), (-10.0, "not reproduced")])
def test_lower_thresholds_must_not_earn_more(slope: float, verdict: str) -> None:
    found = verdicts("machovec-dropping", lambda row: {"utility_percent": 60.0 + slope * row[machovec.THRESHOLD]})
    assert found == {"M11": verdict}


def test_longer_job_types_are_worth_more_in_the_world_itself() -> None:
    assert verdicts("machovec-fig-6", lambda _: {"utility_percent": 1.0}) == {"M12": "reproduced"}


def test_all_policies_of_the_text_are_there() -> None:
    policies = {*machovec.BY_UTILITY, *machovec.COMPARED}
    assert policies <= set(JOB_POLICIES)
    used = {run.cells()[machovec.POLICY] for run in plan(EXPERIMENTS["machovec-fig-9"].study(1))}
    assert used == policies
