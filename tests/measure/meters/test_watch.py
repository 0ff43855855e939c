"""The thread that reads all along, and the survey of what a machine can do."""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path

import pytest

from joulewise.measure.bench.setting import opened
from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.survey import survey
from joulewise.measure.meters.heat import Heat
from joulewise.measure.meters.rapl import Rapl
from joulewise.measure.meters.seen_clocks import clock_reader
from joulewise.measure.meters.watch import Watch
from joulewise.measure.plan.plan import parse_plan
from tests.strategies import trees

PROBES = ["times", "counters", "energy", "temperature", "frequency", "governor", "pinning"]


class Steady:
    """A meter of a machine that always takes 50 W."""

    name = "steady"

    def availability(self) -> Availability:
        return Availability("energy", True, "50 W")

    def read_j(self) -> float:
        return 50.0 * time.monotonic()


def test_everything_is_read_all_along(tmp_path: Path) -> None:
    root = trees.ivy_bridge(tmp_path)
    with Watch(Steady(), Heat(root), (0, 1), every_s=0.01, root=root) as watch:
        from_s = time.monotonic()
        watch.nudge()
        watch.sample()
        trees.write(root, {"sys/class/hwmon/hwmon1/temp1_input": 90000})
        trees.write(root, {f"{trees.CPU}/cpu1/cpufreq/scaling_cur_freq": 3400000})
        watch.sample()
        to_s = time.monotonic()
        assert watch.energy_j(from_s, to_s) > 0
        assert watch.hottest_c(from_s, to_s) == 90
        assert watch.mean_mhz(from_s, to_s, (0, 7)) == 1600 < watch.mean_mhz(from_s, to_s, (0, 1)) < 2500
        assert math.isnan(watch.energy_j(from_s, to_s + 3600))
        assert watch.meter_name == "steady"
        watch.forget()
        assert math.isnan(watch.energy_j(from_s, to_s))
        assert math.isnan(watch.mean_mhz(from_s, to_s, (0, 1)))
    assert "watch" not in {thread.name for thread in threading.enumerate()}


def test_without_probes_everything_is_missing() -> None:
    watch = Watch()
    watch.sample()
    from_s = time.monotonic()
    watch.sample()
    to_s = time.monotonic()
    read = (watch.energy_j(from_s, to_s), watch.hottest_c(from_s, to_s), watch.mean_mhz(from_s, to_s, (0,)))
    assert all(map(math.isnan, read))
    assert watch.meter_name == ""


def test_a_slow_meter_is_asked_until_it_covers_the_end() -> None:
    class Slow(Steady):
        def read_j(self) -> float:
            time.sleep(0.05)
            joules = super().read_j()
            time.sleep(0.05)
            return joules

    with Watch(Slow(), every_s=0.01) as watch:
        for _ in range(3):
            from_s = time.monotonic()
            time.sleep(0.03)
            to_s = time.monotonic()
            assert watch.energy_j(from_s, to_s) > 0


def test_clocks_are_read_where_they_are_true(tmp_path: Path) -> None:
    assert clock_reader(trees.xeon(tmp_path / "xeon"), (0, 1))() == {0: 2100, 1: 2100}
    bare = tmp_path / "bare"
    for flags, wanted in (("aperfmperf", {0: 2500.0}), ("aperfmperf hypervisor", {})):
        trees.cpuinfo(bare, {"cpu MHz": "2500.0", "flags": flags})
        assert clock_reader(bare, (0,))() == wanted


def test_a_survey_of_this_machine_and_of_one_that_has_everything(tmp_path: Path) -> None:
    here = survey()
    assert [one.name for one in here] == PROBES
    assert all(one.is_available or one.remedy for one in here)

    def opening(kind: int, number: int, pid: int) -> int:
        return os.open(os.devnull, os.O_RDONLY)

    def meanwhile(_: float) -> None:
        trees.write(root, {f"{trees.RAPL}/intel-rapl:0/energy_uj": 65_000_001_000})

    root = trees.ivy_bridge(tmp_path)
    there = survey(root, Rapl(root, sleep=meanwhile), opening)
    assert [one.name for one in there] == PROBES
    assert all(one.is_available and not one.remedy for one in there)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a core beside the measured one")
def test_the_laboratory_keeps_off_the_cores_that_it_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.measure.machine.holding.SHARED", tmp_path)
    first, *others = sorted(os.sched_getaffinity(0))
    text = f'name = "off"\ncores = [{first}]\n[[program]]\nname = "a"\ncommand = "true"\n'
    with opened(parse_plan(text, "off.toml", tmp_path), tmp_path):
        assert os.sched_getaffinity(0) == set(others)
    assert os.sched_getaffinity(0) == {first, *others}
