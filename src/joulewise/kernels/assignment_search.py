"""Simulated annealing of assignments: one task at a time leaves its place in a machine's sequence for a better one.

A task looks at all positions of one machine at once. What each is worth is estimated from what the followers there
lose together by a delay; the position is drawn by these worths and the temperature, as a heat bath would. Only the
position drawn is then worked out, follower by follower, and taken if it still wins. Utility is read from a table, so
totals here are close but not exact: whoever reports evaluates anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignment import NOWHERE, AssignmentFacts
from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel, shared

WORTH, SPENT = 0, 1
"""The totals of a plan: utility earned and energy used."""

MOVES_PER_STEP = 64
"""How many moves are tried at one temperature and one energy price."""

NEAR = 12
"""How many positions to each side of its time a task looks at in three of four moves; else at all of a lane."""

HERE = 0.25
"""The share of moves within a lane."""

LEAST_LUCK, LUCK_MEMORY = 0.03, 64.0
"""What luck counts as at least, and over how many moves it is smoothed."""

SAME_S = 1e-7
"""Instants this close are the same: rounding moves them when the order of tasks changes."""

MARGIN = 0.1
"""By what share of the losses and gains of followers an estimate may be off before a move is given up."""


_TINY = 1e-300


class Curves(NamedTuple):
    """Utility by time after the hold, in cells of `1 / per_s` seconds; shape s has rows from s * n_cells on.

    Columns: value at the start of a cell, rise over it, what a typical delay takes from there and a typical haste adds.
    The first `n_lead` cells are before the end of the hold.
    """

    cells: NDArray[np.float32]
    per_s: float
    n_lead: float
    n_cells: int
    typical_s: float


class Lanes(NamedTuple):
    """The tasks of each machine in their order, by [machine, position]; the last lane holds those that do not run.

    `row` is where a task's curve begins, `free_s` when the machine is free after its turn; `later` and `earlier` are
    what it loses and gains by a typical delay and haste, `all_later` and `all_earlier` all those from it on that wait
    for each other.
    """

    task: NDArray[np.int32]
    row: NDArray[np.int32]
    arrival_s: NDArray[np.float64]
    due_s: NDArray[np.float64]
    scale: NDArray[np.float64]
    exec_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    free_s: NDArray[np.float64]
    earned: NDArray[np.float64]
    later: NDArray[np.float64]
    earlier: NDArray[np.float64]
    all_later: NDArray[np.float64]
    all_earlier: NDArray[np.float64]


class Plan(NamedTuple):
    """The state of a search: lanes and how long they are, where each task is, and the totals."""

    lanes: Lanes
    length: NDArray[np.int64]
    place: NDArray[np.int32]
    position: NDArray[np.int32]
    totals: NDArray[np.float64]


class Archive(NamedTuple):
    """Plans of which none beats another, by rising energy: points (utility, energy) and the slot of each one's genes.

    `n_kept[0]` says how many; slots from there on are free.
    """

    points: NDArray[np.float64]
    slot: NDArray[np.int64]
    genes: NDArray[np.int32]
    n_kept: NDArray[np.int64]


class Sweep(NamedTuple):
    """So many moves while energy price and temperature go from their first to their second value."""

    n_moves: int
    per_j: tuple[float, float]
    temperature: tuple[float, float]


class Scene(NamedTuple):
    """All that a search works with.

    `noise` are Gumbel draws, a power of two of them. `luck` is the share of recent moves of a task type to a choice,
    by [task type, choice], that were made: what never works is tried less often.
    """

    facts: AssignmentFacts
    curves: Curves
    plan: Plan
    archive: Archive
    noise: NDArray[np.float64]
    luck: NDArray[np.float64]


class Move(NamedTuple):
    """Task i from position p of lane a to a place of lane b: the time and energy it takes there, what it nets now."""

    i: Any
    place: Any
    a: Any
    p: Any
    b: Any
    exec_s: Any
    energy_j: Any
    net: Any


@inlined
def value_at(curves, row, late_s):
    """What a shape is worth so long after the hold, as the table has it."""
    at = max(late_s * curves.per_s + curves.n_lead, 0.0)
    cell = min(np.int64(at), curves.n_cells - 1)
    return curves.cells[row + cell, 0] + curves.cells[row + cell, 1] * min(at - cell, 1.0)


@inlined
def energy_of(scene, i, place):
    return scene.facts.energy_j[scene.facts.tasks.task_type[i], scene.facts.choice[place]]


@inlined
def exec_of(scene, i, place):
    return scene.facts.exec_s[scene.facts.tasks.task_type[i], scene.facts.choice[place]]


@inlined
def free_before(plan, m, k):
    """When a machine is free for its k-th task."""
    return plan.lanes.free_s[m, k - 1] if k > 0 else 0.0


@inlined
def lost_by(scene, m, k, delay_s):
    """About what the tasks of a lane from position k on lose together by a delay (gain, if it is below 0).

    The curve t / (1 + c t) that agrees with a typical delay and a typical haste.
    """
    later, earlier = scene.plan.lanes.all_later[m, k], scene.plan.lanes.all_earlier[m, k]
    both = (later + earlier) * scene.curves.typical_s
    return 2.0 * later * earlier * delay_s / max(both + (earlier - later) * delay_s, 0.5 * both + _TINY)


@inlined
def lost(scene, m, k, delay_s):
    """What those from position k on lose by a delay, nothing if there are none."""
    return lost_by(scene, m, k, delay_s) if k < scene.plan.length[m] else 0.0


@inlined
def run_all(scene, m, first, last, free_s, may_stop):
    """Run positions first to last of a lane whose machine is free at an instant; returns when it is free then, and by
    how much that changes utility and energy. Stops where it is free as before, if what follows is as before too.
    """
    lanes, drop_below, worth, spent_j = scene.plan.lanes, scene.facts.drop_below, 0.0, 0.0
    for k in range(first, last):
        end_s = max(free_s, lanes.arrival_s[m, k]) + lanes.exec_s[m, k]
        earned = lanes.scale[m, k] * value_at(scene.curves, lanes.row[m, k], end_s - lanes.due_s[m, k])
        before = lanes.earned[m, k]
        if earned < drop_below:
            end_s, earned = free_s, 0.0
        if drop_below > 0.0 and (before > 0.0) != (earned > 0.0):
            energy_j = energy_of(scene, lanes.task[m, k], scene.plan.place[lanes.task[m, k]])
            spent_j += energy_j if earned > 0.0 else -energy_j
        worth += earned - before
        free_s = end_s
        if may_stop and abs(end_s - lanes.free_s[m, k]) < SAME_S:
            break
    return free_s, worth, spent_j


@inlined
def run_one(scene, move, free_s):
    """Run the task where it moves to, on a machine free at an instant; returns when that is free again, its utility and
    its energy.
    """
    tasks, i = scene.facts.tasks, move.i
    end_s = max(free_s, tasks.arrival_s[i]) + move.exec_s
    late_s = end_s - (tasks.arrival_s[i] + tasks.hold_s[i])
    earned = tasks.scale[i] * value_at(scene.curves, tasks.shape[i] * scene.curves.n_cells, late_s)
    if earned < scene.facts.drop_below:
        return free_s, 0.0, 0.0
    return end_s, earned, move.energy_j


@inlined
def is_running(scene, i, a, p):
    """Whether a task at position p of lane a runs, that is, takes time and energy."""
    return scene.plan.place[i] != NOWHERE and (scene.facts.drop_below <= 0.0 or scene.plan.lanes.earned[a, p] > 0.0)


@inlined
def changes_of(scene, move, q):
    """By how much a move to position q, counted without the task, changes utility and energy."""
    plan, nowhere, a, p, b = scene.plan, scene.plan.length.size - 1, move.a, move.p, move.b
    worth, spent_j, more, more_j, net, net_j = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if is_running(scene, move.i, a, p):
        worth, spent_j = -plan.lanes.earned[a, p], -energy_of(scene, move.i, plan.place[move.i])
    if a == b and q <= p:
        free_s, net, net_j = run_one(scene, move, free_before(plan, a, q))
        free_s, more, more_j = run_all(scene, a, q, p, free_s, False)
    elif a == b:
        free_s, more, more_j = run_all(scene, a, p + 1, q + 1, free_before(plan, a, p), False)
        free_s, net, net_j = run_one(scene, move, free_s)
    else:
        if a != nowhere:
            _, more, more_j = run_all(scene, a, p + 1, plan.length[a], free_before(plan, a, p), True)
        if b == nowhere:
            return worth + more, spent_j + more_j
        free_s, net, net_j = run_one(scene, move, free_before(plan, b, q))
    begins = max(p, q) + 1 if a == b else q
    _, rest, rest_j = run_all(scene, b, begins, plan.length[b], free_s, True)
    return worth + more + net + rest, spent_j + more_j + net_j + rest_j


@inlined
def haste_of(plan, a, p):
    """How much earlier the task behind position p could start without the one at p."""
    if p + 1 >= plan.length[a]:
        return 0.0
    lanes = plan.lanes
    return lanes.start_s[a, p + 1] - max(free_before(plan, a, p), lanes.arrival_s[a, p + 1])


@inlined
def best_elsewhere(scene, move, temperature, at):
    """The best position of another lane by estimate and noise; returns it, its estimate, its noise and its loss."""
    plan, lanes, mask, curves = scene.plan, scene.plan.lanes, scene.noise.size - 1, scene.curves
    tasks, i, b, n, exec_s = scene.facts.tasks, move.i, move.b, scene.plan.length[move.b], move.exec_s
    arrival_s, scale, row = tasks.arrival_s[i], tasks.scale[i], tasks.shape[i] * curves.n_cells
    due_s, most, best, best_noise, best_loss = arrival_s + tasks.hold_s[i] - exec_s, -np.inf, 0, 0.0, 0.0
    first, last = position_at(lanes, b, 0, n, arrival_s), n + 1
    if move.a < plan.length.size - 1 and (at & 3) != 0:
        near = position_at(lanes, b, first, n, lanes.start_s[move.a, move.p])
        first, last = max(first, near - NEAR), min(near + NEAR, last)
    free_s = max(free_before(plan, b, first), arrival_s)
    for q in range(first, last):
        worth, loss = scale * value_at(curves, row, free_s - due_s), 0.0
        if q < n:
            loss = lost_by(scene, b, q, max(free_s + exec_s - lanes.start_s[b, q], 0.0))
            free_s = lanes.free_s[b, q]
        noise = temperature * scene.noise[(at + q) & mask]
        if worth - loss + noise > most:
            most, best, best_noise, best_loss = worth - loss + noise, q, noise, loss
    return best, most - best_noise, best_noise, best_loss


@inlined
def best_here(scene, move, temperature, at):
    """The best position of the task's own lane by estimate and noise, as `best_elsewhere` gives it."""
    plan, lanes, mask, curves = scene.plan, scene.plan.lanes, scene.noise.size - 1, scene.curves
    tasks, i, m, p, n, exec_s = scene.facts.tasks, move.i, move.a, move.p, scene.plan.length[move.a], move.exec_s
    arrival_s, scale, row = tasks.arrival_s[i], tasks.scale[i], tasks.shape[i] * curves.n_cells
    due_s, most, best, best_noise, best_loss = arrival_s + tasks.hold_s[i] - exec_s, -np.inf, p, 0.0, 0.0
    haste_s, stays = haste_of(plan, m, p), move.place == plan.place[i]
    gained = -lost(scene, m, p + 1, -haste_s)
    first, last = min(position_at(lanes, m, 0, n, arrival_s), p), n
    if (at & 3) != 0:
        first, last = max(first, p - NEAR), min(p + NEAR, n)
    for q in range(first, last):
        if q == p and stays:
            continue
        if q <= p:
            free_s = max(free_before(plan, m, q), arrival_s)
            delay_s = max(free_s + exec_s - lanes.start_s[m, q], 0.0)
            behind = lost(scene, m, p + 1, delay_s - haste_s) - lost(scene, m, p + 1, delay_s)
            loss = lost_by(scene, m, q, delay_s) + behind
        else:
            free_s = max(lanes.free_s[m, q] - haste_s, arrival_s)
            loss = -gained - lost(scene, m, q + 1, -haste_s)
            if q + 1 < n:
                loss += lost_by(scene, m, q + 1, free_s + exec_s - lanes.start_s[m, q + 1])
        worth = scale * value_at(curves, row, free_s - due_s)
        noise = temperature * scene.noise[(at + q) & mask]
        if worth - loss + noise > most:
            most, best, best_noise, best_loss = worth - loss + noise, q, noise, loss
    return best, most - best_noise, best_noise, best_loss


