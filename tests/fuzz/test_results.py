"""Results and measurements that were damaged, or come from elsewhere, are told; nothing of ours breaks on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from joulewise.errors import InputError
from joulewise.present.report import draft_of
from joulewise.present.results import records_of
from joulewise.study import open_results, to_verify
from tests.strategies.damage import damage

Readers = tuple[Callable[[Path], object], ...]


def draft(folder: Path) -> None:
    draft_of(records_of(open_results(folder)))


def judge(folder: Path) -> None:
    to_verify(folder).verdicts()


def withstand(folder: Path, readers: Readers, seeds: range, scratch: Path) -> int:
    """Give damaged copies of a folder to readers; returns how many were refused; whatever else they raise is raised."""
    n_refused = 0
    for seed in seeds:
        copy = Path(shutil.copytree(folder, scratch / "copy"))
        done = damage(copy, seed)
        try:
            for read in readers:
                n_refused += _is_refused(read, copy)
        except Exception as error:
            error.add_note(f"{folder.name}, {read.__name__}, {done}")
            raise
        shutil.rmtree(copy)
    return n_refused


def _is_refused(read: Callable[[Path], object], folder: Path) -> bool:
    try:
        read(folder)
    except InputError:
        return True
    return False
