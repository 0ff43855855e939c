"""Resamples of a log: blocks of its days drawn with replacement and set behind each other, as one log is one sample.

Blocks may overlap and never go round the end of the log (the moving blocks of Künsch 1989), so a block is always days
that followed each other, and one block of all days is the log itself. They are moved by whole days, so hours of the day
keep their places; blocks of whole weeks begin on the weekday that they come to, so weekdays do as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Counts, Floats
from joulewise.model.supply import DAY_S
from joulewise.rng import generator
from joulewise.units import count
from joulewise.worlds.jobs.trace_jobs import TraceJobs

_WEEK_DAYS = 7
LOGGED_TRIAL = 0
"""The trial that is the log itself: what is kept of it, and drawn, happened as it is shown."""


class Blocks(NamedTuple):
    """The blocks of a log: its days, how many of them a block has, and on which of them a block may begin."""

    n_days: int
    length: int
    first_days: range

    @staticmethod
    def of(submit_s: Floats, block_s: float) -> Blocks:
        """The blocks of this length of jobs submitted at these instants; InputError where the log is shorter."""
        n_days, length = int(submit_s[-1] // DAY_S) + 1, int(block_s // DAY_S)
        if length > n_days:
            allowed = f"must not be longer than the part of the log that is replayed, {count(n_days, 'day')}"
            advice = "shorten the blocks, or replay more of the log"
            raise InputError(Problem("workload.resample", f"found blocks of {count(length, 'day')}", allowed, advice))
        step = 1 if length % _WEEK_DAYS else _WEEK_DAYS
        return Blocks(n_days, length, range(0, n_days - length + 1, step))

    @property
    def places(self) -> range:
        """The days of a resample on which its blocks begin; the last block may be cut."""
        return range(0, self.n_days, self.length)

    @property
    def n_left_out(self) -> int:
        """How many days at the end of the log no block reaches, as they are no whole week."""
        return self.n_days - self.first_days[-1] - self.length

    def drawn(self, seed: int, trial: int) -> Counts:
        """The day of the log on which each block of a resample begins; other trials draw others."""
        drawn = generator(seed, "resample", trial).integers(len(self.first_days), size=len(self.places))
        return np.asarray(np.array(self.first_days)[drawn])

    def resampled(self, jobs: TraceJobs, begins: Counts) -> TraceJobs:
        """The jobs of these blocks behind each other, each as the log has it but for the days by which it is moved.

        A job may be there several times, so jobs are named by their blocks as well: `17@3` is job 17 in the third. One
        that follows a job of no or another block follows none that is there. InputError where no job is left.
        """
        ends = [*self.places[1:], self.n_days]
        of_block = [
            _rows(jobs.submit_s, int(first), int(first) + end - place)
            for first, place, end in zip(begins, self.places, ends, strict=True)
        ]
        rows = np.concatenate(of_block)
        if not rows.size:
            found, advice = "found no job in the blocks that were drawn", "take longer blocks: the log has empty days"
            raise InputError(Problem("workload.resample", found, advice=advice))
        block = np.repeat(np.arange(len(of_block)), [each.size for each in of_block])
        later_s = DAY_S * (np.array(self.places) - begins)[block].astype(np.float64)
        return jobs.moved(rows, later_s, block + 1)


def _rows(submit_s: Floats, first: int, end: int) -> Counts:
    """The jobs submitted on the days from the first to the one before the end."""
    return np.arange(*np.searchsorted(submit_s, (DAY_S * first, DAY_S * end)))
