"""What all pages of one workbench share: its folder, how it was started, and the desk where solves happen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from joulewise.serve.desk import Desk
from joulewise.serve.shelf import Shelf
from joulewise.serve.subject import Subject

if TYPE_CHECKING:
    from joulewise.serve.run.editor import Checked
    from joulewise.serve.run.queue import Queue
    from joulewise.serve.run.texts import StudyText, Texts

MOST_OPEN = 8
"""So many studies are kept in memory; those that were looked at longest ago are read again when asked for."""


class MissingError(Exception):
    """What an address names is not there; the words are for people."""


@dataclass(frozen=True)
class Settings:
    """How a workbench is started.

    `hosts` are the names, beside those of this machine's loopback, by which browsers may call it; with a `token`, only
    who has it gets in. Python of a study is run only where one `allows_code`.
    """

    folder: Path
    hosts: Sequence[str] = ()
    token: str = ""
    allows_code: bool = False


@dataclass
class Bench:
    """The workbench, as its pages see it; `menu` has the titles of what stands in the menu, by the names of places."""

    settings: Settings
    menu: Mapping[str, str]
    desk: Desk
    shelf: Shelf = field(init=False)
    _open: OrderedDict[str, Subject] = field(default_factory=OrderedDict, init=False, repr=False)
    _reading: set[str] = field(default_factory=set, init=False, repr=False)
    _readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1), init=False, repr=False)
    _busy: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.shelf = Shelf(self.settings.folder, self.desk)

    def subject(self, name: str) -> Subject:
        """The study with this name, for somebody who reads it; MissingError where there is none."""
        subject = self.shelf.subject(name)
        if subject is None:
            raise MissingError(f"There is no study {name!r} in this folder; it may have been moved or removed.")
        with self._busy:
            self._open[name] = subject
            self._open.move_to_end(name)
            left = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - MOST_OPEN)]
        for other in left:
            other.forget()
        return subject

    def headline(self, subject: Subject) -> str | None:
        """The headline of a study; None where it is being read, which happens beside what pages do."""
        told = subject.headline
        if told is None and subject.name not in self._reading:
            self._reading.add(subject.name)
            self._readers.submit(self._read, subject)
        return told

    def _read(self, subject: Subject) -> None:
        try:
            subject.read_headline()
            if subject.name not in self._open:
                subject.forget()
        finally:
            self._reading.discard(subject.name)

    @cached_property
    def texts(self) -> Texts:
        """The study texts in the folder."""
        from joulewise.serve.run.texts import Texts

        return Texts(self.shelf, allows_code=self.settings.allows_code)

    @cached_property
    def queue(self) -> Queue:
        """The runs of studies in the folder."""
        from joulewise.serve.run.queue import Queue

        return Queue(self.settings.folder, allows_code=self.settings.allows_code)

    def check(self, study: StudyText) -> Checked:
        """What is said of a study's text."""
        from joulewise.serve.run.editor import checked

        root, allows_code = self.texts.root, self.settings.allows_code
        return self.desk.ask(checked, study.text, study.path, root, allows_code=allows_code)

    def address_of_results(self, place: str) -> str:
        """The page of the results in a folder of ours, "" where there are none yet."""
        found = (subject.address for subject in self.shelf.subjects() if subject.place == place)
        return next(found, "")

    def open(self) -> None:
        """Begin what runs beside the pages."""
        self.queue.open()

    def close(self) -> None:
        """End what runs beside the pages."""
        if "queue" in vars(self):
            self.queue.close()
        self._readers.shutdown(cancel_futures=True)
        self.desk.close()
