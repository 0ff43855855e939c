"""A day as an environment, whatever is scheduled in it: its steps, what they are worth, and a picture."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.gym.days import Day, Days, System
from joulewise.gym.modes import ORDERS, SPACES, Gains, Game, Look, Seen
from joulewise.gym.picture import PICTURES

MOST_REFUSED = 10_000
"""After so many refused actions in a row nobody looks at the mask."""

UTILITY = "utility"

_TRIALS = 2**31
"""Days that no seed names are drawn from so many."""


class Environment(gymnasium.Env[Seen, Any]):
    """A day of a study, a new one at each reset: `reset(seed=7)` is trial 7 of the study.

    `entries` names each number that is seen.
    """

    metadata = {"render_modes": list(PICTURES), "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    system: ClassVar[System]

    def __init__(
        self, study: str | Path, actions: str, look: Look, reward: str = UTILITY, render_mode: str | None = None
    ) -> None:
        raise_if_any(_problems(self.system, actions, look, reward, render_mode))
        self.render_mode = render_mode
        self._game_of, self._days = self.system.games[actions], Days(Path(study), self.system)
        self._reward, self._sign = reward, self.system.tallies[reward]
        first = self._days.of(0)
        self._sight, self._look = first.sight, look._replace(most=first.most)
        spaces = SPACES[actions](self._sight, look)
        self.action_space: Space[Any] = spaces.actions
        self.observation_space: Space[Any] = spaces.observations
        self.entries = spaces.entries
        self._game: Game | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begin the day of a trial, or one at random."""
        if seed is not None and seed < 0:
            raise InputError(Problem("seed", f"found {seed}", "must be 0 or more: it is the trial of the study"))
        if options:
            raise InputError(
                Problem("options", f"found {', '.join(options)}", "there are none", "give the trial as seed")
            )
        super().reset(seed=seed, options=options)
        self.trial = int(self.np_random.integers(_TRIALS)) if seed is None else seed
        self.day: Day = self._days.of(self.trial)
        self._check_size()
        self._game = self._game_of(self.day, self._look, self._days.study.heading.seed, self.trial)
        self._sums, self._n_refused = dict.fromkeys(self.system.tallies, 0.0), 0
        return self._game.seen(), self._info(self._game)

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        game = self._begun()
        if game.is_over:
            raise InputError(Problem("step", "found a day that is over", advice="reset the environment first"))
        if refused := game.refusal(action):
            return self._refuse(game, refused)
        self._n_refused, reward = 0, self._add(game.act(action))
        return game.seen(), reward, game.is_over, False, self._info(game)

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now."""
        return self._begun().mask().astype(np.bool_)

    def outcome(self) -> Any:
        """What was decided so far, as measures and checks of the system take it."""
        return self._begun().outcome()

    def render(self) -> Any:
        """What ran where over a lively window of the day so far, in the render mode asked for."""
        draw = PICTURES.get(self.render_mode or "")
        return draw and draw(self._begun().outcome(), self.system.figure)

    def _begun(self) -> Game:
        if self._game is None:
            raise InputError(Problem("step", "found no day that has begun", advice="reset the environment first"))
        return self._game

    def _add(self, gains: Gains) -> float:
        """Add gains up; returns the reward."""
        for name, gain in gains.items():
            self._sums[name] += gain
        return self._sign * gains.get(self._reward, 0.0)

    def _refuse(self, game: Game, why: str) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Nothing changes; a day on which nothing but refused actions follow is cut short."""
        self._n_refused += 1
        return game.seen(), 0.0, False, self._n_refused >= MOST_REFUSED, {**self._info(game), "refused": why}

    def _info(self, game: Game) -> dict[str, Any]:
        bound = self.day.utility_bound
        masked = {"action_mask": game.mask()} if self.action_space.shape == () else {}
        told = {**masked, **self._sums, "bound": bound}
        return {**told, "regret": bound - self._sums[UTILITY]} if game.is_over else told

    def _check_size(self) -> None:
        if self.day.sight != self._sight:
            allowed = f"all trials must have the same {self.system.must_be_alike}"
            raise InputError(
                Problem(self._days.study.file_name, f"found another system in trial {self.trial}", allowed)
            )


def _problems(system: System, actions: str, look: Look, reward: str, render_mode: str | None) -> Iterator[Problem]:
    asked: dict[str, tuple[str, Collection[str]]] = {
        "actions": (actions, system.games),
        "order": (look.order, ORDERS),
        "reward": (reward, system.tallies),
        **({} if render_mode is None else {"render_mode": (render_mode, PICTURES)}),
    }
    for name, (given, offered) in asked.items():
        if given not in offered:
            yield unknown_name(name, str(given), offered)
    window: object = look.window
    if not isinstance(window, int) or window < 1:
        yield Problem("window", f"found {window!r}", "must be a whole number, 1 or more")
