"""Figures and page of the laboratory: everything that was measured is shown, and what was not is said."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.measure.analysis.analysis import Analysis, analyse
from joulewise.measure.analysis.columns import TABLES, shaped
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.machine import Cache, Machine
from joulewise.present.export import spec_of
from joulewise.present.layout import Drawing
from joulewise.present.measure.clocks import clocks_title, over_clocks
from joulewise.present.measure.energy import energy_together, power_split
from joulewise.present.measure.findings import measure_findings
from joulewise.present.measure.report import (
    FIGURES,
    MeasureInfo,
    drawable,
    render_measure_report,
    write_measure_figures,
    write_measure_report,
)
from joulewise.present.measure.runs import RunCounts, run_counts
from joulewise.present.measure.slowdowns import slowdowns_by_pair
from joulewise.present.measure.tables import DETAILS, MAIN, measure_tables
from joulewise.present.measure.view import clock_phrase, misses_pm, percent_pm, shown_clock, size_name, whiskers_phrase
from tests.strategies.made_measure import CLOCKS_MHZ, TIME_S, made_analysis
from tests.strategies.vega import is_vega_lite

SHOWN = ("canneal", "bodytrack")
MINUS = "\N{MINUS SIGN}"
EVIL = "</script><script>window.pwned = 1</script>"
FULL = made_analysis()
BARE = made_analysis(
    [None], has_energy=False, has_counters=False, missing=("energies and powers: no meter read energy",)
)
ALONE = made_analysis([None], has_energy=False, has_counters=False, fours=())


@cache
def _drawn(name: str, *, is_bare: bool = False) -> Drawing:
    """A figure, drawn once for all tests."""
    figure = next(figure for figure in FIGURES if figure.name == name)
    return figure.draw(_of_two(BARE if is_bare else FULL))


def _of_two(analysis: Analysis) -> Analysis:
    """Two programs are enough to draw, in the company of all."""
    two = {
        name: getattr(analysis, name).filter(pl.col("program").is_in(SHOWN)) for name in ("alone", "programs", "powers")
    }
    return replace(analysis, **two)


def _rows(drawing: Drawing, *fields: str) -> list[dict[str, Any]]:
    rows = [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]
    return [row for row in rows if set(fields) <= set(row)]


def _names(analysis: Analysis) -> list[str]:
    return [figure.name for figure in drawable(analysis)]


def test_figures_are_drawn_of_what_was_measured() -> None:
    assert _names(FULL) == [figure.name for figure in FIGURES]
    assert _names(BARE) == ["programs", "slowdowns", "sums", "clocks"]
    assert _names(ALONE) == ["programs", "slowdowns", "clocks"]
    nothing = {
        name: getattr(FULL, name).clear() for name in ("alone", "pairs", "additive", "powers", "together", "programs")
    }
    assert _names(replace(FULL, **nothing)) == []


def test_figures_are_written_in_each_format_asked_for(tmp_path: Path) -> None:
    paths = write_measure_figures(tmp_path, _of_two(ALONE), ["svg"])
    assert paths == [tmp_path / f"{name}.svg" for name in _names(ALONE)]
    assert all(path.read_text("utf-8").startswith("<svg") for path in paths)


def test_figures_are_valid_and_captions_are_sentences() -> None:
    drawings = [
        _drawn(name, is_bare=is_bare) for is_bare in (False, True) for name in _names(BARE if is_bare else FULL)
    ]
    for drawing in drawings:
        assert is_vega_lite(spec_of(drawing.chart))
        assert drawing.caption.endswith(".")
        assert "  " not in drawing.caption


def test_lines_over_clocks_are_programs_alone_and_in_the_worst_and_best_company() -> None:
    rows = _rows(_drawn("clocks"), "x", "y", "piece")
    least = {f"{n} together, least slowed" for n in ("two", "four")}
    assert {row["name"] for row in rows} == {"alone", "two together", "four together", *least}
    assert {row["x"] for row in rows} == {mhz / 1000 for mhz in CLOCKS_MHZ}
    times = [row["y"] for row in rows if row["name"] == "alone" and row["x"] == 3.4]
    assert any(time == pytest.approx(TIME_S["canneal"] / 60) for time in times)


def test_one_clock_shows_every_company_as_a_point_with_its_interval() -> None:
    rows = _rows(_drawn("clocks", is_bare=True), "company", "offset")
    assert {row["company"] for row in rows} == {*SHOWN, *BARE.members.filter(pl.col("program").is_in(SHOWN))["group"]}
    assert all(row["low"] < row["y"] < row["high"] for row in rows)


def test_clocks_without_a_frequency_have_their_places() -> None:
    names = {"2800 MHz": "powersave", "3400 MHz": "performance"}
    columns = {"clock": pl.col("clock").replace(names), "clock_mhz": None}
    two = {
        name: getattr(FULL, name).filter(pl.col("clock_mhz") >= 2800, program="canneal").with_columns(**columns)
        for name in ("alone", "members")
    }
    one = replace(FULL, **two, programs=FULL.programs.filter(program="canneal"))
    rows = _rows(over_clocks(one), "company", "offset")
    assert {row["x"] for row in rows} == {"performance", "powersave"}
    times = [row["offset"] for row in rows if row["x"] == "powersave" and row["size"] == "alone"]
    assert len(times) == 3  # misses, time and energy
    assert max(times) < min(row["offset"] for row in rows if row["size"] != "alone")
    assert clock_phrase("powersave") == " (powersave)"
    assert clock_phrase(shown_clock(two["alone"])) == " (performance)"


def test_pairs_have_their_intervals_and_gaps_are_grey() -> None:
    few = replace(FULL, pairs=FULL.pairs.filter(pl.col("beside") != "bodytrack"), by_class=FULL.by_class.clear())
    cells = _rows(slowdowns_by_pair(few), "fill", "beside")
    assert {cell["text"] for cell in cells if cell["beside"] == "bodytrack"} == {"\N{EN DASH}"}
    told = next(cell["shown"] for cell in cells if (cell["name"], cell["beside"]) == ("canneal", "streamcluster"))
    assert told == "32.0 ± 1.2"
    assert shown_clock(FULL.pairs) == "3400 MHz"


def test_sums_energies_and_powers_are_as_analysed() -> None:
    dots = _rows(_drawn("sums"), "shown_x", "shown_y")
    assert all(dot["x"] < dot["y"] for dot in dots)  # the made sums are too high
    bars = _rows(_drawn("energy-together"), "alone", "saved")
    row = FULL.together.filter(pl.col("clock") == "3400 MHz", pl.col("group") == "2 canneal").row(0, named=True)
    bar = next(bar for bar in bars if bar["group"] == "2 canneal")
    assert bar["together"] / bar["alone"] == pytest.approx(row["together_j"] / row["alone_j"])
    parts = _rows(_drawn("powers"), "what", "clock")
    assert {part["high"] for part in parts if part["what"] == "static"} == {44.0}


def test_programs_are_told_apart_by_misses_or_by_what_they_suffer_and_cause() -> None:
    assert {row["class"] for row in _rows(_drawn("programs"), "class")} == {"I", "III"}
    assert {row["what"] for row in _rows(_drawn("programs", is_bare=True), "what")} == {"suffers", "causes"}


def test_findings_say_what_came_out_and_nothing_else() -> None:
    leads = " ".join(finding.lead for finding in measure_findings(FULL))
    for words in (
        "32.0 ± 1.2\N{NARROW NO-BREAK SPACE}% longer than alone",
        "add up",
        "saves energy in",
        "follows the clock most",
        "Whatever runs",
        "(read by RAPL (package-0))",
    ):
        assert words in leads
    assert len(measure_findings(ALONE)) == 1
    noisy = replace(ALONE, pairs=ALONE.pairs.with_columns(slowdown_ci=pl.lit(0.5)))
    assert measure_findings(noisy)[0].lead.startswith("No slowdown in 16 cases of two programs is beyond its interval")
    apart = replace(ALONE, pairs=ALONE.pairs.clear())
    assert measure_findings(apart)[0].lead == "4 programs were timed alone, and none together."
    assert measure_findings(replace(apart, alone=ALONE.alone.clear()))[0].lead == "No run counts yet."
    noted = ALONE.observations.with_columns(notes=pl.lit("others used 90 % of the cores just before"))
    made = replace(ALONE, observations=noted.tail(9), left_out=noted.head(3).with_columns(why=pl.lit("far")))
    assert measure_findings(made)[-1].lead.startswith("12 of 12 runs began while others used the machine")


def test_findings_say_where_the_clock_was_slower_in_company() -> None:
    seen = [("a", "a", 1, 4000.0), ("b", "b", 1, 4000.0), ("a + b", "a", 2, 3600.0), ("a + b", "b", 2, 3920.0)]
    columns = ("group", "program", "size", "measured_mhz")
    rows = [dict(zip(columns, values), run=str(i), clock="as is") for i, values in enumerate(seen)]
    found = measure_findings(replace(ALONE, observations=shaped(pl.DataFrame(rows), COLUMNS)))[-1].lead
    assert "in 1 of 2 cases cores ran slower in company than alone, by up to 10" in found
    assert found.endswith("(a in a + b).")


def test_findings_never_call_less_time_longer() -> None:
    for slowdown, half, words in (
        (0.012, 0.02, "takes 1.2 ± 2.0 % longer than alone"),
        (-0.012, 0.02, f"is not slower than alone ({MINUS}1.2 ± 2.0 %)"),
        (-0.012, 0.001, "takes 1.20 ± 0.10 % less time than alone"),
        (-0.012, None, "takes 1.2 % less time than alone"),
    ):
        pairs = ALONE.pairs.head(1).with_columns(slowdown=slowdown, slowdown_ci=pl.lit(half, pl.Float64))
        lead = measure_findings(replace(ALONE, pairs=pairs))[0].lead.replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert f"canneal beside another one {words}" in lead
    saved = next(found for found in measure_findings(FULL) if "saves energy" in found.lead)
    assert "2 canneal + 2 streamcluster costs most, 7.6 ± 1.5" in saved.support


def _found(analysis: Analysis, words: str) -> str:
    """The finding with these words in its lead, whole."""
    told = next(found for found in measure_findings(analysis) if words in found.lead)
    return f"{told.lead} {told.support}".replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_savings_count_where_they_are_beyond_their_intervals() -> None:
    assert "do not tell" not in _found(FULL, "Running together saves energy in 11")
    wide = pl.when(pl.col("size") == 2).then(9.0).otherwise(pl.col("saved_ci"))
    some = _found(replace(FULL, together=FULL.together.with_columns(saved_ci=wide)), "Running together")
    assert (
        "saves energy in 2 of 13 groups at 3400 MHz, up to 53.4 ± 1.5 %: blackscholes + 2 bodytrack + canneal." in some
    )
    assert "In 10 of 13 groups intervals do not tell whether it does. 2 canneal + 2 streamcluster costs most" in some
    unclear = replace(FULL, together=FULL.together.with_columns(saved_ci=pl.lit(9.0)))
    assert "saves energy beyond the interval in none of 13 groups" in _found(unclear, "Running together")
    once = replace(FULL, together=_without_intervals(FULL.together))
    assert "There are no intervals, which need repetitions." in _found(once, "Running together saves energy in 11")


def test_what_intervals_do_not_tell_of_clocks_and_powers_is_not_clear() -> None:
    wide = pl.when(pl.col("program") == "canneal").then(0.3).otherwise(0.03)
    one = replace(FULL, scaling=FULL.scaling.with_columns(share_ci=wide))
    assert "This is not clear for 1 of 4 programs" in _found(one, "follows the clock most")
    beyond = replace(FULL, scaling=FULL.scaling.with_columns(share_scaled=pl.lit(1.7)))
    assert "not clear for 4 of 4 programs" in _found(beyond, "follows the clock")
    none, two = (
        replace(FULL, powers=FULL.powers.with_columns(dynamic_w=pl.col("dynamic_w") - lost, dynamic_ci_w=pl.lit(0.6)))
        for lost in (20.0, 15.0)
    )
    assert "are drawn at 3400 MHz (read by RAPL (package-0)); no program adds" in _found(none, "Whatever runs")
    assert "; 2 of 4 programs add to that beyond the interval" in _found(two, "Whatever runs")


def test_a_program_shows_that_the_best_clock_depends_on_company() -> None:
    alone = FULL.best_clock.filter(program="canneal")
    company = alone.with_columns(group=pl.lit("2 canneal"), size=pl.lit(2, pl.Int64), least_energy_mhz=pl.lit(1700.0))
    told = _found(replace(FULL, best_clock=pl.concat([alone, company])), "depends on what runs beside it")
    assert "canneal needs least at 2800 MHz alone, but at 1700 MHz in 2 canneal." in told


def test_errors_of_sums_are_named_by_what_they_are() -> None:
    told = _found(FULL, "add up")
    assert "off by 1.5 percentage points, up or down, on average." in told
    assert "Sum less measurement is 1.20 ± 0.40 points on average over 12 members" in told
    assert f"Of {FULL.additive.height} errors, one for each member and clock, 80 % are within their intervals." in told
    assert "Sum less measurement is 1.20 ± 0.40 percentage points on average" in _drawn("sums").caption


def test_wide_whiskers_stay_in_their_figures_and_power_below_static_is_told_apart() -> None:
    together = FULL.together.filter(clock="3400 MHz").with_columns(together_ci_j=9 * pl.col("together_j"))
    drawing = energy_together(replace(FULL, together=together))
    bars = _rows(drawing, "alone", "saved")
    most = max(max(bar["alone"], bar["together"]) for bar in bars)
    assert max(bar["right"] for bar in bars) == pytest.approx(2 * most)
    assert drawing.caption.endswith("Whiskers that end at the edge go on beyond it.")
    low = replace(FULL, powers=FULL.powers.filter(program="canneal").with_columns(dynamic_w=pl.lit(-4.0)))
    parts = _rows(power_split(low), "what", "clock")
    assert {(part["what"], part["low"], part["high"]) for part in parts} == {
        ("static", 0.0, 40.0),
        ("short of static", 40.0, 44.0),
    }


def test_captions_and_titles_speak_of_what_was_measured_only() -> None:
    captions = [_drawn(name).caption for name in _names(FULL)]
    assert sum("Whiskers" in caption for caption in captions) == 4
    once: dict[str, Any] = {name: _without_intervals(getattr(_of_two(FULL), name)) for name in TABLES}
    captions = [figure.draw(replace(FULL, **once)).caption for figure in FIGURES]
    assert not any("Whiskers" in caption or "95 %" in caption for caption in captions)
    some = FULL.alone.with_columns(wall_ci_s=pl.when(pl.col("program") != "canneal").then(pl.col("wall_ci_s")))
    assert whiskers_phrase(some, {"wall_s": "wall_ci_s"}).endswith("or there is none, for want of repetitions.")
    assert "want" not in whiskers_phrase(FULL.alone, {"wall_s": "wall_ci_s"})
    assert clocks_title(FULL) == "Misses, time and energy of programs, alone and together, at each clock"
    apart = replace(_of_two(BARE), members=BARE.members.clear())
    assert clocks_title(apart) == "Time of programs alone"
    assert over_clocks(apart).caption.startswith("Each panel is a program: its time, alone. Whiskers")


def _without_intervals(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in frame.columns if "_ci" in name)


def test_runs_that_failed_are_told_apart_from_those_that_were_not_made() -> None:
    rows = BARE.observations.head(6)
    failed = rows.filter(repetition=0).with_columns(problem=pl.lit("exit 3"), why=pl.lit("exit 3"))
    far = rows.filter(repetition=1).with_columns(is_outlier=True, why=pl.lit("far from the other repetitions"))
    some = replace(BARE, observations=rows.filter(repetition=2), left_out=pl.concat([failed, far]))
    told = "2 of 15 runs count; 2 failed; 2 lie far from the others; 9 were not made yet"
    assert run_counts(some, 15).words() == told
    assert run_counts(some).words() == "2 of 6 runs count; 2 failed; 2 lie far from the others"
    assert run_counts(BARE, 12) == RunCounts(12, 0, 0, 0)
    assert RunCounts(1, 0, 0, 0).words() == "1 run counts"


def test_remarks_on_readings_of_the_idle_machine_are_told_with_static_power() -> None:
    notes = ("", "others used 9 % of the cores just before", "others used 9 % of the cores just before")
    told = "2 of 3 readings with nothing running are in doubt: others used 9 % of the cores just before."
    assert measure_findings(FULL, notes)[-1].support.endswith(told)
    groups = replace(FULL, powers=FULL.powers.with_columns(basis=pl.lit("groups")))
    assert "in doubt" not in measure_findings(groups, notes)[-1].support


def test_tables_leave_out_columns_of_which_nothing_is_known() -> None:
    full, bare = (measure_tables(analysis, (*MAIN, *DETAILS)) for analysis in (FULL, BARE))
    headings = {column for table in bare for column in (table.corner, *table.columns)}
    assert not any("Energy" in heading or "Misses" in heading for heading in headings)
    assert len(full) > len(bare)
    assert percent_pm(0.5, None) == "50.0"
    assert [misses_pm(*read) for read in ((0.0225, None), (0.0225, 0.0011), (2e-7, 1e-9))] == [
        "22.5",
        "22.5 ± 1.1",
        f"(2.000 ± 0.010)e{MINUS}4",
    ]
    assert all("±" in table.note for table in full if any("±" in cell.text for _, row in table.rows for cell in row))
    assert [size_name(n) for n in (1, 2, 9)] == ["alone", "two together", "9 together"]


def test_the_page_says_what_is_missing_and_runs_nothing_a_user_wrote(tmp_path: Path) -> None:
    machine = Machine(EVIL, (0, 1), ((0,), (1,)), (Cache(3, "Unified", 8 * 1024**2, (0, 1)),))
    probes = (Availability("energy", False, "no powercap", "read another meter"),)
    left_out = BARE.observations.head(1).with_columns(why=pl.lit(f"failed: {EVIL}"), program=pl.lit("gone"))
    info = MeasureInfo(EVIL, EVIL, f'name = "{EVIL}"', "measure.toml", machine, probes, 90, n_planned=20)
    lean = replace(_of_two(BARE), left_out=left_out, additive=BARE.additive.clear(), pairs=BARE.pairs.clear())
    path = write_measure_report(tmp_path, lean, info)
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert EVIL not in html
    for words in (
        "no meter read energy",
        "read another meter",
        "8 MiB shared by 2 cores",
        "1 run of canneal",
        "5 programs",
        "all runs took 1.5 min",
        "12 of 20 runs count; 8 were not made yet. To make the others",
    ):
        assert words in html
    assert 'src="http' not in html
    assert html.count("<figure") == 2


def test_a_page_without_any_run_is_a_page() -> None:
    html = render_measure_report(analyse(FULL.observations.clear()), MeasureInfo())
    assert "<figure" not in html
    assert "No run counts yet." in html
    assert "Nothing was measured: no run counts." in html
