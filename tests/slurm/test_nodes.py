"""The nodes of a Slurm: recorded, in every state, and altered."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.slurm.nodes import NodeNow, ask_nodes, nodes_of_text
from tests.slurm.test_queue import MARK, SAMPLES
from tests.strategies.altered import altered

TEXT = (SAMPLES / "nodes-22.05.txt").read_text()


def test_what_was_recorded_is_read() -> None:
    nodes = nodes_of_text(TEXT, MARK)
    assert nodes["n1"] == NodeNow("n1", "drained", "", 0, 4)
    assert {name: node.is_open for name, node in nodes.items()} == {
        "n1": False, "n2": False, "n3": True, "n4": True, "n5": False, "n6": True,
    }  # fmt: skip
    assert [nodes[name].why_closed for name in ("n1", "n2", "n3", "n5")] == ["is drained", "is draining", "", "is down"]
    assert (nodes["n3"].cores_taken, nodes["n6"].cores_taken) == (4, 1)


STATES = {
    "idle": (True, False), "mixed": (True, False), "allocated": (True, False), "planned": (True, False),
    "mixed-": (True, False), "allocated+": (True, False), "idle~": (True, True), "idle#": (True, True),
    "powered_down": (True, True), "idle*": (False, False), "idle%": (False, False), "idle!": (False, False),
    "mixed$": (False, False), "idle@": (False, False), "idle^": (False, False), "idle~*": (False, True),
    "drained": (False, False), "draining": (False, False), "down*": (False, False), "reserved": (False, False),
    "maint": (False, False), "fail": (False, False), "inval": (False, False), "unknown": (False, False),
    "blocked": (False, False), "something_new": (False, False),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_which_nodes_get_jobs(state: str) -> None:
    node = nodes_of_text(f"n1{MARK}{state}{MARK}1/2/1/4{MARK}\n", MARK)["n1"]
    assert (node.is_open, node.is_off) == STATES[state]
    assert bool(node.why_closed) != node.is_open


@pytest.mark.parametrize(
    "cells", [("", "idle", "0/4/0/4"), ("n1", "IDLE?", "0/4/0/4"), ("n1", "idle", "4"), ("n1", "idle")]
)
def test_what_is_no_answer_is_refused(cells: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="sinfo: printed"):
        nodes_of_text("".join(f"{cell}{MARK}" for cell in cells), MARK)


def test_the_mark_is_another_each_time() -> None:
    assert ask_nodes().mark != ask_nodes().mark
    assert nodes_of_text("", MARK) == {}


@given(st.integers(0, 2**32))
def test_altered_answers_are_read_or_refused(seed: int) -> None:
    with suppress(InputError):
        nodes_of_text(altered(TEXT, Random(seed)), MARK)
