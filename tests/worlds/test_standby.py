"""Idle, sleeping and booting machines of generated systems."""

from __future__ import annotations

import math
from typing import Any

import pytest

from joulewise.errors import InputError
from joulewise.worlds.environment import SystemParameters, generate_system


def test_machines_draw_nothing_unless_asked() -> None:
    assert generate_system(SystemParameters(), 0, 0).standby is None


def test_all_machine_types_stand_by_alike() -> None:
    idle = generate_system(SystemParameters(idle_power_w=20.0), 0, 0).standby
    assert idle is not None
    assert (set(idle.idle_w), set(idle.sleep_after_s)) == ({20.0}, {math.inf})
    parameters = SystemParameters(
        idle_power_w=20.0, sleep_after_s=600.0, sleep_power_w=2.0, boot_power_w=50.0, boot_delay_s=30.0
    )
    asleep = generate_system(parameters, 0, 0).standby
    assert asleep is not None
    columns = (asleep.idle_w, asleep.sleep_w, asleep.boot_w, asleep.boot_s, asleep.sleep_after_s)
    assert [column.tolist() for column in columns] == [[value] * 13 for value in (20.0, 2.0, 50.0, 30.0, 600.0)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"idle_power_w": -1.0}, "system.idle_power_w: found -1.0; must be 0 W or more"),
        ({"sleep_after_s": 1.0, "sleep_power_w": 1.0}, "must not be above idle_power"),
        ({"boot_delay_s": 5.0}, "system.boot_delay_s: found 5.0; needs sleep_after"),
        ({"sleep_after_s": -1.0}, "system.sleep_after_s: found -1.0; must be 0 s or more"),
        ({"sleep_after_s": 1.0, "boot_delay_s": math.inf}, "system.boot_delay_s: found inf; must be 0 s or more"),
    ],
)
def test_wrong_values(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        SystemParameters(**values)
    assert words in str(caught.value)


def test_running_takes_more_than_idling() -> None:
    with pytest.raises(InputError, match="must not be below the idle power"):
        generate_system(SystemParameters(idle_power_w=500.0), 0, 0)
