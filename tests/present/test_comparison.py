"""The page and the figures of a comparison: they say what was found, and draw what makes sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from joulewise.errors import InputError
from joulewise.present.comparison.differences import draw_differences
from joulewise.present.comparison.page import drawable, findings, write_comparison
from joulewise.present.comparison.tables import difference_tables, pairs_table, settings_table
from joulewise.present.comparison.values import draw_distributions, draw_trials
from joulewise.present.comparison.view import (
    View,
    difference_text,
    effect_text,
    interval_text,
    n_text,
    p_text,
    percent_text,
    verdict_text,
)
from joulewise.present.layout import Drawing
from joulewise.present.parts import unchecked
from joulewise.present.tables import Cell
from joulewise.study import Results, Run, compare
from tests.strategies.made_results import STUDY, made_results

METRIC = "possible_percent"
ONE = {'["random", "max-max-upt"]': '"random"', "[0, 0.5]": "0.5"}
EVIL = "<script>window.pwned = 1</script>"


def study(name: str, shift: float, trials: int = 10, seed: int = 0) -> Results:
    def numbers(run: Run) -> dict[str, Any]:
        wave = (run.trial * 37 % 11) / 5 + shift * (4 + run.trial % 3)
        return {METRIC: 40 + wave, "energy_j": 1e9 + 1e7 * wave, "utility": 5.0}

    return made_results(numbers, {'"small"': f'"{name}"', "trials = 10": f"trials = {trials}\nseed = {seed}"})


@pytest.fixture(scope="module")
def view() -> View:
    return View(compare(study("a", 0), study("b", 1.0), study("c", -1.0), metrics=[METRIC, "energy_j", "utility"]))


def drawn(draw: Callable[[View], Drawing], view: View) -> tuple[dict[str, Any], str]:
    with unchecked():
        drawing = draw(view)
    return drawing.chart, drawing.caption


def datasets(chart: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return list(chart["datasets"].values())


def test_differences_are_drawn_with_both_intervals_in_units_that_suit(view: View) -> None:
    chart, caption = drawn(draw_differences, view)
    assert [part["title"] for part in chart["concat"]] == [
        "Utility (% of what is possible)",
        "Energy (GJ)",
        "Utility earned",
    ]
    rows = next(rows for rows in datasets(chart) if "shown" in rows[0])
    first = view.rows(METRIC).row(0, named=True)
    assert rows[0]["name"] == "b, Random, dropping threshold 0"
    assert {key: rows[0][key] for key in ("low", "all_high")} == pytest.approx(
        {k: first[k] for k in ("low", "all_high")}
    )
    assert "thin lines hold all 16 differences together" in caption
    assert {row["looks"] for row in rows} == {"higher", "lower"}


def test_values_are_drawn_trial_by_trial_or_by_where_they_lie(view: View) -> None:
    chart, caption = drawn(draw_distributions, view)
    assert "Dots are trials" in caption
    assert any(row.get("study") == "c" for rows in datasets(chart) for row in rows)
    many = View(compare(study("a", 0, 80), study("b", 1.0, 80), metrics=[METRIC]))
    chart, caption = drawn(draw_distributions, many)
    assert "hold half of the trials" in caption
    assert max(len(rows) for rows in datasets(chart)) == 8
    assert all(row["q05"] <= row["q50"] <= row["q95"] for rows in datasets(chart) for row in rows)


def test_trials_are_held_against_each_other_where_they_met(view: View) -> None:
    chart, _ = drawn(draw_trials, view)
    assert len(chart["concat"]) == 6
    assert [figure.name for figure in drawable(view.comparison)] == ["differences", "distributions", "trials"]
    apart = compare(study("a", 0), study("b", 1.0, seed=4))
    assert [figure.name for figure in drawable(apart)] == ["differences", "distributions"]


def test_nothing_is_drawn_where_there_is_nothing_to_draw() -> None:
    empty = compare(study("a", 0), made_results(lambda _: {METRIC: None}, {'"small"': '"b"'}), metrics=[METRIC])
    assert drawable(empty) == []
    one = View(compare(study("a", 0, 1), study("b", 1.0, 1), metrics=[METRIC]))
    assert [figure.name for figure in drawable(one.comparison)] == ["differences"]
    assert "Nothing could be tested" in drawn(draw_differences, one)[1]


def test_tables_say_all_that_was_found(view: View) -> None:
    tables = difference_tables(view)
    assert [len(table.rows) for table in tables] == [8, 8, 8]
    name, cells = tables[0].rows[0]
    assert (name, cells[-1].text, cells[-2].text) == ("b, Random, dropping threshold 0", "higher", "10")
    assert tables[2].rows[0][1][-1].text == "same"
    assert tables[0].columns[-4:] == ("p alone", "p", "Trials", "Verdict")
    assert settings_table(view).rows == ()
    assert [cell.text for cell in pairs_table(view).rows[0][1]] == ["same worlds", "10", "10", "10", "10"]
    sentences = list(findings(view))
    assert sentences[0].lead == "Utility (% of what is possible): b against a is higher at 4 of 4 points."
    assert "percentage points" in sentences[0].support
    assert [finding.support for finding in sentences if finding.lead.startswith("Utility earned")] == ["", ""]


def test_the_largest_difference_that_is_told_is_one_that_the_trials_show() -> None:
    def numbers(run: Run) -> dict[str, Any]:
        is_sure = run.cells()["manager.policy"] == "random"
        return {METRIC: 50.0 + (1 + run.trial % 2 / 9 if is_sure else 30 * (-1) ** run.trial + 5)}

    changes = {"[0, 0.5]": "0.5"}
    base = made_results(lambda _: {METRIC: 50.0}, {'"small"': '"a"', **changes})
    found = View(compare(base, made_results(numbers, {'"small"': '"b"', **changes}), metrics=[METRIC]))
    (finding,) = findings(found)
    assert "higher at 1, tied at 1 of 2 points" in finding.lead
    assert finding.support.startswith("Most at Random: +1.0")


ROW = {
    "mean": 12.0, "base_mean": 10.0, "difference": 2.0, "low": 1.5, "high": 2.5, "percent": 20.0, "n": 5, "n_base": 5,
    "reason": None, "verdict": "higher",
}  # fmt: skip


TINY = {**ROW, "difference": 2e-7, "low": 1e-7, "high": 3e-7}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (difference_text(ROW, 1.0), "+2.00 ± 0.50"),
        (difference_text({**ROW, "low": None, "high": None}, 1.0), "+2"),
        (difference_text({**ROW, "difference": None, "low": None, "high": None}, 1.0), "\N{EN DASH}"),
        (interval_text({**ROW, "low": None}, 1.0), "+2"),
        (interval_text(TINY, 1.0), "+2.00e_07 (+1.00e_07 to +3.00e_07)".replace("_", "\N{MINUS SIGN}")),
        (difference_text(TINY, 1.0), "(2.00 ± 1.00)e\N{MINUS SIGN}7"),
        (interval_text(ROW, 10.0), "+0.200 (+0.150 to +0.250)"),
        (percent_text({"percent": None}), "\N{EN DASH}"),
        (p_text(0.0001), "<\N{NARROW NO-BREAK SPACE}0.001"),
        (p_text(0.0412), "0.041"),
        (p_text(None), "\N{EN DASH}"),
        (effect_text(-1.234), "\N{MINUS SIGN}1.23"),
        (n_text({"n": 5, "n_base": 1200}), "5 and 1,200"),
        (verdict_text(ROW), "higher"),
        (verdict_text({"verdict": None, "reason": "one trial"}), "one trial"),
        (verdict_text({"verdict": "lower", "reason": "nothing is random"}), "lower: nothing is random"),
        (verdict_text({"verdict": "same", "reason": "no spread over trials"}), "same"),
    ],
)
def test_numbers_are_written_as_people_read_them(text: str, expected: str) -> None:
    assert text == expected


def test_one_pair_of_points_has_one_table_with_a_row_for_each_metric() -> None:
    points = [
        made_results(lambda run: {METRIC: float(run.trial), "utility": 5.0}, {'"small"': f'"{name}"', **ONE})
        for name in ("a", "b")
    ]
    (table,) = difference_tables(View(compare(*points, metrics=[METRIC, "utility"])))
    assert (table.caption, [name for name, _ in table.rows]) == (
        "b against a",
        ["Utility (% of what is possible)", "Utility earned"],
    )


@pytest.mark.parametrize("name", ["setting", "study", "values"])
def test_a_study_may_have_any_name(name: str) -> None:
    found = View(compare(study("my_a", 0), study(name, 1.0, seed=1)))
    assert settings_table(found).columns == ("my_a", name)
    assert settings_table(found).rows[0] == ("seed", (Cell("0"), Cell("1")))


def test_a_page_is_written_with_figures_beside_it(tmp_path: Path) -> None:
    found = compare(study("a", 0), study("b", 1.0), metrics=[METRIC])
    page, *figures = write_comparison(found, tmp_path / "page.html", ["svg"])
    assert [path.name for path in figures] == ["page-differences.svg", "page-distributions.svg", "page-trials.svg"]
    html = page.read_text()
    for text in ("b against a", "What was paired", "met the same worlds", "No setting differs", "data:image/svg+xml"):
        assert text in html
    assert "http://" not in html.partition("<main>")[2].partition("<script")[0]


def test_what_users_wrote_is_escaped(tmp_path: Path) -> None:
    variants = f"\n[[variant]]\nname = '{EVIL}'\n\n[[variant]]\nname = 'b'\nmanager.dropping_threshold = 2\n"
    text = STUDY.replace("[0, 0.5]", "1").replace('name = "small"', 'name = "a"') + variants
    one = made_results(lambda run: {METRIC: float(run.trial)}, text=text, machine=EVIL)
    other = made_results(lambda run: {METRIC: run.trial + run.trial % 2}, text=text.replace('"a"', '"b"'), machine="x")
    page, *_ = write_comparison(compare(one, other, metrics=[METRIC]), tmp_path / "page.html")
    assert EVIL not in page.read_text()


def test_other_endings_other_formats_and_reports_are_refused(tmp_path: Path) -> None:
    found = compare(study("a", 0), study("b", 1.0), metrics=[METRIC])
    with pytest.raises(InputError) as caught:
        write_comparison(found, tmp_path / "page.pdf", ["gif"])
    assert len(caught.value.problems) == 2
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError, match="is the report of a study"):
        write_comparison(found, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "study.json"]
