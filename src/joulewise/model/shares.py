"""Priorities of jobs on a site: a tree of accounts with shares, what jobs use, and what else of them counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints, freeze_fields

NOBODY = -1
DAY_S = 86_400.0


@dataclass(frozen=True, eq=False)
class ShareTree:
    """Accounts and users with their shares: row 0 is the whole, and each other row is a part of an earlier one.

    `parent` of the whole is -1. A user, who has no parts, has a row in each account.
    """

    names: tuple[str, ...]
    parent: Ints
    shares: Counts
    is_user: Bools

    def __post_init__(self) -> None:
        freeze_fields(self, {"parent": np.int32, "shares": np.int64, "is_user": np.bool_})
        raise_if_any(_tree_problems(self))

    @property
    def n_rows(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Priorities:
    """What decides who comes first on a site.

    Job i is of the row `of_job[i]` of the tree, -1 for nobody, and each second of it counts `used_per_s[i]` as used.
    What is used counts half after `half_life_s` (infinite: it is never forgotten). Where `is_fair_tree`, users are
    ranked by the tree, branch by branch; else by what they and their accounts have used of their shares, dampened.
    `factors` have a number for each job, by name. `weights` say what factors count, by name; of those left out of them
    nothing, but where none are given the scheduler has weights of its own. A job that has waited for `oldest_s` has all
    of the factor of age. All of this is seen anew every `period_s` (0: at all instants).
    """

    tree: ShareTree
    of_job: Ints
    used_per_s: Floats
    factors: Mapping[str, Floats] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    is_fair_tree: bool = True
    half_life_s: float = 7 * DAY_S
    dampening: float = 1.0
    oldest_s: float = 7 * DAY_S
    period_s: float = 300.0

    def __post_init__(self) -> None:
        freeze_fields(self, {"of_job": np.int32, "used_per_s": np.float64})
        for name in ("factors", "weights"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        raise_if_any(_priority_problems(self))

    def of_some(self, jobs: Counts) -> Priorities:
        """The priorities of some of the jobs, in this order."""
        factors = {name: values[jobs] for name, values in self.factors.items()}
        return replace(self, of_job=self.of_job[jobs], used_per_s=self.used_per_s[jobs], factors=factors)


def equal_shares(names: tuple[str, ...], codes: Ints, used_per_s: Floats, factors: Mapping[str, Floats]) -> Priorities:
    """Users with equal shares, who have what they have left of it; jobs of unknown users are those of one more."""
    is_unknown = np.asarray(codes) < 0
    users = (*names, "") if is_unknown.any() else names
    n = len(users)
    tree = ShareTree(
        ("", *users), np.array([NOBODY, *[0] * n]), np.ones(n + 1, np.int64), np.array([False, *[True] * n])
    )
    of_job = np.where(is_unknown, n, np.asarray(codes) + 1)
    return Priorities(tree, of_job, used_per_s, factors, is_fair_tree=False)


def _tree_problems(tree: ShareTree) -> Iterator[Problem]:
    n = tree.n_rows
    for name in ("parent", "shares", "is_user"):
        if getattr(tree, name).shape != (n,):
            yield Problem(f"shares.{name}", f"found the shape {getattr(tree, name).shape}", f"must be ({n},)")
            return
    parent, rows = tree.parent[1:], np.arange(1, n)
    if n == 0 or tree.parent[0] != NOBODY or ((parent < 0) | (parent >= rows)).any():
        yield Problem("shares.parent", "found a row that is no part of an earlier one", "row 0 is the whole")
    elif tree.is_user[parent].any() or tree.is_user[0]:
        yield Problem("shares.is_user", "found a user with parts", "users are leaves")
    if (tree.shares < 0).any():
        yield Problem("shares.shares", f"found {tree.shares.min()}", "must be 0 or more")


def _priority_problems(of: Priorities) -> Iterator[Problem]:
    columns = {"used_per_s": of.used_per_s, **{f"factors.{name}": column for name, column in of.factors.items()}}
    for name, column in columns.items():
        if column.shape != of.of_job.shape:
            yield Problem(f"priorities.{name}", f"found {column.size} values", f"must be {of.of_job.size}, as of jobs")
    if of.of_job.size and not (of.of_job.min() >= NOBODY and of.of_job.max() < of.tree.n_rows):
        yield Problem("priorities.of_job", f"found {of.of_job.max()}", f"must be below {of.tree.n_rows}, or -1")
    elif not of.tree.is_user[of.of_job[of.of_job != NOBODY]].all():
        yield Problem("priorities.of_job", "found an account", "jobs are those of users")
    for name, value in {"half_life_s": of.half_life_s, "dampening": of.dampening}.items():
        if not value > 0:
            yield Problem(f"priorities.{name}", f"found {value:g}", "must be above 0")
    for name, value in {"oldest_s": of.oldest_s, "period_s": of.period_s}.items():
        if not value >= 0:
            yield Problem(f"priorities.{name}", f"found {value:g}", "must be 0 or more")
