"""What a facility earns as it is, and what it would earn under other limits, in another room or with other nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from joulewise.errors import InputError, unknown_name
from joulewise.model.air import Air
from joulewise.model.facility import Facility
from joulewise.optimise.facility.bound import bound_per_s
from joulewise.optimise.facility.configurations import ProcessorMenu, RewardCurve
from joulewise.optimise.facility.evaluation import Steady, steady
from joulewise.optimise.facility.planner import Proven, plan_facility
from joulewise.optimise.facility.words import set_points
from joulewise.optimise.gap import gap_of
from joulewise.visible import Visible

if TYPE_CHECKING:
    import polars as pl

_SAME = 0.05
"""Changes of less, in percent, count as none."""


# --- limits ------------------------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """A limit of a facility: its unit, which way it is eased, and how it is moved by this many units."""

    unit: str
    eased: float
    moved: Callable[[Facility, float], Facility]


def _with_room(facility: Facility, name: str, more_k: float) -> Facility:
    return replace(facility, room=replace(facility.room, **{name: getattr(facility.room, name) + more_k}))


LIMITS = {
    "cap": Limit("kW", 1.0, lambda facility, more: replace(facility, cap_w=facility.cap_w + 1e3 * more)),
    "redlines": Limit("K", 1.0, lambda facility, more: _with_room(facility, "redline_c", more)),
    "hottest supplies": Limit("K", 1.0, lambda facility, more: _with_room(facility, "hottest_c", more)),
    "coldest supplies": Limit("K", -1.0, lambda facility, more: _with_room(facility, "coldest_c", more)),
}
"""The limits that can be moved, by name."""


def sweep_limit(facility: Facility, limit: str, more: Iterable[float]) -> dict[str, Facility]:
    """The facility with one of LIMITS moved by each amount, in kilowatts or kelvin: changes for `what_if_facility`."""
    if limit not in LIMITS:
        raise InputError(unknown_name("limit", limit, LIMITS))
    unit, _, moved = LIMITS[limit]
    return {f"{limit} {amount:+g} {unit}": moved(facility, amount) for amount in more}


# --- one facility ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Advice(Visible, looks="facility"):
    """A facility with the best plan that was found for it, what comes of it, and what is proven."""

    facility: Facility
    air: Air
    found: Proven
    state: Steady

    @property
    def reward_per_s(self) -> float:
        """The co-located reward rate of the plan."""
        return self.state.slowed_reward_per_s

    def sentence(self) -> str:
        """What to set, and what limits the reward, in plain words."""
        return set_points(self.facility, self.found.plan, self.state, self.found.prices)

    def row(self) -> dict[str, float]:
        """What tables say about it, beside its limits; shares are of the reward of all tasks that arrive."""
        facility, room, prices = self.facility, self.facility.room, self.found.prices
        most = facility.tasks.most_reward_per_s or math.nan
        return {
            "nodes": facility.n_nodes,
            "cracs": room.n_cracs,
            "cap_w": facility.cap_w,
            "redline_c": float(room.redline_c.min()),
            "coldest_c": float(room.coldest_c.min()),
            "hottest_c": float(room.hottest_c.max()),
            "crr_percent": 100 * self.reward_per_s / most,
            "bound_percent": 100 * self.found.bound_per_s / most,
            "gap_percent": 100 * float(gap_of(self.found.bound_per_s - self.reward_per_s, self.found.bound_per_s)),
            "total_w": self.state.total_w,
            "cooling_w": float(self.state.crac_w.sum()),
            "hottest_inlet_c": float(self.state.node_inlet_c.max()),
            "supply_mean_c": float(self.found.plan.supply_c.mean()),
            "value_per_kw": 1e3 * prices.cap,
            "value_per_k": float(prices.redline.sum()),
        }

    def limits(self, amounts: Mapping[str, float] | None = None, *, replan: bool = True) -> pl.DataFrame:
        """What it would bring to ease each limit by this many kilowatts or kelvin, 1 where nothing is said.

        `at_most_per_s` follows from the prices: with them the bound holds under the eased limit too, and is that much
        higher. `gained_per_s` is what another plan really earns more (null without `replan`); as plans are a little
        below their bounds, it can be off by as much. Percentages are of what the present plan earns.
        """
        import polars as pl

        rows = [self._eased(name, (amounts or {}).get(name, 1.0), replan) for name in LIMITS]
        per_cent = [(100 * pl.col(f"{name}_per_s") / self.reward_per_s).alias(f"{name}_percent") for name in _WORTH]
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(rows[0], pl.Float64) | _TEXTS).with_columns(per_cent)

    def _eased(self, name: str, amount: float, replan: bool) -> dict[str, Any]:
        limit = LIMITS[name]
        eased = limit.moved(self.facility, limit.eased * amount)
        proven_per_s = [bound_per_s(each, self.air, self._curves, self.found.prices) for each in (self.facility, eased)]
        gained = advise_facility(eased).reward_per_s - self.reward_per_s if replan else None
        return {
            "limit": name,
            "eased_by": amount,
            "unit": limit.unit,
            "at_most_per_s": max(proven_per_s[1] - proven_per_s[0], 0.0),
            "gained_per_s": gained,
        }

    @cached_property
    def _curves(self) -> list[RewardCurve]:
        """What processors of each node type earn at the prices of the bound."""
        kinds = range(self.facility.node_types.n_types)
        return [ProcessorMenu(self.facility, kind).curve(self.found.prices.task) for kind in kinds]


_WORTH = ("at_most", "gained")
_TEXTS: dict[str, Any] = {"limit": str, "unit": str}


def advise_facility(facility: Facility, *, gap: float = 0.002, seconds: float = math.inf) -> Advice:
    """Plan a facility, and say what to set. Raises InputError where the limits leave no plan."""
    air = Air(facility.room)
    proven = plan_facility(facility, air, gap=gap, seconds=seconds)
    return Advice(facility, air, proven, steady(facility, air, proven.plan))


# --- several -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FacilityWhatIf(Visible, looks="facility"):
    """A facility as it is, and by name what each change makes of it; the problem where a change leaves no plan."""

    before: Advice
    after: Mapping[str, Advice | InputError]

    def table(self) -> pl.DataFrame:
        """A row for the facility as it is and for each change; all but its name is null where there is no plan.

        `more_percent` is by how much more is earned than as it is, `set_points` what to set then.
        """
        import polars as pl

        rows = [_row("as it is", self.before, self.before)]
        rows += [_row(name, advice, self.before) for name, advice in self.after.items()]
        return pl.DataFrame(rows, infer_schema_length=None)

    def sentences(self) -> list[str]:
        """What each change brings or costs, in plain words."""
        return [_compared(name, advice, self.before) for name, advice in self.after.items()]

    def worst(self) -> str:
        """The change that leaves least: one without a plan, or that of the lowest reward rate."""
        return min(self.after, key=lambda name: _earned_per_s(self.after[name]))


def what_if_facility(
    facility: Facility, changes: Mapping[str, Facility], *, gap: float = 0.002, seconds: float = math.inf
) -> FacilityWhatIf:
    """Plan a facility as it is and with each of the changes, for this many seconds each at most.

    `sweep_limit` makes changes of limits, `crac_failures` and `hot_aisles` of the room, `with_more_nodes` of the nodes;
    any other facilities will do. Raises InputError where the facility as it is has no plan.
    """
    before = advise_facility(facility, gap=gap, seconds=seconds)
    return FacilityWhatIf(before, {name: _tried(changed, gap, seconds) for name, changed in changes.items()})


def _tried(facility: Facility, gap: float, seconds: float) -> Advice | InputError:
    try:
        return advise_facility(facility, gap=gap, seconds=seconds)
    except InputError as error:
        return error


def _earned_per_s(advice: Advice | InputError) -> float:
    return advice.reward_per_s if isinstance(advice, Advice) else -math.inf


def _more_percent(advice: Advice, before: Advice) -> float:
    return 100 * (advice.reward_per_s / before.reward_per_s - 1) if before.reward_per_s > 0 else math.nan


def _row(name: str, advice: Advice | InputError, before: Advice) -> dict[str, Any]:
    if isinstance(advice, InputError):
        return {"change": name}
    return {
        "change": name,
        **advice.row(),
        "more_percent": _more_percent(advice, before),
        "set_points": advice.sentence(),
    }


def _compared(name: str, advice: Advice | InputError, before: Advice) -> str:
    lead = f"{name[:1].upper()}{name[1:]}:"
    if isinstance(advice, InputError):
        return f"{lead} no plan keeps the limits ({advice.problems[0]})."
    more, row = _more_percent(advice, before), advice.row()
    change = f"{abs(more):.1f} % {'more' if more > 0 else 'less'}" if abs(more) >= _SAME else "the same"
    supply = f"with CRAC units at {row['supply_mean_c']:.1f} °C on average"
    return f"{lead} {change} reward, {row['crr_percent']:.1f} % of all, {supply}."
