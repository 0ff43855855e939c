"""The counting units of processors whose cores are not all alike, and their numbers of events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from joulewise.measure.meters.perf_events import (
    CYCLES,
    INSTRUCTIONS,
    LAST_LEVEL_READ_MISSES,
    ZEN_FILLS_FROM_MEMORY,
    counting_units,
    on_unit,
)
from tests.strategies import trees

EVENTS = (INSTRUCTIONS, CYCLES, LAST_LEVEL_READ_MISSES)


def one_unit(root: Path) -> Path:
    return trees.unit(trees.arm_server(root), "armv8_pmuv3_0", {"type": 8, "cpus": "0-3"})


@pytest.mark.parametrize(
    ("tree", "wanted"),
    [
        (one_unit, [(0, 1), (0, 0), (3, 0x10002)]),
        (trees.hybrid, [(0, 10 << 32 | 1), (0, 10 << 32), (3, 10 << 32 | 0x10002),
                        (0, 4 << 32 | 1), (0, 4 << 32), (3, 4 << 32 | 0x10002)]),
        (trees.big_little, [(7, 0x08), (7, 0x11), (3, 7 << 32 | 0x10002), (8, 0x08), (8, 0x11), (8, 0x37)]),
    ],
)  # fmt: skip
def test_units_are_those_that_have_cores(
    tree: Callable[[Path], Path], wanted: list[tuple[int, int]], tmp_path: Path
) -> None:
    units = counting_units(tree(tmp_path))
    assert [on_unit(event, unit) for unit in units for event in EVENTS] == wanted
    assert on_unit(ZEN_FILLS_FROM_MEMORY, units[0]) == (units[0].number or 4, 0x4843)
