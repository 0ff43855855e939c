"""The clock of cores, by the kernel's cpufreq: what can be asked for, holding it, giving back what was there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from joulewise.errors import Problem, raise_if_any
from joulewise.files import write_atomic
from joulewise.measure.bench.bench import ClockSetting
from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.clock_policy import (
    GOVERNOR,
    HIGH,
    LOW,
    WRITE_REMEDY,
    Settings,
    give_back,
    hold,
    problems_at,
    touched,
)
from joulewise.measure.machine.machine import cores_of_others, read_machine
from joulewise.measure.machine.processor import surroundings
from joulewise.measure.machine.system_files import CPUS, core_folder, core_list, may_write, text_of
from joulewise.processes import undisturbed

_MOUNT_REMEDY = "mount sysfs for writing (docker run --privileged), or measure outside the container"
_VIRTUAL_REMEDY = "measure on bare metal: the host decides the clock of a virtual machine"
_METAL_REMEDY = (
    "let the operating system control the clock in the firmware's set-up (SpeedStep, Cool'n'Quiet, CPPC, "
    "'OS control'), and load the kernel's driver (intel_pstate, amd_pstate, acpi-cpufreq, cppc_cpufreq)"
)


class Clocks:
    """Sets the clock of cores. `note` is a file that remembers what was there until it has been given back."""

    def __init__(self, root: Path = Path("/"), note: Path | None = None) -> None:
        self.root = root
        self.note = note

    def availability(self) -> Availability:
        """Whether frequencies can be set."""
        machine = read_machine(self.root)
        refused = self._refusal("frequency", machine.cores, (LOW, HIGH))
        if refused:
            return refused
        steps = machine.frequencies_mhz
        shown = (
            f"{steps[0]:g} to {steps[-1]:g}" if machine.has_any_frequency else ", ".join(f"{mhz:g}" for mhz in steps)
        )
        others = cores_of_others(self.root, machine.cores)
        beyond = f"; cores {core_list(others)} belong to other users, who may raise the clock of ours" if others else ""
        return Availability("frequency", True, f"{shown} MHz ({self._driver(machine.cores)}){beyond}")

    def governor_availability(self) -> Availability:
        """Whether governors can be set."""
        machine = read_machine(self.root)
        refused = self._refusal("governor", machine.cores, (GOVERNOR,))
        return refused or Availability("governor", True, ", ".join(machine.governors))

    def problems(self, clock: ClockSetting, cores: Iterable[int]) -> list[Problem]:
        """Why a clock cannot be held on some cores, as far as reading can tell; nothing where it can."""
        problems: list[Problem] = []
        for folder in self._policies(cores):
            problems += problems_at(folder, clock)
        if clock != ClockSetting():
            lacking = [core for core in cores if not self._policy(core).is_dir()]
            problems += [_no_choice(core, clock) for core in lacking]
        return problems

    @contextmanager
    def holding(self, clock: ClockSetting, cores: Iterable[int], others: Iterable[int] = ()) -> Iterator[None]:
        """Hold the clock of some cores inside the block, and give back what was there however it ends.

        A core runs as fast as the most that is asked of any core it shares a clock with, also of its siblings: `others`
        are held too, at the nearest below that they offer. InputError where the system refuses it, or where what was
        there before an earlier block still cannot be given back: it is not forgotten for what stands there now.
        """
        wanted = tuple(cores)
        self.restore_left_behind()
        raise_if_any(self.problems(clock, wanted))
        folders = self._policies((*wanted, *others)) if clock != ClockSetting() else []
        saved = {str(folder / name): text_of(folder / name) for folder in folders for name in touched(clock)}
        self._remember(saved)
        try:
            for folder in folders:
                hold(folder, clock)
            yield
        finally:
            with undisturbed():
                give_back(saved)
                self._forget(saved)

    def restore_left_behind(self, note: Path | None = None) -> bool:
        """Give back what a note says was there, as after a killed process; whether there was something to give back.

        What was set before the machine was last started is gone already, and only forgotten. Other users' notes are
        theirs. InputError, and the note stays, where something cannot be given back.
        """
        path = note or self.note
        if path is None or not path.exists() or path.stat().st_uid != os.geteuid():
            return False
        saved = self._left_behind(path)
        with undisturbed():
            give_back(saved)
            path.unlink(missing_ok=True)
        return bool(saved)

    def _left_behind(self, path: Path) -> Settings:
        """The settings of a note, if it was written since the machine was started: only files that hold clocks."""
        try:
            note = json.loads(text_of(path))
            settings = note["settings"].items() if note["start"] == self._start() else ()
        except (ValueError, TypeError, KeyError, AttributeError):
            return {}
        cpus = (self.root / CPUS).resolve()
        return {
            file: str(value)
            for file, value in settings
            if Path(file).resolve().is_relative_to(cpus) and Path(file).name in (LOW, HIGH, GOVERNOR)
        }

    def _remember(self, saved: Settings) -> None:
        if self.note is not None and saved:
            write_atomic(self.note, json.dumps({"start": self._start(), "settings": saved}))

    def _forget(self, saved: Settings) -> None:
        if self.note is not None and saved:
            self.note.unlink(missing_ok=True)

    def _start(self) -> str:
        """What tells one start of the machine from the next."""
        return text_of(self.root / "proc/sys/kernel/random/boot_id")

    def _policy(self, core: int) -> Path:
        return core_folder(self.root, core) / "cpufreq"

    def _policies(self, cores: Iterable[int]) -> list[Path]:
        """The folders that set these cores' clocks, each once: cores may share one."""
        return list(dict.fromkeys(self._policy(core).resolve() for core in cores if self._policy(core).is_dir()))

    def _driver(self, cores: Iterable[int]) -> str:
        drivers = dict.fromkeys(text_of(folder / "scaling_driver") for folder in self._policies(cores))
        return ", ".join(filter(None, drivers)) or "unknown driver"

    def _refusal(self, name: str, cores: tuple[int, ...], files: tuple[str, ...]) -> Availability | None:
        """Why files of cpufreq cannot be written; None where they can."""
        around = surroundings(self.root)
        lacking = [core for core in cores if not all((self._policy(core) / file).exists() for file in files)]
        if lacking:
            place = f" ({around})" if around else ""
            found = f"the kernel offers no choice of clock (cpufreq) for cores {core_list(lacking)}{place}"
            return Availability(name, False, found, _VIRTUAL_REMEDY if "virtual" in around else _METAL_REMEDY)
        closed = [folder / file for folder in self._policies(cores) for file in files if not may_write(folder / file)]
        if not closed:
            return None
        if os.geteuid() == 0:
            return Availability(name, False, f"{closed[0]} is mounted read-only", _MOUNT_REMEDY)
        return Availability(name, False, f"{closed[0]} may be written only by root", WRITE_REMEDY)


def _no_choice(core: int, clock: ClockSetting) -> Problem:
    return Problem(
        f"core {core}",
        f"found the clock {clock.label!r}",
        "the kernel offers no choice of clock for this core",
        "leave the clock as it is, or see what would help: joulewise measure --probes",
    )
