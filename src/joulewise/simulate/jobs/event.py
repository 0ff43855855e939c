"""What is seen at a mapping event of parallel jobs, as columns, and the starts that are made in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import InputError, Problem
from joulewise.kernels.jobs import assigned
from joulewise.kernels.jobs.layout import JobOptions
from joulewise.kernels.jobs.run import JobState
from joulewise.kernels.jobs.state import HELD, HORIZON, LAST, QUEUED
from joulewise.kernels.layout import Tasks, Utilities
from joulewise.model.arrays import Bools, Counts, Floats, Ints, seen
from joulewise.model.jobs import JobWorld
from joulewise.simulate.event import MappingEvent

START = ("job", "option")
"""The columns of what is started."""

_W_PER_MW = 1e-3


class JobRuns(NamedTuple):
    """Jobs that have nodes, one row each, until their planned ends."""

    job: Counts
    option: Ints
    start_s: Floats
    end_s: Floats


@dataclass(frozen=True, eq=False)
class JobPast:
    """Jobs that have ended, one row each."""

    job: Counts
    option: Ints
    start_s: Floats
    end_s: Floats
    _world: JobWorld

    @property
    def utility(self) -> Floats:
        """What each has earned."""
        return self._world.jobs.work.utility(self.job, self.end_s)

    @property
    def energy_j(self) -> Floats:
        """What each has used since it was last started; NaN where powers are not known."""
        world = self._world
        return np.asarray(world.supply.pue * world.types.power_w[self.option] * (self.end_s - self.start_s))


class Choices(NamedTuple):
    """Jobs, each with all of its options."""

    job: Counts
    option: Counts


class Profile(NamedTuple):
    """How many nodes of a cluster are free: `n_free[k]` from `time_s[k]` to the next, the last of them for ever."""

    time_s: Floats
    n_free: Counts


@dataclass(frozen=True, eq=False)
class JobEvent(MappingEvent):
    """A mapping event of parallel jobs while it is open.

    Columns of jobs have a row for each of `job`, those that wait; columns of clusters one for each cluster. What a job
    may choose is a row of the table `options`: those of a job of type t are rows `options.first[t]` up to
    `options.first[t + 1]`. Times to come are those that are planned. What is drawn from `rng` belongs to the run's seed
    and trial.
    """

    world: JobWorld
    _state: JobState
    _place_all: Callable[..., None]
    number: int
    rng: np.random.Generator

    # The instant

    @property
    def now_s(self) -> float:
        """When the event happens."""
        return float(self._state.site.instants[LAST])

    @property
    def next_s(self) -> float:
        """The next event, or now where it is unforeseen: what was to start later is then planned again."""
        return float(self._state.site.instants[HORIZON])

    # Jobs that wait

    @cached_property
    def job(self) -> Counts:
        """The numbers of those that wait, in the order in which they were ready, then by number."""
        site = self._state.site
        return seen(site.queue[: site.counts[QUEUED]].copy())

    @cached_property
    def job_type(self) -> Ints:
        """The type of each."""
        return seen(self.world.jobs.work.task_type[self.job])

    @cached_property
    def arrival_s(self) -> Floats:
        """When each came."""
        return seen(self.world.jobs.work.arrival_s[self.job])

    @cached_property
    def ready_s(self) -> Floats:
        """When each could have started: when it came, or later where it waited for another job."""
        return seen(self._state.plan.ready_s[self.job])

    @property
    def waited_s(self) -> Floats:
        """How long each has been ready."""
        return seen(self.now_s - self.ready_s)

    def label(self, name: str) -> Ints:
        """Whom or what each belongs to, such as its "user", as a number; -1 where that is not known."""
        label = self.world.jobs.labels.get(name)
        return seen(np.full(self.job.size, -1, np.int32) if label is None else label.codes[self.job])

    @property
    def worthless_at_s(self) -> Floats:
        """From when on each is worth nothing."""
        return seen(self.world.jobs.work.worthless_at_s[self.job])

    def utility(self, completion_s: ArrayLike, job: ArrayLike | None = None) -> Floats:
        """What jobs (those that wait, row by row) earn when completed at these instants."""
        return self._earned(self.job if job is None else job, completion_s)

    @property
    def _worth(self) -> tuple[Tasks, Utilities]:
        return self._state.facts.tasks, self._state.facts.utilities

    # What they may choose

    @cached_property
    def options(self) -> JobOptions:
        """The table of options: cluster, P-state, nodes, planned time, power and energy of each; no true times."""
        options: Any = self._state.facts.options
        return JobOptions(*(seen(column) for column in options._replace(time_s=options.planned_s)))

    @property
    def limit_s(self) -> Floats:
        """How long each option may have its nodes: what was asked for."""
        return self.world.types.allowed_s

    @cached_property
    def choices(self) -> Choices:
        """All options of all jobs that wait, job by job."""
        first = self._state.facts.options.first
        n = np.diff(first)[self.job_type]
        before = np.cumsum(n) - n
        option = np.arange(n.sum()) - np.repeat(before, n) + np.repeat(first[self.job_type], n)
        return Choices(seen(np.repeat(self.job, n)), seen(option))

    def earliest_s(self, job: ArrayLike, option: ArrayLike) -> Floats:
        """When jobs could start with these options, each if it were the next; infinite where a limit forbids it."""
        return self._place(job, option, assigned.LOOK)[1]

    # Clusters

    @property
    def n_nodes(self) -> Counts:
        """The nodes that each has."""
        return self.world.clusters.n_nodes

    @property
    def n_free(self) -> Counts:
        """The nodes of each that are free now."""
        return seen(np.array([self.profile(r).n_free[0] for r in range(self.n_nodes.size)]))

    @property
    def n_up(self) -> Counts:
        """The nodes of each that are not out now."""
        outages = self._state.outages
        known = outages.is_planned | (outages.start_s <= self.now_s)
        is_out = known & (outages.start_s <= self.now_s) & (self.now_s < outages.end_s)
        out = np.bincount(outages.cluster[is_out], outages.out[is_out], self.n_nodes.size)
        return seen(self.n_nodes - out.astype(np.int64))

    def profile(self, cluster: int) -> Profile:
        """How many nodes of a cluster are free from now on, less those that are held ahead."""
        book = self._state.book
        size = book.size[cluster]
        first = int(np.searchsorted(book.time_s[cluster, :size], self.now_s, "right")) - 1
        time_s = np.maximum(book.time_s[cluster, first:size], self.now_s)
        return Profile(seen(time_s), seen(book.free[cluster, first:size].copy()))

    @property
    def running(self) -> JobRuns:
        """The jobs that run, by their numbers."""
        heap = self._state.site.running
        return self._runs(np.sort(heap.items[: heap.size[0]]), self._state.site.book_end_s)

    @property
    def held(self) -> JobRuns:
        """The jobs for which nodes are held ahead, in the order in which they got them."""
        site = self._state.site
        return self._runs(site.held[: site.counts[HELD]].copy(), site.book_end_s)

    def _runs(self, job: Counts, end_s: Floats) -> JobRuns:
        plan = self._state.plan
        return JobRuns(seen(job), seen(plan.option[job]), seen(plan.start_s[job]), seen(end_s[job]))

    @cached_property
    def past(self) -> JobPast:
        """The jobs that have ended by now."""
        plan = self._state.plan
        job = np.flatnonzero(plan.end_s <= self.now_s)
        return JobPast(job, plan.option[job], plan.start_s[job], plan.end_s[job], self.world)

    # Power

    @property
    def free_w(self) -> float:
        """The power that is free now for what is started."""
        return _W_PER_MW * int(self.profile(-1).n_free[0]) if self._state.limits.has_cap else np.inf

    @property
    def power_w(self) -> Floats:
        """What running jobs draw of each cluster now."""
        options, option = self._state.facts.options, self.running.option
        return np.bincount(options.cluster[option], options.power_w[option], self.n_nodes.size).astype(np.float64)

    # Starting

    def start(self, job: ArrayLike, option: ArrayLike) -> Bools:
        """Start jobs now with these options, in this order.

        Returns which were started: the others are against a limit of energy or power, against what is held, or would
        earn too little, and wait on. Raises InputError for the first that is impossible; those before it are started.
        """
        return np.asarray(self._place(job, option, assigned.START)[0] == assigned.PLACED)

    def hold(self, job: ArrayLike, option: ArrayLike) -> Floats:
        """Hold nodes for jobs, in this order, from their earliest starts on; returns these, infinite for none.

        A job that can start now does. As the scheduler's commitment says, nodes stay held until the job starts, or only
        in this event and for starts before the next.
        """
        return self._place(job, option, assigned.HOLD)[1]

    def _place(self, job: ArrayLike, option: ArrayLike, how: int) -> tuple[Counts, Floats]:
        """What becomes of rows of job and option, and when each starts."""
        rows = np.stack([np.ravel(column) for column in np.broadcast_arrays(job, option)], axis=1)
        if rows.size and rows.dtype.kind not in "iu":
            found = f"found {rows.ravel()[0]!r} among jobs and options"
            raise InputError(Problem(self.place, found, "must be whole numbers", "give them as integers"))
        rows, fates, starts_s = rows.astype(np.int64), np.empty(len(rows), np.int64), np.empty(len(rows))
        self._place_all(self._state, rows, how, fates, starts_s)
        self._refuse_impossible(rows, fates)
        return fates, starts_s

    def _refuse_impossible(self, rows: Counts, fates: Counts) -> None:
        """InputError for the first row that no event could allow."""
        impossible = np.flatnonzero(fates > assigned.REFUSED)
        if impossible.size:
            job, option = rows[impossible[0]].tolist()
            raise InputError(self.impossible_problem(self.place, job, option, int(fates[impossible[0]])))

    def impossible_problem(self, where: str, job: int, option: int, fate: int) -> Problem:
        """What is said of a start that cannot be made."""
        why, advice = _REASONS[fate](self, job, option)
        return Problem(where, f"found job {job} with option {option}, {why}", advice=advice)


def _not_waiting(_event: JobEvent, _job: int, _option: int) -> tuple[str, str]:
    return "which is no job that waits", "start jobs of event.job, each once"


def _no_option(event: JobEvent, job: int, _option: int) -> tuple[str, str]:
    t = event.world.jobs.work.task_type[job]
    first, last = event.world.types.first[[t, t + 1]].tolist()
    return f"which is none of its own: these are {first} to {last - 1}", "choose among event.choices"


def _no_nodes(event: JobEvent, _job: int, option: int) -> tuple[str, str]:
    cluster, nodes = int(event.options.cluster[option]), int(event.options.nodes[option])
    name, n_free = event.world.clusters.names[cluster], int(event.n_free[cluster])
    return f"which needs {nodes} nodes of cluster {name}, of which {n_free} are free", "look at event.n_free"


_REASONS: dict[int, Callable[[JobEvent, int, int], tuple[str, str]]] = {
    assigned.NOT_WAITING: _not_waiting,
    assigned.NO_OPTION: _no_option,
    assigned.NO_NODES: _no_nodes,
}
"""Why a start is impossible, and what to do, by what became of it."""
