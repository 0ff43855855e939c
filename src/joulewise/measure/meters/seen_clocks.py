"""The frequency at which cores are really running, where the machine shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean

from joulewise.measure.bench.bench import ClockSetting
from joulewise.measure.machine.processor import read_processor
from joulewise.measure.machine.system_files import core_folder, number_of, text_of

_FILES = ("cpuinfo_avg_freq", "scaling_cur_freq", "cpuinfo_cur_freq")
"""What cpufreq shows, the nearest to a measurement first."""
_KHZ_PER_MHZ = 1000.0

OTHER_CLOCK = "another clock than asked for was seen"
"""How notes of runs begin whose cores did not run at the frequency that they were held at."""

WORTH_TELLING = 0.03
"""From this share on, two clocks count as different."""


def clock_notes(asked: ClockSetting, members: Iterable[Sequence[float]]) -> tuple[str, ...]:
    """What is to be noted of the clock that was seen in a run, if anything, by what each core of each member shows.

    A core that a member leaves idle shows what it likes: each member counts with the core that is nearest.
    """
    if (mhz := asked.frequency_mhz) is None:
        return ()
    nearest = [min(cores, key=lambda seen: abs(seen - mhz)) for cores in members if cores]
    seen_mhz = fmean(nearest) if nearest else mhz
    return (f"{OTHER_CLOCK} ({seen_mhz:.0f} MHz)",) if abs(seen_mhz / mhz - 1) > WORTH_TELLING else ()


def clock_reader(root: Path, cores: Iterable[int]) -> Callable[[], dict[int, float]]:
    """A function that reads the frequency of cores in MHz; those that do not show it are left out.

    What a virtual machine says in /proc/cpuinfo never changes, and is not taken for a reading.
    """
    wanted = tuple(cores)
    files = {core: path for core in wanted if (path := _file(root, core)) is not None}
    if files:
        return lambda: {core: number_of(path) / _KHZ_PER_MHZ for core, path in files.items()}
    flags = read_processor(root).flags
    if wanted and "aperfmperf" in flags and "hypervisor" not in flags:
        return lambda: _listed(root, wanted)
    return dict


def _file(root: Path, core: int) -> Path | None:
    """The first that a core has; the best of them says nothing while the core is idle, and is used even so."""
    paths = (core_folder(root, core) / "cpufreq" / name for name in _FILES)
    return next((path for path in paths if number_of(path) > 0 or (path.name == _FILES[0] and path.exists())), None)


def _listed(root: Path, cores: tuple[int, ...]) -> dict[int, float]:
    """The frequencies of /proc/cpuinfo."""
    lines = (line.partition(":") for line in text_of(root / "proc/cpuinfo").splitlines())
    pairs = [(key.strip(), value.strip()) for key, _, value in lines]
    numbers = (int(value) for key, value in pairs if key == "processor")
    speeds = (float(value) for key, value in pairs if key == "cpu MHz")
    return {number: speed for number, speed in zip(numbers, speeds) if number in cores}
