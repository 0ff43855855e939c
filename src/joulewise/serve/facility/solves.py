"""A facility planned again under other limits; runs in a worker of the desk, where worlds and plans are kept."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, Problem
from joulewise.serve import solving

if TYPE_CHECKING:
    from joulewise.model.facility import Facility
    from joulewise.optimise.facility.whatif import Advice

PLANNER = "configurations"
"""The method by which plans are made here."""
MAPS = ("map-of-temperatures", "map-of-powers")


@dataclass(frozen=True)
class Limits:
    """Limits in place of those of a study: what is None stays.

    `redline_k` is by how much redlines are raised, `load` how many times as many tasks come, `failed` the CRAC unit
    that does not work, and `hot` how many times as much hot air nodes take in.
    """

    cap_w: float | None = None
    redline_k: float = 0.0
    load: float = 1.0
    failed: int | None = None
    hot: float = 1.0


@dataclass(frozen=True)
class Site:
    """What sliders need to know of the facility of a study."""

    cap_w: float
    cracs: tuple[str, ...]
    nodes: int


@dataclass(frozen=True)
class Map:
    """A map of the room as Vega-Lite."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A CRAC unit: what the plan sets it to, its limits, and what it draws."""

    name: str
    supply_c: float
    coldest_c: float
    hottest_c: float
    power_w: float


@dataclass(frozen=True)
class Planned:
    """The best plan that was found: its sentence, what tables say of it, its units, its maps, and what limits cost."""

    sentence: str
    reward_per_s: float
    bound_per_s: float
    row: dict[str, float]
    units: tuple[Unit, ...]
    maps: tuple[Map, ...]
    eased: tuple[tuple[str, float, str, float, float], ...]


def site(asked: solving.Question) -> Site:
    """The facility of a point of a study."""
    facility = _facility(asked)
    return Site(facility.cap_w, tuple(facility.room.crac_names), facility.n_nodes)


@lru_cache(maxsize=64)
def planned(asked: solving.Question, limits: Limits) -> Planned:
    """The facility of a point planned under other limits; InputError where they leave no plan."""
    from joulewise.optimise.facility.whatif import advise_facility

    advice = advise_facility(_changed(_facility(asked), limits), gap=_gap(asked))
    columns = ("limit", "eased_by", "unit", "at_most_per_s", "at_most_percent")
    return Planned(
        advice.sentence(),
        advice.reward_per_s,
        advice.found.bound_per_s,
        advice.row(),
        tuple(_units(advice)),
        tuple(_maps(advice)),
        tuple(advice.limits(replan=False).select(columns).iter_rows()),
    )


def _facility(asked: solving.Question) -> Facility:
    _, point = solving.point_of(asked)
    facility: Facility = solving.world_of(asked, point.world).facility
    return facility


def _gap(asked: solving.Question) -> float:
    _, point = solving.point_of(asked)
    return float(point.decision.parameters.gap)


def _changed(facility: Facility, limits: Limits) -> Facility:
    """The facility under other limits."""
    from joulewise.optimise.facility.whatif import LIMITS
    from joulewise.worlds.facility.changes import crac_failures, hot_aisles

    if limits.hot != 1.0:
        (facility,) = hot_aisles(facility, [limits.hot]).values()
    if limits.failed is not None:
        if facility.room.n_cracs < 2:
            raise InputError(Problem("failed", "found the only CRAC unit", "there must be another one"))
        facility = list(crac_failures(facility).values())[limits.failed]
    if limits.redline_k:
        facility = LIMITS["redlines"].moved(facility, limits.redline_k)
    if limits.load != 1.0:
        tasks = dataclasses.replace(facility.tasks, rate_per_s=facility.tasks.rate_per_s * limits.load)
        facility = dataclasses.replace(facility, tasks=tasks)
    return facility if limits.cap_w is None else dataclasses.replace(facility, cap_w=limits.cap_w)


def _units(advice: Advice) -> list[Unit]:
    room, state = advice.facility.room, advice.state
    columns = (advice.found.plan.supply_c, room.coldest_c, room.hottest_c, state.crac_w)
    return [Unit(name, *map(float, row)) for name, *row in zip(room.crac_names, *columns, strict=True)]


def _maps(advice: Advice) -> list[Map]:
    """The maps of the report, of this plan."""
    from joulewise.present.export import spec_of
    from joulewise.present.page import page_of
    from joulewise.visible import ALONE, look_of

    titles = {figure.name: figure.title for figure in page_of("facility").figures}
    pictures = look_of(advice).figures({ALONE: advice}, None)
    drawn = [(name, pictures[name]()) for name in MAPS if name in pictures]
    return [Map(name, titles[name], drawing.caption, spec_of(drawing.chart)) for name, drawing in drawn]
