"""Counters of the kernel (played by files) and outputs of perf stat from several generations."""

from __future__ import annotations

import errno
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from joulewise.measure.machine.survey import best_counters, counter_availability
from joulewise.measure.meters.counters import CounterReads, PerfEvents
from joulewise.measure.meters.perf_events import perf_event_open, read_tally
from joulewise.measure.meters.perf_stat import PerfStat, parse_perf_stat
from tests.strategies import trees

SOFTWARE, PAGE_FAULTS = 1, 2
MISSES_OF_INTEL, LAST_LEVEL, ZEN = (0, 3), (3, 0x10002), (4, 0x4843)


class Kernel:
    """Answers to perf_event_open: (value, enabled, running) by (kind, number), ENOENT for all others."""

    def __init__(self, folder: Path, answers: dict[tuple[int, int], tuple[int, int, int]]) -> None:
        self.folder, self.answers = folder, answers
        self.opened: list[int] = []

    def open(self, kind: int, number: int, pid: int) -> int:
        assert pid > 0
        if (kind, number) not in self.answers:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        path = self.folder / f"{kind}-{number}"
        path.write_bytes(struct.pack("=QQQ", *self.answers[kind, number]))
        self.opened.append(os.open(path, os.O_RDONLY))
        return self.opened[-1]

    def all_closed(self) -> bool:
        def is_open(descriptor: int) -> bool:
            try:
                os.fstat(descriptor)
            except OSError:
                return False
            return True

        return not any(map(is_open, self.opened))


def refusing(code: int) -> Callable[[int, int, int], int]:
    """A kernel that refuses with one error."""

    def refuse(kind: int, number: int, pid: int) -> int:
        raise OSError(code, os.strerror(code))

    return refuse


def read(root: Path, kernel: Kernel) -> CounterReads:
    source = PerfEvents(root, kernel.open)
    assert source.availability().is_available
    assert kernel.all_closed()
    counters = source.attach(1)
    reads = counters.read()
    counters.close()
    counters.close()
    assert kernel.all_closed()
    return reads


def test_shared_counters_are_scaled_and_those_that_never_ran_are_missing(tmp_path: Path) -> None:
    answers = {(0, 1): (1000, 100, 100), (0, 0): (500, 100, 25), MISSES_OF_INTEL: (0, 100, 0)}
    reads = read(trees.ivy_bridge(tmp_path / "root"), Kernel(tmp_path, answers))
    assert reads[:2] == (1000, 2000)
    assert math.isnan(reads.cache_misses)


def test_a_set_up_is_taken_off_before_shared_counters_are_scaled(tmp_path: Path) -> None:
    """It was counted all the time, the work for one of five microseconds."""
    answers = {(0, 1): (1_000_000, 5000, 5000), (0, 0): (500, 5000, 1000)}
    counters = PerfEvents(trees.ivy_bridge(tmp_path / "root"), Kernel(tmp_path, answers).open).attach(1)
    counters.begin()
    for event, later in (("0-1", (1_010_000, 10_000, 6000)), ("0-0", (500, 10_000, 1000))):
        with (tmp_path / event).open("ab") as file:
            file.write(struct.pack("=QQQ", *later))
    reads = counters.read()
    counters.close()
    assert reads.instructions == 50_000
    assert math.isnan(reads.cycles)


@pytest.mark.parametrize(
    ("tree", "offered", "wanted"),
    [
        (trees.ivy_bridge, (MISSES_OF_INTEL, LAST_LEVEL), MISSES_OF_INTEL),
        (trees.xeon, (LAST_LEVEL,), LAST_LEVEL),
        (trees.epyc, (MISSES_OF_INTEL, LAST_LEVEL, ZEN), ZEN),
        (trees.arm_server, (MISSES_OF_INTEL, LAST_LEVEL), LAST_LEVEL),
        (trees.arm_server, (MISSES_OF_INTEL,), None),  # those of its first level
    ],
)
def test_misses_are_those_of_the_last_level(
    tree: Callable[[Path], Path],
    offered: tuple[tuple[int, int], ...],
    wanted: tuple[int, int] | None,
    tmp_path: Path,
) -> None:
    answers = {(0, 1): (1, 1, 1), **{event: (7 if event == wanted else 9, 5, 5) for event in offered}}
    kernel = Kernel(tmp_path, answers)
    root = tree(tmp_path / "root")
    misses = read(root, kernel).cache_misses
    assert math.isnan(misses) if wanted is None else misses == 7
    assert ("no last-level cache misses" in PerfEvents(root, kernel.open).availability().found) == (wanted is None)


def test_both_units_of_a_hybrid_are_added(tmp_path: Path) -> None:
    fast, small = 4 << 32, 10 << 32
    answers = {
        (0, fast | 1): (600, 100, 60),
        (0, small | 1): (400, 100, 40),
        (0, fast | 0): (0, 100, 0),
        (0, small | 0): (300, 100, 50),
    }
    reads = read(trees.hybrid(tmp_path / "root"), Kernel(tmp_path, answers))
    assert reads[:2] == (1000, 600)


