"""Energy: logs, RAPL of several generations, commands that print watts, files of external meters."""

from __future__ import annotations

import errno
import itertools
import math
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.meters.energy_log import EnergyLog
from joulewise.measure.meters.power_command import PowerCommand, parse_watts
from joulewise.measure.meters.power_csv import read_power_csv
from joulewise.measure.meters.rapl import Rapl
from tests.strategies import trees

NOON_S = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
read_text = Path.read_text


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that goes on by a step whenever it is asked."""
    times = iter(range(1_000_000))
    return lambda: next(times) * step_s


def log_of(*readings: tuple[float, float]) -> EnergyLog:
    log = EnergyLog()
    for time_s, joules in readings:
        log.append(time_s, joules)
    return log


def test_readings_are_joined_by_lines_and_never_guessed_beyond() -> None:
    log = log_of((0, 100), (10, 200), (10, 999), (20, 500))
    assert log.between(0, 20) == 400
    assert log.between(5, 15) == 200
    assert log.mean_w(5, 15) == 20
    assert log.between(10, 10) == 0
    missing = (log.between(-1, 5), log.between(5, 21), log.between(15, 5), EnergyLog().between(0, 1), log.mean_w(5, 5))
    assert all(map(math.isnan, missing))


def test_a_break_is_missing_for_all_that_touch_it() -> None:
    log = log_of((0, 0), (10, 100), (15, math.nan), (20, 130), (30, 230))
    assert log.between(0, 10) == log.between(20, 30) == 100
    assert all(map(math.isnan, (log.between(0, 30), log.between(10, 12), log.between(16, 30), log.between(11, 12))))


def count_up(root: Path, zone: str, energy_uj: int) -> None:
    trees.write(root, {f"{trees.RAPL}/{zone}/energy_uj": energy_uj})


def test_a_counter_that_begins_anew(tmp_path: Path) -> None:
    root = trees.ivy_bridge(tmp_path)
    meter = Rapl(root, ticking(1.0))
    assert meter.read_j() == 0
    count_up(root, "intel-rapl:0", 65_500_000_000)
    assert meter.read_j() == pytest.approx(500)
    count_up(root, "intel-rapl:0", 100_000_000)
    assert meter.read_j() == pytest.approx(500 + 132.610987)
    count_up(root, "intel-rapl:0", 50_000_000)
    assert math.isnan(meter.read_j())  # reset, as by a firmware or a machine that slept
    count_up(root, "intel-rapl:0", 60_000_000)
    assert meter.read_j() == pytest.approx(632.610987 + 10)
    assert math.isnan(meter.read_j())  # stuck


def test_every_counter_must_move(tmp_path: Path) -> None:
    root = trees.xeon(tmp_path)
    moving, joules = ["intel-rapl:0", "intel-rapl:1", "intel-rapl:1:0"], itertools.count(3_000_000_000)

    def meanwhile(_: float) -> None:
        for zone in moving:
            count_up(root, zone, next(joules))

    meter = Rapl(root, sleep=meanwhile)
    assert "intel-rapl:0:0/energy_uj did not move within 0.1 s: it does not count" in meter.availability().found
    moving.append("intel-rapl:0:0")
    assert meter.availability().found.startswith("RAPL (package-0, package-1, 2 dram): without disks")


def test_packages_and_memory_are_added_and_the_platform_is_not(tmp_path: Path) -> None:
    root = trees.xeon(tmp_path)
    meter = Rapl(root, ticking(1.0))
    assert meter.name == "RAPL (package-0, package-1, 2 dram)"
    count_up(root, "intel-rapl:1:0", 65_700_000_000)
    meter.read_j()
    count_up(root, "intel-rapl:0", 1_010_000_000)
    count_up(root, "intel-rapl:1", 2_020_000_000)
    count_up(root, "intel-rapl:0:0", 505_000_000)
    count_up(root, "intel-rapl:1:0", 52_000_387)  # of memory, anew
    count_up(root, "intel-rapl:2", 99_000_000_000)
    assert meter.read_j() == pytest.approx(10 + 20 + 5 + 65)


def test_the_platform_alone_is_better_than_nothing(tmp_path: Path) -> None:
    trees.counter(tmp_path, "intel-rapl:0", "psys", 5_000_000, 262_143_328_850)
    assert Rapl(tmp_path).name == "RAPL (psys)"


def test_a_counter_read_too_seldom_or_not_at_all_is_a_break(tmp_path: Path) -> None:
    root = trees.epyc(tmp_path)
    times = iter((0.0, 1.0, 100.0, 101.0, 102.0, 103.0, 104.0))
    meter = Rapl(root, lambda: next(times))
    seen = []
    for energy in (1_000_000, 3_000_000, 4_000_000, 5_000_000, None, 7_000_000, 9_000_000):
        if energy is None:
            (root / trees.RAPL / "intel-rapl:0/energy_uj").unlink()
        else:
            count_up(root, "intel-rapl:0", energy)
        seen.append(meter.read_j())
    assert seen == pytest.approx([0, 2, math.nan, 3, math.nan, math.nan, 5], nan_ok=True)


def test_why_rapl_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Rapl(trees.arm_server(tmp_path / "arm")).availability()
    assert "ARM processors have no such counters" in arm.remedy
    sensor = re.search(r'\[meter\] command = "(.*)" \(CPU Power Socket 0\)', arm.remedy)
    assert sensor is not None
    assert PowerCommand(sensor[1]).availability().found.endswith(": 87.5 W now")
    bare = Rapl(trees.container(tmp_path / "bare"))
    assert "(a container)" in bare.availability().found
    assert math.isnan(bare.read_j())
    still = trees.xeon(tmp_path / "still")
    count_up(still, "intel-rapl:1:0", 0)
    assert "it does not count" in Rapl(still).availability().found

    def closed(path: Path, **options: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return read_text(path, **options)

    root = trees.ivy_bridge(tmp_path / "closed")
    monkeypatch.setattr(Path, "read_text", closed)
    said = Rapl(root).availability()
    assert not said.is_available
    assert "only by root" in said.found
    assert "sudo chmod a+r" in said.remedy
    assert math.isnan(Rapl(root).read_j())


DCMI = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 34 Watts
    Power reading state is:                   activated
"""


