"""What running a study would take, before it is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from joulewise.kernels.jit import kernels_are_compiled
from joulewise.processes import available_cpus
from joulewise.study.planning import plan
from joulewise.study.running import missing_runs
from joulewise.study.store import Store
from joulewise.study.study import Study
from joulewise.units import count, roughly

_START_S, _COMPILE_S = 2.0, 60.0
_RUN_BYTES = 4_000


@dataclass(frozen=True)
class Estimate:
    """Runs of a study, how many are still to be computed, and about how long and how large they are."""

    n_points: int
    n_trials: int
    n_runs: int
    n_missing: int
    n_stored: int
    workers: int
    seconds: float
    bytes: int

    def lines(self, folder: Path) -> Iterator[tuple[str, str]]:
        """The estimate as a person reads it."""
        once = "" if self.n_runs == self.n_points * self.n_trials else "; points without chance once"
        yield "runs", f"{self.n_runs:,} ({count(self.n_points, 'point')} x {count(self.n_trials, 'trial')}{once})"
        yield "to compute", f"{self.n_missing:,} ({self.n_stored:,} stored already)"
        time = f"about {roughly(self.seconds)} with {count(self.workers, 'process', 'processes')}"
        yield "time", time if self.n_missing else "none"
        yield "disk", f"about {max(self.bytes / 1e6, 0.1):.1f} MB in {folder}"


def estimate(study: Study, folder: Path) -> Estimate:
    """What running the study into this folder would take; InputError when that belongs to something else."""
    store = Store(folder)
    store.check_owner(study.owner)
    runs = plan(study)
    missing = missing_runs(study, store, runs)
    workers = available_cpus()
    start_s = _START_S if kernels_are_compiled() else _START_S + _COMPILE_S
    kept = [run for run in runs if run.keep]
    return Estimate(
        n_points=len(study.points),
        n_trials=study.heading.trials,
        n_runs=len(runs),
        n_missing=len(missing),
        n_stored=len({run.key for run in runs}) - len(missing),
        workers=workers,
        seconds=start_s + study.kind.seconds(missing, store, study.folder) / workers,
        bytes=int(_RUN_BYTES * len(runs) + study.kind.size(kept, study.folder)),
    )
