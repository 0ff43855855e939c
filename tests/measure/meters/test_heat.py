"""Temperatures of several machines."""

from __future__ import annotations

import math
from pathlib import Path

from joulewise.measure.meters.heat import Heat
from tests.strategies import trees


def test_the_hottest_sensor_of_the_processor(tmp_path: Path) -> None:
    intel = Heat(trees.ivy_bridge(tmp_path / "intel"))
    assert intel.read_c() == 63
    assert intel.availability().found == "63 °C now (coretemp)"
    assert Heat(trees.epyc(tmp_path / "amd")).read_c() == 55  # not the control value, which is shifted
    assert Heat(trees.arm_server(tmp_path / "arm")).read_c() == 47  # neither the graphics nor a broken sensor


def test_no_sensor(tmp_path: Path) -> None:
    said = Heat(trees.container(tmp_path)).availability()
    assert not said.is_available
    assert "(a container)" in said.found
    assert "modprobe" in said.remedy
    assert math.isnan(Heat(tmp_path).read_c())
