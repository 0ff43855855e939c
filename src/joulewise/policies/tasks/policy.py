"""What a policy is: a row of a table, an objective and the mode that applies it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from joulewise.model.arrays import Bools, Ints
from joulewise.model.world import World
from joulewise.policies.own import Own

PARAMETERS = ("utility", "completion_s", "exec_s", "energy_j", "wait_s")
"""What an objective sees that takes part in the fast engines."""

RICH_PARAMETERS = (
    *PARAMETERS, "task_type", "machine_type", "pstate", "queue_length", "slack_s", "price_per_s", "price_per_j"
)  # fmt: skip
"""All that an objective may ask for by the names of its parameters, in the order in which kernels tell it."""

Value: TypeAlias = Callable[..., float]
"""value(utility, completion_s, exec_s, energy_j, wait_s) of a choice; the highest is taken.

`utility` is what the task would earn, `completion_s` the instant it would end, `exec_s` how long it would run,
`energy_j` what it would use, `wait_s` the time from its arrival to its start.
"""

Picker: TypeAlias = Callable[[World, Bools, np.random.Generator], Ints]
"""A machine for every task, chosen without looking at the machines' state.

It is of a machine type that the second argument, as [task type, machine type], allows.
"""

Mode: TypeAlias = Literal["immediate", "batch"]

Rule: TypeAlias = Literal["greedy", "sufferage", "in-order", "at-random", "assigned"]
"""Which task goes first among those that are mapped together: the best choice, the task that would lose most, the
next by its place in a fixed order, anybody, or whom code from outside assigns.
"""

_UNAIDED = ("at-random", "assigned")
"""The rules that need neither an objective, nor an order, nor picks."""

Program: TypeAlias = Literal["makespan", "worth"]
"""A linear program that is solved at every event: the split of all that waits that would be done first, which
says how many tasks may go where; or the spread of the last hours' tasks that is worth most, which gives the prices.
"""


@dataclass(frozen=True)
class Order:
    """A fixed order of tasks: by arrival, the newest or the oldest first, higher priority (scale) before if asked.

    The next task goes to the machine that is free first; with `all_pstates` a slower P-state is used there where
    the fastest is not allowed.
    """

    newest_first: bool = False
    by_priority: bool = False
    all_pstates: bool = False


@dataclass(frozen=True)
class Objective:
    """How choices are valued, and what the engine may assume of it.

    `falls_with_time`: a choice is never worth more when it starts later, unless it earns more then (fast path; checked
    on samples).
    `by_type`: the value sees neither utility nor waiting, so tasks of one type differ only in order (checked too).
    `urgency`, from 0 to 1: of what the task would still earn one execution time later, this part is taken off the
    utility that the value sees; at 1 it sees what is lost by waiting. Such a value may rise with time.
    `sees`: the names of its parameters, where they are not the five.
    `is_patient`: a choice that would complete before the task's utility has risen is not made.
    """

    value: Value
    falls_with_time: bool = False
    by_type: bool = False
    urgency: float = 0.0
    is_patient: bool = False
    sees: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.urgency <= 1, "urgency is a part"
        assert not self.by_type or not (self.urgency or self.is_patient), "tasks of a type wait differently long"

    def falls_in(self, world: World) -> bool:
        """Whether waiting makes no choice of a world worth more: no utility that the value sees rises either."""
        return self.falls_with_time and self.urgency == 0 and (self.by_type or world.workload.rise_s is None)


@dataclass(frozen=True)
class Policy:
    """A row of the policy table: how the manager decides.

    Tasks are mapped by an `objective`, in an `order`, or as `picks` says; some rules need none of them.
    With `best_types` only the machine types that run a task fastest are looked at, this many of them. The rule
    "sufferage" is for batch mode and compares utilities, whatever else an objective would see. A policy
    `is_weighted` against energy by the manager's weight, `is_priced` when machine time and energy have prices that
    it finds itself, or by its linear `program`; one that `declines` never makes a choice whose value is not above 0.
    By the rule "assigned", code of the user's `own` decides.
    """

    name: str
    title: str
    mode: Mode
    summary: str
    source: str
    objective: Objective | None = None
    picks: Picker | None = None
    best_types: int | None = None
    rule: Rule = "greedy"
    order: Order | None = None
    is_weighted: bool = False
    is_priced: bool = False
    program: Program | None = None
    declines: bool = False
    own: Own | None = None

    @property
    def is_patient(self) -> bool:
        """Whether tasks wait until their utility has risen."""
        return self.objective is not None and self.objective.is_patient

    @property
    def holds_back(self) -> bool:
        """Whether a task may be left waiting although a machine is free for it, for no reason that is known."""
        return self.rule == "assigned"

    @property
    def needs_managing(self) -> bool:
        """Whether only the managed engine knows how to do this."""
        sees_more = self.objective is not None and bool(self.objective.sees)
        is_own = self.rule != "greedy" or self.is_weighted or self.is_priced or bool(self.program)
        return is_own or self.declines or sees_more

    def __post_init__(self) -> None:
        decided_by = [self.objective, self.picks, self.order]
        assert sum(part is not None for part in decided_by) == (self.rule not in _UNAIDED), self.name
        assert (self.rule == "in-order") == (self.order is not None), self.name
        assert self.picks is None or self.mode == "immediate", self.name
        assert self.own is None or self.rule == "assigned", self.name
        assert not self.is_patient or self.mode == "batch", self.name
        assert self.best_types is None or self.best_types >= 1, self.name
