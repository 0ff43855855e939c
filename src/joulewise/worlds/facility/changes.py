"""Facilities with something changed, for what-if: a CRAC unit that failed, hot aisles, more or fewer nodes.

Tasks and the power cap stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.facility import Facility
from joulewise.worlds.facility.rooms import hot_share, with_nodes, with_recirculation, without_crac

_NODES = "more nodes"


def crac_failures(facility: Facility, *, is_replaced: bool = True) -> dict[str, Facility]:
    """The facility without each of its CRAC units in turn; with `is_replaced` the others blow as much as all did."""
    return {
        f"without CRAC {name}": replace(facility, room=without_crac(facility.room, unit, is_replaced=is_replaced))
        for unit, name in enumerate(facility.room.crac_names)
    }


def hot_aisles(
    facility: Facility, factors: Iterable[float], nodes: Bools | Counts | None = None
) -> dict[str, Facility]:
    """The facility with nodes (all, where nothing is said) that take in this many times as much of each other's air."""
    return {
        f"{factor:g} x hot air": replace(facility, room=with_recirculation(facility.room, factor, nodes))
        for factor in factors
    }


def with_more_nodes(facility: Facility, more: Mapping[str, int]) -> Facility:
    """The facility with this many more nodes of some types or, below 0, this many fewer.

    Those that take in most hot air go first. New ones stand next to those of their type that take in least, and come
    after all others. Raises InputError where there are too few to go, or none to stand next to.
    """
    raise_if_any(_node_problems(facility, more))
    names, hot = facility.node_types.names, hot_share(facility.room)
    changes = [(_by_heat(facility, names.index(name), hot), n) for name, n in more.items()]
    gone = [nodes[nodes.size + n :] for nodes, n in changes if n < 0]
    come = [np.resize(nodes, n) for nodes, n in changes if n > 0]
    left = np.setdiff1d(np.arange(facility.n_nodes), np.concatenate((*gone, np.empty(0, np.int64))))
    like = np.concatenate((left, *come)).astype(np.int64)
    return replace(facility, node_type=facility.node_type[like], room=with_nodes(facility.room, like))


def _by_heat(facility: Facility, kind: int, hot: Floats) -> Counts:
    """The nodes of a type, those that take in least hot air first."""
    nodes = np.flatnonzero(facility.node_type == kind)
    return np.asarray(nodes[np.argsort(hot[nodes], kind="stable")])


def _node_problems(facility: Facility, more: Mapping[str, int]) -> Iterator[Problem]:
    names = facility.node_types.names
    counts = dict(zip(names, np.bincount(facility.node_type, minlength=len(names)).tolist(), strict=True))
    for name, n in more.items():
        if name not in counts:
            yield unknown_name(_NODES, name, counts)
        elif counts[name] + n < 0:
            yield Problem(_NODES, f"found {n} of {name}", f"there are {counts[name]} that can go")
        elif n > 0 and counts[name] == 0:
            yield Problem(_NODES, f"found {n} of {name}", "there must be one next to which they can stand")
    if sum(counts.values()) + sum(n for name, n in more.items() if name in counts) <= 0:
        yield Problem(_NODES, "found that no node would be left", "must leave at least one")
