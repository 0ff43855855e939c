"""Plan files checked against the machine they are for: every problem of both at once, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.measure.bench.setting import machine_of, why_not
from joulewise.measure.machine.machine import Machine
from joulewise.measure.machine.places import core_problems
from joulewise.measure.plan.groups import Group, groups_of
from joulewise.measure.plan.plan import START, Plan, PlanDraft, drafted
from joulewise.measure.plan.programs import command_problems
from joulewise.measure.plan.schedule import run_problems, unoffered
from joulewise.measure.plan.table import SYNTHETIC
from joulewise.units import size


def read_plan(path: Path | str) -> Plan:
    """The plan in a TOML file; InputError with every problem of it, and with what the machine does not have of it."""
    path = Path(path)
    try:
        source = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is not UTF-8 text"
        raise InputError(Problem(str(path), found, "a plan is a TOML file in UTF-8")) from None
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror or error}", advice=START)) from None
    draft = drafted(source, path.name, path.parent)
    raise_if_any((*draft.problems, *_problems_here(draft)))
    return draft.plan


def _problems_here(draft: PlanDraft) -> Iterator[Problem]:
    """What is not there of what a plan asks for, as far as that does not hang on what is wrong in the plan itself."""
    plan = draft.plan
    if plan.synthetic is None:
        yield from _absent_commands(draft)
    if draft.tells_of(SYNTHETIC):
        return
    machine = machine_of(plan)
    yield from list(unoffered(plan, machine)) or why_not(plan, machine)
    yield from core_problems(plan, machine)
    yield from _size_problems(plan, machine)
    of_programs = (f"{plan.place_of(i)}.{key}" for i in range(len(plan.programs)) for key in ("name", "cores"))
    if plan.programs and not draft.tells_of("cores", "seed", "together", *of_programs):
        yield from _group_problems(plan, machine)


def _absent_commands(draft: PlanDraft) -> Iterator[Problem]:
    for i in range(len(draft.plan.programs)):
        place = draft.plan.place_of(i)
        if not draft.tells_of(*(f"{place}.{key}" for key in ("command", "folder", "environment"))):
            yield from command_problems(draft.plan, i)


def _size_problems(plan: Plan, machine: Machine) -> Iterator[Problem]:
    """Kernels that need more memory than there is."""
    for i, program in enumerate(plan.programs):
        if not _fits(program.footprint or 0.0, machine):
            where, found = f"{plan.file_name}: {plan.place_of(i)}.footprint", f"found {size(program.footprint or 0.0)}"
            yield Problem(where, found, f"this machine has {size(machine.memory_bytes)} of memory")


def _crowd_problems(plan: Plan, machine: Machine, groups: Iterable[Group]) -> Iterator[Problem]:
    """The group whose kernels, each of which fits, need most memory together, where there is less."""
    footprints = {program.name: program.footprint or 0.0 for program in plan.programs}
    needs = {
        group: sum(footprints[name] for name in group)
        for group in groups
        if all(_fits(footprints[name], machine) for name in group)
    }
    largest = max(needs, key=lambda group: needs[group], default=())
    if largest and not _fits(needs[largest], machine):
        found = f"found the group {' + '.join(largest)}, whose footprints are {size(needs[largest])} together"
        allowed, advice = f"this machine has {size(machine.memory_bytes)} of memory", "make `footprint` smaller"
        yield Problem(f"{plan.file_name}: together", found, allowed, advice)


def _fits(n_bytes: float, machine: Machine) -> bool:
    """Whether the machine has this much memory, as far as that is known."""
    return not machine.memory_bytes or n_bytes <= machine.memory_bytes


def _group_problems(plan: Plan, machine: Machine) -> Iterator[Problem]:
    try:
        groups = groups_of(plan)
        yield from run_problems(plan, machine, groups)
        yield from _crowd_problems(plan, machine, groups)
    except InputError as error:
        yield from error.problems
