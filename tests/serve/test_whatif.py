"""What can be asked of any study, and what is said of it: bounds that parameters have, and nothing that is not so."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.serve import house
from joulewise.serve.whatif import evenly
from tests.strategies.served import served

NAMES = ("managed", "profit")


@cache
def asked(name: str, **query: object) -> Any:
    reply = served(*NAMES).get(f"/api/studies/{name}/what-if?{urlencode(query)}")
    assert reply.status == 200, reply.text
    return reply.json()


def wishes(name: str) -> dict[str, Any]:
    return {wish["key"]: wish for wish in asked(name)["wishes"]}


def line(name: str, **query: object) -> tuple[str, str]:
    (found,) = asked(name, **query)["blocks"][0]["lines"]
    return found["lead"], found["support"]


def test_settings_go_as_far_as_their_parameters() -> None:
    found = wishes("managed")
    assert found["supply.pue"]["low"] == 1
    assert found["manager.checkpoint_s"]["unit"] == "min"
    assert found["manager.checkpoint_s"]["high"] > 1
    assert found["manager.leniency"]["low"] > 0


def test_a_limit_that_is_not_set_can_be_asked_for() -> None:
    cap = wishes("profit")["supply.power_cap_w"]
    assert cap["low"] > 0
    assert "not set" in cap["help"]
    assert "optimise.n_points" not in wishes("profit")
    assert "supply.budget_j" not in wishes("profit")
    lead, support = line("profit", point=1, **{"supply.power_cap_w": cap["high"] / 2})
    assert "power cap down from not set to" in support
    assert "goes from" in lead


def test_a_fraction_of_what_is_whole_is_refused() -> None:
    reply = served(*NAMES).get("/api/studies/managed/what-if?manager.permuted=1.5")
    assert reply.status == 422
    assert "must be a whole number from 1 to" in reply.text


def test_nothing_is_said_to_be_because_of_what_was_moved() -> None:
    lead, support = line("managed", **{"manager.leniency": 2})
    assert " stays " in lead
    assert support.startswith("With manager: leniency up from 1 to 2")
    assert "made anew" not in support
    assert "the only trial" in support
    n_tasks = wishes("profit")["workload.n_tasks"]
    assert "The world was made anew" in line("profit", **{"workload.n_tasks": n_tasks["low"]})[1]


def test_what_is_left_out_is_thinned_evenly() -> None:
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(9, 3) == [0, 4, 8]
    assert "more settings are not shown" in asked("managed")["lead"]


BOARDED = ("facility", "front", "profit", "utility")


@cache
def addresses() -> tuple[str, ...]:
    """The twins of all boards of some studies."""
    shelf = served(*BOARDED).app.state.bench.shelf
    boards = {name: house.boards_of(shelf.subject(name)) for name in BOARDED}
    return tuple(f"/api/studies/{name}/{board.name}" for name, found in boards.items() for board in found)


@pytest.mark.thorough("takes seconds; others look at less of it")
@given(data=st.data())
def test_whatever_a_slider_says_is_answered_or_refused_in_words(data: st.DataObject) -> None:
    client = served(*BOARDED)
    address = data.draw(st.sampled_from(addresses()))
    sliders = {wish["key"]: wish for wish in client.get(address).json()["wishes"] if wish["form"] == "number"}
    keys = data.draw(st.sets(st.sampled_from(sorted(sliders)), max_size=2)) if sliders else set()
    spans = {key: [float(f"{sliders[key][end]:.12g}") for end in ("low", "high")] for key in sorted(keys)}
    query = {key: data.draw(st.one_of(st.sampled_from(ends), st.floats(*ends))) for key, ends in spans.items()}
    reply = client.get(f"{address}?{urlencode(query)}")
    assert reply.status in (200, 422), (address, query, reply.text)
    assert reply.status == 200 or reply.json()["problems"]
