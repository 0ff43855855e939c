"""Orders to run a study, each a folder on disk: what is known of one follows from the files in it alone.

So nothing is lost when the workbench is ended at any point, and a second one over the same folder sees the same. The
folders of orders lie with what programs keep for their user and not in the served folder, which may come from others:
what is in it is never run unasked.

| file | who writes it, and when |
|---|---|
| `order.json` | who orders, once |
| `begun.json` | who starts the process, before it does; the process, with its number |
| `alive` | is locked by the process for as long as it lives |
| `progress.json` | the process, now and then |
| `log.txt` | the process, and what it prints |
| `cancel` | who asks for the end |
| `end.json` | the process when it ends by itself; else who sees that it ended |
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.files import write_atomic
from joulewise.progress import Progress

_LONGEST_LOG = 20_000
"""So much of the end of a log is shown."""


class State(StrEnum):
    """How far an order is."""

    WAITING = "waiting"
    RUNNING = "running"
    CANCELLING = "being cancelled"
    DONE = "done"
    SOME_FAILED = "done, and some runs failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    BROKEN = "broken off"


OPEN = (State.WAITING, State.RUNNING, State.CANCELLING)
"""An order that is over has none of these; what was not done can be resumed then."""


class Ended(NamedTuple):
    """How an order ended, when, and what there is to say about it."""

    state: State
    at_s: float
    words: str


@dataclass(frozen=True)
class Order:
    """One order: its number, and the folder that tells the rest."""

    number: int
    folder: Path

    @cached_property
    def _ordered(self) -> dict[str, Any]:
        return _read(self.folder / "order.json") or dict(_UNREADABLE)

    @property
    def damaged(self) -> str:
        """Which of the files that it cannot do without does not say what it has to, "" where none does."""
        names = (name for name in ("order.json", "end.json") if (self.folder / name).exists())
        return next((name for name in names if _read(self.folder / name) is None), "")

    @property
    def study(self) -> str:
        """The name of the study's text in the served folder."""
        return str(self._ordered["study"])

    @property
    def name(self) -> str:
        """What the study calls itself."""
        return str(self._ordered["name"])

    @property
    def text(self) -> str:
        """The study as it was when it was ordered."""
        return str(self._ordered["text"])

    @property
    def results(self) -> str:
        """The folder of its results, in the served one."""
        return str(self._ordered["results"])

    @property
    def at_s(self) -> float:
        """When it was ordered, in seconds of the Unix clock."""
        return float(self._ordered["at_s"])

    @property
    def state(self) -> State:
        """How far it is, looked up anew."""
        if ended := self.ended:
            return ended.state
        if self.is_alive:
            return State.CANCELLING if self.is_cancelled else State.RUNNING
        if ended := self.ended:  # between both looks
            return ended.state
        begun = self.begun
        if begun["at_s"] if begun else (self.folder / "begun.json").exists():
            return State.BROKEN
        return State.CANCELLING if self.is_cancelled else State.WAITING

    @property
    def ended(self) -> Ended | None:
        """How it ended, if it did; one with a damaged file did."""
        if name := self.damaged:
            words = (
                f"{self.folder / name} is damaged; finished runs are kept: take this off the list, and order it again"
            )
            return Ended(State.BROKEN, self.at_s, words)
        found = _read(self.folder / "end.json")
        return None if found is None else Ended(State(found["state"]), found["at_s"], found["words"])

    @property
    def begun(self) -> dict[str, Any] | None:
        """When its process was started (`at_s`), its number once that is known (`pid`), and how many were (`n_times`).

        There is no instant where it waits to be started again.
        """
        return _read(self.folder / "begun.json")

    @property
    def progress(self) -> Progress | None:
        """How far its process said it is."""
        found = _read(self.folder / "progress.json")
        return None if found is None else Progress(**found)

    @property
    def is_cancelled(self) -> bool:
        """Whether its end was asked for."""
        return (self.folder / "cancel").exists()

    @property
    def kept(self) -> str:
        """What there is to say of a cancelled order."""
        with suppress(OSError, ValueError):
            why = (self.folder / "cancel").read_text(encoding="utf-8")
            return f"{why}; finished runs are kept" if why else "finished runs are kept"
        return "finished runs are kept"

    @property
    def is_alive(self) -> bool:
        """Whether its process lives."""
        with suppress(OSError), (self.folder / "alive").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    @property
    def log(self) -> str:
        """The end of what its process said."""
        with suppress(OSError), (self.folder / "log.txt").open("rb") as log:
            log.seek(max(log.seek(0, os.SEEK_END) - _LONGEST_LOG, 0))
            return log.read().decode("utf-8", "replace")
        return ""

    @contextmanager
    def held(self) -> Iterator[int | None]:
        """The lock of its life as a file descriptor, for a process to inherit; None where another has it."""
        with (self.folder / "alive").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
            else:
                yield lock.fileno()

    def begin(self) -> None:
        """Note that its process is started, once more."""
        self._note_begun(at_s=time.time(), n_times=1 + (self.begun or {"n_times": 0})["n_times"], pid=None)

    def begun_by(self, pid: int) -> None:
        """Note the number of its process."""
        self._note_begun(**{"at_s": time.time(), "n_times": 1, **(self.begun or {}), "pid": pid})

    def put_back(self) -> None:
        """Have it wait once more, after a process that did not end by itself."""
        self._note_begun(at_s=None, n_times=(self.begun or {"n_times": 0})["n_times"], pid=None)

    def _note_begun(self, **told: float | None) -> None:
        write_atomic(self.folder / "begun.json", json.dumps(told))

    def tell(self, progress: Progress) -> None:
        """Note how far it is."""
        write_atomic(self.folder / "progress.json", json.dumps(vars(progress)))

    def cancel(self, why: str = "") -> None:
        """Ask for its end, and say why if it is not for a person's wish."""
        write_atomic(self.folder / "cancel", why)

    def end(self, state: State, words: str = "") -> None:
        """Note that it ended, and how."""
        write_atomic(self.folder / "end.json", json.dumps({"state": state, "at_s": time.time(), "words": words}))

    def renew(self) -> None:
        """Have it wait again."""
        for name in ("cancel", "begun.json", "end.json"):  # in this order it is never taken for one that waits too soon
            (self.folder / name).unlink(missing_ok=True)


