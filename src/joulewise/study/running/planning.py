"""The runs of a study: worlds x decisions x trials, in columns, with the keys that resume and reuse go by.

What the runs of a world, or of a decision, have in common is found once. A run itself is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from joulewise.study.answers.rounds import Shares, Told, decided_shares, first_shares, most_shares, next_shares
from joulewise.study.parsing.study import Study
from joulewise.study.spec.parts import Fingerprints, Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.trials import FIRST_TUNING, MOST_TRIALS, stage_of
from joulewise.study.store.keys import key_of, numbers_of

if TYPE_CHECKING:
    import polars as pl

_TRIALS = FIRST_TUNING + MOST_TRIALS
"""Above the number of any trial."""
_PIECE = 20_000
"""How many runs are there at once as more than numbers."""

Item = TypeVar("Item")
_Numbers = NDArray[np.signedinteger[Any]]


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


class _Way(NamedTuple):
    """What all runs with a decision share; `text` stands for it in their keys."""

    text: str
    bound: str
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Distinct(Generic[Item]):
    """Some things, each once, and the number of the one that each point has."""

    items: list[Item]
    at: _Numbers


class _Places(NamedTuple):
    """Where runs stand: the numbers of their points, and their trials."""

    point: _Numbers
    trial: _Numbers


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
        return self.at(np.arange(len(self)))

    def __len__(self) -> int:
        return self.places.point.size

    @overload
    def __getitem__(self, at: int) -> Run: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Run]: ...
    def __getitem__(self, at: int | slice) -> Run | Sequence[Run]:
        wanted = range(len(self))[at]
        return next(self.at(np.array([wanted]))) if isinstance(wanted, int) else list(self.at(np.array(wanted, int)))

    def at(self, numbers: _Numbers) -> Iterator[Run]:
        """The runs with these numbers."""
        return chain.from_iterable(map(self._runs, _pieces(numbers)))

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

    @cached_property
    def places(self) -> _Places:
        """The number of the point of each run, and its trial."""
        varies = self._varies()
        shares = np.fromiter(chain.from_iterable(self.shares), np.int32, 2 * len(self.shares)).reshape(-1, 2)
        judging, tuning = np.where(varies[:, None], shares, np.minimum(shares, 1)).T
        n_trials = judging + tuning
        point = np.repeat(np.arange(n_trials.size, dtype=np.int32), n_trials)
        first = np.cumsum(n_trials, dtype=np.int32) - n_trials
        at = np.arange(point.size, dtype=np.int32) - first[point]
        n_judging = judging[point]
        return _Places(point, np.where(at < n_judging, at, FIRST_TUNING + at - n_judging))

    @cached_property
    def table(self) -> pl.DataFrame:
        """The runs by the numbers of their keys: `run`, `world`, `bound`, and whether details are kept (`keep`)."""
        import polars as pl

        return pl.concat([self._tabled(*places) for places in zip(*map(_pieces, self.places), strict=True)])

    @property
    def codes(self) -> pl.DataFrame:
        """Numbers in place of keys, which cost less: the same `run`, `world` where keys would be, and `keep`."""
        import polars as pl

        point, trial = self.places
        is_random = np.array([world.is_random for world in self._worlds.items])
        worlds = _numbered(self._world_key(number, 0) for number in range(is_random.size))[self._worlds.at[point]]
        ways = _numbered((way.text, way.bound) for way in self._ways)[self._decisions.at[point]]
        drawn = np.where(is_random[self._worlds.at[point]], trial, 0)
        run = (worlds * len(self._ways) + ways) * _TRIALS + trial
        return pl.DataFrame({"run": run, "world": worlds * _TRIALS + drawn, "keep": self._keeps(trial)})

    @property
    def files(self) -> dict[str, str]:
        """The files that runs read, by the names the study gives, with the hash of their content."""
        _ = self._worlds, self._ways  # of which all runs are made
        return self.fingerprints.contents()

    # --- what runs have in common ------------------------------------------------------------------------------------

    @cached_property
    def _worlds(self) -> _Distinct[_World]:
        kind, found = self.study.kind, self.fingerprints
        return self._each("world", lambda parts: _World(parts, kind.is_random(parts), found.of_files(parts)))

    @cached_property
    def _decisions(self) -> _Distinct[Part]:
        return self._each("decision", lambda decision: decision)

    @cached_property
    def _ways(self) -> list[_Way]:
        """What is known of decisions."""
        return list(map(self._way, self._decisions.items))

    def _way(self, decision: Part) -> _Way:
        kind, found = self.study.kind, self.fingerprints
        text = found.of_part(kind.settled(decision, self.has_gpu))
        return _Way(text, kind.bound(decision, self.study.bound), found.of_files((decision,)))

    def _each(self, name: str, made: Callable[[Any], Item]) -> _Distinct[Item]:
        """What is made of this section of points, once for those that share it."""
        values = [getattr(point, name) for point in self.study.points]
        _, first, at = np.unique(np.fromiter(map(id, values), np.int64), return_index=True, return_inverse=True)
        return _Distinct([made(values[number]) for number in first.tolist()], at)

    def _varies(self) -> NDArray[np.bool_]:
        """Whether the trials of each point differ; what decides is asked where its world does not say so."""
        kind, study = self.study.kind, self.study
        is_random = np.array([world.is_random for world in self._worlds.items])[self._worlds.at]
        varies = is_random | (study.heading.trials == 1)
        draws = np.zeros(len(self._decisions.items), bool)
        for number in np.unique(self._decisions.at[~varies]).tolist():
            draws[number] = kind.draws(self._decisions.items[number], study.folder)
        return varies | draws[self._decisions.at]

    # --- runs, some at a time ----------------------------------------------------------------------------------------

    def _tabled(self, point: _Numbers, trial: _Numbers) -> pl.DataFrame:
        """What the table says of some runs."""
        import polars as pl

        found, seed, ways = self.fingerprints, self.study.heading.seed, self._ways
        bounds = pl.Enum(list(dict.fromkeys(way.bound for way in ways)))
        drawn, world = np.unique(self._worlds.at[point] * _TRIALS + trial, return_inverse=True)
        worlds = [self._world_key(*divmod(number, _TRIALS)) for number in drawn.tolist()]
        of_runs = [ways[number] for number in self._decisions.at[point].tolist()]
        made = zip(world.tolist(), of_runs, trial.tolist(), strict=True)
        return pl.DataFrame(
            {
                "run": [found.of_run(worlds[at], way.text, seed, number, way.bound) for at, way, number in made],
                "world": pl.Series(worlds)[world],
                "bound": pl.Series([way.bound for way in of_runs], dtype=bounds),
                "keep": self._keeps(trial),
            }
        ).with_columns(numbers_of("run", "world"))

    def _world_key(self, number: int, trial: int) -> str:
        world = self._worlds.items[number]
        return self.fingerprints.of_world(world.parts, self.study.heading.seed, trial, world.is_random)

    def _runs(self, numbers: _Numbers) -> Iterator[Run]:
        """The runs with these numbers, which are few."""
        study, points = self.study, self.places.point[numbers]
        trials, files = self.places.trial[numbers].tolist(), map(self._files, points.tolist())
        is_tabled = "table" in vars(self)  # else the keys of others are not needed
        rows = self.table[numbers] if is_tabled else self._tabled(points, self.places.trial[numbers])
        made = zip(rows.iter_rows(), points.tolist(), trials, files, strict=True)
        for (run, world, bound, keep), point, trial, read in made:
            stage, seed = stage_of(trial) if study.tuning else "", study.heading.seed
            yield Run(key_of(run), key_of(world), study.points[point], seed, trial, keep, bound, read, stage)

    def _files(self, point: int) -> tuple[tuple[str, str], ...]:
        """The files that the runs of a point read."""
        of_world = self._worlds.items[self._worlds.at[point]].files
        own = self._ways[self._decisions.at[point]].files
        return tuple(dict.fromkeys((*of_world, *own))) if own else of_world

    def _keeps(self, trial: _Numbers) -> NDArray[np.bool_]:
        """Whether details of trials are kept; of those that tune, none are."""
        n_kept = {"first": 1, "all": FIRST_TUNING, "none": 0}[self.study.heading.keep]
        return trial < n_kept


def _numbered(things: Iterable[Hashable]) -> _Numbers:
    """A number for each of these; equal ones have the same."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(thing, len(numbers)) for thing in things])


def _pieces(numbers: _Numbers) -> Iterator[_Numbers]:
    return (numbers[at : at + _PIECE] for at in range(0, numbers.size, _PIECE))
