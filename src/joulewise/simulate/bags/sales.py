"""Customers are asked for a price, one after the other; what they buy runs bag after bag, in the order of sale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats, frozen
from joulewise.model.customers import Quoting


class Sales(NamedTuple):
    """What each customer was asked for and answered; `start_s` and `done_s` are those of the bag if it is bought."""

    price: Floats
    schedule: Counts
    start_s: Floats
    done_s: Floats
    is_bought: Bools


def sell(arrival_s: Floats, worth: Floats, loss_per_s: float, makespan_s: Floats, quote: Quoting) -> Sales:
    """Ask customers in the order in which they come; they buy where the price is not above what is left of the worth.

    Of that, every second until the bag is done takes `loss_per_s`. Schedules take `makespan_s`, on all machines.
    """
    rows, free_s = [], -math.inf
    for at_s, value in zip(arrival_s.tolist(), worth.tolist()):
        start_s = max(at_s, free_s)
        price, schedule = quote(at_s, start_s - at_s)
        done_s = start_s + float(makespan_s[schedule])
        is_bought = price <= value - loss_per_s * (done_s - at_s)
        free_s = done_s if is_bought else free_s
        rows.append((price, schedule, start_s, done_s, is_bought))
    kinds = (np.float64, np.int64, np.float64, np.float64, np.bool_)
    columns = zip(*rows) if rows else ((),) * len(kinds)
    return Sales(*(frozen(np.array(column), kind) for column, kind in zip(columns, kinds)))
