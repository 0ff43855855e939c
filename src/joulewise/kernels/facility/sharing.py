"""Cores that share a processor: how fast each task type goes beside the others, and what a node draws."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, kernel


@kernel
def run_cores(
    share, pstate, first_core, node_type, sharers, speed, power, memory_class, slowdown, as_printed,
    by_class, busy, alone, slowed, cores_w,
):  # fmt: skip
    """Add up the rate of each task type, alone and slowed by neighbours (eq. 1, 9 and 10), and each node's core power.

    `as_printed`: only the time in which all the other cores are busy counts, as eq. 10 has no idle type. `by_class`
    and `busy` are room to work in, for the cores of one processor.
    """
    n_tasks = share.shape[1]
    for node in range(node_type.size):
        kind = node_type[node]
        size = sharers[kind]
        for start in range(first_core[node], first_core[node + 1], size):
            for k in range(size):
                by_class[k] = 0.0
                busy[k] = 0.0
                for t in range(n_tasks):
                    part = share[start + k, t]
                    by_class[k, memory_class[t]] += part
                    busy[k] += part
                    cores_w[node] += part * power[t, kind, pstate[start + k, t]]
            for k in range(size):
                for t in range(n_tasks):
                    part = share[start + k, t]
                    if part > 0.0:
                        rate = part * speed[t, kind, pstate[start + k, t]]
                        slower = slowed_by(by_class, busy, size, k, slowdown, kind, memory_class[t], as_printed)
                        alone[t] += rate
                        slowed[t] += rate / (1.0 + slower)


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
