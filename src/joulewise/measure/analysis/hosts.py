"""The measured machine as a node of a facility: how many cores it counts with, as programs were pinned to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from joulewise.measure.machine.system_files import cores_in

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis
    from joulewise.measure.machine.machine import Machine

UNKNOWN_MACHINE = "this machine"
_NAMED = 5


@dataclass(frozen=True)
class Host:
    """The machine as a node: its name, its cores, the processors that share them, and what its cores are."""

    name: str
    cores: int
    processors: int
    notes: tuple[str, ...] = ()


def host_of(machine: Machine | None, analysis: Analysis) -> Host:
    """The node that the machine is; where it is not known, it has as many cores as programs ran together."""
    if machine is None:
        most = max([1, *analysis.members["size"]])
        return Host(UNKNOWN_MACHINE, most, 1, (f"The machine is not known: it has {most} cores here, the most programs "
                                               "that ran together.",))  # fmt: skip
    cores, notes = _counted(machine, analysis.observations)
    processors = len(machine.last_level) or 1
    return Host(machine.model or UNKNOWN_MACHINE, cores, processors if cores % processors == 0 else 1, notes)


def _counted(machine: Machine, observations: pl.DataFrame) -> tuple[int, tuple[str, ...]]:
    """How many cores the node has, and what is to be said of them."""
    physical = {core: number for number, group in enumerate(machine.siblings) for core in group}
    n_physical = len(machine.siblings) or len(machine.cores)
    groups = _groups(observations)
    own = [(group, [{physical.get(core, ~core) for core in cores} for cores in members]) for group, members in groups]
    sharing = list(dict.fromkeys(group for group, members in own if _overlap(members)))
    width = max((len(cores) for _, members in own for cores in members), default=1)
    n_together = len({group for group, members in own if len(members) > 1})
    cases = (
        (any(_overlap(members) for _, members in groups), n_physical,
         "Cores are physical ones, but programs had none of their own: slowdowns hold for where the system put them."),
        (bool(sharing) and len(sharing) == n_together, len(machine.cores),
         "Cores are logical ones: in every group programs shared a physical core, and slowdowns are those of such "
         "neighbours."),
        (width > 1, max(n_physical // width, 1),
         f"A core of the node stands for {width} physical ones, the most that a program was given."),
        (bool(sharing), n_physical,
         f"Cores are physical ones, but programs of {_listed(sharing)} shared some, and were slowed by that too."),
        (n_together > 0, n_physical, "Cores are physical ones: programs that ran together had different ones."),
        (True, n_physical, "Cores are physical ones."),
    )  # fmt: skip
    return next((cores, (note,)) for is_so, cores, note in cases if is_so)


def _groups(observations: pl.DataFrame) -> list[tuple[str, list[tuple[int, ...]]]]:
    """Every group with the cores of its members, once for each way in which these were dealt out."""
    runs = observations.drop_nulls("cores").sort("place").group_by("group", "run", maintain_order=True).agg("cores")
    dealt = runs.select("group", "cores").unique(maintain_order=True).iter_rows()
    return [(group, [cores_in(text) for text in texts]) for group, texts in dealt]


def _overlap(members: Iterable[Iterable[int]]) -> bool:
    """Whether two members have a core in common."""
    cores = [core for member in members for core in member]
    return len(set(cores)) < len(cores)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more groups" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
