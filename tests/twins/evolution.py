"""The slow twin of NSGA-II on bags: the rules word for word, every chromosome evaluated from all of its genes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from joulewise.model import Bag
from tests.twins.draws import Draws, high, low

Point = tuple[float, float]


@dataclass
class Herd:
    """Chromosomes by row; which rows are parents and which are free for children, in order; all fronts ever seen."""

    genes: dict[int, list[int]]
    parents: list[int]
    children: list[int]
    archive: dict[Point, list[int]] = field(default_factory=dict)


def evaluate(bag: Bag, genes: list[int]) -> Point:
    """Makespan and energy of a chromosome; a gene is machine x P-states + P-state."""
    system = bag.system
    task_types = [task_type for task_type, n in enumerate(bag.counts) for _ in range(n)]
    busy_s, extra_j = [0.0] * system.n_machines, 0.0
    for task_type, place in zip(task_types, genes, strict=True):
        machine, pstate = divmod(place, system.n_pstates)
        choice = task_type, system.machine_type[machine], pstate
        busy_s[machine] += float(bag.exec_s[choice])
        extra_j += float(bag.extra_j[choice])
    return max(busy_s), extra_j + bag.total_idle_w * max(busy_s)


def allowed(bag: Bag, task_type: int) -> list[int]:
    """The places that can run a task type."""
    system = bag.system
    places = ((m, p) for m in range(system.n_machines) for p in range(system.n_pstates))
    return [
        m * system.n_pstates + p for m, p in places if math.isfinite(bag.exec_s[task_type, system.machine_type[m], p])
    ]


def breed(bag: Bag, herd: Herd, draws: Draws, mutation: float) -> None:
    """Fill the children's rows."""
    task_types = [task_type for task_type, n in enumerate(bag.counts) for _ in range(n)]
    n, n_genes = len(herd.parents), len(task_types)
    for pair in range(n // 2):
        bits = draws.bits()
        mother, father = high(bits, n), low(bits, n - 1)
        father += father >= mother
        bits = draws.bits()
        first, last = sorted((high(bits, n_genes), low(bits, n_genes)))
        hers, his = herd.genes[herd.parents[mother]], herd.genes[herd.parents[father]]
        cut = slice(first, last + 1)
        herd.genes[herd.children[2 * pair]] = hers[:first] + his[cut] + hers[last + 1 :]
        herd.genes[herd.children[2 * pair + 1]] = his[:first] + hers[cut] + his[last + 1 :]
    for row in herd.children:
        if draws.share() < mutation:
            bits = draws.bits()
            gene = high(bits, n_genes)
            places = allowed(bag, task_types[gene])
            herd.genes[row][gene] = places[low(bits, len(places))]


def step(bag: Bag, herd: Herd, draws: Draws, mutation: float, by_dominators: bool) -> None:
    """One generation."""
    breed(bag, herd, draws, mutation)
    points = {row: evaluate(bag, genes) for row, genes in herd.genes.items()}
    for row in herd.children:
        remember(herd.archive, points[row], herd.genes[row])
    herd.parents, herd.children = select(points, len(herd.parents), by_dominators)


def remember(archive: dict[Point, list[int]], point: Point, genes: list[int]) -> None:
    """Add a point that nothing dominates or equals, and drop what it dominates."""
    if point in archive or any(dominates(other, point) for other in archive):
        return
    for other in [other for other in archive if dominates(point, other)]:
        del archive[other]
    archive[point] = list(genes)


def dominates(one: Point, other: Point) -> bool:
    """Whether one is nowhere worse and somewhere better."""
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def ranks_of(points: dict[int, Point], by_dominators: bool) -> dict[int, int]:
    """The rank of each row, from 0."""
    if by_dominators:
        return {row: sum(dominates(other, point) for other in points.values()) for row, point in points.items()}
    ranks: dict[int, int] = {}
    while len(ranks) < len(points):
        left = [row for row in points if row not in ranks]
        best = [row for row in left if not any(dominates(points[other], points[row]) for other in left)]
        ranks |= dict.fromkeys(best, max(ranks.values(), default=-1) + 1)
    return ranks


def crowding(points: dict[int, Point], members: list[int]) -> dict[int, float]:
    """The crowding distance of each member of a rank."""
    distance = dict.fromkeys(members, 0.0)
    for objective in (0, 1):
        listed = sorted(members, key=lambda row: (points[row][objective], points[row][1 - objective], row))
        values = [points[row][objective] for row in listed]
        distance[listed[0]] = distance[listed[-1]] = math.inf
        if values[-1] > values[0]:
            for at in range(1, len(listed) - 1):
                distance[listed[at]] += (values[at + 1] - values[at - 1]) / (values[-1] - values[0])
    return distance


def select(points: dict[int, Point], n_kept: int, by_dominators: bool) -> tuple[list[int], list[int]]:
    """The rows that survive and those that do not, each by first objective, then second, then row."""
    order = sorted(points, key=lambda row: (*points[row], row))
    ranks, kept = ranks_of(points, by_dominators), set[int]()
    for rank in sorted(set(ranks.values())):
        members = [row for row in order if ranks[row] == rank]
        if len(kept) + len(members) > n_kept:
            distance = crowding(points, members)
            members = sorted(members, key=lambda row: -distance[row])[: n_kept - len(kept)]
        kept |= set(members)
    return [row for row in order if row in kept], [row for row in order if row not in kept]
