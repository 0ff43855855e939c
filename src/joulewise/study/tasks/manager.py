"""The section `[manager]` of a study file: every switch of the resource manager."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from joulewise.model.groups import Dealing
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import (
    MOST_PERMUTED,
    SHORTEST_INTERVAL_S,
    DroppingBy,
    Environment,
    Filter,
    Manager,
    MappingTime,
    Postponing,
)
from joulewise.study.spec.parameters import Thresholds
from joulewise.worlds.parameters import explained


@dataclass(frozen=True)
class ManagerParameters:
    """How tasks are mapped to machines."""

    policy: Annotated[str, Field(min_length=1)] = field(
        metadata={
            "help": 'a name of `joulewise list policies`, or "file.py:function" of your own',
            "file": "code",
        }
    )
    dropping_threshold: Annotated[float, Field(ge=0)] = explained(
        Manager.dropping_threshold, "a task that can no longer earn this utility is dropped; 0 drops nothing"
    )
    class_thresholds: Thresholds = explained(
        (), "other thresholds for task classes: a machine group (special) or a level (critical); the least one holds"
    )
    mapping_interval_s: Annotated[float | None, Field(ge=SHORTEST_INTERVAL_S)] = explained(
        None, "time between the mapping events of batch policies; left out: 1 min, or none if mapping_arrivals is given"
    )
    mapping_arrivals: Annotated[int | None, Field(ge=1)] = explained(
        None, "number of tasks whose arrival since the last mapping event starts the next one; left out: by time alone"
    )
    mapping_time: MappingTime = explained(
        Manager.mapping_time,
        "time that mapping takes on the simulated clock: none, that of mapping_model, or what it really takes",
    )
    mapping_model: tuple[float, float, float] = explained(
        Manager.mapping_model, "seconds of a mapping event: constant, for each task of the batch, for each squared task"
    )
    best_types: Annotated[int | None, Field(ge=1)] = explained(
        None, "number of machine types that a task may go to, those that run it fastest; left out: as the policy says"
    )
    environment: Environment = explained(
        Manager.environment, "machines have queues of planned tasks, or only idle machines get a task"
    )
    permuted: Annotated[int, Field(ge=1, le=MOST_PERMUTED)] = explained(
        Manager.permuted, "number of first tasks of each queue that are put into the order that earns most"
    )
    energy_filter: Filter = explained(
        Manager.energy_filter,
        "choices above a share of the remaining energy are removed: a fair share times leniency, or adapted",
    )
    leniency: Annotated[float, Field(gt=0)] = explained(
        Manager.leniency, "multiplies the fair share of the energy filter"
    )
    weight: Annotated[float, Field(ge=0, le=1)] = explained(
        Manager.weight, "weight of energy against utility in weighted policies: 0 is utility alone"
    )
    declines: bool | None = explained(
        None, "whether a choice whose value is not above 0 is never made; left out: as the policy says"
    )
    follows_tariff: bool = explained(
        Manager.follows_tariff,
        "whether energy counts more in hours in which it costs more than average, and less in cheaper hours",
    )
    kill_factor: Annotated[float | None, Field(ge=1)] = explained(
        None, "a task that runs longer than this times its estimated time is killed; left out: never"
    )
    dropping_by: DroppingBy = explained(
        Manager.dropping_by,
        "tasks are dropped by what they could earn on all machines or, polled, on those idle at the event alone",
    )
    follows_load: bool = explained(
        Manager.follows_load,
        "whether the dropping threshold is multiplied by the load: all that waits, over an hour of all machines",
    )
    groups: Annotated[int, Field(ge=1)] = explained(
        Manager.groups, "number of groups into which machines are divided, each with a manager and tasks of its own"
    )
    dealing: Dealing = explained(
        Manager.dealing,
        "how arriving tasks are dealt to groups: in turn, to the one with least to do, or to that one of those with a "
        "machine of the type that runs them fastest",
    )
    postponing: Postponing = explained(
        Manager.postponing,
        "when to try again what does not fit into a day's budget: at the next event, or on the next day",
    )

    preempts: bool = explained(
        Manager.preempts,
        "whether, polled, a task that comes and gets no machine may suspend a running task where that earns more",
        late=True,
    )
    checkpoint_s: Annotated[float, Field(ge=0)] = explained(
        Manager.checkpoint_s, "time that suspending takes, on the machine of the task", late=True
    )
    restart_s: Annotated[float, Field(ge=0)] = explained(
        Manager.restart_s, "time that resuming takes, on top of what is left", late=True
    )

    def __post_init__(self) -> None:
        if self.mapping_interval_s is None and self.mapping_arrivals is None:
            object.__setattr__(self, "mapping_interval_s", Manager.mapping_interval_s)

    def manager(self, policy: Policy) -> Manager:
        """The manager with this policy; InputError where switches and policy do not fit."""
        values = vars(self)
        endless = {name: math.inf for name in ("mapping_interval_s", "kill_factor") if values[name] is None}
        return Manager(**{**values, **endless, "policy": policy, "class_thresholds": dict(self.class_thresholds)})
