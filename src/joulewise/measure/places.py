"""Which cores the members of a group are pinned to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from joulewise.errors import Problem
from joulewise.measure.groups import Group, groups_of
from joulewise.measure.machine import Machine
from joulewise.measure.plan import Plan
from joulewise.units import count, noun

Cores = tuple[int, ...]

_MEANT = {
    "separate": ("core", "cores"),
    "siblings": ("logical core with a sibling", "logical cores with a sibling"),
    "any": ("core", "cores"),
}
"""What a plan's choice of cores counts, one and several of it."""


def places_of(plan: Plan, machine: Machine) -> tuple[Cores, ...]:
    """The cores of the first place in a group, of the second, ..."""
    wanted = plan.heading.cores
    if isinstance(wanted, str):
        return _CHOICES[wanted](machine)
    return tuple(tuple(sorted(set(entry))) if isinstance(entry, list) else (entry,) for entry in wanted)


def places_used(plan: Plan, machine: Machine, groups: Sequence[Group]) -> tuple[Cores, ...]:
    """The places that groups are dealt: a program alone goes no further, so that it is measured where they are."""
    places = places_of(plan, machine)
    dealt = {cores for group in groups if len(group) > 1 for cores in pinned(plan, places, group, 0)}
    return tuple(place for place in places if place in dealt) or places[:1]


def cores_used(plan: Plan, machine: Machine) -> Cores:
    """All cores that programs of a plan are pinned to."""
    own = (program.cores or () for program in plan.programs)
    return tuple(sorted({core for cores in (*places_used(plan, machine, groups_of(plan)), *own) for core in cores}))


def _separate(machine: Machine) -> tuple[Cores, ...]:
    """One logical core of each physical core, then their siblings: small groups never share a physical core."""
    return tuple((core,) for core in machine.separate_cores())


def _siblings(machine: Machine) -> tuple[Cores, ...]:
    return tuple((core,) for group in machine.siblings if len(group) > 1 for core in group)


def _any(machine: Machine) -> tuple[Cores, ...]:
    return (machine.cores,) * len(machine.cores)


_CHOICES = {"separate": _separate, "siblings": _siblings, "any": _any}


def core_problems(plan: Plan, machine: Machine) -> Iterator[Problem]:
    """What is wrong with the cores that a plan asks for."""
    where, places = f"{plan.file_name}: cores", places_of(plan, machine)
    yield from _absent(where, places, machine)
    if not isinstance(plan.heading.cores, str):
        yield from _shared(where, places)
    for i, program in enumerate(plan.programs):
        if program.cores:
            yield from _absent(f"{plan.file_name}: {plan.place_of(i)}.cores", [tuple(program.cores)], machine)


def group_problems(plan: Plan, machine: Machine, groups: Sequence[Group]) -> Iterator[Problem]:
    """The largest of the groups for which there are too few cores."""
    places = places_of(plan, machine)
    unplaced = [group for group in groups if not pinned(plan, places, group, 0)]
    largest = max(unplaced, key=len, default=())
    if largest:
        yield _too_few(plan, places, largest)


SHARED_CORES = "members shared physical cores as siblings"
"""The note on a run whose members were to be separate and could not be."""


def shares_cores(plan: Plan, machine: Machine, members: Sequence[Cores]) -> bool:
    """Whether members that were to be on separate physical cores, as they are pinned, have one together."""
    if plan.heading.cores != "separate":
        return False
    return any(sum(not set(cores).isdisjoint(physical) for cores in members) > 1 for physical in machine.siblings)


def _absent(where: str, places: Iterable[Cores], machine: Machine) -> Iterator[Problem]:
    known = ", ".join(map(str, machine.cores))
    for core in dict.fromkeys(core for place in places for core in place if core not in machine.cores):
        yield Problem(where, f"found core {core}", f"cores that are there and may be used: {known}")


def _shared(where: str, places: Sequence[Cores]) -> Iterator[Problem]:
    seen: set[int] = set()
    for core in (core for place in places for core in place):
        if core in seen:
            yield Problem(where, f"found core {core} twice", "each place in a group needs cores of its own")
        seen.add(core)


def _too_few(plan: Plan, places: Sequence[Cores], group: Group) -> Problem:
    wanted = plan.heading.cores
    where, found = f"{plan.file_name}: together", f"found the group {' + '.join(group)}"
    own = {name: plan.program(name).cores for name in group}
    if any(own.values()):
        advice = "programs with `cores` of their own cannot run with others that have the same"
        return Problem(where, found, "its members need cores that differ", advice)
    what = _MEANT[wanted] if isinstance(wanted, str) else ("place in `cores`", "places in `cores`")
    smaller = "leave larger groups out" if len(group) > 2 else 'write pairs = "none" under [together]'
    advice = f"{smaller}, or measure on a machine with more cores"
    there = f"there {noun(len(places), 'is', 'are')} {count(len(places), *what)}"
    return Problem(where, found, f"{there} for {len(group)} programs", advice)


def pinned(plan: Plan, places: Sequence[Cores], group: Group, turn: int) -> tuple[Cores, ...]:
    """The cores of each member; nothing if there are too few.

    Places are dealt out anew in each turn, so that no program owes what it takes to the core it is on: members of a
    group change places among each other, and a program alone goes from place to place.
    """
    own = {name: tuple(sorted(set(cores))) for name in group if (cores := plan.program(name).cores)}
    taken = [core for name in group for core in own.get(name, ())]
    is_free = plan.heading.cores == "any"
    free = [place for place in places if is_free or not set(place) & set(taken)]
    others = [name for name in group if name not in own]
    if len(set(taken)) < len(taken) or len(others) > len(free) or len(group) > len(places) + len(own):
        return ()
    dealt = free if len(group) == 1 else free[: len(others)]
    shift = iter([dealt[(turn + i) % len(dealt)] for i in range(len(others))] if dealt else [])
    return tuple(own[name] if name in own else next(shift) for name in group)
