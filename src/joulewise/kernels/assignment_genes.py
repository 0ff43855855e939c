"""Chromosomes of an assignment: for each task its place and its number in the global order (Friese 5.4.4)."""

from __future__ import annotations

from joulewise.kernels.assignment import ORDER, PLACE
from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel


@kernel
def cross_and_mutate(state, facts, genes, parents, children, mutation):
    """Fill the children's rows: two by two, segments of two random parents swapped, then mutated by chance.

    Genes are `[kind of gene, row, task]`. Nothing is evaluated.
    """
    n = genes.shape[2]
    for pair in range(children.size // 2):
        mother, father = two_parents(draw(state), parents)
        first, last = segment(draw(state), n)
        for kind in range(genes.shape[0]):
            _cross(genes[kind], mother, father, children[2 * pair], children[2 * pair + 1], first, last)
    for at in range(2 * (children.size // 2)):
        if share_of(draw(state)) < mutation:
            task, place, other = mutant(state, facts, n)
            _mutate(genes, children[at], task, place, other)


@inlined
def two_parents(bits, parents):
    """Two different rows, each pair as likely as any other."""
    mother, father = high_below(bits, parents.size), low_below(bits, parents.size - 1)
    return parents[mother], parents[father + (father >= mother)]


@inlined
def segment(bits, n):
    """The first and the last of a random stretch of genes."""
    one, other = high_below(bits, n), low_below(bits, n)
    return min(one, other), max(one, other)


@inlined
def mutant(state, facts, n):
    """A random task, a random place that can run it, and a random task to swap orders with."""
    bits = draw(state)
    task = high_below(bits, n)
    kind = facts.tasks.task_type[task]
    place = facts.allowed[kind, low_below(bits, facts.n_allowed[kind])]
    return task, place, high_below(draw(state), n)


@inlined
def _cross(genes, mother, father, daughter, son, first, last):
    """The daughter is the mother with the father's genes from first to last, the son the other way round."""
    for gene in range(genes.shape[1]):
        is_swapped = first <= gene <= last
        genes[daughter, gene] = genes[father if is_swapped else mother, gene]
        genes[son, gene] = genes[mother if is_swapped else father, gene]


@inlined
def _mutate(genes, row, task, place, other):
    genes[PLACE, row, task] = place
    order = genes[ORDER, row]
    order[task], order[other] = order[other], order[task]
