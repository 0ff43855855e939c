"""The pages of studies and runs, their JSON twins, and what they refuse."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from joulewise.serve.asking import MOST_TEXT_BYTES
from joulewise.serve.bench import Bench
from joulewise.serve.run.orders import Order, State
from joulewise.serve.run.routes import _events
from joulewise.serve.run.texts import mark_of
from tests.strategies.asgi import Client, Reply
from tests.strategies.served import client_of
from tests.strategies.small import QUICKLY, TEXT

STUDY = QUICKLY + TEXT
WRONG = STUDY.replace("max-max-upt", "max-max-upd")
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A workbench over a folder with one study; nobody looks after its runs but the test."""
    (tmp_path / "small.toml").write_text(STUDY)
    made = client_of(tmp_path)
    yield made
    bench_of(made).close()


def bench_of(client: Client) -> Bench:
    bench: Bench = client.app.state.bench
    return bench


def form(client: Client, address: str, **values: str) -> Reply:
    """Send a form, as a page does without scripts."""
    return client.post(address, urlencode(values), content_type=FORM)


def tell(client: Client, address: str, body: object = b"") -> Reply:
    """Send JSON, as a program does."""
    return client.post(address, body, content_type="application/json")


def sent_to(reply: Reply) -> str:
    assert reply.status == 303, reply.text
    return reply.headers["location"]


def mark_in(reply: Reply) -> str:
    found = re.search(r'name="mark" value="(\w+)"', reply.text)
    assert found is not None
    return found[1]


def test_the_list_leads_to_the_editor(client: Client) -> None:
    page, twin = client.get("/run"), client.get("/api/run").json()
    assert '<a href="/run/edit?study=small.toml">small.toml</a>' in page.text
    assert twin["blocks"][-1]["rows"] == [
        [{"text": "small.toml", "value": "small.toml", "href": "/run/edit?study=small.toml", "kind": ""}]
    ]
    assert twin["unsettled"] is False


def test_a_new_study_is_made_and_edited(client: Client, tmp_path: Path) -> None:
    assert "Template: managed" in client.get("/run/new").text
    assert 'value="copy:small.toml" selected' in client.get("/run/new?study=small.toml").text
    address = sent_to(form(client, "/run/new", name="mine", start="example:first"))
    assert address == "/run/edit?study=mine.toml"
    assert 'name = "mine"' in unescape(client.get(address).text)
    again = form(client, "/run/new", name="mine", start="example:first")
    assert again.status == 422
    assert "overwrites nothing" in again.text
    assert 'value="mine"' in again.text
    made = tell(client, "/api/run/studies", {"name": "other", "start": "kind:jobs"})
    assert (made.status, made.json()["study"]) == (201, "other.toml")
    assert (tmp_path / "other.toml").is_file()


def test_the_editor_has_the_text_and_what_is_said_of_it(client: Client, tmp_path: Path) -> None:
    page = client.get("/run/edit?study=small.toml")
    assert "Nothing wrong" in page.text
    assert "8 (4 points x 2 trials)" in page.text
    (tmp_path / "small.toml").write_text(WRONG + "# <script>alert(1)</script>")
    page, twin = client.get("/run/edit?study=small.toml"), client.get("/api/run/edit?study=small.toml").json()
    assert "<script>alert" not in page.text
    assert re.search(r'data-line="\d+">Line \d+</button>', page.text)
    assert twin["blocks"][0]["pairs"][0] == ["Verdict", "1 problem"]


