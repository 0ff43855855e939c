"""In which settings studies differ: what their files say, and what they were run with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.study.answers.sides import Side
from joulewise.study.parsing.study import VARIANT
from joulewise.study.spec.parameters import shown

_RUN_WITH = {
    "joulewise": "Joulewise",
    "results_version": "version of results",
    "python": "Python",
    "machine": "machine",
}
"""What folders say of how they were made, and what that is called."""
_MOST_VALUES = 8
NOTHING = "\N{EN DASH}"


def settings_of(sides: Sequence[Side]) -> pl.DataFrame:
    """Every setting in which not all sides are alike: `setting`, then for each side `study`, `values`, `n_values`.

    A setting is a key of a heading or a section, a file that a study names, or what results were made with. It is swept
    where it has several values.
    """
    told = [_settings(side) for side in sides]
    names = dict.fromkeys(name for settings in told for name in settings)
    rows = [
        {
            "setting": name,
            "study": side.label,
            "values": _written(name, settings[name]),
            "n_values": len(settings[name]),
        }
        for name in names
        for side, settings in _completed(name, sides, told)
        if len({_known(each.get(name, ())) for each in told}) > 1
    ]
    schema = {"setting": pl.String, "study": pl.String, "values": pl.String, "n_values": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


Settings = Mapping[str, Sequence[Any]]


def _completed(name: str, sides: Sequence[Side], told: Sequence[Settings]) -> Iterator[tuple[Side, Settings]]:
    """Each side with its settings, where it has none of this name with no value."""
    for side, settings in zip(sides, told, strict=True):
        yield side, {name: (), **settings}


def _settings(side: Side) -> dict[str, Sequence[Any]]:
    """All settings of a side with their values: heading, sections, files, and what it was run with."""
    about, study = side.results.about, side.results.study
    has_variants = any(value is not None for value in side.said[VARIANT])
    columns = {
        name: [value for value in values if value is not None]
        for name, values in side.said.items()
        if name != VARIANT or has_variants
    }
    return {
        "seed": columns.pop("seed"),
        "trials": [str(study.until or study.heading.trials)],
        "bound": columns.pop("bound"),
        **columns,
        **{f"content of {name}": [content[:12]] for name, content in about["files"].items()},
        **{name: [about[key]] for key, name in _RUN_WITH.items()},
    }


def _known(values: Sequence[Any]) -> frozenset[Any]:
    return frozenset(values)


def _written(name: str, values: Sequence[Any]) -> str:
    """Values as people read them, the first of many."""
    texts = [value if isinstance(value, str) else shown(name, value) for value in values[:_MOST_VALUES]]
    more = [f"... {len(values)} in all"] if len(values) > _MOST_VALUES else []
    return "; ".join([*texts, *more]) or NOTHING
