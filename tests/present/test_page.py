"""The page of each kind of study: found by name, alone, and from other packages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from joulewise.errors import InputError
from joulewise.present import page
from joulewise.present.findings import Finding
from joulewise.present.layout import Drawing
from joulewise.present.page import Figure, Need, Page, all_figures, all_pages, drawable, page_of
from joulewise.present.report import draft_of
from joulewise.present.tables import full_table
from tests.strategies.made import make_records

SYSTEMS = {"managed": "tasks", "jobs": "jobs", "front": "bags", "profit": "bags", "pricing": "bags",
           "utility": "assignments", "facility": "facility"}  # fmt: skip


LOADS = """
import sys
for kind in sys.argv[1:]:
    for name in [name for name in sys.modules if name.startswith("joulewise.")]:
        del sys.modules[name]
    from joulewise.present.results import write_report
    from joulewise.present.page import page_of
    page_of(kind)
    print(*(name for name in sys.modules if name.startswith("joulewise.present.")))
"""
"""A line for each kind: the modules of this room that its page loads, all of them anew."""


def _drawn(_records: object) -> Drawing:
    raise AssertionError("nothing is drawn here")


FOREIGN = Page(
    findings=lambda _: [Finding("Tides rise.")],
    figures=(Figure("tides", "Tides", (Need("a moon", lambda records: records.measures("moon")),), _drawn),),
    glossary={"Tide": "Water that comes and goes."},
)
NO_PAGE = "a text"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that bring a page, none, and one that cannot be imported."""
    points = [
        EntryPoint(name, f"{where}", page.ENTRY_POINTS)
        for name, where in (("tides", f"{__name__}:FOREIGN"), ("text", f"{__name__}:NO_PAGE"), ("lost", "nowhere:PAGE"))
    ]
    found: Callable[..., EntryPoints] = EntryPoints(points).select
    monkeypatch.setattr(page, "entry_points", found)


def test_every_kind_has_its_page() -> None:
    pages = all_pages()
    assert set(pages) >= set(SYSTEMS)
    for kind in SYSTEMS:
        assert page_of(kind) is pages[kind]
        assert pages[kind].figures
        assert pages[kind].glossary["Run"]


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_page_loads_no_other_system() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS, *SYSTEMS], capture_output=True, text=True, check=True)
    loaded = [{name.split(".")[2] for name in line.split()} for line in done.stdout.splitlines()]
    found = {kind: names & {*SYSTEMS.values(), "measure"} for kind, names in zip(SYSTEMS, loaded, strict=True)}
    assert found == {kind: {system} for kind, system in SYSTEMS.items()}


def test_a_kind_without_a_page_gets_a_plain_one() -> None:
    records = replace(make_records({"a.key": [1, 2]}), keys={})
    records = replace(records, study=replace(records.study, kind="nobody's"))
    draft = draft_of(records)
    assert draft.plates == ()
    assert draft.values["findings"] == [Finding("6 runs gave results.")]
    assert draft.values["main_tables"] == [full_table(records)]


@pytest.mark.usefixtures("installed")
def test_other_packages_bring_pages_by_entry_points() -> None:
    assert page_of("tides") is FOREIGN
    assert all_pages()["tides"] is FOREIGN
    assert "tides" in {figure.name for figure in all_figures()}
    records = make_records({"a.key": [1, 2]})
    assert drawable(replace(records, study=replace(records.study, kind="tides"))) == []


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("kind", "words"), [("text", "must be a Page"), ("lost", "cannot be loaded")])
def test_a_broken_page_is_named_and_keeps_nobody_else_from_working(kind: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        page_of(kind)
    assert kind not in all_pages()
