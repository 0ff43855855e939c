"""The report explains itself, loads nothing and runs nothing that a user wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.present.page import drawable
from joulewise.present.records import TARIFF_UNIT, Records
from joulewise.present.report import draft_of, render_report
from joulewise.present.tables import cost_tables, difference_tables, full_table
from joulewise.present.tasks.findings import day_findings
from joulewise.present.tasks.keys import LOAD, POLICY, THRESHOLD
from joulewise.present.tasks.tables import utility_tables
from joulewise.present.views import reshaped
from tests.strategies.made import TITLES, make_records

EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class _Page(HTMLParser):
    """The elements and texts of a page, scripts apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._in: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in.append(tag)
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._in and tag == self._in[-1]:
            self._in.pop()

    def handle_data(self, data: str) -> None:
        if self._in:
            self.scripts[-1] += data
        else:
            self.text += data

    def of(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)


SMALL: dict[str, list[Any]] = {POLICY: ["random", "max-max-upt"], THRESHOLD: [0.0, 0.5], LOAD: [33000, 50000]}


@pytest.fixture(scope="module")
def html() -> str:
    return render_report(make_records(SMALL))


@pytest.fixture(scope="module")
def evil_html() -> str:
    sweep = {POLICY: [EVIL, "random"], "a.key": ["x" + EVIL, "y"]}
    return render_report(
        make_records(sweep, titles={EVIL: EVIL}, name=EVIL, description=EVIL, source=EVIL, machine=EVIL, file_name=EVIL)
    )


def test_nothing_is_loaded_from_outside(html: str) -> None:
    page = _Page(html)
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ("src", "href", "srcset", "data", "action"):
            value = attributes.get(name) or ""
            assert value == "" or value.startswith(("#", "data:")), (tag, name, value[:80])
    policies = [a["content"] for a in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert [(policy or "").split(";")[0] for policy in policies] == ["default-src 'none'"]
    style = html.split("</style>")[0]
    assert "@import" not in style
    assert "url(" not in style


def test_the_page_says_what_was_studied_and_how_it_was_made(html: str) -> None:
    text = _Page(html).text
    facts = ["made up", "seed 0", "1.2.3", "ab" * 32, "a machine", "1.25 min", "joulewise run study.toml"]
    words = ["Proven bound", "Dropping threshold", "95 % confidence interval", "33,000; 50,000"]
    for part in [*facts, *words]:
        assert part in text, part


def test_figures_have_captions_descriptions_and_specs(html: str) -> None:
    page = _Page(html)
    stills = [a for a in page.of("img") if a.get("class") == "still"]
    assert len(stills) == len(drawable(make_records(SMALL)))
    assert all((a["src"] or "").startswith("data:image/svg+xml;base64,") and a["alt"] for a in stills)
    specs = [s for s, (_, a) in zip(page.scripts, _scripts(page), strict=True) if a.get("class") == "spec"]
    assert len(specs) == len(stills)
    assert all("datasets" in json.loads(spec) for spec in specs)


def _scripts(page: _Page) -> list[tuple[str, dict[str, str | None]]]:
    return [element for element in page.elements if element[0] in ("script", "style")]


def test_tables_have_scoped_headings_and_captions(html: str) -> None:
    page = _Page(html)
    assert all(a.get("scope") in ("row", "col") for a in page.of("th"))
    assert len(list(page.of("table"))) == len(list(page.of("caption")))


def test_what_users_write_is_text(evil_html: str) -> None:
    page = _Page(evil_html)
    assert "window.pwned = 1" in page.text
    assert not any(a.get("src") == "x" or "onerror" in a for a in page.of("img"))
    assert not any(script.strip() == "window.pwned = 1" for script in page.scripts)
    specs = [s for s, (_, a) in zip(page.scripts, _scripts(page), strict=True) if a.get("class") == "spec"]
    assert any("window.pwned" in json.dumps(json.loads(spec)) for spec in specs)


def test_the_same_records_give_the_same_page() -> None:
    first, second = (render_report(make_records({POLICY: ["random", "max-upt"]})) for _ in range(2))
    assert first == second


def test_headline_names_the_best_with_its_interval_and_its_lead() -> None:
    (only,) = day_findings(make_records({POLICY: list(TITLES), THRESHOLD: [0.0, 0.5, 1.5]}))
    assert only.lead.startswith("Max-Max UPT (dropping threshold 1.5) earned the most, 67")
    assert "of the utility if nothing had to wait" in only.lead
    assert "95 % interval" in only.lead
    assert "3 trials" in only.lead
    assert "ahead of the next, Min-Min Comp" in only.support
    assert "At dropping threshold 0 the best was Max-Max UPT with 60" in only.support


def test_a_sweep_says_its_conclusion_once_and_where_it_does_not_hold() -> None:
    records = make_records()
    (same,) = day_findings(records)
    assert same.lead.startswith("Max-Max UPT (dropping threshold 1.5) earned the most at both loads: 54")
    assert "Its smallest lead is" in same.support
    turned = (pl.col(LOAD) == 50000) & (pl.col(POLICY) == "random")
    runs = records.runs.with_columns(utility_percent=pl.when(turned).then(99.0).otherwise(pl.col("utility_percent")))
    conclusion, first, second = day_findings(reshaped(records, runs, records.study.axes))
    assert conclusion.lead == "What earned the most is not the same at all loads: Max-Max UPT at 1, Random at 1."
    assert conclusion.support.startswith("The highest share is that of Random, 99 ± 0")
    assert "Max-Max UPT (dropping threshold 1.5) earned the most at 1 of 2 loads (33,000 tasks/day)" in first.lead
    assert second.lead.startswith("Random")
    assert "at 1 of 2 loads (50,000 tasks/day)" in second.lead


def test_what_is_possible_leads_where_it_is_known() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]})
    known = reshaped(records, _with_possible(records), records.study.axes)
    assert "at least 74.9" in day_findings(known)[0].lead
    assert "of what is possible" in day_findings(known)[0].lead
    assert "% of what is possible" in utility_tables(known)[0].note
    some = _with_possible(records).with_columns(possible_percent=pl.when(pl.col("trial") > 0).then(50.0))
    assert "if nothing had to wait" in day_findings(reshaped(records, some, records.study.axes))[0].lead


