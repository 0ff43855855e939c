"""What the managed engine works on: what does not change in a run, and its state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap, empty_heap
from joulewise.kernels.layout import NOBODY, Options, TaskPlan, Tasks, Utilities
from joulewise.kernels.records import record
from joulewise.kernels.tasks.crowd import Crowd, empty_crowd
from joulewise.kernels.tasks.energy import Ledger, Limits
from joulewise.kernels.tasks.live_prices import LivePrices
from joulewise.kernels.tasks.machines import Downtimes, Machines, Standing
from joulewise.kernels.tasks.rolling import Rolling
from joulewise.kernels.tasks.type_queues import TypeQueues, empty_type_queues

KILLED = 3
GREEDY, IN_ORDER, AT_RANDOM, SUFFERAGE, ASSIGNED = 0, 1, 2, 3, 4
OPEN, AS_ASKED, AS_LISTED = 0, 1, 2
SLACK = 1e-12


@record
class Rules(NamedTuple):
    """How the manager works, in numbers; `scale` multiplies the objective, `n_arrivals` is 0 for a clock alone.

    With `by_type` the objective sees neither utility nor waiting, so that the first task of a type stands for all.
    When its value `may_rise` with time, all values are renewed; it `has_bounds` if it falls for a utility that does not
    rise. `urgency` and `is_patient` are those of the objective.
    """

    rule: int
    interval_s: float
    n_arrivals: int
    mapping_s: float
    mapping_per_task_s: float
    mapping_per_square_s: float
    is_measured: bool
    is_polled: bool
    n_permuted: int
    declines: bool
    is_priced: bool
    program: int
    follows_tariff: bool
    scale: float
    kill_factor: float
    is_certain: bool
    drops_eagerly: bool
    drops_by_idle: bool
    follows_load: bool
    postpones: bool
    by_type: bool
    preempts: bool
    checkpoint_s: float
    restart_s: float
    may_rise: bool
    has_bounds: bool
    urgency: float
    is_patient: bool
    random_seed: np.uint64


@record
class Batch(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    Where tasks of a type are alike, all that are not fixed stand in `queues` instead of `waiting`, those planned in
    this event before `queues.at`; of the others, only the first of each type is ever among those looked at. By the
    rule of sufferage all stand in the `crowd`.
    `choice` is the option of a task looked at or planned, `after` the next in its machine's queue. `put_off` holds
    those without an allowed choice in this event, `returning` those lost by a machine or postponed to the next day,
    mappable again at `returns_s`.
    All thresholds are multiplied by `strictness[0]`.
    `n_unfixed` counts by task type those that are not fixed yet, and `n_unplanned` those of them without a plan in this
    event; `reaches` says of a task type and machine type whether
    any option there could be allowed in this event, and `is_live` whether there is one anywhere; a type
    `has_sunk` whose tasks are at the bottom of the heap until it is live again; `n_left` counts by machine type the
    unplanned tasks that reach it.
    `charge` is what an option costs in the objective, `energy_charge` the part of it that follows the tariff, and
    `rise` by task type how much cheaper an option became since the last event at most. `n_rises[0]` counts values
    that rose: the objective broke its promise then. `pairs` is room for options with machines.
    """

    waiting: Heap
    looked: Heap
    queues: TypeQueues
    crowd: Crowd
    choice: NDArray[np.int64]
    after: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    returning: NDArray[np.int64]
    returns_s: NDArray[np.float64]
    n_returning: NDArray[np.int64]
    strictness: NDArray[np.float64]
    n_unfixed: NDArray[np.int64]
    n_unplanned: NDArray[np.int64]
    is_live: NDArray[np.bool_]
    has_sunk: NDArray[np.bool_]
    reaches: NDArray[np.bool_]
    n_left: NDArray[np.int64]
    charge: NDArray[np.float64]
    energy_charge: NDArray[np.float64]
    rise: NDArray[np.float64]
    n_rises: NDArray[np.int64]
    permutation: NDArray[np.int64]
    pairs: NDArray[np.int64]


