"""Tables on narrow terminals, in files and pipes."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from joulewise.cli import output
from joulewise.cli.output import print_table, progress
from tests.strategies.calling import call

Capture = pytest.CaptureFixture[str]

ROWS = [
    {"policy": "max-max-utility-per-joule", "tasks_per_day": "33,000", "dropping threshold": threshold, "mean": "61.20",
     "±": "0.41", "trials": 30, "of possible": "≥ 71.3 %", "energy": "12.01 GJ", "": "best"}
    for threshold in ("0", "0.5")
]  # fmt: skip
NUMBERS = ("mean", "±", "trials", "of possible", "energy")


def printed(width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> str:
    """The table as a terminal of this width has it."""
    console = Console(width=width, file=sys.stdout, markup=False, highlight=False)
    with monkeypatch.context() as patch:
        patch.setattr(output, "console", lambda **_: console)
        print_table("A study", ROWS, numbers=NUMBERS)
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [110, 100, 20, 8])
def test_no_word_is_broken_and_no_number_is_lost(width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(width, capsys, monkeypatch)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    words = ["61.20", "0.41", "71.3"] if width < 20 else ["dropping", "threshold", "33,000", "61.20", "12.01", "best"]
    assert all(word in text for word in words), text


def test_rows_stand_below_each_other_where_they_do_not_fit_beside(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(40, capsys, monkeypatch)
    assert "dropping threshold: 0.5\n" in text
    assert "mean: 61.20\n" in text
    assert "\nbest\n" in text


def test_what_is_printed_off_a_terminal_is_not_wider_than_its_words_need(capsys: Capture) -> None:
    for verb in ("list", "reproduce"):
        said = call(capsys, verb)
        assert max(len(line.rstrip()) for line in said.out.splitlines()) <= 100


def test_the_version_can_be_asked_for(capsys: Capture) -> None:
    said = call(capsys, "--version")
    assert (said.code, said.out) == (0, f"joulewise {__import__('joulewise').__version__}\n")


def test_the_help_of_no_verb_is_cut_off(capsys: Capture) -> None:
    assert "..." not in call(capsys, "--help").out.partition("Commands")[2]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_time_left_is_that_which_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(output, "LINE_EVERY_S", 0.0)
    with progress("Running x", quiet=False) as move:
        move(0, 96, "", 90.0)
        move(96, 96, "", 0.0)
    assert capsys.readouterr().err == "Running x: 0 of 96, about 1.5 min left\nRunning x: 96 of 96\n"
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress("Running x", quiet=False) as move:
        move(0, 96, "", 90.0)
    assert isinstance(sys.stderr, _Terminal)
    assert "about 1.5 min left" in sys.stderr.getvalue()
