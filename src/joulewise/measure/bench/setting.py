"""Where a plan is measured: this machine with all that can be read of it, or a synthetic one."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.measure.bench.bench import ClockSetting, MeasuringBench
from joulewise.measure.bench.bundled import USUAL_SECONDS, kernel_program, rounds_for, usual_bytes
from joulewise.measure.bench.laboratory import Setting
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.clocks import Clocks
from joulewise.measure.machine.holding import SHARED, only_laboratory
from joulewise.measure.machine.machine import Machine, read_machine
from joulewise.measure.machine.places import Cores, cores_named, cores_used, places_of
from joulewise.measure.machine.quiet import Quiet
from joulewise.measure.machine.survey import best_counters, survey
from joulewise.measure.meters.energy_log import EnergyMeter
from joulewise.measure.meters.external import PowerTable
from joulewise.measure.meters.heat import Heat
from joulewise.measure.meters.power_command import PowerCommand
from joulewise.measure.meters.rapl import Rapl
from joulewise.measure.meters.watch import Watch
from joulewise.measure.plan.keys import ProgramSection
from joulewise.measure.plan.plan import Plan
from joulewise.measure.plan.schedule import clocks_of
from joulewise.measure.synthetic.machine import SyntheticMachine
from joulewise.measure.synthetic.synthetic import METER, SyntheticBench

_EVERY_S = 0.5


def machine_of(plan: Plan) -> Machine:
    """The machine that a plan is measured on."""
    return read_machine() if plan.synthetic is None else _like(plan.synthetic)


def _like(synthetic: SyntheticMachine) -> Machine:
    cores = tuple(range(synthetic.cores))
    return Machine("synthetic", cores, tuple((core,) for core in cores), frequencies_mhz=synthetic.frequencies_mhz)


@contextmanager
def opened(plan: Plan, folder: Path) -> Iterator[Setting]:
    """Everything that a laboratory needs, until the end of the block; InputError where the plan asks for too much."""
    machine = machine_of(plan)
    if plan.synthetic is not None:
        raise_if_any(why_not(plan, machine))
        made_up = SyntheticBench(plan.synthetic)
        idle_w = made_up.idle_w if plan.synthetic.has_energy else None
        name = METER if plan.synthetic.has_energy else ""
        yield Setting(machine, made_up, idle_w=idle_w, meter=name, about=_about(plan, []))
        return
    with only_laboratory(folder):
        clocks = _clocks()
        raise_if_any(clock_problems(plan, machine, clocks))
        table, meter = _table(plan), _meter(plan)
        if table:
            table.check()
        read_by = table or meter
        about = _about(plan, survey(meter=read_by))
        with _giving_back(clocks), _aside(cores_used(plan, machine)), _watching(plan, machine, meter) as watch:
            bench = MachineBench(machine.cores, watch, best_counters(), clocks)
            yield Setting(
                machine,
                bench,
                Quiet(plan.idle.most_busy, plan.idle.wait).wait,
                _calibration(machine, bench, places_of(plan, machine)),
                idle_w=_unread(clocks, machine) if table else bench.idle_w if meter else None,
                meter=read_by.name if read_by else "",
                about=about,
                give_back=clocks.restore_left_behind,
            )


def why_not(plan: Plan, machine: Machine) -> Iterator[Problem]:
    """What this machine does not have of what a plan asks for, besides cores."""
    if plan.synthetic is None:
        yield from clock_problems(plan, machine, Clocks())
        return
    offered = ", ".join(f"{mhz:g}" for mhz in machine.frequencies_mhz)
    for clock in clocks_of(plan, machine):
        if clock.frequency_mhz is not None and clock.frequency_mhz not in machine.frequencies_mhz:
            where = f"{plan.file_name}: clock.frequencies"
            yield Problem(where, f"found {clock.label}", f"must be one of those of [synthetic], in MHz: {offered}")


def clock_problems(plan: Plan, machine: Machine, clocks: Clocks) -> Iterator[Problem]:
    """Why the clocks of a plan cannot be set here, on the cores that it uses."""
    wanted = [clock for clock in clocks_of(plan, machine) if clock != ClockSetting()]
    if not wanted:
        return
    key, availability = _clock_probe(plan, clocks)
    if availability.is_available:
        cores = cores_named(plan, machine)
        yield from dict.fromkeys(problem for clock in wanted for problem in clocks.problems(clock, cores))
    else:
        advice = f"leave [clock] out to measure as the machine is, or: {availability.remedy}"
        yield Problem(f"{plan.file_name}: clock.{key}", "cannot be set here", availability.found, advice)


def _clock_probe(plan: Plan, clocks: Clocks) -> tuple[str, Availability]:
    if plan.clock.frequencies:
        return "frequencies", clocks.availability()
    return "governors", clocks.governor_availability()


def _table(plan: Plan) -> PowerTable | None:
    """The table of an external meter that the plan names."""
    meter = plan.meter
    if not meter.csv:
        return None
    return PowerTable(str((plan.folder / meter.csv).resolve()), meter.time_zone, meter.ahead, meter.column)


def _unread(clocks: Clocks, machine: Machine) -> Callable[[ClockSetting, float, int], float]:
    """Leaves the machine idle for an external meter, whose table is read later."""

    def idle_w(clock: ClockSetting, seconds: float, _number: int) -> float:
        with clocks.holding(clock, (), machine.cores):
            time.sleep(seconds)
        return math.nan

    return idle_w


def _meter(plan: Plan) -> EnergyMeter | None:
    """The meter that the plan names, which must work, or RAPL where it does."""
    if plan.meter.csv:
        return None
    if plan.meter.command is None:
        rapl = Rapl()
        return rapl if rapl.availability().is_available else None
    meter = PowerCommand(plan.meter.command)
    availability = meter.availability()
    if not availability.is_available:
        raise InputError(Problem(f"{plan.file_name}: meter.command", availability.found, advice=availability.remedy))
    return meter


@contextmanager
def _watching(plan: Plan, machine: Machine, meter: EnergyMeter | None) -> Iterator[Watch | None]:
    """A watch over what changes by itself; none where there is nothing to see, because it takes time of the cores."""
    heat, shows_clock = Heat(), bool(machine.frequencies_mhz)
    if meter is None and not heat.availability().is_available and not shows_clock:
        yield None
        return
    cores, every_s = cores_used(plan, machine), plan.meter.every if plan.meter.command else _EVERY_S
    with Watch(meter, heat, cores, every_s) as watch:
        yield watch


def _calibration(
    machine: Machine, bench: MeasuringBench, places: Sequence[Cores]
) -> Callable[[ProgramSection], tuple[str, ...]]:
    def command_of(section: ProgramSection) -> tuple[str, ...]:
        kernel = section.kernel or ""
        n_bytes = int(section.footprint or usual_bytes(kernel, machine))
        cores = tuple(section.cores or places[0])
        rounds = rounds_for(kernel, n_bytes, section.seconds or USUAL_SECONDS, bench, cores)
        return kernel_program(kernel, n_bytes, rounds).command

    return command_of


def _about(plan: Plan, probes: Sequence[Availability]) -> dict[str, Any]:
    """What the folder says of how it was measured."""
    table = _table(plan)
    probed = [probe._asdict() for probe in probes]
    return {"probes": probed, "meter": asdict(table) if table else {}}


def _clocks() -> Clocks:
    """What sets clocks, once all that an earlier laboratory left set is given back."""
    notes = _notes()
    clocks = Clocks(note=next(note for note in notes if os.access(note.parent, os.W_OK)))
    for note in notes:
        clocks.restore_left_behind(note)
    return clocks


@contextmanager
def _giving_back(clocks: Clocks) -> Iterator[None]:
    """However the block ends, clocks are given back, also where a signal came between holding and giving back."""
    try:
        yield
    finally:
        clocks.restore_left_behind()


@contextmanager
def _aside(cores: Collection[int]) -> Iterator[None]:
    """Keeps this process, and what it starts to watch and keep others, off the cores that are measured, if it can."""
    before = os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setaffinity(0, before - set(cores) or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _notes() -> list[Path]:
    """Where it may be noted how clocks were before: gone after the next start of the machine, as the clocks are."""
    user = os.geteuid()
    own = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    folders = [Path("/run"), *([own] if own.is_absolute() else []), Path(f"/run/user/{user}"), SHARED]
    return [folder / f"joulewise-clocks-{user}.json" for folder in dict.fromkeys(folders)]
