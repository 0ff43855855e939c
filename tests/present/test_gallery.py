"""Figures are chosen by name, those that show nothing are left out, and any metric runs over any swept number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.present.blank import is_blank
from joulewise.present.export import spec_of
from joulewise.present.gallery import MOST_OPEN, check_names, described, figures_of, hung
from joulewise.present.kept import current_report
from joulewise.present.layout import Drawing
from joulewise.present.page import all_pages, page_of
from joulewise.present.records import Records
from joulewise.present.report import draft_of
from joulewise.present.results import write_figures, write_report
from joulewise.present.sweeps import Sweep, draw_sweep
from joulewise.present.tasks.keys import LOAD, POLICY, THRESHOLD
from joulewise.study import Study, parse_study
from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.running.planning import plan
from joulewise.study.spec.report import Shown
from tests.strategies.calling import call
from tests.strategies.every_kind import TEXTS, results_of
from tests.strategies.made import make_records
from tests.strategies.made_bags import front_records, pricing_records, profit_records
from tests.strategies.made_facilities import facility_records
from tests.strategies.made_fronts import utility_records
from tests.strategies.made_jobs import job_records
from tests.strategies.vega import is_vega_lite

Capture = pytest.CaptureFixture[str]
HOSTILE = "</script><img src=x onerror=alert(1)>/../"
LOADS: dict[str, list[Any]] = {POLICY: ["random", "max-max-upt"], LOAD: [33000, 40000, 50000]}


def study_of(name: str, more: str = "") -> Study:
    return parse_study(TEXTS[name] + more, "study.toml", Path())


# --- names -------------------------------------------------------------------------------------------------------


def test_every_figure_has_a_name_that_can_be_a_file_and_a_line_that_says_what_it_shows() -> None:
    figures = described()
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.name.replace("-", "").isalnum()
        assert 10 < len(figure.shows) < 120
        assert figure.studies


def test_names_stay_the_same() -> None:
    """Study files have them: one that changes here breaks those of users."""
    names = {kind: [figure.name for figure in page.figures][:2] for kind, page in all_pages().items()}
    assert {kind: names[kind] for kind in ("managed", "jobs", "front", "profit", "pricing", "utility", "facility")} == {
        "managed": ["utility-by-policy", "gain-by-number"],
        "jobs": ["utility-by-scheduler", "scheduler-differences"],
        "front": ["front", "front-by-generations"],
        "profit": ["profit-on-front", "profit-gap"],
        "pricing": ["profit-by-price"],
        "utility": ["utility-front", "fronts-by-seeds"],
        "facility": ["rates-by-technique", "rates-by-number"],
    }


@pytest.mark.parametrize("name", TEXTS)
def test_a_study_of_any_kind_may_name_its_figures_and_no_others(name: str) -> None:
    study = study_of(name)
    figures = [figure.name for figure in page_of(study.kind.name).figures]
    check_names(study, figures, "figures")
    with pytest.raises(InputError, match=f"did you mean '{figures[0]}'") as error:
        check_names(study, [figures[0] + "s", figures[-1]], "figures")
    assert len(error.value.problems) == 1


def test_a_metric_and_a_swept_key_name_a_figure() -> None:
    study = parse_study(TEXTS["managed"].replace("dropping_threshold = 0.5", "dropping_threshold = [0, 1]"), "", Path())
    check_names(study, ["energy_j-by-manager.dropping_threshold", "priority_percent:low-by-" + THRESHOLD], "figures")
    for wrong in ("energy-by-" + THRESHOLD, "energy_j-by-manager.policy", "energy_j-by-" + LOAD):
        with pytest.raises(InputError, match=r"METRIC-by-manager\.dropping_threshold"):
            check_names(study, [wrong], "figures")


# --- the section of a study --------------------------------------------------------------------------------------


def test_what_a_report_shows_is_no_part_of_any_run() -> None:
    plain, picky = (study_of("managed", more) for more in ("", '[report]\nfigures = ["fates"]\n'))
    assert picky.shown.figures == ("fates",)
    assert [run.key for run in plan(plain)] == [run.key for run in plan(picky)]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("report = 3", "must be a section"),
        ('[report]\nfigures = "fates"', "must be a list"),
        ('[report]\nfigure = ["fates"]', "report.figure"),
        ("[report]\nfigures = [1]", "must be text"),
    ],
)
def test_a_wrong_section_is_told_with_its_place(section: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_study(section + "\n" + TEXTS["managed"] if "[" not in section else TEXTS["managed"] + section, "", Path())


def test_check_and_run_refuse_a_name_before_anything_is_run(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "study.toml"
    path.write_text(TEXTS["managed"] + '[report]\nfigures = ["fate"]\n')
    for verb in ("check", "run"):
        told = call(capsys, verb, path).err
        assert "study.toml: report.figures: found 'fate'" in told
        assert "did you mean 'fates'?" in told
    assert not (tmp_path / "results").exists()


# --- choosing ----------------------------------------------------------------------------------------------------


KINDS: dict[str, Callable[[], Records]] = {
    "managed": make_records,
    "jobs": lambda: job_records(n_jobs=40),
    "front": front_records,
    "profit": profit_records,
    "pricing": lambda: pricing_records(per_day=[40]),
    "utility": utility_records,
    "facility": lambda: facility_records(n_trials=1),
}


def test_every_kind_is_tried() -> None:
    assert set(KINDS) == {kind for kinds in BUILT_IN.values() for kind in kinds}


@pytest.mark.thorough("draws many figures")
@pytest.mark.parametrize("kind", KINDS)
def test_of_any_kind_chosen_figures_are_drawn_in_their_order_and_others_told(kind: str) -> None:
    records = KINDS[kind]()
    every = {figure.name: drawing for figure, drawing in hung(records, figures_of(records))}
    there = [name for name, drawing in every.items() if isinstance(drawing, Drawing)][::-1][:2]
    lacking = [figure.name for figure in page_of(records.study.kind).figures if not figure.is_drawable(records)][:1]
    draft = draft_of(records, [*there, *lacking])
    assert [plate.name for plate in draft.plates] == there
    assert len(draft.values["left_out"]) == len(lacking)  # type: ignore[arg-type]
    assert all("it needs" in text for text in draft.values["left_out"])  # type: ignore[attr-defined]


def test_a_report_and_its_files_have_the_figures_that_are_named(tmp_path: Path, capsys: Capture) -> None:
    results = results_of("managed", tmp_path / "results")
    call(capsys, "report", results.folder, "--figure", "fates", "--format", "svg")
    page = (results.folder / "report.html").read_text()
    assert 'id="figure-fates"' in page
    assert 'id="figure-task-gantt"' not in page
    assert [path.name for path in (results.folder / "figures").iterdir()] == ["fates.svg"]
    assert current_report(results) is None  # the study asks for all
    assert "did you mean 'fates'?" in call(capsys, "report", results.folder, "--figure", "fats").err
    assert current_report(replace(results, study=replace(results.study, shown=Shown(("fates",))))) is not None
    with pytest.raises(InputError, match="did you mean 'fates'"):
        write_report(results, ["fats"])
    with pytest.raises(InputError, match="did you mean 'fates'"):
        write_figures(results, names=["fats"])


def test_list_and_explain_tell_of_figures(capsys: Capture) -> None:
    shown = call(capsys, "list", "figures").out
    assert "METRIC-by-KEY" in shown
    assert "What became of the arrived tasks" in call(capsys, "explain", "fates").out


# --- figures that show nothing -----------------------------------------------------------------------------------


def test_a_figure_in_which_nothing_differs_is_left_out_with_a_word() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]}, traces=False)
    flat = pl.lit(7.0)
    runs = records.runs.with_columns(utility_percent=flat)
    summary = records.summary.with_columns(pl.col("mean", "low", "high").clip(7.0, 7.0))
    alike = replace(records, runs=runs, summary=summary)
    draft = draft_of(alike)
    assert "utility-by-policy" not in {plate.name for plate in draft.plates}
    assert "Utility by policy: nothing in it differs." in draft.values["left_out"]  # type: ignore[operator]


def _chart(mark: str, rows: list[dict[str, Any]], **channels: str) -> dict[str, Any]:
    encoding = {name: {"field": field, "type": "quantitative"} for name, field in channels.items()}
    return {"datasets": {"d": rows}, "layer": [{"mark": mark, "encoding": encoding, "data": {"name": "d"}}]}


ROWS = [{"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 3.0}]


@pytest.mark.parametrize(
    ("spec", "blank"),
    [
        ({"layer": []}, True),
        (_chart("bar", [], y="a"), True),
        (_chart("bar", ROWS[:1], y="b"), True),
        (_chart("bar", ROWS, y="a"), True),
        (_chart("bar", ROWS, y="b"), False),
        (_chart("bar", [{"a": 0.1 + 0.2}, {"a": 0.3}], y="a"), True),  # but for rounding
        (_chart("bar", ROWS[:1], x="a", x2="b"), False),  # a span, as in a Gantt chart
        (_chart("line", ROWS, x="b", y="a"), True),
        (_chart("point", ROWS, x="b", y="a"), False),
        (_chart("text", ROWS, y="b"), True),
        (_chart("rule", ROWS, y="b"), True),
        (_chart("rule", ROWS[:1], y="a", y2="b"), False),  # an interval
        (_chart("arc", ROWS, theta="b"), False),  # a mark that we do not use
    ],
)
def test_what_differs_is_found_in_any_mark(spec: dict[str, Any], blank: bool) -> None:
    assert is_blank(spec) is blank


@given(st.lists(st.integers(-1000, 1000) | st.none(), max_size=6))
def test_bars_are_blank_if_and_only_if_their_values_are_one(values: list[int | None]) -> None:
    spec = _chart("bar", [{"a": value} for value in values], y="a")
    assert is_blank(spec) is (len({value for value in values if value is not None}) < 2)


# --- a metric over a number --------------------------------------------------------------------------------------


def _lines(drawing: Drawing) -> Iterator[dict[str, Any]]:
    for rows in spec_of(drawing.chart)["datasets"].values():
        yield from (row for row in rows if "low" in row)


def test_any_metric_is_drawn_over_a_swept_number_with_its_intervals() -> None:
    records = make_records(LOADS)
    drawing = draw_sweep(records, Sweep("energy_j", LOAD))
    assert is_vega_lite(spec_of(drawing.chart))
    points = {(row["name"], row["x"]): row for row in _lines(drawing)}
    assert set(points) == {(name, load) for name in ("Random", "Max-Max UPT") for load in LOADS[LOAD]}
    means = records.means("energy_j", [POLICY, LOAD]).filter(pl.col(POLICY) == "random")
    for row in means.iter_rows(named=True):
        point = points["Random", row[LOAD]]
        assert [point[end] for end in ("y", "low", "high")] == pytest.approx(
            [row[end] / 1e9 for end in ("mean", "low", "high")]
        )


def test_the_headline_runs_over_each_number_that_has_enough_values() -> None:
    records = make_records({**LOADS, THRESHOLD: [0.0, 0.5]})
    assert figures_of(records)[-1].name == f"utility_percent-by-{LOAD}"
    assert f"utility_percent-by-{THRESHOLD}" not in {figure.name for figure in figures_of(records)}


def test_many_settings_are_averaged_over_trial_by_trial() -> None:
    records = make_records({POLICY: ["random"], LOAD: [1, 2, 3], THRESHOLD: [i / 10 for i in range(9)]}, traces=False)
    drawing = draw_sweep(records, Sweep("utility", THRESHOLD))
    (first, *_) = sorted(_lines(drawing), key=lambda row: row["x"])
    there = records.runs.filter(pl.col(THRESHOLD) == 0)
    assert {row["name"] for row in _lines(drawing)} <= {"1", "2", "3", "all runs"}
    assert first["low"] < first["y"] < first["high"]
    assert there.height == 9


def test_a_metric_that_is_not_there_and_a_key_of_words_are_told() -> None:
    records = make_records(LOADS, traces=False)
    told = [why for _, why in hung(records, figures_of(records, [f"nothing-by-{LOAD}", f"utility-by-{POLICY}"]))]
    assert told == ["it needs values of nothing", f"it needs several numbers of {POLICY}"]


# --- the page ----------------------------------------------------------------------------------------------------


def test_figures_beyond_a_dozen_are_behind_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.present.report.MOST_OPEN", 2)
    monkeypatch.setattr("joulewise.present.report.picture_of", lambda _: "")
    records = make_records(LOADS, traces=False)
    draft = draft_of(records)
    assert [plate.folded for plate in draft.plates] == [i >= 2 for i in range(len(draft.plates))]
    page = draft.html()
    fold = page.index("<details>")
    assert page.index(f'id="figure-{draft.plates[1].name}"') < fold < page.index(f'id="figure-{draft.plates[2].name}"')
    assert f"{len(draft.plates) - 2} more: {draft.plates[2].title}" in page
    assert MOST_OPEN == 12
    assert not any(plate.folded for plate in draft_of(records, [plate.name for plate in draft.plates]).plates)


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_levels_are_text_on_the_page_and_no_path(tmp_path: Path) -> None:
    records = _with_level(make_records(LOADS, traces=False), f"priority_percent:{HOSTILE}")
    name = f"priority_percent:{HOSTILE}-by-{LOAD}"
    draft = draft_of(records, [name, f"priority_percent:{HOSTILE}?-by-{LOAD}"])
    assert [plate.name for plate in draft.plates] == [name]
    tags = _Tags(draft.html()).found
    assert not any("onerror" in attributes for _, attributes in tags)
    assert any(attributes.get("id") == f"figure-{name}" for _, attributes in tags)
    (figure,) = figures_of(records, [name])
    assert (tmp_path / figure.file_name).parent == tmp_path


def test_titles_of_what_is_folded_or_left_out_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.present.report.picture_of", lambda _: "")
    draft = draft_of(make_records({POLICY: ["random", "max-upt"]}, traces=False))
    plates = tuple(replace(plate, title=HOSTILE, folded=True) for plate in draft.plates)
    page = replace(draft, plates=plates, values={**draft.values, "left_out": [HOSTILE]}).html()
    assert not any("onerror" in attributes for _, attributes in _Tags(page).found)
    assert "Left out: &lt;/script&gt;" in page


def _with_level(records: Records, metric: str) -> Records:
    return replace(records, runs=records.runs.with_columns(pl.col("utility").alias(metric)))
