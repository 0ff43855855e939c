"""Running real programs: together, again, within their time, and without anything left of them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from joulewise.measure.bench import machine_bench
from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, GroupRead, MeasuredProgram, Member, Way
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.bench.runner import LEFT_BEHIND, last_lines, run_group
from joulewise.measure.bench.times import MemberRun, MemberTimes, company_share
from joulewise.measure.machine.availability import Availability
from joulewise.measure.meters.counters import NO_FILE, CounterReads
from joulewise.measure.meters.seen_clocks import OTHER_CLOCK
from joulewise.measure.meters.watch import Watch

CORES = tuple(sorted(os.sched_getaffinity(0)))
LEAVE_CHILDREN = "setsid sleep 60 & echo $! > {0}/far; sleep 61 & echo $! > {0}/near; "


def shell(script: str, name: str = "it", time_limit_s: float = 30.0, **more: str) -> MeasuredProgram:
    return MeasuredProgram(name, ("sh", "-c", script), environment=tuple(more.items()), time_limit_s=time_limit_s)


def run(*programs: MeasuredProgram, way: Way = "restart", bench: MachineBench | None = None) -> GroupRead:
    members = tuple(Member(program, (CORES[i % len(CORES)],)) for i, program in enumerate(programs))
    return (bench or MachineBench(CORES)).run(GroupExperiment(members, way=way), 0)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children(folder: Path) -> list[int]:
    return [int((folder / name).read_text()) for name in ("far", "near")]


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what happens soon; a minute is for machines that are busy."""
    until_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def until(holds: str) -> str:
    """A wait of a shell for what another member does: however busy the machine is, both happen."""
    return f"until {holds}; do sleep 0.02; done"


# Together


def test_members_start_together_and_again_until_all_have_ended(tmp_path: Path) -> None:
    short = shell(f"cd {tmp_path}; mkdir one || mkdir two || {{ mkdir three; sleep 60; }}")
    long = shell(f"cd {tmp_path}; {until('[ -e three ]')}; sleep 0.1")
    read = run(long, short)
    assert read.problem == ""
    assert [member.restarts for member in read.members] == [0, 2]
    assert 0.1 <= read.members[0].wall_s <= read.group_s
    assert all(0 < member.company_share <= 1 for member in read.members)
    assert all(0 < member.cpu_s <= read.group_s for member in read.members)


def test_members_run_once_where_asked(tmp_path: Path) -> None:
    short = shell(f"cd {tmp_path}; mkdir $$; {until('[ -e there ]')}")
    others_end = f"pid=$(echo [0-9]*); mkdir there; {until('! kill -0 $pid')}"
    long = shell(f"cd {tmp_path}; {until('[ -e [0-9]* ]')}; {others_end}; sleep 0.1")
    read = run(long, short, way="once")
    assert read.problem == ""
    assert [member.restarts for member in read.members] == [0, 0]
    assert 0 < read.members[0].company_share < 1


def test_a_baseline_is_never_without_company() -> None:
    (alone,) = run(shell("sleep 0.05")).members
    assert (alone.company_share, alone.restarts, alone.setup_s) == (1, 0, 0)
    assert math.isnan(alone.energy_j)
    assert math.isnan(alone.instructions)


def test_a_program_may_say_when_it_begins() -> None:
    (read,) = run(shell("sleep 0.2; echo >&$JOULEWISE_BEGIN; sleep 0.1")).members
    assert read.setup_s >= 0.2  # and more, where the machine is busy when it says so
    assert read.wall_s > 0
    assert read.setup_s + read.wall_s >= 0.3


def waiting(rounds: int, script: str, name: str) -> MeasuredProgram:
    """Waits to be let go, works, and waits again; ends by itself after so many rounds."""
    loop = f"while [ $i -lt {rounds} ] && echo >&$JOULEWISE_BEGIN && read -r _ <&$JOULEWISE_GO"
    return replace(shell(f"sleep 0.2; i=0; {loop}; do i=$((i+1)); {script}; done", name), waits=True)


