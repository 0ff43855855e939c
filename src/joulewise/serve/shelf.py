"""The folder of the workbench: which studies lie in it, and nothing outside of it."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from joulewise.serve.desk import Desk
from joulewise.serve.subject import Subject
from joulewise.study.store.store import MARKER

_DEEPEST = 4
_MOST = 2_000
_MOST_LOOKED_AT = 50_000
"""So deep below the folder, so many studies, and so many folders are looked at."""
_FRESH_S = 1.0
"""How long what was found is taken for what is there."""
ENDING = ".toml"
_OTHERS = ("pyproject.toml", "site.toml")
"""Files with this ending that are no studies."""
_PLAIN = re.compile(r"[^\w.-]+")


@dataclass
class Shelf:
    """The studies in a folder, by names that stand in addresses.

    An address never becomes a path: a name is looked up among the folders that were found. Links are not followed.
    """

    folder: Path
    desk: Desk = field(repr=False)
    _found: dict[str, Subject] = field(default_factory=dict, init=False, repr=False)
    _found_at: float = field(default=-math.inf, init=False, repr=False)
    _busy: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def subjects(self) -> list[Subject]:
        """All studies, by name."""
        return list(self._look().values())

    def subject(self, name: str) -> Subject | None:
        """The study with this name, if there is one."""
        return self._look().get(name)

    def study_files(self) -> list[Path]:
        """The study files in the folder, outside of results."""
        root = self.folder.resolve()
        return [path for place in self._folders(root, 0) if not _is_results(place) for path in _studies_in(place)]

    def _look(self) -> dict[str, Subject]:
        with self._busy:
            if time.monotonic() - self._found_at > _FRESH_S:
                self._found = self._named()
                self._found_at = time.monotonic()
            return self._found

    def _named(self) -> dict[str, Subject]:
        """What is there now, by name; a study that was there is the same object, with what it has read."""
        root = self.folder.resolve()
        before = {subject.folder: subject for subject in self._found.values()}
        named: dict[str, Subject] = {}
        for path in sorted(self._results(root))[:_MOST]:
            inner = path.relative_to(root).as_posix() if path != root else root.name
            name = _free(_PLAIN.sub("-", inner).strip("-.") or "study", named)
            kept = before.get(path)
            named[name] = kept if kept and kept.name == name else Subject(name, inner, path, root, self.desk)
        return named

    def _results(self, root: Path) -> Iterator[Path]:
        return (place for place in self._folders(root, 0) if _is_results(place))

    def _folders(self, root: Path, depth: int) -> Iterator[Path]:
        """The folder and those below it; what lies in results is not looked at."""
        waiting, looked_at = [(root, depth)], 0
        while waiting and looked_at < _MOST_LOOKED_AT:
            place, depth = waiting.pop()
            looked_at += 1
            yield place
            if depth < _DEEPEST and not _is_results(place):
                waiting += [(inner, depth + 1) for inner in _inner(place)]


def _is_results(place: Path) -> bool:
    return (place / MARKER).is_file()


def _inner(place: Path) -> list[Path]:
    """The folders in a folder that are shown and no links; none where it cannot be read."""
    try:
        with os.scandir(place) as entries:
            return [Path(e.path) for e in entries if _is_shown(e.name) and e.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _studies_in(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            return sorted(Path(e.path) for e in entries if is_study(e.name) and e.is_file(follow_symlinks=False))
    except OSError:
        return []


def is_study(name: str) -> bool:
    """Whether a file is taken for a study, by its name."""
    return name.endswith(ENDING) and name not in _OTHERS and _is_shown(name)


def _is_shown(name: str) -> bool:
    """Whether a name is shown: neither a hidden one, nor one that cannot be written, as it is no UTF-8."""
    return not name.startswith(".") and not any("\ud800" <= sign <= "\udfff" for sign in name)


def _free(name: str, taken: dict[str, Subject]) -> str:
    """The name, or the first of it with a number that is not taken."""
    numbered = (f"{name}.{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)
