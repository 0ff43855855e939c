"""What the checks say of a study's text: the messages of `joulewise check`, line by line, and what it would take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.serve.named import refused
from joulewise.serve.run.lines import Lines
from joulewise.study.parsing.file import parse_study
from joulewise.study.parsing.study import Study
from joulewise.units import count

PROBLEM, WARNING = "problem", "warning"
"""What keeps a study from being run, and what is worth a word."""


@dataclass(frozen=True)
class Message:
    """What is said of a text: how serious it is, the line it is about if that is known, and the words."""

    kind: str
    line: int | None
    where: str
    found: str
    allowed: str
    advice: str


@dataclass(frozen=True)
class Checked:
    """What `joulewise check` says of a text: a verdict, messages, and what a run would take, by name.

    `name` is that of the study, if it could be read, and `results` the folder of what comes out, in the served one.
    """

    verdict: str
    messages: tuple[Message, ...]
    name: str = ""
    results: str = ""
    costs: tuple[tuple[str, str], ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether the study can be run."""
        return not self._wrong

    @property
    def _wrong(self) -> list[Message]:
        return [message for message in self.messages if message.kind == PROBLEM]

    def raise_if_wrong(self) -> None:
        """InputError where the study cannot be run."""
        raise_if_any(Problem(each.where, each.found, each.allowed, each.advice) for each in self._wrong)


def checked(text: str, file: Path, root: Path, *, allows_code: bool) -> Checked:
    """What is said of the text of a study file in a served folder."""
    lines = Lines(text)

    def message(kind: str, problem: Problem) -> Message:
        return Message(kind, lines.of(problem, file.name), **vars(problem))

    try:
        study = read_served(text, file, root, allows_code=allows_code)
        folder = results_folder(study, root)
        costs = _costs(study, folder, root)
    except InputError as error:
        found = sorted((message(PROBLEM, problem) for problem in error.problems), key=_order)
        return Checked(count(len(found), "problem"), tuple(found))
    warnings = tuple(message(WARNING, problem) for problem in study.warnings)
    verdict = f"no mistake, {count(len(warnings), 'warning')}" if warnings else "nothing wrong"
    return Checked(verdict, warnings, study.name, folder.relative_to(root).as_posix(), costs)


def read_served(text: str, file: Path, root: Path, *, allows_code: bool) -> Study:
    """The study of a text as `joulewise check` reads it; InputError with its problems.

    What it names outside of the served folder is refused before it is looked at, as is Python unless it is allowed.
    """
    from joulewise.present.gallery import check_choice

    judge = partial(refused, file=file, root=root, allows_code=allows_code)
    study = parse_study(text, file.name, file.parent, check_inputs=True, judge=judge)
    check_choice(study)
    return study


def results_folder(study: Study, root: Path) -> Path:
    """Where the results of a study go: where `joulewise run` puts them that is called in the served folder."""
    from joulewise.study.running.running import default_folder

    folder = root / default_folder(study)
    if not folder.resolve().is_relative_to(root.resolve()):
        advice = "replace the link by a folder"
        raise InputError(Problem(str(default_folder(study)), "leads out of the folder that is served", advice=advice))
    return folder


def _costs(study: Study, folder: Path, root: Path) -> tuple[tuple[str, str], ...]:
    from joulewise.study.running.estimate import estimate

    return tuple(estimate(study, folder).lines(folder.relative_to(root)))


def _order(message: Message) -> tuple[bool, int]:
    """Messages with a line first, from top to bottom."""
    return message.line is None, message.line or 0
