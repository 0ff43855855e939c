"""Resamples of a log: blocks of its days drawn with replacement and set behind each other, as one log is one sample.

Blocks may overlap and never go round the end of the log (the moving blocks of Künsch 1989), so a block is always days
that followed each other, and one block of all days is the log itself. They are moved by whole days, so hours of the day
keep their places; blocks of whole weeks begin on the weekday that they come to, so weekdays do as well.

All days of which blocks are made are whole. Where a log ends within a day, that part of a day is in no block, as it
would be a day with too few jobs. Resamples are as long as the log all the same: their last block is cut where it ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Counts, Floats
from joulewise.model.supply import DAY_S
from joulewise.rng import generator
from joulewise.units import count
from joulewise.worlds.jobs.trace_jobs import TraceJobs

_WEEK_DAYS = 7
_SHORTER = (
    "shorten the blocks, or replay more of the log; a day at its end that is known to be whole counts where `span` "
    "says so"
)
LOGGED_TRIAL = 0
"""The trial that is the log itself: what is kept of it, and drawn, happened as it is shown."""


class Blocks(NamedTuple):
    """The blocks of a log of this length: its whole days, how many a block has, and on which of them one may begin."""

    length_s: float
    n_days: int
    length: int
    first_days: range

    @staticmethod
    def of(length_s: float, block_s: float) -> Blocks:
        """The blocks of this length of a log of that one; InputError where it has fewer whole days."""
        n_days, length = int(length_s // DAY_S), int(block_s // DAY_S)
        if length > n_days:
            days = count(n_days, "whole day")
            allowed = f"must not be longer than the part of the log that is replayed, which has {days}"
            raise InputError(Problem("workload.resample", f"found blocks of {count(length, 'day')}", allowed, _SHORTER))
        step = 1 if length % _WEEK_DAYS else _WEEK_DAYS
        return Blocks(length_s, n_days, length, range(0, n_days - length + 1, step))

    @property
    def places(self) -> range:
        """The days of a resample on which its blocks begin; the last block may be cut."""
        return range(0, math.ceil(self.length_s / DAY_S), self.length)

    @property
    def n_apart(self) -> int:
        """How many blocks fit side by side into the days that are drawn: so many parts of the log are told apart."""
        return (self.n_days - self.n_left_out) // self.length

    @property
    def n_left_out(self) -> int:
        """How many whole days at the end of the log no block reaches, as they are no whole week."""
        return self.n_days - self.first_days[-1] - self.length

    @property
    def tail_s(self) -> float:
        """How long the part of a day is with which the log ends."""
        return self.length_s - DAY_S * self.n_days

    def drawn(self, seed: int, trial: int) -> Counts:
        """The day of the log on which each block of a resample begins; other trials draw others."""
        drawn = generator(seed, "resample", trial).integers(len(self.first_days), size=len(self.places))
        return np.asarray(np.array(self.first_days)[drawn])

    def resampled(self, jobs: TraceJobs, begins: Counts) -> TraceJobs:
        """The jobs of these blocks behind each other, each as the log has it but for the days by which it is moved.

        A job may be there several times, so jobs are named by their blocks as well: `17@3` is job 17 in the third. One
        that follows a job of no or another block follows none that is there. InputError where no job is left.
        """
        ends_s = [*(DAY_S * place for place in self.places[1:]), self.length_s]
        of_block = [
            _rows(jobs.submit_s, DAY_S * float(first), end_s - DAY_S * place)
            for first, place, end_s in zip(begins, self.places, ends_s, strict=True)
        ]
        rows = np.concatenate(of_block)
        if not rows.size:
            found, advice = "found no job in the blocks that were drawn", "take longer blocks: the log has empty days"
            raise InputError(Problem("workload.resample", found, advice=advice))
        block = np.repeat(np.arange(len(of_block)), [each.size for each in of_block])
        later_s = DAY_S * (np.array(self.places) - begins)[block].astype(np.float64)
        return jobs.moved(rows, later_s, block + 1)


def _rows(submit_s: Floats, first_s: float, length_s: float) -> Counts:
    """The jobs submitted from an instant on, before so much time has passed."""
    return np.arange(*np.searchsorted(submit_s, (first_s, first_s + length_s)))
