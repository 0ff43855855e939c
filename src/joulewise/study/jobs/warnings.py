"""What is no mistake in a study of parallel jobs, and still worth a word: jobs that can never start, say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from joulewise.errors import Problem
from joulewise.model.passes import USUAL
from joulewise.study.jobs.sources import JOB_TABLE, TRACE
from joulewise.study.jobs.worlds import Scene
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.source import Draw
from joulewise.study.spec.trials import FEWEST_BLOCKS, FEWEST_RESAMPLES
from joulewise.units import count, duration, noun, power

if TYPE_CHECKING:
    from joulewise.model.arrays import Bools, Counts, Floats
    from joulewise.model.jobs import JobWorld
    from joulewise.simulate.jobs.scheduler import Scheduler
    from joulewise.worlds.jobs.resample import Blocks

_NEVER = "such jobs never start"


class _Asked(NamedTuple):
    """Where a job comes from, which one it is there, and of what it needs how much."""

    source: str
    place: str
    amount: int
    unit: str


def jobs_that_never_start(parts: WorldParts, scene: Scene, draw: Draw) -> Iterator[Problem]:
    """Jobs that are larger than every cluster they may use, and those that draw too much, or for too long."""
    import numpy as np

    world, kind = scene.world, scene.world.jobs.work.task_type
    has_options = (np.diff(world.types.first) > 0)[kind]
    nowhere = np.flatnonzero(~has_options)
    if nowhere.size:
        first = _asked(parts, scene, draw, int(nowhere[0]))
        yield _too_large(world, nowhere, first) if world.site is None else _misfits(scene, nowhere, first)
    cap_w = world.supply.cap_w
    if cap_w is None:
        return
    too_strong = _least(world, _drawn_w(world))[kind] > cap_w.max()
    too_long = _least(world, world.types.planned_s - _allowed_for_s(cap_w, _drawn_w(world)))[kind] > 0
    for rows, tell in ((too_strong, _too_strong), (too_long & ~too_strong, _too_long)):
        jobs = np.flatnonzero(has_options & rows)
        if jobs.size:
            yield tell(world, cap_w, jobs, _asked(parts, scene, draw, int(jobs[0])).place)


def _too_strong(world: JobWorld, cap_w: Floats, jobs: Counts, place: str) -> Problem:
    """Jobs with which nodes always draw more than is allowed at any hour."""
    least_w = float(_least(world, _drawn_w(world))[world.jobs.work.task_type[jobs[0]]])
    found = f"{_so_many(jobs, world)} {noun(jobs.size, 'draws', 'draw')} more; the first is {place}"
    allowed = f"with it nodes draw {power(least_w)} or more, and {power(float(cap_w.max()))} is the most allowed"
    return Problem("supply.power_cap", found, allowed, _NEVER)


def _too_long(world: JobWorld, cap_w: Floats, jobs: Counts, place: str) -> Problem:
    """Jobs that need more hours in a row than the cap lets them draw what they draw."""
    types, kind = world.types, int(world.jobs.work.task_type[jobs[0]])
    options = slice(types.first[kind], types.first[kind + 1])
    drawn_w, planned_s = _drawn_w(world)[options], types.planned_s[options]
    allowed_s = _allowed_for_s(cap_w, drawn_w)
    nearest = int((planned_s - allowed_s).argmin())
    need = noun(jobs.size, "needs", "need")
    found = f"{_so_many(jobs, world)} {need} more power for longer than it allows; the first is {place}"
    allowed = (
        f"with it nodes draw {power(float(drawn_w[nearest]))} for {duration(float(planned_s[nearest]))}, which is "
        f"allowed for {duration(float(allowed_s[nearest]))} in a row at most"
    )
    return Problem("supply.power_cap_by_hour", found, allowed, _NEVER)


def rules_without_jobs(scene: Scene) -> Iterator[Problem]:
    """Rules of the study that hold for no job of its log."""
    findings = () if scene.trace is None else scene.trace.findings
    for finding in findings:
        if finding.key == "idle rule":
            yield Problem("workload.rules", f"found {finding.reason}", finding.done)


def processors_that_differ(parts: WorldParts, scene: Scene) -> Iterator[Problem]:
    """Jobs of a log that had other processors than they requested, unless the study says which of them count."""
    from joulewise.worlds.jobs.trace_jobs import OTHER_PROCESSORS, processors_of

    for finding in () if scene.trace is None else scene.trace.findings:
        chosen = parts.workload.parameters.processors
        if finding.key == OTHER_PROCESSORS and chosen != "allocated":
            assert scene.trace is not None
            is_asked = processors_of(scene.trace.about, parts.workload.parameters) == "requested"
            found = f"{finding.n:,} {finding.reason}"
            yield Problem("workload.processors", found, finding.done, _INSTEAD[is_asked])


def conditions_never_met(scene: Scene) -> Iterator[Problem]:
    """Jobs of a log that wait for what cannot come any more, such as the good end of one that failed."""
    from joulewise.worlds.jobs.logged_conditions import NEVER

    for finding in () if scene.trace is None else scene.trace.findings:
        if finding.key == NEVER:
            yield Problem("workload.dependencies", f"found {finding.n:,} {finding.reason}", finding.done, _IGNORE)


_IGNORE = 'dependencies = "ignore" starts them, and keeps no other condition either'


def resources_not_replayed(scene: Scene) -> Iterator[Problem]:
    """What a log tells of its jobs and the clusters of a study do not have: GPUs, say."""
    findings = () if scene.trace is None else scene.trace.findings
    lost = [f"{finding.n:,} {finding.reason}" for finding in findings if finding.key.startswith("asks for ")]
    if lost:
        yield Problem("workload.trace", f"found {', '.join(lost)}", "clusters have processors alone", _ENOUGH)


def resamples_of_log(scene: Scene, trials: int) -> Iterator[Problem]:
    """What trials draw from a log that is resampled, and what they cannot draw."""
    blocks = None if scene.trace is None else scene.trace.blocks
    if blocks is None:
        return
    where, days = "workload.resample", count(blocks.n_days, "whole day")
    n_places, n_begins = len(blocks.places), len(blocks.first_days)
    found = f"found blocks of {count(blocks.length, 'day')} in a log of {days}"
    if trials == 1:
        yield Problem(where, found, "the only trial is the log itself", "trials = 50 draws 49 resamples")
    elif n_begins == 1:
        yield Problem(where, found, "there is one such block, so trials are all alike", "take shorter blocks")
    else:
        drawn = f"a resample is {count(n_places, 'block')}, each drawn from {n_begins:,} with replacement"
        yield Problem(where, found, drawn, "the first trial is the log itself")
        yield from _uncertain_spread(blocks, trials - 1)
    yield from _days_not_drawn(scene, blocks)


def _uncertain_spread(blocks: Blocks, n_resamples: int) -> Iterator[Problem]:
    """What makes intervals uncertain: few blocks, few resamples."""
    if blocks.n_apart < FEWEST_BLOCKS:
        found = f"found {count(blocks.n_apart, 'block')} that {noun(blocks.n_apart, 'fits', 'fit')} side by side"
        allowed = (
            f"how wide intervals of fewer than {FEWEST_BLOCKS} are is uncertain, and too little where days {_DEPEND}"
        )
        yield Problem("workload.resample", found, allowed, "replay a longer part of the log, or take shorter blocks")
    if n_resamples < FEWEST_RESAMPLES:
        found = f"found {count(n_resamples, 'resample')}"
        allowed = f"the spread of fewer than {FEWEST_RESAMPLES} is not known well enough to say 95 %"
        yield Problem("trials", found, f"{allowed}, so intervals are wider", "trials = 50 draws 49 resamples")


def _days_not_drawn(scene: Scene, blocks: Blocks) -> Iterator[Problem]:
    """Days of a log that no resample has, and days of resamples that are as empty as the end of a span."""
    from joulewise.model.supply import DAY_S

    where = "workload.resample"
    if blocks.n_left_out:
        left = f"found {count(blocks.n_left_out, 'day')} at the end of the log that no block of whole weeks reaches"
        yield Problem(where, left, "such blocks begin every seventh day, so weekdays keep their places", _WHOLE_WEEKS)
    if blocks.tail_s >= _LEAST_TAIL_S:
        left = f"found a last day of {duration(blocks.tail_s)}"
        yield Problem(where, left, "blocks are of whole days, so it is in the first trial alone", _WHOLE_DAY)
    empty_s = blocks.length_s - float(scene.world.jobs.work.arrival_s[-1] - scene.world.jobs.work.arrival_s[0])
    if empty_s >= DAY_S:
        found = f"found a span that ends {duration(empty_s)} after its last job"
        yield Problem("workload.span", found, "resamples have such days without jobs as well", _SHORTER_SPAN)


_DEPEND = "depend on each other for longer than a block"
_LEAST_TAIL_S = 60.0
_WHOLE_DAY = "if the log is known to be whole until the end of that day, a span of so many days says so"
_SHORTER_SPAN = "shorten it, unless nobody submitted then"
_WHOLE_WEEKS = "give a span of whole weeks, or blocks of other lengths"
_ENOUGH = "such jobs are replayed as if there were enough of everything else"
_INSTEAD = {
    True: 'processors = "allocated" takes what they had',
    False: 'processors = "requested" takes what they asked for',
}


def settings_without_use(scene: Scene, schedulers: Sequence[Scheduler]) -> Iterator[Problem]:
    """What the file of a site says of its Slurm where no scheduler of the study goes by it."""
    site, demands = scene.world.site, scene.world.jobs.demands
    if site is None or demands is None:
        return
    has_weights = demands.priorities is not None and bool(demands.priorities.weights)
    if has_weights and not any(scheduler.policy.is_weighted for scheduler in schedulers):
        found, allowed = "found weights of priorities in [slurm]", "no policy here goes by them"
        yield Problem("system.site", found, allowed, 'policy = "multifactor" does')
    has_passes = replace(site.passes, clock_s=USUAL.clock_s) != USUAL
    if has_passes and not any(scheduler.passes == "slurm" for scheduler in schedulers):
        found, allowed = "found settings of passes in [slurm]", "jobs are gone through whenever something changes"
        yield Problem("system.site", found, allowed, 'passes = "slurm" goes by them')
    for scheduler in schedulers:
        if scheduler.policy.is_weighted:
            yield from _weights_without_use(scene.world, scheduler)


def _weights_without_use(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Weights of a study for what all jobs of a site have alike, and places of queues in which no job is."""
    import numpy as np

    from joulewise.simulate.jobs.sites.shares import factors_on

    for name, factor in factors_on(world, scheduler).items():
        if scheduler.weights.get(name, 0) and np.ptp(factor) == 0:
            found = f"found {scheduler.weights[name]:g}"
            yield Problem(
                f"scheduler.weights.{name}", found, "it changes nothing: all jobs have the same", _ALIKE[name]
            )
    label = world.jobs.labels.get("queue")
    absent = [name for name in scheduler.standing if label is None or name not in label.names]
    if absent:
        yield Problem("scheduler.standing", f"found {', '.join(absent)}", "no job is of such a queue", "leave it out")


