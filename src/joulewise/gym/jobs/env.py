"""Days of parallel jobs as an environment."""

from __future__ import annotations

from pathlib import Path

from joulewise.gym.days import EXAMPLES, System
from joulewise.gym.env import UTILITY, Environment
from joulewise.gym.jobs.day import day_of
from joulewise.gym.jobs.games import ChoosingJobs, SteeringJobs
from joulewise.gym.modes import CHOICES, PRICES, Look

SLOWDOWN = "slowdown"


class Jobs(Environment):
    """A day of parallel jobs of a study, a new one at each reset: `reset(seed=7)` is trial 7 of the study.

    With `actions="choices"` an action starts one of the first `window` waiting jobs, in the `order` of "worth" per
    core-second or "arrival", on a cluster in a P-state; the last action closes the event, and what waits waits on. An
    action that the mask does not allow changes nothing, and `info["refused"]` says why. With `actions="prices"` the
    policy Prices decides, and an action nudges its prices before every event.

    With `reward="utility"`, rewards are what jobs earn in the counted window, at the step after which it is known how
    they end: at their start or, where times are not as planned or nodes fail, at their end. With "slowdown" they are
    the negative of their bounded slowdowns. Sums in order are `info["utility"]` and `info["slowdown"]` to the last bit.
    A job that came in the counted window and had no nodes by its end has the slowdown that it would have if it started
    then. `info["bound"]` is what nobody could earn more than, and at the end `info["regret"]` what is missing to it.
    Raises InputError for what is no study, window, order, reward or action, and for steps outside a day.
    """

    system = System(
        "jobs", "[scheduler]", day_of, {CHOICES: ChoosingJobs, PRICES: SteeringJobs}, {UTILITY: 1, SLOWDOWN: -1},
        "gantt", "clusters, P-states and sizes of jobs",
    )  # fmt: skip

    def __init__(
        self,
        study: str | Path = EXAMPLES / "training-jobs.toml",
        *,
        actions: str = CHOICES,
        window: int = 8,
        order: str = "worth",
        reward: str = UTILITY,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(study, actions, Look(window, order), reward, render_mode)
