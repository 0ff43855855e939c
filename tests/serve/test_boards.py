"""What-if pages of systems say what was solved, for which trial, and nothing that was not."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.strategies.every_kind import made
from tests.strategies.served import served

FEW = ("facility", "front", "profit")


def told(board: str, **query: object) -> Any:
    """What the twin of a page of a study says; the page has the name of its kind."""
    return served(*FEW).get(f"/api/studies/{board}/{board}?{urlencode(query)}").json()


def leads(reply: Any) -> list[str]:
    return [line["lead"] for block in reply["blocks"] if block["type"] == "sentences" for line in block["lines"]]


def tables(reply: Any) -> list[Any]:
    return [block for block in reply["blocks"] if block["type"] == "table"]


def column(table: Any, at: int) -> dict[str, Any]:
    return {row[0]["text"]: row[at]["value"] for row in table["rows"]}


def test_another_method_than_that_of_the_page_is_told_with_what_is_stored() -> None:
    stored = {row["optimise.method"]: row for row in made("facility").runs.iter_rows(named=True)}
    greedy, ours = told("facility", point=0), told("facility", point=1)
    (line,) = [lead for lead in leads(greedy) if lead.startswith("In the study, Greedy")]
    assert f"{stored['greedy']['crr_percent']:.2f} %" in line
    table = tables(greedy)[-1]
    assert table["headings"] == ["What", "In the study: Greedy", "Plan of this page (only trial)", "As asked"]
    assert column(table, 1)["Power (W)"] == stored["greedy"]["total_w"]
    assert tables(ours)[-1]["headings"] == ["What", "In the study (only trial)", "As asked"]
    assert not [lead for lead in leads(ours) if lead.startswith("In the study")]
    assert "the only trial" in ours["lead"]
    assert "the only trial" in leads(ours)[0]


def test_what_is_impossible_has_no_numbers() -> None:
    for board, more in (("profit", {}), ("facility", {"point": 1, "redline": -5, "load": 200})):
        reply = told(board, **{**more, "cap": least_cap(board)})
        assert leads(reply)[0].startswith("No "), leads(reply)
        assert [block["type"] for block in reply["blocks"]] == ["sentences", "table"]
        (table,) = tables(reply)
        assert table["headings"] == ["What", "In the study (only trial)"]


def least_cap(board: str) -> float:
    (cap,) = [wish for wish in told(board)["wishes"] if wish["key"] == "cap"]
    assert cap["low"] > 0
    return float(cap["low"])


def test_a_bag_that_is_better_not_run_is_not_contradicted() -> None:
    price = next(wish for wish in told("profit", point=1)["wishes"] if wish["key"] == "price")
    reply = told("profit", point=1, price=price["low"])
    (table, *_) = tables(reply)
    assert "better not to run" in str(reply["blocks"])
    assert "(the bag is not run); a schedule that runs it would earn at most -" in leads(reply)[0]
    assert column(table, 2)["Profit per second"] == 0
    assert column(table, 2)["Proven bound on it"] is None
    assert column(table, 2)["Proven bound on running it"] < 0
    assert column(table, 2)["Energy"] is None
