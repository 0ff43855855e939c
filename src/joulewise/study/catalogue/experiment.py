"""A published experiment: the bundled study that repeats it, what was claimed, the reading, the figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import polars as pl

from joulewise.study.catalogue.judging import Claim, Finding
from joulewise.study.study import Study, parse_study

_STUDIES = Path(str(files(__package__) / "studies"))
"""Where the bundled studies lie, with the tables that they name."""


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue; its study is the file studies/<id>.toml beside this module."""

    id: str
    title: str
    source: str
    reading: str
    figure: str
    claims: tuple[Claim, ...]

    def study_text(self) -> str:
        """The bundled study file."""
        return (_STUDIES / f"{self.id}.toml").read_text()

    def study(self, trials: int | None = None) -> Study:
        """The bundled study, at the published number of trials unless another is asked for."""
        study = parse_study(self.study_text(), f"{self.id}.toml", _STUDIES)
        if trials is None:
            return study
        return replace(study, heading=replace(study.heading, trials=trials))

    def findings(self, runs: pl.DataFrame) -> list[Finding]:
        """Every claim judged on the runs of the study."""
        return [claim.finding(runs) for claim in self.claims]
