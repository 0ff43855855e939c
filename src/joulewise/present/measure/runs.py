"""Which runs of a laboratory count, which do not and why, and what is to be said of readings of the idle machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from joulewise.measure.analysis.powers import IDLE
from joulewise.units import count, noun

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_MOST_NAMED = 3


class RunCounts(NamedTuple):
    """How many runs count, failed, lie far from the others, and were not made: all that a plan asks for."""

    n_valid: int
    n_failed: int
    n_far: int
    n_unmade: int

    @property
    def is_finished(self) -> bool:
        """Whether all runs were made, and none failed."""
        return self.n_failed == self.n_unmade == 0

    def words(self) -> str:
        """In words: "2 of 15 runs count; 1 failed; 12 were not made yet"."""
        n_all = sum(self)
        of_all = f" of {n_all:,}" if n_all > self.n_valid else ""
        first = f"{self.n_valid:,}{of_all} {noun(n_all, 'run')} {noun(self.n_valid, 'counts', 'count')}"
        others = (
            (self.n_failed, "failed"),
            (self.n_far, noun(self.n_far, "lies far from the others", "lie far from the others")),
            (self.n_unmade, noun(self.n_unmade, "was not made yet", "were not made yet")),
        )
        return "; ".join([first, *(f"{n:,} {words}" for n, words in others if n)])


def runs_made(analysis: Analysis) -> pl.DataFrame:
    """Observations of all runs that were made, whether they count or not."""
    return pl.concat([analysis.observations, analysis.left_out], how="diagonal")


def run_counts(analysis: Analysis, n_planned: int = 0) -> RunCounts:
    """What became of the runs, of which the plan asks for `n_planned`; where that is not known, all were made."""
    valid = analysis.observations["run"].unique()
    others = analysis.left_out.unique("run").filter(~pl.col("run").is_in(valid.implode()))
    n_failed = others.filter((pl.col("problem").fill_null("") != "") | ~pl.col("is_outlier").fill_null(False)).height
    n_unmade = max(n_planned - valid.len() - others.height, 0)
    return RunCounts(valid.len(), n_failed, others.height - n_failed, n_unmade)


def left_out(analysis: Analysis) -> Iterator[str]:
    """Why how many runs do not count."""
    if analysis.left_out.is_empty():
        return
    runs = analysis.left_out.group_by("run", maintain_order=True).agg(pl.col("why", "group").first())
    for (why,), part in runs.partition_by("why", as_dict=True, maintain_order=True).items():
        groups = part["group"].unique(maintain_order=True).to_list()
        more = f" and {len(groups) - _MOST_NAMED} more" if len(groups) > _MOST_NAMED else ""
        yield f"{count(part.height, 'run')} of {', '.join(groups[:_MOST_NAMED])}{more}: {why}."


def idle_doubts(analysis: Analysis, notes: Sequence[str]) -> str:
    """What is to be said of static power that was read with nothing running, given the remark on each reading."""
    doubts = [note for note in notes if note]
    if not doubts or not (analysis.powers["basis"] == IDLE).any():
        return ""
    why = "; ".join(dict.fromkeys(doubts))
    are = noun(len(doubts), "is", "are")
    return f"{len(doubts):,} of {count(len(notes), 'reading')} with nothing running {are} in doubt: {why}."
