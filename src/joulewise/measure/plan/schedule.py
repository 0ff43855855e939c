"""The runs of a plan: every group at every clock in every way, as often as asked for, in an order drawn by seed."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, MeasuredProgram, Member, Way
from joulewise.measure.machine.machine import Machine
from joulewise.measure.machine.places import core_problems, group_problems, pinned, places_used
from joulewise.measure.plan.groups import Group, groups_of
from joulewise.measure.plan.plan import Plan
from joulewise.measure.synthetic.machine import GOVERNORS
from joulewise.rng import generator

MAX_RUNS = 1_000_000
"""No plan may ask for more runs than this."""

LONG_S = 12 * 3600.0
"""A plan that takes longer than this must be agreed to."""

OVERHEAD_S = 0.7
"""Time between runs: looking whether the machine is idle, starting programs, writing down what was read."""

COMPANY = 1.25
"""How much longer than alone programs are taken to run together, before that was measured."""


class PlannedRun(NamedTuple):
    """One repetition of an experiment; the key is the same whenever the same is measured."""

    key: str
    experiment: GroupExperiment
    repetition: int


def clocks_of(plan: Plan, machine: Machine) -> tuple[ClockSetting, ...]:
    """The clocks of a plan."""
    clock = plan.clock
    frequencies = machine.frequencies_mhz if clock.frequencies == "all" else clock.frequencies
    chosen = [ClockSetting(frequency_mhz=float(mhz)) for mhz in frequencies]
    return tuple(dict.fromkeys(chosen + [ClockSetting(governor=name) for name in clock.governors])) or (ClockSetting(),)


def schedule(plan: Plan, machine: Machine, programs: Mapping[str, MeasuredProgram]) -> tuple[PlannedRun, ...]:
    """All runs in their order; InputError where the machine does not have what the plan asks for.

    Every repetition is a round through all experiments, in an order of its own: what changes with time (heat, others'
    work) is spread over all of them, and a laboratory that is ended early has measured each about equally often.
    """
    groups, clocks = groups_of(plan), clocks_of(plan, machine)
    lacking = (core_problems(plan, machine), unoffered(plan, machine), run_problems(plan, machine, groups))
    raise_if_any(chain.from_iterable(lacking))
    places = places_used(plan, machine, groups)
    kinds = [
        (group, clock, way) for group in groups for clock in clocks for way in plan.heading.ways[: _n_ways(plan, group)]
    ]
    runs: list[PlannedRun] = []
    for repetition in range(plan.heading.repetitions):
        order = generator(plan.heading.seed, "order", repetition).permutation(len(kinds))
        for group, clock, way in (kinds[i] for i in order):
            cores = pinned(plan, places, group, repetition)
            runs.append(_run(group, cores, clock, way, programs, repetition, plan))
    return tuple(runs)


def _n_ways(plan: Plan, group: Group) -> int:
    """A program alone ends when it ends, in every way."""
    return 1 if len(group) == 1 else len(plan.heading.ways)


def unoffered(plan: Plan, machine: Machine) -> Iterator[Problem]:
    """The clocks of a plan that the machine does not have, as far as it tells."""
    if plan.clock.frequencies == "all" and not machine.frequencies_mhz:
        advice = "leave [clock] out to measure as the machine is; `joulewise measure --probes` tells what would help"
        yield Problem(f"{plan.file_name}: clock.frequencies", "found 'all'", "this machine offers none", advice)
    governors = machine.governors if plan.synthetic is None else GOVERNORS
    for i, name in enumerate(plan.clock.governors):
        if governors and name not in governors:
            yield unknown_name(f"{plan.file_name}: clock.governors[{i}]", name, governors)


def run_problems(plan: Plan, machine: Machine, groups: Sequence[Group]) -> Iterator[Problem]:
    """Groups that are too large for the machine, and more runs than anybody can want."""
    yield from group_problems(plan, machine, groups)
    n_runs = len(groups) * len(clocks_of(plan, machine)) * len(plan.heading.ways) * plan.heading.repetitions
    if n_runs > MAX_RUNS:
        yield Problem(plan.file_name, f"found {n_runs:,} runs", f"a plan may have {MAX_RUNS:,} at most")


def _run(
    group: Group,
    cores: Sequence[tuple[int, ...]],
    clock: ClockSetting,
    way: Way,
    programs: Mapping[str, MeasuredProgram],
    repetition: int,
    plan: Plan,
) -> PlannedRun:
    members = tuple(Member(programs[name], place) for name, place in zip(group, cores))
    experiment = GroupExperiment(members, clock, way)
    return PlannedRun(_key(experiment, repetition, plan), experiment, repetition)


def _key(experiment: GroupExperiment, repetition: int, plan: Plan) -> str:
    """A hash of all that makes a difference to what is measured; limits and warm-ups do not."""
    members = [[*_identity(member.program), list(member.cores)] for member in experiment.members]
    machine = str(plan.synthetic)
    text = json.dumps([members, experiment.clock.label, experiment.way, repetition, machine], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _identity(program: MeasuredProgram) -> tuple[object, ...]:
    """What tells programs apart: builds of a user's own, too."""
    words = ["python" if word == sys.executable else word for word in program.command]
    content = (program.content,) if program.content else ()
    return program.name, words, program.folder, sorted(program.environment), *content


