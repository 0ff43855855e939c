"""The runs of a study: worlds x decisions x trials, made when asked for, with the keys that resume and reuse go by."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, overload

from joulewise.study.answers.rounds import Shares, Told, decided_shares, first_shares, most_shares, next_shares
from joulewise.study.parsing.study import Study
from joulewise.study.spec.parts import Fingerprints, Point, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.trials import Share, stage_of

if TYPE_CHECKING:
    import polars as pl

_PIECE = 20_000
"""How many runs are there at once while they are tabled."""


def plan(study: Study, has_gpu: bool | None = None) -> Plan:
    """Every run of the study, or of its first round, as computed with or without a GPU, by default here."""
    kind = study.kind
    found = Fingerprints(study.folder, kind.identity_of, kind.version)
    return Plan(study, first_shares(study), found, has_gpu)


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
    """The runs of a study, or of one of its rounds, point by point, trials fastest.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """

    study: Study
    shares: Shares
    fingerprints: Fingerprints = field(repr=False, compare=False)
    has_gpu: bool | None = None

    def __iter__(self) -> Iterator[Run]:
        return (self._run(ways, trial) for ways, share in self._all_ways() for trial in share.numbers())

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
        at -= self._ends[number - 1] if number else 0
        ways, share = self._ways(number)
        return self._run(ways, share.number(at))

    def next_round(self, told: Told) -> Plan | None:
        """The runs up to the next round, if there is one, given what came out; files hold what they held."""
        shares = next_shares(self.study, self.shares, told)
        return None if shares is None else replace(self, shares=shares)

    @property
    def shortest(self) -> Plan:
        """The runs up to the last round if what is sought is known with those that this round has."""
        return replace(self, shares=decided_shares(self.study, self.shares))

    @property
    def longest(self) -> Plan:
        """The runs up to the last round if all are made that there can be."""
        return replace(self, shares=most_shares(self.study, self.shares))

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """The number of the point of each run, and its trial."""
        shares = (share for _, share in self._all_ways())
        return ((point, trial) for point, share in enumerate(shares) for trial in share.numbers())

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
        for ways, share in self._all_ways():
            for trial in share.numbers():
                yield *self._keys(ways, trial), ways.bound, self._keeps(trial)

    @property
    def files(self) -> dict[str, str]:
        """The files that runs read, by the names the study gives, with the hash of their content."""
        _ = self.table  # of which all runs are made
        return self.fingerprints.contents()

    @cached_property
    def _ends(self) -> list[int]:
        """Where the runs of each point end."""
        return list(accumulate(map(self._n_trials, self.study.points, self.shares)))

    def _all_ways(self) -> Iterator[tuple[_Ways, Share]]:
        return map(self._ways, range(len(self.study.points)))

    def _ways(self, number: int) -> tuple[_Ways, Share]:
        point, share = self.study.points[number], self.shares[number]
        kind, world = self.study.kind, self._world(point.world)
        own = self.fingerprints.of_files((point.decision,))
        files = tuple(dict.fromkeys((*world.files, *own))) if own else world.files
        bound = kind.bound(point, self.study.heading.bound)
        return _Ways(point, world, kind.settled(point, self.has_gpu), bound, files), self._share(point, share)

    def _world(self, parts: WorldParts) -> _World:
        """What is known of a world; that of the last point is at hand."""
        if not self._last or self._last[0].parts is not parts:
            self._last[:] = [_World(parts, self.study.kind.is_random(parts), self.fingerprints.of_files(parts))]
        return self._last[0]

    @cached_property
    def _last(self) -> list[_World]:
        return []

    def _share(self, point: Point, share: Share) -> Share:
        """What a point has of its trials: one of a kind where nothing is random."""
        kind, study = self.study.kind, self.study
        varies = self._world(point.world).is_random or study.heading.trials == 1 or kind.draws(point, study.folder)
        return share if varies else share.once

    def _n_trials(self, point: Point, share: Share) -> int:
        return self._share(point, share).n_trials

    def _run(self, ways: _Ways, trial: int) -> Run:
        key, world_key = self._keys(ways, trial)
        seed, keeps = self.study.heading.seed, self._keeps(trial)
        stage = stage_of(trial) if self.study.tuning else ""
        return Run(key, world_key, ways.point, seed, trial, keeps, ways.bound, ways.files, stage)

    def _keys(self, ways: _Ways, trial: int) -> tuple[str, str]:
        """The key of a run and that of its world."""
        seed, found = self.study.heading.seed, self.fingerprints
        world_key = found.of_world(ways.world.parts, seed, trial, ways.world.is_random)
        return found.of_run(world_key, ways.settled, seed, trial, ways.bound), world_key

    def _keeps(self, trial: int) -> bool:
        keep = self.study.heading.keep
        return trial == 0 if keep == "first" else keep == "all"
