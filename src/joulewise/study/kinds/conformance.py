"""What a stranger's policy is held against: a table of checks by name, run on small worlds and then larger ones."""

from __future__ import annotations

import dataclasses
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError
from joulewise.policies.time_limit import TIME_LIMIT_S
from joulewise.study.kinds.foresight import PARTS

_EVENTS_OF_A_DAY = 1440


@dataclass(frozen=True)
class PolicyCheck:
    """What came out of a check: what is wrong, on the smallest trial that shows it, or nothing.

    A `word` says what need not be wrong, but is worth knowing.
    """

    check: str
    says: str
    problem: str = ""
    shown_by: str = ""
    word: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem


@dataclass(frozen=True)
class Trial(ABC):
    """A policy in a world, under the manager of a system, which says how it is run and what must hold.

    `work` is what is done there, and `columns` are what an allocation says of it.
    """

    name: str
    policy: Any
    world: Any
    manager: Any
    work: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def run(self) -> Any:
        """The outcome of a run."""

    @abstractmethod
    def findings(self) -> list[str]:
        """What is wrong with the allocation."""

    @abstractmethod
    def elsewhere(self) -> Trial:
        """The policy in another world."""

    @abstractmethod
    def renamed(self) -> Trial:
        """The policy in the same world with other names, their order turned round."""

    @abstractmethod
    def gathered(self) -> Trial:
        """The policy in a like world, in which the work arrives in crowds."""

    @abstractmethod
    def listed(self, order: NDArray[Any]) -> Trial:
        """The policy in the same world with the work in this order, which is one of arrival."""

    @abstractmethod
    def foresight(self, part: float) -> str:
        """What starts otherwise if another future comes after a part of the work, or nothing."""

    @abstractmethod
    def arrival_s(self) -> NDArray[Any]:
        """When the work arrives."""

    @abstractmethod
    def parts(self) -> Iterable[Any]:
        """The parts of the world, which hold its arrays."""

    @abstractmethod
    def has_run(self) -> bool:
        """Whether any of the work was done."""

    @cached_property
    def outcome(self) -> Any:
        """What the policy does, once."""
        return self.again()

    def again(self) -> Any:
        """What it does when it is asked again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.run()


@dataclass(frozen=True)
class Check:
    """A row of the table: what it says of a policy that passes, and what is wrong on a trial, or nothing.

    What `may_be_right` is told in a word.
    """

    says: str
    find: Callable[[Trial], str]
    may_be_right: bool = False


def arrays_of(parts: Iterable[Any]) -> list[NDArray[Any]]:
    """Every array of the parts of a world."""
    there = [part for part in parts if part is not None]
    values = [getattr(part, field.name) for part in there for field in dataclasses.fields(part)]
    return [value for value in values if isinstance(value, np.ndarray)]


# Checks


def _runs(trial: Trial) -> str:
    trial.outcome  # noqa: B018 - a run that fails says why
    return ""


def _is_valid(trial: Trial) -> str:
    return "; ".join(map(str, trial.findings()[:1]))


def _is_repeated(trial: Trial) -> str:
    return _difference(trial, trial.again(), "the same run again")


def _keeps_nothing(trial: Trial) -> str:
    trial.outcome  # noqa: B018 - it comes before the other one
    trial.elsewhere().again()
    return _difference(trial, trial.again(), "the same run after another one")


def _sees_no_names(trial: Trial) -> str:
    return _difference(trial, trial.renamed().again(), "other names")


def _sees_no_order(trial: Trial) -> str:
    gathered = trial.gathered()
    arrival_s = gathered.arrival_s()
    order = np.lexsort((-np.arange(arrival_s.size), arrival_s))
    there = gathered.listed(order).again().allocation
    for name in trial.columns:
        column = getattr(gathered.outcome.allocation, name)[order]
        if problem := _difference_of(
            trial, column, getattr(there, name), "what arrives together in another order", name
        ):
            return f"{problem}: ties, or chance, may be why"
    return ""


def _looks_not_ahead(trial: Trial) -> str:
    return next(filter(None, map(trial.foresight, PARTS)), "")


def _leaves_inputs(trial: Trial) -> str:
    arrays = arrays_of(trial.parts())
    before = [array.tobytes() for array in arrays]
    trial.again()
    return "" if [array.tobytes() for array in arrays] == before else "an array of the world was changed"


def _does_something(trial: Trial) -> str:
    return "" if trial.has_run() or trial.world.supply.is_limited else f"no {trial.work} ran"


def _is_quiet(trial: Trial) -> str:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        trial.run()
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
    "runs": Check("every run comes to its end, and what is claimed holds, such as falls_with_time", _runs),
    "valid": Check("allocations are valid: budgets, caps and machines are kept", _is_valid),
    "deterministic": Check("the same run gives the same allocation", _is_repeated),
    "stateless": Check("nothing is kept from run to run", _keeps_nothing),
    "names": Check("names do not matter", _sees_no_names),
    "order": Check("the order in which those are listed that arrive together does not matter", _sees_no_order, True),
    "causal": Check("what is still to come decides nothing", _looks_not_ahead),
    "inputs": Check("worlds stay as they are", _leaves_inputs),
    "works": Check("some work is done", _does_something),
    "quiet": Check("nothing is printed", _is_quiet),
    "fast": Check("a day of 1,440 events keeps its time limit", _is_fast),
}
"""What holds of every policy that conforms, by name."""

_ON_WORKERS = "a worker process loads it, and finds the same"


def held_against_all(trials_of: Callable[[], Iterable[Trial]]) -> Iterator[PolicyCheck]:
    """Every check on the trials, the smallest first, until one of them shows a problem; other processes make them too.

    Where runs do not come to their end, nothing else is looked at. InputError when there is no such policy.
    """
    in_order = list(trials_of())
    for name, check in CHECKS.items():
        shown = ((trial.name, problem) for trial in in_order if (problem := _found(check, trial)))
        shown_by, problem = next(shown, ("", ""))
        told = {"word" if check.may_be_right else "problem": problem}
        yield PolicyCheck(name, check.says, shown_by=shown_by, **told)
        if problem and check.find is _runs:
            return
    problem = _on_worker(in_order[0], trials_of)
    yield PolicyCheck("workers", _ON_WORKERS, problem, in_order[0].name if problem else "")


def _found(check: Check, trial: Trial) -> str:
    """What is wrong; a run that fails is."""
    try:
        return check.find(trial)
    except InputError as error:
        return str(error)


def _on_worker(trial: Trial, trials_of: Callable[[], Iterable[Trial]]) -> str:
    """What is wrong with the policy in another process."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            there = pool.submit(_starts_of_first, trials_of).result()
        return _difference_of(trial, trial.outcome.allocation.start_s, there, "a worker")
    except Exception as error:  # whatever a user's file raises where it is loaded again
        return f"{type(error).__name__}: {error}"


def _starts_of_first(trials_of: Callable[[], Iterable[Trial]]) -> NDArray[Any]:
    start_s: NDArray[Any] = next(iter(trials_of())).outcome.allocation.start_s
    return start_s


def _difference(trial: Trial, other: Any, what: str) -> str:
    for name in trial.columns:
        here, there = (getattr(outcome.allocation, name) for outcome in (trial.outcome, other))
        if problem := _difference_of(trial, here, there, what, name):
            return problem
    return ""


def _difference_of(
    trial: Trial, here: NDArray[Any], there: NDArray[Any], what: str, name: str = "start_s"
) -> str:  # fmt: skip
    if np.array_equal(here, there, equal_nan=here.dtype.kind == "f"):
        return ""
    at = int(np.flatnonzero(~((here == there) | ((here != here) & (there != there))))[0])
    return f"{what} gave {trial.work} {at} the {name} {there[at]:g} in place of {here[at]:g}"


def other_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """As many other names, in the opposite order."""
    return tuple(f"other {len(names) - at} {name}" for at, name in enumerate(names))
