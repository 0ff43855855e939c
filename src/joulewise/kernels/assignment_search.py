"""Simulated annealing of assignments: one task at a time leaves its place in a machine's sequence for a better one.

A task looks at all positions of one machine at once. What each is worth is estimated from what the followers there
lose together by a delay; the position is drawn by these worths and the temperature, as a heat bath would. Only the
position drawn is then worked out, follower by follower, and taken if it still wins. Utility is read from a table, so
totals here are close but not exact: whoever reports evaluates anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.assignment import NOWHERE, AssignmentFacts
from joulewise.kernels.draws import draw, high_below, low_below
from joulewise.kernels.jit import inlined, kernel, shared

WORTH, SPENT = 0, 1
"""The totals of a plan: utility earned and energy used."""

MOVES_PER_STEP = 64
"""How many moves are tried at one temperature and one energy price."""

MARGIN = 0.1
"""By what share of the losses and gains of followers an estimate may be off before a move is given up."""


class Curves(NamedTuple):
    """Utility by time after the hold: value at the start of a cell and rise over it; shape s begins at s * n_cells."""

    cells: NDArray[np.float32]
    top: NDArray[np.float64]
    per_s: float
    n_cells: int


class Lanes(NamedTuple):
    """The tasks of each machine in their order, by [machine, position]; the last lane holds those that do not run.

    `free_s` is when the machine is free after a task's turn; `later` and `earlier` are what the task loses and gains by
    `Plan.typical_s` of delay and haste. All those from a position on lose together, by a delay of t seconds, about
    `press * t / (1 + bend * t)`.
    """

    task: NDArray[np.int32]
    arrival_s: NDArray[np.float64]
    due_s: NDArray[np.float64]
    scale: NDArray[np.float64]
    exec_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    free_s: NDArray[np.float64]
    earned: NDArray[np.float64]
    later: NDArray[np.float64]
    earlier: NDArray[np.float64]
    press: NDArray[np.float64]
    bend: NDArray[np.float64]


class Plan(NamedTuple):
    """The state of a search: lanes and how long they are, where each task is, and the totals."""

    lanes: Lanes
    length: NDArray[np.int64]
    place: NDArray[np.int32]
    position: NDArray[np.int32]
    totals: NDArray[np.float64]
    typical_s: float


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
    """All that a search works with; `noise` are Gumbel draws, a power of two of them."""

    facts: AssignmentFacts
    curves: Curves
    plan: Plan
    archive: Archive
    noise: NDArray[np.float64]


class Move(NamedTuple):
    """Task i from position p of lane a to a place of lane b; what it nets now."""

    i: int
    place: int
    a: int
    p: int
    b: int
    net: float


@inlined
def value_at(curves, shape, late_s):
    """What a shape is worth so long after the hold, as the table has it."""
    if late_s <= 0.0:
        return curves.top[shape]
    at = late_s * curves.per_s
    cell = min(np.int64(at), curves.n_cells - 1)
    row = shape * curves.n_cells + cell
    return curves.cells[row, 0] + curves.cells[row, 1] * min(at - cell, 1.0)


@inlined
def curve_at(curves, shape, late_s):
    """What a shape is worth so long after the hold, and what a typical delay takes and a typical haste adds there."""
    at = late_s * curves.per_s
    cell = min(np.int64(max(at, 0.0)), curves.n_cells - 1)
    row = shape * curves.n_cells + cell
    cells = curves.cells
    value = cells[row, 0] + cells[row, 1] * min(at - cell, 1.0) if late_s > 0.0 else curves.top[shape]
    return value, cells[row, 2], cells[row, 3]


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
def lost(plan, m, k, delay_s):
    """About what the tasks of a lane from position k on lose together by a delay (gain, if it is below 0)."""
    if k >= plan.length[m]:
        return 0.0
    return plan.lanes.press[m, k] * delay_s / max(1.0 + plan.lanes.bend[m, k] * delay_s, 0.5)


@inlined
def run_all(scene, m, first, last, free_s, per_j, may_stop):
    """Run positions first to last of a lane whose machine is free at an instant; returns when it is free then and
    what that gains. Stops where the machine is free as before, if what follows is as before too.
    """
    lanes, drop_below, gain = scene.plan.lanes, scene.facts.drop_below, 0.0
    for k in range(first, last):
        end_s = max(free_s, lanes.arrival_s[m, k]) + lanes.exec_s[m, k]
        i = lanes.task[m, k]
        earned = lanes.scale[m, k] * value_at(scene.curves, scene.facts.tasks.shape[i], end_s - lanes.due_s[m, k])
        before = lanes.earned[m, k]
        if earned < drop_below:
            end_s, earned = free_s, 0.0
        if drop_below > 0.0 and (before > 0.0) != (earned > 0.0):
            energy_j = energy_of(scene, i, scene.plan.place[i])
            gain += per_j * (energy_j if before > 0.0 else -energy_j)
        gain += earned - before
        free_s = end_s
        if may_stop and end_s == lanes.free_s[m, k]:
            break
    return free_s, gain


@inlined
def run_one(scene, i, place, free_s, per_j):
    """Run a task at a place that is free at an instant; returns when it is free again and what the task nets."""
    tasks = scene.facts.tasks
    end_s = max(free_s, tasks.arrival_s[i]) + exec_of(scene, i, place)
    late_s = end_s - (tasks.arrival_s[i] + tasks.hold_s[i])
    earned = tasks.scale[i] * value_at(scene.curves, tasks.shape[i], late_s)
    if earned < scene.facts.drop_below:
        return free_s, 0.0
    return end_s, earned - per_j * energy_of(scene, i, place)


@inlined
def net_of(scene, i, a, p, per_j):
    """What a task earns now less what its energy costs."""
    place = scene.plan.place[i]
    if place == NOWHERE or (scene.facts.drop_below > 0.0 and scene.plan.lanes.earned[a, p] <= 0.0):
        return 0.0
    return scene.plan.lanes.earned[a, p] - per_j * energy_of(scene, i, place)


@inlined
def gain_of(scene, move, q, per_j):
    """What a move to position q, counted without the task, gains."""
    plan, nowhere, gain, a, p, b = scene.plan, scene.plan.length.size - 1, -move.net, move.a, move.p, move.b
    if a == b:
        if q <= p:
            free_s, net = run_one(scene, move.i, move.place, free_before(plan, a, q), per_j)
            free_s, more = run_all(scene, a, q, p, free_s, per_j, False)
        else:
            free_s, more = run_all(scene, a, p + 1, q + 1, free_before(plan, a, p), per_j, False)
            free_s, net = run_one(scene, move.i, move.place, free_s, per_j)
        _, rest = run_all(scene, a, max(p, q) + 1, plan.length[a], free_s, per_j, True)
        return gain + net + more + rest
    if a != nowhere:
        _, more = run_all(scene, a, p + 1, plan.length[a], free_before(plan, a, p), per_j, True)
        gain += more
    if b != nowhere:
        free_s, net = run_one(scene, move.i, move.place, free_before(plan, b, q), per_j)
        _, rest = run_all(scene, b, q, plan.length[b], free_s, per_j, True)
        gain += net + rest
    return gain


@inlined
def haste_of(plan, a, p):
    """How much earlier the task behind position p could start without the one at p."""
    if p + 1 >= plan.length[a]:
        return 0.0
    lanes = plan.lanes
    return lanes.start_s[a, p + 1] - max(free_before(plan, a, p), lanes.arrival_s[a, p + 1])


@inlined
def best_elsewhere(scene, move, per_j, temperature, at):
    """The best position of another lane by estimate and noise; returns it, its estimate, its noise and the loss there."""
    plan, lanes, mask, curves = scene.plan, scene.plan.lanes, scene.noise.size - 1, scene.curves
    tasks, i, b, n = scene.facts.tasks, move.i, move.b, scene.plan.length[move.b]
    exec_s, arrival_s = exec_of(scene, i, move.place), tasks.arrival_s[i]
    due_s, shape, scale = arrival_s + tasks.hold_s[i] - exec_s, tasks.shape[i], tasks.scale[i]
    cost, most, best, best_noise, best_loss = per_j * energy_of(scene, i, move.place), -np.inf, 0, 0.0, 0.0
    first = position_at(lanes, b, n, arrival_s)
    free_s = max(free_before(plan, b, first), arrival_s)
    for q in range(first, n + 1):
        worth = scale * value_at(curves, shape, free_s - due_s)
        loss = 0.0
        if q < n:
            delay_s = max(free_s + exec_s - lanes.start_s[b, q], 0.0)
            loss = lanes.press[b, q] * delay_s / (1.0 + max(lanes.bend[b, q] * delay_s, -0.5))
            free_s = lanes.free_s[b, q]
        noise = temperature * scene.noise[(at + q) & mask]
        if worth - loss + noise > most:
            most, best, best_noise, best_loss = worth - loss + noise, q, noise, loss
    return best, most - best_noise - cost, best_noise, best_loss


@inlined
def best_here(scene, move, per_j, temperature, at):
    """The best position of the task's own lane by estimate and noise, as `best_elsewhere` gives it."""
    plan, lanes, mask, curves = scene.plan, scene.plan.lanes, scene.noise.size - 1, scene.curves
    tasks, i, m, p, n = scene.facts.tasks, move.i, move.a, move.p, scene.plan.length[move.a]
    exec_s, arrival_s, haste_s = exec_of(scene, i, move.place), tasks.arrival_s[i], haste_of(plan, move.a, move.p)
    due_s, shape, scale = arrival_s + tasks.hold_s[i] - exec_s, tasks.shape[i], tasks.scale[i]
    cost, most, best, best_noise, best_loss = per_j * energy_of(scene, i, move.place), -np.inf, p, 0.0, 0.0
    gained, stays = -lost(plan, m, p + 1, -haste_s), move.place == plan.place[i]
    for q in range(min(position_at(lanes, m, n, arrival_s), p), n):
        if q == p and stays:
            continue
        if q <= p:
            free_s = max(free_before(plan, m, q), arrival_s)
            delay_s = max(free_s + exec_s - lanes.start_s[m, q], 0.0)
            loss = lost(plan, m, q, delay_s) - lost(plan, m, p + 1, delay_s) + lost(plan, m, p + 1, delay_s - haste_s)
        else:
            free_s = max(lanes.free_s[m, q] - haste_s, arrival_s)
            loss = -gained - lost(plan, m, q + 1, -haste_s)
            if q + 1 < n:
                loss += lost(plan, m, q + 1, free_s + exec_s - lanes.start_s[m, q + 1])
        worth = scale * value_at(curves, shape, free_s - due_s)
        noise = temperature * scene.noise[(at + q) & mask]
        if worth - loss + noise > most:
            most, best, best_noise, best_loss = worth - loss + noise, q, noise, loss
    return best, most - best_noise - cost, best_noise, best_loss


