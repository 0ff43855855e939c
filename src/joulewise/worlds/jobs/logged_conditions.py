"""What the jobs of a log wait for: others that they follow or depend on, begin times, and parts that start together."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.conditions import ALONE, NO_JOB, Conditions, Kind, cycles_of
from joulewise.model.preemption import Preemption
from joulewise.units import count, duration
from joulewise.worlds.jobs.contradicted import ends_told, unmet_in_log
from joulewise.worlds.jobs.dependencies import (
    CORRESPONDING,
    KINDS,
    SINGLETON,
    TAKEN_AS,
    Dependency,
    OddDependencyError,
    dependencies_in,
)
from joulewise.worlds.jobs.logs import Part
from joulewise.worlds.jobs.trace_jobs import TraceFinding, TraceJobs

PART_OF_A_MIXED_JOB = r"^(\d+)\+\d+((?:@.*)?)$"
TASK_OF_AN_ARRAY = r"^(\d+)_\d+((?:@.*)?)$"
"""How Slurm names these: the number of the whole, then their own; of a resample the block is behind it."""

NEVER = "never met"
"""The key of the finding on jobs that wait for what cannot come any more."""

NO_LIMIT = 0
"""What Slurm calls the limit of an array that has none."""

_LEAVE_OUT = 'put it right in the log, or give dependencies = "ignore" in [workload]'


class _Row(NamedTuple):
    job: int
    on: int
    kind: int
    delay_s: float


@dataclass(frozen=True)
class LoggedConditions:
    """What the jobs of a log wait for, on a site or on clusters; InputError with all that is wrong with it."""

    jobs: TraceJobs
    source: str
    has_site: bool

    @cached_property
    def together(self) -> Ints | None:
        """A number for the parts of each mixed job, -1 for other jobs; None where no parts start together."""
        return _together(self.jobs.log) if self.has_site else None

    def conditions(
        self, fits: Bools, findings: list[TraceFinding], giving: Preemption | None = None
    ) -> Conditions | None:
        """What jobs wait for, None where none does, where some give way to others; what cannot be kept is noted."""
        log = self.jobs.log
        told = _Told.of(self.jobs, fits, findings)
        followed = _followed(self.jobs, fits, findings)
        problems = [*_array_problems(log, self.source), *told.problems(self.source), *_odd_begins(log, self.source)]
        begin_s = _begin_s(self.jobs, findings)
        _note_lone_parts(log, findings)
        if not followed and not told.rows and begin_s is None and self.together is None:
            raise_if_any((*problems, *self._unknown_to_clusters(None)))
            return None
        logged = _conditions([*followed, *told.rows], told.any_of, begin_s, self.together, log)
        problems += _cycles(logged, log["job_id"], self.source)
        conditions = _without_contradicted(logged, len(followed), self.jobs, findings)
        raise_if_any((*problems, *self._unknown_to_clusters(logged)))
        if not conditions.n_rows and begin_s is None and self.together is None:
            return None
        never = int(_never_met(conditions, self.jobs, giving).sum())
        _note(findings, NEVER, never, "jobs that wait for what cannot come any more, such as the good end of one that "
              "failed", "never start, as in Slurm")  # fmt: skip
        return conditions

    def _unknown_to_clusters(self, conditions: Conditions | None) -> Iterator[Problem]:
        """What jobs wait for that only a site knows."""
        if self.has_site:
            return
        told = conditions is not None and not conditions.are_of_one_earlier_job
        names = [name for name in ("dependency", "begin_s") if told and self.jobs.log[name].count()]
        names += ["array_limit"] if (self.jobs.log["array_limit"] > NO_LIMIT).any() else []
        if names:
            found = f"found {' and '.join(f'jobs with {name}' for name in names)}, and clusters"
            allowed = "on clusters jobs can wait for the end of one earlier job alone"
            yield Problem(self.source, found, allowed, _ON_CLUSTERS)


def _conditions(
    rows: list[_Row], any_of: Bools, begin_s: Floats | None, together: Ints | None, log: pl.DataFrame
) -> Conditions:
    """These rows, and how jobs ended where any of them asks for that."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    by_end = any(row.kind in (Kind.ENDED_WELL, Kind.ENDED_BADLY) for row in rows)
    return Conditions(
        np.array(columns[0], np.int32),
        np.array(columns[1], np.int32),
        np.array(columns[2], np.int8),
        np.array(columns[3], np.float64),
        any_of if any_of.any() else None,
        begin_s,
        together,
        *(ends_told(log) if by_end else (None, None)),
    )