def lines(folder: Path, count: int) -> str:
    """Holds once so many rounds have been noted."""
    return f"[ $(wc -l < {folder}/rounds) -ge {count} ]"


@pytest.mark.parametrize(("way", "n_rounds"), [("restart", 3), ("once", 1)])
def test_members_that_wait_begin_with_the_others_and_again_without_another_set_up(
    tmp_path: Path, way: Way, n_rounds: int
) -> None:
    """The last member does not wait: it is let go when the others have set themselves up."""
    short = waiting(99, f"{until(f'[ -e {tmp_path}/long ]')}; sleep 0.1; echo >> {tmp_path}/rounds", "short")
    (tmp_path / "rounds").touch()
    read = run(short, shell(f"mkdir {tmp_path}/long; {until(lines(tmp_path, n_rounds))}; sleep 0.1", "long"), way=way)
    assert read.problem == ""
    assert all(member.setup_s >= 0.2 for member in read.members)
    assert all(0 < member.company_share <= 1 for member in read.members)
    measured = read.members[0]
    assert measured.cpu_s > 0
    assert measured.wall_s >= 0.1
    assert (measured.restarts >= n_rounds - 1, measured.restarts == 0) == (True, way == "once")


def test_a_member_that_waits_may_end_and_is_set_up_again(tmp_path: Path) -> None:
    (tmp_path / "rounds").touch()
    read = run(waiting(1, f"echo >> {tmp_path}/rounds", "short"), shell(until(lines(tmp_path, 2)), "long"))
    assert read.problem == ""
    assert read.members[0].restarts > 0
    assert "ended before it began" in run(waiting(0, "true", "short"), shell("sleep 0.5", "long")).problem


def test_company_counts_from_the_beginning_of_others_to_their_end() -> None:
    measured = MemberTimes([MemberRun(0.0, ended_s=10.0)])
    says_when = MemberTimes([MemberRun(0.0, 2.0, 5.0), MemberRun(5.0, 6.0, 8.0), MemberRun(8.0)])
    goes_on = MemberTimes([MemberRun(0.0, ended_s=3.0), MemberRun(4.0)])
    assert company_share([measured], 0) == 1
    assert company_share([measured, says_when], 0) == pytest.approx(0.5)
    assert company_share([measured, goes_on], 0) == pytest.approx(0.9)
    assert company_share([measured, says_when, goes_on], 0) == pytest.approx(0.7)
    assert company_share([measured, says_when, goes_on], 1) == pytest.approx((1 + 2 / 3) / 2)


def test_processor_time_is_that_of_all_processes() -> None:
    work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    (one,) = run(shell(work)).members
    (three,) = run(shell(f"({work}) & (setsid sh -c '{work}') & {work}; wait")).members
    assert three.cpu_s > 1.5 * one.cpu_s


def test_a_member_is_pinned_and_told_its_variables() -> None:
    script = 'grep Cpus_allowed_list /proc/self/status; echo "$COLOUR"; exit 1'
    problem = run(shell(script, COLOUR="blue")).problem
    assert problem == f"it ended with code 1; it printed last: Cpus_allowed_list: {CORES[0]} / blue"


# What programs do wrong


@pytest.mark.thorough("starts processes and takes seconds")
@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (MeasuredProgram("it", ("/nowhere/program",)), "it could not be started: .*No such file or directory: '/now"),
        (MeasuredProgram("it", ("true",), folder="/nowhere"), "it could not be started: .*'/nowhere'"),
        (MeasuredProgram("it", ("a\0b",)), "it could not be started: .*embedded null"),
        (shell("echo one; echo two >&2; exit 3"), "it ended with code 3; it printed last: one / two$"),
        (shell("kill -9 $$"), "it was ended by signal 9$"),
        (shell("trap '' TERM; echo waiting; sleep 60; sleep 60", time_limit_s=2.0),
         "it did not end within its time limit of 2 s; it printed last: waiting$"),
        (shell("kill -STOP $$", time_limit_s=0.2), "it did not end within its time limit"),
    ],
)  # fmt: skip
def test_what_a_program_does_wrong_is_told(program: MeasuredProgram, problem: str) -> None:
    read = run(program, shell("sleep 60", "other"))
    with pytest.raises(ValueError, match=problem):
        raise ValueError(read.problem)
    assert [math.isnan(member.wall_s) for member in read.members] == [True, True]


