"""The sets of worlds on which policies are compared: studies of this package, in which a policy is filled in.

A set stays as it is, or what was found on it means nothing. Its name ends with a number; other worlds are another set.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from joulewise.errors import Problem, attempt, raise_if_any
from joulewise.files import sha256_of
from joulewise.policies.user_files import is_file_spec
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.systems import built_in
from joulewise.study.parsing.file import parse_study
from joulewise.study.parsing.study import Study
from joulewise.study.spec.parts import RESULTS_VERSION
from joulewise.study.spec.source import Draw

LOGS = "JOULEWISE_DATA"
"""The variable that names the folder of real logs."""

JUDGING, TUNING, QUICK = "judging", "tuning", "quick"
STAGES: Mapping[str, Mapping[str, str]] = {JUDGING: {}, TUNING: {"seed": "11"}, QUICK: {"trials": "1"}}
"""What is other than in the file of a set: worlds to tune a policy on, and the first of those that judge it."""

_SETS = Path(str(files(__package__) / "sets"))
_WORLD = re.compile(r"^\[\[variant\]\]\n(?:(?!\[\[variant\]\]).*\n)*", re.MULTILINE)
_LOG = re.compile(r'(?m)^workload\.trace = "(.+)"  # sha256 ([0-9a-f]{64})$')


@dataclass(frozen=True)
class WorldSet:
    """A set: its name, the system of its policies, and the list that offers those of our table."""

    name: str
    system: str
    offers: str

    @cached_property
    def text(self) -> str:
        """Its study file, with those of its logs that are there."""
        return _WORLD.sub(_with_log, self._file.read_text(encoding="utf-8"))

    @cached_property
    def stamp(self) -> str:
        """What tells it from others: its name, a hash of its file, and the version of results."""
        name = _value(self.text, "name")
        digest = hashlib.sha256(self._file.read_bytes()).hexdigest()
        return f"{name}, {digest[:12]}, results {RESULTS_VERSION}"

    @property
    def _file(self) -> Path:
        return _SETS / f"{self.name}.toml"

    @property
    def is_there(self) -> bool:
        """Whether it has any world here: real logs may be missing."""
        return _WORLD.search(self.text) is not None

    @cached_property
    def worlds(self) -> tuple[str, ...]:
        """The names of its worlds."""
        return tuple(_value(world, "name") for world in _WORLD.findall(self.text))

    @cached_property
    def kind(self) -> Kind:
        """The kind of its studies."""
        (kind,) = built_in(self.system).kinds
        return kind

    def table(self) -> dict[str, str]:
        """The policies of our table for it, with their titles."""
        entries = built_in(self.system).lists[self.offers]()
        return {e.facts["name"]: e.facts["title"] for e in entries if self.kind.identity_of(e.facts["name"]) is None}

    def study(self, policies: Sequence[str], stage: str = JUDGING, folder: Path = Path()) -> Study:
        """The study of these policies; `folder` is where their files are. InputError where a log is another file."""
        raise_if_any(self._other_logs())
        text = self.text
        for key, value in {"policy": json.dumps(list(policies), ensure_ascii=False), **STAGES[stage]}.items():
            text = _with_value(text, key, value)
        return parse_study(text, self._file.name, folder)

    def _other_logs(self) -> Iterator[Problem]:
        """Logs that are there and are not those of the set."""
        for name, digest in _LOG.findall(self._file.read_text(encoding="utf-8")):
            path = _place_of_log(name)
            if path.is_file() and (found := sha256_of(path)) != digest:
                allowed = f"the set {self.name} is of {digest[:12]}"
                advice = f"take the file that was meant, or let {LOGS} name another folder"
                yield Problem(str(path), f"has the hash {found[:12]}", allowed, advice)

    def problems(self, policy: str, folder: Path) -> list[Problem]:
        """Why this is no policy that the set is for."""
        problems: list[Problem] = []
        study = self.study([policy], folder=folder)
        attempt(problems, study.kind.build, study.decisions[0], Draw(study.heading.seed, 0, folder))
        return problems


def _with_log(world: re.Match[str]) -> str:
    """A world with the place of its log, if it is one of a log; nothing where that is not there."""
    log = _LOG.search(world[0])
    if log is None:
        return world[0]
    path = _place_of_log(log[1])
    return world[0].replace(f'"{log[1]}"', json.dumps(str(path.resolve()))) if path.is_file() else ""


def _place_of_log(name: str) -> Path:
    """Where a log is looked for."""
    return Path(os.environ.get(LOGS, "")) / name


def _with_value(text: str, key: str, value: str) -> str:
    """A study file with another value of a key at its first place."""
    return re.sub(rf"(?m)^{key} = .*$", lambda _: f"{key} = {value}", text, count=1)


def _value(text: str, key: str) -> str:
    """What a study file says of a key that holds a name, at its first place."""
    found = re.search(rf'(?m)^{key} = "(.*)"$', text)
    assert found is not None
    return found[1]


SETS = {
    each.name: each
    for each in (
        WorldSet("tasks", "tasks", "policies"),
        WorldSet("jobs", "jobs", "job-policies"),
        WorldSet("logs", "jobs", "job-policies"),
    )
}
"""Every set, by its name."""

Place: TypeAlias = tuple[Path, str]
"""A folder, and how a study in it names a policy."""


def place_of(policy: str) -> Place:
    """Where a policy is looked up: in the folder of its file, by the name of that alone."""
    if not is_file_spec(policy):
        return Path(), policy
    file, colon, name = policy.partition(":")
    return Path(file).parent, f"{Path(file).name}{colon}{name}"


def sets_for(place: Place) -> list[WorldSet]:
    """The sets with worlds here that are for a policy; InputError where none is."""
    folder, policy = place
    problems = {name: each.problems(policy, folder) for name, each in SETS.items() if each.is_there}
    found = [SETS[name] for name, those in problems.items() if not those]
    if not found:
        raise_if_any(dict.fromkeys(problem for those in problems.values() for problem in those))
    return found