@pytest.mark.parametrize(
    ("text", "watts"),
    [
        (DCMI, [220]),
        ("Pwr Consumption  | 77h | ok  |  7.1 | 168 Watts\n", [168]),
        ("Power Meter      | 182.000    | Watts      | ok    | na", [182]),
        ("PS1 Input Power  | 120 Watts  | ok\nPS2 Input Power  | 130 Watts  | ok\nLimit: 500 W", [120, 130]),
        ('{"StatusSNS":{"ENERGY":{"Voltage":231,"Power":42.5,"ApparentPower":60}}}', [42.5]),
        ("217.5\n", [217.5]),
        ("0.3 kW", [300]),
        ("now drawing 95 W at the wall", [95]),
        ("2.5e2 W", [250]),
        ("-5 W", [-5]),
        ("1 2 3", []),
        ("no meter", []),
    ],
)
def test_powers_as_commands_print_them(text: str, watts: list[float]) -> None:
    assert parse_watts(text) == pytest.approx(watts)


def test_powers_are_joined_by_lines(tmp_path: Path) -> None:
    powers = tmp_path / "powers"
    meter = PowerCommand(("cat", str(powers)), now_s=ticking(0.5))  # asked twice a reading: one second apart
    seen = []
    for text in ("100", "200", "broken", "300", "300"):
        powers.write_text(text)
        seen.append(meter.read_j())
    assert seen == pytest.approx([0, 150, math.nan, 150, 450], nan_ok=True)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("no-such-meter --now", "no-such-meter --now: there is no program 'no-such-meter'"),
        ("sh -c 'echo no access; exit 3'", "ended with status 3, after 'no access'"),
        ("echo hello", "printed no power, after 'hello'"),
        ("echo 217000000", "printed 2.17e+08 W, which no machine draws"),
        ("echo 0 W", "printed 0 W, which no running machine draws"),
        ("echo -5 W", "printed -5 W, which no running machine draws"),
        ("echo PS1 120 W PS2 120 W", "printed 120 W, 120 W: which of them is meant?"),
        ("printf '%s\\n' 1 2 3 4 5", "printed 1 W, 2 W, 3 W, 4 W and more: which of them"),
        ("true", "printed no power, and said nothing"),
        ("sh -c 'sleep 60 & sleep 60'", "gave no answer within 0.1 s"),
        ("/", "cannot be used: Permission denied"),
        ("yes", "cannot be used: it prints more than 65536 bytes"),
    ],
)
def test_why_a_command_gives_no_power(command: str, found: str) -> None:
    began_s = time.monotonic()
    said = PowerCommand(command, limit_s=0.1 if "sleep" in command else 10.0).availability()
    assert not said.is_available
    assert found in said.found
    assert "one number of watts" in said.remedy
    assert time.monotonic() - began_s < 30  # far less than it sleeps
    assert PowerCommand("echo 5").availability() == ("energy", True, "echo 5: 5 W now", "")


