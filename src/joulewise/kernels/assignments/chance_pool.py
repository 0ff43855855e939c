"""Chromosomes evaluated with chances, row by row: machines that do what they do in a known row are not run again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.chances import (
    ChanceFacts,
    add_up,
    n_walked,
    objectives,
    run_machine,
    sort_by_machine,
)
from joulewise.kernels.assignments.evaluation import ENERGY, NOWHERE, ORDER, PLACE, UTILITY
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.records import record

_PRIME, _HALF, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1)


@record
class ChancePool(NamedTuple):
    """Chromosomes by row, and what each machine does in them, so that no machine is run twice for the same.

    `sequence[row, first[row, m]:first[row, m + 1]]` are the tasks of machine m in their order, `key[row, m]` a number
    that stands for them. `sums[row, m]` are energies and utilities by [kind, sample], `at_means` mean energy and the
    utility at mean completions. `table` finds known rows by key.
    """

    genes: NDArray[np.int32]
    points: NDArray[np.float64]
    sequence: NDArray[np.int32]
    first: NDArray[np.int64]
    key: NDArray[np.uint64]
    sums: NDArray[np.float32]
    at_means: NDArray[np.float64]
    table: NDArray[np.int64]


def pool_of_chances(facts: ChanceFacts, genes: NDArray[np.int32], points: NDArray[np.float64]) -> ChancePool:
    """A pool of these genes and points in which no row is known."""
    (_, n_rows, n_tasks), n_machines = genes.shape, int(facts.facts.machine[-1]) + 1
    n_slots = 1 << (2 * n_rows * n_machines).bit_length()
    return ChancePool(
        genes,
        points,
        np.zeros((n_rows, n_tasks), np.int32),
        np.zeros((n_rows, n_machines + 2), np.int64),
        np.zeros((n_rows, n_machines), np.uint64),
        np.zeros((n_rows, n_machines, 2, facts.time_point.shape[1]), np.float32),
        np.zeros((n_rows, n_machines, 2)),
        np.full(n_slots, NOWHERE, np.int64),
    )


@kernel
def evaluate_pool_of_chances(facts, room, pool, rows):
    """As `evaluate_chances`, for the rows of a pool; machines that do what they do in a known row are not run again."""
    n = n_walked(facts)
    for at in range(rows.size):
        row = rows[at]
        place = pool.genes[PLACE, row]
        sort_by_machine(facts, room, place, pool.genes[ORDER, row], pool.sequence[row], pool.first[row])
        room.energy_j[:] = 0.0
        room.utility[:] = 0.0
        energy_j, utility = 0.0, 0.0
        for machine in range(pool.key.shape[1]):
            pool.key[row, machine] = _key(pool, row, machine)
            source = _known_row(pool, row, machine)
            if source == NOWHERE:
                means = run_machine(facts, room, place, pool.sequence[row], pool.first[row], machine, n)
                pool.at_means[row, machine, ENERGY], pool.at_means[row, machine, UTILITY] = means
                _copy(room.used_j, pool.sums[row, machine, ENERGY], n)
                _copy(room.gained, pool.sums[row, machine, UTILITY], n)
            else:
                for kind in (ENERGY, UTILITY):
                    pool.at_means[row, machine, kind] = pool.at_means[source, machine, kind]
                    _copy(pool.sums[source, machine, kind], pool.sums[row, machine, kind], n)
            energy_j += pool.at_means[row, machine, ENERGY]
            utility += pool.at_means[row, machine, UTILITY]
            add_up(room, pool.sums[row, machine, ENERGY], pool.sums[row, machine, UTILITY], n)
        pool.points[row, ENERGY], pool.points[row, UTILITY] = objectives(facts, room, energy_j, utility)


@kernel
def know_rows(pool, rows):
    """Let these rows, which have been evaluated, be the known ones."""
    pool.table[:] = NOWHERE
    n_machines, mask = pool.key.shape[1], np.uint64(pool.table.size - 1)
    for at in range(rows.size):
        for machine in range(n_machines):
            slot = pool.key[rows[at], machine] & mask
            while pool.table[slot] != NOWHERE:
                slot = (slot + _ONE) & mask
            pool.table[slot] = rows[at] * n_machines + machine


@inlined
def _known_row(pool, row, machine):
    """A known row in which this machine has the same tasks in the same places and order, or NOWHERE."""
    n_machines, mask = pool.key.shape[1], np.uint64(pool.table.size - 1)
    slot = pool.key[row, machine] & mask
    while pool.table[slot] != NOWHERE:
        other = pool.table[slot] // n_machines
        if pool.table[slot] % n_machines == machine and _is_same(pool, row, other, machine):
            return other
        slot = (slot + _ONE) & mask
    return np.int64(NOWHERE)


@inlined
def _is_same(pool, row, other, machine):
    begin, their_begin = pool.first[row, machine], pool.first[other, machine]
    n = pool.first[row, machine + 1] - begin
    if pool.first[other, machine + 1] - their_begin != n or pool.key[row, machine] != pool.key[other, machine]:
        return False
    for k in range(n):
        i = pool.sequence[row, begin + k]
        if pool.sequence[other, their_begin + k] != i or pool.genes[PLACE, row, i] != pool.genes[PLACE, other, i]:
            return False
    return True


@inlined
def _key(pool, row, machine):
    """A number that differs, but by rare chance, between machines, tasks, places and orders."""
    key = np.uint64(machine) * _PRIME
    for at in range(pool.first[row, machine], pool.first[row, machine + 1]):
        i = pool.sequence[row, at]
        key = (key ^ (np.uint64(i) << _HALF) ^ np.uint64(pool.genes[PLACE, row, i])) * _PRIME
        key ^= key >> _HALF
    return key


@inlined
def _copy(source, target, n):
    for s in range(n):
        target[s] = source[s]