@shared
def retime(scene, m, first, changed):
    """Work out times and utility of a lane from a position on; stops behind `changed` where all is as before."""
    plan, lanes, curves = scene.plan, scene.plan.lanes, scene.curves
    free_s = free_before(plan, m, first)
    for k in range(first, plan.length[m]):
        plan.position[lanes.task[m, k]] = k
        start_s = max(free_s, lanes.arrival_s[m, k])
        end_s = start_s + lanes.exec_s[m, k]
        at = max((end_s - lanes.due_s[m, k]) * curves.per_s + curves.n_lead, 0.0)
        cell = min(np.int64(at), curves.n_cells - 1)
        values, scale = curves.cells[lanes.row[m, k] + cell], lanes.scale[m, k]
        earned, later, earlier = scale * (values[0] + values[1] * min(at - cell, 1.0)), values[2], values[3]
        if earned < scene.facts.drop_below:
            earned, end_s, later, earlier = 0.0, free_s, 0.0, 0.0
        is_same = k > changed and abs(end_s - lanes.free_s[m, k]) < SAME_S
        lanes.start_s[m, k], lanes.free_s[m, k], lanes.earned[m, k] = start_s, end_s, earned
        lanes.later[m, k], lanes.earlier[m, k] = scale * later, scale * earlier
        free_s = end_s
        if is_same:
            break
    add_up(plan, m)


