"""Evolution on islands: a population on each, spread over processes, with the best moving on from time to time."""

from __future__ import annotations

import math
import multiprocessing
import pickle
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

import numpy as np

from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.model.arrays import Floats
from joulewise.optimise.evolution import (
    Evolution,
    GeneticProblem,
    Herd,
    Migrants,
    cores,
    founders,
    front_in,
    points_in,
    problems_of,
    start_problems,
)
from joulewise.optimise.front import Front, front_of
from joulewise.optimise.population import Population
from joulewise.optimise.ways import POPULATION, Ways
from joulewise.processes import HEED_S, available_cpus, end, follow_parent, for_children


@dataclass(frozen=True)
class Archipelago:
    """How many islands there are, how often how many of the best move on, and in how many processes (else: cores)."""

    islands: int = 4
    exchange_every: int = 50
    n_exchanged: int = 5
    workers: int | None = None


_FOUR, _AS_USUAL = Archipelago(), Ways()


def evolve_islands(
    make_problem: Callable[[], GeneticProblem],
    seeds: Sequence[Any] = (),
    *,
    generations: int,
    archipelago: Archipelago = _FOUR,
    population: int | None = None,
    ways: Ways = _AS_USUAL,
    seed: int = 0,
    seconds: float = math.inf,
    start: Population | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Evolution:
    """Evolve a population on each island, and from time to time copy a few of its best to the next one, in a ring.

    `make_problem` is called in each of the processes, so it must come from a module, such as
    `functools.partial(BagProblem, bag)`. The result does not depend on the number of processes. All else is as with
    `evolve`; the clock is looked at between exchanges. Raises InputError, and JoulewiseError when a process dies.
    """
    problem, islands, exchange_every = make_problem(), archipelago.islands, archipelago.exchange_every
    raise_if_any(problems_of(problem, len(seeds), generations, population, ways, seed, seconds))
    raise_if_any(_problems(archipelago))
    raise_if_any(start_problems(problem, len(seeds), population, start, islands))
    size = population or POPULATION
    begin = start or Population.joined([founders(problem, seeds, size, seed, island) for island in range(islands)])
    jobs = _jobs(make_problem, ways, begin, min(archipelago.workers or available_cpus(), islands))
    log = _SnapshotLog(problem, begin, ways.snapshots)
    with _crew(jobs) as crew:
        began = now = time.perf_counter()
        generation, last = begin.generation, begin.generation + generations
        while generation < last and now - began < seconds:
            is_due = generation > 0 and generation % exchange_every == 0
            immigrants = _one_on(crew.ask("emigrants", archipelago.n_exchanged)) if is_due else {}
            generation = min(last, generation - generation % exchange_every + exchange_every)
            log.note(crew.ask("live", immigrants, generation, log.wanted))
            now = time.perf_counter()
            if on_progress is not None:
                on_progress(generation - begin.generation)
        final = Population.joined(list(crew.ask("populations").values()))
    done = generation - begin.generation
    speed, engine = done / (now - began) if done else 0.0, cores(len(jobs) * problem.threads)
    return Evolution(front_in(problem, final), log.fronts(), done, speed, generation == last, final, engine)


def _problems(archipelago: Archipelago) -> Iterator[Problem]:
    for name, count in vars(archipelago).items():
        if count is not None and count < 1:
            yield Problem(name, f"found {count}", "must be 1 or more")


def _one_on(emigrants: dict[int, Migrants]) -> dict[int, Migrants]:
    """The points that come to each island: those that leave the one before it, around a ring."""
    return {(island + 1) % len(emigrants): migrants for island, migrants in emigrants.items()}


class _SnapshotLog:
    """The points of fronts at the generations asked for, from all islands; they are counted from where it began."""

    def __init__(self, problem: GeneticProblem, begin: Population, snapshots: Collection[int]) -> None:
        self.problem, self.first = problem, begin.generation
        self.wanted = {self.first + generation for generation in snapshots}
        self.points: dict[int, list[Floats]] = defaultdict(list)
        if 0 in snapshots:
            self.points[self.first].append(points_in(problem, begin))

    def note(self, seen: dict[int, dict[int, Floats]]) -> None:
        """Add what each island has seen, by generation."""
        for by_generation in seen.values():
            for generation, points in by_generation.items():
                self.points[generation].append(points)

    def fronts(self) -> dict[int, Front]:
        """The front of all islands at each of the generations that were reached."""
        objectives = self.problem.objectives
        return {
            generation - self.first: front_of(np.concatenate(points), objectives=objectives)
            for generation, points in self.points.items()
        }


class _IslandGroup:
    """Islands that one process looks after, by number."""

    def __init__(self, problem: GeneticProblem, ways: Ways, starts: dict[int, Population]) -> None:
        self.herds = {island: Herd(problem, start, ways) for island, start in starts.items()}

    def emigrants(self, n: int) -> dict[int, Migrants]:
        """The points that leave each island."""
        return {island: herd.emigrants(n) for island, herd in self.herds.items()}

    def live(self, immigrants: dict[int, Migrants], until: int, wanted: set[int]) -> dict[int, dict[int, Floats]]:
        """Let immigrants in, live on until a generation; returns the points of fronts at those wanted on the way."""
        for island, herd in self.herds.items():
            if island in immigrants:
                herd.welcome(immigrants[island])
        return {island: _live(herd, until, wanted) for island, herd in self.herds.items()}

    def populations(self) -> dict[int, Population]:
        """The islands as they are now."""
        return {island: herd.population() for island, herd in self.herds.items()}


def _live(herd: Herd, until: int, wanted: set[int]) -> dict[int, Floats]:
    seen = {}
    while herd.generation < until:
        herd.step()
        if herd.generation in wanted:
            seen[herd.generation] = herd.front().points
    return seen


# --- over processes ---------------------------------------------------------------------------------------


def _jobs(make_problem: Callable[[], GeneticProblem], ways: Ways, begin: Population, n: int) -> list[bytes]:
    """What each of n processes needs to know of its islands, as it is sent to it."""
    groups = [{island: begin.island(island) for island in range(first, begin.n_islands, n)} for first in range(n)]
    try:
        with for_children():  # where names of a program that is run as a script are not found, as in the processes
            return [pickle.dumps((make_problem, ways, starts)) for starts in groups]
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        found = f"found what cannot be sent to a process ({error})"
        advice = "such as functools.partial(BagProblem, bag)"
        raise InputError(Problem("make_problem", found, "must be a function or class of a module", advice)) from error


class _Crew(Protocol):
    """What looks after all islands."""

    def ask(self, what: str, *about: Any) -> dict[int, Any]:
        """The answers of all groups to a question, which is a method of theirs, by island."""


class _Alone:
    """One group, in this process."""

    def __init__(self, job: bytes) -> None:
        self.group = _group_of(job)

    def ask(self, what: str, *about: Any) -> dict[int, Any]:
        return dict(getattr(self.group, what)(*about))


class _Processes:
    """A group in each of several processes."""

    def __init__(self, pools: Sequence[ProcessPoolExecutor]) -> None:
        self.pools = pools

    def ask(self, what: str, *about: Any) -> dict[int, Any]:
        answers = _results([pool.submit(_answer, what, about) for pool in self.pools])
        together = {island: part for answer in answers for island, part in answer.items()}
        return dict(sorted(together.items()))


@contextmanager
def _crew(jobs: Sequence[bytes]) -> Iterator[_Crew]:
    """What does the jobs, each in a process of its own unless there is only one; no process stays behind."""
    if len(jobs) == 1:
        yield _Alone(jobs[0])
        return
    children: list[BaseProcess] = []
    context = multiprocessing.get_context("spawn")
    pools = [ProcessPoolExecutor(1, context, initializer=follow_parent) for _ in jobs]
    try:
        with for_children() as children:
            settled = [pool.submit(_settle, job) for pool, job in zip(pools, jobs, strict=True)]
        _results(settled)
        yield _Processes(pools)
    except BaseException:
        with suppress(Exception):  # what ended it is what is told, not what clearing up after it may meet
            for pool in pools:
                pool.shutdown(wait=False, cancel_futures=True)
            end(children)
        raise
    for pool in pools:
        pool.shutdown()


def _results(futures: Sequence[Future[Any]]) -> list[Any]:
    """What all have to say, once they have said it; the first error ends it."""
    left = set(futures)
    try:
        while left:
            ready, left = wait(left, HEED_S, FIRST_COMPLETED)
            for future in ready:
                future.result()
    except BrokenProcessPool as error:
        raise JoulewiseError("a process of the islands died; was it out of memory? use fewer workers") from error
    return [future.result() for future in futures]


_settled: list[_IslandGroup] = []
"""In a process of the islands: the group that it looks after."""


def _settle(job: bytes) -> None:
    _settled.append(_group_of(job))


def _answer(what: str, about: tuple[Any, ...]) -> dict[int, Any]:
    return dict(getattr(_settled[0], what)(*about))


def _group_of(job: bytes) -> _IslandGroup:
    make_problem, ways, starts = pickle.loads(job)
    return _IslandGroup(make_problem(), ways, starts)
