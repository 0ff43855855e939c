"""Which programs run together: all, chosen, or sampled so that every effect of one program on another shows.

The slowdown of a program is modelled as a sum over those beside it. For each program, the groups that hold it are rows
of a design matrix whose columns count the others by name; all effects on it show if that matrix has full rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem
from joulewise.measure.plan.plan import Plan
from joulewise.rng import generator

Group = tuple[str, ...]

MAX_GROUPS = 100_000
"""No plan may choose from, or ask for, more groups than this."""

_MOST_CANDIDATES = 5_000
"""Of more candidates than this, this many drawn ones are looked at."""

_RIDGE = 1e-3
"""What is known of an effect before the first group: next to nothing, so that groups that show new effects win."""


def groups_of(plan: Plan) -> tuple[Group, ...]:
    """Every group of a plan once: the programs alone, pairs, then larger ones; names in a group are sorted."""
    names = [program.name for program in plan.programs]
    together = plan.together
    pairs = {"all": _all(names, 2, plan), "none": []}[together.pairs] if isinstance(together.pairs, str) else (
        [tuple(sorted(pair)) for pair in together.pairs]
    )  # fmt: skip
    chosen = [tuple(sorted(group)) for group in together.groups]
    whole = [group for size in together.all_of_size for group in _all(names, size, plan)]
    drawn = [group for i, sample in enumerate(together.sampled) for group in _sampled(plan, i, sample.size, sample.n)]
    return tuple(dict.fromkeys([*((name,) for name in names), *pairs, *chosen, *whole, *drawn]))


def _all(names: Sequence[str], size: int, plan: Plan) -> list[Group]:
    n_groups = math.comb(len(names) + size - 1, size)
    if n_groups > MAX_GROUPS:
        where, found = f"{plan.file_name}: together", f"found {n_groups:,} groups of {size}"
        advice = "choose some of them with `groups`, or draw from fewer programs"
        raise InputError(Problem(where, found, f"must be {MAX_GROUPS:,} or fewer", advice))
    return [tuple(sorted(group)) for group in combinations_with_replacement(sorted(names), size)]


def _sampled(plan: Plan, i: int, size: int, n: int | None) -> list[Group]:
    names = sorted(program.name for program in plan.programs)
    wanted = n or len(names) * (len(names) + 1) // 2
    chosen, needed = sample_groups(names, _all(names, size, plan), wanted, plan.heading.seed)
    where = f"{plan.file_name}: together.sampled[{i}].n"
    if needed > wanted:
        allowed = f"{needed} groups of {size} are needed to tell the effect of every program on every other"
        raise InputError(Problem(where, f"found {wanted}", allowed, "leave `n` out to have as many as pairs"))
    if n and len(chosen) < n:
        allowed = f"must be {len(chosen):,} or less: there are no more groups of {size} to choose from"
        raise InputError(Problem(where, f"found {n:,}", allowed, f"`all_of_size = [{size}]` runs every one"))
    return chosen


def sample_groups(names: Sequence[str], candidates: Sequence[Group], n: int, seed: int) -> tuple[list[Group], int]:
    """The n groups that tell most of the effects of programs on each other, and how many are needed to tell them all.

    Groups are added one by one, each the one that adds most information (the determinant of the design, D-optimality);
    the seed breaks ties. Groups with more than half of one program are left out where the others suffice: they tell
    little of whether effects add up.
    """
    pool, counts = _pool(names, candidates)
    order = generator(seed, "groups").permutation(len(pool))[:_MOST_CANDIDATES]
    pool, counts = [pool[i] for i in order], counts[order]
    rows = [np.where(counts[:, [p]] > 0, counts - np.eye(len(names))[p], 0.0) for p in range(len(names))]
    unknown = [np.eye(len(names)) / _RIDGE for _ in names]  # inverses of what is known
    gains = np.array([_gains(row, inverse) for row, inverse in zip(rows, unknown)])
    is_free = np.ones(len(pool), bool)
    chosen: list[int] = []
    needed = 0
    while is_free.any() and (len(chosen) < n or not needed):
        best = int(np.argmax(np.where(is_free, gains.sum(0), -1.0)))
        is_free[best] = False
        chosen.append(best)
        for p in np.flatnonzero(counts[best]):
            unknown[p] = _with_row(unknown[p], rows[p][best])
            gains[p] = _gains(rows[p], unknown[p])
        if not needed and len(chosen) * len(pool[0]) >= len(names) ** 2 and tells_all(names, [pool[k] for k in chosen]):
            needed = len(chosen)
    return [pool[k] for k in chosen[:n]], needed


def _pool(names: Sequence[str], candidates: Sequence[Group]) -> tuple[list[Group], NDArray[np.float64]]:
    """The groups with fewest copies of one program that can tell all effects, and how often each program is in them."""
    size = len(candidates[0])
    for most in range(math.ceil(size / 2), size + 1):
        pool = [group for group in candidates if max(map(group.count, group)) <= most]
        if tells_all(names, pool):
            break
    return pool, _counts(names, pool)


def tells_all(names: Sequence[str], groups: Sequence[Group]) -> bool:
    """Whether the effect of every program on every other follows from these groups, if effects add up."""
    counts = _counts(names, groups)
    designs = (counts[counts[:, p] > 0] - np.eye(len(names))[p] for p in range(len(names)))
    return all(len(rows) > 0 and np.linalg.matrix_rank(rows) == len(names) for rows in designs)


def _counts(names: Sequence[str], groups: Iterable[Group]) -> NDArray[np.float64]:
    return np.array([[group.count(name) for name in names] for group in groups], float).reshape(-1, len(names))


def _gains(rows: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each row would add to the logarithm of the determinant."""
    return np.asarray(np.log1p(((rows @ inverse) * rows).sum(1)))


def _with_row(inverse: NDArray[np.float64], row: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse after a row was added to what is known (Sherman and Morrison)."""
    turned = inverse @ row
    return inverse - np.outer(turned, turned) / (1.0 + row @ turned)
