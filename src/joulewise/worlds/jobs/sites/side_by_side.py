"""Whether the parts of a job find places beside each other where nothing else runs, as schedulers give them theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from joulewise.model.arrays import Bools, Counts
from joulewise.model.site import ANY_NUMBER, WHOLE, Demands, Site

IN_ANY_ORDER = 5
"""The last so many parts of a job are tried in all orders, the ones before them as they come."""


def fit_side_by_side(site: Site, demands: Demands, kinds: Sequence[int]) -> bool:
    """Whether parts of these classes fit in any order that is tried, each at the places that are best for it."""
    return any(_Places(site, demands).have_room_for(order) for order in _orders(kinds))


def _orders(kinds: Sequence[int]) -> Iterator[tuple[int, ...]]:
    before = tuple(kinds[:-IN_ANY_ORDER])
    for last in dict.fromkeys(permutations(kinds[-IN_ANY_ORDER:])):
        yield (*before, *last)


class _Places:
    """What is free at each node, or at all nodes of a group that are only counted."""

    def __init__(self, site: Site, demands: Demands) -> None:
        self.site, self.demands = site, demands
        counted, n_nodes = site.is_counted, np.where(site.is_counted, 1, site.n_nodes)
        self.group = np.repeat(np.arange(site.n_groups), n_nodes)
        self.node = np.arange(self.group.size) - np.repeat(np.cumsum(n_nodes) - n_nodes, n_nodes)
        capacity = np.where(counted[:, None], _in_first(site.n_nodes, site.capacity), site.capacity)
        self.free = capacity[self.group]
        self.worth = WHOLE // np.maximum(self.free, 1)

    def have_room_for(self, kinds: Sequence[int]) -> bool:
        """Whether parts fit one after another; they get their places."""
        return all(self._takes(kind) for kind in kinds)

    def _takes(self, kind: int) -> bool:
        """Whether a part fits: at the places of lowest weight, then with least free."""
        site, demands = self.site, self.demands
        counted = site.is_counted
        one = _in_first(np.ones(site.n_groups, np.int64), site.capacity)
        need = np.where(counted[:, None], one, demands.need[kind])[self.group]
        gives = np.where((demands.need[kind] <= site.capacity).all(axis=1), demands.gives[kind], 0)[self.group]
        room = np.where(need > 0, self.free // np.maximum(need, 1), ANY_NUMBER).min(axis=1)
        pieces = np.minimum(room, np.where(counted[self.group], ANY_NUMBER, demands.most[kind]))
        pieces = np.where((gives > 0) & self._are_for(kind), pieces, 0)
        order = np.lexsort(((self.free * self.worth).sum(axis=1), site.weight[self.group]))
        wanted = int(demands.units[kind])
        for place in order[pieces[order] > 0].tolist():
            n = min(int(pieces[place]), -(-wanted // int(gives[place])))
            self.free[place] -= n * need[place]
            wanted -= n * int(gives[place])
            if wanted <= 0:
                return True
        return False

    def _are_for(self, kind: int) -> Bools:
        """Which places are those that are kept for a class; all of them where none are."""
        own, kept = int(self.demands.kept_of[kind]), self.site.kept
        if own < 0:
            return np.ones(self.group.size, np.bool_)
        mine = set(zip(kept.group[kept.of == own].tolist(), kept.node[kept.of == own].tolist(), strict=True))
        return np.array([place in mine for place in zip(self.group.tolist(), self.node.tolist(), strict=True)])


def _in_first(amounts: Counts, like: Counts) -> Counts:
    """Amounts by group of the first resource, and none of the others."""
    found = np.zeros_like(like)
    found[:, 0] = amounts
    return found