@shared
def retime(scene, m, first):
    """Work out times, utility and losses of a lane from a position on, and correct the totals."""
    plan, lanes, tasks, curves = scene.plan, scene.plan.lanes, scene.facts.tasks, scene.curves
    free_s = free_before(plan, m, first)
    for k in range(first, plan.length[m]):
        i = lanes.task[m, k]
        plan.position[i] = k
        arrival_s, scale, shape = tasks.arrival_s[i], tasks.scale[i], tasks.shape[i]
        due_s, exec_s = arrival_s + tasks.hold_s[i], exec_of(scene, i, plan.place[i])
        start_s = max(free_s, arrival_s)
        ends_s = start_s + exec_s
        value, later, earlier = curve_at(curves, shape, ends_s - due_s)
        earned = scale * value
        if earned < scene.facts.drop_below:
            earned, ends_s, later, earlier = 0.0, free_s, 0.0, 0.0
        lanes.later[m, k], lanes.earlier[m, k] = scale * later, scale * earlier
        plan.totals[WORTH] += earned
        lanes.arrival_s[m, k], lanes.due_s[m, k], lanes.scale[m, k] = arrival_s, due_s, scale
        lanes.exec_s[m, k], lanes.start_s[m, k], lanes.free_s[m, k] = exec_s, start_s, ends_s
        lanes.earned[m, k] = earned
        free_s = ends_s
    press(plan, m)


