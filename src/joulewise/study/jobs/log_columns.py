"""The columns of imported logs, as lists show them."""

from __future__ import annotations

from joulewise.study.kinds.system import Entry


def log_columns() -> list[Entry]:
    """Every column of a file that `joulewise import` makes of a log."""
    from joulewise.worlds.jobs.logs import LOG_COLUMNS

    return [
        Entry(
            "column of an imported log",
            (column.name,),
            {"column": column.name, "unit": column.unit, "meaning": column.meaning},
            {"of": "what `joulewise import` makes of a log", "meaning": column.meaning, "unit": column.unit},
        )
        for column in LOG_COLUMNS
    ]
