"""How the turns of a day of serial tasks go on."""

from __future__ import annotations

from joulewise.gym.modes import Choosing, Gains, Look, Steering
from joulewise.gym.tasks.day import TaskDay
from joulewise.kernels.tasks.managed import close_last_event, map_managed, open_next_event
from joulewise.kernels.tasks.window import choose, open_window
from joulewise.policies.tasks.table import BY_HAND, POLICIES
from joulewise.simulate.tasks.turns import Turns
from joulewise.simulate.tasks.window import window_of


class ChoosingTasks(Choosing):
    """An action is a choice of task, machine type and P-state, or closes the event."""

    turns: Turns

    def __init__(self, day: TaskDay, look: Look, seed: int, trial: int) -> None:
        self.turns = Turns(day.world, day.managed_by(BY_HAND), seed, trial)
        self.window = window_of(day.world, self.turns.engine.world, look.window, by_worth=look.by_worth, most=look.most)
        self._see = self.turns.looking(open_window, self.window)
        self._open_event = self.turns.bound(open_next_event, day.world.workload.end_s)
        self._close_event = self.turns.bound(close_last_event)
        self.choose = self.turns.looking(choose, self.window, rest=(0,))
        self._is_open = False
        super().__init__(day.sight)

    def go_on(self) -> bool:
        if self._is_open:
            self._close_event()
        self._is_open = bool(self._open_event())
        if not self._is_open:
            self.turns.finish()
            return False
        self._see()
        return True

    def gains(self) -> Gains:
        return {"utility": self.turns.earned(self.is_over)}

    def shown(self, place: int) -> str:
        task = int(self.window.task[place])
        return f"task {task}" if task >= 0 else ""


class SteeringTasks(Steering):
    """An action nudges the prices of every machine type's time, and of energy."""

    turns: Turns

    def __init__(self, day: TaskDay, look: Look, seed: int, trial: int) -> None:
        self.turns = Turns(day.world, day.managed_by(POLICIES["prices"]), seed, trial)
        self.prices = self.turns.engine.state.prices
        self.window = window_of(day.world, self.turns.engine.world, 0, by_worth=False, most=look.most)
        self._map_next = self.turns.bound(map_managed, day.world.workload.end_s, 1, False)
        self._see = self.turns.looking(open_window, self.window)
        self._see()

    def go_on(self) -> bool:
        happened = bool(self._map_next())
        if not happened:
            self.turns.finish()
        self._see()
        return happened

    def gains(self) -> Gains:
        return {"utility": self.turns.earned(self.is_over)}
