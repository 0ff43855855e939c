"""Where classes of jobs have room now: lists of places that are brought up to date by what has changed since."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.layout import NOWHERE


@inlined
def note_change(run, q):
    """Something starts or ends at a place."""
    rooms = run.rooms
    rooms.changed[rooms.n_changes[0] % rooms.changed.size] = q
    rooms.n_changes[0] += 1


@inlined
def _has_room(run, q, k, g):
    """Whether a piece of a class fits into what is free at a place."""
    for r in range(run.ground.free.shape[1]):
        if run.ground.free[q, r] < run.asks.need[k, g, r]:
            return False
    return True


@inlined
def _enter(run, row, k, q):
    """Put a place into the list of a class, or take it out, as it has room."""
    rooms, g = run.rooms, run.ground.group[q]
    if run.asks.gives[k, g] == 0:
        return
    at, has_room = rooms.at[row, q], _has_room(run, q, k, g)
    if has_room and at == NOWHERE:
        rooms.at[row, q] = run.ground.first[g] + rooms.n[row, g]
        rooms.place[row, rooms.at[row, q]] = q
        rooms.n[row, g] += 1
    elif not has_room and at != NOWHERE:
        rooms.n[row, g] -= 1
        last = rooms.place[row, run.ground.first[g] + rooms.n[row, g]]
        rooms.place[row, at] = last
        rooms.at[row, last] = at
        rooms.at[row, q] = NOWHERE


@shared
def row_with_room(run, k):
    """The row of the list of a class, as it is now."""
    rooms = run.rooms
    row = k % rooms.owner.size
    n_new = rooms.n_changes[0] - rooms.upto[row]
    if rooms.owner[row] != k or n_new > rooms.changed.size:
        rooms.owner[row] = k
        rooms.n[row, :] = 0
        rooms.at[row, :] = NOWHERE
        for q in range(run.ground.group.size):
            _enter(run, row, k, q)
    else:
        for change in range(rooms.upto[row], rooms.n_changes[0]):
            _enter(run, row, k, rooms.changed[change % rooms.changed.size])
    rooms.upto[row] = rooms.n_changes[0]
    return row
