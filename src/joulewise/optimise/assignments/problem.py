"""Assignments of tasks known in advance, as a problem of two objectives: least energy and most utility."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.assignments.evaluation import (
    NOWHERE,
    AssignmentFacts,
    evaluate_assignments,
    room_to_evaluate,
    time_assignment,
)
from joulewise.kernels.assignments.genes import breed_assignments, evaluate_pool, pool_of, room_to_breed
from joulewise.model.allocation import Allocation, Status
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.assignment import Assignment, begin_s, from_begin
from joulewise.model.world import World
from joulewise.optimise.assignments.gpu import AssignmentEvaluator, certain_facts
from joulewise.optimise.front import FrontObjective
from joulewise.optimise.gpu import TaskPlaces
from joulewise.optimise.population import fingerprint_of
from joulewise.policies.layout import tasks_of, utilities_of

ENERGY_UTILITY = (FrontObjective("energy", "J"), FrontObjective("utility", "", is_maximised=True))
_evaluate: Any = evaluate_assignments
_time: Any = time_assignment
_evaluate_pool: Any = evaluate_pool
_breed: Any = breed_assignments
MOST_TASKS = 100_000
"""Every generation handles each task of each chromosome."""

MOST_POSITIONS = 20_000_000
"""Tasks times machines: annealing has room for every task on every machine, about 100 bytes each."""


def assignment_facts(world: World, drop_below: float = 0.0) -> AssignmentFacts:
    """A world as its assignments are evaluated. Raises InputError for worlds with what assignments do not know."""
    raise_if_any(_world_problems(world, drop_below))
    system = world.system
    machine = np.repeat(np.arange(system.n_machines), system.n_pstates)
    pstate = np.tile(np.arange(system.n_pstates), system.n_machines)
    choice = system.machine_type[machine] * system.n_pstates + pstate
    exec_s = system.etc_s.reshape(system.n_task_types, -1)
    allowed = np.isfinite(exec_s)[:, choice]
    return AssignmentFacts(
        tasks_of(from_begin(world).workload),
        utilities_of(world.workload.shapes),
        exec_s.copy(),
        world.supply.pue * system.eec_j.reshape(system.n_task_types, -1),
        machine.astype(np.int32),
        choice.astype(np.int32),
        np.argsort(~allowed, axis=1, kind="stable").astype(np.int32),
        allowed.sum(axis=1),
        drop_below,
        begin_s(world.workload),
    )


def _world_problems(world: World, drop_below: float) -> Iterator[Problem]:
    work, system = world.workload, world.system
    if not (drop_below >= 0 and math.isfinite(drop_below)):
        yield Problem("drop_below", f"found {drop_below:g}", "must be a utility, 0 or more")
    if system.power_w is None:
        yield Problem("system.power_w", "found no powers", "must be given: one objective is energy")
    if work.start_s > 0 or math.isfinite(work.end_s) or work.is_prorated:
        found = f"found the counted window ({work.start_s:g} s, {work.end_s:g} s]"
        yield Problem("workload", found, "every completion must count", "leave out warm-up and the window's end")
    if work.stretch is not None:
        advice = "leave out time_spread; chances say how times may turn out"
        yield Problem(
            "workload.stretch", "found true times, which cannot be known in advance", "must be as estimated", advice
        )
    if work.rise_s is not None:
        found = "found tasks whose utility rises first"
        yield Problem("workload.rise_s", found, "a utility may only fall with time", "leave rise_s out")
    if system.standby is not None and any(values.any() for values in (system.standby.idle_w, system.standby.boot_s)):
        yield Problem("system.idle_w", "found machines that draw power while idle or boot", "must be 0", "leave it out")
    if world.outages.machine.size:
        yield Problem("outages", "found machines that fail", "must not fail", "leave out mtbf")
    if world.supply.is_limited:
        advice = "read off the front what a budget allows"
        yield Problem("supply", "found a limit of energy or power", "must have none", advice)
    if (system.counts == 0).any():
        impossible = ~np.isfinite(system.etc_s[:, system.counts > 0]).any(axis=(1, 2))
        missing = np.intersect1d(np.flatnonzero(impossible), work.task_type)
        if missing.size:
            found = f"no machine can run task type {system.task_types[missing[0]]!r}"
            yield Problem("system.counts", found, "every task must be able to run somewhere")


def genes_of(facts: AssignmentFacts, assignment: Assignment) -> Ints:
    """An assignment as genes `[kind of gene, task]`."""
    n_pstates = facts.machine.size // (int(facts.machine[-1]) + 1)
    place = np.where(assignment.runs, assignment.machine * n_pstates + assignment.pstate, NOWHERE)
    return np.stack([place, assignment.order]).astype(np.int32)


def assignment_of(facts: AssignmentFacts, genes: Ints) -> Assignment:
    """The assignment that genes `[kind of gene, task]` stand for."""
    place, order = genes
    n_pstates = facts.machine.size // (int(facts.machine[-1]) + 1)
    runs = place != NOWHERE
    machine, pstate = np.divmod(place, n_pstates)
    return Assignment(np.where(runs, machine, -1), np.where(runs, pstate, 0).astype(np.int8), order)


def evaluated(facts: AssignmentFacts, assignments: Sequence[Assignment]) -> Floats:
    """The points (energy in J, minus utility) of assignments."""
    return points_of(facts, np.stack([genes_of(facts, assignment) for assignment in assignments], axis=1))


def points_of(facts: AssignmentFacts, genes: Ints) -> Floats:
    """The points (energy in J, minus utility) of genes `[kind of gene, row, task]`."""
    points = np.zeros((genes.shape[1], 2))
    _evaluate(facts, _room(facts), genes, np.arange(genes.shape[1]), points)
    return points


def allocation_of(facts: AssignmentFacts, assignment: Assignment) -> Allocation:
    """When and where every task runs; what does not run is dropped."""
    place, order = genes_of(facts, assignment)
    start_s, end_s = np.zeros(place.size), np.zeros(place.size)
    _time(facts, _room(facts), place, order, start_s, end_s)
    ran = np.isfinite(end_s)
    status = np.where(ran, Status.RAN, Status.DROPPED)
    machine, pstate = np.where(ran, assignment.machine, -1), np.where(ran, assignment.pstate, -1)
    return Allocation(machine, pstate, facts.begin_s + start_s, facts.begin_s + end_s, status)


def _room(facts: AssignmentFacts) -> Any:
    return room_to_evaluate(facts.tasks.arrival_s.size, int(facts.machine[-1]) + 1)


class AssignmentProblem:
    """Energy and utility of tasks known in advance: two genes per task, its place and its number in the global order.

    Mutation puts a task on one of the places that can run it, as published. With `leaves_out`, which needs a
    `drop_below` above 0, it draws from one place more, the last: NOWHERE, the task is left out. Raises InputError for
    worlds with what assignments do not know, or with too many tasks.
    """

    gene_names: tuple[str, ...] = ("place", "order")
    objectives: tuple[FrontObjective, FrontObjective] = ENERGY_UTILITY
    threads: int = 1

    def __init__(self, world: World, drop_below: float = 0.0, leaves_out: bool = False) -> None:
        raise_if_any(_problems(world, drop_below, leaves_out))
        self.world, self.n_genes = world, world.workload.n_tasks
        self.leaves_out, self.facts = leaves_out, assignment_facts(world, drop_below)

    @cached_property
    def fingerprint(self) -> str:
        """The same for problems in which every assignment has the same energy and utility, and the same children."""
        return fingerprint_of("assignments", self._bred_by)

    @cached_property
    def _bred_by(self) -> AssignmentFacts:
        """The facts with the places that mutation draws from."""
        return _leaving_out(self.facts) if self.leaves_out else self.facts

    def random_genes(self, draws: np.random.Generator, n: int) -> Ints:
        """Random places of those that can run each task, all in random order."""
        kind = self.facts.tasks.task_type
        picked = draws.integers(0, self.facts.n_allowed[kind], (n, self.n_genes))
        order = draws.permuted(np.tile(np.arange(self.n_genes, dtype=np.int32), (n, 1)), axis=1)
        return np.stack([self.facts.allowed[kind, picked], order])

    def chromosomes(self, genes: Ints) -> AssignmentChromosomes:
        """A home for chromosomes."""
        return AssignmentChromosomes(self._bred_by, genes)

    def genes_of(self, payload: Any) -> Ints:
        """The genes of an assignment. Raises InputError for what is none of these tasks."""
        if not isinstance(payload, Assignment) or payload.n_tasks != self.n_genes:
            found = f"found {payload.n_tasks} tasks" if isinstance(payload, Assignment) else f"found {payload!r}"
            allowed, advice = f"must be an Assignment of {self.n_genes} tasks", "SEEDS make some of a world"
            raise InputError(Problem("seeds", found, allowed, advice))
        return genes_of(self.facts, payload)

    def payload(self, genes: Ints) -> Assignment:
        """The assignment of a chromosome."""
        return assignment_of(self.facts, genes)

    @property
    def places(self) -> TaskPlaces:
        """Where mutation may put tasks."""
        facts = self.facts
        return TaskPlaces(facts.tasks.task_type, facts.allowed, facts.n_allowed, self.leaves_out)

    def gpu_evaluator(self, n: int) -> AssignmentEvaluator:
        """What evaluates chromosomes on a GPU."""
        return AssignmentEvaluator(certain_facts(self.facts), n)


class AssignmentChromosomes:
    """Chromosomes of assignments, with what each machine does in them."""

    def __init__(self, facts: AssignmentFacts, genes: Ints) -> None:
        n_machines = int(facts.machine[-1]) + 1
        self.facts, self.pool = facts, pool_of(genes, n_machines)
        self.room = room_to_breed(genes.shape[2], n_machines)
        self.genes, self.points = self.pool.genes, self.pool.points

    def evaluate(self, n_rows: int) -> None:
        """Set the points of the first rows."""
        _evaluate_pool(self.facts, self.pool, self.room, n_rows)

    def breed(self, state: NDArray[np.uint64], parents: Counts, children: Counts, mutation: float) -> None:
        """Fill and evaluate the children's rows."""
        _breed(state, self.facts, self.pool, self.room, parents, children, mutation)


def _leaving_out(facts: AssignmentFacts) -> AssignmentFacts:
    """The facts with NOWHERE as one more place that is allowed, behind those that can run a task type."""
    n_types, n_places = facts.allowed.shape
    allowed = np.full((n_types, n_places + 1), NOWHERE, np.int32)
    allowed[:, :n_places] = facts.allowed
    allowed[np.arange(n_types), facts.n_allowed] = NOWHERE
    return facts._replace(allowed=allowed, n_allowed=facts.n_allowed + 1)


def _problems(world: World, drop_below: float, leaves_out: bool) -> Iterator[Problem]:
    if leaves_out and not drop_below > 0:
        yield Problem("leaves_out", "found it with a drop_below of 0", "every task must run", "set drop_below above 0")
    n_tasks = world.workload.n_tasks
    if n_tasks > MOST_TASKS:
        advice = f"annealing takes up to {MOST_POSITIONS:,} tasks times machines"
        yield Problem(
            "workload", f"found {n_tasks:,} tasks", f"a genetic algorithm takes {MOST_TASKS:,} at most", advice
        )
