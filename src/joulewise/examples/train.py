"""Train a small policy that nudges the prices of the policy Prices: an evolution strategy in plain NumPy.

    python train.py 4             # minutes; it is judged on days that it has not seen
    python train.py 4 jobs        # days of parallel jobs (training-jobs.toml) instead of tasks

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

SYSTEMS = {
    "tasks": (joulewise.gym.TASKS, "training.toml", jw.POLICIES),
    "jobs": (joulewise.gym.JOBS, "training-jobs.toml", jw.jobs.POLICIES),
}
PUBLISHED = {
    "tasks": ("max-max-upt", "max-max-upe", "max-max-util", "prioritized-lcfs-all", "prices"),
    "jobs": ("easy", "max-util", "max-upr", "max-upe", "prices"),
}
N_PAIRS, N_DAYS, SPREAD, RATE = 6, 2, 0.1, 0.1
HELD_OUT = range(1_000, 1_020)


def made(system, **options):
    """The environment of a system, on the days of the study beside this file."""
    name, study, _ = SYSTEMS[system]
    return gymnasium.make(name, study=Path(__file__).with_name(study), disable_env_checker=True, **options)


def share(env, decide, trial):
    """What is earned on a day by who decides, as a part of the bound."""
    seen, info = env.reset(seed=trial)
    is_over = False
    while not is_over:
        seen, _, is_over, _, info = env.step(decide(seen, info.get("action_mask")))
    return info["utility"] / info["bound"]


def nudging(weights):
    """The policy of these weights."""
    return lambda seen, _: np.tanh(weights @ np.append(seen, 1.0))


def trained(env, seconds, seed=0):
    """The weights after so many seconds, and after how many generations."""
    rng, began, n = np.random.default_rng(seed), time.monotonic(), 0
    weights = np.zeros((env.action_space.shape[0], env.observation_space.shape[0] + 1))
    while time.monotonic() - began < seconds:
        days = rng.integers(0, 1_000, N_DAYS).tolist()
        changes = rng.normal(size=(N_PAIRS, *weights.shape)) * SPREAD
        gains = [sum(share(env, nudging(weights + s * c), d) * s for s in (1, -1) for d in days) for c in changes]
        gains = np.array(gains) / (np.std(gains) + 1e-9)
        weights, n = weights + RATE * np.tensordot(gains, changes, 1), n + 1
    return weights, n


def published(env, system):
    """What policies of the tables earn on the days held out, as parts of the bound."""
    policies, shares = SYSTEMS[system][2], {name: [] for name in PUBLISHED[system]}
    for trial in HELD_OUT:
        env.reset(seed=trial)
        day = env.unwrapped.day
        for name, found in shares.items():
            found.append(day.earned_by(policies[name]) / day.utility_bound)
    return shares


def line(name, values):
    """A mean in percent, with its 95 % interval over days."""
    half = student_quantile(len(values)) * np.std(values, ddof=1) / len(values) ** 0.5
    return f"{name:24} {100 * np.mean(values):7.2f} ± {100 * half:.2f}"


def judge(env, system, decide):
    """Print what everybody earns on the days held out."""
    shares = published(env, system)
    shares["trained"] = [share(env, decide, trial) for trial in HELD_OUT]
    print(f"percent of the proven bound on {len(HELD_OUT)} days held out")
    for name, values in shares.items():
        print(line(name, values))
    print(line("trained less prices", np.subtract(shares["trained"], shares["prices"])))


if __name__ == "__main__":
    asked = sys.argv[2] if len(sys.argv) > 2 else "tasks"
    environment = made(asked, actions="prices")
    matrix, n_generations = trained(environment, 60 * float(sys.argv[1]))
    print(f"{n_generations} generations")
    judge(environment, asked, nudging(matrix))
