"""Nodes of a site that fail, which nobody knows before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats, Ints, freeze_fields


@dataclass(frozen=True, eq=False)
class NodeFailures:
    """From when to when nodes of groups are away, a row each by their start; those of a node never overlap.

    Nobody knows of one before it comes. From then on it is known when the node is back.
    """

    group: Ints
    node: Ints
    start_s: Floats
    end_s: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, {"group": np.int32, "node": np.int32, "start_s": np.float64, "end_s": np.float64})
        if not self.group.shape == self.node.shape == self.start_s.shape == self.end_s.shape:
            raise InputError(Problem("site.failures", "found columns of several lengths", "must be one value for each"))
        if (np.diff(self.start_s) < 0).any() or not (self.end_s > self.start_s).all() or self._do_overlap():
            allowed = "must be by their start, end after it, and never overlap on a node"
            raise InputError(Problem("site.failures", "found failures out of order", allowed))

    def _do_overlap(self) -> bool:
        order = np.lexsort((self.start_s, self.node, self.group))
        group, node, start_s, end_s = (getattr(self, name)[order] for name in ("group", "node", "start_s", "end_s"))
        is_same = (np.diff(group) == 0) & (np.diff(node) == 0)
        return bool((is_same & (start_s[1:] < end_s[:-1])).any())

    @property
    def n_failures(self) -> int:
        return self.group.size

    def later(self, by_s: float) -> NodeFailures:
        """The same failures, so much later."""
        return replace(self, start_s=self.start_s + by_s, end_s=self.end_s + by_s)


_NO_INTS, _NO_FLOATS = np.empty(0, np.int32), np.empty(0)
NO_FAILURES = NodeFailures(_NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS)