def _with_possible(records: Records) -> pl.DataFrame:
    return records.runs.with_columns(possible_percent=100 * pl.col("utility") / pl.col("utility_bound"))


def test_headline_does_not_claim_what_the_trials_cannot_tell() -> None:
    records = make_records({POLICY: ["min-min-comp", "max-max-upt"]})
    noise = pl.when(pl.col(POLICY) == "max-max-upt").then(50.0 * pl.col("trial")).otherwise(0.0)
    runs = records.runs.with_columns(utility_percent=pl.col("utility_percent") + noise)
    unsure = reshaped(records, runs, records.study.axes)
    assert "do not tell it apart from the next, Min-Min Comp" in day_findings(unsure)[0].support
    assert any(cell.kind == "alike" for _, cells in difference_tables(unsure)[0].rows for cell in cells)


def test_headline_of_a_single_point_and_a_single_trial() -> None:
    (only,) = day_findings(make_records({LOAD: [33000]}, n_trials=1))
    assert only.lead.startswith("Max-Max UPT earned 40")
    assert "1 trial, so no interval" in only.lead
    assert only.support == ""


def test_one_trial_is_said_to_have_no_intervals_wherever_a_best_is_named() -> None:
    records = make_records(n_trials=1)
    assert day_findings(records)[0].support.endswith("One trial: no intervals.")
    for table in (*utility_tables(records), *difference_tables(records)):
        assert "; one trial: no intervals" in table.note
    for table in (*utility_tables(make_records()), *difference_tables(make_records())):
        assert "one trial" not in table.note


def test_tables_show_means_half_widths_and_the_best() -> None:
    tables = utility_tables(make_records())
    assert [table.caption for table in tables] == [
        "Utility by dropping threshold, 33,000 tasks/day",
        "Utility by dropping threshold, 50,000 tasks/day",
    ]
    assert tables[0].columns == ("0", "0.5", "1.5")
    heading, cells = tables[0].rows[-1]
    assert heading == "Max-Max UPT"
    assert all("±" in cell.text for cell in cells)
    assert [cell.kind for cell in cells] == ["", "", "best"]  # one for each world, which the load makes
    assert "Bold: the best of each load." in tables[0].note


def test_the_difference_table_marks_the_best_with_zero() -> None:
    (table,) = difference_tables(make_records({POLICY: ["random", "max-max-upt"]}))
    assert [(heading, cells[0].text[0]) for heading, cells in table.rows] == [
        ("Random", "\N{MINUS SIGN}"),
        ("Max-Max UPT", "0"),
    ]


