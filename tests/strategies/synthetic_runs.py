"""Observations of a synthetic machine, made by its bench without a laboratory around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import polars as pl

from joulewise.measure.analysis.columns import table
from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, MeasuredProgram, Member, Way
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.synthetic.machine import SyntheticMachine
from joulewise.measure.synthetic.synthetic import SyntheticBench


def experiment(names: Sequence[str], mhz: float | None = None, way: Way = "restart") -> GroupExperiment:
    """Programs by name, each on a core of its own."""
    members = tuple(Member(MeasuredProgram(name, (name,)), (core,)) for core, name in enumerate(names))
    return GroupExperiment(members, ClockSetting(mhz), way)


def observed(machine: SyntheticMachine, experiments: Iterable[GroupExperiment], repetitions: int) -> pl.DataFrame:
    """The table of the laboratory."""
    bench = SyntheticBench(machine)
    rows = [row for made in experiments for again in range(repetitions) for row in _rows(bench, made, again)]
    return table(COLUMNS, rows)


def idle_read(machine: SyntheticMachine, n: int) -> pl.DataFrame:
    """Readings of power with nothing running, at each frequency."""
    bench, clocks = SyntheticBench(machine), [ClockSetting(mhz) for mhz in machine.frequencies_mhz]
    readings = enumerate(clocks * n)
    return pl.DataFrame([{"clock": clock.label, "idle_w": bench.idle_w(clock, 1.0, i)} for i, clock in readings])


def everything(
    machine: SyntheticMachine, sizes: Sequence[int] = (1, 2), ways: Sequence[Way] = ("restart",)
) -> list[GroupExperiment]:
    """All groups of these sizes at every frequency in every way."""
    names = [program.name for program in machine.programs]
    groups = [group for size in sizes for group in combinations_with_replacement(names, size)]
    return [experiment(*made) for made in product(groups, machine.frequencies_mhz, ways)]


def _rows(bench: SyntheticBench, made: GroupExperiment, repetition: int) -> list[dict[str, Any]]:
    read = bench.run(made, repetition)
    shared = {
        "run": f"{made.group} {made.clock.label} {made.way} {repetition}",
        "group": made.group,
        "size": len(made.members),
        "way": made.way,
        "clock": made.clock.label,
        "clock_mhz": made.clock.frequency_mhz,
        "repetition": repetition,
        "started": read.started,
        "group_s": read.group_s,
        "group_energy_j": read.energy_j,
        "problem": read.problem or None,
        "notes": "; ".join(read.notes) or None,
    }
    return [
        {**vars(one), **shared, "place": place, "program": member.program.name, "cores": str(place)}
        for place, (member, one) in enumerate(zip(made.members, read.members))
    ]
