"""Chromosomes of facility plans: for each core and task type a share of time and a P-state (Oxley IV.B).

A share is a whole number of `1 / FULL` parts and a P-state its place among those that can be used, so that thousands of
nodes fit into little memory and a core is never given more than all of its time. Each chromosome keeps the power of its
nodes and its rates. A child differs from a parent by a run of cores, and a throttled one by some nodes: what they add
is taken off and added again, and the rest is left as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

FULL = 65535
"""All the time of a core, in parts."""

ALONE, SLOWED = 0, 1
"""Rows of rates: without and with what neighbours slow."""

_PART = 1.0 / FULL
_TRIES = 8


@record
class GeneFacts(NamedTuple):
    """What does not change: `speed`, `power` and `least_pace`, at which slowed tasks are late, are [task type, node
    type, place among the usable P-states]."""

    first_core: NDArray[np.int64]
    node_of_core: NDArray[np.int32]
    node_type: NDArray[np.int32]
    sharers: NDArray[np.int64]
    overhead_w: NDArray[np.float64]
    heating_k_per_w: NDArray[np.float64]
    speed: NDArray[np.float64]
    power: NDArray[np.float64]
    least_pace: NDArray[np.float64]
    n_usable: NDArray[np.int64]
    memory_class: NDArray[np.int8]
    slowdown: NDArray[np.float64]


@record
class GenePool(NamedTuple):
    """Chromosomes by row: genes [row, core, task type], powers [row, node] and rates [row, ALONE or SLOWED, type]."""

    share: NDArray[np.uint16]
    pstate: NDArray[np.uint8]
    node_w: NDArray[np.float64]
    rate: NDArray[np.float64]


@record
class GeneRoom(NamedTuple):
    """Room to work in.

    For one processor, `busy` [core, class] is how busy cores are with each class, `slower` by how much a task of each
    class is slowed there, and `worst` by how much beside the worst that each neighbour ever runs. `run` [parent] has
    the rates of a run of nodes.
    """

    busy: NDArray[np.float64]
    slower: NDArray[np.float64]
    worst: NDArray[np.float64]
    heap: NDArray[np.int64]
    outlet_c: NDArray[np.float64]
    is_touched: NDArray[np.bool_]
    run: NDArray[np.float64]


def pool_of(n_rows: int, n_nodes: int, n_cores: int, n_tasks: int) -> GenePool:
    """Chromosomes that do nothing."""
    genes = (n_rows, n_cores, n_tasks)
    rates = np.zeros((n_rows, 2, n_tasks))
    return GenePool(np.zeros(genes, np.uint16), np.zeros(genes, np.uint8), np.zeros((n_rows, n_nodes)), rates)


def room_to_breed(n_nodes: int, most_sharers: int, n_classes: int, n_tasks: int) -> GeneRoom:
    """Room to work in for facilities of this size."""
    return GeneRoom(
        np.zeros((most_sharers, n_classes)),
        np.zeros((most_sharers, n_classes)),
        np.zeros((most_sharers, n_classes)),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes),
        np.zeros(n_nodes, np.bool_),
        np.zeros((2, 2, n_tasks)),
    )


# --- what chromosomes come to ------------------------------------------------------------------------------


@kernel
def measure(facts, pool, room, row):
    """Set the powers and rates of a chromosome."""
    _measure(facts, pool, room, row)


@shared
def _measure(facts, pool, room, row):
    pool.rate[row] = 0.0
    for node in range(facts.node_type.size):
        pool.node_w[row, node] = _add_node(facts, pool, room, row, node, 1.0, pool.rate[row])


@shared
def _add_node(facts, pool, room, row, node, sign, rate):
    """Add the rates of one node, times the sign, and give its power."""
    kind, power_w = facts.node_type[node], facts.overhead_w[node]
    size = facts.sharers[kind]
    for start in range(facts.first_core[node], facts.first_core[node + 1], size):
        _note_neighbours(facts, pool, room, row, start, size, kind)
        for k in range(size):
            core = start + k
            for t in range(rate.shape[1]):
                part = pool.share[row, core, t] * _PART
                if part > 0.0:
                    at = pool.pstate[row, core, t]
                    done = sign * part * facts.speed[t, kind, at]
                    power_w += part * facts.power[t, kind, at]
                    rate[ALONE, t] += done
                    own = facts.memory_class[t]
                    if 1.0 / (1.0 + room.worst[k, own]) > facts.least_pace[t, kind, at]:
                        rate[SLOWED, t] += done / (1.0 + room.slower[k, own])
    return power_w


@inlined
def _note_neighbours(facts, pool, room, row, start, size, kind):
    """Note by how much each core of a processor is slowed by the others, for each class that it may run."""
    busy, slower, worst = room.busy, room.slower, room.worst
    for k in range(size):
        busy[k] = 0.0
        slower[k] = 0.0
        worst[k] = 0.0
        for t in range(facts.memory_class.size):
            busy[k, facts.memory_class[t]] += pool.share[row, start + k, t] * _PART
    for other in range(size):
        for c in range(busy.shape[1]):
            if busy[other, c] > 0.0:
                for k in range(size):
                    for own in range(busy.shape[1]):
                        slower[k, own] += (k != other) * busy[other, c] * facts.slowdown[kind, own, c]
        for own in range(busy.shape[1]):
            most = 0.0
            for c in range(busy.shape[1]):
                if busy[other, c] > 0.0:
                    most = max(most, facts.slowdown[kind, own, c])
            for k in range(size):
                worst[k, own] += (k != other) * most


# --- crossover and mutation --------------------------------------------------------------------------------


@kernel
def breed(state, facts, pool, room, ranked, children, bias, mutation, gene_mutation):
    """Fill and measure two children: two parents by linear bias, a run of cores swapped, each mutated at random.

    `ranked` are rows from the best on. Gives the rows of the parents.
    """
    mother, father = _draw_parents(state, ranked, bias)
    x, y = _draw_run(state, pool.share.shape[1])
    _cross(facts, pool, mother, father, children[0], x, y)
    _cross(facts, pool, father, mother, children[1], x, y)
    _swap_rates(facts, pool, room, mother, father, children, x, y)
    for child in children:
        if share_of(draw(state)) < mutation:
            _mutate(state, facts, pool, child, gene_mutation)
            _measure(facts, pool, room, child)
    return mother, father


@inlined
def _draw_parents(state, ranked, bias):
    """Two different rows; the best is `bias` times as likely as the middle one (Whitley 1989)."""
    one, other = _draw_rank(state, ranked.size, bias), _draw_rank(state, ranked.size, bias)
    if one == other:
        other = (other + 1) % ranked.size
    return ranked[one], ranked[other]


@inlined
def _draw_rank(state, n, bias):
    share = share_of(draw(state))
    return min(np.int64(n * (bias - np.sqrt(bias * bias - 4.0 * (bias - 1.0) * share)) / (2.0 * (bias - 1.0))), n - 1)


@inlined
def _draw_run(state, n_cores):
    """A run of one or more cores, from the first up to, but not, the second."""
    bits = draw(state)
    one, other = high_below(bits, n_cores + 1), low_below(bits, n_cores)
    other += other >= one
    return min(one, other), max(one, other)


@inlined
def _cross(facts, pool, outer, inner, child, x, y):
    """A child with the genes of one parent, but those of the other inside the run; rates are left to be set."""
    _copy_genes(pool, outer, child, 0, x)
    _copy_genes(pool, inner, child, x, y)
    _copy_genes(pool, outer, child, y, pool.share.shape[1])
    for node in range(facts.node_type.size):
        pool.node_w[child, node] = pool.node_w[inner if _is_inside(facts, node, x, y) else outer, node]


@inlined
def _copy_genes(pool, source, target, first, last):
    for core in range(first, last):
        for t in range(pool.share.shape[2]):
            pool.share[target, core, t] = pool.share[source, core, t]
            pool.pstate[target, core, t] = pool.pstate[source, core, t]


@inlined
def _is_inside(facts, node, x, y):
    """Whether all cores of a node are in a run."""
    return facts.first_core[node] >= x and facts.first_core[node + 1] <= y


@inlined
def _swap_rates(facts, pool, room, mother, father, children, x, y):
    """Set the children's rates from their parents': nodes inside the run change sides, and those it cuts are new."""
    one, other, run, first, last = children[0], children[1], room.run, facts.node_of_core[x], facts.node_of_core[y - 1]
    run[:] = 0.0
    for node in range(first, last + 1):
        if _is_inside(facts, node, x, y):
            _add_node(facts, pool, room, mother, node, 1.0, run[0])
            _add_node(facts, pool, room, father, node, 1.0, run[1])
    for kind in range(2):
        for t in range(pool.rate.shape[2]):
            pool.rate[one, kind, t] = pool.rate[mother, kind, t] - run[0, kind, t] + run[1, kind, t]
            pool.rate[other, kind, t] = pool.rate[father, kind, t] - run[1, kind, t] + run[0, kind, t]
    for node in range(first, last + 1, max(last - first, 1)):
        if not _is_inside(facts, node, x, y):
            _renew(facts, pool, room, mother, one, node)
            _renew(facts, pool, room, father, other, node)


@inlined
def _renew(facts, pool, room, before, row, node):
    """Count in a row's own node in place of another row's."""
    _add_node(facts, pool, room, before, node, -1.0, pool.rate[row])
    pool.node_w[row, node] = _add_node(facts, pool, room, row, node, 1.0, pool.rate[row])


@kernel
def mutate(state, facts, pool, room, row, gene_mutation):
    """Set genes of a chromosome to random ones, each with this chance, and measure it."""
    _mutate(state, facts, pool, row, gene_mutation)
    _measure(facts, pool, room, row)


@shared
def _mutate(state, facts, pool, row, gene_mutation):
    for core in range(pool.share.shape[1]):
        kind = facts.node_type[facts.node_of_core[core]]
        for t in range(pool.share.shape[2]):
            if facts.n_usable[t, kind] > 0 and share_of(draw(state)) < gene_mutation:
                bits = draw(state)
                pool.share[row, core, t] = high_below(bits, FULL + 1)
                pool.pstate[row, core, t] = low_below(bits, facts.n_usable[t, kind])
        _normalise(pool, row, core)


@inlined
def _normalise(pool, row, core):
    """Cut the shares of a core in proportion where they are above all of its time."""
    total = np.int64(0)
    for t in range(pool.share.shape[2]):
        total += np.int64(pool.share[row, core, t])
    if total > FULL:
        for t in range(pool.share.shape[2]):
            pool.share[row, core, t] = np.int64(pool.share[row, core, t]) * FULL // total


# --- local search ------------------------------------------------------------------------------------------


@kernel
def power_when_slowest(facts, pool, row, node_w):
    """Set what each node would draw with all genes in their last P-states."""
    for node in range(node_w.size):
        node_w[node] = facts.overhead_w[node]
    for core in range(pool.share.shape[1]):
        node = facts.node_of_core[core]
        kind = facts.node_type[node]
        for t in range(pool.share.shape[2]):
            if pool.share[row, core, t] > 0:
                last = facts.n_usable[t, kind] - 1
                node_w[node] += pool.share[row, core, t] * _PART * facts.power[t, kind, last]


@kernel
def throttle(state, facts, pool, room, row, inlet_c, w_per_w, excess_w):
    """Slow down the hottest node, and then the one that is the hottest next, until this much power is taken off.

    The hottest is the one with the hottest air behind it, at inlets as they were. Each step takes a random task type
    on a random core of it to its next P-state. `w_per_w` is what a watt of each node counts. Gives the power taken
    off, which is less than asked for where all are in their last P-states.
    """
    n, taken_w = facts.node_type.size, 0.0
    for node in range(n):
        room.outlet_c[node] = inlet_c[node] + facts.heating_k_per_w[node] * pool.node_w[row, node]
        room.heap[node] = node
        room.is_touched[node] = False
    for place in range(n // 2 - 1, -1, -1):
        _sink(room, place, n)
    while taken_w < excess_w and n > 0:
        node = room.heap[0]
        core, t = _draw_gene(state, facts, pool, row, node)
        if core < 0:
            n -= 1
            room.heap[0] = room.heap[n]
        else:
            if not room.is_touched[node]:
                room.is_touched[node] = True
                _add_node(facts, pool, room, row, node, -1.0, pool.rate[row])
            fell_w = _slow_down(facts, pool, row, core, t)
            room.outlet_c[node] -= facts.heating_k_per_w[node] * fell_w
            taken_w += fell_w * w_per_w[node]
        _sink(room, 0, n)
    for node in range(facts.node_type.size):
        if room.is_touched[node]:
            pool.node_w[row, node] = _add_node(facts, pool, room, row, node, 1.0, pool.rate[row])
    return taken_w


@inlined
def _sink(room, place, n):
    """Let a node go down the heap to below all that are hotter."""
    heap, outlet_c = room.heap, room.outlet_c
    while True:
        child = 2 * place + 1
        if child >= n:
            return
        if child + 1 < n and outlet_c[heap[child + 1]] > outlet_c[heap[child]]:
            child += 1
        if outlet_c[heap[child]] <= outlet_c[heap[place]]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@inlined
def _draw_gene(state, facts, pool, row, node):
    """A random core of a node and a task type on it that can go slower; core -1 where none can."""
    first, n_tasks = facts.first_core[node], pool.share.shape[2]
    n_genes = (facts.first_core[node + 1] - first) * n_tasks
    for _ in range(_TRIES):
        gene = high_below(draw(state), n_genes)
        if _can_slow_down(facts, pool, row, node, first + gene // n_tasks, gene % n_tasks):
            return first + gene // n_tasks, gene % n_tasks
    start = high_below(draw(state), n_genes)
    for step in range(n_genes):
        gene = (start + step) % n_genes
        if _can_slow_down(facts, pool, row, node, first + gene // n_tasks, gene % n_tasks):
            return first + gene // n_tasks, gene % n_tasks
    return -1, -1


@inlined
def _can_slow_down(facts, pool, row, node, core, t):
    last = facts.n_usable[t, facts.node_type[node]] - 1
    return pool.share[row, core, t] > 0 and pool.pstate[row, core, t] < last


@inlined
def _slow_down(facts, pool, row, core, t):
    """Take a task type on a core to its next P-state, and give the power that saves."""
    power, kind, at = facts.power, facts.node_type[facts.node_of_core[core]], np.int64(pool.pstate[row, core, t])
    pool.pstate[row, core, t] = at + 1
    return pool.share[row, core, t] * _PART * (power[t, kind, at] - power[t, kind, at + 1])
