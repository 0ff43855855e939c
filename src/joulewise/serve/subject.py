"""One results folder as the workbench sees it: what it says of itself, its results, and what figures are made from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from joulewise.errors import InputError, JoulewiseError, Problem
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    from joulewise.present.records import Records
    from joulewise.present.report import Draft
    from joulewise.serve.answer import Block
    from joulewise.serve.desk import Desk
    from joulewise.study.answers.results import Results
    from joulewise.study.parsing.study import Study

FINISHED, RUNNING, PARTIAL, BROKEN = "finished", "running", "unfinished", "broken"
STATUSES = (FINISHED, RUNNING, PARTIAL, BROKEN)

_LOCKS = Path("/proc/locks")
"""Where the system tells who holds what."""

Found = TypeVar("Found")
_Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class State:
    """What a folder says of itself at one moment: its status, what is wrong with it, and its marker."""

    status: str
    problem: str
    about: dict[str, Any]


@dataclass
class _Made:
    """Something that is made once, by one thread, while the others that want it wait."""

    _turn: threading.RLock = field(default_factory=threading.RLock)
    _found: list[Any] = field(default_factory=list)

    def by(self, make: Callable[[], Any]) -> Any:
        """What was made, or is now; where that raises, the next one tries."""
        with self._turn:
            if not self._found:
                self._found.append(make())
            return self._found[0]


@dataclass
class Subject:
    """One results folder: its `name` in addresses, its `place` below the folder of the workbench, where it is and that
    is, and the desk that solves for it.

    What is read of it is kept until its files change. Everything that reads raises InputError where the folder is
    broken, has vanished, or is being written.
    """

    name: str
    place: str
    folder: Path
    root: Path
    desk: Desk = field(repr=False)
    _kept: dict[Any, _Made] = field(default_factory=dict, init=False, repr=False)
    _stamp: _Stamp = field(default=(), init=False, repr=False)
    _seen: tuple[_Stamp, State | None] = field(default=((), None), init=False, repr=False)
    _headline: tuple[_Stamp, str | None] = field(default=((), None), init=False, repr=False)
    _busy: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def state(self) -> State:
        """What the folder says of itself now; it is told while other things are made."""
        try:
            self._inside()
        except InputError as error:
            return State(BROKEN, str(error), {})
        stamp = self._stamp_now()
        seen, state = self._seen
        if state is None or seen != stamp:
            state = self._look()
            self._seen = (stamp, state)
        return replace(state, status=RUNNING) if state.status != BROKEN and self._is_held() else state

    @property
    def status(self) -> str:
        """One of STATUSES."""
        return self.state.status

    @property
    def is_readable(self) -> bool:
        """Whether its results can be read: those of a study that is finished."""
        return self.status == FINISHED

    @property
    def title(self) -> str:
        """The name of the study, or where the folder is if it says none."""
        return str(self.state.about.get("name") or self.place)

    @property
    def address(self) -> str:
        """Where its page is."""
        return f"/studies/{self.name}"

    @property
    def study(self) -> Study:
        """The study that was run, whether it is finished or not."""
        from joulewise.study.answers.results import study_in

        return self.kept("study", lambda: study_in(self.folder)[0])

    @property
    def description(self) -> str:
        """What the study says of itself."""
        return self.study.heading.description

    @property
    def kind(self) -> str:
        """The name of the kind of study."""
        return self.study.kind.name

    @property
    def results(self) -> Results:
        """The results; InputError where they are not finished, or damaged."""
        from joulewise.study import open_results

        return self.kept("results", lambda: open_results(self.folder))

    @property
    def records(self) -> Records:
        """What figures and tables are made from."""
        from joulewise.present.results import records_of

        return self.kept("records", lambda: records_of(self.results))

    @property
    def draft(self) -> Draft:
        """The report of the results but for its pictures, with the figures that the study chose."""
        from joulewise.present.results import draft_of_results

        return self.kept("draft", lambda: draft_of_results(self.results))

    @property
    def report(self) -> list[Block]:
        """The report of the results, as blocks of an answer."""
        from joulewise.serve.telling import draft_told

        return self.kept("report", lambda: draft_told(self.draft, self.address))

    @property
    def headline(self) -> str | None:
        """The first thing that was found, once somebody has read it by `read_headline`; "" where there is none."""
        state = self.state
        if state.status != FINISHED:
            return state.problem.partition("\n")[0]
        stamp, told = self._headline
        return told if stamp == self._stamp_now() else None

    def read_headline(self) -> None:
        """Have the headline read; where results cannot be read, the folder is a broken one."""
        from joulewise.present.results import findings_of

        state, stamp = self.state, self._stamp_now()
        try:
            told = next((finding.lead for finding in findings_of(self.results)), "")
        except (JoulewiseError, OSError) as error:
            told = str(error).partition("\n")[0]
            self._seen = (stamp, replace(state, status=BROKEN, problem=str(error)))
        self._headline = (stamp, told)

    def kept(self, what: object, make: Callable[[], Found]) -> Found:
        """What was made of the folder, made anew when its files have changed; one thread at a time makes it.

        Whatever else is kept can be had meanwhile.
        """
        self._inside()
        with self._busy:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._kept.clear()
                self._stamp = stamp
            made = self._kept.setdefault(what, _Made())
        found: Found = made.by(make)
        return found

    def forget(self) -> None:
        """Let go of what was read, to save memory."""
        with self._busy:
            self._kept.clear()

    @property
    def stamp(self) -> _Stamp:
        """What changes when the heading or the table of the results changes."""
        return self._stamp_now()

    def _stamp_now(self) -> _Stamp:
        store = Store(self.folder)
        return tuple(map(_told, (store.folder / "study.json", store.runs_file, store.study_file)))

    def _look(self) -> State:
        try:
            store = Store(self.folder)
            about = store.marker()
        except (JoulewiseError, OSError) as error:
            return State(BROKEN, str(error), {})
        if about is None:
            return State(BROKEN, f"{self.place}: the folder has vanished, or is no results folder any more", {})
        is_finished = about["is_finished"] and store.runs_file.exists()
        return State(FINISHED if is_finished else PARTIAL, "", about)

    def _is_held(self) -> bool:
        """Whether a process is writing here, as the system tells it: to try the lock would be to take it."""
        with suppress(OSError):
            lock = (self.folder / ".lock").stat()
            held = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
            return any(held in line.split() and "WRITE" in line for line in _LOCKS.read_text().splitlines())
        return False

    def _inside(self) -> None:
        """InputError where the folder, or something in it, is a link that could lead elsewhere."""
        if self.folder.resolve() != self.folder:
            raise InputError(Problem(self.place, "is a link by now", "links are not followed", "put the folder there"))
        for place in (self.folder, *(entry for entry in _entries(self.folder) if entry.is_dir(follow_symlinks=False))):
            link = next((entry for entry in _entries(Path(place)) if entry.is_symlink()), None)
            if link is not None:
                where = f"{self.place}/{os.path.relpath(link.path, self.folder)}"
                raise InputError(
                    Problem(where, "is a link", "results are shown without links", "put the file itself there")
                )


def _entries(place: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except OSError:
        return []


def _told(path: Path) -> tuple[int, int, int]:
    try:
        told = path.lstat()
    except OSError:
        return (0, 0, 0)
    return (told.st_mtime_ns, told.st_size, told.st_ino)
