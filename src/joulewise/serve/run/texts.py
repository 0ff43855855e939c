"""The study texts of the served folder: read, made and changed, and never one outside of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joulewise.errors import InputError, Problem, nearest, raise_if_any
from joulewise.files import write_atomic
from joulewise.serve.asking import MOST_TEXT_BYTES
from joulewise.serve.shelf import ENDING, Shelf, is_study
from joulewise.study.parsing.examples import Example, examples
from joulewise.study.parsing.templates import study_name, templates

_NEW = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class StudyText:
    """A study text: its name, which is its path in the served folder, what it holds, and a mark of that."""

    name: str
    path: Path
    text: str

    @property
    def mark(self) -> str:
        """Another one whenever the text changes."""
        return mark_of(self.text)


@dataclass(frozen=True)
class Starts:
    """What a new study can be made from: templates of kinds, and examples by name."""

    kinds: Mapping[str, str]
    examples: Mapping[str, Example]


class Texts:
    """The study texts of a shelf. `allows_code`: whether examples that bring a file of Python are there as well."""

    def __init__(self, shelf: Shelf, *, allows_code: bool = False) -> None:
        self.shelf, self.allows_code = shelf, allows_code
        self.root = shelf.folder.resolve()

    def names(self) -> list[str]:
        """All study texts."""
        return list(self._paths())

    def read(self, name: str) -> StudyText:
        """The study text with this name; InputError where there is none, or it cannot be read."""
        from joulewise.study.parsing.file import read_source

        path = self.path(name)
        _check_length(name, path.stat().st_size)
        return StudyText(name, path, read_source(path))

    def path(self, name: str) -> Path:
        """Where the study text with this name lies: a name is looked up, and never made a path."""
        paths = self._paths()
        if name not in paths or not _is_plain(paths[name]):
            guess = nearest(name, paths)
            advice = f"did you mean {guess!r}?" if guess else "make it as a new study"
            raise InputError(Problem("study", f"found no study {name!r} in this folder", advice=advice))
        return paths[name]

    def written(self, name: str, text: str) -> StudyText:
        """Another text for the study with this name; InputError where it is too long."""
        _check_length(name, len(text.encode()))
        return StudyText(name, self.path(name), text)

    def save(self, name: str, text: str, mark: str) -> StudyText:
        """Write a text in place of the one with this mark; InputError where it is another one by now."""
        before = self.read(name)
        if before.mark != mark:
            advice = "open it again in another window, and bring over what you changed"
            raise InputError(Problem(name, "was changed by somebody else since you opened it", advice=advice))
        after = self.written(name, text)
        with told_refusals(name):
            write_atomic(after.path, text)
        return after

    def starts(self) -> Starts:
        """What a new study can be made from."""
        studies = {name: found for name, found in examples().items() if not found.is_plan and self._may_have(found)}
        return Starts(templates(), studies)

    def create(self, name: str, start: str) -> StudyText:
        """A new study from a start: "kind:NAME", "example:NAME" or "copy:STUDY"; InputError where there is no such."""
        file_name = name if name.endswith(ENDING) else f"{name}{ENDING}"
        if not _NEW.fullmatch(name) or not _NEW.fullmatch(file_name):
            allowed = "must start with a letter or digit; then letters, digits, '.', '_' and '-', 95 at most"
            raise InputError(Problem("name", f"found {name[:200]!r}", allowed))
        path = self.root / file_name
        files = self._made(path, start)
        if not is_study(file_name):
            raise InputError(
                Problem("name", f"found {name!r}", "is the name of another kind of file", "choose another")
            )
        raise_if_any(
            Problem(file.name, "is there already", "a new study overwrites nothing", "choose another name")
            for file, content in files.items()
            if file.is_symlink()
            or (file.exists() and (file == path or not file.is_file() or file.read_bytes() != content))
        )
        with told_refusals(file_name):
            for file, content in files.items():
                write_atomic(file, content)
        return StudyText(file_name, path, files[path].decode())

    def _made(self, path: Path, start: str) -> dict[Path, bytes]:
        """The files of a new study, its own first."""
        how, _, chosen = start.partition(":")
        starts, name = self.starts(), study_name(path.stem)
        if how == "kind" and chosen in starts.kinds:
            return {path: starts.kinds[chosen].format(file=path.name, name=name).encode()}
        if how == "example" and chosen in starts.examples:
            example = starts.examples[chosen]
            named = {path.parent / other: content for other, content in example.named.items()}
            return {path: example.written_to(Path(path.name), name).encode(), **named}
        if how == "copy":
            return {path: _renamed(self.read(chosen).text, name).encode()}
        allowed = "must be kind:NAME, example:NAME or copy:STUDY, with a name that there is"
        raise InputError(Problem("start", f"found {start[:200]!r}", allowed))

    def _may_have(self, example: Example) -> bool:
        return self.allows_code or not any(name.endswith(".py") for name in example.named)

    def _paths(self) -> dict[str, Path]:
        """All of them, looked up anew."""
        return {path.relative_to(self.root).as_posix(): path for path in self.shelf.study_files()}


@contextmanager
def told_refusals(what: str) -> Iterator[None]:
    """What the system refuses to write in here is an InputError that says of what, as on a disk that is full."""
    try:
        yield
    except OSError as error:
        found = f"cannot be written: {error.strerror or error}"
        raise InputError(Problem(what, found, advice="see to the folder or its disk, and try again")) from None


def _is_plain(path: Path) -> bool:
    """Whether a file is where its path says, and no link on the way leads elsewhere."""
    return path.is_file() and path.resolve() == path


def mark_of(text: str) -> str:
    """A mark of a text, another one whenever it changes."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _renamed(text: str, name: str) -> str:
    """A study's text with another name of the study, where it says its name on a line of its own."""
    return re.sub(r"(?m)^([ \t]*name[ \t]*=[ \t]*)([\"']).*?\2", rf'\g<1>"{name}"', text, count=1)


def _check_length(name: str, n_bytes: int) -> None:
    if n_bytes > MOST_TEXT_BYTES:
        allowed = f"a study text may have {MOST_TEXT_BYTES:,} at most"
        raise InputError(Problem(name, f"found {n_bytes:,} bytes", allowed))
