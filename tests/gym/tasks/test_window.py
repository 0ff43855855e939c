"""What an agent sees of tasks, beside plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.gym.tasks.env import Tasks
from joulewise.kernels.choice import in_order
from joulewise.kernels.window import QUEUE_UNIT, WAIT_UNIT_S
from tests.gym.days import VARIANTS, at_random, made, study

pytestmark = pytest.mark.thorough("compiles what policies from outside see")


def shares(value: float, unit: float) -> float:
    return value / (value + unit)


def test_what_is_seen_is_what_its_names_say(tmp_path: Path) -> None:
    """Numbers of the kernel beside those of plain Python, by name, for the tasks of the window."""
    env = made(tmp_path, order="arrival", window=3)
    seen, info = env.reset(seed=2)
    for _ in range(40):
        seen, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    game: Any = env._begun()
    world, state, tasks = env.day.world, game.turns.engine.state, game.window.task
    named = dict(zip(env.entries, seen.tolist(), strict=True))
    now_s = float(state.clock.instants[2])
    n_waiting = int((tasks >= 0).sum() + game.window.line.size[0])
    assert named["waiting"] == pytest.approx(shares(n_waiting, QUEUE_UNIT), rel=1e-6)
    for place, i in enumerate(tasks.tolist()):
        assert named[f"place {place}: there"] == float(i >= 0)
        if i < 0:
            continue
        waited_s = now_s - world.workload.arrival_s[i]
        assert named[f"place {place}: waited"] == pytest.approx(shares(waited_s, WAIT_UNIT_S), rel=1e-6)
        for k, kind in enumerate(world.system.machine_types):
            m, exec_s = int(game.window.machine[k]), world.system.etc_s[world.workload.task_type[i], k, 0]
            is_allowed = bool(info["action_mask"][(place * world.system.n_machine_types + k) * 2])
            earned = world.workload.utility(i, state.machines.free_s[m] + exec_s) if is_allowed else 0.0
            expected = min(float(earned) / env._days.of(0).most, 1.0)
            assert named[f"place {place}, {kind}, P-state 0: earns"] == pytest.approx(expected, rel=1e-6)
    assert in_order(np.zeros(3), world.workload.arrival_s[tasks], tasks).tolist() == [0, 1, 2]


def test_what_is_not_certain_is_earned_when_it_has_ended(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path, VARIANTS["tasks", "uncertain"]))
    _, info = env.reset(seed=2)
    n_running, is_over = 0, False
    while not is_over:
        _, _, is_over, _, info = env.step(int(info["action_mask"].argmax()))
        plan, now_s = env.outcome().allocation, env._begun().turns.engine.state.clock.instants[2]
        ended = np.flatnonzero(plan.ran & (plan.end_s <= now_s))
        ended = ended[env.day.world.workload.in_window(plan.end_s[ended])]
        if not is_over and info["action_mask"][:-1].any():
            n_running += int((plan.ran & (plan.end_s > now_s)).sum())
            assert info["utility"] <= env.day.world.workload.utility(ended, plan.end_s[ended]).sum() * (1 + 1e-12)
    assert n_running > 0
    assert sum(at_random(env, 2)) == env._sums["utility"]
