"""What running a study would take, before it is run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from joulewise.kernels.jit import kernels_are_compiled
from joulewise.processes import available_cpus, memory_limit
from joulewise.study.parsing.study import Study
from joulewise.study.running.needs import disk_bytes, process_bytes, raise_if_too_large
from joulewise.study.running.pace import pace
from joulewise.study.running.rounds import next_work
from joulewise.study.running.work import Work, evenly
from joulewise.study.store.store import Store
from joulewise.units import count, roughly, size

# Rough figures of one ordinary processor of 2024.
_START_S, _COMPILE_S, _REPORT_S = 3.0, 60.0, 5.0


@dataclass(frozen=True)
class Estimate:
    """Runs of a study, how many are still to be computed, and about how long and how large they are.

    Where what comes out says how many runs there are, these are the most, and the least stand beside them. `seconds`
    are those of the runs; compiling, which is needed once on a machine, and the report are apart.
    """

    n_points: int
    n_trials: int
    n_runs: int
    n_runs_least: int
    n_missing: int
    n_missing_least: int
    n_stored: int
    grows: bool
    workers: int
    seconds: float
    seconds_least: float
    compile_s: float
    report_s: float
    bytes: int
    memory_bytes: int

    def lines(self, folder: Path) -> Iterator[tuple[str, str]]:
        """The estimate as a person reads it."""
        yield "runs", f"{_between(self.n_runs_least, self.n_runs)} ({self._shape})"
        yield "to compute", f"{_between(self.n_missing_least, self.n_missing)} ({self.n_stored:,} stored already)"
        yield from self._times() if self.n_missing else [("time", "none")]
        yield "disk", f"about {_rounded(self.bytes)} in {folder}"
        if self.n_missing:
            yield "memory", f"about {_rounded(self.memory_bytes)} in all processes"

    @property
    def _shape(self) -> str:
        """What the runs are of."""
        if self.grows:
            is_open = "; what comes out decides" if self.n_runs_least < self.n_runs else ""
            return f"{count(self.n_points, 'point')}, judged by {count(self.n_trials, 'trial')} at most{is_open}"
        once = "" if self.n_runs == self.n_points * self.n_trials else "; points without chance once"
        return f"{count(self.n_points, 'point')} x {count(self.n_trials, 'trial')}{once}"

    def _times(self) -> Iterator[tuple[str, str]]:
        processes = count(self.workers, "process", "processes")
        least = roughly(self.seconds_least)
        from_least = "" if least == roughly(self.seconds) else f"{least} to "
        runs = f"about {from_least}{roughly(self.seconds)} with {processes}"
        yield "time", f"{runs}, and {roughly(self.report_s)} for the report"
        if self.compile_s:
            yield "compiling", f"about {roughly(self.compile_s)}, once on this machine"


def estimate(study: Study, folder: Path) -> Estimate:
    """What running the study into this folder would take.

    InputError when the folder belongs to something else, or there is not so much memory or disk.
    """
    store = Store(folder)
    store.check_owner(study.owner)
    left = least = work = next_work(study, store)
    if study.grows and len(left):
        least, work = Work(left.plan.shortest, store), Work(left.plan.longest, store)
    raise_if_too_large(study, left, folder, memory_limit())
    runs, workers, slowness = work.plan, available_cpus(), pace()
    seconds, seconds_least = (slowness * (_START_S + _runs_s(each, workers)) for each in (work, least))
    return Estimate(
        n_points=len(study.points),
        n_trials=study.heading.trials,
        n_runs=len(runs),
        n_runs_least=len(least.plan),
        n_missing=len(work),
        n_missing_least=len(least),
        n_stored=work.n_there,
        grows=study.grows,
        workers=workers,
        seconds=seconds,
        seconds_least=seconds_least,
        compile_s=0.0 if kernels_are_compiled(study.kind.name) else slowness * _COMPILE_S,
        report_s=slowness * _REPORT_S if len(work) else 0.0,
        bytes=int(disk_bytes(study, evenly(runs), len(runs))),
        memory_bytes=int((1 + workers) * process_bytes(study, work.sample())),
    )


def _runs_s(work: Work, workers: int) -> float:
    return work.seconds / min(workers, max(len(work), 1))


def _between(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _rounded(n_bytes: float) -> str:
    return size(float(f"{n_bytes:.2g}"))
