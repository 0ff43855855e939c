"""What trials are, and so how a figure comes of their values and how far it may be off.

Draws of independent worlds are many samples: their mean is the figure, and more of them tell it more surely. Resamples
are of the one sample that there is, which is their first trial: its value is the figure, whatever the resamples say.
They spread around each other as other samples would around it, and more of them tell that spread more surely, but not
the figure. What spreads so is a little too narrow, by the same factor by which a deviation of few values is if it is
divided by their number, and no surer than the blocks are many of which resamples are made. So with the factor and with
Student's t, resamples of a mean by blocks of which none overlap give Student's interval of the means of blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from joulewise.study.spec.trials import BLOCKS, SAMPLE

TRIAL = "trial"
Estimator = Callable[[pl.Expr], pl.Expr]
"""From values of trials to a number."""


class Sampling(NamedTuple):
    """What trials are, as a figure, its standard error and degrees of freedom come of values, missing ones left out.

    `deviation` is that of single values in which effects are told; null where it says nothing. Tables of values `need`
    these columns. `figures`, of {} trials, and `intervals` are what captions call them.
    """

    figure: Estimator
    error: Estimator
    freedom: Estimator
    deviation: Estimator
    needs: tuple[str, ...]
    figures: str
    intervals: str


def _number(value: pl.Expr) -> pl.Expr:
    return value.count().cast(pl.Float64)


def _error_of_draws(value: pl.Expr) -> pl.Expr:
    return value.std() / _number(value).sqrt()


DRAWS = Sampling(
    figure=lambda value: value.mean(),
    error=_error_of_draws,
    freedom=lambda value: _number(value) - 1,
    deviation=lambda value: value.std(),
    needs=(),
    figures="means over {}",
    intervals="95 % confidence intervals of the mean",
)
"""Trials are draws of worlds, independent of each other."""

_BLOCKS = pl.col(BLOCKS).cast(pl.Float64).min()


def _resampled(value: pl.Expr) -> pl.Expr:
    return value.filter(pl.col(TRIAL) != SAMPLE)


def _unless_drawn(of_resamples: Estimator, of_draws: Estimator) -> Estimator:
    """The one, or the other where worlds were drawn, as at some points of a study that has resamples at others."""
    return lambda value: pl.when(_BLOCKS.is_null()).then(of_draws(value)).otherwise(of_resamples(value))


RESAMPLES = Sampling(
    figure=_unless_drawn(lambda value: value.filter(pl.col(TRIAL) == SAMPLE).first(), DRAWS.figure),
    error=_unless_drawn(lambda value: _resampled(value).std() * (_BLOCKS / (_BLOCKS - 1)).sqrt(), DRAWS.error),
    freedom=_unless_drawn(lambda value: 1 / (1 / (_number(_resampled(value)) - 1) + 1 / (_BLOCKS - 1)), DRAWS.freedom),
    deviation=_unless_drawn(lambda _value: pl.lit(None, pl.Float64), DRAWS.deviation),
    needs=(TRIAL, BLOCKS),
    figures="what came out of the log itself",
    intervals="95 % intervals by resamples of the log",
)
"""Trials are resamples of one sample, and the first of them is the sample."""