def folder_of_orders(root: Path) -> Path:
    """Where the orders of a served folder are kept."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return Path(home) / "joulewise" / "workbench" / name / "runs"


class Orders:
    """The orders of a served folder."""

    def __init__(self, root: Path) -> None:
        self.folder = folder_of_orders(root)

    def all(self) -> list[Order]:
        """Every order, the first one first."""
        with suppress(FileNotFoundError):
            numbers = sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdecimal())
            return [order for order in map(self._at, numbers) if (order.folder / "order.json").is_file()]
        return []

    def one(self, number: int) -> Order:
        """The order with this number; InputError where there is none."""
        order = self._at(number)
        if not (order.folder / "order.json").is_file():
            raise InputError(Problem("run", f"found no run with the number {number}"))
        return order

    def add(self, study: str, name: str, text: str, results: str) -> Order:
        """A new order, with the next number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = max((int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()), default=0) + 1
        while True:
            order = self._at(number)
            try:
                order.folder.mkdir()
            except FileExistsError:  # another workbench was faster
                number += 1
                continue
            told = {"study": study, "name": name, "text": text, "results": results, "at_s": time.time()}
            write_atomic(order.folder / "order.json", json.dumps(told))
            return order

    def forget(self, order: Order) -> None:
        """Remove an order that is over; results stay."""
        shutil.rmtree(order.folder)

    def _at(self, number: int) -> Order:
        return Order(number, self.folder / f"{number:05d}")


# --- what files may say -------------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value == value.encode("utf-8", "replace").decode()


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LAST_S


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _is_process(value: object) -> bool:
    return isinstance(value, int) and 1 < value < _LAST_PROCESS  # 0, 1 and less stand for many processes


def _may_miss(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


_LAST_S, _LAST_PROCESS = 1e11, 2**31
_UNREADABLE: Mapping[str, Any] = {
    "study": "",
    "name": "an order that cannot be read",
    "text": "",
    "results": "",
    "at_s": 0.0,
}
"""What is taken for an order whose file is damaged."""
_COUNTS = ("n_total", "n_done", "n_failed", "n_reused", "n_workers", "n_died", "n_again")
_FORMS: Mapping[str, Mapping[str, Callable[[object], bool]]] = {
    "order.json": {**dict.fromkeys(("study", "name", "text", "results"), _is_text), "at_s": _is_time},
    "begun.json": {"at_s": _may_miss(_is_time), "n_times": _is_count, "pid": _may_miss(_is_process)},
    "end.json": {"state": lambda value: value in list(State), "at_s": _is_time, "words": _is_text},
    "progress.json": {
        **dict.fromkeys(_COUNTS, _is_count), **dict.fromkeys(("now", "why"), _is_text),
        "runs_per_s": _is_number, "left_s": _may_miss(_is_number),
    },
}  # fmt: skip
"""What each file has to say, by its name: keys, and what may stand behind them."""


def _read(path: Path) -> dict[str, Any] | None:
    """What a file says in JSON; None where there is none, or it was damaged from outside."""
    form = _FORMS[path.name]
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(path.read_text(encoding="utf-8"))
        is_whole = isinstance(found, dict) and found.keys() == form.keys()
        return found if is_whole and all(fits(found[key]) for key, fits in form.items()) else None
    return None
