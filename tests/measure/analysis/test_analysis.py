"""The analysis finds what synthetic machines were made of, within its intervals, and says what it cannot tell."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import polars as pl
import pytest

from joulewise.measure.analysis.additive import judged
from joulewise.measure.analysis.analysis import Analysis, analyse
from joulewise.measure.analysis.claims import findings
from joulewise.measure.analysis.columns import ADDITIVE, TABLES, schema, table
from joulewise.measure.analysis.grid import grid_of
from joulewise.measure.analysis.intensity import MUTUAL, class_order, classes, roman
from joulewise.measure.analysis.outliers import with_outliers
from joulewise.measure.analysis.slowdowns import class_table
from joulewise.measure.synthetic.machine import SyntheticMachine, SyntheticProgram
from tests.strategies.synthetic_runs import everything, experiment, idle_read, observed

MACHINE = SyntheticMachine(
    frequencies_mhz=(1700.0, 2500.0, 3400.0), time_noise=0.005, energy_noise=0.002, counter_noise=0.005
)
LIMITED = replace(MACHINE, has_counters=False, has_energy=False)
FOURS = (
    ("canneal", "canneal", "streamcluster", "streamcluster"),
    ("canneal", "blackscholes", "bodytrack", "bodytrack"),
    ("canneal", "streamcluster", "bodytrack", "bodytrack"),
)
"""The published groups of four."""
PAIR = ("canneal", "streamcluster")


@cache
def whole() -> Analysis:
    """Everything that was published, and all pairs."""
    fours = [experiment(group, mhz, "restart") for group, mhz in product(FOURS, MACHINE.frequencies_mhz)]
    once = [experiment(group, mhz, "once") for group, mhz in product((PAIR, FOURS[0]), MACHINE.frequencies_mhz)]
    return analyse(observed(MACHINE, [*everything(MACHINE), *fours, *once], 5), idle_read(MACHINE, 5))


def program(name: str) -> SyntheticProgram:
    found = MACHINE.program(name)
    assert found is not None
    return found


def held(truth: list[float], found: list[float], widths: list[float]) -> float:
    """The share of intervals that hold the truth."""
    return sum(abs(a - b) <= width for a, b, width in zip(truth, found, widths)) / len(truth)


def test_slowdowns_of_pairs_are_found_to_a_hundredth_and_intervals_hold_them() -> None:
    rows = whole().pairs.rows(named=True)
    truth = [MACHINE.slowdown(program(row["program"]), [program(row["beside"])], row["clock_mhz"]) for row in rows]
    assert len(rows) == 16 * 3
    assert [row["slowdown"] for row in rows] == pytest.approx(truth, abs=0.015)
    assert held(truth, [row["slowdown"] for row in rows], [row["slowdown_ci"] for row in rows]) >= 0.9
    known = {(row["program"], row["beside"], row["clock"]): value for row, value in zip(rows, truth)}
    fitted = {(a, b, clock): value for a, b, clock, _, value, _ in whole().fitted.iter_rows()}
    assert fitted == pytest.approx(known, abs=0.015)


def test_groups_whose_members_leave_early_are_found_additive_where_they_are() -> None:
    """long beside early and late: 1.3 beside both, 1.2 beside late, alone at last; both leave it before its end."""
    made = [("long", 100.0, 1.0, 0.0), ("early", 100.0, 0.0, 0.1), ("late", 120.0, 0.0, 0.2)]
    programs = tuple(SyntheticProgram(name, s, 0.0, 1.0, 1e9, 1e-3, feels, does) for name, s, feels, does in made)
    exact = SyntheticMachine(programs, (1000.0,), time_noise=0, counter_noise=0)
    trio = experiment(["long", "early", "late"], 1000.0, "once")
    found = analyse(observed(exact, [*everything(exact), trio], 2)).additive.filter(pl.col("program") == "long")
    assert found["predicted"].item() == pytest.approx(0.3)
    assert found["measured"].item() == pytest.approx(0.3, abs=0.02)


def test_intervals_pass_on_what_a_time_alone_does_to_all_that_is_divided_by_it() -> None:
    """Only times alone vary here, so that an interval is what half of theirs does to the value."""
    made = [("a", 100.0, 1.0, 0.1), ("b", 60.0, 0.5, 0.2), ("c", 110.0, 1.0, 0.05)]
    programs = tuple(SyntheticProgram(name, s, 0.0, 1.0, 1e9, 1e-3, feels, does) for name, s, feels, does in made)
    exact = SyntheticMachine(programs, (1000.0,), time_noise=0, counter_noise=0)
    larger = [experiment(group, 1000.0) for group in (list("abc"), list("aaabbbcc"))]
    runs = observed(replace(exact, cores=8), [*everything(exact, (1, 2), ("once",)), *larger], 2)

    def found(share: float, apart: float) -> Analysis:
        factor = 1 + share + apart * pl.col("repetition").replace_strict({0: 1.0, 1: -1.0})
        alone = pl.when(pl.col("size") == 1).then(pl.col("wall_s") * factor).otherwise("wall_s")
        return analyse(runs.with_columns(wall_s=alone))

    apart, step = 1e-4, 1e-6
    here, there = found(0.0, apart), found(step, apart)
    half = (here.alone["wall_ci_s"] / here.alone["wall_s"]).item(0)
    for name, value in (
        ("pairs", "slowdown"),
        ("fitted", "slowdown"),
        ("additive", "predicted"),
        ("additive", "error"),
    ):
        before, after = getattr(here, name), getattr(there, name)
        assert before.height >= 6
        moved = ((after[value] - before[value]).abs() * half / step).to_list()
        assert before[f"{value}_ci"].to_list() == pytest.approx(moved, rel=1e-3, abs=1e-7)


def test_what_scales_with_the_clock_is_found() -> None:
    found = {row["program"]: row for row in whole().scaling.iter_rows(named=True)}
    for made in MACHINE.programs:
        row = found[made.name]
        assert row["share_scaled"] == pytest.approx(made.share_scaled, abs=0.02)
        assert row["fixed_s"] + row["scaled_s"] == pytest.approx(made.alone_s, rel=0.01)
        assert row["share_ci"] < 0.03
        assert row["worst_error"] < 0.01
        assert row["n_clocks"] == 3


@pytest.mark.parametrize("has_idle", [True, False])
def test_static_and_dynamic_power_are_found_with_and_without_readings_of_idle_power(has_idle: bool) -> None:
    powers = whole().powers if has_idle else analyse(whole().observations).powers
    assert powers["basis"].unique().to_list() == ["idle" if has_idle else "groups"]
    assert powers["static_w"].to_list() == pytest.approx([MACHINE.static_w] * powers.height, abs=0.5)
    rows = powers.select("program", "clock_mhz").rows()
    truth = [program(name).dynamic_w * MACHINE.dynamic_share(mhz) for name, mhz in rows]
    assert powers["dynamic_w"].to_list() == pytest.approx(truth, abs=0.5)
    assert held(truth, powers["dynamic_w"].to_list(), powers["dynamic_ci_w"].to_list()) >= 0.8


def test_classes_are_the_published_ones_with_counters_and_two_without() -> None:
    found = whole().programs
    assert dict(found.select("program", "class").iter_rows()) == {
        "canneal": "III", "streamcluster": "III", "blackscholes": "II", "bodytrack": "I",
    }  # fmt: skip
    assert found["intensity"].to_list() == pytest.approx(
        [program(name).intensity for name in found["program"]], rel=0.01
    )
    without = analyse(observed(LIMITED, everything(LIMITED), 3))
    assert dict(without.programs.select("program", "class").iter_rows()) == {
        "canneal": "II", "streamcluster": "II", "blackscholes": "I", "bodytrack": "I",
    }  # fmt: skip
    assert without.programs["basis"].unique().to_list() == [MUTUAL]
    by_class = {(a, b): value for a, b, value in without.by_class.select("class", "beside", "slowdown").iter_rows()}
    assert by_class["II", "II"] > 0.05 > by_class["I", "II"] > by_class["I", "I"] - 0.01


def test_sums_of_slowdowns_are_found_to_hold_or_not() -> None:
    assert whole().additivity.verdict == "additive"
    assert whole().additivity.n == 8
    curved = replace(LIMITED, curvature=4.0, frequencies_mhz=(3400.0,))
    groups = [experiment(group, 3400.0) for group in FOURS]
    found = analyse(observed(curved, [*everything(curved), *groups], 3)).additivity
    assert found.verdict == "underestimates"
    assert found.mean_error is not None
    assert found.mean_error < -0.05


@pytest.mark.parametrize(
    ("error", "half", "verdict"),
    [
        (0.01, 0.5, "additive"),
        (0.08, 0.09, "additive"),
        (0.08, 0.5, "nearly additive"),
        (0.3, 0.5, "unclear"),
        (0.3, 0.1, "overestimates"),
        (0.3, None, "unclear"),
    ],
)
def test_wide_intervals_do_not_make_slowdowns_additive(error: float, half: float | None, verdict: str) -> None:
    rows = [{"group": "a + b + c", "program": name, "error": error, "error_ci": half} for name in "abc"]
    assert judged(table(ADDITIVE, rows)).verdict == verdict


def test_a_class_is_known_no_better_than_the_times_alone_that_its_pairs_share() -> None:
    pairs = pl.DataFrame(
        {"program": ["a", "a", "b"], "beside": ["a", "b", "a"], "clock": "x", "slowdown": [0.1, 0.3, 0.2],
         "slowdown_ci": [0.06, 0.06, 0.09]}
    )  # fmt: skip
    found = class_table(pairs, {"a": "I", "b": "I"}).row(0, named=True)
    assert (found["slowdown"], found["slowdown_ci"], found["n"]) == pytest.approx((0.2, 0.05, 3))
    unknown = pairs.with_columns(slowdown_ci=pl.Series([0.06, None, 0.09]))
    assert class_table(unknown, {"a": "I", "b": "I"})["slowdown_ci"].to_list() == [None]


def test_tables_do_not_have_the_order_of_runs() -> None:
    rows = whole().alone.select("program", "clock_mhz").rows()
    assert rows == sorted(rows, key=lambda row: (row[0], -row[1]))


def test_energy_together_is_compared_with_energy_alone() -> None:
    pair = whole().together.filter(pl.col("group") == "canneal + streamcluster", pl.col("way") == "once")
    row = pair.filter(pl.col("clock_mhz") == 3400).row(0, named=True)
    assert row["alone_j"] == pytest.approx(30480, rel=0.01)
    assert row["together_j"] == pytest.approx(24195, rel=0.01)
    assert row["saved_share"] == pytest.approx(0.206, abs=0.01)
    assert 0 < row["saved_ci"] < 0.02
    assert row["together_s"] < row["alone_s"]


def test_a_meter_that_stands_still_and_programs_that_never_miss_give_no_quotients() -> None:
    nothing = pl.lit(0.0)
    still = whole().observations.with_columns(energy_j=nothing, group_energy_j=nothing, cache_misses=nothing)
    found = analyse(still)
    assert found.together["alone_j"].unique().to_list() == [0.0]
    assert found.together["saved_share"].null_count() == found.together.height > 0
    assert findings(found)[4].ours.endswith("misses were not read at two frequencies")


def test_static_power_of_tables_is_that_of_their_clocks() -> None:
    runs = whole().observations.filter((pl.col("clock_mhz") != 1700) | (pl.col("group") != "canneal"))
    idle = pl.DataFrame({"clock": ["1700 MHz", "2500 MHz", "3400 MHz"], "idle_w": [10.0, 50.0, 60.0]})
    grid = grid_of(analyse(runs, idle))
    assert grid.clocks == ("3400 MHz", "2500 MHz")
    assert grid.static_w == pytest.approx(55.0)


def test_the_best_frequency_follows_from_the_company() -> None:
    best = dict(
        whole().best_clock.filter(pl.col("program") == "canneal").select("group", "least_energy_mhz").iter_rows()
    )
    assert best["canneal"] == 3400.0
    assert best["2 canneal + 2 streamcluster"] == 2500.0
    dynamic = whole().best_clock["least_dynamic_mhz"].unique().to_list()
    assert dynamic == [1700.0]


def test_members_that_the_others_left_are_corrected_for_it() -> None:
    made = [group for group in everything(LIMITED, (1, 2), ("once",)) if group.clock.frequency_mhz == 3400]
    pairs = analyse(observed(LIMITED, made, 5)).pairs
    truth = [
        MACHINE.slowdown(program(a), [program(b)], 3400.0) for a, b in pairs.select("program", "beside").iter_rows()
    ]
    assert len(truth) == 16
    assert pairs["slowdown"].to_list() == pytest.approx(truth, abs=0.03)


def test_what_was_not_read_is_said() -> None:
    found = analyse(observed(LIMITED, [experiment(["canneal"]), experiment(["canneal", "bodytrack"])], 1))
    assert found.missing == (
        "slowdowns of bodytrack: not measured alone",
        "intervals: no program was measured alone more than once",
        "memory intensity by cache misses: no counters could be read",
        "classes of memory intensity: neither counters nor pairs tell them",
        "whether slowdowns add up: no group of three or more was measured",
        "what clocks do to times: nothing was measured alone at two frequencies",
        "energies and powers: no meter read energy",
    )
    assert whole().missing == ()
    short = observed(LIMITED, everything(LIMITED), 2).with_columns(
        company_share=pl.col("size").replace({1: 1.0, 2: 0.2})
    )
    assert (
        "slowdown of bodytrack beside canneal: together for less than 25 % of its time in 6 runs"
        in analyse(short).missing
    )
    assert found.pairs["slowdown_ci"].null_count() == found.pairs.height == 1


def test_every_table_has_its_columns_even_of_nothing() -> None:
    nothing = analyse(whole().observations.clear())
    for found in (whole(), nothing):
        assert {name: dict(getattr(found, name).schema) for name in TABLES} == {
            name: {column: kind() for column, kind in schema(columns).items()} for name, columns in TABLES.items()
        }
    assert nothing.missing == ("nothing was measured: no run counts",)


def test_runs_that_failed_or_lie_far_from_the_others_are_left_out() -> None:
    runs = observed(LIMITED, [experiment(["canneal", "bodytrack"])], 6)
    is_late = (pl.col("repetition") == 2) & (pl.col("place") == 1)
    changed = runs.with_columns(
        wall_s=pl.when(is_late).then(1.1 * pl.col("wall_s")).otherwise("wall_s"),
        problem=pl.when(pl.col("repetition") == 4).then(pl.lit("it was killed")),
    )
    found = analyse(changed)
    assert set(found.left_out.select("repetition", "why").iter_rows()) == {
        (2, "far from the other repetitions"), (4, "it was killed"),
    }  # fmt: skip
    assert found.observations.height == 8
    assert not with_outliers(changed.filter(pl.col("repetition") < 4))["is_outlier"].any()


def test_sound_runs_are_kept_and_outliers_do_not_spoil_what_is_found() -> None:
    assert whole().left_out.height <= 0.01 * whole().observations.height
    machine = replace(LIMITED, outlier_share=0.1, frequencies_mhz=(3400.0,))
    found = analyse(observed(machine, everything(machine), 9))
    met = found.pairs.select("program", "beside").rows()
    truth = [MACHINE.slowdown(program(a), [program(b)], 3400.0) for a, b in met]
    assert found.left_out.height > 10
    assert found.pairs["slowdown"].to_list() == pytest.approx(truth, abs=0.015)


def test_classes_are_fewer_where_programs_are_alike() -> None:
    assert set(classes({"a": 1.0, "b": 1.1, "c": 1.2}, 3).values()) == {"I"}
    assert classes({"a": 1.0, "b": 1.1, "c": 9.0, "d": 10.0, "e": 80.0}, 3) == {
        "a": "I", "b": "I", "c": "II", "d": "II", "e": "III",
    }  # fmt: skip
    assert classes({}, 3) == {}
    assert [class_order(roman(n)) for n in range(1, 30)] == list(range(1, 30))
