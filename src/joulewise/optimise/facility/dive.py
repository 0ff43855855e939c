"""Whole patterns for processors of which many would mix several: decided step by step, each time with a new program."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.optimise.facility.market import Effort, FacilityMarket
from joulewise.optimise.facility.mixture import (
    Mixture,
    Processors,
    add_best_of,
    drawn_by,
    fullest,
    pattern_codes,
    single_groups,
)
from joulewise.optimise.facility.program import LinearisedProgram, Solution

_EFFORT = Effort(reaches_k=(0.2,), width=math.inf, n_best=30, enough=math.inf, over_k=1e-7)
_MANY, _MOST_PROCESSORS = 0.25, 400
_AT_ONCE = 1 / 3
_EXACT, _NONE = 1e-7, 1e-9


def mixes_much(market: FacilityMarket, processors: Processors, mixture: Mixture) -> bool:
    """Whether many processors, of not too many, run several patterns, so that deciding all at once loses much."""
    code = pattern_codes(market.pool, processors, mixture)
    kinds = np.unique(np.stack((mixture.processor, code))[:, code > 0], axis=1)
    n_mixed, n = np.count_nonzero(np.bincount(kinds[0], minlength=1) > 1), len(processors)
    return bool(n <= _MOST_PROCESSORS and n_mixed > _MANY * n)


def decided(
    market: FacilityMarket, processors: Processors, mixture: Mixture, solution: Solution
) -> tuple[Mixture, Solution]:
    """A mixture in which almost every processor has one pattern, and the program's solution that it comes from.

    Those that one pattern fills most are decided first; with the last few undecided, or when it is late, it ends.
    """
    is_decided, pattern = np.zeros(len(processors), bool), np.zeros(len(processors), np.int64)
    while not market.is_late():
        fullest_pattern, amount = fullest(mixture, pattern_codes(market.pool, processors, mixture), len(processors))
        chosen = _next(amount, is_decided)
        pattern[chosen], is_decided[chosen] = fullest_pattern[chosen], True
        if is_decided.all():
            break
        add_best_of(market.pool, processors, np.where(is_decided, pattern, 0), solution.prices.task)
        mixture, solution = _solved(market, processors, mixture, solution, is_decided, pattern)
    return mixture, solution


def _next(amount: Floats, is_decided: Bools) -> Counts:
    """The processors to decide next: those with one pattern already, and of the others those that it fills most."""
    left = np.flatnonzero(~is_decided)
    order = left[np.argsort(-amount[left], kind="stable")]
    n_whole = int((amount[left] > 1 - _NONE).sum())
    return order[: max(n_whole, math.ceil(_AT_ONCE * left.size))]


def _solved(
    market: FacilityMarket,
    processors: Processors,
    mixture: Mixture,
    start: Solution,
    is_decided: Bools,
    pattern: Counts,
) -> tuple[Mixture, Solution]:
    """The best with decided patterns, where others may run whatever is known."""
    pool, facility = market.pool, market.facility
    codes = [pool.patterns(k) for k in range(len(pool.tables))]

    def allowed(k: int, asked: Counts) -> Bools:
        return np.asarray((codes[k][None, :] == pattern[asked][:, None]) | ~is_decided[asked][:, None])

    program = LinearisedProgram(
        facility, market.air, single_groups(facility, processors, np.arange(len(processors))), market.at_rest, _EXACT
    )
    for k in range(len(pool.tables)):
        mine, used = (
            np.flatnonzero(processors.kind == k),
            np.unique(mixture.row[processors.kind[mixture.processor] == k]),
        )
        place, row = np.nonzero(allowed(k, mine)[:, used])
        program.offer(np.stack((mine[place], used[row])), pool)
    start = replace(start, node_w=drawn_by(facility, pool, processors, mixture).node_w)
    solution = market.settle(program, start, _EFFORT, allowed)
    is_used = solution.x > _NONE
    return Mixture(program.pairs[0, is_used], program.pairs[1, is_used], solution.x[is_used]), solution
