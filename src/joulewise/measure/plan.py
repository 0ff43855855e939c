"""Plan files of the laboratory: TOML in, every problem at once or a plan out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from joulewise.errors import InputError, Problem, as_written, raise_if_any, unknown_name
from joulewise.files import toml_of
from joulewise.measure.bundled import KERNELS
from joulewise.measure.plan_keys import (
    ClockSection,
    Heading,
    Idle,
    Meter,
    ProgramSection,
    Sample,
    Section,
    Together,
)
from joulewise.measure.synthetic_machine import SyntheticMachine
from joulewise.measure.synthetic_section import synthetic_machine

START = "`joulewise new measure.toml --kind measure` writes one to start from"


@dataclass(frozen=True)
class Plan:
    """A valid plan, and the text it came from; `folder` is where the files it names are looked up."""

    heading: Heading
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


SECTIONS: dict[str, type[Section]] = {"together": Together, "clock": ClockSection, "meter": Meter, "idle": Idle}
SYNTHETIC, PROGRAMS = "synthetic", "program"


def read_plan(path: Path | str) -> Plan:
    """The plan in a TOML file; InputError with every problem of it."""
    path = Path(path)
    try:
        source = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is not UTF-8 text"
        raise InputError(Problem(str(path), found, "a plan is a TOML file in UTF-8")) from None
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror or error}", advice=START)) from None
    return parse_plan(source, path.name, path.parent)


def parse_plan(source: str, file_name: str, folder: Path) -> Plan:
    """The plan that a text gives; `file_name` is what problems call it."""
    draft = _Draft(toml_of(source, file_name), file_name)
    synthetic = draft.synthetic()
    heading, programs = draft.heading(), draft.programs(synthetic)
    sections = {name: draft.section(name) for name in SECTIONS}
    draft.problems += _cross_checks(file_name, programs, sections, synthetic)
    raise_if_any(draft.problems)
    assert heading is not None
    whole = tuple(program for program in programs if program)
    return Plan(heading, whole, **sections, synthetic=synthetic, source=source, file_name=file_name,
                folder=folder)  # fmt: skip


_T = TypeVar("_T", bound=Section)


@dataclass
class _Draft:
    """A parsed file while its problems are being collected."""

    raw: Mapping[str, Any]
    file_name: str
    problems: list[Problem] = field(default_factory=list)

    def heading(self) -> Heading | None:
        """The keys outside sections; unknown ones are told with the names of sections too."""
        known = (*SECTIONS, SYNTHETIC, PROGRAMS)
        own = {key: value for key, value in self.raw.items() if key not in known}
        return self._read(Heading, own, "", known)

    def synthetic(self) -> SyntheticMachine | None:
        """The machine that is simulated in place of this one, if the plan has one."""
        found = self.raw.get(SYNTHETIC)
        if found is None:
            return None
        where = f"{self.file_name}: {SYNTHETIC}"
        if isinstance(found, dict):
            try:
                return synthetic_machine(found, where)
            except InputError as error:
                self.problems += error.problems
        else:
            self.problems.append(Problem(where, "found a value", f"must be a section, [{SYNTHETIC}]"))
        return SyntheticMachine()

    def programs(self, synthetic: SyntheticMachine | None) -> list[ProgramSection | None]:
        """The programs, None for those that are not whole; all of a synthetic machine where the file names none."""
        where, found = f"{self.file_name}: {PROGRAMS}", self.raw.get(PROGRAMS)
        if found is None and synthetic is not None:
            return [ProgramSection.model_validate({"name": program.name}) for program in synthetic.programs]
        if not isinstance(found, list) or not found or not all(isinstance(entry, dict) for entry in found):
            told = "missing" if found is None else "found no list of tables"
            self.problems.append(Problem(where, told, "must be written as [[program]], at least once", START))
            return []
        return [self._read(ProgramSection, entry, f"{PROGRAMS}[{i}].") for i, entry in enumerate(found)]

    def section(self, name: str) -> Any:
        """A section, as it is by default where the file has none."""
        found = self.raw.get(name, {})
        if isinstance(found, dict):
            return self._read(SECTIONS[name], found, f"{name}.") or SECTIONS[name]()
        self.problems.append(Problem(f"{self.file_name}: {name}", "found a value", f"must be a section, [{name}]"))
        return SECTIONS[name]()

    def _read(self, kind: type[_T], raw: Mapping[str, Any], prefix: str, more: tuple[str, ...] = ()) -> _T | None:
        try:
            return kind.model_validate(raw)
        except ValidationError as error:
            found = (_problem(entry, kind, f"{self.file_name}: {prefix}", more) for entry in error.errors())
            self.problems += {problem.where: problem for problem in found}.values()
            return None


_ALLOWED = {
    "greater_than": "must be above {gt:g}", "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less", "int_type": "must be a whole number", "float_type": "must be a number",
    "string_type": "must be text in quotes", "string_too_long": "must have {max_length} characters at most",
    "string_pattern_mismatch": "must start with a letter; then letters, digits, '.', '_' and '-'",
    "list_type": "must be a list", "dict_type": "must be a table",
    "too_short": "must have {min_length} or more entries",
    "literal_error": "must be one of {expected}",
}  # fmt: skip
"""What is allowed, by the kind of Pydantic's error."""