_ALIKE = {
    "size": "leave it out",
    "partition": "give priority to each [[partition]] of the site",
    "qos": "give priority to each [[qos]] of the site",
    "tres": "give priorityweighttres in [slurm] of the site",
    "queue": "give standing = {debug = 1}",
}
"""What makes a factor differ from job to job."""


def times_of_tables(parts: WorldParts, scene: Scene, draw: Draw) -> Iterator[Problem]:
    """Times in tables that have no dates, where the jobs have some, and dates that the jobs reach beyond."""
    from joulewise.worlds.supply import read_hours

    if parts.workload.source != TRACE:
        return
    parameters, clock = parts.supply.parameters, scene.clock
    first = f", submitted {clock.told(clock.first_s)}" if clock.zero_s is not None else ""
    last_s = float(scene.world.jobs.work.arrival_s[-1])
    for key, hours in read_hours(parameters, draw.folder, clock).items():
        if hours.begins_s is None and hours.values.size > 1:
            found = f"found {count(hours.values.size, 'hour')} without dates, and jobs of a log"
            yield Problem(f"supply.{key}", found, f"they count from the first job{first}", _DATED)
        elif hours.ends_s is not None and clock.zero_s is not None and hours.values.size > 1:
            short_s = last_s - (hours.ends_s - clock.zero_s)
            if short_s > 0:
                found = f"found hours that end {duration(short_s)} before the last job is submitted"
                comes, again = f"the last job comes {clock.told(last_s)}", "its first hours count again from then on"
                yield Problem(f"supply.{key}", found, comes, again)
    yield from _outages_of_logs(parts, scene, draw, first)


