"""How heterogeneous the systems of a study are, over its trials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.study.parsing.study import Study
from joulewise.study.spec.machines import MACHINES, build_machines
from joulewise.study.spec.parts import Part
from joulewise.study.spec.source import Draw
from joulewise.worlds.heterogeneity import heterogeneity_metrics


@dataclass(frozen=True)
class SystemMeasures:
    """The least and the most of each measure over the trials, None where it does not exist.

    `differs` says how this system is unlike the others.
    """

    source: str
    differs: dict[str, Any]
    n_trials: int
    ranges: dict[str, tuple[float, float] | None]


def measure_systems(study: Study) -> Iterator[SystemMeasures]:
    """TMA, TDH and MPH of the general-purpose part of each distinct system; InputError for clusters and nodes."""
    if study.kind.systems != MACHINES:
        found = f"found a study of the kind {study.kind.name!r}"
        raise InputError(Problem("--measures", found, "TMA, TDH and MPH are measures of machines", "leave it out"))
    parts = list(dict.fromkeys(point.system for point in study.points))
    cells = [part.cells() for part in parts]
    keys = dict.fromkeys(key for row in cells for key in row)
    swept = [key for key in keys if any(row.get(key) != cells[0].get(key) for row in cells)]
    for part, row in zip(parts, cells, strict=True):
        n_trials = study.heading.trials if study.kind.source_of(part).is_random(part.parameters) else 1
        differs = {key: row.get(key) for key in swept}
        yield SystemMeasures(part.source, differs, n_trials, _ranges(study, part, n_trials))


def _ranges(study: Study, part: Part, n_trials: int) -> dict[str, tuple[float, float] | None]:
    draws = (Draw(study.heading.seed, trial, study.folder) for trial in range(n_trials))
    measured = [heterogeneity_metrics(build_machines(part, draw)) for draw in draws]
    values = {name: [measures[name] for measures in measured] for name in measured[0]}
    return {name: None if any(map(math.isnan, found)) else (min(found), max(found)) for name, found in values.items()}
