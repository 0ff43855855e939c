"""Running a group of programs: all let go at once, started again where asked, each with a keeper that ends its tree.

Every member has a gate: before it becomes its program, or for one that waits (see bench.MeasuredProgram) after its
set-up. All gates are opened at the same moment, when everybody is there.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from joulewise.measure.bench.bench import Member, Way
from joulewise.measure.bench.keeper import KeptJob
from joulewise.measure.bench.times import GroupTimes, MemberRun, MemberTimes
from joulewise.units import count, duration

_KEEPER = Path(__file__).with_name("keeper.py")
_STOP_LIMIT_S = 10.0
"""How long ending the processes of a program may take, before it is said that it did not work."""

_HEED_S = 0.5
"""How often a wait looks up, so that a Ctrl-C is heard."""

_LOST = "was lost, because another program ended the process that keeps it: find its processes and end them by hand"
_MOST_LOOKS = 5
"""How often processes of a lost member are looked for: they may start others while they are killed."""

_GO = b"g"
_LINES_TOLD, _CHARACTERS_TOLD = 3, 400

LEFT_BEHIND = "ended while processes that it had started were still running; these were ended"
"""What is noted of such programs: a run ends with its first process, so that their work is not in its time."""


class Listener(Protocol):
    """What is called while a group runs."""

    def ready(self, processes: Sequence[int]) -> None:
        """All members wait to become their programs, as these processes; they do when this returns."""
        ...

    def changed(self) -> None:
        """A member has begun or ended."""
        ...

    def set_up(self, place: int) -> None:
        """The member at this place, which says so, has set itself up for the first time."""
        ...

    def ended(self, place: int) -> None:
        """The member at this place has ended for the first time."""
        ...


def run_group(members: Sequence[Member], way: Way, listener: Listener) -> GroupTimes:
    """Run a group once; what programs do wrong is its `problem`. Nothing of them is left when this ends, however."""
    with ExitStack() as stack:
        keepers = [stack.enter_context(_keeping(member)) for member in members]
        group = _RunningGroup(members, way, keepers, listener)
        try:
            group.run()
        finally:
            left = _stop(keepers)
        return GroupTimes(group.times, "; ".join(filter(None, (group.problem(), left))), group.notes())


class _MemberKeeper:
    """A member's keeper, as the laboratory sees it."""

    def __init__(self, process: subprocess.Popen[bytes], control: int, report: int) -> None:
        self.report = report
        self.last_words = ""
        self._process, self._control = process, control
        self._rest = b""

    def tell(self, line: bytes) -> None:
        """Send a job, or a start; a keeper that is gone says so in its report."""
        with suppress(BrokenPipeError):
            while line:
                line = line[os.write(self._control, line) :]

    def events(self) -> Iterator[dict[str, Any]]:
        """What it reports, once there is something to read; "gone" is its end."""
        part = os.read(self.report, 65536)
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            event = json.loads(line)
            self.last_words = event.get("tail", self.last_words)
            yield event
        if not part:
            yield {"event": "gone"}

    def let_go(self) -> None:
        """Ask it to end everything, by closing what it listens to."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def is_gone(self, until_s: float) -> bool:
        """Wait for its end; what it says meanwhile is heard. False when it takes longer: then it is killed."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.report, selectors.EVENT_READ)
            while (left_s := until_s - time.monotonic()) > 0:
                if selector.select(min(left_s, _HEED_S)) and any(e["event"] == "gone" for e in self.events()):
                    self._process.wait()
                    return True
        self._process.kill()
        self._process.wait()
        return False


@contextmanager
def _keeping(member: Member) -> Iterator[_MemberKeeper]:
    """A keeper with its job; everything of it has ended when the block does."""
    program = member.program
    job = KeptJob(
        command=list(program.command),
        folder=program.folder,
        environment=dict(program.environment),
        cores=list(member.cores),
        waits=program.waits,
    )
    heard, control = os.pipe()
    report, said = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), str(heard), str(said)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(heard, said), start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(heard)
        os.close(said)
    keeper = _MemberKeeper(process, control, report)
    try:
        keeper.tell(json.dumps(job).encode() + b"\n")
        yield keeper
    finally:
        _stop([keeper])
        os.close(report)


def _stop(keepers: Sequence[_MemberKeeper]) -> str:
    """End everything of all of them; what could not be ended, if anything."""
    for keeper in keepers:
        keeper.let_go()
    until_s = time.monotonic() + _STOP_LIMIT_S
    gone = [keeper.is_gone(until_s) for keeper in keepers]
    return "" if all(gone) else "some of its processes could not be ended: look for them, and end them by hand"


