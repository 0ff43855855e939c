"""Programs behind perf stat: what is counted of them, and how they end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from joulewise.measure.bench.bench import GroupExperiment, GroupRead, MeasuredProgram, Member
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.meters.perf_stat import PerfStat

CORES = tuple(sorted(os.sched_getaffinity(0)))
PERF = f"""#!{sys.executable}
import os, sys
file, command = sys.argv[4], sys.argv[8:]
child = os.fork() or os.execvp(command[0], command)
_, status = os.waitpid(child, 0)
open(file, "w").write("1000;;instructions:u;1;100.00;;")
sys.exit(os.WEXITSTATUS(status))
"""
"""Ends as perf does: with 0 where a signal ended the program."""


@pytest.fixture
def perf(tmp_path: Path) -> PerfStat:
    path = tmp_path / "perf"
    path.write_text(PERF)
    path.chmod(0o755)
    return PerfStat(str(path))


def run(perf: PerfStat, *command: str, waits: bool = False) -> GroupRead:
    member = Member(MeasuredProgram("it", command, environment=(("PATH", "/usr/bin:/bin"),), waits=waits), CORES[:1])
    return MachineBench(CORES, None, perf).run(GroupExperiment((member,), way="once"), 0)


def test_how_programs_end_behind_perf(perf: PerfStat) -> None:
    read = run(perf, "test", "a b", "=", "a b")
    assert (read.problem, read.members[0].instructions) == ("", 1000)
    assert "it ended with code 139" in run(perf, "sh", "-c", "kill -SEGV $$").problem
    assert run(perf, "sh", "-c", "echo last; exit 3").problem == "it ended with code 3; it printed last: last"
    assert run(perf, "/nowhere/program").problem.startswith("it ended with code 127; it printed last: ")


def test_a_program_behind_perf_is_pinned_and_may_say_when_it_begins(perf: PerfStat) -> None:
    pinned = f"grep -q 'Cpus_allowed_list:.{CORES[0]}$' /proc/self/status"
    read = run(perf, "sh", "-c", f"{pinned} && echo >&$JOULEWISE_BEGIN && sleep 0.02")
    assert read.problem == ""
    assert read.members[0].setup_s > 0


def test_programs_that_wait_run_behind_perf_and_are_not_counted(perf: PerfStat) -> None:
    loop = "while echo >&$JOULEWISE_BEGIN && read -r _ <&$JOULEWISE_GO; do i=0; done"
    read = run(perf, "sh", "-c", loop, waits=True)
    assert read.problem == ""
    assert not read.members[0].instructions >= 0
    said = perf.availability()
    assert said.is_available
    assert "no bundled kernels" in said.found
    assert "kernel.perf_event_paranoid=2" in said.remedy
