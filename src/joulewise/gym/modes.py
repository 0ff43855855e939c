"""What an agent's actions are: choices of what starts, one at a time, or nudges of the prices of the policy Prices.

Each is a game of turns on a day; a system says how its turns go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem
from joulewise.simulate.window import Sight

Seen = NDArray[np.float32]
Gains = Mapping[str, float]

CHOICES, PRICES = "choices", "prices"

STEP = 0.1
"""An action of 1 makes a price exp(0.1) times what it is, one of -1 as much lower."""

ORDERS = {"arrival": False, "worth": True}
"""The orders in which what waits comes into the window, and whether it is by worth."""

NO_GAINS: Gains = {}


class Look(NamedTuple):
    """How an agent looks at what waits: how many places its window has, their order, and the unit of worth.

    The unit is one for all days: that of the day itself would tell what is still to come.
    """

    window: int
    order: str
    most: float = 1.0

    @property
    def by_worth(self) -> bool:
        """Whether the order is by worth."""
        return ORDERS[self.order]


class Game(ABC):
    """A day while it is decided. Its `turns` run it, and its `window` has what is seen of it."""

    turns: Any
    window: Any
    is_over = False

    @abstractmethod
    def go_on(self) -> bool:
        """Go on to the next event, past the one that is open; returns whether there was one."""

    @abstractmethod
    def gains(self) -> Gains:
        """What is added up since this was asked last."""

    @abstractmethod
    def seen(self) -> Seen:
        """What the agent sees, in an array of its own."""

    @abstractmethod
    def mask(self) -> NDArray[np.int8]:
        """Which actions are allowed, in an array of its own."""

    @abstractmethod
    def refusal(self, action: Any) -> str:
        """Why an action is not allowed now; nothing if it is. InputError for what is no action at all."""

    @abstractmethod
    def act(self, action: Any) -> Gains:
        """Take an allowed action; returns what is added up since."""

    def outcome(self) -> Any:
        """What was decided so far."""
        return self.turns.outcome()


class Choosing(Game):
    """An action is a choice of the window, which `choose` makes where the mask allows it, or closes the event."""

    choose: Callable[[int], object]

    def __init__(self, sight: Sight) -> None:
        self._sight, self._n = sight, self.window.mask.size
        self._next()

    @abstractmethod
    def shown(self, place: int) -> str:
        """What stands in a place of the window; nothing if nothing does."""

    def seen(self) -> Seen:
        seen: Seen = self.window.seen.copy()
        return seen

    def mask(self) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = self.window.mask.copy()
        return mask

    def refusal(self, action: Any) -> str:
        choice = _whole(action, self._n)
        return "" if self.window.mask[choice] else self._why_not(choice)

    def act(self, action: Any) -> Gains:
        if action < self._n - 1:
            self.choose(int(action))
            return NO_GAINS
        self._next()
        return self.gains()

    def _next(self) -> None:
        self.is_over = not self.go_on()
        if self.is_over:
            self.window.mask[:] = 0

    def _why_not(self, choice: int) -> str:
        shown = self.shown(choice // len(self._sight.options))
        what = f"{shown} may not run so now" if shown else "nothing stands there"
        where = self._sight.choice(choice)
        return f"found the action {choice} ({where}): {what}; choose one where info['action_mask'] is 1"


class Steering(Game):
    """The policy Prices decides, and an action nudges its prices before each event: of the time of every kind of
    machines, and of energy. Zeros leave it alone.
    """

    prices: Any

    def seen(self) -> Seen:
        unit, per_s = self.window, np.maximum(self.prices.per_s, 0.0)
        runs = np.append(per_s * unit.mean_s, np.maximum(self.prices.per_j, 0.0) * unit.mean_energy_j)
        return np.concatenate((unit.seen, runs / (runs + unit.most)), dtype=np.float32)

    def mask(self) -> NDArray[np.int8]:
        return np.ones(1, np.int8)

    def refusal(self, action: Any) -> str:
        _check_parts(action, self.prices.per_s.size + 1)
        return ""

    def act(self, action: Any) -> Gains:
        factor = np.exp(STEP * np.asarray(action, float))
        self.prices.per_s[:] *= factor[:-1]
        self.prices.per_j[:] *= factor[-1]
        self.is_over = not self.go_on()
        return self.gains()


class Spaces(NamedTuple):
    """What actions there are, and the name of each number from 0 to 1 that is seen."""

    actions: Space[Any]
    entries: tuple[str, ...]

    @property
    def observations(self) -> Box:
        """Numbers from 0 to 1."""
        return Box(0.0, 1.0, (len(self.entries),), np.float32)


def choice_spaces(sight: Sight, look: Look) -> Spaces:
    """One number for each choice, and the last one."""
    return Spaces(Discrete(sight.n_choices(look.window)), tuple(sight.entries(look.window)))


def price_spaces(sight: Sight, _look: Look) -> Spaces:
    """From -1 to 1 for each price; the prices are seen as well."""
    priced = (*sight.kinds, "energy")
    return Spaces(Box(-1.0, 1.0, (len(priced),), np.float32), (*sight.entries(0), *(f"{of}: price" for of in priced)))


SPACES = {CHOICES: choice_spaces, PRICES: price_spaces}


def _whole(action: Any, n: int) -> int:
    """An action as a whole number below n."""
    is_whole = np.ndim(action) == 0 and isinstance(np.asarray(action).item(), int)
    if not is_whole or not 0 <= int(action) < n:
        raise InputError(Problem("action", f"found {action!r}", f"must be a whole number from 0 to {n - 1}"))
    return int(action)


def _check_parts(action: Any, n: int) -> None:
    """InputError for what is not n numbers from -1 to 1."""
    try:
        parts = np.asarray(action, float)
    except (TypeError, ValueError):
        parts = np.full(1, np.nan)
    if parts.shape != (n,) or not (np.abs(parts) <= 1.0).all():
        found = " ".join(repr(action).split())
        raise InputError(Problem("action", f"found {found:.80}", f"must be {n} numbers from -1 to 1"))
