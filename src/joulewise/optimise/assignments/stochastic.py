"""Fronts of utility and energy when execution times and powers are uncertain (Friese 7.2)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.kernels.assignments.chance_pool import evaluate_pool_of_chances, know_rows, pool_of_chances
from joulewise.kernels.assignments.chances import (
    EXPECTED,
    LANES,
    MEAN_COMPLETIONS,
    MOST_POINTS,
    PERCENTILE,
    ChanceFacts,
    evaluate_chances,
    room_for_samples,
)
from joulewise.kernels.assignments.genes import cross_and_mutate
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.model.world import World
from joulewise.optimise.assignments.choices import DropBy, StochasticObjective
from joulewise.optimise.assignments.gpu import AssignmentEvaluator
from joulewise.optimise.assignments.problem import AssignmentProblem, assignment_facts, genes_of
from joulewise.optimise.population import fingerprint_of
from joulewise.rng import generator

Floats32: TypeAlias = NDArray[np.float32]

MOST_SAMPLES = 100_000
MOST_KEPT_BYTES = 2**30
_BYTES_PER_SAMPLE = 8
_CODES = {"mean-completions": MEAN_COMPLETIONS, "expected": EXPECTED, "percentile": PERCENTILE}
_ROUNDING = 1e-9
_evaluate_rows: Any = evaluate_chances
_evaluate_pool: Any = evaluate_pool_of_chances
_know: Any = know_rows
_cross_and_mutate: Any = cross_and_mutate


class StochasticProblem(AssignmentProblem):
    """Energy and utility of tasks known in advance whose times and powers are not.

    The objective says what is optimised: "mean-times", both when everything takes its mean time and power (one
    evaluation without samples); "mean-completions", the utility at each task's mean completion, and mean energies;
    "expected", the means of both; or "percentile": the utility that this many percent of the samples reach at least,
    and the energy that this many percent use at most. Tasks that would earn less than `drop_below` are dropped, by
    their completion in each sample or, always so with mean completions, by their mean completion. All chromosomes
    see the same samples. Points do not depend on the number of threads. Raises InputError with every problem found.
    """

    def __init__(
        self,
        world: World,
        chances: Chances,
        *,
        objective: StochasticObjective = "percentile",
        percentile: tuple[int, int] = (50, 50),
        n_samples: int = 100,
        drop_below: float = 0.5,
        drop_by: DropBy = "sampled",
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        raise_if_any(_problems(world, chances, objective, percentile, n_samples, drop_by, threads))
        super().__init__(world, drop_below)
        self.chances, self.objective = chances, objective
        self.threads = 1 if objective == "mean-times" else threads
        self.chance_facts: ChanceFacts | None = None
        if objective != "mean-times":
            self.chance_facts = chance_facts(
                world,
                chances,
                objective=objective,
                percentile=percentile,
                n_samples=n_samples,
                drop_below=drop_below,
                drop_by=drop_by,
                seed=seed,
            )

    @cached_property
    def fingerprint(self) -> str:
        """The same for problems in which every assignment has the same energy and utility."""
        if self.chance_facts is None:
            return super().fingerprint
        return fingerprint_of("chances", self.chance_facts)

    def chromosomes(self, genes: Ints) -> Any:
        """A home for chromosomes."""
        if self.chance_facts is None:
            return super().chromosomes(genes)
        return ChanceChromosomes(self.chance_facts, genes, self.threads)

    def gpu_evaluator(self, n: int) -> AssignmentEvaluator:
        """What evaluates chromosomes on a GPU."""
        return super().gpu_evaluator(n) if self.chance_facts is None else AssignmentEvaluator(self.chance_facts, n)


class ChanceChromosomes:
    """Chromosomes of assignments whose samples are evaluated by several threads, each some of the rows.

    What machines do is kept for children that inherit it, unless that takes more memory than `most_bytes`.
    """

    def __init__(self, facts: ChanceFacts, genes: Ints, threads: int = 1, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.facts, self.genes, self.points = facts, genes, np.zeros((genes.shape[1], 2))
        n_kept = genes.shape[1] * (int(facts.facts.machine[-1]) + 1) * facts.time_point.shape[1]
        self.pool = pool_of_chances(facts, genes, self.points) if _BYTES_PER_SAMPLE * n_kept <= most_bytes else None
        self.rooms = [room_for_samples(facts) for _ in range(threads)]
        self.workers = ThreadPoolExecutor(threads) if threads > 1 else None

    def evaluate(self, n_rows: int) -> None:
        """Set the points of the first rows."""
        self._evaluate(np.arange(0), np.arange(n_rows))

    def breed(self, state: NDArray[np.uint64], parents: Counts, children: Counts, mutation: float) -> None:
        """Fill and evaluate the children's rows."""
        _cross_and_mutate(state, self.facts.facts, self.genes, parents, children, mutation)
        self._evaluate(parents, children)

    def _evaluate(self, evaluated: Counts, rows: Counts) -> None:
        """Set the points of rows, given others that have been evaluated as they are."""
        if self.pool is not None:
            _know(self.pool, evaluated)
        if self.workers is None:
            self._evaluate_share(self.rooms[0], rows)
            return
        shares = [rows[k :: len(self.rooms)].copy() for k in range(len(self.rooms))]
        for _ in self.workers.map(self._evaluate_share, self.rooms, shares):
            pass

    def _evaluate_share(self, room: Any, rows: Counts) -> None:
        if self.pool is None:
            _evaluate_rows(self.facts, room, self.genes, rows, self.points)
        else:
            _evaluate_pool(self.facts, room, self.pool, rows)