def test_the_full_table_has_every_point_and_metric() -> None:
    table = full_table(make_records())
    assert len(table.rows) == 24
    assert table.columns[:2] == ("Dropping threshold", "Load (tasks/day)")
    assert table.columns[2:] == ("Utility (% of that without waiting)", "Tasks completed", "Energy", "Trials")
    assert "GJ" in table.rows[0][1][4].text


def test_failed_runs_are_announced() -> None:
    page = _Page(render_report(make_records({POLICY: ["random"]}, n_failed=2, traces=False)))
    assert "2 further runs gave no result and are left out" in page.text


def test_a_study_without_results_still_gets_its_page() -> None:
    records = make_records({POLICY: ["random"], THRESHOLD: [0.0, 1.0]}, traces=False)
    tables = {name: getattr(records, name).clear() for name in ("runs", "summary", "differences")}
    nothing = replace(records, **tables)
    text = _Page(render_report(nothing)).text
    assert "No run has a result yet." in text
    assert "0 runs" in text


def test_a_written_report_leaves_the_frames_alone(tmp_path: Path) -> None:
    records = make_records({POLICY: ["random", "max-upt"]}, traces=False)
    before = records.runs.clone()
    path = draft_of(records).write(tmp_path / "results")
    assert path == tmp_path / "results" / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert records.runs.equals(before)


def test_importing_the_room_does_not_import_the_figure_libraries() -> None:
    code = "import sys, joulewise.present; print(sorted({'altair', 'vl_convert', 'jinja2'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_draws_the_page_without_any_request(tmp_path: Path, evil_html: str) -> None:
    from playwright.sync_api import sync_playwright

    path = tmp_path / "report.html"
    path.write_text(evil_html, encoding="utf-8")
    requests: list[str] = []
    troubles: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.as_uri(), timeout=180_000)
        page.wait_for_function("document.querySelectorAll('img.still').length === 0", timeout=180_000)
        n_drawn = page.locator(".plot svg.marks").count()
        pwned = page.evaluate("window.pwned")
        browser.close()
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    assert troubles == []
    assert n_drawn == len([1 for a in _Page(evil_html).of("img") if a.get("class") == "still"])
    assert pwned is None


def test_the_cost_of_energy_has_a_table_where_there_is_a_tariff() -> None:
    records = make_records({POLICY: ["random", "max-upt"]})
    assert cost_tables(records) == []
    runs = records.runs.with_columns(energy_cost=pl.lit(2.5), **{TARIFF_UNIT: pl.lit("EUR")})
    cost = records.summary.filter(pl.col("metric") == "energy_j").with_columns(
        metric=pl.lit("energy_cost"), mean=pl.lit(2.5), low=pl.lit(2.0), high=pl.lit(3.0)
    )
    (table,) = cost_tables(replace(records, runs=runs, summary=pl.concat([records.summary, cost])))
    assert [cell.text for _, (cell,) in table.rows] == ["2.50 ± 0.50", "2.50 ± 0.50"]
    assert "in EUR" in table.note


def test_measured_time_is_told(html: str) -> None:
    assert "depends on measured time" not in html
    assert "depends on measured time" in render_report(
        make_records({POLICY: ["random"]}, traces=False, deterministic=False)
    )


def test_an_interval_of_percentages_ends_where_percentages_do() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]})
    wide = records.summary.with_columns(low=pl.lit(-20.0), high=pl.lit(130.0))
    assert "95 % interval 0.0 to 100.0" in day_findings(replace(records, summary=wide))[0].lead


def test_a_mean_and_its_interval_have_one_unit() -> None:
    records = make_records({POLICY: ["random"]})
    wide = pl.DataFrame(
        {POLICY: ["random"], "metric": ["mean_wait_s"], "mean": [2940.0], "low": [-3180.0], "high": [9060.0], "n": [3]}
    )
    (cells,) = [cells for _, cells in full_table(replace(records, summary=wide)).rows]
    assert cells[0].text == "0.8 ± 1.7\N{NO-BREAK SPACE}h"


def test_the_best_is_named_where_distances_to_it_are_shown() -> None:
    (table,) = difference_tables(make_records({POLICY: ["random", "max-max-upt"]}))
    assert table.note.startswith("To the best, Max-Max UPT,")
