"""Fair shares in plain Python: the whole tree is made anew from the list of all that ever ran."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from joulewise.model.shares import NOBODY, Priorities


@dataclass
class Node:
    """An account or a user with its shares and what it and all its parts have used."""

    row: int
    shares: int
    is_user: bool
    used: float = 0.0
    parts: list[Node] = field(default_factory=list)


@dataclass
class SharesTwin:
    """Who deserves how much; `stretches` has of each run its job, its start and its end (None: it still runs)."""

    priorities: Priorities
    stretches: list[tuple[int, float, float | None]] = field(default_factory=list)

    def seen_s(self, now_s: float) -> float:
        """When priorities were last seen."""
        period_s = self.priorities.period_s
        return now_s // period_s * period_s if period_s else now_s

    def factor(self, job: int, now_s: float) -> float:
        """What the user of a job deserved when that was last seen."""
        row = int(self.priorities.of_job[job])
        return 0.0 if row == NOBODY else self.factors(self.seen_s(now_s))[row]

    def factors(self, at_s: float) -> dict[int, float]:
        """What each user deserves at an instant."""
        root = self.tree(at_s)
        if not self.priorities.is_fair_tree:
            found: dict[int, float] = {}
            self.look_down(root, root, 1.0, 1.0, found)
            return found
        ranks: list[list[Node]] = []
        self.rank([root], ranks, is_tied=False)
        n = sum(len(tied) for tied in ranks)
        left, factors = n, {}
        for tied in ranks:
            factors.update({user.row: left / n for user in tied})
            left -= len(tied)
        return factors

    def tree(self, at_s: float) -> Node:
        """The tree with what is used as it counts at an instant."""
        tree = self.priorities.tree
        nodes = [Node(r, int(tree.shares[r]), bool(tree.is_user[r])) for r in range(tree.n_rows)]
        for node in nodes[1:]:
            nodes[int(tree.parent[node.row])].parts.append(node)
        for job, start_s, end_s in self.stretches:
            row, used = int(self.priorities.of_job[job]), self.used(job, start_s, end_s, at_s)
            while row != NOBODY:
                nodes[row].used += used
                row = int(tree.parent[row])
        return nodes[0]

    def used(self, job: int, start_s: float, end_s: float | None, at_s: float) -> float:
        """What a run counts at an instant: each of its seconds half after every half-life."""
        end_s, half_s = at_s if end_s is None else min(end_s, at_s), self.priorities.half_life_s
        rate = float(self.priorities.used_per_s[job])
        if start_s >= end_s:
            return 0.0
        if half_s == math.inf:
            return rate * (end_s - start_s)
        return rate * half_s / math.log(2) * (2 ** ((end_s - at_s) / half_s) - 2 ** ((start_s - at_s) / half_s))

    def look_down(self, node: Node, root: Node, share: float, effective: float, found: dict[int, float]) -> None:
        """Of the parts of an account what is left of their share of the whole."""
        siblings = sum(part.shares for part in node.parts)
        for part in node.parts:
            of_siblings = part.shares / siblings if siblings else 0.0
            own = part.used / root.used if root.used else 0.0
            counted = own if node is root else own + (effective - own) * of_siblings
            ratio = counted / (share * of_siblings) if share * of_siblings else math.inf
            found[part.row] = float(np.float32(2 ** (-ratio / self.priorities.dampening)))
            self.look_down(part, root, share * of_siblings, counted, found)

    def level(self, part: Node, node: Node) -> float:
        """How a part of an account is served: its part of shares over its part of what is used, in seven digits."""
        siblings = sum(each.shares for each in node.parts)
        if not part.shares:
            return 0.0
        return float(np.float32(part.shares / siblings / (part.used / node.used))) if part.used else math.inf

    def rank(self, accounts: list[Node], ranks: list[list[Node]], *, is_tied: bool) -> None:
        """Put the users below accounts that are tied into ranks, the first ones into the last rank if it is tied."""
        levels = [(self.level(part, node), part) for node in accounts for part in node.parts]
        for level in sorted({level for level, _ in levels}, reverse=True):
            users = [part for found, part in levels if found == level and part.is_user]
            below = [part for found, part in levels if found == level and not part.is_user]
            if users:
                if is_tied:
                    ranks[-1] += users
                else:
                    ranks.append(users)
            if below:
                self.rank(below, ranks, is_tied=is_tied or bool(users))
            is_tied = False