def _problem(error: Any, kind: type[Section], prefix: str, more: tuple[str, ...]) -> Problem:
    """One of Pydantic's errors in our words, at the key; arms of a choice between types become one problem."""
    key, *rest = error["loc"]
    is_choice = any(map(_is_arm, rest))
    steps = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest if not is_choice]
    place = f"{prefix}{key}{''.join(steps)}"
    owner = Sample if key == "sampled" and rest else kind
    name = str(rest[-1] if owner is Sample else key)
    if error["type"] == "extra_forbidden":
        known = unknown_name(place, name, [*owner.model_fields, *more])
        return Problem(place, "there is no such key", known.allowed, known.advice)
    meaning = (owner.model_fields[name].description if name in owner.model_fields else "") or ""
    if error["type"] == "missing":
        return Problem(place, "missing", f"must be given: {meaning}")
    if error["type"] == "value_error":
        found, _, allowed = str(error["ctx"]["error"]).partition("; ")
        return Problem(place, found, allowed)
    found = f"found {as_written(error['input'])}"
    if is_choice:
        return Problem(place, found, f"may be: {meaning}")
    template = _ALLOWED.get(error["type"], error["msg"])
    return Problem(place, found, template.format(**error.get("ctx", {})), meaning)


def _is_arm(part: int | str) -> bool:
    """Whether a step to an error is one of several types that a value may have, and no key."""
    return isinstance(part, str) and (part == "str" or "[" in part)


def _cross_checks(
    file_name: str,
    programs: list[ProgramSection | None],
    sections: Mapping[str, Any],
    synthetic: SyntheticMachine | None,
) -> Iterator[Problem]:
    """What keys say of each other."""
    names = [program.name if program else "" for program in programs]
    for i, program in enumerate(programs):
        if program is None:
            continue
        where = f"{file_name}: {PROGRAMS}[{i}]"
        if program.name in names[:i]:
            yield Problem(f"{where}.name", f"found {program.name!r} twice", "names must differ")
        if synthetic is None:
            yield from _command_problems(where, program)
        elif synthetic.program(program.name) is None:
            yield unknown_name(f"{where}.name", program.name, [known.name for known in synthetic.programs])
    if all(names):
        yield from _group_problems(file_name, names, sections["together"])
    clock = sections["clock"]
    if clock.frequencies and clock.governors:
        yield Problem(f"{file_name}: clock", "found frequencies and governors", "must be one of them")
    meter = sections["meter"]
    if meter.command and meter.csv:
        yield Problem(f"{file_name}: meter", "found a command and a csv", "must be one of them")


def _command_problems(where: str, program: ProgramSection) -> Iterator[Problem]:
    has_command, has_kernel = program.command is not None, program.kernel is not None
    if has_command == has_kernel:
        found = "found both a command and a kernel" if has_command else "found neither a command nor a kernel"
        yield Problem(where, found, "must be one of them", f'for example command = "sleep 1" or kernel = "{_FIRST}"')
    if program.kernel is not None and program.kernel not in KERNELS:
        yield unknown_name(f"{where}.kernel", program.kernel, KERNELS)
    for key in ("footprint", "seconds"):
        if getattr(program, key) is not None and not has_kernel:
            yield Problem(f"{where}.{key}", "found without a kernel", "tells the size of a bundled kernel")
    try:
        words = program.words
    except ValueError as error:
        yield Problem(f"{where}.command", f"found {program.command!r}: {error}", "quotes must come in pairs")
        return
    if has_command and not (words and words[0]):
        yield Problem(f"{where}.command", "found nothing in it", "must be a command line")


_FIRST = next(iter(KERNELS))


def _group_problems(file_name: str, names: list[str], together: Together) -> Iterator[Problem]:
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