def test_texts_are_checked_completed_and_saved_as_one_types(client: Client, tmp_path: Path) -> None:
    found = tell(client, "/api/run/check", {"study": "small.toml", "text": WRONG}).json()
    assert (found["is_right"], found["verdict"]) == (False, "1 problem")
    assert found["messages"][0]["line"] == 1 + WRONG.partition("policy")[0].count("\n")
    assert "did you mean" in found["messages"][0]["text"]
    offers = tell(client, "/api/run/complete", {"text": "se", "line": 1, "column": 2}).json()
    assert [offer["text"] for offer in offers["offers"]] == ["seed = "]
    mark = mark_in(client.get("/run/edit?study=small.toml"))
    saved = tell(client, "/api/run/save", {"study": "small.toml", "text": WRONG, "mark": mark})
    assert saved.status == 200
    assert (tmp_path / "small.toml").read_text() == WRONG
    lost = tell(client, "/api/run/save", {"study": "small.toml", "text": STUDY, "mark": mark})
    assert lost.status == 422
    assert "changed by somebody else" in lost.text


def test_without_scripts_what_was_typed_is_not_lost(client: Client, tmp_path: Path) -> None:
    mark = mark_in(client.get("/run/edit?study=small.toml"))
    typed = {"study": "small.toml", "mark": mark, "text": WRONG.replace("\n", "\r\n")}
    checked = form(client, "/run/edit", do="check", **typed)
    assert checked.status == 200
    assert "1 problem" in checked.text
    assert (tmp_path / "small.toml").read_text() == STUDY
    refused = form(client, "/run/edit", do="run", **typed)
    assert refused.status == 422
    assert "max-max-upd" in refused.text
    assert (tmp_path / "small.toml").read_text() == WRONG
    again = form(client, "/run/edit", do="save", **{**typed, "text": STUDY})  # the mark is an old one by now
    assert again.status == 422
    assert "changed by somebody else" in again.text
    typed["mark"] = mark_in(client.get("/run/edit?study=small.toml"))
    assert sent_to(form(client, "/run/edit", do="save", **{**typed, "text": STUDY})) == "/run/edit?study=small.toml"


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_text_as_long_as_one_may_be_gets_in_however_it_is_written(client: Client, tmp_path: Path) -> None:
    text = f"{STUDY}#" + "é" * ((MOST_TEXT_BYTES - len(STUDY)) // 2)
    text += "#" * (MOST_TEXT_BYTES - len(text.encode()))
    typed = {"study": "small.toml", "text": text.replace("\n", "\r\n")}
    mark = mark_in(client.get("/run/edit?study=small.toml"))
    assert form(client, "/run/edit", do="save", mark=mark, **typed).status == 303
    assert (tmp_path / "small.toml").stat().st_size == MOST_TEXT_BYTES
    longer = text + "#"
    for reply in (
        form(client, "/run/edit", do="check", study="small.toml", text=longer),
        tell(client, "/api/run/check", {"study": "small.toml", "text": longer}),
        tell(client, "/api/run/save", {"study": "small.toml", "text": longer, "mark": mark_of(text)}),
    ):
        assert reply.status == 422
        assert "a study text may have 1,000,000 at most" in reply.text


def test_texts_that_are_none_are_told_in_words(client: Client) -> None:
    body = b'{"study": "small.toml", "text": "\\ud800", "mark": ""}'
    for address in ("/api/run/check", "/api/run/save"):
        assert tell(client, address, body).status == 422
    assert form(client, "/run/edit", **{f"x{number}": "" for number in range(11)}).status == 422


def test_a_run_is_ordered_followed_cancelled_resumed_and_forgotten(client: Client) -> None:
    mark = mark_in(client.get("/run/edit?study=small.toml"))
    address = sent_to(form(client, "/run/edit", do="run", study="small.toml", mark=mark, text=STUDY))
    assert address == "/run/orders/1"
    assert "data-open" in client.get(address).text
    assert client.get("/api/run").json()["unsettled"] is True
    assert client.get(f"/api{address}").json()["run"]["state"] == "waiting"
    twice = tell(client, "/api/run/orders", {"study": "small.toml"})
    assert twice.status == 422
    assert "is being made by run 1" in twice.text

    assert sent_to(form(client, f"{address}/cancel")) == address
    bench_of(client).queue.look()
    page = client.get(address).text
    assert "data-open" not in page
    assert "Resume" in page
    assert tell(client, f"/api{address}/cancel").status == 422
    assert tell(client, f"/api{address}/resume").json() == {"number": 1, "done": "resume"}
    assert client.get(f"/api{address}").json()["run"]["state"] == "waiting"
    tell(client, f"/api{address}/cancel")
    bench_of(client).queue.look()
    assert sent_to(form(client, f"{address}/forget")) == "/run"
    assert client.get(address).status == 404


def test_how_far_a_run_is_comes_as_events_until_it_is_over(client: Client) -> None:
    order = Order(1, bench_of(client).queue.orders.add("small.toml", "small", STUDY, "results/small").folder)

    async def follow() -> list[dict[str, object]]:
        seen = []
        async for line in _events(order):
            seen.append(json.loads(line.removeprefix("data: ")))
            order.end(State.DONE)
        return seen

    assert [now["state"] for now in asyncio.run(follow())] == ["waiting", "done"]


@pytest.mark.parametrize("name", ["order.json", "end.json", "begun.json"])
def test_a_damaged_run_is_told_in_words_and_can_be_taken_off_the_list(name: str, client: Client) -> None:
    order = bench_of(client).queue.orders.add("small.toml", "small", STUDY, "results/small")
    (order.folder / name).write_text("{}")
    bench_of(client).queue.look()
    assert "broken off" in client.get("/run").text
    assert client.get("/api/run/orders/1").json()["run"]["words"]
    assert sent_to(form(client, "/run/orders/1/forget")) == "/run"


def test_logs_are_shown_as_text(client: Client) -> None:
    order = bench_of(client).queue.orders.add("small.toml", "small", STUDY, "results/small")
    (order.folder / "log.txt").write_text("<b>bold</b>")
    order.end(State.BROKEN, "<i>why</i>")
    page = client.get("/run/orders/1").text
    assert "&lt;b&gt;bold" in page
    assert "&lt;i&gt;why" in page


@pytest.mark.parametrize(
    "address", ["/run/edit?study=no.toml", "/run/edit", "/run/edit?study=../small.toml", "/run/orders/7"]
)
def test_what_is_not_there_is_told(address: str, client: Client) -> None:
    assert client.get(address).status == 404
    reply = client.get(f"/api{address}")
    assert reply.status == 404
    assert reply.json()["problems"]


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("/api/run/check", {"study": "small.toml"}),
        ("/api/run/check", "no json"),
        ("/api/run/complete", {"text": "", "line": 0, "column": 0}),
        ("/api/run/orders/x/cancel", {}),
        ("/api/run/orders/1/explode", {}),
        ("/api/run/studies", {"name": "../up", "start": "kind:managed"}),
    ],
)
def test_what_has_no_form_is_told_like_everything_else(address: str, body: object, client: Client) -> None:
    reply = tell(client, address, body)
    assert reply.status == 422
    assert set(reply.json()) == {"problems", "id"}
    assert reply.json()["problems"]


def test_nothing_is_changed_by_looking_or_from_elsewhere(client: Client, tmp_path: Path) -> None:
    posts = ["/run/new", "/run/edit", "/api/run/orders", "/api/run/save", "/api/run/studies"]
    for address in (*posts, "/run/orders/1/cancel"):
        assert client.get(address).status in (200, 404, 405)
        assert client.post(address, {}, origin="http://evil.example").status == 403
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_the_interface_is_described(client: Client) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {
        "/api/run", "/api/run/new", "/api/run/edit", "/api/run/check", "/api/run/complete", "/api/run/save",
        "/api/run/studies", "/api/run/orders", "/api/run/orders/{number}", "/api/run/orders/{number}/{action}",
        "/api/run/orders/{number}/events", "/api/play",
    } <= paths.keys()  # fmt: skip
