"""The runs of a study: worlds x decisions x trials, made when asked for, with the keys that resume and reuse go by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, overload

from joulewise.study.parsing.study import Study
from joulewise.study.spec.parts import Fingerprints, Point, WorldParts
from joulewise.study.spec.run import Run

if TYPE_CHECKING:
    import polars as pl

_PIECE = 20_000
"""How many runs are there at once while they are tabled."""


def plan(study: Study, has_gpu: bool | None = None) -> Plan:
    """Every run of the study, as computed with or without a GPU, by default here."""
    return Plan(study, has_gpu)


class _World(NamedTuple):
    """What all runs in the worlds of some sections share."""

    parts: WorldParts
    is_random: bool
    files: tuple[tuple[str, str], ...]


class _Ways(NamedTuple):
    """What all trials of a point share."""

    point: Point
    world: _World
    settled: Point
    bound: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan(Sequence[Run]):
    """The runs of a study, point by point, trials fastest.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """

    study: Study
    has_gpu: bool | None = None

    def __iter__(self) -> Iterator[Run]:
        return (run for ways in self._all_ways() for run in self._runs(ways))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | Sequence[Run]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        number = bisect_right(self._ends, at)
        trial = at - (self._ends[number - 1] if number else 0)
        return self._run(self._ways(self.study.points[number]), trial)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The runs by their keys: `run`, `world`, `bound`, and whether details are to be kept (`keep`)."""
        import polars as pl

        left, pieces, columns = self._rows(), [], ("run", "world", "bound", "keep")
        while piece := list(islice(left, _PIECE)):
            pieces.append(pl.DataFrame(dict(zip(columns, zip(*piece, strict=True), strict=True))))
        return pl.concat(pieces)

    def _rows(self) -> Iterator[tuple[str, str, str, bool]]:
        """What the table says of each run."""
        for ways in self._all_ways():
            for trial in range(self._n_trials(ways.point)):
                yield *self._keys(ways, trial), ways.bound, self._keeps(trial)

    @property
    def files(self) -> dict[str, str]:
        """The files that runs read, by the names the study gives, with the hash of their content."""
        _ = self.table  # of which all runs are made
        return self._fingerprints.contents()

    @cached_property
    def _ends(self) -> list[int]:
        """Where the runs of each point end."""
        return list(accumulate(map(self._n_trials, self.study.points)))

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        kind = self.study.kind
        return Fingerprints(self.study.folder, kind.identity_of, kind.version)

    def _all_ways(self) -> Iterator[_Ways]:
        return map(self._ways, self.study.points)

    def _ways(self, point: Point) -> _Ways:
        kind, world = self.study.kind, self._world(point.world)
        own = self._fingerprints.of_files((point.decision,))
        files = tuple(dict.fromkeys((*world.files, *own))) if own else world.files
        bound = kind.bound(point, self.study.heading.bound)
        return _Ways(point, world, kind.settled(point, self.has_gpu), bound, files)

    def _world(self, parts: WorldParts) -> _World:
        """What is known of a world; that of the last point is at hand."""
        if not self._last or self._last[0].parts is not parts:
            self._last[:] = [_World(parts, self.study.kind.is_random(parts), self._fingerprints.of_files(parts))]
        return self._last[0]

    @cached_property
    def _last(self) -> list[_World]:
        return []

    def _n_trials(self, point: Point) -> int:
        trials = self.study.heading.trials
        varies = trials == 1 or self._world(point.world).is_random or self.study.kind.draws(point, self.study.folder)
        return trials if varies else 1

    def _runs(self, ways: _Ways) -> Iterable[Run]:
        return (self._run(ways, trial) for trial in range(self._n_trials(ways.point)))

    def _run(self, ways: _Ways, trial: int) -> Run:
        key, world_key = self._keys(ways, trial)
        seed, keeps = self.study.heading.seed, self._keeps(trial)
        return Run(key, world_key, ways.point, seed, trial, keeps, ways.bound, ways.files)

    def _keys(self, ways: _Ways, trial: int) -> tuple[str, str]:
        """The key of a run and that of its world."""
        seed, found = self.study.heading.seed, self._fingerprints
        world_key = found.of_world(ways.world.parts, seed, trial, ways.world.is_random)
        return found.of_run(world_key, ways.settled, seed, trial, ways.bound), world_key

    def _keeps(self, trial: int) -> bool:
        keep = self.study.heading.keep
        return trial == 0 if keep == "first" else keep == "all"
