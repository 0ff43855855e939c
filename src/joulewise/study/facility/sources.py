"""Where the nodes, the room and the flows of a facility come from, and what is sought for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.study.spec.source import Draw, Source
from joulewise.worlds.facility.flow_tables import FlowTables, check_flows, read_flows
from joulewise.worlds.facility.site import FlowParameters, SiteParameters, facility_of, generate_flows, generate_site
from joulewise.worlds.facility.site_tables import SiteTables, read_site
from joulewise.worlds.parameters import explained

if TYPE_CHECKING:
    from joulewise.model.facility import Facility
    from joulewise.model.room import Room
    from joulewise.worlds.facility.site import Site

SITE, SITE_TABLES, FLOWS, FLOW_TABLES = "facility", "facility tables", "flows", "flow tables"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What changes in a room after tasks and power cap are known, which stay as they were."""

    more_nodes: tuple[int, ...] = explained(
        (),
        "number of nodes to add of each type, in the order of the types, or below 0 to remove; left out: none",
    )

    failed_crac: Annotated[int, Field(ge=0)] | str | None = explained(
        None,
        "number, from 0, or name of a CRAC unit that failed; the others blow as much as all did; left out: none",
    )
    hot_air: Annotated[float, Field(gt=0)] = explained(
        1.0, "how many times as much of each other's hot air nodes take in, as behind doors that stand open"
    )

    heats_back: bool = explained(
        False,
        "whether a CRAC unit may take in colder air than it blows, and is paid for the heat that it adds, as "
        "equation 5 of Oxley et al. 2014 says word for word; otherwise no unit may heat",
    )

    def made(self, facility: Facility) -> Facility:
        """The facility with its room changed; InputError where it has no such unit, or no such nodes."""
        from joulewise.worlds.facility.changes import with_more_nodes
        from joulewise.worlds.facility.rooms import with_recirculation, without_crac

        if any(self.more_nodes):
            raise_if_any(self._count_problems(facility))
            facility = with_more_nodes(facility, dict(zip(facility.node_types.names, self.more_nodes, strict=True)))
        room = facility.room
        if self.failed_crac is not None:
            room = without_crac(room, _unit(room, self.failed_crac))
        if self.hot_air != 1:
            room = with_recirculation(room, self.hot_air)
        if self.heats_back:
            room = replace(room, may_heat=True)
        return facility if room is facility.room else replace(facility, room=room)

    def _count_problems(self, facility: Facility) -> Iterator[Problem]:
        names = facility.node_types.names
        if len(self.more_nodes) != len(names):
            found, allowed = f"found {len(self.more_nodes)} numbers", f"must be one for each of {', '.join(names)}"
            yield Problem("system.more_nodes", found, allowed)


def _unit(room: Room, wanted: int | str) -> int:
    """The number of a CRAC unit that is given by its number or its name."""
    if isinstance(wanted, int):
        return wanted
    if wanted not in room.crac_names:
        raise InputError(unknown_name("system.failed_crac", wanted, room.crac_names))
    return room.crac_names.index(wanted)


@dataclass(frozen=True)
class StudiedSite(SiteParameters, Changes):
    """A site that is drawn, and what changes in its room."""


@dataclass(frozen=True, kw_only=True)
class StudiedTables(SiteTables, Changes):
    """A site from tables, and what changes in its room."""


def _generated_site(parameters: SiteParameters, draw: Draw) -> Site:
    return generate_site(parameters, draw.seed, draw.trial)


def _tabled_site(tables: SiteTables, draw: Draw) -> Site:
    return read_site(tables, draw.folder)


def _generated_flows(parameters: FlowParameters, site: Site, draw: Draw) -> Facility:
    return facility_of(site, generate_flows(parameters, site, draw.seed, draw.trial))


def _tabled_flows(tables: FlowTables, site: Site, draw: Draw) -> Facility:
    return facility_of(site, read_flows(tables, site, draw.folder))


FACILITY_SYSTEMS = (
    Source(
        SITE,
        "150 nodes of up to four published types in a room with CRAC units, its air balanced (Oxley V)",
        StudiedSite,
        _generated_site,
        is_random=lambda site: not site.same_site,
    ),
    Source(
        SITE_TABLES,
        "nodes, CRAC units and how air flows between them, from your own files",
        StudiedTables,
        _tabled_site,
        table="node_list",
    ),
)

FACILITY_WORKLOADS = (
    Source(
        FLOWS,
        "tasks of up to 16 benchmark types that keep arriving, each worth a reward by its deadline (Oxley V)",
        FlowParameters,
        _generated_flows,
        is_random=lambda _: True,
    ),
    Source(
        FLOW_TABLES,
        "task types that keep arriving, with speeds, powers and slowdowns, from your own files",
        FlowTables,
        _tabled_flows,
        check=lambda tables, draw: check_flows(tables, draw.folder),
        table="task_list",
    ),
)
