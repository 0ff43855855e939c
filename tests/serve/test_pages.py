"""Pages say what the command line says, and their twins say the same."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.present.comparison.page import draft_of_comparison
from joulewise.present.results import findings_of, records_of
from joulewise.serve import house
from joulewise.study import compare
from tests.strategies.asgi import Client
from tests.strategies.every_kind import TEXTS, made
from tests.strategies.served import client_of, served, shelved

EVERY = tuple(TEXTS)
FEW = ("profit", "facility")


def words(html: str) -> str:
    """What a page says, without its elements."""
    return " ".join(unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def blocks(reply: Any, kind: str) -> list[dict[str, Any]]:
    return [block for block in reply["blocks"] if block["type"] == kind]


def settled(client: Client) -> dict[str, Any]:
    """The list, once every headline is read."""
    for subject in client.app.state.bench.shelf.subjects():
        if subject.headline is None:
            subject.read_headline()
    found: dict[str, Any] = client.get("/api/studies").json()
    return found


def test_the_list_has_status_and_headline() -> None:
    client = served(*FEW)
    reply = settled(client)
    assert not reply["unsettled"]
    (table,) = blocks(reply, "table")
    assert [[cell["text"] for cell in row[:2]] for row in table["rows"]] == [
        ["facility", "finished"],
        ["profit", "finished"],
    ]
    names = [row[0]["value"] for row in table["rows"]]
    assert [row[3]["text"] for row in table["rows"]] == [findings_of(made(name))[0].lead for name in names]
    assert " ".join(table["rows"][0][3]["text"].split()) in words(client.get("/").text)


def test_the_list_is_searched() -> None:
    client = served(*FEW)
    settled(client)
    assert len(blocks(client.get("/api/studies?q=facility").json(), "table")[0]["rows"]) == 1
    assert blocks(client.get("/api/studies?q=nothing+like+it").json(), "table") == []
    assert blocks(client.get("/api/studies?status=running").json(), "table") == []


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    assert "joulewise run STUDY.toml" in client_of(tmp_path).get("/").text


def test_headlines_are_read_beside_the_page() -> None:
    client = client_of(shelved("profit"))
    first = client.get("/api/studies").json()
    client.app.state.bench._readers.shutdown()
    told = client.get("/api/studies").json()
    assert first["unsettled"] in (True, False)
    assert not told["unsettled"]


@pytest.mark.thorough("draws many figures")
@pytest.mark.parametrize("name", EVERY)
def test_a_study_says_what_its_report_says(name: str) -> None:
    client, results = served(*EVERY), made(name)
    reply = client.get(f"/api/studies/{name}").json()
    sentences = blocks(reply, "sentences")[0]
    assert [line["lead"] for line in sentences["lines"]] == [each.lead for each in findings_of(results)]
    page = client.get(f"/studies/{name}")
    assert page.status == 200
    text = words(page.text)
    for line in sentences["lines"]:
        assert " ".join(line["lead"].split()) in text
    for table in blocks(reply, "table"):
        assert table["caption"] in text
    assert [block["name"] for block in blocks(reply, "plot")] == re.findall(r'<figure id="figure-([^"]+)"', page.text)


def test_downloads_are_the_files_themselves() -> None:
    client, results = served(*FEW), made("profit")
    base = "/studies/profit/files"
    assert client.get(f"{base}/study.toml").text == results.study.source
    parquet = pl.read_parquet(io.BytesIO(client.get(f"{base}/runs.parquet").content))
    assert parquet.equals(results.runs, null_equal=True)
    csv = pl.read_csv(io.BytesIO(client.get(f"{base}/runs.csv").content))
    assert csv["profit_per_s"].to_list() == results.runs["profit_per_s"].to_list()
    assert client.get(f"{base}/report.html").text.startswith("<!doctype html>")
    assert client.get(f"{base}/nothing.txt").status == 404


def test_figures_are_pictures() -> None:
    client = served(*FEW)
    (plot, *_) = blocks(client.get("/api/studies/facility").json(), "plot")
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        reply = client.get(f"/studies/facility/figures/{plot['name']}.{kind}")
        assert reply.content.startswith(start)
        assert "attachment" in reply.headers["content-disposition"]
    for name in ("nothing.svg", f"{plot['name']}.pdf", plot["name"]):
        assert client.get(f"/studies/facility/figures/{name}").status == 404


def test_two_studies_are_compared_as_the_command_does(tmp_path: Path) -> None:
    import shutil

    for name in ("one", "two"):
        shutil.copytree(made("profit").folder, tmp_path / name)
    client = client_of(tmp_path)
    reply = client.get("/api/compare?a=one&b=two").json()
    told = draft_of_comparison(compare(tmp_path / "one", tmp_path / "two")).values["findings"]
    leads = [line["lead"] for line in blocks(reply, "sentences")[0]["lines"]]
    assert leads == [each.lead for each in told]  # type: ignore[attr-defined]
    assert "Choose two studies" in client.get("/compare").text
    assert client.get("/compare?a=one&b=three").status == 422


@pytest.mark.parametrize("name", EVERY)
def test_every_board_of_every_kind_answers(name: str) -> None:
    client = served(*EVERY)
    subject = client.app.state.bench.shelf.subject(name)
    boards = house.boards_of(subject)
    assert "what-if" in [board.name for board in boards]
    for board in boards:
        page, twin = (client.get(f"{at}/studies/{name}/{board.name}") for at in ("", "/api"))
        assert (page.status, twin.status) == (200, 200), page.text
        text = words(page.text)
        for block in blocks(twin.json(), "sentences"):
            assert all(" ".join(line["lead"].split()) in text for line in block["lines"])
        assert client.get(f"/api/studies/{name}/{board.name}?nothing=1").status == 422


@pytest.mark.parametrize("name", [name for name in EVERY if name != "log"])
def test_a_point_solved_again_is_as_it_was_stored(name: str) -> None:
    client, results = served(*EVERY), made(name)
    reply = client.get(f"/api/studies/{name}/what-if").json()
    (table,) = blocks(reply, "table")
    kind = results.study.kind
    point = results.study.points[0].cells()
    row = next(
        row
        for row in results.runs.filter(trial=0).iter_rows(named=True)
        if all(row[axis] == point[axis] for axis in results.study.axes)
    )
    stored = [row[c.name] for c in kind.columns if c.name in row and c.table == "runs" and not c.is_measured]
    wanted = [value for value in stored if isinstance(value, float)]
    found = [cells[1]["value"] for cells in table["rows"] if isinstance(cells[1]["value"], float)]
    assert found == pytest.approx(wanted, rel=1e-9)
    assert all(cells[1]["value"] == cells[2]["value"] for cells in table["rows"])


def test_a_setting_that_is_moved_is_solved_again() -> None:
    client = served(*FEW)
    wishes = client.get("/api/studies/profit/what-if").json()["wishes"]
    moved = next(wish for wish in wishes if wish["key"] == "optimise.profit_ratio")
    reply = client.get(f"/api/studies/profit/what-if?optimise.profit_ratio={moved['high']}").json()
    (sentence,) = blocks(reply, "sentences")[0]["lines"]
    assert "goes from" in sentence["lead"]
    assert "profit ratio up from" in sentence["support"]


def test_records_are_those_of_the_report() -> None:
    subject = served(*FEW).app.state.bench.shelf.subject("profit")
    assert subject.records.runs.equals(records_of(made("profit")).runs, null_equal=True)
