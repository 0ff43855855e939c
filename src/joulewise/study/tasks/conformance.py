"""The conformance suite for policies of tasks, built in or of a stranger: `joulewise check-policy`."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.check.tasks.allocation import check_allocation
from joulewise.model.allocation import Status
from joulewise.model.arrays import Floats
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.utility import UtilityShapes, constant, linear, step
from joulewise.model.workload import Workload
from joulewise.model.world import Outages, World
from joulewise.policies.own import TIME_LIMIT_S
from joulewise.policies.tasks.heuristic import find_policy
from joulewise.policies.tasks.policy import Policy
from joulewise.rng import generator
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.study.kinds.conformance import Check, PolicyCheck, held_against

_COLUMNS = ("machine", "pstate", "start_s", "end_s", "status")
_EVENTS_OF_A_DAY = 1440
_SIZES = (1, 2, 5, 20, 100)
_LARGEST = 400


# Worlds, from small to large


def small_world(n_tasks: int, supply: Supply = Supply(), outages: int = 0) -> World:  # noqa: B008 - it is frozen
    """Tasks of three types on six machines of three types, two P-states each; one type cannot run everywhere."""
    rng = generator(n_tasks, "study.tasks.conformance")
    fast_s = rng.integers(20, 200, (3, 3, 1)).astype(float)
    fast_s[0, 1] = math.inf
    power_w = rng.integers(50, 200, (3, 3, 1)) * np.array([1.0, 0.5])
    system = System(("a", "b", "c"), ("x", "y", "z"), np.array([1, 2, 3]), fast_s * [1.0, 1.5], power_w)
    arrival_s = np.sort(rng.integers(0, 10 * n_tasks + 1, n_tasks)).astype(float)
    shapes = UtilityShapes.of([constant(), linear(600.0), step(300.0)])
    kinds = (rng.integers(0, 3, n_tasks, np.int32), rng.integers(0, 3, n_tasks, np.int32))
    scale, hold_s = rng.choice([1.0, 2.0, 4.0], n_tasks), np.zeros(n_tasks)
    work = Workload(arrival_s, *kinds, scale, hold_s, shapes, 0.0, 10.0 * n_tasks + 1000.0)
    machines = np.arange(outages, dtype=np.int32)
    return World(system, work, supply, Outages(machines, np.full(outages, 100.0), np.full(outages, 400.0)))


@dataclass(frozen=True)
class Trial:
    """A policy on a world, with some switches of its manager; in a world of immediate mode there are no limits."""

    name: str
    policy: Policy
    world: World
    manager: Manager

    @cached_property
    def outcome(self) -> Outcome:
        """What the policy does, once."""
        return self.again()

    def again(self) -> Outcome:
        """What it does when it is asked again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return simulate(replace(self.world), self.manager, seed=1, trial=2)


def trials(policy: Policy) -> Iterator[Trial]:
    """The trials of a policy, from small to large."""
    for n_tasks in _SIZES:
        yield Trial(f"{n_tasks} tasks", policy, small_world(n_tasks), Manager(policy, 0.5))
    if policy.mode == "batch":
        budget = Supply(budget_j=20 * 8000.0, day_s=600.0)
        polled = Manager(policy, environment="polled")
        yield Trial("20 polled tasks", policy, small_world(20), polled)
        yield Trial("20 tasks, a budget", policy, small_world(20, budget), Manager(policy))
        yield Trial("20 tasks, a power cap", policy, small_world(20, Supply(cap_w=np.array([400.0]))), Manager(policy))
        yield Trial("20 tasks, machines that fail", policy, small_world(20, outages=4), Manager(policy))
        given = Manager(policy, mapping_time="given", mapping_model=(5.0, 0.0, 0.0))
        yield Trial("5 tasks, events with nobody waiting", policy, small_world(5), given)
    yield Trial(f"{_LARGEST} tasks", policy, small_world(_LARGEST), Manager(policy, 0.5))


# Checks


def _runs(trial: Trial) -> str:
    trial.outcome  # noqa: B018 - a run that fails says why
    return ""


def _is_valid(trial: Trial) -> str:
    return "; ".join(map(str, check_allocation(trial.world, trial.outcome.allocation, trial.manager)[:1]))


def _is_repeated(trial: Trial) -> str:
    return _difference(trial.outcome, trial.again(), "the same run again")


def _keeps_nothing(trial: Trial) -> str:
    first = trial.outcome
    replace(trial, world=small_world(7), manager=Manager(trial.policy)).again()
    return _difference(first, trial.again(), "the same run after another one")


def _sees_no_names(trial: Trial) -> str:
    return _difference(trial.outcome, replace(trial, world=renamed(trial.world)).again(), "other names")


