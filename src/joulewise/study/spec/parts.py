"""Resolved sections of a study and the keys that identify what comes out of them."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from joulewise.files import sha256_of
from joulewise.policies.user_files import is_file_spec
from joulewise.study.spec.parameters import hints_of, table_of

RESULTS_VERSION = 10
"""Raised whenever the same study would give other numbers, so that old and new runs are not mixed."""

_LONGEST_CELL = 100
_TEXTS = json.JSONEncoder(sort_keys=True, default=dataclasses.asdict)


@dataclass(frozen=True)
class Part:
    """One resolved section: its name, that of its source (a generator, or "tables") and the values, in SI units.

    `selector` is the key by which the section names its source, if it has one.
    """

    section: str
    source: str
    parameters: Any
    selector: str = ""

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Part], tuple[Any, ...]]:
        """Without the hash, which is another one in another process."""
        return type(self), (self.section, self.source, self.parameters, self.selector)

    @cached_property
    def _hash(self) -> int:
        """Computed once: studies of many points look their sections up again and again."""
        return hash((self.section, self.source, self.parameters, self.selector))

    def files(self) -> Iterator[tuple[str, str]]:
        """The fields that name files, with the names as the study gives them."""
        owner: type = type(self.parameters)
        for name, is_code in _file_fields(owner):
            value = getattr(self.parameters, name)
            if isinstance(value, str):
                yield name, value.partition(":")[0] if is_code else value

    def code(self) -> Iterator[tuple[str, str]]:
        """The fields that name code in a file, with what they say, such as "mine.py:mine"."""
        for field in dataclasses.fields(self.parameters):
            value = getattr(self.parameters, field.name)
            if field.metadata.get("file") == "code" and is_file_spec(value):
                yield field.name, value

    def renamed(self, names: Mapping[str, str]) -> Part:
        """The section with these names in place of those that it has for files."""
        old = ((field, name, getattr(self.parameters, field)) for field, name in self.files() if name in names)
        new = {field: value.replace(name, names[name], 1) for field, name, value in old}
        return dataclasses.replace(self, parameters=dataclasses.replace(self.parameters, **new)) if new else self

    def cells(self) -> dict[str, object]:
        """The section as columns of a run's row: dotted names with the unit at the end."""
        owner: type = type(self.parameters)
        values = {field.name: getattr(self.parameters, field.name) for field in dataclasses.fields(self.parameters)}
        tables = {name: dict(values[name]) for name in _table_fields(owner)}
        return {f"{self.section}.{name}": _cell(value) for name, value in {**values, **tables}.items()}


@cache
def _table_fields(owner: type) -> tuple[str, ...]:
    """The fields of a section's parameters that are tables of their own."""
    return tuple(name for name, hint in hints_of(owner).items() if table_of(hint))


