"""Machines that fail and are repaired, each at instants of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model import Outages
from joulewise.model.arrays import Floats
from joulewise.model.world import NO_OUTAGES
from joulewise.rng import generator
from joulewise.units import duration
from joulewise.worlds.parameters import broken_rules, explained, is_positive

LEAST_AVAILABILITY = 0.01
MAX_OUTAGES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class FailureParameters:
    """How often machines fail and how long they are down; by default they never fail."""

    mtbf_s: float | None = explained(
        None, "mean time from the repair of a machine to its next failure, exponential; left out: machines never fail"
    )
    mttr_s: float | None = explained(None, "mean time to repair a machine, exponential; goes with mtbf")


def failure_problems(p: FailureParameters) -> Iterator[Problem]:
    """What is wrong with the failures, under the names of the section that they stand in."""
    given = [(name, value) for name, value in (("mtbf_s", p.mtbf_s), ("mttr_s", p.mttr_s)) if value is not None]
    yield from broken_rules("system", p, [(name, is_positive(value), "must be above 0 s") for name, value in given])
    if len(given) == 1:
        lacking = "mttr" if p.mttr_s is None else "mtbf"
        yield Problem(f"system.{lacking}", "missing", "mtbf and mttr go together", "give both, or none for no failures")
    elif given and is_positive(*(value for _, value in given)):
        yield from _availability_problems(*(value for _, value in given))


def _availability_problems(mtbf_s: float, mttr_s: float) -> Iterator[Problem]:
    availability = mtbf_s / (mtbf_s + mttr_s)
    if availability < LEAST_AVAILABILITY:
        found = f"found {duration(mttr_s)}: machines would work {100 * availability:.2g} % of the time"
        allowed = f"must leave them {100 * LEAST_AVAILABILITY:g} % at least"
        yield Problem("system.mttr", found, allowed, "raise mtbf or lower mttr")


def draw_outages(parameters: FailureParameters, n_machines: int, end_s: float, seed: int, trial: int) -> Outages:
    """The outages of one trial that begin before `end_s`; all machines work at instant 0.

    Every machine has a stream of its own, so that more machines or a later end change no outage. InputError when
    there is no end, or there would be too many.
    """
    mtbf_s, mttr_s = parameters.mtbf_s, parameters.mttr_s
    if mtbf_s is None or mttr_s is None:
        return NO_OUTAGES
    if not math.isfinite(end_s):
        advice = 'say until when completions count, for example end = "24 h" in [workload]'
        raise InputError(Problem("system.mtbf", "found failures, but the workload has no end", advice=advice))
    n_expected = n_machines * end_s / (mtbf_s + mttr_s)
    if n_expected > MAX_OUTAGES:
        found = f"found {duration(mtbf_s)}, which makes about {n_expected:,.0f} outages"
        raise InputError(Problem("system.mtbf", found, f"there may be up to {MAX_OUTAGES:,}", "raise mtbf"))
    streams = [generator(seed, trial, "system.outages", machine) for machine in range(n_machines)]
    found_s = [_intervals(stream, mtbf_s, mttr_s, end_s) for stream in streams]
    machine = np.repeat(np.arange(n_machines, dtype=np.int32), [len(intervals) for intervals in found_s])
    start_s, stop_s = np.concatenate(found_s).T
    return Outages(machine, start_s, stop_s)


def _intervals(stream: np.random.Generator, mtbf_s: float, mttr_s: float, end_s: float) -> Floats:
    """One machine's outages that begin before `end_s`, as rows [start, end]."""
    n = 1 + math.ceil(1.2 * end_s / (mtbf_s + mttr_s))
    lengths_s = np.empty((0, 2))
    while lengths_s.sum() < end_s:
        lengths_s = np.concatenate((lengths_s, stream.standard_exponential((n, 2)) * (mtbf_s, mttr_s)))
    at_s = np.cumsum(lengths_s.ravel()).reshape(-1, 2)
    return np.asarray(at_s[(at_s[:, 0] < end_s) & (at_s[:, 0] < at_s[:, 1])])
