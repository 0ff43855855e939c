"""How the turns of a day of parallel jobs go on."""

from __future__ import annotations

from joulewise.gym.jobs.day import JobDay
from joulewise.gym.modes import Choosing, Gains, Look, Steering
from joulewise.kernels.jobs.state import QUEUED
from joulewise.kernels.jobs.window import open_job_window, start_choice
from joulewise.policies.jobs.table import BY_HAND, JOB_POLICIES
from joulewise.simulate.jobs.turns import JobTurns
from joulewise.simulate.jobs.window import job_window_of


class ChoosingJobs(Choosing):
    """An action starts a job of the window in one of the ways to run, or closes the event."""

    turns: JobTurns

    def __init__(self, day: JobDay, look: Look, seed: int, trial: int) -> None:
        self.turns = JobTurns(day.world, day.scheduled_by(BY_HAND), seed, trial)
        self.window = job_window_of(
            day.world, self.turns.engine.state, look.window, by_worth=look.by_worth, most=look.most
        )
        self._see = self.turns.looking(open_job_window, self.window)
        self.choose = self.turns.looking(start_choice, self.window, rest=(0,))
        super().__init__(day.sight)

    def go_on(self) -> bool:
        queued = self.turns.engine.state.site.counts
        while self.turns.go_on():
            if queued[QUEUED]:
                self._see()
                return True
        return False

    def gains(self) -> Gains:
        return self.turns.settled(is_over=self.is_over)._asdict()

    def shown(self, place: int) -> str:
        job = int(self.window.job[place])
        return f"job {job}" if job >= 0 else ""


class SteeringJobs(Steering):
    """An action nudges the prices of every cluster's nodes, and of energy."""

    turns: JobTurns

    def __init__(self, day: JobDay, look: Look, seed: int, trial: int) -> None:
        self.turns = JobTurns(day.world, day.scheduled_by(JOB_POLICIES["prices"]), seed, trial)
        self.prices = self.turns.engine.state.prices
        self.window = job_window_of(day.world, self.turns.engine.state, 0, by_worth=False, most=look.most)
        self._see = self.turns.looking(open_job_window, self.window)
        self._see()

    def go_on(self) -> bool:
        happened = bool(self.turns.go_on())
        self._see()
        return happened

    def gains(self) -> Gains:
        return self.turns.settled(is_over=self.is_over)._asdict()
