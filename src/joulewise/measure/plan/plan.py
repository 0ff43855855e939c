"""Plan files of the laboratory: TOML in, every problem at once or a plan out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from joulewise.errors import InputError, Problem, as_written, raise_if_any, unknown_name
from joulewise.files import toml_of
from joulewise.measure.bench.bundled import KERNELS, LEAST_BYTES
from joulewise.measure.meters.power_csv import ZONES, zone_of
from joulewise.measure.plan.keys import ClockSection, Idle, Meter, PlanHeading, PlanSection, ProgramSection, Together
from joulewise.measure.plan.problems import entry_place, table_problems
from joulewise.measure.plan.table import PROGRAMS, SECTIONS, SYNTHETIC
from joulewise.measure.synthetic.machine import SyntheticMachine
from joulewise.measure.synthetic.section import SyntheticSection, synthetic_machine
from joulewise.units import duration, size

START = "`joulewise new measure.toml --kind measure` writes one to start from"


@dataclass(frozen=True)
class Plan:
    """A valid plan, and the text it came from; `folder` is where the files it names are looked up."""

    heading: PlanHeading
    programs: tuple[ProgramSection, ...]
    together: Together
    clock: ClockSection
    meter: Meter
    idle: Idle
    synthetic: SyntheticMachine | None
    source: str
    file_name: str
    folder: Path

    @property
    def name(self) -> str:
        return self.heading.name

    def program(self, name: str) -> ProgramSection:
        """The program of this name."""
        return next(program for program in self.programs if program.name == name)

    def place_of(self, i: int) -> str:
        """How problems call a program of the file."""
        return f"{PROGRAMS}{entry_place(i, self.programs[i].name)}"


@dataclass(frozen=True)
class PlanDraft:
    """What a text gives: its problems, and the plan, without what is wrong in it as long as there are any."""

    plan: Plan
    problems: tuple[Problem, ...]

    def tells_of(self, *places: str) -> bool:
        """Whether a problem is at one of these places of the file, or below it."""
        noted = [problem.where.removeprefix(f"{self.plan.file_name}: ") for problem in self.problems]
        below = tuple(place + end for place in places for end in ".[")
        return any(where in places or where.startswith(below) for where in noted)


def parse_plan(source: str, file_name: str, folder: Path) -> Plan:
    """The plan that a text gives; `file_name` is what problems call it. InputError with every problem of it."""
    draft = drafted(source, file_name, folder)
    raise_if_any(draft.problems)
    return draft.plan


def drafted(source: str, file_name: str, folder: Path) -> PlanDraft:
    """The plan that a text gives and every problem of it; InputError where it is no TOML, or a study."""
    raw = toml_of(source, file_name)
    _refuse_studies(raw, file_name)
    reader = _PlanReader(raw, file_name)
    synthetic = reader.synthetic()
    heading, programs = reader.heading(), tuple(reader.programs(synthetic))
    sections: dict[str, Any] = {name: reader.section(name, kind) for name, kind in SECTIONS.items()}
    plan = Plan(heading, programs, **sections, synthetic=synthetic, source=source, file_name=file_name, folder=folder)
    draft = PlanDraft(plan, tuple(reader.problems))
    return PlanDraft(plan, (*draft.problems, *_cross_checks(draft)))


def _refuse_studies(raw: Mapping[str, Any], file_name: str) -> None:
    """InputError where a file is a study, whose keys would all be wrong here."""
    if _OF_STUDIES & raw.keys() and not {PROGRAMS, SYNTHETIC} & raw.keys():
        advice = f"run it with `joulewise run`; {START}"
        raise InputError(Problem(file_name, "found a study", "must be a plan of the laboratory", advice))


_OF_STUDIES = {"system", "workload"}
"""Sections that studies have, and plans never."""

_T = TypeVar("_T", bound=PlanSection)


@dataclass
class _PlanReader:
    """A parsed file while its problems are being collected."""

    raw: Mapping[str, Any]
    file_name: str
    problems: list[Problem] = field(default_factory=list)

    def heading(self) -> PlanHeading:
        """The keys outside sections; messages about unknown ones name the sections too."""
        sections = (*SECTIONS, SYNTHETIC, PROGRAMS)
        own = {key: value for key, value in self.raw.items() if key not in sections}
        return self._read(PlanHeading, own, f"{self.file_name}: ", sections)

    def synthetic(self) -> SyntheticMachine | None:
        """The machine that is simulated in place of this one, if the plan has one."""
        if SYNTHETIC not in self.raw:
            return None
        section, raw = self.section(SYNTHETIC, SyntheticSection), self.raw[SYNTHETIC]
        if isinstance(raw, dict):
            self.problems += _doubles(f"{self.file_name}: {SYNTHETIC}.{PROGRAMS}", _names(raw.get(PROGRAMS)))
        return synthetic_machine(section)

    def programs(self, synthetic: SyntheticMachine | None) -> Iterator[ProgramSection]:
        """The programs; all of a synthetic machine where the file names none."""
        where, entries = f"{self.file_name}: {PROGRAMS}", self.raw.get(PROGRAMS)
        if entries is None and synthetic is not None:
            yield from (ProgramSection.model_validate({"name": name}) for name in dict.fromkeys(synthetic.names))
        elif entries and isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
            for i, entry in enumerate(entries):
                yield self._read(ProgramSection, entry, f"{where}{entry_place(i, entry.get('name'))}.")
        else:
            found = "missing" if entries is None else "found no list of tables"
            self.problems.append(Problem(where, found, "must be written as [[program]], at least once", START))

    def section(self, name: str, kind: type[_T]) -> _T:
        """A section, as it is by default where the file has none."""
        found, where = self.raw.get(name, {}), f"{self.file_name}: {name}"
        if isinstance(found, dict):
            return self._read(kind, found, f"{where}.")
        self.problems.append(Problem(where, f"found {as_written(found)}", f"must be a section, [{name}]"))
        return kind()

    def _read(self, kind: type[_T], raw: Mapping[str, Any], prefix: str, more: tuple[str, ...] = ()) -> _T:
        """A table without what is wrong in it, which serves to find further problems."""
        try:
            return kind.model_validate(raw)
        except ValidationError as error:
            self.problems += table_problems(error, kind, raw, prefix, more)
            wrong = {str(each["loc"][0]) for each in error.errors()}
            return _sound(kind, {key: value for key, value in raw.items() if key not in wrong}, raw.get("name"))


_NO_NAME = "unnamed"


def _sound(kind: type[_T], rest: Mapping[str, Any], name: object) -> _T:
    """A table of the keys that are right; it keeps its name, though that may be wrong."""
    if "name" in rest or "name" not in kind.model_fields:
        return kind.model_validate(rest)
    whole = kind.model_validate({**rest, "name": _NO_NAME})
    return whole.model_copy(update={"name": name if isinstance(name, str) else ""})


def _cross_checks(draft: PlanDraft) -> Iterator[Problem]:
    """What keys say of each other, as far as they are right."""
    plan, synthetic = draft.plan, draft.plan.synthetic
    names = [program.name for program in plan.programs]
    yield from _doubles(f"{plan.file_name}: {PROGRAMS}", names)
    for i in range(len(names)):
        yield from _limit_problems(draft, i)
        yield from _command_problems(draft, i) if synthetic is None else _made_up_problems(draft, synthetic, i)
    if names and all(names) and not draft.tells_of(f"{SYNTHETIC}.{PROGRAMS}"):
        yield from _group_problems(plan.file_name, names, plan.together)
    yield from _repeats(plan)
    for section, keys in (("clock", ("frequencies", "governors")), ("meter", ("command", "csv"))):
        if all(getattr(getattr(plan, section), key) for key in keys):
            yield Problem(f"{plan.file_name}: {section}", f"found {' and '.join(keys)}", "must be one of them")
    if zone_of(plan.meter.time_zone) is None:
        yield Problem(f"{plan.file_name}: meter.time_zone", f"found {plan.meter.time_zone!r}", ZONES)


def _names(entries: object) -> list[str]:
    """The names of tables in a list, nothing for those that have none."""
    tables = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name if isinstance(name := table.get("name"), str) else "" for table in tables]


def _doubles(where: str, names: Sequence[str]) -> Iterator[Problem]:
    for i, name in enumerate(names):
        if name and name in names[:i]:
            yield Problem(f"{where}{entry_place(i, name)}.name", f"found {name!r} twice", "names must differ")


def _repeats(plan: Plan) -> Iterator[Problem]:
    """What stands twice in a list of things to be measured, which would measure it once."""
    frequencies = plan.clock.frequencies if isinstance(plan.clock.frequencies, list) else []
    lists: dict[str, Sequence[str]] = {
        "ways": plan.heading.ways,
        "clock.frequencies": [f"{mhz:g} MHz" for mhz in frequencies],
        "clock.governors": plan.clock.governors,
        "together.all_of_size": [str(size) for size in plan.together.all_of_size],
    }
    for key, entries in lists.items():
        for i, entry in enumerate(entries):
            if entry in entries[:i]:
                allowed, advice = "entries must differ", "`repetitions` says how often everything is run"
                yield Problem(f"{plan.file_name}: {key}[{i}]", f"found {entry!r} twice", allowed, advice)


def _command_problems(draft: PlanDraft, i: int) -> Iterator[Problem]:
    """What is wrong with the command or the kernel of a program, as far as its keys are right."""
    program, place = draft.plan.programs[i], draft.plan.place_of(i)
    has_command, has_kernel = program.command is not None, program.kernel is not None
    where = f"{draft.plan.file_name}: {place}"
    if draft.tells_of(f"{place}.command", f"{place}.kernel"):
        return
    if has_command == has_kernel:
        found = "found both a command and a kernel" if has_command else "found neither a command nor a kernel"
        yield Problem(where, found, "must be one of them", f'for example command = "sleep 1" or kernel = "{_FIRST}"')
    if program.kernel is not None and program.kernel not in KERNELS:
        yield unknown_name(f"{where}.kernel", program.kernel, KERNELS)
    for key in ("footprint", "seconds"):
        if getattr(program, key) is not None and not has_kernel:
            yield Problem(f"{where}.{key}", "found without a kernel", "tells the size of a bundled kernel")
    if program.footprint is not None and has_kernel and program.footprint < LEAST_BYTES:
        yield Problem(f"{where}.footprint", f"found {size(program.footprint)}", f"must be {LEAST_BYTES} B or more")
    try:
        words = program.words
    except ValueError as error:
        yield Problem(f"{where}.command", f"found {program.command!r}: {error}", "quotes must come in pairs")
        return
    if has_command and not (words and words[0]):
        yield Problem(f"{where}.command", "found nothing in it", "must be a command line")


_FIRST = next(iter(KERNELS))


def _limit_problems(draft: PlanDraft, i: int) -> Iterator[Problem]:
    """A program that is said to take longer than it may would fail in every run."""
    program, place = draft.plan.programs[i], draft.plan.place_of(i)
    if draft.tells_of(f"{place}.time_limit"):
        return
    for key in ("takes", "seconds"):
        if (getattr(program, key) or 0.0) > program.time_limit:
            found, limit = f"found {duration(getattr(program, key))}", duration(program.time_limit)
            allowed = f"its runs are ended after {limit}"
            yield Problem(f"{draft.plan.file_name}: {place}.{key}", found, allowed, "raise `time_limit`")


def _made_up_problems(draft: PlanDraft, synthetic: SyntheticMachine, i: int) -> Iterator[Problem]:
    """What is wrong with a program of a machine that is made up, which runs nothing."""
    program, place = draft.plan.programs[i], draft.plan.place_of(i)
    where = f"{draft.plan.file_name}: {place}"
    idle = [key for key in ProgramSection.model_fields if key in program.model_fields_set - _OF_MADE_UP]
    if idle:
        allowed = f"a made-up machine runs nothing: its programs have {' and '.join(sorted(_OF_MADE_UP))} alone"
        advice = f"leave them out, or leave [{SYNTHETIC}] out to measure on this machine"
        yield Problem(where, f"found {', '.join(idle)} beside [{SYNTHETIC}]", allowed, advice)
    if program.name not in synthetic.names and not draft.tells_of(f"{place}.name", f"{SYNTHETIC}.{PROGRAMS}"):
        yield unknown_name(f"{where}.name", program.name, synthetic.names)


_OF_MADE_UP = {"cores", "name"}
"""The keys of a program that mean something on a machine that is made up."""


def _group_problems(file_name: str, names: Sequence[str], together: Together) -> Iterator[Problem]:
    pairs = together.pairs if isinstance(together.pairs, list) else []
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            where = f"{file_name}: together.pairs[{i}]"
            yield Problem(where, f"found {as_written(pair)}", "must name two programs", "larger ones go to `groups`")
    for key, groups in (("pairs", pairs), ("groups", together.groups)):
        for i, group in enumerate(groups):
            for name in dict.fromkeys(group):
                if name not in names:
                    yield unknown_name(f"{file_name}: together.{key}[{i}]", name, names)
