"""What users say in the comment of a job that it is worth: a small JSON in the words of rules, within limits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from joulewise.errors import CONTROL, InputError, Problem, as_written, raise_if_any, unknown_name
from joulewise.slurm.queue import QueuedJob
from joulewise.worlds.jobs.rules import Rule, parse_rules
from joulewise.worlds.utilities import PRIORITIES, UtilityParameters
from joulewise.worlds.utility_tables import parse_points

WORDS = (
    "max_utility", "priority", "utility", "duration", "points", "urgency", "utility_class", "hold", "hold_requests",
)  # fmt: skip
"""What a comment may say: the words of rules about worth."""

_WHERE = "comment"
_EXAMPLE = 'for example {"max_utility": 3, "utility": "step", "duration": "2 h"}'
_LEVELS = dict(zip(PRIORITIES, UtilityParameters().priority_values, strict=True))


@dataclass(frozen=True)
class CommentLimits:
    """What comments may say: the words, and the most utility, by QOS before account before that of all."""

    longest: int = 1_000
    words: tuple[str, ...] = WORDS
    most_utility: float = max(_LEVELS.values())
    most_by_qos: Mapping[str, float] = field(default_factory=dict)
    most_by_account: Mapping[str, float] = field(default_factory=dict)

    def most_for(self, job: QueuedJob) -> float:
        """The most that a job may say it is worth."""
        by_account = self.most_by_account.get(job.account or "", self.most_utility)
        return self.most_by_qos.get(job.qos or "", by_account)


class Said(NamedTuple):
    """What a comment says: a rule for its job alone, or why it is refused; neither where it is no JSON of ours."""

    rule: Rule | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def reason(self) -> str:
        """Why it is refused, in a line for the owner of the job; "" where it is not."""
        return "; ".join(map(str, self.problems))


def said_of(job: QueuedJob, limits: CommentLimits) -> Said:
    """What the comment of a job says. It never fails: a bad comment is refused for its job alone."""
    comment = (job.comment or "").strip()
    if not comment.startswith("{"):
        return Said()
    if len(comment) > limits.longest:
        found = f"is {len(comment):,} characters long"
        return Said(None, (Problem(_WHERE, found, f"must be {limits.longest:,} at most"),))
    return _said(comment, limits.words, limits.most_for(job))


@lru_cache(maxsize=10_000)
def _said(comment: str, words: tuple[str, ...], most: float) -> Said:
    try:
        rule = _rule(_values(comment, words))
        raise_if_any(_too_much(rule, most))
    except InputError as error:
        return Said(None, error.problems)
    return Said(rule)


def _values(comment: str, words: tuple[str, ...]) -> dict[str, Any]:
    """The values of a flat JSON object; InputError for all that is none."""
    try:
        pairs = json.loads(comment, object_pairs_hook=_Pairs, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        told = str(error) if isinstance(error, json.JSONDecodeError | _ConstantError) else "it cannot be read"
        raise InputError(Problem(_WHERE, f"is no JSON: {told}", advice=_EXAMPLE)) from None
    if not isinstance(pairs, _Pairs):
        raise InputError(Problem(_WHERE, "is no JSON object", advice=_EXAMPLE))
    raise_if_any(_strange(pairs, words))
    return dict(pairs)


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they stand there, the same key perhaps twice."""


class _ConstantError(ValueError):
    """NaN or Infinity, which JSON has not."""


def _refuse(name: str) -> None:
    raise _ConstantError(f"found {name}")


def _strange(pairs: _Pairs, words: tuple[str, ...]) -> Iterable[Problem]:
    """What no comment needs: unknown and repeated words, lists, control characters, numbers without an end."""
    keys = [key for key, _ in pairs]
    for key, value in pairs:
        where = f"{_WHERE}, {key[:40]}"
        if key not in words:
            yield unknown_name(_WHERE, key[:40], words)
        elif keys.count(key) > 1:
            yield Problem(where, "stands there twice", "each word may stand once")
        elif isinstance(value, list) or value is None:
            yield Problem(where, "found no plain value", "must be a number or text")
        elif isinstance(value, str) and CONTROL.search(value):
            yield Problem(where, "found control characters", "must be plain text")
        elif isinstance(value, int | float) and not abs(value) < math.inf:
            yield Problem(where, "found a number that is too large", "must be a number")
    if not pairs:
        yield Problem(_WHERE, "says nothing", f"must say one at least of {', '.join(words)}", _EXAMPLE)


def _rule(values: Mapping[str, Any]) -> Rule:
    """The values as a rule, read as those of a file of rules are; InputError in the words of those."""
    lines = (f"{key} = {_toml(value)}" for key, value in values.items())
    try:
        (rule,) = parse_rules("\n".join(("[[rule]]", 'name = "comment"', *lines)), _WHERE)
    except InputError as error:
        raise InputError(*map(_shortened, error.problems)) from None
    return rule


def _toml(value: Any) -> str:
    """A plain value as TOML writes it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_written(value)


def _shortened(problem: Problem) -> Problem:
    """A problem of a rule without the line of a file that there is not."""
    word = problem.where.rpartition(", ")[2]
    where = f"{_WHERE}, {word}" if word in WORDS else _WHERE
    return Problem(where, problem.found[:100], problem.allowed, problem.advice)


def _too_much(rule: Rule, most: float) -> Iterable[Problem]:
    """That more is claimed than is allowed."""
    claimed = rule.given.get("max_utility", _LEVELS.get(rule.given.get("priority", ""), 0.0))
    if not claimed <= most:
        yield Problem(_WHERE, f"claims a utility of {claimed:g}", f"must be {most:g} at most for this job")
    points = parse_points(rule.given["points"]) if "points" in rule.given else []
    if any(value > 1 for _, value in points):
        yield Problem(f"{_WHERE}, points", "found a value above 1", "must be shares of max_utility, from 0 to 1")
