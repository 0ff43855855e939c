"""What running a study would take, before it is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.kernels.jit import kernels_are_compiled
from joulewise.study.execute import available_cpus
from joulewise.study.planning import Run, plan
from joulewise.study.running import missing_runs
from joulewise.study.sources import Draw, expected_tasks, policy_of
from joulewise.study.spec import Part
from joulewise.study.store import Store
from joulewise.study.study import Study
from joulewise.units import duration

if TYPE_CHECKING:
    from joulewise.policies import Policy

# Rough figures of one ordinary processor of 2024; a guess within a factor of three is all that is promised.
_RUN_S, _TASK_S, _PRICES_TASK_S = 0.02, 3e-6, 3e-5
_PLAIN = 75.0
"""How much longer the plain engine takes, for objectives that may rise with time."""
_START_S, _COMPILE_S = 2.0, 30.0
_RUN_BYTES, _RECORD_BYTES = 4_000, 26


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
        yield "runs", f"{self.n_runs:,} ({self.n_points:,} points x {self.n_trials:,} trials{once})"
        yield "to compute", f"{self.n_missing:,} ({self.n_stored:,} are stored already)"
        time = f"about {duration(float(f'{self.seconds:.2g}'))} with {self.workers} processes"
        yield "time", time if self.n_missing else "none"
        yield "disk", f"about {max(self.bytes / 1e6, 0.1):.1f} MB in {folder}"


def estimate(study: Study, folder: Path) -> Estimate:
    """What running the study into this folder would take; InputError when that belongs to something else."""
    store = Store(folder)
    store.check_owner(study)
    runs = plan(study)
    missing = missing_runs(store, runs)
    workers = available_cpus()
    start_s = _START_S if kernels_are_compiled() else _START_S + _COMPILE_S
    workloads = {point.workload for point in study.points}
    n_tasks = {part: expected_tasks(part, Draw(0, 0, study.folder)) for part in workloads}
    return Estimate(
        n_points=len(study.points),
        n_trials=study.heading.trials,
        n_runs=len(runs),
        n_missing=len(missing),
        n_stored=len({run.key for run in runs}) - len(missing),
        workers=workers,
        seconds=start_s + _seconds(study, store, missing, n_tasks) / workers,
        bytes=int(sum(_bytes(run, n_tasks[run.point.workload]) for run in runs)),
    )


def _seconds(study: Study, store: Store, missing: Sequence[Run], n_tasks: Mapping[Part, float]) -> float:
    """The time of one process for the runs, and for the bound of each world that has none yet."""
    specs = {run.point.manager.parameters.policy for run in missing}
    slow = {spec for spec in specs if _is_slow(policy_of(spec, study.folder))}
    runs_s = sum(
        _RUN_S + _TASK_S * n_tasks[run.point.workload] * (_PLAIN if run.point.manager.parameters.policy in slow else 1)
        for run in missing
    )
    worlds = {run.world_key: n_tasks[run.point.workload] for run in missing if run.bound == "prices"}
    new = (n for key, n in worlds.items() if not store.proof_file(key, "prices").is_file())
    return runs_s + _PRICES_TASK_S * sum(new)


def _is_slow(policy: Policy) -> bool:
    return policy.mode == "batch" and policy.objective is not None and not policy.objective.falls_with_time


def _bytes(run: Run, n_tasks: float) -> float:
    return _RUN_BYTES + (_RECORD_BYTES * n_tasks if run.keep else 0)
