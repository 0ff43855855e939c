"""Where the nodes, the room and the flows of a facility come from, and what is sought for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joulewise.study.optimising import RewardParameters
from joulewise.study.source import Draw, Source
from joulewise.worlds.facilities import FlowParameters, SiteParameters, facility_of, generate_flows, generate_site

if TYPE_CHECKING:
    from joulewise.model.facility import Facility
    from joulewise.worlds.facilities import Site

SITE, FLOWS, REWARD = "facility", "flows", "reward"


def _generated_site(parameters: SiteParameters, draw: Draw) -> Site:
    return generate_site(parameters, draw.seed, draw.trial)


def _generated_flows(parameters: FlowParameters, site: Site, draw: Draw) -> Facility:
    return facility_of(site, generate_flows(parameters, site, draw.seed, draw.trial))


def _as_given(parameters: RewardParameters, _draw: Draw) -> RewardParameters:
    return parameters


FACILITY_SYSTEMS = (
    Source(
        SITE,
        "150 nodes of up to four published types in a room with CRAC units, its air balanced (Oxley V)",
        SiteParameters,
        _generated_site,
        is_random=lambda site: not site.same_site,
    ),
)

FACILITY_WORKLOADS = (
    Source(
        FLOWS,
        "tasks of up to 16 benchmark types that arrive for ever, each worth a reward by its deadline (Oxley V)",
        FlowParameters,
        _generated_flows,
        is_random=lambda _: True,
    ),
)

SITE_TABLES: dict[str, str] = {}
FLOW_TABLES: dict[str, str] = {}
"""The keys that stand for a source without naming it."""

FACILITY_GOAL = Source(
    REWARD,
    "the most reward per second of a facility under a power cap and redlines (Oxley)",
    RewardParameters,
    _as_given,
)
