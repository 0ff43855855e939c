"""Which cores the members of a group are pinned to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from joulewise.errors import Problem
from joulewise.measure.machine.machine import Machine
from joulewise.measure.plan.groups import Group, groups_of
from joulewise.measure.plan.plan import Plan
from joulewise.units import count, noun

Cores = tuple[int, ...]

_MEANT = {
    "separate": ("core", "cores"),
    "siblings": ("logical core with a sibling", "logical cores with a sibling"),
    "any": ("core", "cores"),
}
"""What a plan's choice of cores counts, one and several of it."""

_OF_ONE_KIND = ("separate", "siblings")
"""Choices that take cores of the fastest kind only."""


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
    return _all_cores(plan, places_used(plan, machine, groups_of(plan)))


def cores_named(plan: Plan, machine: Machine) -> Cores:
    """All cores of the machine that programs of a plan may be pinned to, whatever its groups are."""
    return tuple(core for core in _all_cores(plan, places_of(plan, machine)) if core in machine.cores)


def _all_cores(plan: Plan, places: Sequence[Cores]) -> Cores:
    own = (program.cores or () for program in plan.programs)
    return tuple(sorted({core for cores in (*places, *own) for core in cores}))


def _separate(machine: Machine) -> tuple[Cores, ...]:
    """One logical core of each physical core, then their siblings: small groups never share a physical core.

    Cores that are slower than others are left out, here and for siblings: programs must not owe their times to them.
    """
    return tuple((core,) for core in machine.separate_cores() if core in machine.fastest)


def _siblings(machine: Machine) -> tuple[Cores, ...]:
    groups = [group for group in machine.siblings if len(group) > 1]
    return tuple((core,) for group in groups for core in group if core in machine.fastest)


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
        yield _too_few(plan, machine, places, largest)


SHARED_CORES = "members shared physical cores as siblings"
"""The note on a run whose members were to be separate and could not be."""

MIXED_KINDS = "cores that take turns are not all alike"
"""The note on a run of a plan that names fast and slow cores."""

BEYOND_QUOTA = "the control group grants less time than that of the cores in use"
"""The note on a run whose members may have been made to wait."""


def place_notes(plan: Plan, machine: Machine, members: Sequence[Cores]) -> list[str]:
    """What is to be noted of a run, as its members are pinned."""
    notes = {SHARED_CORES: _shares_cores, MIXED_KINDS: _mixes_kinds, BEYOND_QUOTA: _is_beyond_quota}
    return [note for note, applies in notes.items() if applies(plan, machine, members)]


def _shares_cores(plan: Plan, machine: Machine, members: Sequence[Cores]) -> bool:
    """Whether members that were to be on separate physical cores have one together."""
    if plan.heading.cores != "separate":
        return False
    return any(sum(not set(cores).isdisjoint(physical) for cores in members) > 1 for physical in machine.siblings)


def _mixes_kinds(plan: Plan, machine: Machine, members: Sequence[Cores]) -> bool:
    """Whether cores of one member, or those that members are dealt in turns, are of several kinds."""
    places = () if plan.heading.cores in _OF_ONE_KIND else places_of(plan, machine)
    in_turns = {core for place in places for core in place} if any(cores in places for cores in members) else set()
    return any(machine.n_kinds(cores) > 1 for cores in (in_turns, *members))


def _is_beyond_quota(plan: Plan, machine: Machine, members: Sequence[Cores]) -> bool:
    """Whether members can use more time than there is: that of their cores, or of one each where all may use all."""
    in_use = len(members) if plan.heading.cores == "any" else len({core for cores in members for core in cores})
    return machine.core_quota is not None and in_use > machine.core_quota


def _absent(where: str, places: Iterable[Cores], machine: Machine) -> Iterator[Problem]:
    present = ", ".join(map(str, machine.cores))
    for core in dict.fromkeys(core for place in places for core in place if core not in machine.cores):
        yield Problem(where, f"found core {core}", f"cores that are there and may be used: {present}")


def _shared(where: str, places: Sequence[Cores]) -> Iterator[Problem]:
    seen: set[int] = set()
    for core in (core for place in places for core in place):
        if core in seen:
            yield Problem(where, f"found core {core} twice", "each place in a group needs cores of its own")
        seen.add(core)


def _too_few(plan: Plan, machine: Machine, places: Sequence[Cores], group: Group) -> Problem:
    wanted = plan.heading.cores
    where, found = f"{plan.file_name}: together", f"found the group {' + '.join(group)}"
    own = {name: plan.program(name).cores for name in group}
    if any(own.values()):
        advice = "programs with `cores` of their own cannot run with others that have the same"
        return Problem(where, found, "its members need cores that differ", advice)
    what = _MEANT[wanted] if isinstance(wanted, str) else ("place in `cores`", "places in `cores`")
    smaller = "leave larger groups out" if len(group) > 2 else 'write pairs = "none" under [together]'
    there = f"there {noun(len(places), 'is', 'are')} {count(len(places), *what)}"
    advice = f"{smaller}, or measure on a machine with more cores"
    if wanted in _OF_ONE_KIND and len(machine.fastest) < len(machine.cores):
        there += " of the fastest kind"
        advice += f", or name slower ones too: cores = {list(machine.separate_cores()[: len(group)])}"
    return Problem(where, found, f"{there} for {len(group)} programs", advice)


def pinned(plan: Plan, places: Sequence[Cores], group: Group, turn: int) -> tuple[Cores, ...]:
    """The cores of each member; nothing if there are too few.

    Places are dealt out again in each turn, so that no program's time depends on the core it is on: members of a
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