@cache
def _file_fields(owner: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a section's parameters that may name a file, and whether that is one of code."""
    fields = [field for field in dataclasses.fields(owner) if field.metadata.get("file")]
    return tuple((field.name, field.metadata["file"] == "code") for field in fields)


@cache
def _key_fields(owner: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(owner)


def _values_of(parameters: Any) -> dict[str, Any]:
    """The fields of a section's parameters that keys are made of: all but late ones at their defaults."""
    owner: type = type(parameters)
    values = ((field, getattr(parameters, field.name)) for field in _key_fields(owner))
    return {field.name: value for field, value in values if not (field.metadata.get("late") and value == field.default)}


class WorldParts(NamedTuple):
    """The sections that make a world, whatever is decided in it."""

    system: Part
    workload: Part
    supply: Part


class Point(NamedTuple):
    """One combination of a study: everything about its runs but the trial.

    `decision` is the section that says how decisions are made, [manager] or [optimise].
    """

    variant: str | None
    world: WorldParts
    decision: Part

    @property
    def system(self) -> Part:
        return self.world.system

    @property
    def workload(self) -> Part:
        return self.world.workload

    @property
    def supply(self) -> Part:
        return self.world.supply

    @property
    def parts(self) -> tuple[Part, ...]:
        """All sections."""
        return (*self.world, self.decision)

    def cells(self) -> dict[str, object]:
        """The columns that say what all of its runs have in common."""
        sources = {f"{part.section}.{part.selector}": part.source for part in self.parts if part.selector}
        dotted = {key: value for part in self.parts for key, value in part.cells().items()}
        return {"variant": self.variant, **sources, **dotted}

    def renamed(self, names: Mapping[str, str]) -> Point:
        """The point with these names in place of those that it has for files."""
        world = WorldParts(*(part.renamed(names) for part in self.world))
        return self._replace(world=world, decision=self.decision.renamed(names))


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Recent(dict[_Key, _Value]):
    """A dictionary that is emptied when it is full, as a study may have millions of things."""

    most = 50_000

    def __setitem__(self, key: _Key, value: _Value) -> None:
        if len(self) >= self.most:
            self.clear()
        super().__setitem__(key, value)


class Fingerprints:
    """Identities of worlds and runs: hashes of resolved values, with content in place of file names.

    `identity_of` says what stands for a name that is no file but installed code, None where there is none. `version` is
    that of the kind of study, "" where the version of our results says it all.
    """

    def __init__(
        self, folder: Path, identity_of: Callable[[str], str | None] = lambda _name: None, version: str = ""
    ) -> None:
        self.folder = folder
        self.identity_of = identity_of
        self._versions = (version,) if version else ()
        self._parts = _Recent[Part, str]()
        self._files = _Recent[Part, tuple[tuple[str, str], ...]]()
        self._contents: dict[str, str | None] = {}

    def of_world(self, parts: WorldParts, seed: int, trial: int, is_random: bool) -> str:
        """The key of a world; a world that is read from tables alone is the same in every trial."""
        drawn = (str(seed), str(trial)) if is_random else ()
        return _digest("world", *map(self.of_part, parts), *drawn, *self._versions)

    def of_run(self, world_key: str, decision: str, seed: int, trial: int, bound: str) -> str:
        """The key of a run: its world, what `of_part` says of what decides, the trial that this may draw from, and the
        bound's kind."""
        return _digest("run", world_key, decision, str(seed), str(trial), bound, *self._versions)

    def of_files(self, parts: Iterable[Part]) -> tuple[tuple[str, str], ...]:
        """The files that runs of these sections read, by the names the study gives, with the hash of their content."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(map(self._files_of, parts))))

    def contents(self) -> dict[str, str]:
        """All files that were looked up and are there, by name, with the hash of their content."""
        return {name: content for name, content in sorted(self._contents.items()) if content is not None}

    def _files_of(self, part: Part) -> tuple[tuple[str, str], ...]:
        """The files that a section names, with the hash of their content."""
        if part not in self._files:
            contents = ((name, self._content(name)) for _, name in part.files())
            self._files[part] = tuple((name, content) for name, content in contents if content is not None)
        return self._files[part]

    def of_part(self, part: Part) -> str:
        """The hash of a text that says all that matters of a section and nothing else."""
        if part not in self._parts:
            values = _values_of(part.parameters) | {"source": part.source}
            for field, name in part.files():
                if (content := self._content(name)) is not None:
                    values[field] = values[field].replace(name, content, 1)
                elif (identity := self.identity_of(name)) is not None:
                    values[field] = identity
            self._parts[part] = _digest(_TEXTS.encode(values))
        return self._parts[part]

    def _content(self, name: str) -> str | None:
        """The hash of a file, looked up once; None where there is none of that name."""
        if name not in self._contents:
            path = self.folder / name
            self._contents[name] = sha256_of(path) if path.is_file() else None
        return self._contents[name]


def _digest(*texts: str) -> str:
    """The hash of the texts behind the version; none but the last may hold the sign that parts them."""
    return hashlib.sha256("\n".join((str(RESULTS_VERSION), *texts)).encode()).hexdigest()[:32]


def _cell(value: object) -> object:
    """A value as one cell: lists become text, long ones a name that still tells them apart."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_CELL else "inline " + hashlib.sha256(text.encode()).hexdigest()[:8]