def test_seconds_of_mean_power_are_summed(tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    path.write_text("Time,Watts\n" + "".join(f"2026-03-01T12:00:0{s}Z,{100 + s}\n" for s in range(5)))
    log = read_power_csv(path)
    assert log.between(NOON_S, NOON_S + 4) == 101 + 102 + 103 + 104
    assert log.between(NOON_S - 1, NOON_S) == 100
    assert log.between(NOON_S + 0.5, NOON_S + 1) == 50.5


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("timestamp;Power (kW)\n{0};0,1\n{1};0,1\n{2};0,1\n", {}),
        ("\ufeffepoch\tpower\n{0}\t100\n{1}\t100\n{2}\t100\n", {}),
        ("# WattsUp\nt,W\n{0}000,100\n{1}000,100\n{2}000,100\n", {}),  # milliseconds
        ("time,Wh\n{0},5\n{1},5.0277777778\n{2},5.0555555556\n", {}),
        ("date,time,watts\n2026-03-01,13:00:00,100\n2026-03-01,13:00:01,100\n2026-03-01,13:00:02,100\n",
         {"zone": "Europe/Berlin"}),
        ("time,watts\n2026-03-01 12:30:00,100\n2026-03-01 12:30:01,100\n2026-03-01 12:30:02,100\n",
         {"zone": "+00:30"}),
        ("time,watts\n2026-03-01T17:00:05+05:00,100\n2026-03-01T17:00:06+05:00,100\n2026-03-01T17:00:07+05:00,100\n",
         {"ahead_s": 5.0}),
        ("time,watts,Steckdose 2 [kW]\n{0},7,.1\n{1},7,.1\n{2},7,.1\n", {"column": "Steckdose 2 [kW]"}),
    ],
)  # fmt: skip
def test_files_of_many_meters(text: str, options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    path.write_text(text.format(*(round(NOON_S) + second for second in range(3))))
    log = read_power_csv(path, **options)  # type: ignore[arg-type]
    assert log.between(NOON_S, NOON_S + 2) == pytest.approx(200, rel=1e-6)


def test_gaps_and_missing_values_stay_missing(tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    path.write_text("t,w\n100,10\n101,10\n102,10\n110,10\n111,10\n112,-\n113,10\n113,10\n114,10\n")
    log = read_power_csv(path)
    assert log.between(99, 102) == 30
    assert log.between(109, 111) == 20
    assert log.between(112, 114) == 20
    assert all(map(math.isnan, (log.between(101, 111), log.between(103, 104), log.between(111, 113))))
    path.write_text("t,w\n100,10\n101,10\n102,10\n103,-1x")  # a meter that is writing
    assert read_power_csv(path).between(99, 102) == 30
    path.write_text("t,joules\n100,10\n101,20\n102,3\n103,9\n")  # a meter that was started again
    log = read_power_csv(path)
    assert (log.between(100, 101), log.between(102, 103)) == (10, 6)
    assert math.isnan(log.between(100, 103))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found no rows"),
        ("time,watts\n", "found no rows"),
        ("a,b\n1,2\n", "found no column of time among a, b"),
        ("time,watts\nyesterday,5\n", "line 2: found the time 'yesterday'; must be an ISO time"),
        ("time,watts\n1,five\n", "line 2: found 'five'; must be a number"),
        ("time,watts\n1,-5\n", "must not be negative"),
        ("time,watts\n2,5\n1,5\n", "line 3: goes back in time"),
        ("time,watts\n" + "x,5\n" * 9, "4 more lines like these"),
    ],
)
def test_bad_files_are_told_where_and_why(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_power_csv(path)
    assert said in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "meter.csv"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_power_csv(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not a text file"):
        read_power_csv(path)
    path.write_text("t,w\n1,2\n")
    with pytest.raises(InputError, match="found the time zone 'Mars'"):
        read_power_csv(path, zone="Mars")