@inlined
def add_up(plan, m):
    """Add up what followers lose and gain, from the last task to the first, as far as they wait for each other."""
    lanes, later, earlier, behind_s = plan.lanes, 0.0, 0.0, -1.0
    for k in range(plan.length[m] - 1, -1, -1):
        if behind_s > lanes.free_s[m, k] + SAME_S:
            later, earlier = 0.0, 0.0
        later += lanes.later[m, k]
        earlier += lanes.earlier[m, k]
        lanes.all_later[m, k], lanes.all_earlier[m, k] = later, earlier
        behind_s = lanes.start_s[m, k]


@inlined
def put(scene, m, k, i, place):
    """Write down what a lane needs to know of a task at a position."""
    lanes, tasks = scene.plan.lanes, scene.facts.tasks
    lanes.task[m, k], lanes.row[m, k] = i, tasks.shape[i] * scene.curves.n_cells
    lanes.arrival_s[m, k], lanes.due_s[m, k] = tasks.arrival_s[i], tasks.arrival_s[i] + tasks.hold_s[i]
    lanes.scale[m, k], lanes.exec_s[m, k] = tasks.scale[i], 0.0 if place == NOWHERE else exec_of(scene, i, place)


@inlined
def shift(lanes, m, first, last, by):
    """Shift what positions first to last know of their tasks by one position, up (1) or down (-1)."""
    for step in range(last - first):
        k = last - 1 - step if by > 0 else first + step
        lanes.task[m, k + by], lanes.row[m, k + by] = lanes.task[m, k], lanes.row[m, k]
        lanes.arrival_s[m, k + by], lanes.due_s[m, k + by] = lanes.arrival_s[m, k], lanes.due_s[m, k]
        lanes.scale[m, k + by], lanes.exec_s[m, k + by] = lanes.scale[m, k], lanes.exec_s[m, k]


