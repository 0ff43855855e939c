"""The table of figures: each row is drawn whenever the records hold what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from joulewise.present.bars import utility_by_policy, utility_by_threshold
from joulewise.present.curves import trace_frame, utility_over_time
from joulewise.present.fates import fates, shares
from joulewise.present.intervals import differences
from joulewise.present.layout import Drawing
from joulewise.present.records import THRESHOLD, Records


@dataclass(frozen=True)
class Figure:
    """One row of the table; `name` is also its file name, `needs` are names of `NEEDS` that must all hold."""

    name: str
    title: str
    needs: tuple[str, ...]
    draw: Callable[[Records], Drawing]


NEEDS: dict[str, Callable[[Records], bool]] = {
    "comparison": lambda records: records.main is not None and not records.best.is_empty(),
    "thresholds": lambda records: THRESHOLD in records.others,
    "traces": lambda records: not trace_frame(records).is_empty(),
    "differences": lambda records: not records.behind_best.is_empty(),
    "task counts": lambda records: not shares(records).is_empty(),
}

FIGURES = (
    Figure("utility-by-policy", "Utility by policy", ("comparison",), utility_by_policy),
    Figure(
        "utility-by-threshold",
        "Utility by dropping threshold",
        ("comparison", "thresholds"),
        utility_by_threshold,
    ),
    Figure("differences", "Distance to the best", ("comparison", "differences"), differences),
    Figure("utility-over-time", "Utility over the day", ("traces",), utility_over_time),
    Figure("fates", "What became of the tasks", ("task counts",), fates),
)


def drawable(records: Records) -> list[Figure]:
    """The figures whose needs the records fulfil, in the order of the table."""
    return [figure for figure in FIGURES if all(NEEDS[need](records) for need in figure.needs)]


def drawings(records: Records) -> Iterator[tuple[Figure, Drawing]]:
    """Each figure that can be drawn, with its drawing."""
    return ((figure, figure.draw(records)) for figure in drawable(records))
