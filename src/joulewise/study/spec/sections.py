"""The sections that studies of several systems have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joulewise.study.spec.parts import Part
from joulewise.study.spec.source import GOAL, OPTIMISE, SUPPLY, SYSTEM, WORKLOAD, Draw, Section, Source
from joulewise.worlds.supply import SupplyParameters, read_supply

if TYPE_CHECKING:
    from joulewise.model import Supply
    from joulewise.worlds.clock import Clock


def _supply(parameters: SupplyParameters, draw: Draw) -> Supply:
    return read_supply(parameters, draw.folder)


def build_supply(supply: Part, draw: Draw, clock: Clock | None = None) -> Supply:
    """The supply that a section describes, by the clock of its world or its own; InputError when it describes none."""
    return read_supply(supply.parameters, draw.folder, clock)


SUPPLY_SOURCE = Source(SUPPLY, "limits and costs of energy", SupplyParameters, _supply)

_FROM = "where {} come from; left out when tables are named"

SYSTEM_SECTION = Section(
    SYSTEM,
    "the machines, the clusters, or the nodes with their room",
    selector="generator",
    chosen=_FROM.format("the machines"),
)
WORKLOAD_SECTION = Section(
    WORKLOAD, "the tasks, the jobs, or the flows of tasks", selector="generator", chosen=_FROM.format("the tasks")
)
SUPPLY_SECTION = Section(SUPPLY, "the energy", is_required=False).of((SUPPLY_SOURCE,))
OPTIMISE_SECTION = Section(
    OPTIMISE,
    "the decisions for a bag, for tasks known in advance or for a facility, all at once",
    selector=GOAL,
    chosen="what is sought",
    decides=True,
)
