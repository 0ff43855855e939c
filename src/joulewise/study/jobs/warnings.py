"""What is no mistake in a study of parallel jobs, and still worth a word: jobs that can never start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from joulewise.errors import Problem
from joulewise.study.jobs.sources import JOB_TABLE, TRACE
from joulewise.study.jobs.worlds import Scene
from joulewise.study.source import Draw
from joulewise.study.spec import WorldParts
from joulewise.units import count, noun, power

if TYPE_CHECKING:
    from joulewise.model.arrays import Counts, Floats
    from joulewise.model.jobs import JobWorld

_NEVER = "such jobs never start"


class _Asked(NamedTuple):
    """Where a job comes from, which one it is there, and of what it needs how much."""

    source: str
    place: str
    amount: int
    unit: str


def jobs_that_never_start(parts: WorldParts, scene: Scene, draw: Draw) -> Iterator[Problem]:
    """Jobs that are larger than every cluster they may use, and those that draw more than is ever allowed."""
    import numpy as np

    world, supply = scene.world, scene.world.supply
    has_options = (np.diff(world.types.first) > 0)[world.jobs.work.task_type]
    nowhere = np.flatnonzero(~has_options)
    if nowhere.size:
        yield _too_large(world, nowhere, _asked(parts, scene, draw, int(nowhere[0])))
    if supply.cap_w is None:
        return
    least_w, most_w = _least_w(world)[world.jobs.work.task_type], float(supply.cap_w.max())
    too_strong = np.flatnonzero(has_options & (least_w > most_w))
    if too_strong.size:
        first = int(too_strong[0])
        place = _asked(parts, scene, draw, first).place
        found = f"{_so_many(too_strong, world)} {noun(too_strong.size, 'draws', 'draw')} more; the first is {place}"
        allowed = f"with it nodes draw {power(float(least_w[first]))} or more, and {power(most_w)} is the most allowed"
        yield Problem("supply.power_cap", found, allowed, _NEVER)


def rules_without_jobs(scene: Scene) -> Iterator[Problem]:
    """Rules of the study that hold for no job of its log."""
    findings = () if scene.trace is None else scene.trace.findings
    for finding in findings:
        if finding.key == "idle rule":
            yield Problem("workload.rules", f"found {finding.reason}", finding.done)


def _too_large(world: JobWorld, jobs: Counts, first: _Asked) -> Problem:
    clusters = world.clusters
    sizes = clusters.n_nodes if first.unit == "node" else clusters.n_nodes * clusters.cores_per_node
    largest = int(sizes.argmax())
    fit, asks = noun(jobs.size, "fits", "fit"), count(first.amount, first.unit)
    found = f"{_so_many(jobs, world)} {fit} on no cluster allowed to them; the first is {first.place}, of {asks}"
    allowed = f"the largest cluster, {clusters.names[largest]}, has {count(int(sizes[largest]), first.unit)}"
    return Problem(first.source, found, allowed, _NEVER)


def _so_many(jobs: Counts, world: JobWorld) -> str:
    return f"{jobs.size:,} of {count(world.n_jobs, 'job')}"


def _least_w(world: JobWorld) -> Floats:
    """What all nodes draw while one job of each type runs as frugally as it can; NaN where that is not known."""
    import numpy as np

    types, standby = world.types, world.clusters.standby
    idle_w = np.zeros(world.clusters.n_clusters) if standby is None else standby.idle_w
    drawn_w = types.power_w + float(world.clusters.n_nodes @ idle_w) - types.nodes * idle_w[types.cluster]
    least_w, has_options = np.full(types.n_types, np.nan), np.diff(types.first) > 0
    least_w[has_options] = world.supply.pue * np.minimum.reduceat(drawn_w, types.first[:-1][has_options])
    return least_w


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