@shared
def make_move(scene, move, q):
    """Move the task to position q, counted without it."""
    plan, a, p, b = scene.plan, move.a, move.p, move.b
    lanes, length = plan.lanes, plan.length
    plan.place[move.i] = move.place
    if a == b:
        if q > p:
            shift(lanes, a, p + 1, q + 1, -1)
        else:
            shift(lanes, a, q, p, 1)
        put(scene, b, q, move.i, move.place)
        retime(scene, a, min(p, q), max(p, q))
        return
    shift(lanes, a, p + 1, length[a], -1)
    length[a] -= 1
    shift(lanes, b, q, length[b], 1)
    length[b] += 1
    put(scene, b, q, move.i, move.place)
    renew(scene, a, p)
    renew(scene, b, q)


@inlined
def renew(scene, m, first):
    """Bring a lane up to date from a position on."""
    plan = scene.plan
    if m < plan.length.size - 1:
        retime(scene, m, first, plan.length[m])
    else:
        for k in range(first, plan.length[m]):
            plan.position[plan.lanes.task[m, k]] = k


@kernel
def begin(scene, place, sequence):
    """Make the plan that runs each task at its place, in this sequence."""
    plan = scene.plan
    nowhere = plan.length.size - 1
    plan.length[:] = 0
    plan.totals[:] = 0.0
    for at in range(sequence.size):
        i = sequence[at]
        m = nowhere if place[i] == NOWHERE else scene.facts.machine[place[i]]
        plan.place[i] = place[i]
        put(scene, m, plan.length[m], i, place[i])
        plan.length[m] += 1
    for m in range(nowhere + 1):
        renew(scene, m, 0)
        for k in range(plan.length[m] if m < nowhere else 0):
            i = plan.lanes.task[m, k]
            plan.totals[WORTH] += plan.lanes.earned[m, k]
            if is_running(scene, i, m, k):
                plan.totals[SPENT] += energy_of(scene, i, place[i])


