"""Slurm's commands: how they are run, what becomes of silence and refusals, and which versions may be changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from joulewise.errors import InputError, Problem
from joulewise.slurm.calls import COMPLAINTS, Commands, Patience, SlurmError, ask, environment, tell
from joulewise.slurm.orders import release
from joulewise.slurm.versions import READ, RUN, version_of

SILENT = SlurmError(Problem("squeue", "did not answer"), is_silent=True)
REFUSED = SlurmError(Problem("squeue", "failed: no"), is_silent=False)
QUICK = Patience(limit_s=5, tries=3, first_wait_s=1, growth=3)


@dataclass
class Scripted:
    """Answers what it was given, in order."""

    answers: list[str | SlurmError]
    asked: list[Sequence[str]] = field(default_factory=list)

    def run(self, words: Sequence[str], limit_s: float) -> str:
        self.asked.append(words)
        answer = self.answers.pop(0)
        if isinstance(answer, SlurmError):
            raise answer
        return answer


def program(folder: Path, name: str, code: str) -> Commands:
    """Commands in whose path there is a program of this Python code."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)
    return Commands({"PATH": f"{folder}:{os.environ['PATH']}", "SQUEUE_FORMAT": "%i", "SLURM_CONF": "/x/slurm.conf"})


# --- running ------------------------------------------------------------------------------------------------


def test_no_shell_sees_what_is_run(tmp_path: Path) -> None:
    commands = program(tmp_path, "scontrol", "import sys; print(sys.argv[1:], repr(sys.stdin.read()))")
    words = ("scontrol", "$(touch x)", "a b", "`x`;&|>", "\n")
    assert commands.run(words, 20) == f"{list(words[1:])} ''\n"


def test_variables_that_change_what_is_printed_are_kept_away(tmp_path: Path) -> None:
    commands = program(tmp_path, "squeue", "import os; print(sorted(os.environ.items()))")
    printed = commands.run(("squeue",), 20)
    assert "SQUEUE_FORMAT" not in printed
    assert "('SLURM_CONF', '/x/slurm.conf')" in printed
    assert "('TZ', 'UTC')" in printed
    assert environment({"SLURM_TIME_FORMAT": "relative", "SLURM_JWT": "j", "HOME": "/h"}) == {
        "SLURM_JWT": "j", "HOME": "/h", "TZ": "UTC", "LC_ALL": "C", "SLURM_TIME_FORMAT": "standard",
    }  # fmt: skip


def test_who_takes_too_long_is_silent(tmp_path: Path) -> None:
    commands = program(tmp_path, "squeue", "import time; time.sleep(60)")
    with pytest.raises(SlurmError, match=r"did not answer within 0.2 s.*slurmctld runs") as caught:
        commands.run(("squeue",), 0.2)
    assert caught.value.is_silent


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(SlurmError, match=r"cannot be run: No such file.*install") as caught:
        Commands({"PATH": "/nowhere"}).run(("joulewise-no-such-command",), 5)
    assert not caught.value.is_silent


@pytest.mark.parametrize("complaint", COMPLAINTS, ids=lambda complaint: complaint.words)
def test_complaints_come_with_what_to_do(tmp_path: Path, complaint: tuple[str, bool, str]) -> None:
    words, is_silent, advice = complaint
    commands = program(
        tmp_path, "scontrol", f"import sys; print('scontrol: error: {words} for x', file=sys.stderr); exit(1)"
    )
    with pytest.raises(SlurmError) as caught:
        commands.run(("scontrol", "release", "7"), 20)
    assert caught.value.is_silent == is_silent
    assert str(caught.value) == f"scontrol release: failed: scontrol: error: {words} for x; {advice}"


def test_a_failure_without_words(tmp_path: Path) -> None:
    with pytest.raises(SlurmError, match="failed without a word; run the command by hand"):
        program(tmp_path, "scontrol", "exit(3)").run(("scontrol",), 20)


# --- asking and telling -------------------------------------------------------------------------------------


def test_questions_are_asked_again_after_longer_and_longer_waits() -> None:
    waits: list[float] = []
    slurm = Scripted([SILENT, SILENT, "there"])
    assert ask(slurm, ("squeue",), QUICK, waits.append) == "there"
    assert waits == [1, 3]
    with pytest.raises(SlurmError, match="did not answer"):
        ask(Scripted([SILENT] * 3), ("squeue",), QUICK, waits.append)


def test_a_refused_question_is_not_asked_again() -> None:
    slurm = Scripted([REFUSED, "never"])
    with pytest.raises(SlurmError, match="no"):
        ask(slurm, ("squeue",), QUICK, lambda _: None)
    assert len(slurm.asked) == 1


@pytest.mark.parametrize(("answer", "is_certain"), [("", True), (SILENT, False), (REFUSED, True)])
def test_an_order_is_given_once(answer: str | SlurmError, is_certain: bool) -> None:
    (order,) = release(["7"])
    slurm = Scripted([answer, "never"])
    told = tell(slurm, order, QUICK)
    assert (len(slurm.asked), told.is_certain, told.problem is None) == (1, is_certain, answer == "")


# --- versions -----------------------------------------------------------------------------------------------


def test_versions_are_read_from_what_commands_print() -> None:
    for text in ("slurm-wlm 22.05.8", "slurm 22.05.8-1.el9", "SLURM_VERSION           = 22.05.8"):
        assert str(version_of(text)) == "22.05.8"
        assert version_of(text).may_act
        assert version_of(text).problem is None


@pytest.mark.parametrize("release", [*READ, "26.05", "19.05"])
def test_others_are_only_read(release: str) -> None:
    version = version_of(f"slurm {release}.1")
    assert not version.may_act
    assert "nothing is changed" in str(version.problem)
    assert RUN[0] in str(version.problem)


@pytest.mark.parametrize("text", ["", "slurm", "slurm 22", "x" * 10_000, "122.05.8"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="must be like"):
        version_of(text)