_DATED = 'give dates, in a column `timestamp` or `start` and `end`, such as "2026-01-31T13:00Z"'


def _outages_of_logs(parts: WorldParts, scene: Scene, draw: Draw, first: str) -> Iterator[Problem]:
    from joulewise.worlds.frames import read_table
    from joulewise.worlds.jobs.node_outages import outage_times

    name = parts.system.parameters.outages
    if name is None:
        return
    table = read_table(name, draw.folder)
    times = outage_times(table, scene.clock)
    where, n = "system.outages", table.frame.height
    if not times.is_dated:
        found = f"found {count(n, 'outage')} without dates, and jobs of a log"
        yield Problem(where, found, f"{noun(n, 'it counts', 'they count')} from the first job{first}", _DATED)
        return
    last_s = float(scene.world.jobs.work.arrival_s[-1])
    for outside, what, so in (
        (times.end_s <= 0, f"over when the simulation begins, {scene.clock.told(0.0)}", "nothing"),
        (times.start_s > last_s, f"later than the last job, submitted {scene.clock.told(last_s)}", _STILL_THERE),
    ):
        if n_outside := int(outside.sum()):
            found = f"found {n_outside:,} of {count(n, 'outage')} {noun(n_outside, 'that is', 'that are')} {what}"
            yield Problem(where, found, f"{noun(n_outside, 'it changes', 'they change')} {so}")