def _without_contradicted(
    conditions: Conditions, n_followed: int, jobs: TraceJobs, findings: list[TraceFinding]
) -> Conditions:
    """The conditions without the dependencies of which the log shows that they did not hold; these are noted."""
    unmet = unmet_in_log(conditions, jobs)
    unmet[:n_followed] = False
    _note(findings, "started without it", np.unique(conditions.job[unmet]).size,
          "jobs that in the log started before what they depend on had come", "taken as met, as the log contradicts it",
          "guessed")  # fmt: skip
    kept = ~unmet
    columns = {name: getattr(conditions, name)[kept] for name in ("job", "on", "kind", "delay_s")}
    return replace(conditions, **columns)


_ON_CLUSTERS = 'describe the site in [system], or give dependencies = "ignore" in [workload]'


def _note(findings: list[TraceFinding], key: str, n: int, reason: str, done: str, part: Part = "lost") -> None:
    if n:
        findings.append(TraceFinding(key, n, reason, done, part))


# --- the job before -------------------------------------------------------------------------------------


def _followed(jobs: TraceJobs, fits: Bools, findings: list[TraceFinding]) -> list[_Row]:
    """The job that each one follows, and how long after its end; what cannot be kept is noted."""
    log = jobs.log
    if log["after_job"].null_count() == log.height:
        return []
    row = pl.int_range(pl.len(), dtype=pl.Int32)
    followers = log.select("after_job", row=row).filter(pl.col("after_job").is_not_null())
    others = log.select(after_job="job_id", row=row, other=row)
    joined = followers.join_asof(others, on="row", by="after_job", allow_exact_matches=False, check_sortedness=False)
    is_absent = ~followers["after_job"].is_in(others["after_job"].implode())
    as_submitted = "submitted when they were"
    _note(findings, "follows an absent job", int(is_absent.sum()),
          "jobs that follow one which is not replayed", as_submitted)  # fmt: skip
    _note(findings, "follows a later job", joined["other"].null_count() - int(is_absent.sum()),
          "jobs that follow one which was submitted later", as_submitted)  # fmt: skip
    after = np.full(log.height, NO_JOB, np.int32)
    after[joined["row"].to_numpy()] = joined["other"].fill_null(NO_JOB).to_numpy()
    too_large = (after != NO_JOB) & ~fits[after]
    _note(findings, "follows a job that fits nowhere", int(too_large.sum()),
          "jobs that follow one which fits nowhere", as_submitted)  # fmt: skip
    after[too_large] = NO_JOB
    think_s = log["think_s"].fill_null(0).to_list()
    return [
        _Row(job, int(after[job]), int(Kind.ENDED), float(think_s[job])) for job in np.flatnonzero(after >= 0).tolist()
    ]


# --- dependencies ---------------------------------------------------------------------------------------


