"""A day of serial tasks as an environment: what it is made from, its steps, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.gym.tasks.days import BUNDLED, Days
from joulewise.gym.tasks.modes import MODES, ORDERS, Game, Look, Seen
from joulewise.gym.tasks.picture import gantt
from joulewise.simulate.tasks.serial import Outcome

MOST_REFUSED = 10_000
"""After so many refused actions in a row nobody looks at the mask."""

_TRIALS = 2**31
"""Days that no seed names are drawn from so many."""


class Tasks(gymnasium.Env[Seen, Any]):
    """A day of tasks of a study, a new one at each reset: `reset(seed=7)` is trial 7 of the study.

    With `actions="choices"` an action is one of the first `window` waiting tasks, in the `order` of "worth" per second
    or "arrival", on a machine type in a P-state; the last action closes the event. An action that the mask does not
    allow changes nothing, and `info["refused"]` says why. With `actions="prices"` the policy Prices decides, and an
    action nudges its prices before every event.

    Rewards are what tasks earn in the counted window, at the step after which they are sure to run; their sum in order
    is `info["utility"]` to the last bit. `info["bound"]` is what nobody could exceed, and at the end `info["regret"]`
    what is missing to it. Raises InputError for what is no study, window, order or action, and for steps outside a day.
    """

    metadata = {"render_modes": ["svg"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        study: str | Path = BUNDLED,
        *,
        actions: str = "choices",
        window: int = 8,
        order: str = "worth",
        render_mode: str | None = None,
    ) -> None:
        raise_if_any(_problems(actions, window, order, render_mode))
        self.render_mode = render_mode
        self._look, self._mode, self._days = Look(window, order), MODES[actions], Days(Path(study))
        self._first = self._days.of(0).world.system
        self.action_space = self._mode.actions(self._first, self._look)
        self.observation_space: Space[Any] = self._mode.observations(self._first, self._look)
        self._game: Game | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin the day of a trial, or one at random."""
        if seed is not None and seed < 0:
            raise InputError(Problem("seed", f"found {seed}", "must be 0 or more: it is the trial of the study"))
        super().reset(seed=seed, options=options)
        trial = int(self.np_random.integers(_TRIALS)) if seed is None else seed
        self.trial, self.day = trial, self._days.of(trial)
        self._check_size()
        self._game = self._mode(self.day, self._look, self._days.study.heading.seed, trial)
        self._utility, self._n_refused = 0.0, 0
        return self._game.seen(), self._info(self._game)

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        game = self._begun()
        if game.is_over:
            raise InputError(Problem("step", "found a day that is over", advice="reset the environment first"))
        if refused := game.refusal(action):
            return self._refuse(game, refused)
        self._n_refused, reward = 0, game.act(action)
        self._utility += reward
        return game.seen(), reward, game.is_over, False, self._info(game)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now."""
        return self._begun().mask().astype(np.bool_)

    def outcome(self) -> Outcome:
        """What was decided so far, as `jw.tasks.check` and `jw.measures` take it."""
        return self._begun().turns.outcome()

    def render(self) -> str | None:
        """The machines over a lively window of the day so far, as an SVG."""
        return None if self.render_mode is None else gantt(self.day.world, self.outcome().allocation)

    def _begun(self) -> Game:
        if self._game is None:
            raise InputError(Problem("step", "found no day that has begun", advice="reset the environment first"))
        return self._game

    def _refuse(self, game: Game, why: str) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        self._n_refused += 1
        if self._n_refused >= MOST_REFUSED:
            raise InputError(Problem("action", f"refused {self._n_refused} actions in a row, the last one: {why}"))
        return game.seen(), 0.0, False, False, {**self._info(game), "refused": why}

    def _info(self, game: Game) -> dict[str, Any]:
        told = {"action_mask": game.mask(), "utility": self._utility, "bound": self.day.utility_bound}
        return {**told, "regret": self.day.utility_bound - self._utility} if game.is_over else told

    def _check_size(self) -> None:
        found, first = self.day.world.system, self._first
        if (found.machine_types, found.n_pstates) != (first.machine_types, first.n_pstates):
            allowed = "all trials must have the same machine types and P-states"
            raise InputError(
                Problem(self._days.study.file_name, f"found another system in trial {self.trial}", allowed)
            )


def _problems(actions: str, window: object, order: str, render_mode: str | None) -> Iterator[Problem]:
    if actions not in MODES:
        yield unknown_name("actions", str(actions), tuple(MODES))
    if order not in ORDERS:
        yield unknown_name("order", str(order), tuple(ORDERS))
    if not isinstance(window, int) or window < 1:
        yield Problem("window", f"found {window!r}", "must be a whole number, 1 or more")
    if render_mode not in (None, *Tasks.metadata["render_modes"]):
        yield unknown_name("render_mode", str(render_mode), Tasks.metadata["render_modes"])
