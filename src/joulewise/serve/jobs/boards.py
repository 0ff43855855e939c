"""The boards of parallel jobs under a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.serve.asking import Choice, Wish
from joulewise.serve.board import Board
from joulewise.serve.kept_day import has_tables, wishes

if TYPE_CHECKING:
    from joulewise.serve.answer import Answer
    from joulewise.serve.asking import Asked
    from joulewise.serve.subject import Subject

CLUSTER, ALL = "cluster", "all"
"""The key of a query that says which cluster is seen, and what stands for all of them."""
_TRACES, _CLUSTERS = "job_traces", "clusters"


def _wishes(subject: Subject) -> Sequence[Wish]:
    common = wishes(subject, _TRACES)
    if not common:
        return ()
    names = subject.kept("clusters", lambda: _clusters(subject))
    return (*common, Choice(CLUSTER, "Nodes of", options={ALL: "all clusters", **{name: name for name in names}}))


def _clusters(subject: Subject) -> list[str]:
    """The clusters of all kept runs."""
    from joulewise.study.store.store import Store

    stored = sorted(Store(subject.folder).detail_keys(_CLUSTERS))
    names = subject.results.details(_CLUSTERS, ["cluster"], stored)["cluster"]
    return [str(name) for name in names.unique(maintain_order=True)]


def _day(subject: Subject, asked: Asked) -> Answer:
    from joulewise.serve.jobs.day_page import day_page

    return day_page(subject, asked)


DAY = Board(
    "day",
    "Day",
    "What a scheduler ran on which nodes, what waited and how it was slowed down, as close as one likes to look.",
    has_tables("jobs", _TRACES, _CLUSTERS),
    _day,
    _wishes,
    is_live=True,
)

BOARDS: tuple[Board, ...] = (DAY,)
