"""How bags of tasks, their allocations, fronts and profits show themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from joulewise.looks.evolutions import evolution_look
from joulewise.looks.look import Facts, Look, known, of_one, percent, whole
from joulewise.units import count, duration, energy, power

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.annealing import BagFront
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.optimise.bags.machines import MachineAnalysis, WhatIf
    from joulewise.optimise.bags.profit import Profit, ProfitSweep
    from joulewise.optimise.front import Front
    from joulewise.study.store.store import Tables


def _bag_facts(bag: Bag) -> Facts:
    return {
        "tasks": f"{bag.n_tasks:,} of {count(int((bag.counts > 0).sum()), 'type')}",
        "machines": f"{bag.system.n_machines:,} of {count(bag.system.n_machine_types, 'type')}",
        "P-states": f"{bag.system.n_pstates}",
        "idle power": power(bag.total_idle_w) if bag.total_idle_w else "",
    }


def _bag_tables(bag: Bag) -> Tables:
    import polars as pl

    from joulewise.worlds.system_tables import system_frames

    return {**system_frames(bag.system), "bag": pl.DataFrame({"task_type": bag.system.task_types, "count": bag.counts})}


def _allocation_facts(allocation: BagAllocation) -> Facts:
    return {
        "makespan": duration(allocation.makespan_s),
        "energy": energy(allocation.energy_j),
        "tasks": f"{int(allocation.counts.sum()):,}",
        "machines at work": f"{int((allocation.busy_s > 0).sum()):,} of {allocation.bag.system.n_machines:,}",
    }


def _allocation_tables(allocation: BagAllocation) -> Tables:
    from joulewise.study.bags.tables import counts_table, machines_table

    tables = {"counts": counts_table, "machines": machines_table}
    return {name: make(allocation.bag, [allocation]).drop("point") for name, make in tables.items()}


def _front_facts(front: Front) -> Facts:
    if not len(front):
        return {"points": "none"}
    (least_s, _), (_, least_j) = front.points.min(axis=0), front.points.min(axis=0)
    knee_s, knee_j = front.points[front.knee()]
    return {
        "points": f"{len(front):,}",
        "least makespan": duration(least_s),
        "least energy": energy(least_j),
        "knee": f"{energy(knee_j)} in {duration(knee_s)}",
    }


def _searched_facts(front: BagFront) -> Facts:
    gaps = front.gap_percent[np.isfinite(front.gap_percent)]
    return {**_front_facts(front), "above the bound": percent(float(gaps.mean())) if gaps.size else ""}


def _front_tables(front: Front) -> Tables:
    import polars as pl

    points = pl.DataFrame({"makespan_s": front.points[:, 0], "energy_j": front.points[:, 1]})
    return {"points": points}


def _front_pictures(named: Mapping[str, Front], bound: BoundFront | None) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.model.bag import BagAllocation
    from joulewise.optimise.bags.bound import bound_front
    from joulewise.study.bags.front import FrontKind, columns_of, tables_of

    if not all(front.payload and isinstance(front.payload[0], BagAllocation) for front in named.values()):
        return {}
    found = {name: front.payload[::-1] for name, front in named.items()}
    bounds = {name: bound or bound_front(allocations[0].bag) for name, allocations in found.items()}
    for name, allocations in found.items():
        bounds[name].raise_if_not_of(allocations[0].bag)
    runs = {
        name: (columns_of(bounds[name], allocations, {}), tables_of(bounds[name], allocations, {}))
        for name, allocations in found.items()
    }
    return pictures_of(FrontKind(), runs)


def _bound_facts(bound: BoundFront) -> Facts:
    return {
        "makespan": f"{duration(bound.least_makespan_s)} at least",
        "energy": f"{energy(bound.least_energy_j)} at least",
        "vertices": f"{len(bound.energy_j[bound.pareto]):,}",
    }


def _bound_tables(bound: BoundFront) -> Tables:
    from joulewise.study.bags.tables import bound_curve

    return {"points": bound_curve(bound).select("energy_j", "makespan_s", "mean_power_w", "is_knee")}


def _profit_facts(profit: Profit) -> Facts:
    return {
        "verdict": profit.verdict,
        "profit per second": whole(profit.profit_per_s),
        "at most": known(whole, profit.bound_per_s),
        "energy": energy(profit.energy_j) if profit.energy_j else "",
        "makespan": duration(profit.makespan_s) if profit.makespan_s else "",
        "said": profit.sentence(),
    }


def _profit_tables(profit: Profit) -> Tables:
    import polars as pl

    names = ("verdict", "profit_per_s", "bound_per_s", "energy_j", "makespan_s", "wait_s", "late_s", "income_per_s")
    told = pl.DataFrame({name: [getattr(profit, name)] for name in names})
    return {"profit": told, **({} if profit.allocation is None else _allocation_tables(profit.allocation))}


def _sweep_facts(sweep: ProfitSweep) -> Facts:
    most = int(np.argmax(sweep.profit_per_s)) if sweep.price.size else -1
    return {
        "prices": f"{sweep.price.size:,}",
        "most profit per second": known(whole, float(sweep.profit_per_s[most]) if most >= 0 else math.nan),
    }


def _sweep_tables(sweep: ProfitSweep) -> Tables:
    import polars as pl

    return {"prices": pl.DataFrame({name: getattr(sweep, name) for name in sweep.__dataclass_fields__})}


def _analysis_facts(analysis: MachineAnalysis) -> Facts:
    return {"machines": f"{analysis.system.n_machines:,}", "said": " ".join(analysis.sentences())}


def _analysis_tables(analysis: MachineAnalysis) -> Tables:
    from joulewise.study.bags.tables import machines_table

    allocations = [point.allocation for point in analysis.points]
    return {"machines": machines_table(allocations[0].bag, allocations)}


def _change_facts(change: WhatIf) -> Facts:
    return {"said": change.sentence()}


def _change_tables(change: WhatIf) -> Tables:
    return {name: _front_tables(front)["points"] for name, front in _fronts_of(change).items()}


def _change_pictures(change: WhatIf) -> Pictures:
    return _front_pictures(_fronts_of(change), None)


def _fronts_of(change: WhatIf) -> Mapping[str, Front]:
    return {"before": change.before.front, "after": change.after.front}


_FRONT = Look("A front of makespan and energy", _front_facts, _front_tables, _front_pictures, bound="BoundFront")
LOOKS = {
    "Bag": Look("A bag of tasks", _bag_facts, _bag_tables),
    "BagAllocation": Look("A schedule of a bag", _allocation_facts, _allocation_tables),
    "Front": _FRONT,
    "BagFront": replace(_FRONT, facts=_searched_facts),
    "Evolution": evolution_look(_FRONT),
    "BoundFront": Look("What no schedule beats", _bound_facts, _bound_tables),
    "Profit": Look("The most profit of a bag", _profit_facts, _profit_tables),
    "ProfitSweep": Look("The most profit by price", _sweep_facts, _sweep_tables),
    "MachineAnalysis": Look("What machines do along a front", _analysis_facts, _analysis_tables),
    "WhatIf": Look("What other machines would bring", _change_facts, _change_tables, of_one(_change_pictures)),
}
