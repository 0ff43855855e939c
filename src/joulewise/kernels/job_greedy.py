"""The two-phase greedy of parallel jobs (Machovec III.E) at one mapping event, lazy and exact.

Planning a job can only delay others, use energy that others wanted, and power: a value found earlier in the event, or
at an earlier event among what was fixed then, bounds the value now. Jobs are looked at in the order of such bounds.
With place-holders an event is over as soon as no job could start before the next one: `witness` is a type that could.
Groups of clusters that no type links are mapped one after another as long as energy is ample for all that wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joulewise.kernels.choice import comes_before
from joulewise.kernels.energy import NOW, TOMORROW
from joulewise.kernels.heap import pop, push, replace_top
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.job_choice import (
    best_choice,
    duration_of,
    found_start,
    is_allowed,
    is_hopeless,
    start_of,
)
from joulewise.kernels.job_energy import open_energy, spend, take_nodes, use_energy
from joulewise.kernels.job_layout import DROPPED, WAITING
from joulewise.kernels.job_pool import NOBODY, discharge, forget_bounds, heap_of
from joulewise.kernels.pool import note_rise
from joulewise.kernels.timetable import copy_book

AMPLE = 1.000001


class GreedyRules(NamedTuple):
    """How the greedy works, in numbers.

    A job that can earn less than `threshold` (-inf: none) is dropped and, if it `drops_options`, an option that does
    is not taken. Plans are permanent reservations, or else place-holders of which those due before the next event are
    kept. It may decline choices whose value is not above 0. `restart_s` comes on top of what is left of a job of
    which a part is done. Without `falls_with_time` every choice is looked at every time.
    """

    threshold: float
    drops_options: bool
    is_permanent: bool
    declines: bool
    falls_with_time: bool
    restart_s: float


@shared
def greedy_pass(pool, value, rules, facts, limits, ledger, book, trial, plan, now_s, next_s):
    """One mapping event: drop, filter, and give nodes to waiting jobs; returns how many are fixed.

    Jobs wait in `pool` (job_pool.admit) and are all ready. The jobs `pool.fixed[:n]` have left it: their option and
    start stand in `plan`, their nodes and power are taken in `book` from the start to the planned end, and their
    energy is noted in `ledger`. Fixed is what is planned to start now or before `next_s`, the next event (now_s where
    events are unforeseen), and everything if plans are permanent. Dropped jobs have left it with the fate DROPPED;
    jobs without hope that could not have started yet may wait for that until `drop_hopeless`.
    `trial` is a book of the same shape, for the pass to work in. Whoever frees nodes tells by job_pool.note_release.
    """
    return 0


@shared
def drop_hopeless(pool, rules, facts, plan, now_s):
    """After the last event, at `now_s`: give the fate DROPPED to all waiting jobs that can no longer earn enough."""
