"""The queue of runs: orders wait, a few at a time run as processes of their own, and all of it lies on disk."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.processes import memory_limit
from joulewise.serve.run.child import ALLOW_CODE
from joulewise.serve.run.orders import OPEN, Order, Orders, State
from joulewise.serve.run.texts import StudyText, told_refusals
from joulewise.units import count, roughly, size

if TYPE_CHECKING:
    from joulewise.serve.run.editor import Checked

_LOG = logging.getLogger(__name__)
_LOOKS_EVERY_S, _MEASURES_EVERY_S = 0.25, 2.0
_MOST_TIMES = 3
"""A process that ended with its workbench so often is not started again by itself: it may be the reason."""


@dataclass(frozen=True)
class Limits:
    """How many orders run and wait at once, and what a run may take; one that takes more is ended, its runs kept.

    An order that was asked to end has `grace_s` before it is killed.
    """

    most_running: int = 1
    most_waiting: int = 20
    most_s: float = 24 * 3600.0
    most_bytes: float = field(default_factory=lambda: 0.8 * memory_limit())
    grace_s: float = 15.0


class Queue:
    """The orders of a served folder, of which one workbench at a time, the keeper, starts and ends processes."""

    def __init__(self, root: Path, limits: Limits | None = None, *, allows_code: bool = False) -> None:
        self.root, self.limits, self.allows_code = root.resolve(), limits or Limits(), allows_code
        self.orders = Orders(self.root)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._asked_at_s: dict[int, float] = {}
        self._measured_at_s: dict[int, float] = {}
        self._complaints: dict[str, str] = {}
        self._keeping: IO[bytes] | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._ordering = threading.Lock()

    # --- for everybody -----------------------------------------------------------------------------------------------

    def order(self, study: StudyText, found: Checked) -> Order:
        """Have a study run that was found right; InputError where it was not, too many wait, or it is being run."""
        found.raise_if_wrong()
        with self._ordering, told_refusals(str(self.orders.folder)):
            self._check_room(found.results)
            return self.orders.add(study.name, found.name, study.text, found.results)

    def cancel(self, number: int) -> Order:
        """Ask an order to end; InputError where it is over."""
        order = self.orders.one(number)
        if order.state not in OPEN:
            raise InputError(
                Problem("run", f"run {number} is over: {order.state}", "only an open one can be cancelled")
            )
        order.cancel()
        return order

    def resume(self, number: int) -> Order:
        """Have an order go on that ended before all was done; InputError where it did not."""
        order = self.orders.one(number)
        with self._ordering:
            if order.damaged == "order.json":
                raise InputError(Problem("run", f"run {number} cannot be read", advice="order its study again"))
            if order.state in (*OPEN, State.DONE):
                raise InputError(Problem("run", f"run {number} is {order.state}", "there is nothing to go on with"))
            self._check_room(order.results)
            order.renew()
        return order

    def forget(self, number: int) -> None:
        """Remove an order that is over from the list; InputError where it is open."""
        order = self.orders.one(number)
        if order.state in OPEN:
            raise InputError(Problem("run", f"run {number} is {order.state}", advice="cancel it first"))
        self.orders.forget(order)

    def _check_room(self, results: str) -> None:
        waiting = [order for order in self.orders.all() if order.state in OPEN]
        raise_if_any(
            Problem("run", f"{results} is being made by run {order.number}", advice="wait for it, or cancel it")
            for order in waiting
            if order.results == results
        )
        most = self.limits.most_waiting + self.limits.most_running
        if len(waiting) >= most:
            found = f"{count(len(waiting), 'run')} are open"
            raise InputError(Problem("run", found, f"there may be {most}", "wait for one, or cancel one"))

    # --- for the keeper ----------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Look after the orders from now on, in a thread."""
        self._ending.clear()
        self._thread = threading.Thread(target=self._keep, name="queue", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop that; what runs is ended with its finished runs kept, and goes on with the next workbench."""
        self._ending.set()
        if self._thread:
            self._thread.join()
        if self._keeping:
            self._end_all()
            self._keeping.close()
            self._keeping = None

    def look(self) -> None:
        """Do what is to be done now: note what ended, end what must, start what waits."""
        if not self.orders.folder.is_dir() or not self._is_keeper():
            return
        self._reap()
        orders = [order for order in self.orders.all() if not order.ended]
        for order in orders:
            self._try(order, self._tend)
        for order in orders:
            if sum(each.is_alive for each in orders) >= self.limits.most_running:
                break
            if order.state is State.WAITING:
                self._try(order, self._start)

    def _tend(self, order: Order) -> None:
        """Do what one order wants now; one that ended since the look at all of them wants nothing."""
        if look := _LOOKS.get(order.state):
            look(self, order)

    def _try(self, order: Order, do: Callable[[Order], None]) -> None:
        """Do something with one order; whatever goes wrong is logged, and keeps no other order waiting."""
        try:
            do(order)
        except Exception as error:  # such as a full disk: it may have room at the next look
            self._complain(f"run {order.number}", error)

    def _complain(self, what: str, error: Exception) -> None:
        """Log what went wrong, unless it was the same with the same order before."""
        if self._complaints.get(what) != repr(error):
            self._complaints[what] = repr(error)
            _LOG.error("%s: %s", what, error, exc_info=error)

    def _reap(self) -> None:
        """Let go of processes that ended."""
        self._children = {number: child for number, child in self._children.items() if child.poll() is None}

    def _end_all(self) -> None:
        """End all processes, and kill those that take too long for that."""
        deadline_s = time.monotonic() + self.limits.grace_s
        alive = [order for order in self.orders.all() if order.is_alive]
        untold = alive
        while any(order.is_alive for order in alive) and time.monotonic() < deadline_s:
            untold = [order for order in untold if not _signal(order, signal.SIGTERM)]  # the number may come later
            time.sleep(_LOOKS_EVERY_S / 5)
            self._reap()
        for order in alive:
            _kill(order)
        for child in self._children.values():
            child.wait()
        self._children.clear()

    def _keep(self) -> None:
        while not self._ending.wait(_LOOKS_EVERY_S):
            try:
                self.look()
            except Exception as error:
                self._complain("the queue", error)

    def _is_keeper(self) -> bool:
        """Whether this is the one workbench that starts processes; whoever is first becomes it."""
        if self._keeping:
            return True
        lock = (self.orders.folder / "keeper").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._keeping = lock
        for order in self._orphans():
            order.put_back()
        return True

    def _orphans(self) -> Iterator[Order]:
        """Orders whose processes ended together with the workbench that had them; others live on, and are watched."""
        for order in self.orders.all():
            begun = order.begun
            if not order.ended and order.state is State.BROKEN and begun and begun["n_times"] < _MOST_TIMES:
                yield order

    def _start(self, order: Order) -> None:
        """Start the process of an order, which inherits the lock that says it lives."""
        code = [ALLOW_CODE] if self.allows_code else []
        command = [sys.executable, "-P", "-m", "joulewise.serve.run.child", str(order.folder), str(self.root), *code]
        with order.held() as lock, (order.folder / "log.txt").open("ab") as log:
            if lock is None:
                return
            order.begin()
            self._asked_at_s.pop(order.number, None)
            self._children[order.number] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[lock], start_new_session=True
            )

    def _watch(self, order: Order) -> None:
        """Ask an order that takes more than it may to end."""
        begun = order.begun
        is_due = time.monotonic() >= self._measured_at_s.get(order.number, 0.0) + _MEASURES_EVERY_S
        if begun and begun["pid"] and is_due:
            self._measured_at_s[order.number] = time.monotonic()
            if why := self._excess(begun["at_s"], begun["pid"]):
                order.cancel(why)

    def _press(self, order: Order) -> None:
        """Tell a process that is to end, and kill it when it does not."""
        if not order.is_alive:  # it waited
            order.end(State.CANCELLED)
        elif order.number not in self._asked_at_s:
            if _signal(order, signal.SIGINT):
                self._asked_at_s[order.number] = time.monotonic()
        elif time.monotonic() > self._asked_at_s[order.number] + self.limits.grace_s:
            _kill(order)
            order.end(State.CANCELLED, order.kept)

    def _excess(self, since_s: float, pid: int) -> str:
        """What a process takes that is more than it may."""
        if time.time() - since_s > self.limits.most_s:
            return f"it took longer than {roughly(self.limits.most_s)}"
        if (found := bytes_of_group(pid)) > self.limits.most_bytes:
            return f"it took {size(found)} of memory, and may take {size(self.limits.most_bytes)}"
        return ""


def bytes_of_group(group: int) -> float:
    """The memory of all processes of a group; 0 where the system does not tell."""
    page, found = os.sysconf("SC_PAGE_SIZE"), 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            found += page * int(fields[21]) if int(fields[2]) == group else 0.0
    return found


def _signal(order: Order, number: int) -> bool:
    """Send a signal to the process of an order, if its number is known by now."""
    begun = order.begun
    if begun and begun["pid"] and order.is_alive:
        with suppress(ProcessLookupError):
            os.kill(begun["pid"], number)
        return True
    return False


def _kill(order: Order) -> None:
    """Kill the process of an order with all of its own, if it lives."""
    begun = order.begun
    if begun and begun["pid"] and order.is_alive:
        with suppress(ProcessLookupError):
            os.killpg(begun["pid"], signal.SIGKILL)


def _lost(_queue: Queue, order: Order) -> None:
    """Note that a process ended and did not say how, as one does that is killed."""
    order.end(State.BROKEN, "its process ended without a word; finished runs are kept, and the log may tell more")


_LOOKS: dict[State, Callable[[Queue, Order], None]] = {
    State.WAITING: lambda _queue, _order: None,
    State.RUNNING: Queue._watch,
    State.CANCELLING: Queue._press,
    State.BROKEN: _lost,
}
"""What the keeper does with orders that have not ended, by how far they are."""
