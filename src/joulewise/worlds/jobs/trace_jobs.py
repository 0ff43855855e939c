"""From the jobs of a log to jobs that can be replayed: what is missing is filled in or left out, by conventions."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, as_written
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.jobs import Label
from joulewise.worlds.jobs.logs import READING, LogAbout, Part
from joulewise.worlds.jobs.trace_files import TraceTable
from joulewise.worlds.parameters import broken_rules, explained

LABELS = ("user", "group", "queue", "partition")
"""What the jobs of a trace are labelled with, where its log tells."""

COLUMNS = (
    "job_id", "submit_s", "eligible_s", "wait_s", "run_s", "requested_s", "cores", "requested_cores", "nodes",
    "requested_nodes", "requested_memory_kb", "gpus", "requested_gpus", "gpu_kind", "requested_gpu_kind", "licences",
    "features", "energy_j", *LABELS, "cluster", "application", "reservation", "after_job", "think_s",
    "status", "dependency", "begin_s", "array_limit",
)  # fmt: skip
"""The columns of a trace that are replayed."""


Processors = Literal["requested", "allocated"]
"""Which number of processors of a job counts."""


@dataclass(frozen=True, kw_only=True)
class TraceConventions:
    """What happens to jobs about which the log says too little; every figure of a trace depends on them."""

    no_run_time: Literal["drop", "one-second"] = explained(
        "drop", "jobs that ran for 0 s or less, or for an unknown time: left out, or kept as 1 s"
    )
    processors: Processors | None = explained(
        None,
        "which number of processors a job needs; the other one where this is not known. Left out: what was requested "
        "in SWF, as is usual, and what was allocated in other logs",
    )
    arrival: Literal["eligible", "submission"] = explained(
        "eligible",
        "when a job comes: when it could first start (a begin time, a dependency), where the log tells, or when it was "
        "submitted; waits count from then on",
    )
    no_request: Literal["run-time", "drop"] = explained(
        "run-time", "jobs without a requested time: planned as long as they ran, or left out"
    )
    dependencies: Literal["replay", "ignore"] = explained(
        "replay",
        "what jobs wait for: other jobs to start or end, begin times, limits on the tasks of an array, and parts that "
        "start together; a job that follows another comes its think time after its end, not before it was submitted. "
        "Or none of that",
    )
    planned: Literal["requested", "true", "recent", "quantile"] = explained(
        "requested",
        "what a planner takes for the time of a job: as requested; as it ran; the mean of the last two jobs of the "
        "same user that had ended; or a quantile of the last ones of the same user and program, both at most what was "
        "requested",
    )
    planned_quantile: float = explained(
        0.9, "quantile: how many of the earlier jobs must have run no longer, as a share of them", late=True
    )
    planned_jobs: int = explained(20, "quantile: how many earlier jobs are looked at, at most", late=True)
    requested_scale: float = explained(
        1.0,
        "how much of what jobs requested beyond their run time they request here: 0.5 half of it, 0 none of it, 2 "
        "twice as much; those that ran longer than requested keep their requests",
        late=True,
    )
    from_s: float = explained(0.0, "replay jobs submitted this long after the first one of the log, or later")
    span_s: float | None = explained(None, "replay jobs submitted within this time; left out: to the end of the log")


OTHER_PROCESSORS = "other processors"


_USUAL_PROCESSORS: dict[str, Processors] = {"SWF": "requested"}
"""Which processors count where a study does not say; of other logs those that were allocated."""

NOT_REPLAYED = {
    "asks for GPUs": (
        (pl.col("requested_gpus") > 0) | (pl.col("gpus") > 0),
        "jobs with GPUs",
        "replayed as processors alone",
    ),
    "asks for memory": (
        pl.col("requested_memory_kb") > 0,
        "jobs that tell how much memory they ask for",
        "replayed as if there were enough",
    ),
    "asks for licences": (pl.col("licences").is_not_null(), "jobs with licences", "replayed as if there were enough"),
    "asks for features": (
        pl.col("features").is_not_null(),
        "jobs whose nodes had to have features",
        "replayed on any nodes, unless rules say where",
    ),
    "in a reservation": (
        pl.col("reservation").is_not_null(),
        "jobs that ran in a reservation",
        "replayed as any other; the reservation is not",
    ),
}
"""What a log tells of jobs and clusters of a study lack: by key which jobs, what they are, and what becomes of them."""

TOLD_OF_SITES = ("asks for GPUs", "asks for memory", "asks for licences", "asks for features", "in a reservation")
"""Those of them that a site may have, and of which it tells what it lacks."""


class TraceFinding(NamedTuple):
    """This many lines or jobs of a trace are odd: for which reason, what became of them, and which part that is."""

    key: str
    n: int
    reason: str
    done: str
    part: Part = "changed"


class TraceJobs(NamedTuple):
    """Jobs that can be replayed, in order of submission, from instant 0 on; `log` has all that the log says of them.

    They are of a part of the log that lasts until instant `end_s`: to the end of the span, or to its last submission.
    """

    submit_s: Floats
    run_s: Floats
    requested_s: Floats
    planned_s: Floats
    cores: Counts
    log: pl.DataFrame
    end_s: float

    @property
    def logged_requests_s(self) -> Floats:
        """How long each might have run as the log has it, whatever it requests here."""
        return self.log["requested_s"].to_numpy().astype(np.float64)

    def moved(self, rows: Counts, later_s: Floats, block: Counts) -> TraceJobs:
        """Some of the jobs, in this order and submitted so much later; the block that each is in is told by its name.

        What is planned stays with a job, as it follows from what came before it in the log.
        """
        names, blocks = ("job_id", "after_job"), pl.Series(block).cast(pl.String)
        log = self.log[rows].with_columns(
            *(pl.concat_str(name, blocks, separator="@") for name in names),
            submit_s=pl.col("submit_s") + pl.Series(later_s).cast(pl.Int64),
        )
        times = (self.run_s[rows], self.requested_s[rows], self.planned_s[rows])
        return TraceJobs(self.submit_s[rows] + later_s, *times, self.cores[rows], log, self.end_s)


def convention_problems(p: TraceConventions) -> Iterator[Problem]:
    """What is wrong with the part of the log that is asked for."""
    rules = (
        ("from_s", 0 <= p.from_s < np.inf, "must be 0 s or more"),
        ("span_s", p.span_s is None or 0 < p.span_s < np.inf, "must be above 0 s"),
        ("planned_quantile", 0 < p.planned_quantile <= 1, "must be above 0, and 1 at most"),
        ("planned_jobs", p.planned_jobs >= FEWEST, f"must be {FEWEST} or more"),
        ("requested_scale", 0 <= p.requested_scale < np.inf, "must be 0 or more"),
    )
    yield from broken_rules("workload", p, rules)
    for name in ("planned_quantile", "planned_jobs"):
        if p.planned != "quantile" and getattr(p, name) != getattr(TraceConventions, name):
            found = f'found {as_written(getattr(p, name))} with planned = "{p.planned}"'
            advice = "leave one of the two out, or set them in variants"
            yield Problem(f"workload.{name}", found, 'is for planned = "quantile"', advice)


def findings_of_reading(table: TraceTable) -> list[TraceFinding]:
    """What was odd when the log was read."""
    findings = []
    for key, n in table.odd.items():
        oddity = READING[key]
        at = f" (first in line {table.at[key]:,})" if key in table.at else ""
        findings.append(TraceFinding(key, n, oddity.reason + at, oddity.done, oddity.part))
    return findings


def jobs_to_replay(
    table: TraceTable, p: TraceConventions, usual_s: pl.Expr | None = None
) -> tuple[TraceJobs | None, list[TraceFinding]]:
    """The jobs that can be replayed, None if there are none, and what was missing or odd in the others.

    Where a site gives jobs a time limit if they ask for none, that is `usual_s`.
    """
    findings = list[TraceFinding]()
    arrivals = _with_arrival(table.jobs, p, findings)
    log = _in_span(arrivals, p)
    log = _with_run_time(log, p, findings)
    log = _with_processors(log, processors_of(table.about, p), findings)
    log = _with_request(log if usual_s is None else _with_usual_time(log, usual_s, p, findings), p, findings)
    if log.is_empty():
        return None, findings
    submit_s = log["submit_s"].to_numpy().astype(np.float64)
    run_s, requested_s = (log[name].to_numpy().astype(np.float64) for name in ("run_s", "requested_s"))
    _note(findings, "past the request", int((run_s > requested_s).sum()),
          "jobs that ran longer than requested", "as the scheduler's `overrun` says")  # fmt: skip
    counts = log.select(is_odd.sum().alias(key) for key, (is_odd, *_) in NOT_REPLAYED.items()).row(0, named=True)
    for key, (_, reason, done) in NOT_REPLAYED.items():
        _note(findings, key, counts[key], reason, done, "lost")
    requested_s = run_s + np.where(run_s < requested_s, p.requested_scale, 1.0) * (requested_s - run_s)
    planned_s = planned_times(log, run_s, requested_s, p)
    end_s = _end_s(arrivals["submit_s"], p) - submit_s[0]
    jobs = TraceJobs(submit_s - submit_s[0], run_s, requested_s, planned_s, log["needed"].to_numpy(), log, end_s)
    return jobs, findings


def labels_of(log: pl.DataFrame) -> dict[str, Label]:
    """User, group, queue and partition of each job, those of which the log tells."""
    return {name: _label(log[name]) for name in LABELS if log[name].null_count() < log.height}


FEWEST = 2
"""So few ended jobs of somebody tell how long the next one takes."""


def _predicted_times(
    log: pl.DataFrame,
    run_s: Floats,
    limit_s: Floats,
    alike: Sequence[Ints],
    n_last: int,
    predict: Callable[[Sequence[float]], float],
) -> Floats:
    """What is predicted from the run times of the last jobs like each one that had ended when it was submitted.

    `alike` tells by their numbers which jobs are alike, narrowly first; jobs with a number below 0 are like no other.
    The first of them by which `FEWEST` have ended counts, and of these the `n_last` that ended last, the latest at the
    end. Where there is none, and where more is predicted, the limit is taken. When jobs ended is what the log says.
    """
    submit_s = log["submit_s"].to_numpy()
    end_s = submit_s + log["wait_s"].fill_null(0).to_numpy() + run_s
    by_end = np.argsort(end_s, kind="stable").tolist()
    last: list[dict[int, deque[float]]] = [defaultdict(partial(deque, maxlen=n_last)) for _ in alike]
    numbers = [codes.tolist() for codes in alike]
    predicted_s, n_ended = limit_s.copy(), 0
    for job, at_s in enumerate(submit_s.tolist()):
        while n_ended < len(by_end) and end_s[by_end[n_ended]] <= at_s:
            ended = by_end[n_ended]
            for ran, codes in zip(last, numbers, strict=True):
                ran[codes[ended]].append(float(run_s[ended]))
            n_ended += 1
        for ran, codes in zip(last, numbers, strict=True):
            if codes[job] >= 0 and len(times_s := ran[codes[job]]) >= FEWEST:
                predicted_s[job] = min(limit_s[job], np.ceil(predict(times_s)))
                break
    return predicted_s


def _recent_times(log: pl.DataFrame, run_s: Floats, limit_s: Floats, _p: TraceConventions) -> Floats:
    """The mean run time of the last two jobs of the same user (Tsafrir, Etsion and Feitelson 2007)."""
    return _predicted_times(log, run_s, limit_s, [_label(log["user"]).codes], FEWEST, fmean)


def _quantile_times(log: pl.DataFrame, run_s: Floats, limit_s: Floats, p: TraceConventions) -> Floats:
    """The shortest of the last run times of the same user and program, or user, than which enough are no longer."""
    user, program = (_label(log[name]).codes for name in ("user", "application"))
    both = np.where((user >= 0) & (program >= 0), user.astype(np.int64) * (program.max() + 1) + program, -1)

    def predict(times_s: Sequence[float]) -> float:
        return sorted(times_s)[math.ceil(p.planned_quantile * len(times_s) - _ROUNDING) - 1]

    return _predicted_times(log, run_s, limit_s, [both, user], p.planned_jobs, predict)


def planned_times(log: pl.DataFrame, run_s: Floats, limit_s: Floats, p: TraceConventions) -> Floats:
    """What a planner takes for the time of each job, given what it ran and how long it may run."""
    return _PLANS[p.planned](log, run_s, limit_s, p)


_ROUNDING = 1e-9
"""A share of a count that is so little above a whole number is that number."""

_PLANS: dict[str, Callable[[pl.DataFrame, Floats, Floats, TraceConventions], Floats]] = {
    "requested": lambda _log, _run_s, limit_s, _p: limit_s,
    "true": lambda _log, run_s, _limit_s, _p: run_s,
    "recent": _recent_times,
    "quantile": _quantile_times,
}


def processors_of(about: LogAbout, p: TraceConventions) -> Processors:
    """Which number of processors counts: what is chosen, or what is usual for a log of its form."""
    return _USUAL_PROCESSORS.get(about.form, "allocated") if p.processors is None else p.processors


def _note(findings: list[TraceFinding], key: str, n: int, reason: str, done: str, part: Part = "changed") -> None:
    if n:
        findings.append(TraceFinding(key, n, reason, done, part))


def _with_arrival(jobs: pl.DataFrame, p: TraceConventions, findings: list[TraceFinding]) -> pl.DataFrame:
    """The jobs in order of the instants at which they come; what is logged of waits counts from then on."""
    is_late = pl.col("eligible_s").fill_null(0) > 0
    n = int(jobs.select(is_late.sum()).item())
    is_moved = p.arrival == "eligible"
    _note(findings, "eligible later", n, "jobs that could start only some time after their submission",
          "come when they could start" if is_moved else "come when they were submitted",
          "changed" if is_moved else "lost")  # fmt: skip
    if not n or not is_moved:
        return jobs
    late_s = pl.col("eligible_s").fill_null(0)
    moved = jobs.with_columns(
        submit_s=pl.col("submit_s") + late_s,
        wait_s=(pl.col("wait_s") - late_s).clip(0),
        begin_s=(pl.col("begin_s") - late_s).clip(0),
    )
    return moved.sort("submit_s", maintain_order=True)


def _in_span(jobs: pl.DataFrame, p: TraceConventions) -> pl.DataFrame:
    if p.from_s == 0 and p.span_s is None:
        return jobs
    since = pl.col("submit_s") - pl.col("submit_s").min() - p.from_s
    return jobs.filter((since >= 0) & ((since < p.span_s) if p.span_s is not None else pl.lit(True)))


def _end_s(submit_s: pl.Series, p: TraceConventions) -> float:
    """When the part of a log that is replayed ends: with the span, or with the last submission, be it of any job."""
    first_s, last_s = (float(at_s) for at_s in (submit_s.min(), submit_s.max()))  # type: ignore[arg-type]
    return last_s if p.span_s is None else first_s + p.from_s + p.span_s


def _with_run_time(log: pl.DataFrame, p: TraceConventions, findings: list[TraceFinding]) -> pl.DataFrame:
    has_run = pl.col("run_s").fill_null(0) > 0
    is_kept = p.no_run_time == "one-second"
    n = log.height - log.select(has_run.sum()).item()
    become: tuple[str, Part] = ("kept as 1 s", "guessed") if is_kept else ("left out", "lost")
    _note(findings, "no run time", n, "jobs that ran for 0 s or for an unknown time", *become)
    return log.with_columns(run_s=pl.when(has_run).then("run_s").otherwise(1)) if is_kept else log.filter(has_run)


def _with_processors(log: pl.DataFrame, processors: Processors, findings: list[TraceFinding]) -> pl.DataFrame:
    names = {"requested": "requested_cores", "allocated": "cores"}
    wanted = names.pop(processors)
    ((other_word, other),) = names.items()
    n_missing, n_none = log.select(
        (pl.col(wanted).is_null() & pl.col(other).is_not_null()).sum(),
        (pl.col(wanted).is_null() & pl.col(other).is_null()).sum().alias("none"),
    ).row(0)
    reason, done = f"jobs without a number of {processors} processors", f"taken at the {other_word} ones"
    _note(findings, f"no {processors} processors", n_missing, reason, done, "guessed")
    _note(findings, "no processors", n_none, "jobs without any number of processors", "left out", "lost")
    n_others = log.select((pl.col(wanted) != pl.col(other)).sum()).item()
    _note(findings, OTHER_PROCESSORS, n_others, "jobs that were given other processors than they requested",
          f"replayed with the {processors} ones")  # fmt: skip
    needed = log.with_columns(needed=pl.coalesce(wanted, other))
    return needed.filter(pl.col("needed").is_not_null()) if n_none else needed


def _with_usual_time(
    log: pl.DataFrame, usual_s: pl.Expr, p: TraceConventions, findings: list[TraceFinding]
) -> pl.DataFrame:
    """What a site gives jobs that ask for no time; those that ran for longer must have asked for some."""
    if p.no_request == "drop":
        return log
    gets_it = (pl.col("requested_s").fill_null(0) <= 0) & (usual_s >= pl.col("run_s"))
    usual = pl.when(gets_it).then(usual_s).otherwise("requested_s")
    n, done = log.select(gets_it.sum()).item(), "given default_time of their partition, or max_time"
    _note(findings, "usual time", n, "jobs without a requested time that ran no longer than that", done, "guessed")
    return log.with_columns(requested_s=usual)


def _with_request(log: pl.DataFrame, p: TraceConventions, findings: list[TraceFinding]) -> pl.DataFrame:
    has_request = pl.col("requested_s").fill_null(0) > 0
    is_dropped = p.no_request == "drop"
    n = log.height - log.select(has_request.sum()).item()
    become: tuple[str, Part] = ("left out", "lost") if is_dropped else ("planned as long as they ran", "guessed")
    _note(findings, "no requested time", n, "jobs without a requested time", *become)
    if is_dropped:
        return log.filter(has_request)
    return log.with_columns(requested_s=pl.when(has_request).then("requested_s").otherwise("run_s"))


def _label(cells: pl.Series) -> Label:
    """The names in a column in the order in which they first occur, and the number of each cell's name."""
    names = cells.drop_nulls().unique(maintain_order=True)
    numbers = pl.int_range(names.len(), dtype=pl.Int32, eager=True)
    codes = cells.replace_strict(names, numbers, default=-1, return_dtype=pl.Int32) if names.len() else cells
    return Label(tuple(names.to_list()), codes.cast(pl.Int32).fill_null(-1).to_numpy())
