"""Simulated annealing of assignments: one task at a time leaves its place in a machine's sequence for a better one.

A task looks at all positions of one machine at once. What each is worth is estimated from what the followers there
lose together by a delay; the position is drawn by these worths and the temperature, as a heat bath would. Only the
position drawn is then worked out, follower by follower, and taken if it still wins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joulewise.kernels.assignments.evaluation import NOWHERE
from joulewise.kernels.assignments.plans import (
    SPENT,
    WORTH,
    energy_of,
    exec_of,
    free_before,
    is_running,
    keep,
    make_move,
    run_all,
    value_at,
)
from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.records import record

MOVES_PER_STEP = 64
"""How many moves are tried at one temperature and one energy price."""

NEAR = 12
"""How many positions to each side of its time a task looks at in three of four moves; else at all of a lane."""

HERE = 0.25
"""The share of moves within a lane."""

LEAST_LUCK, LUCK_MEMORY = 0.03, 64.0
"""What luck counts as at least, and over how many moves it is smoothed."""

MARGIN = 0.1
"""By what share of the losses and gains of followers an estimate may be off before a move is given up."""


_TINY = 1e-300


@record
class Sweep(NamedTuple):
    """This many moves while energy price and temperature go from their first to their second value."""

    n_moves: int
    per_j: tuple[float, float]
    temperature: tuple[float, float]


class TaskMove(NamedTuple):
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
    return TaskMove(i, np.int64(place), a, p, b, exec_s, energy_j, net)


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
