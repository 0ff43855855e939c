"""A published experiment: the bundled study that repeats it, what was claimed, the reading, the figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from joulewise.study.catalogue.judging import Claim
from joulewise.study.parsing.file import parse_study
from joulewise.study.parsing.study import Study
from joulewise.units import count
from joulewise.verdicts import ClaimFinding, Standing

if TYPE_CHECKING:
    from joulewise.study.answers.results import Results


def _divided(value: str, by: int, least: int = 1) -> str:
    """A value of a study file with smaller numbers."""
    return re.sub(r"[\d_]+", lambda number: str(max(int(number[0]) // by, least)), value)


_STUDIES = Path(str(files(__package__) / "studies"))
"""Where the bundled studies lie, with the tables that they name."""
_FEWER = 100
"""How many generations of a study one stands for that is run to see that all works."""
_SMALLER: Mapping[str, Callable[[str], str]] = {
    "(?:tasks|jobs)_per_day": partial(_divided, by=50),
    "n_tasks": partial(_divided, by=50, least=20),
    "span": lambda _: '"2 min"',
    "nodes": partial(_divided, by=10),
    "population": lambda _: "8",
    "(?:generations|snapshots|exchange_every)": partial(_divided, by=_FEWER),
    "moves": partial(_divided, by=50, least=1000),
    "time_limit": lambda _: '"200 ms"',
}
"""What values become in studies that are run to see that all works, by their keys."""
_OF_SNAPSHOTS = re.compile(r"(\w+_percent:)(\d+)")
"""The columns of runs that have a number of generations in their names."""
_SEARCH = re.compile(r'(goal = "(?:utility|front)"\nmethod = "nsga2"\n)(?!.*islands)', re.DOTALL)
"""What a study says whose fronts a GPU can search: it evolves one population."""


class Told(NamedTuple):
    """What results tell of one run: its row, and the tables that were kept of it, by name."""

    row: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]


Measure: TypeAlias = Callable[[Told], float]


class Reading(NamedTuple):
    """One of several readings of a published world: what its experiments add to names and titles, and what was read.

    `fitted` is the standing of claims by which something that is not printed was chosen.
    """

    suffix: str
    words: str
    reading: str
    fitted: Standing = ""


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue; its study is the file studies/<id>.toml beside this module.

    `measures`, by name, are further columns of runs that claims look at, taken from the tables that were kept.
    `standing` is that of all claims without one of their own. `level` is a published number that its figure has as a
    line.
    """

    id: str
    title: str
    source: str
    reading: str
    figure: str
    claims: tuple[Claim, ...]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    standing: Standing = ""
    level: float | None = None

    def study_text(self) -> str:
        """The bundled study file."""
        return _bundled_text(self.id)

    @property
    def suits_gpu(self) -> bool:
        """Whether a GPU can search what its study does."""
        return _SEARCH.search(self.study_text()) is not None

    def study(self, trials: int | None = None, *, on_gpu: bool = False) -> Study:
        """The bundled study, at the published number of trials or another; a GPU searches if asked for and possible."""
        text = self.study_text()
        text = _SEARCH.sub(r'\1engine = "gpu"\n', text) if on_gpu else text
        return _in_trials(_parsed(text, self.id), trials)

    def smoke_study(self) -> Study:
        """The bundled study with two trials, a part of the load and small searches: it shows that all works."""
        text = self.study_text()
        for key, smaller in _SMALLER.items():
            text = re.sub(rf"(?m)^((?:\w+\.)?{key} = )(.*)$", partial(_made_smaller, smaller), text)
        return _in_trials(_parsed(text, self.id), 2)

    def measured(self, results: Results, *, is_smoke: bool = False) -> pl.DataFrame:
        """The runs of the study, or of the smaller one, with the further measures.

        A run of which nothing was kept has none. Generations are counted as in the study.
        """
        times = _FEWER if is_smoke else 1
        runs = results.runs.rename(lambda name: _at_generation(name, times))
        if not self.measures:
            return runs
        rows = [Told(row, _at_generations(results.tables(row["run"]), times)) for row in runs.iter_rows(named=True)]
        columns = {
            name: [measure(told) if told.tables else None for told in rows] for name, measure in self.measures.items()
        }
        return runs.with_columns(pl.DataFrame(columns, dict.fromkeys(columns, pl.Float64)).fill_nan(None))

    def findings(self, runs: pl.DataFrame) -> list[ClaimFinding]:
        """Every claim judged on the runs of the study; none is where runs of it are missing."""
        lacking = self._lacking(runs)
        found = [claim.without(lacking) if lacking else claim.finding(runs) for claim in self.claims]
        return [finding if finding.standing else replace(finding, standing=self.standing) for finding in found]

    def _lacking(self, runs: pl.DataFrame) -> str:
        """What is missing where not every trial has each run of the study once."""
        n_points, (trials, counts) = len(self.study().points), np.unique(runs["trial"].to_numpy(), return_counts=True)
        if (counts == n_points).all():
            return ""
        wanted = f"{n_points:,} in each of {count(trials.size, 'trial')}"
        return f"not all runs of the study are there: found {runs.height:,}, and it has {wanted}"


def _at_generation(name: str, times: int) -> str:
    """The name of a column of so many times the generations."""
    found = _OF_SNAPSHOTS.fullmatch(name)
    return f"{found[1]}{int(found[2]) * times}" if found else name


def _at_generations(tables: Mapping[str, pl.DataFrame], times: int) -> dict[str, pl.DataFrame]:
    """Tables of so many times the generations."""
    return {
        name: table.with_columns(pl.col("generation") * times) if "generation" in table.columns else table
        for name, table in tables.items()
    }


def _made_smaller(smaller: Callable[[str], str], line: re.Match[str]) -> str:
    return line[1] + smaller(line[2])


@dataclass(frozen=True)
class Illustrations:
    """An entry whose study is drawn and not run, for published figures that show a world and claim nothing of it.

    The figures are the illustrations on the page of its kind of study.
    """

    id: str
    title: str
    source: str
    reading: str
    claims: tuple[Claim, ...] = ()

    def study(self) -> Study:
        """The bundled study."""
        return _parsed(_bundled_text(self.id), self.id)


def _bundled_text(name: str) -> str:
    return (_STUDIES / f"{name}.toml").read_text()


def _parsed(text: str, name: str) -> Study:
    return parse_study(text, f"{name}.toml", _STUDIES)


def _in_trials(study: Study, trials: int | None) -> Study:
    return study if trials is None else replace(study, heading=replace(study.heading, trials=trials))