@kernel
def keep(scene):
    """Put the plan into the archive unless something there beats it; of a full archive what matters least goes."""
    archive, plan = scene.archive, scene.plan
    points, slot, n = archive.points, archive.slot, archive.n_kept[0]
    worth, spent_j = plan.totals[WORTH], plan.totals[SPENT]
    at = _n_cheaper(points, n, spent_j)
    if at > 0 and points[at - 1, WORTH] >= worth:
        return
    first = at - 1 if at > 0 and points[at - 1, SPENT] == spent_j else at
    last = first
    while last < n and points[last, WORTH] <= worth:
        last += 1
    if first == last and n == slot.size:
        least = _least_needed(points, n)
        _cut(archive, least, least + 1)
        first -= 1 if least < first else 0
        last, n = first, n - 1
    elif last > first + 1:
        _cut(archive, first + 1, last)
        n -= last - first - 1
    if first == last:
        free = slot[n]
        for k in range(n, first, -1):
            slot[k] = slot[k - 1]
            points[k, WORTH], points[k, SPENT] = points[k - 1, WORTH], points[k - 1, SPENT]
        slot[first] = free
        n += 1
    archive.n_kept[0] = n
    points[first, WORTH], points[first, SPENT] = worth, spent_j
    for i in range(plan.place.size):
        archive.genes[slot[first], 0, i] = plan.place[i]
        archive.genes[slot[first], 1, i] = plan.position[i]


@inlined
def _n_cheaper(points, n, spent_j):
    """How many kept points use no more energy than this."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if points[middle, SPENT] <= spent_j:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _least_needed(points, n):
    """Which kept point, the ends aside, adds the least area."""
    least, least_area = 1, np.inf
    for k in range(1, n - 1):
        area = (points[k + 1, SPENT] - points[k, SPENT]) * (points[k, WORTH] - points[k - 1, WORTH])
        if area < least_area:
            least, least_area = k, area
    return least


@shared
def _cut(archive, first, last):
    """Take kept points first to last out; their slots are free again."""
    points, slot, n, width = archive.points, archive.slot, archive.n_kept[0], last - first
    for _ in range(width):
        freed = slot[first]
        for k in range(first, n - 1):
            slot[k] = slot[k + 1]
            points[k, WORTH], points[k, SPENT] = points[k + 1, WORTH], points[k + 1, SPENT]
        slot[n - 1] = freed
        n -= 1
    archive.n_kept[0] = n


@inlined
def position_at(lanes, m, first, last, start_s):
    """The first position of a part of a lane whose task starts no earlier than an instant."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if lanes.start_s[m, middle] < start_s:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def lucky_place(state, scene, kind, place):
    """A place for a task type, drawn by luck, if this one has too little."""
    facts, luck, most = scene.facts, scene.luck, LEAST_LUCK
    for choice in range(luck.shape[1]):
        most = max(most, luck[kind, choice])
    while share_of(draw(state)) * most > max(luck[kind, facts.choice[place]], LEAST_LUCK):
        place = facts.allowed[kind, high_below(draw(state), facts.n_allowed[kind])]
    return place


