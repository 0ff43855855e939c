"""What an agent's actions are: choices of a task at a time, or nudges of the prices by which the policy Prices decides.

A mode has an action space and an observation space for the days of a study, and begins games on them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem
from joulewise.gym.tasks.days import Day
from joulewise.kernels.tasks.managed import close_last_event, map_managed, open_next_event
from joulewise.kernels.tasks.window import choose, open_window
from joulewise.model.system import System
from joulewise.policies.tasks.table import BY_HAND, POLICIES
from joulewise.simulate.tasks.turns import Turns
from joulewise.simulate.tasks.window import n_choices, n_entries, window_of

Seen = NDArray[np.float32]

STEP = 0.1
"""An action of 1 makes a price exp(0.1) times what it is, one of -1 as much lower."""


class Look(NamedTuple):
    """How an agent looks at waiting tasks: how many places its window has, and in which order they fill."""

    window: int
    order: str


ORDERS = {"arrival": False, "worth": True}
"""The orders in which waiting tasks come into the window, and whether it is by worth per second."""


class Game(Protocol):
    """A day while it is decided."""

    turns: Turns
    is_over: bool

    def seen(self) -> Seen:
        """What the agent sees, in an array of its own."""

    def mask(self) -> NDArray[np.int8]:
        """Which actions are allowed, in an array of its own."""

    def refusal(self, action: Any) -> str:
        """Why an action is not allowed now; nothing if it is. InputError for what is no action at all."""

    def act(self, action: Any) -> float:
        """Take an allowed action; returns what tasks earn that are sure to run since."""


class Choosing:
    """An action is a choice of task, machine type and P-state, or closes the event."""

    def __init__(self, day: Day, look: Look, seed: int, trial: int) -> None:
        self.turns = Turns(day.world, day.managed_by(BY_HAND), seed, trial)
        self.window = window_of(day.world, self.turns.engine.world, look.window, by_worth=ORDERS[look.order])
        self._see = self.turns.looking(open_window, self.window)
        self._open_event = self.turns.bound(open_next_event, day.world.workload.end_s)
        self._close_event = self.turns.bound(close_last_event)
        self._choose = self.turns.looking(choose, self.window, rest=(0,))
        self._n, self.is_over = self.window.mask.size, False
        self._go_on()

    @staticmethod
    def actions(system: System, look: Look) -> Space[Any]:
        """One number for each choice, and the last one."""
        return Discrete(n_choices(system, look.window))

    @staticmethod
    def observations(system: System, look: Look) -> Box:
        """Parts of wholes."""
        return Box(0.0, 1.0, (n_entries(system, look.window),), np.float32)

    def seen(self) -> Seen:
        return self.window.seen.copy()

    def mask(self) -> NDArray[np.int8]:
        return self.window.mask.copy()

    def refusal(self, action: Any) -> str:
        choice = _whole(action, self._n)
        return "" if self.window.mask[choice] else self._why_not(choice)

    def act(self, action: Any) -> float:
        if action < self._n - 1:
            self._choose(int(action))
            return 0.0
        self._close_event()
        self._go_on()
        return float(self.turns.earned())

    def _go_on(self) -> None:
        self.is_over = not self._open_event()
        if self.is_over:
            self.turns.finish()
            self.window.mask[:] = 0
        else:
            self._see()

    def _why_not(self, choice: int) -> str:
        system = self.turns.world.system
        place, k, p = np.unravel_index(choice, (self.window.task.size, system.n_machine_types, system.n_pstates))
        task = int(self.window.task[place])
        what = "no task stands there" if task < 0 else f"task {task} may not run so now"
        where = f"place {place} on {system.machine_types[k]} in P-state {p}"
        return f"found the action {choice} ({where}): {what}; choose one where info['action_mask'] is 1"


class Steering:
    """The policy Prices decides, and an action nudges its prices before each event: of every machine type's time, and
    of energy. Zeros leave it alone.
    """

    def __init__(self, day: Day, look: Look, seed: int, trial: int) -> None:  # noqa: ARG002 - as all modes
        self.turns = Turns(day.world, day.managed_by(POLICIES["prices"]), seed, trial)
        self.window = window_of(day.world, self.turns.engine.world, 0, by_worth=False)
        self._map_next = self.turns.bound(map_managed, day.world.workload.end_s, 1, False)
        self._see, self.is_over = self.turns.looking(open_window, self.window), False
        self._see()

    @staticmethod
    def actions(system: System, look: Look) -> Space[Any]:  # noqa: ARG004 - likewise
        """From -1 to 1 for each price."""
        return Box(-1.0, 1.0, (system.n_machine_types + 1,), np.float32)

    @staticmethod
    def observations(system: System, look: Look) -> Box:  # noqa: ARG004 - likewise
        """Parts of wholes, and the prices."""
        return Box(0.0, 1.0, (n_entries(system, 0) + system.n_machine_types + 1,), np.float32)

    def seen(self) -> Seen:
        prices, unit = self.turns.engine.state.prices, self.window
        runs = np.maximum(np.append(prices.per_s * unit.mean_exec_s, prices.per_j * unit.mean_energy_j), 0.0)
        return np.concatenate((unit.seen, runs / (runs + unit.most)), dtype=np.float32)

    def mask(self) -> NDArray[np.int8]:
        return np.ones(1, np.int8)

    def refusal(self, action: Any) -> str:
        _check_parts(action, self.turns.engine.state.prices.per_s.size + 1)
        return ""

    def act(self, action: Any) -> float:
        prices, factor = self.turns.engine.state.prices, np.exp(STEP * np.asarray(action, float))
        prices.per_s[:] *= factor[:-1]
        prices.per_j[:] *= factor[-1]
        self.is_over = not self._map_next()
        if self.is_over:
            self.turns.finish()
        self._see()
        return float(self.turns.earned())


MODES: dict[str, type[Choosing] | type[Steering]] = {"choices": Choosing, "prices": Steering}


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
