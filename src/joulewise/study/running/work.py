"""What is left of a plan: each computation once, those of a world together, cut into jobs of about equal cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from joulewise.study.running.planning import Plan
from joulewise.study.running.worker import Job
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.store.keys import numbers_of
from joulewise.study.store.store import NO_BOUND, Store
from joulewise.study.store.stored import Stored

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")

_ALL = 2_000
"""Costs of so many runs are found one by one; beyond, those of as many are drawn evenly."""
_UNKNOWN_S = 1.0
"""What a run is taken to cost where its kind does not say."""
_JOBS_PER_WORKER = 16
_LEAST_S, _MOST_S = 0.5, 5.0
"""Jobs cost at least and at most so much, as far as runs allow it: worth sending, and little is lost with one."""


@dataclass(frozen=True)
class Work:
    """The runs of a plan that must be computed, given what a folder holds."""

    plan: Plan
    store: Store

    @property
    def n_there(self) -> int:
        """How many computations need not be done."""
        return self._once.height - len(self)

    def __len__(self) -> int:
        return self._left.height

    def sample(self, n: int = _ALL) -> Sequence[Run]:
        """The runs, or so many of them, evenly drawn."""
        return list(self.plan.at(self._at[evenly(range(len(self)), n)]))

    @cached_property
    def seconds(self) -> float:
        """About how long one ordinary process takes for all of them."""
        kind, runs = self.plan.study.kind, self.sample()
        if len(runs) == len(self):
            return kind.seconds(runs, self.store, self.plan.study.folder)
        n_worlds = self._left["world"].n_unique()
        costs = [self._cost(run) for run in runs]
        return sum(run_s * len(self) + world_s * n_worlds for run_s, world_s in costs) / len(costs)

    def jobs(self, workers: int, most_runs: int) -> Iterator[Job]:
        """The runs in jobs for so many workers, of so many runs at most."""
        target_s = min(max(self.seconds / (workers * _JOBS_PER_WORKER), _LEAST_S), _MOST_S)
        for _, runs in groupby(self.plan.at(self._at), key=attrgetter("world_key")):
            yield from self._of_world(runs, target_s, most_runs)

    def _of_world(self, left: Iterable[Run], target_s: float, most_runs: int) -> Iterator[Job]:
        """The jobs of one world; the first has to make its bound, and the others wait for that."""
        runs: list[Run] = []
        cost_s, is_first = 0.0, True
        for run in left:
            run_s, world_s = self._cost(run)
            cost_s += run_s + (world_s if not runs and is_first else 0.0)
            runs.append(run)
            if cost_s >= target_s or len(runs) >= most_runs:
                yield self._job(runs, is_first=is_first)
                runs, cost_s, is_first = [], 0.0, False
        if runs:
            yield self._job(runs, is_first=is_first)

    def _job(self, runs: Sequence[Run], *, is_first: bool) -> Job:
        opens = is_first and runs[0].bound != NO_BOUND
        return Job(tuple(runs), self.plan.study.folder, self.store.folder, opens)

    def _cost(self, run: Run) -> tuple[float, float]:
        """The seconds of a run, and those of what its world needs once."""
        place = (run.point.world, run.point.decision, run.keep)
        if place not in self._costs:
            kind, folder = self.plan.study.kind, self.plan.study.folder
            once, twice = (kind.seconds([run] * n, self.store, folder) for n in (1, 2))
            run_s = max(twice - once, 0.0)
            if len(self._costs) >= _ALL:
                self._costs.clear()
            self._costs[place] = (run_s, max(once - run_s, 0.0)) if once else (_UNKNOWN_S, 0.0)
        return self._costs[place]

    @cached_property
    def _costs(self) -> dict[tuple[WorldParts, Part, bool], tuple[float, float]]:
        return {}

    @property
    def _at(self) -> NDArray[np.int64]:
        """Where in the plan what is left stands."""
        return self._left["at"].to_numpy().astype(np.int64)

    @cached_property
    def _once(self) -> pl.DataFrame:
        """Where each computation of the plan stands (`at`), kept details before others."""
        import polars as pl

        all_runs = self.plan.codes.with_row_index("at").sort("keep", descending=True, maintain_order=True)
        return all_runs.filter(pl.col("run").is_first_distinct()).select("at", "world")

    @cached_property
    def _left(self) -> pl.DataFrame:
        """Those of them that must be done, worlds together."""
        import polars as pl

        left = self._once.filter(~self._there())
        return left.sort(pl.col("at").min().over("world"), "at")

    def _there(self) -> pl.Series:
        """Which of them need not; keys are made only where there are any to be found."""
        import polars as pl

        stored = Stored(self.store)
        if stored.index.is_empty():
            return pl.repeat(False, self._once.height, eager=True)
        is_done = stored.places(self.plan.table["run"])["done"].fill_null(False)
        is_there = pl.all_horizontal(is_done, self._is_proven(), *self._has_details())
        return self.plan.table.select(is_there).to_series()[self._once["at"]]

    def _is_proven(self) -> pl.Expr:
        """Whether the bound of a run is proven, where it has one."""
        import polars as pl

        proven = self.store.proven().with_columns(numbers_of("world"))
        worlds = {bound: proven.filter(kind=bound)["world"].implode() for bound in self.plan.table["bound"].unique()}
        return pl.any_horizontal(
            (pl.col("bound") == bound) & (pl.lit(bound == NO_BOUND) | pl.col("world").is_in(of_bound))
            for bound, of_bound in worlds.items()
        )

    def _has_details(self) -> Iterator[pl.Expr]:
        """Whether the details of a run are there, table by table, where they are kept."""
        import polars as pl

        for table in self.plan.study.kind.tables:
            names = pl.DataFrame({"run": _stems(self.store.folder / table)}, {"run": pl.String})
            kept = names.select(numbers_of("run"))["run"]
            yield ~pl.col("keep") | pl.col("run").is_in(kept.implode())


def evenly(items: Sequence[Item], n: int = _ALL) -> list[Item]:
    """The items, or so many of them, evenly drawn."""
    step = max(len(items) / n, 1.0)
    return [items[int(i * step)] for i in range(min(len(items), n))]


def _stems(folder: Path) -> list[str]:
    """The names of the files in a folder, without their endings."""
    return [path.stem for path in folder.iterdir()] if folder.is_dir() else []
