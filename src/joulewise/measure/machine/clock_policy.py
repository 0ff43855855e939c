"""One folder of the kernel's cpufreq, which sets the clock of one or more cores: what it offers, setting, giving back.

A frequency is held by narrowing both limits to it, which every driver and governor obeys; nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.measure.bench.bench import ClockSetting
from joulewise.measure.machine.system_files import number_of, text_of

LOW, HIGH, GOVERNOR = "scaling_min_freq", "scaling_max_freq", "scaling_governor"
WRITE_REMEDY = (
    "run as root, or let everybody write until the next start of the machine: "
    "sudo chmod a+w /sys/devices/system/cpu/cpu*/cpufreq/scaling_{governor,min_freq,max_freq}"
)
_KHZ_PER_MHZ = 1000.0
_NEAR_KHZ = 1000.0

Settings = dict[str, str]
"""What files of the kernel said, by path."""


def give_back(saved: Settings) -> None:
    """Write back all that can be; InputError names what could not."""
    folders = dict.fromkeys(Path(path).parent for path in saved)
    raise_if_any(problem for folder in folders for problem in _give_back(folder, saved))


def _give_back(folder: Path, saved: Settings) -> Iterator[Problem]:
    values = {name: saved[str(folder / name)] for name in (GOVERNOR, LOW, HIGH) if str(folder / name) in saved}
    for name in _in_order(folder, values):
        try:
            (folder / name).write_text(values[name], encoding="utf-8")
        except OSError as error:
            yield Problem(
                str(folder / name),
                f"could not be given back its {values[name]!r} ({error.strerror})",
                advice=f"write it yourself, as root: echo {values[name]} > {folder / name}",
            )


def _in_order(folder: Path, values: Settings) -> list[str]:
    """File names in an order in which the kernel takes them: the lower limit may never pass the upper one."""
    limits = [LOW, HIGH]
    if LOW in values and float(values[LOW]) > number_of(folder / HIGH):
        limits.reverse()
    return [name for name in (GOVERNOR, *limits) if name in values]


def touched(clock: ClockSetting) -> tuple[str, ...]:
    """The files that a clock is set by."""
    return (GOVERNOR,) * (clock.governor is not None) + (LOW, HIGH) * (clock.frequency_mhz is not None)


def hold(folder: Path, clock: ClockSetting) -> None:
    """Set one clock, or the nearest below that is offered here, and look whether the system did what was asked."""
    values: Settings = {}
    if clock.governor is not None and clock.governor in _governors(folder):
        values[GOVERNOR] = clock.governor
    if clock.frequency_mhz is not None:
        values[LOW] = values[HIGH] = str(round(_held_khz(folder, clock.frequency_mhz * _KHZ_PER_MHZ)))
    for name in _in_order(folder, values):
        _write(folder / name, values[name], clock)
    for name, value in values.items():
        if not _is_alike(text_of(folder / name), value):
            raise InputError(_not_taken(folder / name, clock, f"it stays at {text_of(folder / name)!r}"))


def _write(path: Path, value: str, clock: ClockSetting) -> None:
    try:
        path.write_text(value, encoding="utf-8")
    except PermissionError as error:
        problem = Problem(str(path), f"{clock.label!r} was refused: only root may set it", advice=WRITE_REMEDY)
        raise InputError(problem) from error
    except OSError as error:
        raise InputError(_not_taken(path, clock, str(error.strerror))) from error


def _not_taken(path: Path, clock: ClockSetting, why: str) -> Problem:
    return Problem(
        str(path),
        f"the system did not take {clock.label!r} ({why})",
        advice="another program (tuned, power-profiles-daemon, thermald) or the firmware may limit the clock: "
        "stop it, or ask for a clock within its limit",
    )


def _is_alike(current: str, value: str) -> bool:
    if value.isdigit() and current.isdigit():
        return abs(int(current) - int(value)) <= _NEAR_KHZ
    return current == value


def _steps_khz(folder: Path) -> list[float]:
    return [float(step) for step in text_of(folder / "scaling_available_frequencies").split() if step.isdigit()]


def _ends_khz(folder: Path) -> tuple[float, float]:
    return number_of(folder / "cpuinfo_min_freq"), number_of(folder / "cpuinfo_max_freq")


def _governors(folder: Path) -> list[str]:
    return text_of(folder / "scaling_available_governors").split()


def _held_khz(folder: Path, khz: float) -> float:
    """The step of the driver that was meant, or else the next one below, or the lowest where all are above.

    Where the driver has no steps, the frequency itself, or the nearest end of its range.
    """
    steps = _steps_khz(folder)
    if not steps:
        low, high = _ends_khz(folder)
        return min(max(khz, low), high)  # in this order, ends that the kernel does not tell (NaN) change nothing
    meant = min(steps, key=lambda step: abs(step - khz))
    if abs(meant - khz) <= _NEAR_KHZ:
        return meant
    return max((step for step in steps if step < khz), default=min(steps))


def problems_at(folder: Path, clock: ClockSetting) -> list[Problem]:
    """Why a clock is not offered here, as far as reading can tell."""
    problems = []
    governors = _governors(folder)
    if clock.governor is not None and clock.governor not in governors:
        problems.append(unknown_name(str(folder / GOVERNOR), clock.governor, governors))
    if clock.frequency_mhz is not None and not _offers(folder, clock.frequency_mhz):
        problems.append(Problem(str(folder), f"found {clock.frequency_mhz:g} MHz", f"must be {_offer(folder)}"))
    return problems


def _offers(folder: Path, mhz: float) -> bool:
    khz = mhz * _KHZ_PER_MHZ
    if _steps_khz(folder):
        return abs(_held_khz(folder, khz) - khz) <= _NEAR_KHZ
    low, high = _ends_khz(folder)
    return low <= khz <= high


def _offer(folder: Path) -> str:
    steps = sorted(_steps_khz(folder))
    if steps:
        return "one of " + ", ".join(f"{step / _KHZ_PER_MHZ:g}" for step in steps) + " MHz"
    low, high = (khz / _KHZ_PER_MHZ for khz in _ends_khz(folder))
    return f"{low:g} to {high:g} MHz"