@dataclass
class _Told:
    """What the dependencies of a log say: rows, the jobs of which any is enough, and what is wrong with texts."""

    jobs: TraceJobs
    any_of: Bools
    rows: list[_Row] = field(default_factory=list)
    wrong: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(jobs: TraceJobs, fits: Bools, findings: list[TraceFinding]) -> _Told:
        log = jobs.log
        told = _Told(jobs, np.zeros(log.height, np.bool_))
        asked = log.with_row_index("row").filter(pl.col("dependency").is_not_null())
        if asked.height:
            names = _Names(log)
            unmet = defaultdict[str, set[int]](set)
            for row, job_id, text in asked.select("row", "job_id", "dependency").iter_rows():
                told._read(row, job_id, text, names, fits, unmet)
            for key, (reason, done) in _UNMET.items():
                _note(findings, key, len(unmet[key]), reason, done)
        return told

    def _read(
        self, row: int, job_id: str, text: str, names: _Names, fits: Bools, unmet: defaultdict[str, set[int]]
    ) -> None:
        """Take what one job waits for; what is not there is met, as Slurm does with jobs it has forgotten."""
        try:
            found = dependencies_in(text)
        except OddDependencyError as error:
            self.wrong[error.found, error.allowed].append(job_id)
            return
        rows: list[_Row] = []
        is_met = False
        for each in found.each:
            others = names.asked(each, row, job_id)
            if row in others:
                itself = (f"found {text!r}, which is a dependency on itself", "must be on another job")
                self.wrong[itself].append(job_id)
                return
            there = [other for other in others if fits[other]]
            if each.word == SINGLETON and names.is_nameless(row):
                unmet["one of a name, without a name"].add(row)
            elif not others and each.word != SINGLETON:
                unmet["depends on an absent job"].add(row)
            elif len(there) < len(others):
                unmet["depends on a job that fits nowhere"].add(row)
            is_met |= not there
            if each.word in TAKEN_AS:
                unmet[each.word].add(row)
            kind = int(KINDS.get(each.word, Kind.ENDED))
            rows += [_Row(row, other, kind, each.delay_s) for other in there]
        if not (found.is_any and is_met):
            self.rows += rows
            self.any_of[row] = found.is_any and bool(rows)

    def problems(self, source: str) -> Iterator[Problem]:
        for (found, allowed), job_ids in self.wrong.items():
            yield Problem(f"{source}: dependency of {_these(job_ids)}", found, allowed, _LEAVE_OUT)


_UNMET = {
    "depends on an absent job": ("jobs that depend on one which is not replayed", "taken as met, as Slurm does"),
    "one of a name, without a name": (
        "jobs that wait for all before them of their name and user, without a name or a user",
        "these do not wait",
    ),
    "depends on a job that fits nowhere": ("jobs that depend on one which fits nowhere", "taken as met"),
    **TAKEN_AS,
}


class _Names:
    """The rows of jobs by what dependencies call them: jobs, all tasks of an array, all parts of a mixed job."""

    def __init__(self, log: pl.DataFrame) -> None:
        self.log = log
        self.whole: dict[str, list[int]] = defaultdict(list)
        self.job: dict[str, list[int]] = defaultdict(list)
        wholes = pl.coalesce(_whole_in("job_id", TASK_OF_AN_ARRAY), _whole_in("job_id", PART_OF_A_MIXED_JOB))
        for row, (name, whole) in enumerate(log.select("job_id", whole=wholes).iter_rows()):
            self.job[name].append(row)
            if whole is not None:
                self.whole[whole].append(row)
        self.alike: dict[int, list[int]] = {}

    def asked(self, each: Dependency, row: int, job_id: str) -> list[int]:
        """The rows of the jobs on which a job depends."""
        if each.word == SINGLETON:
            return self._before_of_one_name(row)
        number, mark, block = job_id.partition("@")
        name = each.job.removesuffix("_*")
        if each.word == CORRESPONDING and "_" in number and "_" not in name:
            name = f"{name}_{number.partition('_')[2]}"
        return self._last_before(name + mark + block, row)

    def is_nameless(self, row: int) -> bool:
        """Whether the name or the user of a job is not known."""
        return self.log["user"][row] is None or self.log["application"][row] is None

    def _last_before(self, name: str, row: int) -> list[int]:
        """The job of a name: where several have it the last one before, or else the first; or all parts of a whole."""
        rows = self.job.get(name)
        if rows is None:
            return self.whole.get(name, [])
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            return [rows[at - 1]] if at else [row]
        return [rows[max(at - 1, 0)]]

    def _before_of_one_name(self, row: int) -> list[int]:
        """All jobs before that have the same name and user, as far back as the last that waited for all before it."""
        if not self.alike:
            self.alike = _before_of_one_name(self.log)
        return self.alike[row]


