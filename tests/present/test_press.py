"""The press draws in a process of its own: whatever ends that one is told, and the next figure is drawn again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import pytest

from joulewise.errors import InputError
from joulewise.present import press
from joulewise.present.export import render

OPENINGS = {"svg": "<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}


def pid() -> int:
    """The process of the press at work."""
    return press._press()[0].pid


@contextmanager
def held(then: signal.Signals, who: int) -> Iterator[None]:
    """The press stands still, and soon a process hears a signal."""
    os.kill(pid(), signal.SIGSTOP)
    timer = Timer(0.2, os.kill, (who, then))
    timer.start()
    yield
    timer.join()


def test_one_process_draws_every_figure() -> None:
    before = pid()
    for kind, opening in OPENINGS.items():
        assert render(SPEC, kind)[: len(opening)] == opening
    assert pid() == before


def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="Vega"):
        render({"mark": "no mark at all"}, "svg")


@pytest.mark.thorough("starts processes")
def test_its_end_is_told_and_the_next_figure_is_drawn() -> None:
    with held(signal.SIGKILL, pid()), pytest.raises(InputError, match=r"what draws them ended \(signal 9\).*verify"):
        render(SPEC, "svg")
    assert "<svg" in str(render(SPEC, "svg"))


@pytest.mark.thorough("starts processes and takes seconds")
def test_one_that_ended_unseen_is_replaced() -> None:
    os.kill(pid(), signal.SIGKILL)
    press._started()[0].wait()
    assert "<svg" in str(render(SPEC, "svg"))


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_no_answer_to_a_figure_that_was_given_up_is_taken_for_the_next() -> None:
    with held(signal.SIGINT, os.getpid()), pytest.raises(KeyboardInterrupt):
        render(SPEC, "svg")
    assert render(SPEC, "png")[:4] == OPENINGS["png"]


def test_it_ends_with_its_parent() -> None:
    code = "from joulewise.present import press\nprint(press._press()[0].pid, flush=True)\n"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.stdout), 0)