@inlined
def some_move(state, scene, per_j):
    """A random task, and where it might go: its own lane in one of four moves, else a random place."""
    facts, plan, bits = scene.facts, scene.plan, draw(state)
    nowhere, i = plan.length.size - 1, high_below(bits, plan.place.size)
    kind, old = facts.tasks.task_type[i], plan.place[i]
    a, p = (nowhere if old == NOWHERE else np.int64(facts.machine[old])), np.int64(plan.position[i])
    n_places = facts.n_allowed[kind]
    choice = low_below(bits, n_places + (1 if facts.drop_below > 0.0 else 0))
    place = facts.allowed[kind, choice] if choice < n_places else NOWHERE
    if share_of(draw(state)) < HERE:
        place = old
    elif place != NOWHERE:
        place = lucky_place(state, scene, kind, place)
    b = nowhere if place == NOWHERE else np.int64(facts.machine[place])
    exec_s, energy_j, net = 0.0, 0.0, 0.0
    if b < nowhere:
        exec_s, energy_j = exec_of(scene, i, place), energy_of(scene, i, place)
    if is_running(scene, i, a, p):
        net = plan.lanes.earned[a, p] - per_j * energy_of(scene, i, old)
    return Move(i, np.int64(place), a, p, b, exec_s, energy_j, net)


@inlined
def try_move(state, scene, per_j, temperature):
    """Try to move a random task; returns 1 if it was moved, else 0."""
    move = some_move(state, scene, per_j)
    made = make_if_good(state, scene, move, per_j, temperature)
    if move.a != move.b and move.place != NOWHERE:
        kind, choice = scene.facts.tasks.task_type[move.i], scene.facts.choice[move.place]
        scene.luck[kind, choice] += (made - scene.luck[kind, choice]) / LUCK_MEMORY
    return made


@inlined
def make_if_good(state, scene, move, per_j, temperature):
    """Make a move to the position drawn for it if it beats staying; returns 1 if it was made, else 0."""
    plan, nowhere, mask = scene.plan, scene.plan.length.size - 1, scene.noise.size - 1
    if move.b == nowhere and move.a == nowhere:
        return 0
    at = np.int64(draw(state) & np.uint64(mask))
    stay, cost, gained = temperature * scene.noise[(at - 1) & mask], per_j * move.energy_j, 0.0
    if move.b == nowhere:
        q, worth, noise, loss = plan.length[nowhere], 0.0, temperature * scene.noise[at], 0.0
    elif move.b == move.a:
        q, worth, noise, loss = best_here(scene, move, temperature, at)
    else:
        q, worth, noise, loss = best_elsewhere(scene, move, temperature, at)
    if move.a != nowhere and move.a != move.b:
        gained = -lost(scene, move.a, move.p + 1, -haste_of(plan, move.a, move.p))
    if worth - cost + gained - move.net + noise + MARGIN * (abs(loss) + gained) < stay:
        return 0
    more, more_j = changes_of(scene, move, q)
    if more - per_j * more_j + noise < stay:
        return 0
    make_move(scene, move, q)
    plan.totals[WORTH] += more
    plan.totals[SPENT] += more_j
    return 1


@kernel
def anneal_plan(state, scene, sweep):
    """Anneal the plan along a sweep and keep what nothing kept beats; returns how many moves were made."""
    n_made, kept_at = 0, 0
    n_steps = max((sweep.n_moves + MOVES_PER_STEP - 1) // MOVES_PER_STEP, 1)
    per_j, temperature = sweep.per_j[0], sweep.temperature[0]
    dearer = (sweep.per_j[1] / sweep.per_j[0]) ** (1.0 / n_steps)
    colder = (sweep.temperature[1] / sweep.temperature[0]) ** (1.0 / n_steps)
    for step in range(sweep.n_moves):
        if step % MOVES_PER_STEP == 0:
            per_j *= dearer
            temperature *= colder
        n_made += try_move(state, scene, per_j, temperature)
        if step - kept_at >= scene.plan.place.size and n_made > 0:
            kept_at = step
            keep(scene)
    keep(scene)
    return n_made
