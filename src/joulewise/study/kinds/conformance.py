"""What a stranger's policy is held against: a table of checks by name, run on small worlds and then larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from joulewise.errors import InputError


class Named(Protocol):
    """Something that a policy is tried on."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...


Trial = TypeVar("Trial", bound=Named)


@dataclass(frozen=True)
class PolicyCheck:
    """What came out of a check: what is wrong, on the smallest trial that shows it, or nothing."""

    check: str
    says: str
    problem: str = ""
    shown_by: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem


@dataclass(frozen=True)
class Check(Generic[Trial]):
    """A row of the table: what it says of a policy that passes, and what is wrong on a trial, or nothing."""

    says: str
    find: Callable[[Trial], str]


def held_against(checks: Mapping[str, Check[Trial]], trials: Iterable[Trial]) -> Iterator[PolicyCheck]:
    """Every check on the trials, the smallest first, until one of them shows a problem.

    The first check is that runs come to their end; where it fails, nothing else is looked at.
    """
    in_order = list(trials)
    for name, check in checks.items():
        shown = ((trial.name, problem) for trial in in_order if (problem := _found(check, trial)))
        shown_by, problem = next(shown, ("", ""))
        yield PolicyCheck(name, check.says, problem, shown_by)
        if problem and check is next(iter(checks.values())):
            return


def _found(check: Check[Trial], trial: Trial) -> str:
    """What is wrong; a run that fails is."""
    try:
        return check.find(trial)
    except InputError as error:
        return str(error)
