"""The laboratory: every run of a plan that is not in the journal yet, one after the other, each written down at once.

What is measured is what the journal holds: a laboratory that is ended at any moment goes on from there. Runs that
failed are tried again by the next start.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joulewise import units
from joulewise.errors import InputError, Problem
from joulewise.files import locked, remove_leftovers
from joulewise.measure.bench.bench import ClockSetting, GroupRead, MeasuredProgram, MeasuringBench, MemberRead
from joulewise.measure.bench.bundled import USUAL_SECONDS
from joulewise.measure.bench.journal import Journal, Record, writing
from joulewise.measure.bench.schemas import EVENTS
from joulewise.measure.bench.store import IDLE, PROGRAM, RUN, WARM_UP, LaboratoryStore, is_valid, last_runs, run_facts
from joulewise.measure.machine.holding import ending_in_order
from joulewise.measure.machine.machine import Machine
from joulewise.measure.machine.places import place_notes
from joulewise.measure.plan.keys import ProgramSection
from joulewise.measure.plan.plan import Plan
from joulewise.measure.plan.programs import resolved
from joulewise.measure.plan.schedule import LONG_S, PlanEstimate, PlannedRun, estimate, highest_mhz, schedule
from joulewise.progress import Progress

GIVE_UP_AFTER = 2
"""An experiment that failed so often since the start is left to the next one: a program that hangs costs days."""

GIVEN_UP = f"was not made, for {GIVE_UP_AFTER} runs of the same failed just before"
"""The problem of runs that are left to the next start."""

IDLE_WINDOWS = 5
"""The power of the idle machine is read so often at each clock, spread over its runs: it drifts as they do."""

NO_PROBLEM = ""

_KERNEL_SETUP_S = 1.0
"""About how long a bundled kernel takes before it begins."""

_CALIBRATION_S = 5.0
"""About how long it takes to find the rounds of a bundled kernel."""


@dataclass(frozen=True)
class Setting:
    """Where a plan is measured: a machine and its bench, how to wait for quiet, the commands of bundled kernels.

    `meter` is the name of what reads energy, as in what is read of runs; empty where nothing does. `idle_w` reads the
    power of the idle machine at a clock for some seconds: NaN where an external meter does, None without a meter.
    `give_back` is called after each run; InputError where the machine cannot be given back what the run has changed.
    """

    machine: Machine
    bench: MeasuringBench
    wait_for_quiet: Callable[[Collection[Sequence[int]]], str] = lambda _: NO_PROBLEM
    kernel_command: Callable[[ProgramSection], tuple[str, ...]] = lambda _: ()
    idle_w: Callable[[ClockSetting, float, int], float] | None = None
    meter: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    give_back: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class LaboratoryOutcome:
    """What a laboratory leaves: how many runs it was asked for, how many are valid, and why others are not."""

    folder: Path
    n_runs: int
    n_valid: int
    n_reused: int
    problems: tuple[tuple[str, str], ...]


Listener = Callable[[Progress], None]


def measure(
    plan: Plan, folder: Path, setting: Setting, on_progress: Listener = lambda _: None, *, is_agreed: bool = False
) -> LaboratoryOutcome:
    """Measure what is missing of a plan, and make the tables of all of it.

    InputError where the folder is another's, the machine lacks what is asked for, or it would take long and this
    was not agreed to. When it is interrupted, what was measured is kept and the next call goes on from there.
    """
    store = LaboratoryStore(folder)
    store.check_owner(plan, setting.machine)
    records = store.records()
    runs, left = runs_of(plan, setting.machine, records)  # tells every problem before anything is made or run
    if not is_agreed:
        _check_length(plan, estimate_left(plan, runs, left, records), is_warm=False)
    with locked(folder), ending_in_order():
        remove_leftovers(store.folder)
        about = setting.about if left else {**setting.about, **_probed(store)}
        store.claim(plan, setting.machine, runs, about, setting.meter)
        with writing(store.journal_file, EVENTS) as journal:
            work = _Work(plan, setting, journal, on_progress)
            store.claim(plan, setting.machine, work.runs, about, setting.meter)  # with kernels as calibrated
            try:
                work.carry_out(is_agreed=is_agreed)
            except BaseException:
                with suppress(InputError, OSError):  # of a meter's table or the disk: it must not hide what ended it
                    store.write_tables()
                raise
            store.write_tables()
            return work.outcome(folder)


def _probed(store: LaboratoryStore) -> dict[str, Any]:
    """What could be read when the runs were made, which is told again where nothing is left to make."""
    marker = store.marker()
    return {} if marker is None else {"probes": marker["probes"]}


def known_seconds(plan: Plan, records: Iterable[Record]) -> dict[str, float]:
    """How long programs take alone: as the plan says, or as warm-ups and baselines at the highest clock took since."""
    said = {program.name: program.takes for program in plan.programs}
    kernels = {
        program.name: (program.seconds or USUAL_SECONDS) + _KERNEL_SETUP_S
        for program in plan.programs
        if program.kernel
    }
    seconds_of = {**{name: seconds for name, seconds in said.items() if seconds}, **kernels}
    clocks: dict[str, float] = {}
    for record in records:
        if record["event"] == WARM_UP and record["seconds"] is not None and not record["problem"]:
            seconds_of[record["program"]] = record["seconds"]
        elif record["event"] == RUN and len(record["members"]) == 1 and record["members"][0]["wall_s"]:
            (member,) = record["members"]
            name, clock_mhz = member["program"], record["clock_mhz"] or 0.0
            if clock_mhz >= clocks.get(name, 0.0):
                seconds_of[name], clocks[name] = (member["setup_s"] or 0.0) + member["wall_s"], clock_mhz
    return seconds_of


def estimate_left(
    plan: Plan,
    runs: Iterable[PlannedRun],
    left: Iterable[PlannedRun],
    records: Iterable[Record],
    *,
    is_warm: bool = False,
) -> PlanEstimate:
    """How long the runs of a plan that are left take, with all that comes before them."""
    left, records = list(left), list(records)
    n_unknown = len({program.identity for program in plan.programs if program.kernel} - _kernels(records).keys())
    n_clocks = len({run.experiment.clock for run in left})
    more_s = n_unknown * _CALIBRATION_S + n_clocks * plan.meter.idle
    seconds_of = known_seconds(plan, records)
    return estimate(left, seconds_of, top_mhz=highest_mhz(runs), more_s=more_s, is_warm=is_warm)


def runs_of(plan: Plan, machine: Machine, records: Iterable[Record]) -> tuple[tuple[PlannedRun, ...], list[PlannedRun]]:
    """All runs of a plan and those that are still to be made, without calibrating or running anything."""
    kernels = _kernels(records)
    programs = resolved(plan, lambda section: kernels.get(section.identity, (section.kernel or "",)))
    runs, done = schedule(plan, machine, programs), last_runs(records)
    return runs, [run for run in runs if not is_valid(done.get(run.key))]


def _kernels(records: Iterable[Record]) -> dict[str, tuple[str, ...]]:
    """The commands that calibrations found, by what they were found for."""
    return {record["kernel"]: tuple(record["command"]) for record in records if record["event"] == PROGRAM}


class _Work:
    """One start of a laboratory."""

    def __init__(self, plan: Plan, setting: Setting, journal: Journal, on_progress: Listener) -> None:
        self.plan, self.setting, self.journal, self.on_progress = plan, setting, journal, on_progress
        self.runs: tuple[PlannedRun, ...] = ()
        self.left: list[PlannedRun] = []
        self.cold: dict[str, str] = {}
        self.n_done = self.n_failed = 0
        self.programs = resolved(plan, self._kernel_command)
        self.runs = schedule(plan, setting.machine, self.programs)
        done = last_runs(journal.records)
        self.left = [run for run in self.runs if not is_valid(done.get(run.key))]

    def _kernel_command(self, section: ProgramSection) -> tuple[str, ...]:
        """The command of a bundled kernel: the same work as before, or else what a calibration finds now."""
        command = _kernels(self.journal.records).get(section.identity)
        if command is None:
            self._tell(f"calibrating {section.name}")
            command = self.setting.kernel_command(section)
            self.journal.append(PROGRAM, name=section.name, kernel=section.identity, command=list(command))
        return command

    def _tell(self, now: str) -> None:
        n_reused = len(self.runs) - len(self.left)
        self.on_progress(Progress(len(self.left), self.n_done, self.n_failed, n_reused, now))

    def carry_out(self, *, is_agreed: bool) -> None:
        """Do all that is left; InputError where the warm-ups show that it takes long and this was not agreed to."""
        self.warm_up()
        if not is_agreed:
            warm = [run for run in self.left if self.cold.keys().isdisjoint(_names(run))]
            estimated = estimate_left(self.plan, self.runs, warm, self.journal.records, is_warm=True)
            _check_length(self.plan, estimated, is_warm=True)
        self.run_all()

    def warm_up(self) -> None:
        """Run every program that is still needed, unmeasured; those that fail are not measured."""
        for program, cores in self._needed().items():
            for _ in range(program.warm_up):
                self._tell(f"warming up {program.name}")
                began_s = time.monotonic()
                problem = self.setting.bench.warm_up(program, cores)
                seconds = time.monotonic() - began_s
                self.journal.append(WARM_UP, program=program.name, seconds=seconds, problem=problem, at=_now())
                if problem:
                    self.cold[program.name] = problem
                    break

    def _needed(self) -> dict[MeasuredProgram, tuple[int, ...]]:
        """Programs that have runs left, and cores that one of them uses."""
        members = [member for run in self.left for member in run.experiment.members]
        return {member.program: member.cores for member in reversed(members)}

    def run_all(self) -> None:
        """Make the runs that are left, and read the power of the idle machine between them."""
        failures: Counter[tuple[str, ClockSetting, str]] = Counter()
        windows = self._idle_windows()
        for run in self.left:
            kind = (run.experiment.group, run.experiment.clock, run.experiment.way)
            for _ in range(windows[run.key]):
                self._read_idle_power(run.experiment.clock)
            clock = run.experiment.clock
            self._tell(run.experiment.group if clock == ClockSetting() else f"{run.experiment.group}, {clock.label}")
            read = self._read(run) if failures[kind] < GIVE_UP_AFTER else _unmade(run, GIVEN_UP)
            self.journal.append(RUN, **run_facts(run, read))
            self.setting.give_back()
            failures[kind] += bool(read.problem)
            self.n_failed += bool(read.problem)
            self.n_done += 1
        self._tell("")

    def _idle_windows(self) -> Counter[str]:
        """How often the idle machine is read before which runs: what is missing at a clock, spread over its runs."""
        windows: Counter[str] = Counter()
        if self.setting.idle_w is None:
            return windows
        for clock in {run.experiment.clock for run in self.left}:
            keys = [run.key for run in self.left if run.experiment.clock == clock]
            n_missing = IDLE_WINDOWS - self._n_idle(clock)
            windows.update(keys[i * len(keys) // n_missing] for i in range(n_missing))
        return windows

    def _n_idle(self, clock: ClockSetting) -> int:
        """How often this meter has read the idle machine at a clock already."""
        read = (record for record in self.journal.records if record["event"] == IDLE)
        return sum((one["clock"], one.get("energy_meter")) == (clock.label, self.setting.meter) for one in read)

    def _read_idle_power(self, clock: ClockSetting) -> None:
        assert self.setting.idle_w is not None
        self._tell("reading the power of the idle machine")
        note, seconds = self.setting.wait_for_quiet(()), self.plan.meter.idle / IDLE_WINDOWS
        n_before = sum(record["event"] == IDLE for record in self.journal.records)
        at, power_w = _now(), self.setting.idle_w(clock, seconds, n_before)
        self.journal.append(IDLE, clock=clock.label, idle_w=power_w, at=at, seconds=seconds, note=note,
                            energy_meter=self.setting.meter)  # fmt: skip
        self.setting.give_back()

    def _read(self, run: PlannedRun) -> GroupRead:
        cold = [f"{name} failed when it was warmed up: {self.cold[name]}" for name in _names(run) if name in self.cold]
        if cold:
            return _unmade(run, "; ".join(cold))
        cores = [member.cores for member in run.experiment.members]
        placed = place_notes(self.plan, self.setting.machine, cores)
        busy = self.setting.wait_for_quiet(cores)
        read = self.setting.bench.run(run.experiment, run.repetition)
        return replace(read, notes=(*read.notes, *placed, *([busy] if busy else [])))

    def outcome(self, folder: Path) -> LaboratoryOutcome:
        """What came of it."""
        records = last_runs(self.journal.records)
        made = [records[run.key] for run in self.runs if run.key in records]
        pairs = ((record["group"], record["problem"]) for record in made)
        problems = dict.fromkeys(one for one in pairs if one[1] not in (NO_PROBLEM, GIVEN_UP))
        n_valid = sum(map(is_valid, made))
        return LaboratoryOutcome(folder, len(self.runs), n_valid, len(self.runs) - len(self.left), tuple(problems))


def _check_length(plan: Plan, estimated: PlanEstimate, *, is_warm: bool) -> None:
    """InputError where it takes long; before the warm-ups only what is known counts, and nothing if it is made up."""
    if plan.synthetic is None and (estimated.seconds if is_warm else estimated.least_s) > LONG_S:
        raise InputError(too_long(plan, estimated))


def too_long(plan: Plan, estimated: PlanEstimate) -> Problem:
    """The problem of a plan that takes longer than anybody may have meant."""
    limits = f" ({', '.join(estimated.unknown)} counted with the time limit)" if estimated.unknown else ""
    found = f"{units.count(estimated.n_runs, 'run')} would take about {units.roughly(estimated.seconds)}{limits}"
    advice = "agree with --yes, ask for fewer repetitions, groups or clocks, or say how long programs take (takes)"
    return Problem(plan.file_name, found, f"more than {units.duration(LONG_S)} must be agreed to", advice)


def _unmade(run: PlannedRun, why: str) -> GroupRead:
    return GroupRead(_now(), (MemberRead(),) * len(run.experiment.members), problem=why)


def _names(run: PlannedRun) -> list[str]:
    return list(dict.fromkeys(member.program.name for member in run.experiment.members))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
