"""The timetable with named nodes: which node a job will have is fixed when it is planned (Machovec III.F).

It is the published variant, and what is needed where nodes are not interchangeable because commitments name them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap, empty_heap, pop, push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import switched

NOTHING = -1


@switched("is_used")
class Pins(NamedTuple):
    """Nodes of cluster r are first_node[r] up to first_node[r + 1]; each has its pins, one after another in time.

    A pin is a node's part in the commitment of a job, from `start_s` to `end_s`. `head` is the first pin of each node
    and `next_on_node` the one after a pin; `of_job` is one of the pins of each job and `next_of_job` another of the
    same; `node` is the node of a pin. NOTHING ends all of these. `past_s` is when the last job on a node ended that has
    no pin any more, -inf if there was none. Pins from `n_made[0]` on were never in use; others that are not start at
    `spare[0]`, linked by `next_on_node`.

    A pin is firm, or a plan of the mapping event that goes on. Two tables share all arrays: one that `sees_plans` finds
    starts among all pins and pins plans; for the other there are firm pins alone. Without `is_used` there are none, and
    kernels have no code for them.

    The others are room for a search: `at` is the pin that ends a node's void (see _next_void), `opens` and `closes`
    order nodes by when they could start and when they must have ended, `best` by what to take.
    """

    is_used: Literal[True] | None
    sees_plans: bool
    first_node: NDArray[np.int64]
    head: NDArray[np.int64]
    of_job: NDArray[np.int64]
    next_on_node: NDArray[np.int64]
    next_of_job: NDArray[np.int64]
    node: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    is_firm: NDArray[np.bool_]
    past_s: NDArray[np.float64]
    spare: NDArray[np.int64]
    n_made: NDArray[np.int64]
    at: NDArray[np.int64]
    opens: Heap
    closes: Heap
    best: Heap


def new_pins(n_nodes: NDArray[np.int64], n_jobs: int, n_pins: int) -> Pins:
    """Clusters of this many nodes, all of them free; at most n_pins pins (nodes x commitments) are there at a time.

    Pins take memory from when they are first in use.
    """
    first_node = np.concatenate(([0], np.cumsum(n_nodes))).astype(np.int64)
    n = int(first_node[-1])
    return Pins(
        True, False, first_node, np.full(n, NOTHING), np.full(n_jobs, NOTHING),
        np.empty(n_pins, np.int64), np.empty(n_pins, np.int64), np.empty(n_pins, np.int64),
        np.empty(n_pins), np.empty(n_pins), np.empty(n_pins, np.bool_),
        np.full(n, -math.inf), np.full(1, NOTHING), np.zeros(1, np.int64),
        np.empty(n, np.int64), empty_heap(n), empty_heap(n), empty_heap(n),
    )  # fmt: skip


NO_PINS = new_pins(np.zeros(0, np.int64), 0, 0)._replace(is_used=None)


# Where there is room


@inlined
def _next_void(pins, k, start_s, duration_s):
    """The earliest start on node k for a duration, not before an instant; at[k] goes on to the pin that comes next."""
    at = pins.at[k]
    while at != NOTHING and (_is_hidden(pins, at) or pins.start_s[at] < start_s + duration_s):
        if not _is_hidden(pins, at):
            start_s = max(start_s, pins.end_s[at])
        at = pins.next_on_node[at]
    pins.at[k] = at
    return start_s


@inlined
def _is_hidden(pins, pin):
    """Whether a pin is a plan, where plans are not seen."""
    return not (pins.sees_plans or pins.is_firm[pin])


@inlined
def _add(heap, k, key):
    """Put node k into a heap from which the smallest key comes first, ties by the lowest node."""
    heap.value[k], heap.completion_s[k] = 0.0, key
    push(heap, k)


@inlined
def _void_end(pins, k):
    """When the void of node k ends."""
    return math.inf if pins.at[k] == NOTHING else pins.start_s[pins.at[k]]


@shared
def fits_pinned(pins, r, nodes, duration_s, start_s):
    """Whether this many nodes of cluster r are each free for a duration from a start on."""
    n_free, last = 0, pins.first_node[r + 1]
    for k in range(pins.first_node[r], last):
        pins.at[k] = pins.head[k]
        n_free += _next_void(pins, k, start_s, duration_s) == start_s
        if n_free >= nodes:
            return True
        if n_free + last - k - 1 < nodes:
            return False
    return False


@shared
def first_fit_pinned(pins, r, nodes, duration_s, from_s):
    """The earliest start, not before `from_s`, at which this many nodes of cluster r are each free for a duration.

    Goes through the nodes' possible starts in order of time, and keeps those whose voids last long enough from there.
    """
    if from_s == math.inf or fits_pinned(pins, r, nodes, duration_s, from_s):
        return from_s
    pins.opens.size[0], pins.closes.size[0] = 0, 0
    for k in range(pins.first_node[r], pins.first_node[r + 1]):
        pins.at[k] = pins.head[k]
        _add(pins.opens, k, _next_void(pins, k, from_s, duration_s))
    while pins.opens.size[0] > 0:
        k = pins.opens.items[0]
        start_s = pins.opens.completion_s[k]
        pop(pins.opens)
        _add(pins.closes, k, _void_end(pins, k))
        while pins.closes.completion_s[pins.closes.items[0]] < start_s + duration_s:
            k = pins.closes.items[0]
            pop(pins.closes)
            _add(pins.opens, k, _next_void(pins, k, start_s, duration_s))
            if pins.closes.size[0] == 0:
                break
        if pins.closes.size[0] >= nodes:
            return start_s
    return math.inf


# Which nodes to take


@inlined
def _void_around(pins, k, start_s):
    """The last pin of node k that ends by an instant, and the one after it."""
    before, after = NOTHING, pins.head[k]
    while after != NOTHING and pins.end_s[after] <= start_s:
        before, after = after, pins.next_on_node[after]
    return before, after


@inlined
def _void_start(pins, k, before):
    """When the void of node k behind a pin, or behind all that has ended, begins; -inf if nothing was there."""
    return pins.past_s[k] if before == NOTHING else pins.end_s[before]


@inlined
def _voids_added(from_s, to_s, start_s, end_s):
    """How many more idle voids between two jobs there are when one is put into a void: from -1, where it fills it."""
    added = 0
    if -math.inf < from_s < start_s:
        added += 1
    if end_s < to_s < math.inf:
        added += 1
    if to_s - from_s < math.inf:
        added -= 1
    return added


@inlined
def _rank_nodes(pins, r, start_s, end_s):
    """Put the nodes of cluster r that are free for a time into `best`: fewest voids first, then the smallest void."""
    pins.best.size[0] = 0
    for k in range(pins.first_node[r], pins.first_node[r + 1]):
        before, pins.at[k] = _void_around(pins, k, start_s)
        from_s, to_s = _void_start(pins, k, before), _void_end(pins, k)
        if to_s >= end_s:
            pins.best.value[k] = -_voids_added(from_s, to_s, start_s, end_s)
            pins.best.completion_s[k] = to_s - from_s
            push(pins.best, k)


# Pins


@inlined
def _unused(pins):
    """A pin that is not in use."""
    pin = pins.spare[0]
    if pin == NOTHING:
        pins.n_made[0] += 1
        return pins.n_made[0] - 1
    pins.spare[0] = pins.next_on_node[pin]
    return pin


@shared
def pin_node(pins, i, k, start_s, end_s):
    """Commit node k, which must be free then, to job i."""
    pin = _unused(pins)
    before, after = _void_around(pins, k, start_s)
    pins.node[pin], pins.start_s[pin], pins.end_s[pin] = k, start_s, end_s
    pins.next_on_node[pin], pins.is_firm[pin] = after, not pins.sees_plans
    if before == NOTHING:
        pins.head[k] = pin
    else:
        pins.next_on_node[before] = pin
    pins.next_of_job[pin] = pins.of_job[i]
    pins.of_job[i] = pin


@shared
def pin(pins, r, i, nodes, start_s, end_s):
    """Commit to job i this many nodes of cluster r that are free for a time, as many as there are at most.

    Those are taken that leave the fewest idle voids, of these the ones with the smallest void, then by number.
    Returns how many were found.
    """
    _rank_nodes(pins, r, start_s, end_s)
    n_pinned = min(nodes, pins.best.size[0])
    for _ in range(n_pinned):
        k = pins.best.items[0]
        pop(pins.best)
        pin_node(pins, i, k, start_s, end_s)
    return n_pinned


@inlined
def _take_off_node(pins, pin):
    """Unlink a pin from its node and make it a spare one."""
    k, after = pins.node[pin], pins.next_on_node[pin]
    if pins.head[k] == pin:
        pins.head[k] = after
    else:
        before = pins.head[k]
        while pins.next_on_node[before] != pin:
            before = pins.next_on_node[before]
        pins.next_on_node[before] = after
    pins.next_on_node[pin] = pins.spare[0]
    pins.spare[0] = pin


@shared
def make_firm(pins, i):
    """Let job i keep the nodes that it was planned on."""
    pin = pins.of_job[i]
    while pin != NOTHING:
        pins.is_firm[pin] = True
        pin = pins.next_of_job[pin]


@shared
def unpin(pins, i, from_s):
    """Free all nodes of job i: its commitment is withdrawn or, where it had them before an instant, over since then."""
    while pins.of_job[i] != NOTHING:
        pin = pins.of_job[i]
        pins.of_job[i] = pins.next_of_job[pin]
        if pins.start_s[pin] < from_s:
            pins.past_s[pins.node[pin]] = from_s
        _take_off_node(pins, pin)
