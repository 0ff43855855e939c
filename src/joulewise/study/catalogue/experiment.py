"""A published experiment: the bundled study that repeats it, what was claimed, the reading, the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from joulewise.study.catalogue.judging import Claim
from joulewise.study.column import CLOUDS, FRONTS
from joulewise.study.study import Study, parse_study
from joulewise.verdicts import ClaimFinding

if TYPE_CHECKING:
    from joulewise.study.results import Results

_STUDIES = Path(str(files(__package__) / "studies"))
"""Where the bundled studies lie, with the tables that they name."""


class Told(NamedTuple):
    """What results tell of one run: its row, its curves, and what became of its front in fresh samples, if anything."""

    row: Mapping[str, Any]
    curves: pl.DataFrame
    cloud: pl.DataFrame | None


Measure: TypeAlias = Callable[[Told], float]


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue; its study is the file studies/<id>.toml beside this module.

    `measures`, by name, are further columns of runs that claims look at, taken from the fronts that were kept.
    """

    id: str
    title: str
    source: str
    reading: str
    figure: str
    claims: tuple[Claim, ...]
    measures: Mapping[str, Measure] = field(default_factory=dict)

    def study_text(self) -> str:
        """The bundled study file."""
        return (_STUDIES / f"{self.id}.toml").read_text()

    def study(self, trials: int | None = None) -> Study:
        """The bundled study, at the published number of trials unless another is asked for."""
        study = parse_study(self.study_text(), f"{self.id}.toml", _STUDIES)
        if trials is None:
            return study
        return replace(study, heading=replace(study.heading, trials=trials))

    def measured(self, results: Results) -> pl.DataFrame:
        """The runs of the study with the further measures; a run whose front was not kept has none."""
        if not self.measures:
            return results.runs
        curves, clouds = (_by_run(table) for table in (results.details(FRONTS), results.details(CLOUDS)))
        rows = [
            Told(row, curves[row["run"]], clouds.get(row["run"])) if row["run"] in curves else None
            for row in results.runs.iter_rows(named=True)
        ]
        columns = {
            name: [None if told is None else measure(told) for told in rows] for name, measure in self.measures.items()
        }
        return results.runs.with_columns(pl.DataFrame(columns, dict.fromkeys(columns, pl.Float64)).fill_nan(None))

    def findings(self, runs: pl.DataFrame) -> list[ClaimFinding]:
        """Every claim judged on the runs of the study."""
        return [claim.finding(runs) for claim in self.claims]


def _by_run(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key): rows for (key,), rows in table.partition_by("run", as_dict=True).items()}
