"""Days as an environment: what Gymnasium asks, exact rewards, seeds, masks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.gym import TASKS
from joulewise.gym.tasks.days import BUNDLED
from joulewise.gym.tasks.env import Tasks
from joulewise.kernels.choice import in_order
from joulewise.kernels.tasks.window import QUEUE_UNIT, WAIT_UNIT_S
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from joulewise.simulate.tasks.window import entries

SHORT = BUNDLED.read_text("utf-8").replace('day = "4 h"', 'day = "1 h"').replace("600", "150").replace("23 MJ", "6 MJ")
ADDITIONS = {
    "budget": "",
    "polled": 'environment = "polled"',
    "clock": 'mapping_interval = "5 min"\nenergy_filter = "adaptive"',
}


def study(folder: Path, addition: str = "", text: str = SHORT) -> Path:
    """A file of short days."""
    (folder / "short.toml").write_text(text + addition + "\n", encoding="utf-8")
    return folder / "short.toml"


def at_random(env: Tasks, seed: int) -> list[float]:
    """The rewards of an episode of allowed actions at random."""
    _, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards, is_over = [], False
    while not is_over:
        mask = info["action_mask"] if env.action_space.shape == () else None
        _, reward, is_over, _, info = env.step(env.action_space.sample(mask))
        rewards.append(reward)
    assert info["regret"] == info["bound"] - info["utility"] >= 0.0
    return rewards


@pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS)
@pytest.mark.parametrize("actions", ["choices", "prices"])
def test_rewards_are_the_utility_of_a_valid_day(tmp_path: Path, addition: str, actions: str) -> None:
    env = Tasks(study(tmp_path, addition), actions=actions)
    total = 0.0
    for reward in at_random(env, 3):
        total += reward
    outcome, turns = env.outcome(), env._begun().turns
    assert check_allocation(env.day.world, outcome.allocation, turns.manager) == []
    assert total == env._utility > 0.0
    assert total == pytest.approx(measures(env.day.world, outcome)["utility"], rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("actions", ["choices", "prices"])
def test_gymnasium_finds_nothing_odd(tmp_path: Path, actions: str) -> None:
    check_env(Tasks(study(tmp_path), actions=actions), skip_render_check=True)


def test_no_nudge_is_the_policy_prices(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path), actions="prices")
    env.reset(seed=1)
    while not env.step(np.zeros(env.action_space.shape or ()))[2]:
        pass
    theirs = simulate(env.day.world, env.day.managed_by(POLICIES["prices"])).allocation
    np.testing.assert_array_equal(env.outcome().allocation.start_s, theirs.start_s)


def test_a_seed_is_a_day(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path))
    assert at_random(env, 5) == at_random(env, 5) != at_random(env, 6)
    assert env.trial == 6


def shares(value: float, unit: float) -> float:
    return value / (value + unit)


def test_what_is_seen_is_what_its_names_say(tmp_path: Path) -> None:
    """Numbers of the kernel beside those of plain Python, by name, for the tasks of the window."""
    env = Tasks(study(tmp_path), order="arrival", window=3)
    seen, info = env.reset(seed=2)
    for _ in range(40):
        seen, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    game: Any = env._begun()
    world, state, tasks = env.day.world, game.turns.engine.state, game.window.task
    named = dict(zip(entries(world.system, 3), seen.tolist(), strict=True))
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
            expected = float(earned) / world.workload.scale.max()
            assert named[f"place {place}, {kind}, P-state 0: earns"] == pytest.approx(expected, rel=1e-6)
    assert in_order(np.zeros(3), world.workload.arrival_s[tasks], tasks).tolist() == [0, 1, 2]


def test_what_the_mask_forbids_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path))
    seen, info = env.reset(seed=1)
    forbidden = int(info["action_mask"].argmin())
    after, reward, is_over, _, told = env.step(forbidden)
    assert f"found the action {forbidden} (place " in told["refused"]
    assert (reward, is_over) == (0.0, False)
    np.testing.assert_array_equal(after, seen)
    assert env.action_masks().tolist() == (info["action_mask"] == 1).tolist()


@pytest.mark.parametrize("action", [-1, 10_000, 0.5, "close", None, [0], np.nan])
def test_what_is_no_choice_is_an_error(tmp_path: Path, action: object) -> None:
    env = Tasks(study(tmp_path))
    env.reset(seed=1)
    with pytest.raises(InputError, match="must be a whole number from 0 to"):
        env.step(action)


@pytest.mark.parametrize("action", [0, [0.0], [np.nan] * 6, [2.0] * 6, "up", None])
def test_what_is_no_nudge_is_an_error(tmp_path: Path, action: object) -> None:
    env = Tasks(study(tmp_path), actions="prices")
    env.reset(seed=1)
    with pytest.raises(InputError, match="must be 6 numbers from -1 to 1"):
        env.step(action)


def test_steps_outside_a_day_are_errors(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path))
    with pytest.raises(InputError, match="found no day that has begun"):
        env.step(0)
    at_random(env, 1)
    with pytest.raises(InputError, match="found a day that is over"):
        env.step(0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"actions": "choice"}, "did you mean 'choices'"),
        ({"order": "value"}, "must be one of arrival, worth"),
        ({"window": 0}, "must be a whole number, 1 or more"),
        ({"window": 1.5}, "must be a whole number, 1 or more"),
        ({"render_mode": "human"}, "must be one of svg"),
        ({"study": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_what_makes_no_environment_is_an_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tasks(**given)


def test_studies_that_are_no_days_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found 2 points"):
        Tasks(study(tmp_path, text=SHORT.replace("0.5 ", "[0.5, 1.0] ")))
    with pytest.raises(InputError, match="an agent suspends no task"):
        Tasks(study(tmp_path, 'environment = "polled"\npreempts = true', SHORT.replace('budget = "6 MJ"', "")))
    with pytest.raises(InputError, match="must be 0 or more: it is the trial"):
        Tasks(study(tmp_path)).reset(seed=-1)


def test_it_is_made_by_its_name_and_several_at_once(tmp_path: Path) -> None:
    assert isinstance(gymnasium.make(TASKS, study=study(tmp_path)).unwrapped, Tasks)
    several = gymnasium.make_vec(TASKS, 2, study=study(tmp_path))
    seen, info = several.reset(seed=4)
    assert seen.shape[0] == info["action_mask"].shape[0] == 2
    assert several.step(info["action_mask"].argmax(axis=1))[1].tolist() == [0.0, 0.0]
    several.close()


@pytest.mark.thorough("draws a picture")
def test_a_picture_of_the_day(tmp_path: Path) -> None:
    env = Tasks(study(tmp_path), render_mode="svg")
    at_random(env, 1)
    assert env.render().startswith("<svg")  # type: ignore[union-attr]
