"""Train a small policy that nudges the prices of the policy Prices: an evolution strategy in plain NumPy.

    python train.py 4        # minutes; it is judged on days that it has not seen

A policy is a matrix from what is seen to nudges, and starts at zero, which is Prices itself. Each generation tries
pairs of opposite changes on a few days and moves along those that earned more.
"""

import sys
import time
from pathlib import Path

import gymnasium
import numpy as np

import joulewise as jw
import joulewise.gym
from joulewise.confidence import student_quantile

STUDY = Path(__file__).with_name("training.toml")
N_PAIRS, N_DAYS, SPREAD, RATE = 6, 2, 0.1, 0.1
HELD_OUT = range(1_000, 1_020)
PUBLISHED = ("max-max-upt", "max-max-upe", "max-max-util", "prioritized-lcfs-all", "prices")


def share(env, weights, trial):
    """What a policy earns on a day, as a part of the bound."""
    seen, info = env.reset(seed=trial)
    is_over = False
    while not is_over:
        seen, _, is_over, _, info = env.step(np.tanh(weights @ np.append(seen, 1.0)))
    return info["utility"] / info["bound"]


def trained(env, seconds, seed=0):
    """The policy after so many seconds, and after how many generations."""
    rng, began, n = np.random.default_rng(seed), time.monotonic(), 0
    weights = np.zeros((env.action_space.shape[0], env.observation_space.shape[0] + 1))
    while time.monotonic() - began < seconds:
        days = rng.integers(0, 1_000, N_DAYS)
        changes = rng.normal(size=(N_PAIRS, *weights.shape))
        gains = [sum(share(env, weights + s * SPREAD * c, int(d)) * s for s in (1, -1) for d in days) for c in changes]
        gains = np.array(gains) / (np.std(gains) + 1e-9)
        weights, n = weights + RATE * SPREAD * np.tensordot(gains, changes, 1), n + 1
    return weights, n


def published(env, policy, trial):
    """What a policy of the tables earns on a day, as a part of the bound."""
    env.reset(seed=trial)
    day = env.unwrapped.day
    outcome = jw.run(day.world, day.managed_by(jw.POLICIES[policy]))
    return jw.measures(day.world, outcome)["utility"] / day.utility_bound


def line(name, values):
    """A mean in percent, with its 95 % interval over days."""
    half = student_quantile(len(values)) * np.std(values, ddof=1) / len(values) ** 0.5
    return f"{name:24} {100 * np.mean(values):7.2f} ± {100 * half:.2f}"


if __name__ == "__main__":
    made = gymnasium.make(joulewise.gym.TASKS, study=STUDY, actions="prices", disable_env_checker=True)
    policy, n_generations = trained(made, 60 * float(sys.argv[1]))
    shares = {name: np.array([published(made, name, day) for day in HELD_OUT]) for name in PUBLISHED}
    shares["trained"] = np.array([share(made, policy, day) for day in HELD_OUT])
    print(f"{n_generations} generations; percent of the proven bound on {len(HELD_OUT)} days held out")
    for name, values in shares.items():
        print(line(name, values))
    print(line("trained less prices", shares["trained"] - shares["prices"]))