@inlined
def press(plan, m):
    """Add up what followers lose and gain, from the last task to the first, as far as they wait for each other."""
    lanes, later, earlier, behind_s = plan.lanes, 0.0, 0.0, -1.0
    for k in range(plan.length[m] - 1, -1, -1):
        if behind_s > lanes.free_s[m, k]:
            later, earlier = 0.0, 0.0
        later += lanes.later[m, k]
        earlier += lanes.earlier[m, k]
        both = later + earlier
        if both > 0.0:
            lanes.press[m, k] = 2.0 * later * earlier / (both * plan.typical_s)
            lanes.bend[m, k] = (earlier - later) / (both * plan.typical_s)
        else:
            lanes.press[m, k], lanes.bend[m, k] = 0.0, 0.0
        behind_s = lanes.start_s[m, k]


@shared
def forget(plan, m, first):
    """Take what a lane earns from a position on out of the totals."""
    for k in range(first, plan.length[m]):
        plan.totals[WORTH] -= plan.lanes.earned[m, k]


@inlined
def renew(scene, m, first):
    """Bring a lane up to date from a position on."""
    if m < scene.plan.length.size - 1:
        retime(scene, m, first)
    else:
        for k in range(first, scene.plan.length[m]):
            scene.plan.position[scene.plan.lanes.task[m, k]] = k


