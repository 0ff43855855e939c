"""What a policy for parallel jobs is: a rule, the order or the objective it follows, and how it holds nodes ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from joulewise.policies.own import Own

Priority: TypeAlias = Callable[[float, float, float, float, float, float, float], float]
"""priority(wait_s, planned_s, nodes, size, resources, usage, standing) of a job that waits; the highest goes first.

`wait_s` is the time since it could have started. Of its fastest option, `planned_s` is how long it is planned to run,
`nodes` their number, `size` their share of the cluster's and `resources` its core-seconds. `usage` is what its user
has used recently, as a multiple of an equal share of all users; `standing` is that of its queue, from 0 to 1.
"""

JobValue: TypeAlias = Callable[[float, float, float, float, float, float], float]
"""value(utility, completion_s, exec_s, energy_j, wait_s, resources) of a choice; the highest is taken.

`utility` is what the job would earn, `completion_s` the instant it would end, `exec_s` how long it is planned to run,
`energy_j` what it is planned to use, `wait_s` the time from its arrival to its start, `resources` its core-seconds.
"""

JobRule: TypeAlias = Literal["in-order", "in-queues", "at-random", "greedy", "assigned"]
"""What goes first, and where: by priority where it starts first, in turn from queues by size, by arrival wherever
chance has it, the best choice of all jobs by an objective, or what code from outside says.
"""

Commitment: TypeAlias = Literal["reservations", "place-holders"]
"""How nodes are held for a job that has to wait: until it starts, or only until the next mapping event."""

ALL_JOBS = -1


@dataclass(frozen=True)
class JobOrder:
    """An order of waiting jobs: by `priority`, ties to the job that was ready first; None is the order of readiness "
    "alone."""

    priority: Priority | None = None


@dataclass(frozen=True)
class JobObjective:
    """How choices are valued; `falls_with_time` says that none is ever worth more for starting later."""

    value: JobValue
    falls_with_time: bool = False


@dataclass(frozen=True)
class JobPolicy:
    """A row of the table of policies for parallel jobs.

    Jobs go by an `order` or an `objective`; some rules need neither. Nodes are held ahead
    for this many `reservations` of jobs that cannot start at once (ALL_JOBS: for everybody), by the `commitment`. A
    policy that `backfills` lets later jobs start before them where that does not delay a job with a reservation.
    With `all_pstates` it looks at all P-states, else at P-state 0. One that `is_weighted` sums factors by the
    scheduler's weights; one that `is_priced` finds prices of node time and energy itself and `declines` what is not
    worth them. By the rule "assigned", code of the user's `own` decides.
    """

    name: str
    title: str
    summary: str
    source: str
    rule: JobRule
    order: JobOrder | None = None
    objective: JobObjective | None = None
    reservations: int = ALL_JOBS
    commitment: Commitment = "reservations"
    backfills: bool = True
    all_pstates: bool = False
    is_weighted: bool = False
    is_priced: bool = False
    declines: bool = False
    own: Own | None = None

    def __post_init__(self) -> None:
        assert (self.rule == "in-order") == (self.order is not None), self.name
        assert (self.rule == "greedy") == (self.objective is not None), self.name
        assert self.reservations >= ALL_JOBS, self.name
        assert self.own is None or self.rule == "assigned", self.name
