"""Days as an environment: what Gymnasium asks, exact rewards, seeds, masks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from joulewise.check.jobs.allocation import check_jobs
from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.gym import JOBS, TASKS
from joulewise.gym.env import Environment
from joulewise.gym.picture import SIZE
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.jobs.measures import job_measures
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.gym.days import MADE, VARIANTS, at_random, made, study

pytestmark = pytest.mark.thorough("compiles what policies from outside see")

IDS = {"tasks": TASKS, "jobs": JOBS}
SYSTEMS, MODES = list(MADE), ["choices", "prices"]
ENDLESS = ("killed", "moldable")
PLAYED = [(*variant, mode) for variant in VARIANTS for mode in MODES if mode == "choices" or variant[1] not in ENDLESS]
"""All but Prices in a counted window without an end, which it refuses."""


def found(env: Environment) -> dict[str, Any]:
    """What broke a rule in what was decided, which must be nothing, and the measures of it."""
    outcome, turns = env.outcome(), env._begun().turns
    if env.system.kind == "managed":
        assert check_allocation(env.day.world, outcome.allocation, turns.manager) == []
        return dict(measures(env.day.world, outcome))
    assert check_jobs(env.day.world, outcome.allocation, turns.scheduler) == []
    return dict(job_measures(env.day.world, outcome.allocation))


@pytest.mark.parametrize(("system", "variant", "actions"), PLAYED)
def test_rewards_are_the_utility_of_a_valid_day(tmp_path: Path, system: str, variant: str, actions: str) -> None:
    env = MADE[system][0](study(tmp_path, VARIANTS[system, variant]), actions=actions)  # type: ignore[call-arg]
    total = 0.0
    for reward in at_random(env, 3):
        total += reward
    assert total == env._sums["utility"] >= 0.0
    assert total == pytest.approx(found(env)["utility"], rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("actions", MODES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_gymnasium_finds_nothing_odd(tmp_path: Path, system: str, actions: str) -> None:
    check_env(made(tmp_path, system, actions=actions), skip_render_check=True)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_nudge_is_the_policy_prices(tmp_path: Path, system: str) -> None:
    env = made(tmp_path, system, actions="prices")
    env.reset(seed=1)
    while not env.step(np.zeros(env.action_space.shape or ()))[2]:
        pass
    day: Any = env.day
    policy = env._begun().turns.engine.policy if system == "jobs" else day.manager.policy
    assert policy.name == "prices"
    assert env._sums["utility"] == pytest.approx(day.earned_by(policy), rel=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_seed_is_a_day(tmp_path: Path, system: str) -> None:
    env = made(tmp_path, system)
    assert at_random(env, 5) == at_random(env, 5) != at_random(env, 6)
    assert env.trial == 6
    assert at_random(made(tmp_path, system), 6) == at_random(env, 6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_the_mask_forbids_is_refused_and_changes_nothing(tmp_path: Path, system: str) -> None:
    env = made(tmp_path, system)
    seen, info = env.reset(seed=1)
    forbidden = int(info["action_mask"].argmin())
    after, reward, is_over, _, told = env.step(forbidden)
    assert f"found the action {forbidden} (place " in told["refused"]
    assert (reward, is_over) == (0.0, False)
    np.testing.assert_array_equal(after, seen)
    assert env.action_masks().tolist() == (info["action_mask"] == 1).tolist()


def test_a_day_of_refused_actions_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.gym.env.MOST_REFUSED", 3)
    env = made(tmp_path)
    forbidden = int(env.reset(seed=1)[1]["action_mask"].argmin())
    assert [env.step(forbidden)[3] for _ in range(3)] == [False, False, True]


def test_prices_have_no_mask_and_days_no_options(tmp_path: Path) -> None:
    env = made(tmp_path, actions="prices")
    assert "action_mask" not in env.reset(seed=1)[1]
    with pytest.raises(InputError, match="options: found trial; there are none"):
        env.reset(options={"trial": 5})


@pytest.mark.parametrize("seed", [2, 3])
def test_a_policy_that_draws_earns_by_trial(tmp_path: Path, seed: int) -> None:
    day: Any = made(tmp_path)._days.of(seed)
    own = simulate(day.world, day.managed_by(POLICIES["random-batch"]), day.draw.seed, seed)
    assert day.earned_by(POLICIES["random-batch"]) == measures(day.world, own)["utility"]


@pytest.mark.parametrize("action", [-1, 10_000, 0.5, "close", None, [0], np.nan])
def test_what_is_no_choice_is_an_error(tmp_path: Path, action: object) -> None:
    env = made(tmp_path)
    env.reset(seed=1)
    with pytest.raises(InputError, match="must be a whole number from 0 to"):
        env.step(action)


@pytest.mark.parametrize("action", [0, [0.0], [np.nan] * 6, [2.0] * 6, "up", None])
def test_what_is_no_nudge_is_an_error(tmp_path: Path, action: object) -> None:
    env = made(tmp_path, actions="prices")
    env.reset(seed=1)
    with pytest.raises(InputError, match="must be 6 numbers from -1 to 1"):
        env.step(action)


def test_steps_outside_a_day_are_errors(tmp_path: Path) -> None:
    env = made(tmp_path)
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
        ({"reward": "speed"}, "must be one of utility, slowdown"),
        ({"window": 0}, "must be a whole number, 1 or more"),
        ({"window": 1.5}, "must be a whole number, 1 or more"),
        ({"render_mode": "human"}, "must be one of svg, rgb_array"),
        ({"study": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_what_makes_no_environment_is_an_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MADE["jobs"][0](**{"study": "nowhere.toml", **given})


@pytest.mark.parametrize(
    ("system", "change", "message"),
    [
        ("tasks", lambda text: text.replace("0.5 ", "[0.5, 1.0] "), "found 2 points"),
        ("jobs", lambda text: text.replace("0.5 ", "[0.5, 1.0] "), "found 2 points"),
        ("tasks", lambda _: VARIANTS["jobs", "budget"], r"must have a \[manager\]"),
        ("jobs", lambda _: VARIANTS["tasks", "budget"], r"must have a \[scheduler\]"),
        (
            "tasks",
            lambda text: text.replace('budget = "6 MJ"', "") + 'environment = "polled"\npreempts = true\n',
            "an agent suspends no task",
        ),
        (
            "jobs",
            lambda text: text.replace('budget = "100 MJ"', "") + "preempts = true\n",
            "an agent suspends no job",
        ),
    ],
)
def test_studies_that_are_no_days_are_errors(tmp_path: Path, system: str, change: Any, message: str) -> None:
    kind, text = MADE[system]
    with pytest.raises(InputError, match=message):
        kind(study(tmp_path, change(text)))  # type: ignore[call-arg]


def test_prices_need_a_day_that_ends(tmp_path: Path) -> None:
    env = MADE["jobs"][0](study(tmp_path, VARIANTS["jobs", "moldable"]), actions="prices")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="found a counted window without an end"):
        env.reset(seed=0)


def test_a_seed_below_0_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be 0 or more: it is the trial"):
        made(tmp_path).reset(seed=-1)


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_is_made_by_its_name_and_several_at_once(tmp_path: Path, system: str) -> None:
    short = study(tmp_path, MADE[system][1])
    alone = gymnasium.make(IDS[system], study=short)
    assert isinstance(alone.unwrapped, MADE[system][0])
    several = gymnasium.make_vec(IDS[system], 2, study=short)
    seen, info = several.reset(seed=4)
    np.testing.assert_array_equal(seen[1], alone.reset(seed=5)[0])
    assert info["action_mask"].shape[0] == 2
    assert several.step(info["action_mask"].argmax(axis=1))[1].tolist() == [0.0, 0.0]
    several.close()


@pytest.mark.parametrize("system", SYSTEMS)
def test_several_in_processes_of_their_own(tmp_path: Path, system: str) -> None:
    short = study(tmp_path, MADE[system][1])
    ways = [gymnasium.make_vec(IDS[system], 2, vectorization_mode=way, study=short) for way in ("sync", "async")]
    (seen, info), (theirs, _) = (several.reset(seed=4) for several in ways)
    np.testing.assert_array_equal(seen, theirs)
    for _ in range(20):
        (seen, *_, info), (theirs, *_) = (several.step(info["action_mask"].argmax(axis=1)) for several in ways)
        np.testing.assert_array_equal(seen, theirs)
    for several in ways:
        several.close()


@pytest.mark.parametrize("system", SYSTEMS)
def test_before_anything_ran_there_is_nothing_to_draw(tmp_path: Path, system: str) -> None:
    env = made(tmp_path, system, render_mode="svg")
    env.reset(seed=1)
    assert env.render() == '<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("system", SYSTEMS)
def test_gymnasium_finds_nothing_odd_in_pictures(tmp_path: Path, system: str) -> None:
    check_env(gymnasium.make(IDS[system], study=study(tmp_path, MADE[system][1])).unwrapped)


@pytest.mark.parametrize("system", SYSTEMS)
def test_pictures_of_the_day(tmp_path: Path, system: str) -> None:
    env = made(tmp_path, system, render_mode="rgb_array")
    env.reset(seed=1)
    empty = env.render()
    at_random(env, 1)
    drawn = env.render()
    assert empty.shape == drawn.shape == (*SIZE, 3)
    assert empty.dtype == np.uint8
    assert (empty == 255).all()
    assert np.unique(drawn.reshape(-1, 3), axis=0).shape[0] > 5
    env.render_mode = "svg"
    assert env.render().startswith("<svg")
