"""Claims of chapter 8 on what was printed and on synthetic machines, and pairs of GPU jobs as observations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from joulewise.measure.analysis.analysis import Analysis, analyse
from joulewise.measure.analysis.claims import findings
from joulewise.measure.analysis.colocation_data import colocation_observations
from joulewise.measure.analysis.columns import BEST_CLOCK, table
from joulewise.measure.analysis.judging import Difference, ordering
from joulewise.measure.analysis.published import energy_table, intensity_table, published_findings
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.synthetic.machine import SyntheticMachine, SyntheticProgram
from joulewise.worlds.facility.colocation import read_colocation
from tests.strategies.synthetic_runs import everything, experiment, observed
from tools.data import data_folder

MACHINE = SyntheticMachine(
    frequencies_mhz=(1700.0, 2500.0, 3400.0), time_noise=0.003, energy_noise=0.001, counter_noise=0.003
)
HEAVY = ["canneal", "canneal", "streamcluster", "streamcluster"]


def verdicts(analysis: Analysis) -> dict[str, str]:
    """Verdicts as if the machine were a real one."""
    real = replace(analysis, observations=analysis.observations.with_columns(notes=pl.lit(None, pl.String)))
    return {finding.claim: finding.verdict for finding in findings(real)}


def test_printed_tables_are_judged() -> None:
    assert intensity_table()["class"].to_list() == intensity_table()["our_class"].to_list()
    saved = dict(energy_table().select("group", "saved_share").iter_rows())
    assert saved["canneal + streamcluster"] == pytest.approx(1 - 24281 / 30509)
    assert saved["2 canneal + 2 streamcluster"] == pytest.approx(1 - 32504 / 61018)
    found = {finding.claim: finding for finding in published_findings()}
    assert list(found) == [f"8.{n}" for n in range(1, 9)]
    assert "table 8.2 gives bodytrack the smaller value" in found["8.1"].note
    assert {finding.verdict for finding in found.values()} == {"not testable"}
    assert found["8.7"].ours.startswith("4 of 4 groups save energy, 20 to 47 %")


def test_claims_hold_on_a_machine_that_was_made_so() -> None:
    """With so little static power, heavy programs alone need least energy at a lower clock than light ones."""
    machine = replace(MACHINE, static_w=12.0)
    fours = [experiment(HEAVY, mhz, "once") for mhz in machine.frequencies_mhz]
    analysis = analyse(observed(machine, [*everything(machine, (1, 2), ("once",)), *fours], 3))
    assert verdicts(analysis) == dict.fromkeys(("8.1", "8.2"), "not testable") | dict.fromkeys(
        ("8.3", "8.4", "8.5", "8.6", "8.7", "8.8"), "reproduced"
    )
    made_up = findings(analysis)
    assert {finding.verdict for finding in made_up} == {"not testable"}
    assert made_up[2].ours.startswith("reproduced by the rule on a synthetic machine")


def test_claims_fail_on_a_machine_that_was_made_so() -> None:
    """Light programs are slowed and follow the clock less, no power is static, heavy ones do not disturb each other."""
    light, heavy = (
        SyntheticProgram("light", 10.0, 0.1, 5.0, 1e9, 1e-6, 1.0, 0.3),
        SyntheticProgram("heavy", 20.0, 0.9, 5.0, 1e9, 1e-2, 0.0, 0.2),
    )
    machine = replace(MACHINE, programs=(light, heavy), static_w=1e-3, frequencies_mhz=(1700.0, 3400.0), miss_rise=0.0)
    found = verdicts(analyse(observed(machine, everything(machine), 3)))
    assert {claim: found[claim] for claim in ("8.4", "8.6", "8.7", "8.8")} == dict.fromkeys(
        ("8.4", "8.6", "8.7", "8.8"), "not reproduced"
    )
    assert found["8.3"] != "reproduced"


@pytest.mark.parametrize(
    ("best", "verdict"),
    [
        ({"a": 2000.0, "b": 2000.0, "2 a": 1000.0, "a + b": 2000.0}, "partly"),
        ({"a": 2000.0, "b": 1000.0, "2 a": 2000.0, "a + b": 2000.0}, "partly"),
        ({"a": 2000.0, "b": 1000.0, "2 a": 1000.0, "a + b": 2000.0}, "reproduced"),
        (dict.fromkeys(("a", "b", "2 a", "a + b"), 2000.0), "not reproduced"),
    ],
)
def test_the_best_clock_is_compared_between_programs_alone_and_between_companies(
    best: dict[str, float], verdict: str
) -> None:
    rows = [
        {"group": group, "size": 1 if group in "ab" else 2, "program": name, "least_energy_mhz": mhz, "is_clear": True}
        for group, mhz in best.items()
        for name in ("b" if group == "b" else "a")
    ]
    nothing = analyse(table(COLUMNS))
    assert verdicts(replace(nothing, best_clock=table(BEST_CLOCK, rows)))["8.8"] == verdict


def test_the_rule_asks_for_intervals_and_lets_no_wrong_one_pass() -> None:
    sure, unsure, wrong = Difference("a", 0.2, 0.1), Difference("b", 0.1, 0.2), Difference("c", -0.3, 0.1)
    verdicts = {
        "reproduced": [sure],
        "partly": [sure, unsure],
        "not reproduced": [sure, unsure, wrong],
        "undecided": [unsure],
        "not judged": [Difference("d", 1.0, None)],
    }
    assert {verdict: ordering(found, "none")[1] for verdict, found in verdicts.items()} == dict(zip(verdicts, verdicts))


def test_pairs_of_gpu_jobs_go_through_the_same_analysis(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "gpu,job_a,job_b,steps_per_s_a,steps_per_s_b\n"
        "v100,a,,10,\nv100,b,,4,\nv100,a,a,5,5\nv100,a,b,8,1\nv100,b,b,0,0\n"
    )
    found = analyse(colocation_observations(read_colocation("pairs.csv", tmp_path)))
    pairs = {(a, b): slowdown for a, b, slowdown in found.pairs.select("program", "beside", "slowdown").iter_rows()}
    assert pairs == pytest.approx({("a", "a"): 1.0, ("a", "b"): 0.25, ("b", "a"): 3.0})
    assert found.left_out["why"].unique().to_list() == ["does not fit together"]


@pytest.mark.data
def test_measured_gpu_pairs_fall_into_three_classes() -> None:
    folder = data_folder()
    if folder is None:
        pytest.skip("the co-location sets are not at hand")
    found = analyse(colocation_observations(read_colocation("gavel_throughputs.csv.gz", folder / "colocation")))
    assert found.programs["class"].n_unique() == 3
    means = {(a, b): value for a, b, value in found.by_class.select("class", "beside", "slowdown").iter_rows()}
    assert means["III", "III"] > means["II", "II"] > means["I", "I"] > 0.3
    assert found.left_out.filter(pl.col("why") != "does not fit together").is_empty()