def _leaves_inputs(trial: Trial) -> str:
    arrays = arrays_of(trial.world)
    before = [array.tobytes() for array in arrays]
    trial.again()
    return "" if [array.tobytes() for array in arrays] == before else "an array of the world was changed"


def _does_something(trial: Trial) -> str:
    is_idle = not (trial.outcome.allocation.status == Status.RAN).any()
    return "no task ran" if is_idle and not trial.world.supply.is_limited else ""


def _is_quiet(trial: Trial) -> str:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        simulate(trial.world, trial.manager, seed=1, trial=2)
    return "; ".join(str(one.message) for one in told[:1])


def _is_fast(trial: Trial) -> str:
    began = time.perf_counter()
    outcome = trial.again()
    event_s = (time.perf_counter() - began) / max(outcome.n_mapping_events, 1)
    limit_s = trial.policy.own.time_limit_s if trial.policy.own else TIME_LIMIT_S
    if event_s * _EVENTS_OF_A_DAY <= limit_s:
        return ""
    return f"took {1e3 * event_s:.3g} ms an event: {_EVENTS_OF_A_DAY:,} would take longer than {limit_s:g} s"


CHECKS = {
    "runs": Check[Trial]("every run comes to its end, and what is claimed holds, such as falls_with_time", _runs),
    "valid": Check[Trial]("allocations are valid: budgets, caps and machines are kept", _is_valid),
    "deterministic": Check[Trial]("the same run gives the same allocation", _is_repeated),
    "stateless": Check[Trial]("nothing is kept from run to run", _keeps_nothing),
    "names": Check[Trial]("names do not matter", _sees_no_names),
    "inputs": Check[Trial]("worlds stay as they are", _leaves_inputs),
    "works": Check[Trial]("some task runs", _does_something),
    "quiet": Check[Trial]("nothing is printed", _is_quiet),
    "fast": Check[Trial]("a day of 1,440 events keeps its time limit", _is_fast),
}
"""What holds of every policy that conforms, by name."""

_ON_WORKERS = "a worker process loads it, and finds the same"


def check_policy(spec: str, folder: Path) -> Iterator[PolicyCheck]:
    """Hold a policy against every check; InputError when there is no such policy."""
    policy = find_policy(spec, "check-policy", folder)
    found = list(held_against(CHECKS, trials(policy)))
    yield from found
    if len(found) == len(CHECKS):
        yield PolicyCheck("workers", _ON_WORKERS, *_differs_on_workers(spec, folder, policy))


def _differs_on_workers(spec: str, folder: Path, policy: Policy) -> tuple[str, str]:
    """What is wrong with the policy in another process, and on which trial."""
    trial = next(trials(policy))
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            there = pool.submit(_starts_on_worker, spec, folder).result()
        problem = _difference_of(trial.outcome.allocation.start_s, there, "a worker")
        return problem, trial.name if problem else ""
    except Exception as error:  # whatever a user's file raises where it is loaded again
        return f"{type(error).__name__}: {error}", trial.name


def _starts_on_worker(spec: str, folder: Path) -> Floats:
    return next(trials(find_policy(spec, "check-policy", folder))).outcome.allocation.start_s


def _difference(one: Outcome, other: Outcome, what: str) -> str:
    for name in _COLUMNS:
        here, there = (getattr(outcome.allocation, name) for outcome in (one, other))
        if problem := _difference_of(here, there, what, name):
            return problem
    return ""


def _difference_of(here: NDArray[Any], there: NDArray[Any], what: str, name: str = "start_s") -> str:
    if np.array_equal(here, there, equal_nan=here.dtype.kind == "f"):
        return ""
    task = int(np.flatnonzero(~((here == there) | ((here != here) & (there != there))))[0])
    return f"{what} gave task {task} the {name} {there[task]:g} in place of {here[task]:g}"


def renamed(world: World) -> World:
    """The same world with other names, their order turned round."""
    system, shapes = world.system, world.workload.shapes
    names = {part: _others(getattr(system, part)) for part in ("task_types", "machine_types")}
    work = replace(world.workload, shapes=replace(shapes, names=_others(shapes.names)))
    return replace(world, system=replace(system, **names), workload=work)  # type: ignore[arg-type]


def _others(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"other {len(names) - at} {name}" for at, name in enumerate(names))


def arrays_of(world: World) -> list[NDArray[Any]]:
    """Every array of a world."""
    system, work = world.system, world.workload
    parts = (system, system.standby, work, work.shapes, *work.tags.values(), world.supply, world.outages)
    values = [getattr(part, field.name) for part in parts if part is not None for field in dataclasses.fields(part)]
    return [value for value in values if isinstance(value, np.ndarray)]