_STILL_THERE = "only what jobs that still wait or run then find"


def _too_large(world: JobWorld, jobs: Counts, first: _Asked) -> Problem:
    clusters = world.clusters
    sizes = clusters.n_nodes if first.unit == "node" else clusters.n_nodes * clusters.cores_per_node
    largest = int(sizes.argmax())
    fit, asks = noun(jobs.size, "fits", "fit"), count(first.amount, first.unit)
    found = f"{_so_many(jobs, world)} {fit} on no cluster allowed to them; the first is {first.place}, of {asks}"
    allowed = f"the largest cluster, {clusters.names[largest]}, has {count(int(sizes[largest]), first.unit)}"
    return Problem(first.source, found, allowed, _NEVER)


def _misfits(scene: Scene, jobs: Counts, first: _Asked) -> Problem:
    """Jobs for which there is no room on a site, or that a limit shuts out, with all reasons."""
    from joulewise.worlds.jobs.sites.demands import NEVER_STARTED

    findings = () if scene.trace is None else scene.trace.findings
    reasons = [f"{found.key} ({found.n:,})" for found in findings if found.done == NEVER_STARTED]
    said = f"{_so_many(jobs, scene.world)} can never start on the site"
    return Problem(first.source, f"{said}; the first is {first.place}", "; ".join(reasons), _NEVER)


def _so_many(jobs: Counts, world: JobWorld) -> str:
    return f"{jobs.size:,} of {count(world.n_jobs, 'job')}"


def _drawn_w(world: JobWorld) -> Floats:
    """What all nodes draw while one job runs by each option; NaN where that is not known."""
    import numpy as np

    types, standby = world.types, world.clusters.standby
    idle_w = np.zeros(world.clusters.n_clusters) if standby is None else standby.idle_w
    site_w = 0.0 if world.site is None else world.site.idle_w
    drawn_w = types.power_w + float(world.clusters.n_nodes @ idle_w) + site_w - types.nodes * idle_w[types.cluster]
    return np.asarray(world.supply.pue * drawn_w)


def _least(world: JobWorld, by_option: Floats) -> Floats:
    """The least value of the options of each job type; NaN for one without options or with values not known."""
    import numpy as np

    first, has_options = world.types.first, np.diff(world.types.first) > 0
    least = np.full(has_options.size, np.nan)
    least[has_options] = np.minimum.reduceat(by_option, first[:-1][has_options]) if has_options.any() else ()
    return least


def _allowed_for_s(cap_w: Floats, drawn_w: Floats) -> Floats:
    """For how long in a row a cap by the hour, which starts again at its end, allows these powers; NaN for NaN."""
    import numpy as np

    from joulewise.model.supply import HOUR_S

    levels = np.unique(cap_w)
    longest_s = np.array([HOUR_S * _longest_run(cap_w >= level) for level in levels] + [0.0])
    return np.where(np.isnan(drawn_w), np.nan, longest_s[np.searchsorted(levels, drawn_w)])


def _longest_run(holds: Bools) -> float:
    """How many in a row hold, round after round; infinite if all do."""
    import numpy as np

    gaps = np.flatnonzero(~holds)
    return float(np.diff(gaps, append=gaps[0] + holds.size).max() - 1) if gaps.size else math.inf


def _asked(parts: WorldParts, scene: Scene, draw: Draw, job: int) -> _Asked:
    """What a study's files say of a job, by its number in order of arrival."""
    look = _LOOKS.get(parts.workload.source, _drawn)
    return look(parts, scene, draw, job)


def _logged(parts: WorldParts, scene: Scene, _draw: Draw, job: int) -> _Asked:
    trace = scene.trace
    assert trace is not None
    return _Asked(parts.workload.parameters.trace, f"job {trace.job_id[job]}", int(trace.cores[job]), "processor")


def _tabled(parts: WorldParts, _scene: Scene, draw: Draw, job: int) -> _Asked:
    from joulewise.worlds.jobs.tables import size_of

    table = parts.workload.parameters
    return _Asked(table.jobs, *size_of(table, job, draw.folder))


def _drawn(_parts: WorldParts, scene: Scene, _draw: Draw, job: int) -> _Asked:
    kind = scene.world.jobs.work.task_type[job]
    cores = 0 if scene.traits is None else int(scene.traits.cores[kind])
    return _Asked("workload", f"job {job + 1:,} to arrive", cores, "core")


_LOOKS: dict[str, Callable[[WorldParts, Scene, Draw, int], _Asked]] = {TRACE: _logged, JOB_TABLE: _tabled}