def _before_of_one_name(log: pl.DataFrame) -> dict[int, list[int]]:
    """By the row of each job that is to be the only one of its name and user, the rows for which it waits."""
    is_alone = log["dependency"].str.contains(SINGLETON, literal=True).fill_null(False)
    since: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    found: dict[int, list[int]] = {}
    for row, (user, name, alone) in enumerate(zip(log["user"], log["application"], is_alone, strict=True)):
        if user is None or name is None:
            found[row] = []
            continue
        if alone:
            found[row] = since[user, name]
            since[user, name] = []
        since[user, name].append(row)
    return found


def _whole_in(column: str, pattern: str) -> pl.Expr:
    return pl.col(column).str.extract(pattern, 1) + pl.col(column).str.extract(pattern, 2)


def _these(job_ids: list[str]) -> str:
    return f"job {job_ids[0]}" + (f" and {count(len(job_ids) - 1, 'other')}" if len(job_ids) > 1 else "")


def _cycles(conditions: Conditions, names: pl.Series, source: str) -> Iterator[Problem]:
    for cycle in cycles_of(conditions, names.len()):
        found = f"found a cycle: {' after '.join(names[row] for row in cycle)}"
        yield Problem(f"{source}: dependency of job {names[cycle[0]]}", found, "none would ever start", _LEAVE_OUT)


def _never_met(conditions: Conditions, jobs: TraceJobs, giving: Preemption | None) -> Bools:
    """Which jobs wait for what cannot come, whatever the scheduler does.

    It could kill those past their limits of which the log does not say how they ended, and cancel some for others.
    """
    n = jobs.cores.size
    failed, succeeded = (
        np.zeros(n, np.bool_) if told is None else told for told in (conditions.failed, conditions.succeeded)
    )
    surely_good = ~failed & (succeeded | (jobs.run_s <= jobs.requested_s))
    if giving is not None:
        surely_good &= ~np.append(giving.cancels & giving.stops.any(axis=0), False)[giving.of_job]
    is_dead = (conditions.kind == Kind.ENDED_WELL) & failed[conditions.on]
    is_dead |= (conditions.kind == Kind.ENDED_BADLY) & surely_good[conditions.on]
    is_any = np.zeros(n, np.bool_) if conditions.any_of is None else conditions.any_of
    never = np.zeros(n, np.bool_)
    while True:
        dead = is_dead | never[conditions.on]
        n_dead, n_rows = (np.bincount(conditions.job[rows], minlength=n) for rows in (dead, dead | True))
        now = np.where(is_any, (n_dead == n_rows) & (n_rows > 0), n_dead > 0)
        if conditions.together is not None:
            parts = conditions.together != ALONE
            now |= parts & np.isin(conditions.together, conditions.together[now & parts])
        if (now == never).all():
            return never
        never = now


# --- begin times and parts ------------------------------------------------------------------------------


def _begin_s(jobs: TraceJobs, findings: list[TraceFinding]) -> Floats | None:
    """The begin time of each job, at the earliest when it comes; None where none has one."""
    later_s, wait_s = (jobs.log[name].cast(pl.Float64).to_numpy() for name in ("begin_s", "wait_s"))
    is_wrong = later_s > wait_s
    _note(findings, "begins before its begin time", int(is_wrong.sum()),
          "jobs that started before their begin times in the log", "these are not used", "guessed")  # fmt: skip
    later_s = np.where((later_s > 0) & ~is_wrong, later_s, 0.0)
    return jobs.submit_s + later_s if (later_s > 0).any() else None


