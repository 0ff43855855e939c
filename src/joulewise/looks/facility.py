"""How facilities, their rooms, plans and days show themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.looks.look import Facts, Look, known, of_one, percent, whole
from joulewise.units import count, duration, energy, power

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.looks.memory import Run
    from joulewise.model.facility import Facility, FacilityPlan, FacilityPrices, NodeTypes, TaskFlows
    from joulewise.model.room import Room
    from joulewise.optimise.facility.search import FoundPlan
    from joulewise.optimise.facility.whatif import Advice, FacilityWhatIf
    from joulewise.simulate.facility.day import FacilityDay
    from joulewise.study.store.store import Tables


def _type_facts(types: NodeTypes) -> Facts:
    return {"node types": f"{types.n_types:,}", "cores": _span(types.cores), "P-states": _span(types.n_pstates)}


def _type_tables(types: NodeTypes) -> Tables:
    import polars as pl

    names = ("cores", "processors", "n_pstates", "overhead_w")
    return {"node_types": pl.DataFrame({"type": types.names, **{name: getattr(types, name) for name in names}})}


def _flow_facts(flows: TaskFlows) -> Facts:
    return {
        "task types": f"{flows.n_types:,}",
        "arrivals": f"{whole(float(flows.rate_per_s.sum()))} per second",
        "reward": f"{whole(flows.most_reward_per_s)} per second if all were done in time",
        "memory classes": f"{flows.n_classes:,}",
    }


def _flow_tables(flows: TaskFlows) -> Tables:
    import polars as pl

    from joulewise.study.store.tables import named

    names = ("rate_per_s", "reward", "deadline_s")
    columns = {name: getattr(flows, name) for name in names}
    return {
        "tasks": pl.DataFrame({"task": flows.names, **columns, "class": named(flows.class_names, flows.memory_class)})
    }


def _room_facts(room: Room) -> Facts:
    return {
        "nodes": f"{room.n_nodes:,}",
        "CRAC units": f"{room.n_cracs:,}",
        "redline": f"{_span(room.redline_c)} °C",
        "supply": f"{_span(np.concatenate((room.coldest_c, room.hottest_c)))} °C",
    }


def _room_tables(room: Room) -> Tables:
    import polars as pl

    x_m, y_m, height_m = room.place_m.T if room.place_m.size else np.full((3, room.n_nodes), np.nan)
    places = {"x_m": x_m, "y_m": y_m, "height_m": height_m}
    limits = {"coldest_c": room.coldest_c, "hottest_c": room.hottest_c}
    return {
        "nodes": pl.DataFrame({"node": room.node_names, "redline_c": room.redline_c, **places}),
        "cracs": pl.DataFrame({"crac": room.crac_names, **limits}),
    }


def _facility_facts(facility: Facility) -> Facts:
    return {
        "nodes": f"{facility.n_nodes:,} of {count(facility.node_types.n_types, 'type')}",
        "cores": f"{facility.n_cores:,}",
        "power cap": known(power, facility.cap_w),
        **_flow_facts(facility.tasks),
        "CRAC units": f"{facility.room.n_cracs:,}",
    }


def _facility_tables(facility: Facility) -> Tables:
    import polars as pl

    rooms = _room_tables(facility.room)
    kinds = pl.Series("type", np.take(facility.node_types.names, facility.node_type).tolist(), pl.String)
    nodes = {"nodes": rooms["nodes"].with_columns(kinds)}
    return {**rooms, **nodes, **_type_tables(facility.node_types), **_flow_tables(facility.tasks)}


def _plan_facts(plan: FacilityPlan) -> Facts:
    busy = plan.share.sum(axis=1)
    return {
        "cores": f"{plan.share.shape[0]:,}",
        "at rest": f"{int((busy <= 0).sum()):,}",
        "busy": percent(100 * float(busy.mean())),
        "supply": f"{_span(plan.supply_c)} °C",
    }


def _plan_tables(plan: FacilityPlan) -> Tables:
    import polars as pl

    core, task = np.nonzero(plan.share)
    shares = {"share": plan.share[core, task], "pstate": plan.pstate[core, task]}
    return {
        "cores": pl.DataFrame({"core": core, "task": task, **shares}),
        "cracs": pl.DataFrame({"crac": np.arange(plan.supply_c.size), "supply_c": plan.supply_c}),
    }


def _price_facts(prices: FacilityPrices) -> Facts:
    return {
        "a kilowatt is worth": f"{1e3 * prices.cap:.3g} of reward per second",
        "a kelvin is worth": f"{float(prices.redline.sum()):.3g}",
        "task types": f"{prices.task.size:,}",
    }


def _price_tables(prices: FacilityPrices) -> Tables:
    import polars as pl

    return {name: pl.DataFrame({name: getattr(prices, name)}) for name in ("task", "redline", "supply_c")}


def _found_facts(found: FoundPlan) -> Facts:
    reached_per_s = found.history[-1][1] if found.history else math.nan
    bound_per_s = getattr(found, "bound_per_s", math.nan)
    return {
        "reward per second": known(whole, reached_per_s),
        "at most": known(whole, bound_per_s),
        **_plan_facts(found.plan),
        "stopped": found.why_stopped,
    }


def _found_tables(found: FoundPlan) -> Tables:
    import polars as pl

    at_s, reward_per_s = np.array(found.history, float).reshape(-1, 2).T
    return {**_plan_tables(found.plan), "progress": pl.DataFrame({"at_s": at_s, "slowed_reward_per_s": reward_per_s})}


def _advice_facts(advice: Advice) -> Facts:
    row = advice.row()
    return {
        "reward per second": f"{whole(advice.reward_per_s)}, {row['crr_percent']:.2f} % of all",
        "at most": percent(row["bound_percent"]),
        "power": f"{power(row['total_w'])} of {power(row['cap_w'])}",
        "cooling": power(row["cooling_w"]),
        "hottest inlet": f"{row['hottest_inlet_c']:.1f} °C of {row['redline_c']:.1f} °C",
        "nodes": f"{row['nodes']:,}",
        "said": advice.sentence(),
    }


def _advice_tables(advice: Advice) -> Tables:
    from joulewise.study.facility.tables import tables

    return tables(advice.facility, advice.found, advice.state, None)


def _advice_pictures(named: Mapping[str, Advice], _bound: Any) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.study.facility.plan import FacilityKind

    return pictures_of(FacilityKind(), {name: _run(advice) for name, advice in named.items()})


def _run(advice: Advice) -> Run:
    """An advice as the run of a study that found its plan."""
    from joulewise.study.facility.bounds import Bound
    from joulewise.study.facility.plan import columns_of

    found = advice.found
    columns = columns_of(advice.facility, found.plan, advice.state, Bound(found.bound_per_s, found.prices))
    return columns, _advice_tables(advice)


def _change_facts(changes: FacilityWhatIf) -> Facts:
    from joulewise.errors import InputError

    told = {
        name: "no plan" if isinstance(after, InputError) else f"{whole(after.reward_per_s)} per second"
        for name, after in changes.after.items()
    }
    return {"as it is": f"{whole(changes.before.reward_per_s)} per second", **told}


def _change_tables(changes: FacilityWhatIf) -> Tables:
    return {"changes": changes.table()}


def _change_pictures(changes: FacilityWhatIf) -> Pictures:
    from joulewise.optimise.facility.whatif import Advice

    plans = {name: after for name, after in changes.after.items() if isinstance(after, Advice)}
    return _advice_pictures({"as it is": changes.before, **plans}, None)


def _day_facts(day: FacilityDay) -> Facts:
    found = day.measures()
    return {
        "length": duration(day.length_s),
        "reward per second": f"{whole(found['reward_per_s'])} of {whole(found['planned_reward_per_s'])} planned",
        "tasks": f"{day.tasks.arrival_s.size:,}",
        "in time": f"{int(day.on_time.sum()):,}",
        "energy": energy(found["energy_j"]),
        "peak": f"{power(found['peak_w'])} of {power(found['cap_w'])}",
        "nearest redline": f"{found['redline_k']:.2g} K",
    }


def _day_tables(day: FacilityDay) -> Tables:
    return {"types": day.by_type(), "intervals": day.by_interval()}


def _span(values: Any) -> str:
    """The least and the most of some numbers, or the one that all are."""
    low, high = np.min(values), np.max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


LOOKS = {
    "NodeTypes": Look("Types of nodes", _type_facts, _type_tables),
    "TaskFlows": Look("Tasks that keep arriving", _flow_facts, _flow_tables),
    "Room": Look("A room", _room_facts, _room_tables),
    "Facility": Look("A facility", _facility_facts, _facility_tables),
    "FacilityPlan": Look("A plan of a facility", _plan_facts, _plan_tables),
    "FacilityPrices": Look("Prices that prove a bound", _price_facts, _price_tables),
    "FoundPlan": Look("A plan that was found", _found_facts, _found_tables),
    "Advice": Look("What to set in a facility", _advice_facts, _advice_tables, _advice_pictures, "map-of-temperatures"),
    "FacilityWhatIf": Look("What changes would bring", _change_facts, _change_tables, of_one(_change_pictures)),
    "FacilityDay": Look("A day of a facility", _day_facts, _day_tables),
}
