"""When nothing is left to do, and a counted window without an end, closed where prices of machine time may stop.

What completes later may earn what it is worth at that instant for nothing, so any instant will do; a good one is when
nothing is worth anything any more, or when all could be done.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.workload import Workload


def idle_from_s(work: Workload, first: Counts, kind: Ints | Counts, share_s: Floats, exec_s: Floats) -> float:
    """When nothing is worth anything any more, or all could be done.

    The choices of task type t are `first[t]` up to `first[t + 1]`: each takes all machines of its kind together for
    `share_s`, and lasts `exec_s`.
    """
    done_s, worthless_s = _done_s(work, first, kind, share_s, exec_s), _worthless_s(work)
    return worthless_s if work.start_s < worthless_s < done_s else done_s


def closed(work: Workload, at_s: float) -> Workload:
    """The same work in a window that ends: then if it had no end."""
    return work if np.isfinite(work.end_s) else replace(work, end_s=at_s)


def earned_later(work: Workload, end_s: float, first: Counts) -> Floats:
    """What tasks with a choice may earn at most after an instant at which a window without an end was closed."""
    can_run = (np.diff(first) > 0)[work.task_type]
    if np.isfinite(work.end_s):
        return np.zeros(work.n_tasks)
    return np.where(can_run, work.most_from(np.arange(work.n_tasks), end_s), 0.0)


def _done_s(work: Workload, first: Counts, kind: Ints | Counts, share_s: Floats, exec_s: Floats) -> float:
    """When all could be done, each task on the kind of machine that could do all such tasks soonest."""
    n_choices = np.diff(first)
    by_share = np.lexsort((share_s, np.repeat(np.arange(n_choices.size), n_choices)))
    some = np.flatnonzero(n_choices[work.task_type] > 0)
    choice = by_share[first[work.task_type[some]]]
    stretch = np.ones(some.size) if work.stretch is None else work.stretch[some]
    busy_s = np.bincount(kind[choice], stretch * share_s[choice])
    from_s = max(float(work.arrival_s[-1]), work.start_s)
    return from_s + float(busy_s.max(initial=0.0)) + float((stretch * exec_s[choice]).max(initial=1.0))


def _worthless_s(work: Workload) -> float:
    """From when on no task is worth anything; infinite if that never comes."""
    return float(work.worthless_at_s[work.scale > 0].max(initial=0.0))
