"""Nodes of a site that are kept for some jobs alone, for a time; for none at all while they are serviced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields

FOR_ALL = -1
"""Of jobs for which nothing is kept."""


@dataclass(frozen=True, eq=False)
class KeptNodes:
    """What is kept under which name from when to when, and a row for each node: what it is kept for, and which it is.

    Jobs for which nodes are kept run on these alone, and only from then till then; all others end before, as far as
    planned, or start after. A node may be kept under several names at once: then nobody has it.
    """

    names: tuple[str, ...]
    start_s: Floats
    end_s: Floats
    of: Ints
    group: Ints
    node: Ints

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("of", "group", "node"), np.int32)
        freeze_fields(self, {"start_s": np.float64, "end_s": np.float64, **ints})
        raise_if_any(_problems(self))

    @property
    def n_nodes(self) -> int:
        return self.of.size

    def later(self, by_s: float) -> KeptNodes:
        """The same nodes, kept so much later."""
        return replace(self, start_s=self.start_s + by_s, end_s=self.end_s + by_s)

    def nodes_for(self, of: Ints, n_nodes: Counts) -> Counts:
        """How many nodes of each group there are for jobs of each of these names, of so many where it is -1."""
        kept = np.zeros((len(self.names), n_nodes.size), np.int64)
        np.add.at(kept, (self.of, self.group), 1)
        return np.asarray(np.where(of[:, None] == FOR_ALL, n_nodes, np.concatenate((kept, n_nodes[None]))[of]))


def _problems(kept: KeptNodes) -> Iterator[Problem]:
    n = len(kept.names)
    if not kept.start_s.shape == kept.end_s.shape == (n,) or not kept.of.shape == kept.group.shape == kept.node.shape:
        yield Problem("site.kept", "found columns of several lengths", "must be one value for each name, and each node")
    elif not (kept.end_s > kept.start_s).all():
        yield Problem("site.kept", "found an end that is not after its start", "must end after it starts")
    elif kept.n_nodes and not (kept.of.min() >= 0 and kept.of.max() < n):
        yield Problem("site.kept.of", f"found {kept.of.min()} to {kept.of.max()}", f"must be from 0 to {n - 1}")


_NO_INTS, _NO_FLOATS = np.empty(0, np.int32), np.empty(0)
NOTHING_KEPT = KeptNodes((), _NO_FLOATS, _NO_FLOATS, _NO_INTS, _NO_INTS, _NO_INTS)
