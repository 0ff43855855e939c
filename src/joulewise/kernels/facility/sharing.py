"""Cores that share a processor: how fast each task type goes beside the others, and what a node draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.records import record


@record
class SharedCores(NamedTuple):
    """The cores of nodes, in turn: what share of its time each runs which task type, and in which P-state.

    Node n has cores first_core[n] to first_core[n + 1], and a type; of each type `sharers` cores share a processor.
    """

    share: NDArray[np.float64]
    pstate: NDArray[Any]
    first_core: NDArray[Any]
    node_type: NDArray[Any]
    sharers: NDArray[Any]


@record
class Speeds(NamedTuple):
    """Tasks per second and power of a core by [task type, node type, P-state]; slowdown by [node type, class, class]
    of memory use. Tasks that may be slowed to `least_pace` of their speed, or below it, are late."""

    speed: NDArray[np.float64]
    power: NDArray[np.float64]
    least_pace: NDArray[np.float64]
    memory_class: NDArray[Any]
    slowdown: NDArray[np.float64]


@record
class Rates(NamedTuple):
    """What comes of it: the rate of each task type alone and slowed, and the power of each node's cores.

    `by_class` and `busy` are room to work in, for the cores of one processor.
    """

    alone: NDArray[np.float64]
    slowed: NDArray[np.float64]
    cores_w: NDArray[np.float64]
    by_class: NDArray[np.float64]
    busy: NDArray[np.float64]


@kernel
def run_cores(cores, speeds, rates, as_printed):
    """Add up the rate of each task type, alone and slowed by neighbours (eq. 1, 9 and 10), and each node's core power.

    Slowed tasks count only where they are in time beside the worst that each neighbour runs at any time.
    `as_printed`: only the time in which all the other cores are busy counts, as eq. 10 has no idle type.
    """
    share, pstate, memory_class = cores.share, cores.pstate, speeds.memory_class
    by_class, busy = rates.by_class, rates.busy
    n_tasks = share.shape[1]
    for node in range(cores.node_type.size):
        kind = cores.node_type[node]
        size = cores.sharers[kind]
        for start in range(cores.first_core[node], cores.first_core[node + 1], size):
            for k in range(size):
                by_class[k] = 0.0
                busy[k] = 0.0
                for t in range(n_tasks):
                    part = share[start + k, t]
                    by_class[k, memory_class[t]] += part
                    busy[k] += part
                    rates.cores_w[node] += part * speeds.power[t, kind, pstate[start + k, t]]
            for k in range(size):
                for t in range(n_tasks):
                    part = share[start + k, t]
                    if part > 0.0:
                        rate = part * speeds.speed[t, kind, pstate[start + k, t]]
                        slower = slowed_by(by_class, busy, size, k, speeds.slowdown, kind, memory_class[t], as_printed)
                        rates.alone[t] += rate
                        worst = slowed_at_worst(by_class, size, k, speeds.slowdown, kind, memory_class[t])
                        if 1.0 / (1.0 + worst) > speeds.least_pace[t, kind, pstate[start + k, t]]:
                            rates.slowed[t] += rate / (1.0 + slower)


@inlined
def slowed_by(by_class, busy, size, k, slowdown, kind, own, as_printed):
    """The mean slowdown of a task of class `own` on core k by what the other cores of its processor do."""
    slower = 0.0
    for other in range(size):
        if other == k:
            continue
        weight = 1.0
        if as_printed:
            for third in range(size):
                if third != k and third != other:
                    weight *= busy[third]
        for c in range(slowdown.shape[2]):
            slower += weight * by_class[other, c] * slowdown[kind, own, c]
    return slower


@inlined
def slowed_at_worst(by_class, size, k, slowdown, kind, own):
    """The slowdown of a task of class `own` on core k beside the worst that each other core ever runs."""
    worst = 0.0
    for other in range(size):
        if other != k:
            most = 0.0
            for c in range(slowdown.shape[2]):
                if by_class[other, c] > 0.0:
                    most = max(most, slowdown[kind, own, c])
            worst += most
    return worst
