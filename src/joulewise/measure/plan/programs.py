"""Programs of a plan as the bench runs them; what is wrong with them is reported before anything runs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from joulewise.errors import Problem, raise_if_any
from joulewise.files import sha256_of
from joulewise.measure.bench.bench import MeasuredProgram
from joulewise.measure.plan.keys import ProgramSection
from joulewise.measure.plan.plan import Plan


def resolved(plan: Plan, kernel_command: Callable[[ProgramSection], tuple[str, ...]]) -> dict[str, MeasuredProgram]:
    """The programs by name; InputError where a folder or a command is not there."""
    if plan.synthetic is None:
        raise_if_any(problem for i in range(len(plan.programs)) for problem in command_problems(plan, i))
    return {
        section.name: MeasuredProgram(
            section.name,
            kernel_command(section) if section.kernel else section.words,
            str(_folder(plan, section)),
            tuple(sorted(section.environment.items())),
            section.warm_up,
            section.time_limit,
            waits=section.kernel is not None,
            content=_content(section, _folder(plan, section)) if section.command else "",
        )
        for section in plan.programs
    }


def _folder(plan: Plan, section: ProgramSection) -> Path:
    return (plan.folder / section.folder).resolve()


def command_problems(plan: Plan, i: int) -> Iterator[Problem]:
    """What a program needs that is not there: its folder, its command."""
    section = plan.programs[i]
    where, folder = f"{plan.file_name}: {plan.place_of(i)}", _folder(plan, section)
    if not folder.is_dir():
        yield Problem(f"{where}.folder", f"found {section.folder!r}", f"{folder} is no folder")
    elif section.command and not _file(section, folder):
        allowed = "must be a program that can be started"
        advice = f"give its whole path, or a path relative to {folder}"
        yield Problem(f"{where}.command", f"found {section.words[0]!r}, which is not there", allowed, advice)


def _file(section: ProgramSection, folder: Path) -> str | None:
    """The file of a command, looked for as the system will; None where it is not there."""
    name, search = section.words[0], {**os.environ, **section.environment}.get("PATH")
    return shutil.which(str(folder / name) if "/" in name else name, path=search)


def _content(section: ProgramSection, folder: Path) -> str:
    """The hash of a user's own program: one that is named by its path, or does not belong to root.

    Empty for programs of the system, which change with every update, and for those that may not be read.
    """
    file = Path(_file(section, folder) or os.devnull)
    is_own = "/" in section.words[0] or file.stat().st_uid != 0
    is_readable = file.is_file() and os.access(file, os.R_OK)
    return sha256_of(file) if is_own and is_readable and str(file) != sys.executable else ""