@pytest.mark.parametrize(
    ("code", "tree", "found", "remedy"),
    [
        (errno.EACCES, trees.ivy_bridge, "kernel.perf_event_paranoid is 1", "kernel.perf_event_paranoid=2"),
        (errno.EPERM, trees.container, "a filter of system calls (seccomp)", "--cap-add PERFMON"),
        (errno.ENOSYS, trees.xeon, "the kernel has no perf_event_open", "CONFIG_PERF_EVENTS"),
        (errno.ENOENT, trees.xeon, "knows no counters of this processor", "a kernel that knows this processor"),
        (errno.EBUSY, trees.xeon, "another program holds the counters", "kernel.nmi_watchdog=0"),
        (errno.EMFILE, trees.xeon, "too many open files", "ulimit -n"),
        (errno.EIO, trees.xeon, "refused: Input/output error", "man perf_event_open"),
    ],
)
def test_every_refusal_has_a_reason_and_a_remedy(
    code: int, tree: Callable[[Path], Path], found: str, remedy: str, tmp_path: Path
) -> None:
    source = PerfEvents(tree(tmp_path), refusing(code))
    said = source.availability()
    assert not said.is_available
    assert found in said.found
    assert remedy in said.remedy
    assert all(map(math.isnan, source.attach(1).read()))


def test_a_virtual_machine_is_told_of_its_host(tmp_path: Path) -> None:
    root = trees.xeon(tmp_path)
    trees.cpuinfo(root, {"vendor_id": "GenuineIntel", "flags": "fpu aperfmperf hypervisor"})
    said = PerfEvents(root, refusing(errno.ENOENT)).availability()
    assert "(a virtual machine)" in said.found
    assert "-cpu host,pmu=on" in said.remedy


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# started\n\n9000,,instructions:u,500,100.00,,\n4000,,cycles:u,500,100.00\n12,,cache-misses:u,500,99.9",
         (9000, 4000, 12)),
        ("9000,instructions\n4000,cycles\n<not counted>,LLC-load-misses", (9000, 4000, math.nan)),  # of 2012
        ("<not supported>;;instructions:u;0;100.00;;\n<not counted>;;cycles:u;0;0.00;;\n7;;r4843:u;5;33.33;;",
         (math.nan, math.nan, 7)),
        ("9000,,instructions:u,500,62,50,,\n1,234,567,,cycles:u,500,100,00", (9000, 1234567, math.nan)),  # of Germany
        ("600,,cpu_core/instructions/u,50,60.00,,\n300,,cpu_atom/instructions/u,40,40.00,,\n"
         "<not counted>,,cpu_core/cycles/,0,0.00,,\n50,,cpu_atom/cycles/,9,50.00", (480, 50, math.nan)),
        ("8,,armv8_pmuv3_0/instructions/u,5,100.00,,\n3,,ll_cache_miss_rd:u,5,100.00,,\n77,,cache-misses:u,5,100.00",
         (8, math.nan, 3)),
        ("", (math.nan, math.nan, math.nan)),
    ],
)  # fmt: skip
def test_perf_stat_of_several_generations(text: str, wanted: tuple[float, ...]) -> None:
    assert parse_perf_stat(text) == pytest.approx(wanted, nan_ok=True)


def fake_perf(folder: Path, body: str) -> str:
    path = folder / "perf"
    path.write_text(f"#!{sys.executable}\nimport os, sys\nfile, command = sys.argv[4], sys.argv[8:]\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_perf_stands_before_the_command_line(tmp_path: Path) -> None:
    counts = "open(file, 'w').write('9;;instructions:u;1;100.00;;')\nos.execvp(command[0], command)"
    perf = PerfStat(fake_perf(tmp_path, counts), trees.epyc(tmp_path / "root"))
    assert perf.availability().found.endswith("; no last-level cache misses")
    file = tmp_path / "counts"
    assert "instructions:u,cycles:u,r4843:u" in perf.wrapped(("a", "b"), file)
    counters = perf.attach(1, file)
    assert math.isnan(counters.read().instructions)  # killed before perf could write
    file.write_text("9;;instructions:u;1;100.00;;")
    assert counters.read().instructions == 9
    counters.begin()
    assert math.isnan(counters.read().instructions)  # perf does not tell what the set-up was
    counters.close()
    assert not file.exists()
    os.mkfifo(file)
    perf.attach(1, file).close()
    assert file.exists()  # only what perf has written is removed
    denied = PerfStat(fake_perf(tmp_path, "sys.exit('access is limited')")).availability()
    assert not denied.is_available
    assert "(access is limited)" in denied.found


def test_a_real_counter_begins_with_the_program_and_outlives_it() -> None:
    """Page faults are counted by the kernel itself, on machines without counters too."""
    command = ("sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh", sys.executable, "-c", "")
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as shim:
        try:
            descriptor = perf_event_open(SOFTWARE, PAGE_FAULTS, shim.pid)
        except OSError as error:
            shim.kill()
            pytest.skip(f"this machine does not let us count: {error.strerror}")
        before = read_tally(descriptor)
        shim.communicate("go\n")
    after = read_tally(descriptor)
    os.close(descriptor)
    assert before == (0, 0, 0)
    assert after.value > 100  # of Python, not of the shim
    assert 0 < after.running_ns <= after.enabled_ns


def test_what_this_machine_counts() -> None:
    said, source = counter_availability(), best_counters()
    assert said.is_available == (source is not None)
    assert said.found
    assert said.is_available or said.remedy
