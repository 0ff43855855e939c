"""Every vertex of the bound of a bag: minimise extra energy + weight x makespan, for the weight from 0 to infinity.

The linear program has a row per task type (its tasks are all run) and a row per machine type (its load is no more
than its machines can do by the makespan). A simplex basis then holds, for each task type, at least one choice: one
of them is its *key*, and its number of tasks is whatever the others leave over. What remains is a square system
with a row per machine type; its *inside* columns are slacks, the makespan, and choices measured against their key.

Starting from the least energy, the weight grows until some column starts to pay; it enters, one leaves, and so on
until no column can lower the makespan. Where several could leave at once, the one that would leave first if the
numbers of tasks and the loads were all a little larger goes: that order cannot come back to a basis it has left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.linear import (
    COMMON,
    ENDLESS,
    INEXACT,
    SINGULAR,
    SLACK,
    SOLVED,
    UNBOUNDED,
    UNPROVEN,
    add,
    exchange,
    multiply,
    refactor,
    scale,
    swap_key,
)
from joulewise.kernels.records import record

FULL = -1
"""How a sweep ends for want of room for vertices; else it is SOLVED, or has a reason to give up."""

_NO_KEY = -1
_ROUNDING = 1e-12
_BROKEN = 1e-7
_PROVEN = 1e-9
_MOST_PROOFS = 32
_BETWEEN_FACTORINGS = 24
_GOLDEN, _SILVER = 0.6180339887498949, 0.41421356237309515


@record
class BagChoices(NamedTuple):
    """Time and extra energy by [task type, column]; columns are P-states by machine type.

    Choices that cannot be made take 0 s and infinite energy. `present` lists the task types that have tasks.
    """

    exec_s: NDArray[np.float64]
    extra_j: NDArray[np.float64]
    machine_type: NDArray[np.int64]
    n_machines: NDArray[np.float64]
    n_tasks: NDArray[np.float64]
    present: NDArray[np.int64]


@record
class SweepPrices(NamedTuple):
    """What a second on a machine of each type costs, `fixed + weight * slope`; by machine type and by column."""

    fixed: NDArray[np.float64]
    slope: NDArray[np.float64]
    column_fixed: NDArray[np.float64]
    column_slope: NDArray[np.float64]


@record
class Step(NamedTuple):
    """How fast basic variables fall as one enters: inside columns, and the keys of the task types `touched`.

    `load` is room for a right-hand side, `shifted` for values when all counts are a little larger.
    """

    rate: NDArray[np.float64]
    touched: NDArray[np.int64]
    key_rate: NDArray[np.float64]
    load: NDArray[np.float64]
    shifted: NDArray[np.float64]


@record
class Vertices(NamedTuple):
    """What the sweep finds; a vertex is the best for weights from its own to that of the next.

    Its inside columns and their values are kept, and machine prices that prove it. Keys are those of the start
    (`first_key`) with the first `n_switches` switches of a task type to a new key made.
    """

    weight_w: NDArray[np.float64]
    extra_j: NDArray[np.float64]
    makespan_s: NDArray[np.float64]
    task_type: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.float64]
    price: NDArray[np.float64]
    n_switches: NDArray[np.int64]
    first_key: NDArray[np.int64]
    switched: NDArray[np.int64]
    switched_to: NDArray[np.int64]
    last_slope: NDArray[np.float64]


@kernel
def sweep(choices, basis, prices, step, vertices, until_w):
    """Walk from the least energy to the weight `until_w` (or the end); returns the number of vertices and how it ended.

    A pivot at the weight at which the newest vertex began, or at no cost, replaces it: it was but a point of an edge.
    """
    is_started = _start(choices, basis, step)
    _copy(basis.key, vertices.first_key)
    weight_w, newest, n_switches = 0.0, 0, 0
    if not is_started or not _solve(choices, basis, step):
        return 0, INEXACT
    _find_prices(choices, basis, prices)
    _keep(choices, basis, prices, vertices, 0, 0.0, 0)
    for n_pivots in range(1, 20 * choices.present.size * choices.exec_s.shape[1] + 1000):
        task_type, column, next_w = _entering(choices, basis, prices)
        if task_type == COMMON or next_w >= until_w:
            _copy(prices.slope, vertices.last_slope)
            return newest + 1, SOLVED if _are_proven(choices, vertices, newest + 1) else UNPROVEN
        if newest + 1 == vertices.weight_w.size or n_switches == vertices.switched.size:
            return newest + 1, FULL
        switched, end = _pivot(choices, basis, step, task_type, column, n_pivots % _BETWEEN_FACTORINGS == 0)
        if end != SOLVED:
            return newest + 1, end
        if switched != _NO_KEY:
            vertices.switched[n_switches], vertices.switched_to[n_switches] = switched, basis.key[switched]
            n_switches += 1
        _find_prices(choices, basis, prices)
        weight_w = max(weight_w, next_w)
        if _makespan(basis) < vertices.makespan_s[newest] * (1.0 - _ROUNDING):
            newest += _is_new(choices, basis, vertices, newest, weight_w)
            _keep(choices, basis, prices, vertices, newest, weight_w, n_switches)
    return newest + 1, ENDLESS


@shared
def _pivot(choices, basis, step, task_type, column, is_factored):
    """Let a column enter; returns the task type whose key changed, or _NO_KEY, and SOLVED, or why it gives up."""
    _find_rates(choices, basis, step, task_type, column)
    leaving = _leaving(choices, basis, step)
    if leaving < 0:
        return _NO_KEY, UNBOUNDED
    switched = _exchange(basis, step, leaving, task_type, column)
    if is_factored and not _factor(choices, basis):
        return switched, SINGULAR
    return switched, SOLVED if _solve(choices, basis, step) else INEXACT


@shared
def _are_proven(choices, vertices, n):
    """Whether the prices of vertices, of up to 32 spread over all of them, prove them up to rounding."""
    for at in range(n - 1, -1, -(n // _MOST_PROOFS + 1)):
        price, weight_w, paid_w = vertices.price[at], vertices.weight_w[at], 0.0
        for j in range(price.size):
            paid_w += choices.n_machines[j] * max(price[j], 0.0)
        lowered = weight_w / paid_w if paid_w > weight_w else 1.0
        value_j, proven_j = vertices.extra_j[at] + weight_w * vertices.makespan_s[at], 0.0
        for i in choices.present:
            proven_j += choices.n_tasks[i] * _cheapest(choices, price, lowered, i)
        scale_j = abs(vertices.extra_j[at]) + weight_w * vertices.makespan_s[at]
        if not value_j - proven_j <= _PROVEN * scale_j:
            return False
    return True


@inlined
def _cheapest(choices, price, lowered, i):
    """What a task of a type costs at least, in energy and machine time."""
    least_j = np.inf
    for c in range(choices.exec_s.shape[1]):
        per_s = lowered * max(price[choices.machine_type[c]], 0.0)
        least_j = min(least_j, choices.extra_j[i, c] + choices.exec_s[i, c] * per_s)
    return least_j


@inlined
def _copy(source, target):
    for j in range(source.size):
        target[j] = source[j]


@shared
def _start(choices, basis, step):
    """Every task type on the choice of least energy (then time); the busiest machine type sets the makespan.

    Returns whether that is a basis.
    """
    for i in choices.present:
        best = 0
        for c in range(1, choices.exec_s.shape[1]):
            extra_j, least_j = choices.extra_j[i, c], choices.extra_j[i, best]
            if extra_j < least_j or (extra_j == least_j and choices.exec_s[i, c] < choices.exec_s[i, best]):
                best = c
        basis.key[i] = best
    for j in range(basis.column.size):
        basis.group[j], basis.column[j] = SLACK, j
    basis.group[_busiest(choices, basis, step)] = COMMON
    return _factor(choices, basis)


@shared
def _busiest(choices, basis, step):
    """The machine type that would be done last; among equals the one that would be with slightly larger loads."""
    _fill_load(choices, basis, step.load, False)
    _fill_load(choices, basis, step.shifted, True)
    busiest, longest_s, second_s = -1, -1.0, 0.0
    for j in range(step.load.size):
        if choices.n_machines[j] > 0:
            done_s = -step.load[j] / choices.n_machines[j]
            shifted_s = -step.shifted[j] / choices.n_machines[j]
            is_equal = abs(done_s - longest_s) <= _ROUNDING * longest_s
            if (done_s > longest_s and not is_equal) or (is_equal and shifted_s > second_s):
                busiest, longest_s, second_s = j, done_s, shifted_s
    return busiest


@shared
def _fill_load(choices, basis, load, is_shift):
    """The right-hand side: less the load that all keys would make; or what is added when all counts grow a little."""
    load[:] = 0.0
    longest_s = 0.0
    for i in choices.present:
        exec_s = choices.exec_s[i, basis.key[i]]
        longest_s = max(longest_s, exec_s)
        n_tasks = 1.0 + (i * _GOLDEN) % 1.0 if is_shift else choices.n_tasks[i]
        load[choices.machine_type[basis.key[i]]] -= n_tasks * exec_s
    if is_shift:
        for j in range(load.size):
            load[j] += longest_s * (0.1 + (j * _SILVER) % 1.0)


@shared
def _fill_column(choices, basis, vector, task_type, column):
    """The coefficients of a column by machine type; a choice is measured against the key of its task type."""
    vector[:] = 0.0
    if task_type == SLACK:
        vector[column] = 1.0
    elif task_type == COMMON:
        for j in range(vector.size):
            vector[j] = -choices.n_machines[j]
    else:
        key = basis.key[task_type]
        vector[choices.machine_type[column]] += choices.exec_s[task_type, column]
        vector[choices.machine_type[key]] -= choices.exec_s[task_type, key]


@shared
def _factor(choices, basis):
    """Make the inverse of the inside columns afresh; returns whether there is one."""
    for p in range(basis.amount.size):
        _fill_column(choices, basis, basis.matrix[p], basis.group[p], basis.column[p])
    return refactor(basis)


@shared
def _solve(choices, basis, step):
    """Values of the inside columns; whether none is below 0 by more than rounding. What is almost 0 becomes 0."""
    _fill_load(choices, basis, step.load, False)
    multiply(basis.inverse, step.load, basis.amount)
    makespan_s = _makespan(basis)
    for p in range(basis.amount.size):
        i = basis.group[p]
        unit = choices.n_tasks[i] if i >= 0 else makespan_s
        if i == SLACK:
            unit *= max(choices.n_machines[basis.column[p]], 1.0)
        if not basis.amount[p] > -_BROKEN * unit:
            return False
        if basis.amount[p] < _ROUNDING * unit:
            basis.amount[p] = 0.0
    return True


@inlined
def _makespan(basis):
    for p in range(basis.amount.size):
        if basis.group[p] == COMMON:
            return basis.amount[p]
    return np.nan


@shared
def _find_prices(choices, basis, prices):
    """Machine prices at which every inside column just breaks even with its key."""
    fixed, slope = prices.fixed, prices.slope
    fixed[:] = 0.0
    for p in range(fixed.size):
        i = basis.group[p]
        if i >= 0:
            dearer_j = choices.extra_j[i, basis.column[p]] - choices.extra_j[i, basis.key[i]]
            add(fixed, -dearer_j, basis.inverse[p])
        elif i == COMMON:
            for j in range(fixed.size):
                slope[j] = -basis.inverse[p, j]
    for c in range(choices.machine_type.size):
        prices.column_fixed[c] = fixed[choices.machine_type[c]]
        prices.column_slope[c] = slope[choices.machine_type[c]]


@shared
def _entering(choices, basis, prices):
    """The column that pays first as the weight grows, and that weight; task type COMMON when none ever does.

    A column pays from the weight at which its extra cost, `above`, is made up for by what it `falls` per watt.
    """
    task_type, column, above, falls = COMMON, 0, np.inf, 1.0
    steepest = 0.0
    for j in range(prices.slope.size):
        steepest = max(steepest, abs(prices.slope[j]))
    for j in range(prices.slope.size):
        if prices.fixed[j] * falls < above * -prices.slope[j] and prices.slope[j] < -_ROUNDING * steepest:
            task_type, column, above, falls = SLACK, j, prices.fixed[j], -prices.slope[j]
    for i in choices.present:
        exec_s, extra_j, key = choices.exec_s[i], choices.extra_j[i], basis.key[i]
        key_j = extra_j[key] + exec_s[key] * prices.column_fixed[key]
        key_slope = exec_s[key] * prices.column_slope[key]
        if _does_any_pay(exec_s, extra_j, prices, key_j, key_slope, above, falls):
            for c in range(exec_s.size):
                above_c = extra_j[c] + exec_s[c] * prices.column_fixed[c] - key_j
                falls_c = key_slope - exec_s[c] * prices.column_slope[c]
                tiny = _ROUNDING * steepest * (exec_s[c] + exec_s[key])
                if above_c * falls < above * falls_c and falls_c > tiny:
                    task_type, column, above, falls = i, c, above_c, falls_c
    return task_type, column, above / falls


@inlined
def _does_any_pay(exec_s, extra_j, prices, key_j, key_slope, above, falls):
    """Whether some column of a task type may pay earlier than the best so far: a loop that compiles to vectors."""
    n_paying = 0
    for c in range(exec_s.size):
        above_c = extra_j[c] + exec_s[c] * prices.column_fixed[c] - key_j
        falls_c = key_slope - exec_s[c] * prices.column_slope[c]
        n_paying += above_c * falls < above * falls_c
    return n_paying > 0


@shared
def _find_rates(choices, basis, step, task_type, column):
    """How fast each basic variable falls for every unit of the entering one."""
    _fill_column(choices, basis, step.load, task_type, column)
    multiply(basis.inverse, step.load, step.rate)
    step.touched[:] = -1
    for p in range(step.rate.size):
        if basis.group[p] >= 0:
            _add_rate(step, basis.group[p], -step.rate[p])
    if task_type >= 0:
        _add_rate(step, task_type, 1.0)


@inlined
def _add_rate(step, task_type, rate):
    """Add to the rate at which the key of a task type falls."""
    for t in range(step.touched.size):
        if step.touched[t] == -1:
            step.touched[t], step.key_rate[t] = task_type, 0.0
        if step.touched[t] == task_type:
            step.key_rate[t] += rate
            return


@shared
def _leaving(choices, basis, step):
    """Which variable reaches 0 first: an inside column, or n + t for the key of the t-th task type touched; -1: none.

    Among equals, the one that would be first with slightly larger counts.
    """
    n, is_tied = step.rate.size, False
    first, nearest = -1, np.inf
    tiny = 0.0
    for j in range(n):
        tiny = max(tiny, _ROUNDING * abs(step.load[j]))
    for candidate in range(n + step.touched.size):
        rate = _rate_of(basis, step, candidate, tiny)
        if rate > 0.0:
            distance = _value_of(choices, basis, basis.amount, step, candidate, False) / rate
            if distance < nearest * (1.0 - _ROUNDING):
                first, nearest, is_tied = candidate, distance, False
            elif distance <= nearest * (1.0 + _ROUNDING):
                is_tied = True
    if not is_tied:
        return first
    _fill_load(choices, basis, step.load, True)
    multiply(basis.inverse, step.load, step.shifted)
    first, least = -1, np.inf
    for candidate in range(n + step.touched.size):
        rate = _rate_of(basis, step, candidate, tiny)
        if rate > 0.0:
            distance = _value_of(choices, basis, basis.amount, step, candidate, False) / rate
            shifted = _value_of(choices, basis, step.shifted, step, candidate, True) / rate
            if distance <= nearest * (1.0 + _ROUNDING) and shifted < least:
                first, least = candidate, shifted
    return first


@inlined
def _rate_of(basis, step, candidate, tiny_s):
    """The rate at which a candidate falls; 0 where it is within rounding, or where there is no such candidate."""
    n = step.rate.size
    if candidate < n:
        tiny = _ROUNDING if basis.group[candidate] >= 0 else tiny_s
        return step.rate[candidate] if step.rate[candidate] > 10.0 * tiny else 0.0
    if step.touched[candidate - n] < 0:
        return 0.0
    return step.key_rate[candidate - n] if step.key_rate[candidate - n] > 10.0 * _ROUNDING else 0.0


@inlined
def _value_of(choices, basis, value, step, candidate, is_shift):
    """The value of a candidate, the inside columns having the values given."""
    n = step.rate.size
    if candidate < n:
        return value[candidate]
    i = step.touched[candidate - n]
    left = 1.0 + (i * _GOLDEN) % 1.0 if is_shift else choices.n_tasks[i]
    for p in range(n):
        if basis.group[p] == i:
            left -= value[p]
    return left if is_shift or left > _ROUNDING * choices.n_tasks[i] else 0.0


@shared
def _exchange(basis, step, leaving, task_type, column):
    """Let one column enter for another; returns the task type whose key changed, or _NO_KEY."""
    n, switched = step.rate.size, _NO_KEY
    if leaving >= n:
        switched, leaving_rate = step.touched[leaving - n], step.key_rate[leaving - n]
        leaving = _give_up_key(basis, switched)
        if leaving < 0:
            basis.key[switched] = column
            return switched
        step.rate[leaving] = leaving_rate
    scale(basis.inverse[leaving], 1.0 / step.rate[leaving])
    exchange(basis, leaving, step.rate, task_type, column)
    return switched


@inlined
def _give_up_key(basis, task_type):
    """Make an inside choice of the task type its key; returns where the old key now stands, -1 if there is none."""
    for p in range(basis.amount.size):
        if basis.group[p] == task_type:
            swap_key(basis, task_type, p)
            return p
    return -1


@inlined
def _extra_j(choices, basis):
    """Extra energy: that of all tasks on their keys, and the difference of those that are not."""
    extra_j = 0.0
    for i in choices.present:
        extra_j += choices.n_tasks[i] * choices.extra_j[i, basis.key[i]]
    for p in range(basis.amount.size):
        i = basis.group[p]
        if i >= 0:
            extra_j += basis.amount[p] * (choices.extra_j[i, basis.column[p]] - choices.extra_j[i, basis.key[i]])
    return extra_j


@inlined
def _is_new(choices, basis, vertices, newest, weight_w):
    """Whether the basis is a vertex after the newest one, not one in its place."""
    rise_j = _extra_j(choices, basis) - vertices.extra_j[newest]
    is_later = weight_w > vertices.weight_w[newest] * (1.0 + _ROUNDING)
    return is_later and rise_j > _ROUNDING * abs(vertices.extra_j[newest])


@shared
def _keep(choices, basis, prices, vertices, at, weight_w, n_switches):
    """Write the basis down as a vertex; the first one begins at weight 0, where machine time is free."""
    for p in range(basis.amount.size):
        i = basis.group[p]
        vertices.task_type[at, p], vertices.column[at, p] = i, basis.column[p]
        vertices.value[at, p] = basis.amount[p]
        vertices.price[at, p] = prices.fixed[p] + weight_w * prices.slope[p] if at > 0 else 0.0
    vertices.weight_w[at] = weight_w if at > 0 else 0.0
    vertices.extra_j[at], vertices.makespan_s[at] = _extra_j(choices, basis), _makespan(basis)
    vertices.n_switches[at] = n_switches
