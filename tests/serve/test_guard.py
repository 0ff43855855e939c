"""Who gets in: hosts, origins, tokens, sizes; and that errors say words and an id, and nothing of us."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.serve import guard, server, studies
from joulewise.serve.guard import MOST_BYTES
from tests.strategies.asgi import Client, Reply
from tests.strategies.served import client_of

TOKEN = "a-token-of-more-than-16"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return client_of(tmp_path)


@pytest.fixture
def guarded(tmp_path: Path) -> Client:
    return client_of(tmp_path, token=TOKEN, hosts=("bench.example",))


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "127.1.2.3", "[::1]:8000", "LOCALHOST"])
def test_browsers_on_this_machine_get_in(client: Client, host: str) -> None:
    assert client.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "[", "192.168.1.2", "a@b:c", "127.0.0.1.evil.com"]
)
def test_other_names_do_not(client: Client, host: str) -> None:
    """A foreign name that leads to this machine would make the page that bears it one of ours (DNS rebinding)."""
    assert client.get("/", host=host).status == 400


def cookie_of(reply: Reply) -> str:
    return reply.headers["set-cookie"].partition(";")[0]


def test_a_token_is_asked_for_once(guarded: Client) -> None:
    assert guarded.get("/").status == 401
    assert guarded.get("/api/studies").json()["problems"]
    assert guarded.get("/?token=another-one-of-16-signs").status == 401
    first = guarded.get(f"/compare?a=&token={TOKEN}")
    assert (first.status, first.headers["location"]) == (303, "/compare?a=")
    cookie = first.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(cookie[1:])  # and it goes when the browser is closed
    assert cookie[0].startswith("joulewise-8000=")
    assert TOKEN not in first.headers["set-cookie"]
    assert guarded.get("/", cookie=cookie_of(first)).status == 200
    assert guarded.get("/", host="localhost:8001", cookie=cookie_of(first)).status == 401
    for other in ("joulewise-8000=no", f"joulewise-8000={TOKEN}", "joulewise-8000=\x01;;=", "joulewise-8000=\xe9"):
        assert guarded.get("/", cookie=other).status == 401


def test_programs_bring_the_token_itself(guarded: Client) -> None:
    assert guarded.get("/api/studies", authorization=f"Bearer {TOKEN}").status == 200
    for other in ("Bearer", "Bearer no", f"Basic {TOKEN}", TOKEN):
        assert guarded.get("/api/studies", authorization=other).status == 401


def test_the_address_that_is_told_to_others_is_a_name() -> None:
    with server.listening("127.0.0.1", 0) as made:
        assert "0.0.0.0" not in server.address_of(made, "0.0.0.0", TOKEN)


def test_a_refusal_looks_like_our_pages(guarded: Client) -> None:
    linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', guarded.get("/").text)
    assert linked
    assert {guarded.get(address).status for address in linked} == {200}
    assert guarded.get("/static/live.js").status == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_foreign_pages_lead_here_and_ask_nothing(client: Client, site: str) -> None:
    def asked(mode: str, to: str) -> int:
        return client.get("/", **{"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": to}).status

    assert asked("navigate", "document") == 200
    assert {asked("no-cors", "image"), asked("cors", "empty"), asked("navigate", "iframe")} == {403}
    assert client.get("/", **{"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}).status == 200


def test_code_without_a_token_is_warned_of(tmp_path: Path) -> None:
    def told(token: str, *, allows_code: bool) -> list[str]:
        return server.warnings_of(server.checked(tmp_path, "localhost", token, allows_code=allows_code))

    assert told("", allows_code=False) == told(TOKEN, allows_code=True) == []
    assert "Every user of this machine" in told("", allows_code=True)[0]


def test_with_a_token_given_names_and_plain_addresses_get_in(guarded: Client) -> None:
    cookie = cookie_of(guarded.get(f"/?token={TOKEN}", host="bench.example"))
    assert cookie.startswith("joulewise-80=")
    assert guarded.get("/", host="bench.example", cookie=cookie).status == 200
    assert guarded.get("/", host="192.168.1.2:80", cookie=cookie).status == 200
    assert guarded.get("/", host="evil.example", cookie=cookie).status == 400


def test_a_way_back_stays_here(guarded: Client) -> None:
    location = guarded.get(f"//evil.example/?token={TOKEN}").headers.get("location", "/")
    assert not location.startswith("//")


def test_what_changes_something_comes_from_our_own_pages(client: Client) -> None:
    assert client.post("/").status == 405
    for origin in ("http://evil.example", "null", "http://localhost:9999", "", "http://["):
        refused = client.post("/", origin=origin)
        assert refused.status == 403
        assert "content-security-policy" in refused.headers
    bare = client.send("POST", "/", b"", {})
    assert bare.status == 403
    assert client.send("DELETE", "/", b"", {"x-joulewise": "1"}).status == 405
    assert client.send("POST", "/", b"", {"x-joulewise": "1", "sec-fetch-site": "cross-site"}).status == 403


def test_what_is_sent_is_limited(client: Client) -> None:
    assert client.post("/", b"", **{"content-length": str(MOST_BYTES + 1)}).status == 413
    for length in ("many", "\xb2", "9" * 5000):
        assert client.post("/", b"", **{"content-length": length}).status == 413


def test_a_fault_of_the_guard_is_told_by_its_id_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_is_of_another_page", lambda _: 1 / 0)
    reply = client.get("/api/studies")
    assert reply.status == 500
    assert reply.json()["id"]
    assert "content-security-policy" in reply.headers


def test_every_answer_has_the_headers_of_safety(client: Client) -> None:
    for address in ("/", "/nowhere", "/api/studies", "/static/live.js"):
        headers = client.get(address).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/studies").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "address",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/workbench.py", "/studies/..", "/studies/%2e%2e%2f%2e%2e",
     "/studies/x/files/..%2fstudy.toml", "/studies/a%00b", "/static/"],
)  # fmt: skip
def test_no_address_leads_out_of_the_folder(client: Client, address: str) -> None:
    assert client.get(address).status in (404, 422)


def test_a_fault_of_ours_is_told_by_its_id(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("a secret")

    monkeypatch.setattr(studies, "_nothing", fail)
    for address in ("/", "/api/studies"):
        reply = client.get(address)
        assert reply.status == 500
        assert "secret" not in reply.text
        assert "script-src 'self'" in reply.headers["content-security-policy"]
    assert reply.json()["id"] in caplog.text
    assert "a secret" in caplog.text


def test_a_user_s_mistake_is_told_in_words(client: Client) -> None:
    reply = client.get("/api/studies?colour=red")
    assert reply.status == 422
    assert "must be one of q, status" in reply.json()["problems"][0]
    assert len(reply.json()["id"]) == 12
    assert "must be one of q, status" in client.get("/?colour=red").text


def test_others_get_in_only_with_a_token(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a token"):
        server.checked(tmp_path, "0.0.0.0", "", allows_code=False)
    for weak in ("short", "with space in it 1234", 'with"quote-0123456789'):
        with pytest.raises(InputError, match="--token"):
            server.checked(tmp_path, "localhost", weak, allows_code=False)
    with pytest.raises(InputError, match="no such folder"):
        server.checked(tmp_path / "none", "localhost", "", allows_code=False)
    assert server.checked(tmp_path, "0.0.0.0", TOKEN, allows_code=False).token == TOKEN


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server, "_NEEDED", ("uvicorn", "no_such_library"))
    with pytest.raises(InputError, match=r"found no no_such_library; needs the extra \[serve\].*joulewise\[serve\]"):
        server.checked(tmp_path, "localhost", "", allows_code=False)
