"""Records of findings, the page that is written from them, and how the rule of verdicts behaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.cli.reproduce import all_experiments
from joulewise.errors import InputError
from joulewise.measure.analysis.published import CHAPTER_8
from joulewise.study import run_study
from joulewise.study.catalogue import EXPERIMENTS, Experiment
from joulewise.study.catalogue.characteristics import NUMBER, ORDERING, characteristics
from joulewise.study.catalogue.kept import KEPT, keep, kept_records, packed
from joulewise.study.catalogue.page import filled, totals, unfilled
from joulewise.study.catalogue.record import FILE, FindingsRecord, read_records
from joulewise.verdicts import ClaimFinding
from tests.strategies.claims import runs_of
from tests.strategies.sources import PACKAGE
from tests.strategies.true_tables import TRUE

DOCUMENTED = PACKAGE.parents[1] / "docs" / "reproduction.md"
PAGE = """Words.

<!-- findings a -->
old
<!-- end -->

<!-- findings totals -->
<!-- end -->

<!-- findings b -->
old b
<!-- end -->
"""
ABOUT = {"joulewise": "1.0", "python": "3.11.7", "machine": "m", "run_at": "2026-11-17T05:00:00+00:00", "engine": "",
         "seconds": 90.0}  # fmt: skip
HOLDS = ClaimFinding("2.1", "more | than", "all", "2 of 2 hold", "reproduced", "read as", "stand-in")
FAILS = ClaimFinding("2.1 (other)", "more", "all", "1 of 2 hold", "not reproduced")
OURS = ClaimFinding("J1", "ours", "bar", "held", "partly", standing="ours")


def record(name: str, *findings: ClaimFinding) -> FindingsRecord:
    return FindingsRecord(name, "Title", "Friese 2.7", "as read", 48, ABOUT, findings)


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    kept = record("a", HOLDS, FAILS)
    path = tmp_path / "a.json"
    kept.write(path)
    assert read_records([path, tmp_path / "none.json"]) == {"a": kept}
    path.write_text("{}")
    with pytest.raises(InputError, match="must be a record of findings"):
        read_records([path])


def test_a_page_is_written_from_records_and_keeps_its_words() -> None:
    page = filled(PAGE, {"a": record("a", HOLDS, FAILS, OURS)})
    assert page.startswith("Words.\n")
    assert "old\n" not in page
    assert "old b" in page
    assert "48 trials, computed on 2026-11-17 in 1.5 min of computing with Joulewise 1.0 on Python 3.11.7" in page
    assert "| 2.1 | more \\| than (read as) | all | 2 of 2 hold | reproduced (stand-in) |" in page
    assert unfilled(PAGE, {"a": record("a")}) == ["b"]
    with pytest.raises(InputError, match="has no part for c"):
        filled(PAGE, {"c": record("c", HOLDS)})


def test_totals_count_a_claim_once_by_its_worst_and_its_best_verdict() -> None:
    rows = [line.split(" | ") for line in totals({"a": record("a", HOLDS, FAILS, OURS)}).splitlines()]
    counts = {(row[0].strip("| "), row[1]): dict(zip(rows[0][2:-1], row[2:-1], strict=True)) for row in rows[2:]}
    assert counts["Friese", "worst"]["not reproduced"] == "1 (1)"
    assert counts["Friese", "best"]["reproduced"] == "1 (0)"  # by a stand-in
    assert counts["Joulewise", "worst"]["partly"] == "1"


def test_runs_that_are_kept_are_judged_by_the_rules_of_today(tmp_path: Path) -> None:
    runs, experiment = runs_of("k-best", TRUE["k-best"]), EXPERIMENTS["k-best"]
    record("k-best", FAILS).write(tmp_path / "k-best.json")
    assert kept_records(tmp_path, ["k-best"], EXPERIMENTS)["k-best"].findings == (FAILS,)
    (tmp_path / "k-best.parquet").write_bytes(packed(runs))
    assert list(kept_records(tmp_path, ["k-best"], EXPERIMENTS)["k-best"].findings) == experiment.findings(runs)
    (tmp_path / "k-best.parquet").write_bytes(packed(runs.drop("utility_percent")))
    with pytest.raises(InputError, match="run it again: `joulewise reproduce k-best`"):
        kept_records(tmp_path, ["k-best"], EXPERIMENTS)


def test_a_shorter_run_does_not_take_the_place_of_a_longer_one(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "new").mkdir()
    replace(record("a", HOLDS), trials=3).write(tmp_path / "kept" / "a.json")
    replace(record("a", FAILS), trials=2).write(tmp_path / "new" / FILE)
    with pytest.raises(InputError, match=r"found 2 trials of a; .* has those of 3 trials; leave --trials out"):
        keep(tmp_path / "new", tmp_path / "kept", None)
    replace(record("a", FAILS), trials=3).write(tmp_path / "new" / FILE)
    keep(tmp_path / "new", tmp_path / "kept", None)
    assert read_records([tmp_path / "kept" / "a.json"])["a"].findings == (FAILS,)


def test_a_reading_made_after_the_outcome_counts_in_no_total() -> None:
    late = ClaimFinding("2.15 (later)", "", "", "", "reproduced", standing="post hoc")
    assert totals({"a": record("a", late)}) == totals({})


def test_figures_that_are_only_shown_count_in_no_total() -> None:
    shown = ClaimFinding("2.4 (by types)", "", "", "", "shown")
    assert totals({"a": record("a", shown)}) == totals({})


def test_the_page_of_the_documentation_has_a_place_for_every_experiment() -> None:
    assert sorted(unfilled(DOCUMENTED.read_text(), {})) == sorted({*EXPERIMENTS, CHAPTER_8.id})


def test_the_page_of_the_documentation_says_what_its_records_say() -> None:
    records = kept_records(DOCUMENTED.parent / KEPT, all_experiments(), EXPERIMENTS)
    assert records
    assert filled(DOCUMENTED.read_text(), records) == DOCUMENTED.read_text()
    assert read_records(DOCUMENTED.parent / KEPT / f"{name}.json" for name in records) == records
    for name, kept in records.items():
        claims = {claim.id for claim in all_experiments()[name].claims}
        assert {finding.claim for finding in kept.findings} == claims, f"run `joulewise reproduce {name}` again"


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.id)
def test_a_smoke_study_is_the_study_but_smaller(experiment: Experiment) -> None:
    study, small = experiment.study(), experiment.smoke_study()
    assert small.heading.trials == 2
    assert len(small.points) == len(study.points)
    assert small.axes == study.axes


def test_generations_of_a_smoke_study_are_told_as_those_of_the_study(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["fig-5.4"]
    few, study = experiment.smoke_study(), experiment.study()
    few_generations, generations = (each.points[0].decision.parameters.snapshots for each in (few, study))
    assert max(few_generations) < max(generations) / 50
    few = replace(few, points=few.points[:1], heading=replace(few.heading, trials=1))
    results = run_study(few, tmp_path / "few", workers=1)
    assert {f"hypervolume_percent:{n}" for n in few_generations} <= set(experiment.measured(results).columns)
    told = experiment.measured(results, is_smoke=True)
    assert {f"hypervolume_percent:{n}" for n in generations} <= set(told.columns)
    assert np.isfinite(told["least_energy_j:1000"].to_numpy()).all()


def test_the_chance_of_a_wrong_verdict_is_bounded() -> None:
    table = characteristics(200).with_columns(pl.col("distance").round(3))
    chances = {tuple(row[:4]): row[4] for row in table.iter_rows()}
    for n_trials in (5, 48):
        assert chances[NUMBER, n_trials, 3.0, "reproduced"] <= 2.5
        assert chances[NUMBER, n_trials, 11.0, "partly"] <= 2.5
        assert chances[ORDERING, n_trials, 0.0, "reproduced"] == 0
    assert chances[ORDERING, 48, 1.0, "reproduced"] == 100
    assert chances[NUMBER, 48, 15.0, "not reproduced"] == 100