@shared
def make_move(scene, move, q):
    """Move the task to position q, counted without it."""
    plan, a, p, b = scene.plan, move.a, move.p, move.b
    task, length = plan.lanes.task, plan.length
    from_a, from_b = (min(p, q), min(p, q)) if a == b else (p, q)
    forget(plan, a, from_a)
    if a != b:
        forget(plan, b, from_b)
    for k in range(p, length[a] - 1):
        task[a, k] = task[a, k + 1]
    length[a] -= 1
    for k in range(length[b], q, -1):
        task[b, k] = task[b, k - 1]
    task[b, q] = move.i
    length[b] += 1
    plan.place[move.i] = move.place
    if a != b:
        renew(scene, a, from_a)
    renew(scene, b, from_b)


@shared
def energy_used(scene):
    """The energy of all tasks that run."""
    plan, total_j = scene.plan, 0.0
    for m in range(plan.length.size - 1):
        for k in range(plan.length[m]):
            i = plan.lanes.task[m, k]
            if scene.facts.drop_below <= 0.0 or plan.lanes.earned[m, k] > 0.0:
                total_j += energy_of(scene, i, plan.place[i])
    return total_j


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
        plan.place[i], plan.position[i] = place[i], plan.length[m]
        plan.lanes.task[m, plan.length[m]] = i
        plan.length[m] += 1
    for m in range(nowhere):
        retime(scene, m, 0)
    plan.totals[SPENT] = energy_used(scene)


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
def position_at(lanes, m, n, start_s):
    """The first position of a lane whose task starts no earlier than an instant."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if lanes.start_s[m, middle] < start_s:
            low = middle + 1
        else:
            high = middle
    return low


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
    if (draw(state) & np.uint64(3)) == 0:
        place = old
    b = nowhere if place == NOWHERE else np.int64(facts.machine[place])
    return Move(i, np.int64(place), a, p, b, net_of(scene, i, a, p, per_j))


@inlined
def try_move(state, scene, per_j, temperature):
    """Try to move a random task; returns whether it was."""
    facts, plan, move = scene.facts, scene.plan, some_move(state, scene, per_j)
    nowhere, mask = plan.length.size - 1, scene.noise.size - 1
    if move.b == nowhere and move.a == nowhere:
        return False
    at = np.int64(draw(state) & np.uint64(mask))
    stay, gained = temperature * scene.noise[(at - 1) & mask] + move.net, 0.0
    if move.a != nowhere:
        gained = -lost(plan, move.a, move.p + 1, -haste_of(plan, move.a, move.p))
    if move.b == nowhere:
        q, worth, noise, loss = plan.length[nowhere], 0.0, temperature * scene.noise[at], 0.0
    elif move.b == move.a:
        q, worth, noise, loss = best_here(scene, move, per_j, temperature, at)
        gained = 0.0
    else:
        q, worth, noise, loss = best_elsewhere(scene, move, per_j, temperature, at)
    if worth + gained + noise + MARGIN * (abs(loss) + gained) < stay:
        return False
    if gain_of(scene, move, q, per_j) + move.net + noise < stay:
        return False
    old = plan.place[move.i]
    make_move(scene, move, q)
    if facts.drop_below > 0.0:
        plan.totals[SPENT] = energy_used(scene)
    else:
        plan.totals[SPENT] += energy_of(scene, move.i, move.place) - energy_of(scene, move.i, old)
    return True


@kernel
def choose_by_prices(facts, n_pstates, paid, horizon_s, per_j, choice, start_s):
    """Set the choice and the start that gain each task most after paying for energy and machine.

    `paid[machine type, slot]` is what a machine costs from time 0 to the start of a slot, the last one the horizon.
    """
    n_slots = paid.shape[1] - 1
    slot_s = horizon_s / n_slots
    for i in range(choice.size):
        kind, arrival_s, most = facts.tasks.task_type[i], facts.tasks.arrival_s[i], -np.inf
        for at in range(facts.n_allowed[kind]):
            c = facts.choice[facts.allowed[kind, at]]
            k, exec_s, cost = c // n_pstates, facts.exec_s[kind, c], per_j * facts.energy_j[kind, c]
            first, due_s = int(arrival_s / slot_s), arrival_s + facts.tasks.hold_s[i] - exec_s
            begins, ends = facts.utilities.first[facts.tasks.shape[i]], facts.utilities.first[facts.tasks.shape[i] + 1]
            for trial in range(2 * (n_slots + 1 - first) + ends - begins):
                if trial < ends - begins:
                    begin_s = due_s + facts.utilities.segments[begins + trial, 0]
                else:
                    edge = trial - (ends - begins)
                    begin_s = (first + edge // 2) * slot_s - (exec_s if edge % 2 == 1 else 0.0)
                begin_s = max(begin_s, arrival_s)
                pays = paid_until(paid, k, slot_s, begin_s + exec_s) - paid_until(paid, k, slot_s, begin_s)
                gain = utility_of(facts.tasks, facts.utilities, i, begin_s + exec_s) - cost - pays
                if gain > most:
                    most, choice[i], start_s[i] = gain, c, begin_s


@inlined
def paid_until(paid, k, slot_s, until_s):
    """What a machine of type k costs from time 0 to an instant; free after the last slot."""
    at = min(until_s / slot_s, np.float64(paid.shape[1] - 1))
    slot = min(np.int64(at), paid.shape[1] - 2)
    return paid[k, slot] + (at - slot) * (paid[k, slot + 1] - paid[k, slot])


@kernel
def fill(scene, per_j):
    """Let every task that does not run, from the last of them to the first, run where it seems to gain most."""
    facts, plan = scene.facts, scene.plan
    nowhere = plan.length.size - 1
    while plan.length[nowhere] > 0:
        p = plan.length[nowhere] - 1
        i = np.int64(plan.lanes.task[nowhere, p])
        kind, most, best, best_q = facts.tasks.task_type[i], -np.inf, np.int64(0), np.int64(0)
        for choice in range(facts.n_allowed[kind]):
            place = np.int64(facts.allowed[kind, choice])
            move = Move(i, place, nowhere, p, np.int64(facts.machine[place]), 0.0)
            q, worth, _, _ = best_elsewhere(scene, move, per_j, 0.0, 0)
            if worth > most:
                most, best, best_q = worth, place, q
        make_move(scene, Move(i, best, nowhere, p, np.int64(facts.machine[best]), 0.0), best_q)
    plan.totals[SPENT] = energy_used(scene)


@kernel
def anneal_plan(state, scene, sweep):
    """Anneal the plan along a sweep, keeping in the archive what nothing there beats; returns how many moves it made."""
    n_made, kept_at = 0, 0
    n_steps = max((sweep.n_moves + MOVES_PER_STEP - 1) // MOVES_PER_STEP, 1)
    per_j, temperature = sweep.per_j[0], sweep.temperature[0]
    dearer = (sweep.per_j[1] / sweep.per_j[0]) ** (1.0 / n_steps)
    colder = (sweep.temperature[1] / sweep.temperature[0]) ** (1.0 / n_steps)
    for move in range(sweep.n_moves):
        if move % MOVES_PER_STEP == 0:
            per_j *= dearer
            temperature *= colder
        if try_move(state, scene, per_j, temperature):
            n_made += 1
        if move - kept_at >= scene.plan.place.size and n_made > 0:
            kept_at = move
            keep(scene)
    keep(scene)
    return n_made
