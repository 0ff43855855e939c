"""What decides at the points of a study while it is checked, each made once for all points that share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from joulewise.errors import Problem, attempt
from joulewise.study.kinds.case import Candidates
from joulewise.study.spec.parts import WorldParts

Decider = TypeVar("Decider")
"""A manager, or a scheduler."""


class Deciders(Generic[Decider]):
    """The deciders of a study, by section, with the problems of those that cannot be made.

    `policy_of` looks up the policy of a name, and `make` makes a decider of parameters and their policy. Both raise
    InputError.
    """

    def __init__(self, asked: Candidates, policy_of: Callable[[str], Any], make: Callable[[Any, Any], Decider]) -> None:
        self.asked = asked
        self.problems: list[Problem] = []
        names = dict.fromkeys(part.parameters.policy for part in asked.decisions)
        policies = {name: attempt(self.problems, policy_of, name) for name in names}
        said = ((part, part.parameters, policies[part.parameters.policy]) for part in asked.decisions)
        made = ((part, attempt(self.problems, make, p, policy)) for part, p, policy in said if policy is not None)
        self.of = {part: decider for part, decider in made if decider is not None}

    def by_world(self) -> Iterator[tuple[WorldParts, list[Decider]]]:
        """The worlds of points in their order, each with those that decide in it."""
        made: dict[int, list[Decider]] = {}  # most worlds have the same sections that decide
        for parts, decisions in self.asked.decided:
            if id(decisions) not in made:
                made[id(decisions)] = [self.of[part] for part in decisions if part in self.of]
            yield parts, made[id(decisions)]
