"""`joulewise reproduce`: published experiments listed, run again, and judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joulewise.cli import reproduce as verb
from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.measure.analysis.published import CHAPTER_8
from joulewise.study.catalogue import EXPERIMENTS, ILLUSTRATIONS
from tests.strategies.calling import call

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_experiment_is_listed_with_its_claims(capsys: Capture) -> None:
    rows = json.loads(call(capsys, "reproduce", "--json").out)
    assert [row["id"] for row in rows] == [ILLUSTRATIONS.id, *EXPERIMENTS, CHAPTER_8.id]
    assert all(row["title"] and row["source"] for row in rows)
    assert [row["id"] for row in rows if not row["claims"]] == [ILLUSTRATIONS.id]
    said = call(capsys, "reproduce", "chapter-9")
    assert said.code == 2
    assert "chapter-8" in said.err


def test_printed_tables_are_judged_without_running_anything(capsys: Capture) -> None:
    said = call(capsys, "reproduce", "chapter-8")
    assert said.code == 0
    assert "Findings: results/reproduce/chapter-8/findings.md" in said.out
    found = json.loads(call(capsys, "reproduce", "chapter-8", "--json").out)
    assert {finding["claim"]: finding["verdict"] for finding in found["findings"]} == dict.fromkeys(
        (f"8.{i}" for i in range(1, 9)), "not testable"
    )
    assert "| 8.7 |" in Path("results/reproduce/chapter-8/findings.md").read_text()
    assert "nothing of chapter-8 is run here" in call(capsys, "reproduce", "chapter-8", "--trials", 3).err


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_illustrations_are_drawn_without_running_anything(capsys: Capture) -> None:
    found = json.loads(call(capsys, "reproduce", "illustrations", "--json").out)
    assert [figure["figure"] for figure in found["figures"]] == [
        "fig-2.1", "fig-2.2", "fig-2.3", "fig-2.4", "fig-f.1", "fig-f.2", "fig-f.3",
    ]  # fmt: skip
    folder = Path(found["folder"])
    for figure in found["figures"]:
        assert (folder / "figures" / f"{figure['figure']}.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in folder.iterdir()} == {"figures"}
    said = call(capsys, "reproduce", "illustrations")
    assert "results/reproduce/illustrations/figures" in said.out
    assert "nothing of illustrations is run here" in call(capsys, "reproduce", "illustrations", "--trials", 3).err


def test_a_page_is_written_from_what_was_found(capsys: Capture, tmp_path: Path) -> None:
    call(capsys, "reproduce", "chapter-8")
    page = tmp_path / "page.md"
    page.write_text("<!-- findings chapter-8 -->\n<!-- end -->\n<!-- findings fig-2.5 -->\nearlier\n<!-- end -->\n")
    said = call(capsys, "reproduce", "--page", page)
    assert said.code == 0
    assert "fig-2.5" in said.err
    assert "| 8.7 |" in page.read_text()
    assert "earlier" in page.read_text()
    assert "Traceback" not in call(capsys, "reproduce", "--page", tmp_path / "none.md").err


def test_a_page_keeps_what_was_found_once(capsys: Capture, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- findings chapter-8 -->\n<!-- end -->\n<!-- findings totals -->\n<!-- end -->\n")
    assert call(capsys, "reproduce", "chapter-8", "--page", page, "--out", tmp_path / "elsewhere").code == 0
    assert (tmp_path / "findings" / "chapter-8.json").is_file()
    written = page.read_text()
    assert "| Friese | worst |" in written
    said = call(capsys, "reproduce", "--page", page)
    assert "0 new of 1 experiments" in said.out
    assert page.read_text() == written


def test_a_gpu_is_for_fronts_of_utility(capsys: Capture) -> None:
    said = call(capsys, "reproduce", "fig-2.5", "--gpu")
    assert said.code == 2
    assert "fig-5.4" in said.err
    assert EXPERIMENTS["fig-5.4"].study(on_gpu=True).points[0].decision.parameters.engine == "gpu"
    assert EXPERIMENTS["fig-5.4"].study().points[0].decision.parameters.engine == "auto"


def test_a_page_without_a_place_is_refused_before_anything_is_run(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("No places.\n")
    said = call(capsys, "reproduce", "k-best", "--page", tmp_path / "page.md", "--out", tmp_path / "out")
    assert said.code == 2
    assert "has no part for k-best" in said.err
    assert not (tmp_path / "out").exists()


def test_what_is_for_runs_needs_something_to_run(capsys: Capture) -> None:
    for option in (["--smoke"], ["--trials", 3], ["--gpu"]):
        said = call(capsys, "reproduce", *option)
        assert said.code == 2
        assert "with an ID or --all" in said.err


@pytest.mark.parametrize("more", [["--all"], ["--rule"], ["--smoke", "--trials", 3]])
def test_what_excludes_each_other_is_refused(capsys: Capture, more: list[object]) -> None:
    said = call(capsys, "reproduce", "chapter-8", *more)
    assert said.code == 2
    assert "one of them at a time" in said.err
    assert not Path("results").exists()


def test_all_goes_through_every_entry_and_names_those_that_failed(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out = list[str]()

    def carry_out(entry: verb.CatalogueEntry, extent: verb.Extent, folder: Path) -> bool:
        assert extent.is_smoke
        assert folder == Path("smoke") / entry.id
        carried_out.append(entry.id)
        return entry.id not in ("k-best", "tarplee-idle")

    monkeypatch.setattr(verb, "_carry_out", carry_out)
    said = call(capsys, "reproduce", "--all", "--smoke", "--out", "smoke")
    assert carried_out == [ILLUSTRATIONS.id, *EXPERIMENTS, CHAPTER_8.id]
    assert said.code == SOME_RUNS_FAILED
    assert "Runs failed in k-best, tarplee-idle." in said.err


OF_MANY_TRIALS = {"profit-gap"}


@pytest.mark.thorough("every experiment of the catalogue, for minutes")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs(capsys: Capture, name: str) -> None:
    found = json.loads(call(capsys, "reproduce", name, "--smoke", "--json").out)
    assert {finding["verdict"] for finding in found["findings"]} <= {"not judged", "not testable", "shown"}
    folder = Path(found["folder"])
    assert (folder / "report.html").is_file()
    drawn = [path.stem for path in folder.glob("figures/*")]
    assert drawn == [figure for figure in [EXPERIMENTS[name].figure] if figure not in OF_MANY_TRIALS]