@record
class ManagerClock(NamedTuple):
    """State: instants are [origin, effect of the last event, that event, given mapping time, seconds from the event
    before to the last one, horizon of that one], counts are [regular event, tasks arrived, tasks unfixed, events with
    work, events in the counted window, late ones of them, tasks that had arrived before the last event].
    """

    instants: NDArray[np.float64]
    counts: NDArray[np.int64]


ORIGIN, EFFECT, LAST, MAPPING, PASSED, HORIZON = 0, 1, 2, 3, 4, 5
NO_EVENT_S = -1.0
REGULAR, ARRIVED, UNFIXED, WORKED, COUNTED, LATE, SEEN = 0, 1, 2, 3, 4, 5, 6


@record
class Broken(NamedTuple):
    """Runs that did not complete their task, cut short by failing machines or suspended: `size[0]` rows."""

    size: NDArray[np.int64]
    task: NDArray[np.int32]
    machine: NDArray[np.int32]
    pstate: NDArray[np.int8]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


def new_batch(
    rules: Rules, tasks: Tasks, n_machine_types: int, n_task_types: int, charge: NDArray[np.float64], n_pairs: int
) -> Batch:
    """A batch of up to all tasks, for n_pairs of machine and P-state; `charge` is what each option costs at first."""
    n = tasks.arrival_s.size
    in_crowd = tasks.task_type if rules.rule == SUFFERAGE else tasks.task_type[:0]
    return Batch(
        empty_heap(n), empty_heap(n), empty_type_queues(n if rules.by_type else 0, n_task_types),
        empty_crowd(in_crowd, n_task_types, n_machine_types),
        np.full(n, NOBODY, np.int64), np.full(n, NOBODY, np.int64),
        np.empty(n, np.int64), np.zeros(1, np.int64),
        np.empty(n, np.int64), np.empty(n), np.zeros(1, np.int64), np.ones(1),
        np.zeros(n_task_types, np.int64), np.zeros(n_task_types, np.int64),
        np.ones(n_task_types, np.bool_), np.zeros(n_task_types, np.bool_),
        np.ones((n_task_types, n_machine_types), np.bool_), np.zeros(n_machine_types, np.int64),
        charge.copy(), charge.copy(), np.zeros(n_task_types), np.zeros(1, np.int64),
        np.zeros((3, rules.n_permuted), np.int64), np.empty((2, n_pairs), np.int64),
    )  # fmt: skip


def new_clock() -> ManagerClock:
    """Before everything."""
    return ManagerClock(np.array([0.0, 0.0, NO_EVENT_S, 0.0, 0.0, 0.0]), np.array([-1, 0, 0, 0, 0, 0, 0], np.int64))


def new_broken(n: int) -> Broken:
    """Room for n such runs."""
    return Broken(
        np.zeros(1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int8),
        np.empty(n), np.empty(n),
    )  # fmt: skip


@record
class ManagedWorld(NamedTuple):
    """What does not change in a run: tasks with the options that are looked at and those `everywhere`, by which they
    are dropped below their `threshold`; by task type the `load` that a waiting task is; the value of a choice, and the
    rules and limits of the manager.

    By task, `stretch` is its true time over the estimated one and `place` that in the policy's order; `option_at` is
    the option of a task type, machine type and P-state, or NOBODY. `valuer` is an objective that sees more than the
    five numbers, or nobody.
    """

    tasks: Tasks
    utilities: Utilities
    options: Options
    everywhere: Options
    threshold: NDArray[np.float64]
    load: NDArray[np.float64]
    value: Any
    rules: Rules
    limits: Limits
    stretch: NDArray[np.float64]
    place: NDArray[np.float64]
    option_at: NDArray[np.int64]
    standing: Standing
    downtimes: Downtimes
    valuer: Any


@record
class ManagedState(NamedTuple):
    """How far a run has come, and what it has decided; `last_task` is by machine whose run is the last fixed there.

    Where tasks may be suspended, `pieces` are the stretches that were cut, and `is_cut` says by task who was.
    """

    clock: ManagerClock
    batch: Batch
    machines: Machines
    ledger: Ledger
    prices: LivePrices
    rolling: Rolling
    losses: Broken
    pieces: Broken
    is_cut: NDArray[np.bool_]
    last_task: NDArray[np.int64]
    plan: TaskPlan
