"""What the runs of a study need of the computer, and whether it has that."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from joulewise import units
from joulewise.errors import Problem, raise_if_any
from joulewise.study.parsing.study import Study
from joulewise.study.running.work import Work
from joulewise.study.spec.run import Run

_PROCESS_BYTES = 300e6
_REPORT_BYTES, _TABLE_BYTES, _RUN_BYTES = 1.7e6, 50e3, 300


def disk_bytes(study: Study, runs: Sequence[Run], n_runs: int) -> float:
    """The bytes of a results folder with so many runs, such as these, and its report."""
    details = study.kind.size(runs, study.folder) * n_runs / max(len(runs), 1)
    return _REPORT_BYTES + _TABLE_BYTES + _RUN_BYTES * n_runs + details


def process_bytes(study: Study, runs: Sequence[Run]) -> float:
    """The bytes of memory of a process while it computes the largest of these runs."""
    return _PROCESS_BYTES + study.kind.memory(runs, study.folder)


def raise_if_too_large(study: Study, work: Work, folder: Path, most: float) -> None:
    """InputError when one of the runs that are left needs more memory than the `most` that it may have, or all of them
    more disk than there is."""
    if len(work):
        runs = work.sample()
        raise_if_any(_problems(study, folder, disk_bytes(study, runs, len(work)), process_bytes(study, runs), most))


def _problems(study: Study, folder: Path, disk: float, memory: float, most: float) -> Iterator[Problem]:
    free = shutil.disk_usage(_existing(folder)).free
    if memory > most:
        found, advice = f"a run needs about {_rounded(memory)} of memory", "make its world smaller, or its day shorter"
        yield Problem(study.file_name, found, f"this computer has {_rounded(most)}", advice)
    if disk > free:
        found, advice = f"the results need about {_rounded(disk)} of disk", 'keep = "none" stores no detail tables'
        yield Problem(str(folder), found, f"the disk has {_rounded(free)} left", advice)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())


def _rounded(n_bytes: float) -> str:
    return units.size(float(f"{n_bytes:.2g}"))
