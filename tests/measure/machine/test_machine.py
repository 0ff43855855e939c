"""Topology and surroundings, read from the recorded trees of several generations of processors."""

from __future__ import annotations

import os
from pathlib import Path

from joulewise.measure.machine.machine import Cache, read_machine
from joulewise.measure.machine.processor import surroundings
from joulewise.measure.machine.survey import pinning
from joulewise.measure.machine.system_files import core_list, cores_in
from tests.strategies import trees


def test_a_desktop_of_2012(tmp_path: Path) -> None:
    machine = read_machine(trees.ivy_bridge(tmp_path))
    assert machine.model == "Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz"
    assert machine.siblings == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert machine.last_level == (Cache(3, "Unified", 8 * 2**20, tuple(range(8))),)
    assert machine.separate_cores() == (0, 1, 2, 3, 4, 5, 6, 7)
    assert (machine.frequencies_mhz, machine.has_any_frequency) == ((1600, 1700, 2600, 3400), False)  # without turbo
    assert machine.memory_bytes == 16374452 * 1024
    assert (machine.nodes, machine.core_quota) == ((tuple(range(8)),), None)


def test_two_sockets_one_after_the_other(tmp_path: Path) -> None:
    machine = read_machine(trees.xeon(tmp_path))
    assert [cache.cores for cache in machine.last_level] == [(0, 2, 4, 6), (1, 3, 5, 7)]
    assert machine.nodes == ((0, 2, 4, 6), (1, 3, 5, 7))
    assert machine.separate_cores() == (0, 2, 1, 3, 4, 6, 5, 7)
    assert (machine.frequencies_mhz, machine.has_any_frequency) == ((800, 2600, 3900), True)
    assert machine.governors == ("performance", "powersave")


def test_several_last_level_caches_and_a_core_that_is_off(tmp_path: Path) -> None:
    machine = read_machine(trees.epyc(tmp_path))
    assert 1 not in machine.cores
    assert [cache.cores for cache in machine.last_level] == [(0, 8, 9), (2, 3, 10, 11), (4, 5, 12, 13), (6, 7, 14, 15)]
    assert machine.siblings[-1] == (9,)  # its other half is core 1
    assert machine.separate_cores()[:8] == (2, 3, 4, 5, 6, 7, 0, 9)


def test_an_arm_server(tmp_path: Path) -> None:
    machine = read_machine(trees.arm_server(tmp_path))
    assert (machine.model, machine.siblings) == ("Neoverse-N1", ((0,), (1,), (2,), (3,)))
    assert machine.separate_cores() == (0, 1, 2, 3)


def test_fast_cores_of_a_hybrid_come_first(tmp_path: Path) -> None:
    machine = read_machine(trees.hybrid(tmp_path))
    assert machine.kinds == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert machine.separate_cores() == (0, 2, 4, 5, 6, 7, 1, 3)
    assert machine.frequencies_mhz == (800, 2600, 3300)  # what all of them can do
    assert "not all alike, fastest first: 0-3; 4-7" in pinning(machine).found


def test_a_bare_container_with_limits(tmp_path: Path) -> None:
    root = trees.container(tmp_path)
    machine = read_machine(root)
    assert (machine.cores, machine.caches, machine.frequencies_mhz) == ((0, 1), (), ())
    assert (machine.memory_bytes, machine.core_quota, surroundings(root)) == (1 << 30, 1.5, "a container")
    found = pinning(machine)
    assert found.is_available
    assert "the time of 1.5 cores only" in found.found


def test_this_machine_and_an_empty_tree(tmp_path: Path) -> None:
    assert set(read_machine().cores) == os.sched_getaffinity(0) == set(read_machine(tmp_path).cores)
    assert read_machine(tmp_path).memory_bytes > 0


def test_lists_of_cores() -> None:
    assert cores_in("0-2,8\n") == (0, 1, 2, 8)
    assert core_list(cores_in("0-2,8,9")) == "0-2,8-9"
    assert cores_in("none") == cores_in("") == ()