def evaluated_chances(facts: ChanceFacts, assignments: list[Assignment]) -> Floats:
    """The points (energy in J, minus utility) of assignments."""
    home = ChanceChromosomes(facts, np.stack([genes_of(facts.facts, each) for each in assignments], axis=1))
    home.evaluate(len(assignments))
    return home.points


def chance_facts(
    world: World,
    chances: Chances,
    *,
    objective: StochasticObjective,
    percentile: tuple[int, int] = (50, 50),
    n_samples: int = 100,
    drop_below: float = 0.5,
    drop_by: DropBy = "sampled",
    seed: int = 0,
) -> ChanceFacts:
    """A world and its chances as samples of assignments are evaluated, with the points that each sample has."""
    stored = -(-n_samples // LANES) * LANES
    draws = generator(seed, "chances.samples")
    time_point, power_point = draws.integers(0, chances.n_points, (2, world.workload.n_tasks, stored), np.uint8)
    facts = assignment_facts(world, drop_below)
    utility_rank, energy_rank = (rank_of(percent, n_samples) for percent in percentile)
    return ChanceFacts(
        facts,
        _by_choice(chances.time_s),
        _by_choice(world.supply.pue * chances.power_w),
        time_point,
        power_point,
        facts.utilities.segments.astype(np.float32),
        n_samples,
        _CODES[objective],
        utility_rank,
        energy_rank,
        drop_by == "expected",
    )


def _by_choice(points: Floats) -> Floats32:
    n_task_types, _, _, n_points = points.shape
    return points.reshape(n_task_types, -1, n_points).astype(np.float32)


def rank_of(percent: int, n: int) -> int:
    """The place, from 1, of a percentile among n sorted values."""
    return -(-percent * n // 100)


def _problems(
    world: World,
    chances: Chances,
    objective: str,
    percentile: tuple[int, int],
    n_samples: int,
    drop_by: str,
    threads: int,
) -> Iterator[Problem]:
    for name, chosen, choices in (("objective", objective, StochasticObjective), ("drop_by", drop_by, DropBy)):
        if chosen not in get_args(choices):
            yield unknown_name(name, chosen, get_args(choices))
    for name, percent in zip(("percentile_utility", "percentile_energy"), percentile, strict=True):
        if not (1 <= percent <= 100 and percent == int(percent)):
            yield Problem(name, f"found {percent}", "must be a whole number from 1 to 100")
    if not 1 <= n_samples <= MOST_SAMPLES:
        yield Problem("n_samples", f"found {n_samples}", f"must be from 1 to {MOST_SAMPLES:,}")
    if threads < 1:
        yield Problem("threads", f"found {threads}", "must be 1 or more")
    yield from chance_problems(world, chances)


def chance_problems(world: World, chances: Chances) -> Iterator[Problem]:
    """Why chances do not belong to a world: other types, other choices, other means, too many points."""
    system, shape = world.system, chances.time_s.shape[:3]
    if shape != system.etc_s.shape or system.power_w is None:
        yield Problem(
            "chances", f"found them for {shape}", f"must be for the system's {system.etc_s.shape}, with powers"
        )
        return
    if chances.n_points > MOST_POINTS:
        yield Problem("chances", f"found {chances.n_points} points", f"may have up to {MOST_POINTS}")
    possible = np.isfinite(system.etc_s)
    for name, points, means in (("time_s", chances.time_s, system.etc_s), ("power_w", chances.power_w, system.power_w)):
        if not np.allclose(points[possible].mean(axis=-1), means[possible], rtol=_ROUNDING, atol=0.0):
            advice = "take both from the same generator or table"
            yield Problem(f"chances.{name}", "found other means than the system's", "must have the same", advice)