def _odd_begins(log: pl.DataFrame, source: str) -> Iterator[Problem]:
    """Begin times after everything that the log tells of."""
    log = log.select("job_id", "submit_s", "begin_s", "run_s", wait_s=pl.col("wait_s").fill_null(0))
    last_s = log.select((pl.col("submit_s") + pl.col("wait_s") + pl.col("run_s")).max()).item()
    late = log.filter(pl.col("submit_s") + pl.col("begin_s") > last_s)
    if late.height:
        found = f"found {duration(late['begin_s'][0])} after its submission, which is outside the log"
        ends_s = last_s - late["submit_s"][0]
        allowed = f"must be before the last job of the log has ended, {duration(ends_s)} after that submission"
        yield Problem(f"{source}: begin time of {_these(late['job_id'].to_list())}", found, allowed, _LEAVE_OUT)


def _note_lone_parts(log: pl.DataFrame, findings: list[TraceFinding]) -> None:
    """Note parts of mixed jobs of which others are not replayed: a number is missing, or there is only one."""
    parts = log.select(whole=_whole_in("job_id", PART_OF_A_MIXED_JOB), number=_number_of_part()).drop_nulls("whole")
    of_whole = parts.group_by("whole").agg(pl.len(), last=pl.col("number").max())
    is_lone = (pl.col("len") == 1) | (pl.col("len") <= pl.col("last"))
    n = int(of_whole.filter(is_lone)["len"].sum())
    _note(findings, "part without the others", n, "parts of mixed jobs of which others are not replayed",
          "start without these")  # fmt: skip


def _number_of_part() -> pl.Expr:
    return pl.col("job_id").str.extract(r"\+(\d+)", 1).cast(pl.Int64, strict=False)


def _together(log: pl.DataFrame) -> Ints | None:
    """A number for the parts of each mixed job of which several are replayed, -1 for all other jobs."""
    whole = log.select(whole=_whole_in("job_id", PART_OF_A_MIXED_JOB))["whole"]
    if whole.null_count() == whole.len():
        return None
    shared = whole.drop_nulls().value_counts().filter(pl.col("count") > 1)["whole"].sort()
    numbers = pl.int_range(shared.len(), dtype=pl.Int32, eager=True)
    if not shared.len():
        return None
    return whole.replace_strict(shared, numbers, default=ALONE, return_dtype=pl.Int32).fill_null(ALONE).to_numpy()


def n_odd_dependencies(log: pl.DataFrame) -> int:
    """How many jobs have dependencies that Slurm would not take."""
    told = log["dependency"].drop_nulls().value_counts()
    return sum(n for text, n in told.iter_rows() if not _is_sound(text))


def _is_sound(text: str) -> bool:
    try:
        dependencies_in(text)
    except OddDependencyError:
        return False
    return True


def tasks_of_arrays(log: pl.DataFrame) -> tuple[Counts, Counts, list[str]]:
    """The limited array of each job, -1 for none; how many tasks of each may run together, and what it is called."""
    most = pl.when(pl.col("array_limit") != NO_LIMIT).then("array_limit")
    frame = log.select(whole=_whole_in("job_id", TASK_OF_AN_ARRAY), most=most)
    limited = frame.drop_nulls().group_by("whole", maintain_order=True).agg(pl.col("most").max())
    if limited.is_empty():
        return np.full(log.height, -1, np.int64), np.empty(0, np.int64), []
    numbers = pl.int_range(limited.height, dtype=pl.Int64, eager=True)
    whole = frame["whole"].replace_strict(limited["whole"], numbers, default=-1, return_dtype=pl.Int64)
    return whole.fill_null(-1).to_numpy(), limited["most"].to_numpy(), limited["whole"].to_list()


def _array_problems(log: pl.DataFrame, source: str) -> Iterator[Problem]:
    """Limits of arrays that are none."""
    wrong = log.filter(pl.col("array_limit") < NO_LIMIT)
    if wrong.height:
        found = f"found {wrong['array_limit'][0]}"
        where = f"{source}: array_limit of {_these(wrong['job_id'].to_list())}"
        yield Problem(where, found, "must be 1 or more, or empty or 0 for no limit", _LEAVE_OUT)
