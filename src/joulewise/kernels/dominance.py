"""Two objectives, both minimised: which points dominate which, which survive a generation, what an archive "
"remembers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record


@record
class Sorting(NamedTuple):
    """Room to sort and rank rows of points in.

    `order` are the rows by first objective, then second, then row; `rank` counts from 0. `members` and `by_second`
    are those of one rank, `crowd[row]` is (minus the crowding distance, place in `order`).
    """

    order: NDArray[np.int64]
    spare: NDArray[np.int64]
    rank: NDArray[np.int64]
    n_ranked: NDArray[np.int64]
    tail: NDArray[np.int64]
    members: NDArray[np.int64]
    by_second: NDArray[np.int64]
    crowd: NDArray[np.float64]


@record
class Archive(NamedTuple):
    """Everything non-dominated ever seen: `order[:size[0]]` are its slots by first objective, `free` the others."""

    points: NDArray[np.float64]
    genes: NDArray[np.int32]
    order: NDArray[np.int64]
    free: NDArray[np.int64]
    size: NDArray[np.int64]


def room_to_sort(n: int) -> Sorting:
    """Room for n rows."""
    order, spare, rank, n_ranked, tail, members, by_second = (np.zeros(n, np.int64) for _ in range(7))
    return Sorting(order, spare, rank, n_ranked, tail, members, by_second, np.zeros((n, 2)))


def empty_archive(n_kinds: int, n_genes: int, room: int) -> Archive:
    """An archive with room for this many points, each with its genes by [kind of gene, gene]."""
    genes = np.zeros((n_kinds, room, n_genes), np.int32)
    return Archive(np.zeros((room, 2)), genes, np.zeros(room, np.int64), np.arange(room)[::-1].copy(), np.zeros(1, int))


@inlined
def dominates(points, i, j):
    """Whether row i is nowhere worse than row j and somewhere better."""
    if points[i, 0] > points[j, 0] or points[i, 1] > points[j, 1]:
        return False
    return points[i, 0] < points[j, 0] or points[i, 1] < points[j, 1]


@inlined
def _goes_before(keys, first, i, j):
    """Whether row i comes strictly before row j by one column, then the other."""
    if keys[i, first] != keys[j, first]:
        return keys[i, first] < keys[j, first]
    return keys[i, 1 - first] < keys[j, 1 - first]


@shared
def sort_rows(keys, first, order, spare, n):
    """Sort `order[:n]` by a column of the keys, then the other; rows that are equal in both keep their places."""
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            _merge(keys, first, order, spare, begin, min(begin + width, n), min(begin + 2 * width, n))
        width *= 2


@inlined
def _merge(keys, first, order, spare, begin, middle, end):
    """Merge two sorted neighbouring runs."""
    if middle >= end or not _goes_before(keys, first, order[middle], order[middle - 1]):
        return
    for at in range(begin, middle):
        spare[at] = order[at]
    left, right = begin, middle
    at = begin
    while left < middle:
        if right < end and _goes_before(keys, first, order[right], spare[left]):
            order[at] = order[right]
            right += 1
        else:
            order[at] = spare[left]
            left += 1
        at += 1


@shared
def rank_by_peeling(points, sorting, n):
    """The front each row is on when fronts are taken off one by one; returns how many fronts there are."""
    n_fronts = 0
    for at in range(n):
        row = sorting.order[at]
        low, high = 0, n_fronts
        while low < high:
            middle = (low + high) // 2
            if dominates(points, sorting.tail[middle], row):
                low = middle + 1
            else:
                high = middle
        sorting.rank[row] = low
        sorting.tail[low] = row
        n_fronts = max(n_fronts, low + 1)
    return n_fronts


@shared
def rank_by_dominators(points, sorting, n):
    """How many rows dominate each row; returns one more than the largest number."""
    n_ranks = 0
    for at in range(n):
        row, n_dominators = sorting.order[at], 0
        for before in range(at):
            n_dominators += dominates(points, sorting.order[before], row)
        sorting.rank[row] = n_dominators
        n_ranks = max(n_ranks, n_dominators + 1)
    return n_ranks


@shared
def measure_crowding(points, sorting, n_members):
    """Fill `crowd` for the members of one rank, listed by first objective.

    A member's distance is the sum, over objectives, of how far apart its neighbours are, as a share of the rank's
    range; it is infinite at both ends.
    """
    members, by_second = sorting.members, sorting.by_second
    for at in range(n_members):
        by_second[at] = members[at]
        sorting.crowd[members[at], 0] = 0.0
        sorting.crowd[members[at], 1] = at
    sort_rows(points, 1, by_second, sorting.spare, n_members)
    _add_distances(points, 0, members, sorting.crowd, n_members)
    _add_distances(points, 1, by_second, sorting.crowd, n_members)


@inlined
def _add_distances(points, objective, listed, crowd, n):
    reach = points[listed[n - 1], objective] - points[listed[0], objective]
    crowd[listed[0], 0] = crowd[listed[n - 1], 0] = -np.inf
    if reach > 0.0:
        for at in range(1, n - 1):
            apart = points[listed[at + 1], objective] - points[listed[at - 1], objective]
            crowd[listed[at], 0] -= apart / reach


@kernel
def select(points, is_by_dominators, sorting, kept, freed):
    """Split the rows of a generation into the best, as many as `kept` has room for, and the others.

    Whole ranks are kept while there is room; of the next one, those with the largest crowding distance. Both lists
    are by first objective, then second, then row.
    """
    n, n_kept = points.shape[0], kept.size
    for row in range(n):
        sorting.order[row] = row
        sorting.n_ranked[row] = 0
    sort_rows(points, 0, sorting.order, sorting.spare, n)
    if is_by_dominators:
        rank_by_dominators(points, sorting, n)
    else:
        rank_by_peeling(points, sorting, n)
    cut, room = _cut_rank(sorting, n, n_kept)
    _mark_crowded(points, sorting, cut, room, n)
    at_kept, at_freed = 0, 0
    for at in range(n):
        row = sorting.order[at]
        if sorting.rank[row] <= cut:
            kept[at_kept] = row
            at_kept += 1
        else:
            freed[at_freed] = row
            at_freed += 1


@inlined
def _cut_rank(sorting, n, n_kept):
    """The first rank of which not all can be kept, and how many of it can."""
    for row in range(n):
        sorting.n_ranked[sorting.rank[row]] += 1
    cut, room = 0, n_kept
    while cut < n - 1 and room >= sorting.n_ranked[cut]:
        room -= sorting.n_ranked[cut]
        cut += 1
    return cut, room


@inlined
def _mark_crowded(points, sorting, cut, room, n):
    """Move those of the cut rank for whom there is no room to a rank beyond it."""
    n_members = 0
    for at in range(n):
        if sorting.rank[sorting.order[at]] == cut:
            sorting.members[n_members] = sorting.order[at]
            n_members += 1
    if 0 < room < n_members:
        measure_crowding(points, sorting, n_members)
        sort_rows(sorting.crowd, 0, sorting.members, sorting.spare, n_members)
    for at in range(room, n_members):
        sorting.rank[sorting.members[at]] = n


@kernel
def remember(archive, points, genes, rows):
    """Add the rows that nothing in the archive dominates or equals, and drop what they dominate."""
    for at in range(rows.size):
        _remember_one(archive, points, genes, rows[at])


@inlined
def _remember_one(archive, points, genes, row):
    place = _place(archive, points[row, 0])
    first, second = points[row, 0], points[row, 1]
    if place > 0 and archive.points[archive.order[place - 1], 1] <= second:
        return
    if place < archive.size[0]:
        at = archive.order[place]
        if archive.points[at, 0] == first and archive.points[at, 1] <= second:
            return
    _open(archive, place, second)
    slot = archive.order[place]
    archive.points[slot, 0], archive.points[slot, 1] = first, second
    for kind in range(genes.shape[0]):
        for gene in range(genes.shape[2]):
            archive.genes[kind, slot, gene] = genes[kind, row, gene]


@inlined
def _place(archive, first):
    """How many in the archive have a lower first objective."""
    low, high = 0, archive.size[0]
    while low < high:
        middle = (low + high) // 2
        if archive.points[archive.order[middle], 0] < first:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _open(archive, place, second):
    """Drop those from a place on that are no better in the second objective, and put a free slot there."""
    size, end = archive.size[0], place
    while end < size and archive.points[archive.order[end], 1] >= second:
        if end > place:  # the slot of the first one is used again
            archive.free[archive.free.size - size + end - place - 1] = archive.order[end]
        end += 1
    n_dropped = end - place
    if n_dropped == 0:
        slot = archive.free[archive.free.size - size - 1]
        for at in range(size, place, -1):
            archive.order[at] = archive.order[at - 1]
    else:
        slot = archive.order[place]
        for at in range(end, size):
            archive.order[at - n_dropped + 1] = archive.order[at]
    archive.order[place] = slot
    archive.size[0] = size - n_dropped + 1
