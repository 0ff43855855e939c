"""Chromosomes of a bag: one gene per task, the place that runs it. Crossover, mutation and evaluation in one go.

Times and energies are counted in whole ticks. Sums of them do not depend on the order of adding, so what a child
inherits from a parent and what it changes gives exactly what evaluating all of its genes would give.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

TIME, ENERGY = 0, 1


@record
class BagFacts(NamedTuple):
    """What a chromosome is evaluated with. A place is a machine in a P-state; `machine[place]` says which.

    `cost[task type, place]` are ticks of time and of extra energy, `allowed[task type, :n_allowed]` the places that
    can run a task type; `tick_s` and `tick_j` are what the ticks stand for.
    """

    task_type: NDArray[np.int64]
    cost: NDArray[np.int64]
    allowed: NDArray[np.int32]
    n_allowed: NDArray[np.int64]
    machine: NDArray[np.int64]
    tick_s: float
    tick_j: float
    idle_w: float


@record
class BagPool(NamedTuple):
    """Chromosomes by row: genes, ticks of time by machine, ticks of extra energy, and (makespan_s, energy_j)."""

    genes: NDArray[np.int32]
    busy: NDArray[np.int64]
    extra: NDArray[np.int64]
    points: NDArray[np.float64]


@kernel
def evaluate(facts, pool, n_rows):
    """Evaluate the first rows from all of their genes."""
    for row in range(n_rows):
        for machine in range(pool.busy.shape[1]):
            pool.busy[row, machine] = 0
        pool.extra[row] = 0
        for gene in range(pool.genes.shape[1]):
            _add(facts, pool, row, gene, pool.genes[row, gene])
        _set_point(facts, pool, row)


@kernel
def breed(state, facts, pool, parents, children, mutation):
    """Fill the children's rows: two by two, segments of two random parents swapped, then mutated at random."""
    n_genes = pool.genes.shape[1]
    for pair in range(children.size // 2):
        mother, father = _two_parents(draw(state), parents)
        bits = draw(state)
        one, other = high_below(bits, n_genes), low_below(bits, n_genes)
        first, last = min(one, other), max(one, other)
        _cross(facts, pool, mother, father, children[2 * pair], children[2 * pair + 1], first, last)
    for at in range(2 * (children.size // 2)):
        if share_of(draw(state)) < mutation:
            _mutate(facts, pool, children[at], draw(state))
        _set_point(facts, pool, children[at])


@inlined
def _two_parents(bits, parents):
    """Two different rows, each pair as likely as any other."""
    mother, father = high_below(bits, parents.size), low_below(bits, parents.size - 1)
    return parents[mother], parents[father + (father >= mother)]


@inlined
def _add(facts, pool, row, gene, place):
    kind = facts.task_type[gene]
    pool.busy[row, facts.machine[place]] += facts.cost[kind, place, TIME]
    pool.extra[row] += facts.cost[kind, place, ENERGY]


@inlined
def _take(facts, pool, row, gene, place):
    kind = facts.task_type[gene]
    pool.busy[row, facts.machine[place]] -= facts.cost[kind, place, TIME]
    pool.extra[row] -= facts.cost[kind, place, ENERGY]


@shared
def _cross(facts, pool, mother, father, daughter, son, first, last):
    """The daughter is the mother with the father's genes from first to last, the son the other way round.

    A long segment is the same as swapping what is outside it between children that start from the other parent.
    """
    n_genes = pool.genes.shape[1]
    if 2 * (last - first + 1) <= n_genes:
        _copy(pool, mother, daughter)
        _copy(pool, father, son)
        _swap(facts, pool, daughter, son, first, last + 1)
    else:
        _copy(pool, father, daughter)
        _copy(pool, mother, son)
        _swap(facts, pool, daughter, son, 0, first)
        _swap(facts, pool, daughter, son, last + 1, n_genes)


@inlined
def _copy(pool, source, target):
    for gene in range(pool.genes.shape[1]):
        pool.genes[target, gene] = pool.genes[source, gene]
    for machine in range(pool.busy.shape[1]):
        pool.busy[target, machine] = pool.busy[source, machine]
    pool.extra[target] = pool.extra[source]


@inlined
def _swap(facts, pool, daughter, son, begin, end):
    """Swap genes between two children; only those that differ change anything."""
    more = np.int64(0)
    for gene in range(begin, end):
        hers, his = pool.genes[daughter, gene], pool.genes[son, gene]
        if hers != his:
            pool.genes[daughter, gene], pool.genes[son, gene] = his, hers
            cost = facts.cost[facts.task_type[gene]]
            from_her, from_him = facts.machine[hers], facts.machine[his]
            pool.busy[daughter, from_her] -= cost[hers, TIME]
            pool.busy[son, from_her] += cost[hers, TIME]
            pool.busy[daughter, from_him] += cost[his, TIME]
            pool.busy[son, from_him] -= cost[his, TIME]
            more += cost[his, ENERGY] - cost[hers, ENERGY]
    pool.extra[daughter] += more
    pool.extra[son] -= more


@inlined
def _mutate(facts, pool, row, bits):
    """Give one task a random place that can run it."""
    gene = high_below(bits, pool.genes.shape[1])
    kind = facts.task_type[gene]
    place = facts.allowed[kind, low_below(bits, facts.n_allowed[kind])]
    _take(facts, pool, row, gene, pool.genes[row, gene])
    _add(facts, pool, row, gene, place)
    pool.genes[row, gene] = place


@inlined
def _set_point(facts, pool, row):
    latest = np.int64(0)
    for machine in range(pool.busy.shape[1]):
        latest = max(latest, pool.busy[row, machine])
    makespan_s = latest * facts.tick_s
    pool.points[row, 0] = makespan_s
    pool.points[row, 1] = pool.extra[row] * facts.tick_j + facts.idle_w * makespan_s