def test_a_program_that_fails_when_it_is_started_again_is_told(tmp_path: Path) -> None:
    read = run(shell(f"mkdir {tmp_path}/been"), shell("sleep 60", "other"))
    assert "it ended with code 1; it printed last: mkdir: cannot create" in read.problem


def test_a_core_that_does_not_exist_is_told() -> None:
    read = MachineBench(CORES).run(GroupExperiment((Member(shell("true"), (9999,)),)), 0)
    assert read.problem.startswith("could not be run: cores: found 9999; must be among ")
    unchecked = MachineBench((9999,)).warm_up(shell("true"), (9999,))
    assert unchecked.startswith("it could not be started: [Errno 22]")


def test_a_program_may_print_without_end() -> None:
    assert run(shell("yes | head -c 20000000; echo done; exit 1")).problem.endswith("last: y / y / done")
    assert last_lines("a\n\n\x1b[1mb  \n") == "a / ?[1mb"


# Nothing is left


def test_nothing_is_left_of_a_program_that_ends_before_its_children(tmp_path: Path) -> None:
    read = run(shell(LEAVE_CHILDREN.format(tmp_path)))
    assert (read.problem, read.notes) == ("", (f"it {LEFT_BEHIND} (2 processes)",))
    assert not any(map(is_running, children(tmp_path)))


class Impatient:
    """Interrupts when the first member begins."""

    def ready(self, processes: Sequence[int]) -> None:
        assert all(map(is_running, processes))

    def changed(self) -> None:
        raise KeyboardInterrupt

    def set_up(self, place: int) -> None:
        assert place in (0, 1)

    def ended(self, place: int) -> None:
        raise AssertionError("nobody ends")


