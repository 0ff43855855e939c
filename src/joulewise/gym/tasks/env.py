"""Days of serial tasks as an environment."""

from __future__ import annotations

from pathlib import Path

from joulewise.gym.days import EXAMPLES, System
from joulewise.gym.env import UTILITY, Environment
from joulewise.gym.modes import CHOICES, PRICES, Look
from joulewise.gym.tasks.day import day_of
from joulewise.gym.tasks.games import ChoosingTasks, SteeringTasks


class Tasks(Environment):
    """A day of tasks of a study, a new one at each reset: `reset(seed=7)` is trial 7 of the study.

    With `actions="choices"` an action is one of the first `window` waiting tasks, in the `order` of "worth" per second
    or "arrival", on a machine type in a P-state; the last action closes the event. An action that the mask does not
    allow changes nothing, and `info["refused"]` says why. With `actions="prices"` the policy Prices decides, and an
    action nudges its prices before every event.

    Rewards are what tasks earn in the counted window, at the step after which that is known: when they are
    fixed or, where times are uncertain or machines fail, when they have ended. Their sum in order
    is `info["utility"]` to the last bit. `info["bound"]` is what nobody could exceed, and at the end `info["regret"]`
    what is missing to it. Raises InputError for what is no study, window, order or action, and for steps outside a day.
    """

    system = System(
        "managed", "[manager]", day_of, {CHOICES: ChoosingTasks, PRICES: SteeringTasks}, {UTILITY: 1}, "task-gantt",
        "machine types and P-states",
    )  # fmt: skip

    def __init__(
        self,
        study: str | Path = EXAMPLES / "training.toml",
        *,
        actions: str = CHOICES,
        window: int = 8,
        order: str = "worth",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(study, actions, Look(window, order), render_mode=render_mode)