class _RunningGroup:
    """A group while it runs."""

    def __init__(
        self, members: Sequence[Member], way: Way, keepers: Sequence[_MemberKeeper], listener: Listener
    ) -> None:
        self.times = tuple(MemberTimes() for _ in members)
        self._members, self._way, self._keepers, self._listener = members, way, keepers, listener
        self._processes: dict[int, int] = {}
        self._sessions: dict[int, int] = {}
        self._at_gate: set[int] = set()
        self._has_begun = False
        self._trouble: tuple[int, str] | None = None
        self._n_left: dict[str, int] = {}

    def run(self) -> None:
        """Until every member has ended once, or something goes wrong."""
        with selectors.DefaultSelector() as selector:
            for place, keeper in enumerate(self._keepers):
                selector.register(keeper.report, selectors.EVENT_READ, place)
            while not self._is_over():
                for key, _ in selector.select(min(_HEED_S, max(0.0, self._next_limit_s() - time.monotonic()))):
                    for event in self._keepers[key.data].events():
                        getattr(self, f"_on_{event['event']}")(key.data, event)
                self._look_at_limits()

    def problem(self) -> str:
        """What went wrong and with whom, and what that one printed last."""
        if self._trouble is None:
            return ""
        place, what = self._trouble
        said = last_lines(self._keepers[place].last_words)
        return f"{self._members[place].program.name} {what}" + (f"; it printed last: {said}" if said else "")

    def notes(self) -> tuple[str, ...]:
        """Which programs left processes behind, and how many at most: these were not waited for."""
        return tuple(f"{name} {LEFT_BEHIND} ({count(n, 'process', 'processes')})" for name, n in self._n_left.items())

    def _is_over(self) -> bool:
        return self._trouble is not None or all(times.has_ended for times in self.times)

    def _limits_s(self) -> Iterator[tuple[float, int]]:
        """When each member that runs must have ended."""
        for place, times in enumerate(self.times):
            if times.runs and math.isnan(times.runs[-1].ended_s):
                yield times.runs[-1].started_s + self._members[place].program.time_limit_s, place

    def _next_limit_s(self) -> float:
        return min((at_s for at_s, _ in self._limits_s()), default=math.inf)

    def _look_at_limits(self) -> None:
        late = [place for at_s, place in self._limits_s() if at_s < time.monotonic()]
        if late and self._trouble is None:
            limit = duration(self._members[late[0]].program.time_limit_s)
            self._trouble = (late[0], f"did not end within its time limit of {limit}")

    def _on_ready(self, place: int, event: dict[str, Any]) -> None:
        self._sessions[place] = event["pid"]
        if self._has_begun:
            self._again(place)
            return
        self._processes[place] = event["pid"]
        if len(self._processes) == len(self._members):
            self._listener.ready([self._processes[place] for place in range(len(self._members))])
            self._set_up_those_that_wait()

    def _set_up_those_that_wait(self) -> None:
        for place, member in enumerate(self._members):
            if member.program.waits:
                self._keepers[place].tell(_GO)
            else:
                self._at_gate.add(place)
        self._open_gates()

    def _open_gates(self) -> None:
        """Let all members go, once all are there."""
        if len(self._at_gate) == len(self._members):
            self._has_begun = True
            for keeper in self._keepers:
                keeper.tell(_GO)

    def _again(self, place: int) -> None:
        if self._way == "restart" and not self._is_over():
            self._keepers[place].tell(_GO)

    def _on_waits(self, place: int, event: dict[str, Any]) -> None:  # noqa: ARG002
        if self._has_begun:
            self._again(place)
            return
        self._listener.set_up(place)
        self._at_gate.add(place)
        self._open_gates()

    def _on_started(self, place: int, event: dict[str, Any]) -> None:
        self.times[place].runs.append(MemberRun(event["at_s"]))

    def _on_begun(self, place: int, event: dict[str, Any]) -> None:
        runs = self.times[place].runs
        if not math.isnan(runs[-1].ended_s):
            runs.append(MemberRun(event["at_s"]))
        runs[-1].begun_s = event["at_s"]
        if len(runs) == 1 and not self._members[place].program.waits:
            self._listener.set_up(place)
        self._listener.changed()

    def _on_ended(self, place: int, event: dict[str, Any]) -> None:
        runs = self.times[place].runs
        what = how_it_failed(event["code"], event["failure"]) or ("" if self._has_begun else "ended before it began")
        if what:
            self._trouble = self._trouble or (place, what)
        if event["n_left"]:
            name = self._members[place].program.name
            self._n_left[name] = max(event["n_left"], self._n_left.get(name, 0))
        if not math.isnan(runs[-1].ended_s):
            return
        runs[-1].ended_s, runs[-1].cpu_s = event["at_s"], event["cpu_s"]
        if len(runs) == 1:
            self._listener.changed()
            self._listener.ended(place)

    def _on_gone(self, place: int, event: dict[str, Any]) -> None:  # noqa: ARG002
        """Its keeper was killed, so nothing else is left to end its processes."""
        self._trouble = self._trouble or (place, _LOST)
        if place in self._sessions:
            _end_session(self._sessions[place])

    def _on_stopped(self, place: int, event: dict[str, Any]) -> None:
        """Its end follows."""


def _end_session(leader: int) -> None:
    """Kill all processes of a session; as long as there is one, its number belongs to no other process."""
    for _ in range(_MOST_LOOKS):
        for pid in (running := _running_in(leader)):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not running:
            return


def _running_in(leader: int) -> list[int]:
    """The processes of a session that have not ended."""
    running = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            state, _, _, session = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[:4]
            running += [int(name)] if int(session) == leader and state != b"Z" else []
    return running


def how_it_failed(code: int, failure: str) -> str:
    """What is wrong with a program's end; nothing where nothing is. A negative code is the signal that ended it."""
    if failure:
        return f"could not be started: {failure}"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with code {code}" if code else ""


def last_lines(text: str) -> str:
    """The end of what a program printed, on one line and without what would trouble a terminal."""
    lines = [line for part in text.splitlines() if (line := " ".join(part.split()))]
    end = " / ".join(lines[-_LINES_TOLD:])[-_CHARACTERS_TOLD:]
    return "".join(c if c.isprintable() else "?" for c in end)
