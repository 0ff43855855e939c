"""The description of the interface: whatever is asked in its words, no answer is a fault of ours."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.served import served, serving, shelved

FEW = ("facility", "front", "profit")
WORDS = st.sampled_from(["", "1", "-1", "nan", "1e308", "no", "knee", "front", "0", "\x00", "ü", "../..", "'"])
KEYS = st.sampled_from(
    ["q", "status", "a", "b", "point", "pue", "cap", "at", "against", "run", "n-0", "load", "failed"]
)
STUDIES = st.sampled_from([*FEW, "none", "..", "a b", "%2e"])
BOARDS = st.sampled_from(["", "/front", "/profit", "/facility", "/what-if", "/files/runs.csv", "/figures/x.png", "/.."])


@pytest.mark.thorough("takes seconds; others look at less of it")
@settings(deadline=None)
@given(st.one_of(st.just("/api/studies"), st.just("/api/compare"), st.builds(
    lambda base, study, board: f"{base}/studies/{quote(study)}{board}", st.sampled_from(["", "/api"]), STUDIES, BOARDS
)), st.lists(st.tuples(KEYS, WORDS), max_size=3))  # fmt: skip
def test_nothing_that_is_asked_is_a_fault_of_ours(path: str, query: list[tuple[str, str]]) -> None:
    reply = served(*FEW).get(f"{path}?{urlencode(query)}" if query else path)
    assert reply.status in (200, 307, 404, 422), reply.text
    if path.startswith("/api") and reply.status in (404, 422):
        assert reply.json()["problems"]


def test_the_interface_is_described() -> None:
    described = served(*FEW).get("/api/openapi.json").json()
    assert {"/api/studies", "/api/compare", "/api/studies/{study}", "/api/studies/{study}/{board}"} <= set(
        described["paths"]
    )
    for path in described["paths"].values():
        assert all(operation["summary"].endswith(".") for operation in path.values())
    asked = [part["name"] for part in described["paths"]["/api/studies/{study}/{board}"]["get"]["parameters"]]
    assert asked == ["study", "board", "wishes"]


def sent(base: str, case: Any) -> tuple[int, bytes]:
    """What a case of schemathesis gets."""
    path = case.path.format(
        **{name: quote(str(value), safe="") for name, value in (case.path_parameters or {}).items()}
    )
    address = path + (f"?{urlencode(case.query)}" if case.query else "")
    is_sent = case.method == "POST"
    body = json.dumps(case.body if isinstance(case.body, dict) else {}) if is_sent else None
    headers = {"x-joulewise": "test", "content-type": "application/json"} if is_sent else {}
    with closing(http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)) as line:
        line.request(case.method, address, body, headers)
        reply = line.getresponse()
        return reply.status, reply.read()


@pytest.mark.thorough("hundreds of requests that schemathesis makes of the description")
def test_schemathesis_finds_no_fault() -> None:
    import schemathesis

    described = served(*FEW).get("/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(described)
    with serving(shelved(*FEW)) as base:
        for operation in schema.get_all_operations():

            @settings(deadline=None, max_examples=100)
            @given(operation.ok().as_strategy())  # type: ignore[union-attr]
            def check(case: Any) -> None:
                status, body = sent(base, case)
                assert status < 500, (case.path, body)
                if case.path.startswith("/api"):
                    json.loads(body)

            check()
