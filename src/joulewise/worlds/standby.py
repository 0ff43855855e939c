"""What machines draw while they run nothing, as a study gives it for all machine types alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem
from joulewise.model import Standby
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative

_OF_SLEEP = ("sleep_power_w", "boot_power_w", "boot_delay_s")


@dataclass(frozen=True, kw_only=True)
class StandbyParameters:
    """Idle, sleeping and booting machines; by default, as published, they draw nothing and never sleep."""

    idle_power_w: float = explained(0.0, "power of a machine that is on and runs nothing")
    sleep_after_s: float | None = explained(
        None, "a machine sleeps after this time without a task; left out: machines never sleep"
    )
    sleep_power_w: float = explained(0.0, "power of a machine that sleeps")
    boot_power_w: float = explained(0.0, "power of a machine while it wakes up")
    boot_delay_s: float = explained(0.0, "time that a machine needs to wake up before its next task can start")


def standby_problems(p: StandbyParameters) -> Iterator[Problem]:
    """What is wrong with these parameters."""
    powers = ("idle_power_w", "sleep_power_w", "boot_power_w")
    rules = [(name, is_not_negative(getattr(p, name)), "must be 0 W or more") for name in powers]
    rules.append(("sleep_power_w", p.sleep_power_w <= p.idle_power_w, "must not be above idle_power"))
    rules.append(("boot_delay_s", is_not_negative(p.boot_delay_s), "must be 0 s or more"))
    if p.sleep_after_s is None:
        rules += [
            (name, getattr(p, name) == 0, "needs sleep_after: machines never sleep without it") for name in _OF_SLEEP
        ]
    else:
        rules.append(("sleep_after_s", is_not_negative(p.sleep_after_s), "must be 0 s or more"))
    yield from broken_rules("system", p, rules)


def standby_of(p: StandbyParameters, n_machine_types: int) -> Standby | None:
    """The same for every machine type; None when nothing is drawn and machines never sleep."""
    if p.idle_power_w == 0 and p.sleep_after_s is None:
        return None
    sleep_after_s = math.inf if p.sleep_after_s is None else p.sleep_after_s
    values = (p.idle_power_w, p.sleep_power_w, p.boot_power_w, p.boot_delay_s, sleep_after_s)
    return Standby(*(np.full(n_machine_types, value) for value in values))
