"""Orders in which the parts of a job are given their places, as one may take what only another can use."""

from __future__ import annotations

from joulewise.kernels.jit import inlined

IN_ANY_ORDER = 5
"""The last so many parts of a job are tried in all orders, the ones before them as they come."""


@inlined
def has_turned(part, at, end):
    """Let the next larger of those behind it, which rise, come at a place; where there is none it goes last."""
    i = part[at]
    for other in range(at + 1, end):
        if part[other] > i:
            part[at], part[other] = part[other], i
            return True
    for other in range(at + 1, end):
        part[other - 1] = part[other]
    part[end - 1] = i
    return False


@inlined
def put_in_order(part, begin, end):
    """Let parts rise."""
    for at in range(begin + 1, end):
        i, before = part[at], at
        while before > begin and part[before - 1] > i:
            part[before] = part[before - 1]
            before -= 1
        part[before] = i