def test_nothing_is_left_after_an_interrupt(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    programs = [shell(LEAVE_CHILDREN.format(folder) + "echo >&$JOULEWISE_BEGIN; wait") for folder in folders]
    with pytest.raises(KeyboardInterrupt):
        run_group([Member(program, CORES[:1]) for program in programs], "restart", Impatient())
    pids = [int(text) for folder in folders for path in folder.iterdir() if (text := path.read_text())]
    assert len(pids) >= 2  # of the one that has begun; the other may have been ended while it wrote
    assert not any(map(is_running, pids))


def test_nothing_is_left_of_a_program_whose_keeper_is_killed(tmp_path: Path) -> None:
    read = run(shell(f"sleep 60 & echo $! > {tmp_path}/near; kill -9 $PPID; wait"))
    assert "find its processes" in read.problem
    eventually(lambda: not is_running(int((tmp_path / "near").read_text())))


def test_nothing_is_left_when_the_laboratory_is_killed(tmp_path: Path) -> None:
    code = """
import sys
from joulewise.measure.bench.bench import GroupExperiment, Member, MeasuredProgram
from joulewise.measure.bench.machine_bench import MachineBench
member = Member(MeasuredProgram("it", ("sh", "-c", sys.argv[1])), (int(sys.argv[2]),))
MachineBench(member.cores).run(GroupExperiment((member,)), 0)
"""
    script = LEAVE_CHILDREN.format(tmp_path) + f"trap '' TERM; mv {tmp_path}/near {tmp_path}/all; wait; sleep 60"
    with subprocess.Popen([sys.executable, "-c", code, script, str(CORES[0])]) as laboratory:
        eventually(lambda: (tmp_path / "all").exists())
        pids = [int((tmp_path / name).read_text()) for name in ("far", "all")]
        assert all(map(is_running, pids))
        laboratory.send_signal(signal.SIGKILL)
    eventually(lambda: not any(map(is_running, pids)))


# What is read


class Counters:
    """Counts nothing, but says what it was asked; a counted command line begins with `env`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def availability(self) -> Availability:
        return Availability("counters", True, "none of them real")

    def wrapped(self, command: Sequence[str], file: Path = NO_FILE) -> tuple[str, ...]:
        return ("env", f"COUNTS={file.name}", *command)

    def attach(self, pid: int, file: Path = NO_FILE) -> Counters:
        assert is_running(pid)
        self.asked.append(f"attach {file.name}")
        return self

    def begin(self) -> None:
        self.asked.append("begin")

    def read(self) -> CounterReads:
        self.asked.append("read")
        return CounterReads(instructions=100.0, cache_misses=3.0)

    def close(self) -> None:
        self.asked.append("close")


class TenWatts:
    """A meter of a machine that takes ten watts, and a clock that stands still while it is read."""

    name = "a meter"

    def __init__(self) -> None:
        self._at_s, self._is_read = 0.0, True

    def now_s(self) -> float:
        """Asked before and after each reading."""
        self._is_read = not self._is_read
        self._at_s = self._at_s if self._is_read else time.monotonic()
        return self._at_s

    def availability(self) -> Availability:
        return Availability("energy", True, "ten watts")

    def read_j(self) -> float:
        return 10 * self._at_s


class Clocks:
    """Says what was held."""

    def __init__(self) -> None:
        self.held: list[tuple[str, tuple[int, ...]]] = []
        self.held_at = datetime.max.replace(tzinfo=UTC)

    @contextmanager
    def holding(self, clock: ClockSetting, cores: Iterable[int], others: Iterable[int]) -> Iterator[None]:
        self.held.append((clock.label, (*cores, *others)))
        time.sleep(0.002)
        self.held_at = datetime.now(UTC) - timedelta(milliseconds=1)  # times are told in whole ones
        yield


def test_counters_energy_and_clocks_are_read_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    counters, clocks, meter = Counters(), Clocks(), TenWatts()
    says_when = shell("sleep 0.05; echo >&$JOULEWISE_BEGIN; sleep 0.05")
    members = (Member(shell("test $COUNTS = 0.counts && sleep 0.1"), CORES[:1]), Member(says_when, CORES[-1:]))
    with Watch(meter, now_s=meter.now_s) as watch:
        monkeypatch.setattr(watch, "mean_mhz", lambda *_: 1400.0)
        bench = MachineBench(CORES, watch, counters, clocks)
        read = bench.run(GroupExperiment(members, ClockSetting(1500.0)), 0)
        assert bench.idle_w(ClockSetting(), 0.1, 0) == pytest.approx(10.0)
    assert (read.problem, read.energy_meter) == ("", "a meter")
    assert (read.measured_mhz, read.notes) == (1400.0, (f"{OTHER_CLOCK} (1400 MHz)",))
    assert read.energy_j == pytest.approx(10 * read.group_s)
    assert read.members[0].energy_j == pytest.approx(10 * read.members[0].wall_s)
    assert [(m.instructions, m.cache_misses) for m in read.members] == [(100.0, 3.0)] * 2
    assert datetime.fromisoformat(read.started) >= clocks.held_at
    assert all(math.isnan(member.cycles) for member in read.members)
    assert counters.asked == ["attach 0.counts", "attach 1.counts", "begin", "read", "read", "close", "close"]
    ((label, held),) = clocks.held
    assert (label, sorted(held)) == ("1500 MHz", sorted(CORES))  # all of them, also those that nothing runs on


def test_a_clock_that_cannot_be_set_is_told() -> None:
    read = MachineBench(CORES).run(GroupExperiment((Member(shell("true"), CORES[:1]),), ClockSetting(1500.0)), 0)
    assert read.problem == "could not be run: clock: found 1500 MHz; clocks of this machine cannot be set"
    assert math.isnan(MachineBench(CORES).idle_w(ClockSetting(), 1.0, 0))


def test_a_step_of_the_time_of_day_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = iter((0.0, -3600.0))
    monkeypatch.setattr(machine_bench, "_time_of_day_offset_s", lambda: next(offsets))
    read = run(shell("sleep 0.05"))
    assert read.notes == ("the time of day stepped by -3.6e+03 s meanwhile",)
    assert 0.05 <= read.members[0].wall_s < 60