@dataclass(frozen=True)
class PlanEstimate:
    """How long runs will take, with their warm-ups: as far as known, and at most by the time limits.

    `unknown` are programs whose time is not known yet; in `seconds` they count with their time
    limit, in `least_s` with nothing.
    """

    n_runs: int
    seconds: float
    most_s: float
    unknown: tuple[str, ...]
    least_s: float = 0.0

    @property
    def must_be_agreed_to(self) -> bool | None:
        """Whether it takes long; None where that hangs on what is unknown."""
        return True if self.least_s > LONG_S else None if self.seconds > LONG_S else False


def estimate(
    runs: Iterable[PlannedRun],
    known_s: Mapping[str, float],
    *,
    top_mhz: float | None = None,
    more_s: float = 0.0,
    is_warm: bool = False,
) -> PlanEstimate:
    """How long runs take if programs take this long alone at the highest clock (that of these runs by default).

    Times are taken to follow the clock wholly, which they do at most. `more_s` is what else takes time.
    """
    runs = list(runs)
    programs = {member.program.name: member.program for run in runs for member in run.experiment.members}
    limits = {name: program.time_limit_s for name, program in programs.items()}
    seconds_of = {name: min(seconds, limits[name]) for name, seconds in known_s.items() if name in limits}
    top_mhz = top_mhz or highest_mhz(runs)

    def total_s(times: Mapping[str, float]) -> float:
        warm_ups = sum(program.warm_up * (times[name] + OVERHEAD_S) for name, program in programs.items())
        runs_s = sum(_seconds_of(run.experiment, times, top_mhz) + OVERHEAD_S for run in runs)
        return runs_s + (0.0 if is_warm else warm_ups) + more_s

    return PlanEstimate(
        len(runs),
        total_s({**limits, **seconds_of}),
        total_s(limits),
        tuple(sorted(limits.keys() - seconds_of.keys())),
        total_s({**dict.fromkeys(limits, 0.0), **seconds_of}),
    )


def highest_mhz(runs: Iterable[PlannedRun]) -> float:
    """The highest frequency that runs ask for; 0 where they ask for none."""
    return max((run.experiment.clock.frequency_mhz or 0.0 for run in runs), default=0.0)


def _seconds_of(experiment: GroupExperiment, times: Mapping[str, float], top_mhz: float) -> float:
    """How long a run takes: longer in company and at a lower clock, but no longer than its members may."""
    alone_s = max(times[member.program.name] for member in experiment.members)
    slower = max(top_mhz / (experiment.clock.frequency_mhz or math.inf), 1.0)
    company = COMPANY if len(experiment.members) > 1 else 1.0
    return min(alone_s * slower * company, max(member.program.time_limit_s for member in experiment.members))
