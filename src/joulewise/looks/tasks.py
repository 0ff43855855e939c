"""How systems, workloads, worlds and outcomes of serial tasks show themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from joulewise.looks.arrivals import arrival_pictures
from joulewise.looks.look import Facts, Look, counted, known, of_one, table_of, whole
from joulewise.units import count, duration, energy, power

if TYPE_CHECKING:
    import polars as pl

    from joulewise.looks.look import Pictures
    from joulewise.model import Allocation, Supply, System, Workload, World
    from joulewise.optimise.price_market import Certificate, PriceBound
    from joulewise.optimise.tasks.proof import Proof
    from joulewise.simulate.tasks.days import Day
    from joulewise.simulate.tasks.serial import Outcome
    from joulewise.study.store.store import Tables


def _system_facts(system: System) -> Facts:
    return {
        "machines": f"{system.n_machines:,} of {count(system.n_machine_types, 'type')}",
        "task types": f"{system.n_task_types:,}",
        "P-states": f"{system.n_pstates}",
        "powers": "not known" if system.power_w is None else f"{power(_most_w(system))} at most",
    }


def _most_w(system: System) -> float:
    """What all machines draw together, each with its hungriest task."""
    assert system.power_w is not None
    each_w = np.where(np.isfinite(system.etc_s), system.power_w, 0.0).max(axis=(0, 2))
    return float(system.counts @ each_w)


def _system_tables(system: System) -> Tables:
    from joulewise.worlds.system_tables import system_frames

    return system_frames(system)


def _supply_facts(supply: Supply) -> Facts:
    period = "in all" if supply.is_total else f"in {duration(supply.day_s)}"
    return {
        "budget": f"{energy(supply.budget_j)} {period}" if math.isfinite(supply.budget_j) else "",
        "power cap": "" if supply.cap_w is None else power(float(supply.cap_w.min())),
        "PUE": f"{supply.pue:g}" if supply.pue > 1 else "",
        "tariff": "" if supply.tariff is None else f"{supply.tariff.mean():.3g} {supply.tariff_unit}/kWh on average",
        "limits": "" if supply.is_limited else "none",
    }


def _supply_tables(supply: Supply) -> Tables:
    import polars as pl

    facts = {name: [getattr(supply, name)] for name in ("budget_j", "is_total", "day_s", "pue", "tariff_unit")}
    hours = {name: getattr(supply, name) for name in ("cap_w", "tariff")}
    return {
        "limits": pl.DataFrame(facts),
        **{name: pl.DataFrame({"hour": np.arange(by.size), name: by}) for name, by in hours.items() if by is not None},
    }


def _workload_facts(work: Workload) -> Facts:
    last_s = work.end_s if math.isfinite(work.end_s) else float(work.arrival_s[-1])
    return {
        "tasks": f"{work.n_tasks:,}",
        "counted": duration(last_s - work.start_s),
        "warm-up": duration(work.start_s) if work.start_s else "",
        "worth": f"{whole(float(work.scale.sum()))} at most",
        "utility functions": f"{len(work.shapes.names):,}",
    }


def _workload_tables(work: Workload) -> Tables:
    import polars as pl

    from joulewise.study.store.tables import named

    tags = {name: named(tag.names, tag.codes) for name, tag in work.tags.items()}
    return {"tasks": pl.DataFrame({**work.columns, "shape": named(work.shapes.names, work.shape), **tags})}


def _workload_pictures(work: Workload) -> Pictures:
    return arrival_pictures(work, "task")


def _world_facts(world: World) -> Facts:
    limits = {name: value for name, value in _supply_facts(world.supply).items() if world.supply.is_limited}
    return {**_workload_facts(world.workload), **_system_facts(world.system), **limits, "outages": _outages(world)}


def _outages(world: World) -> str:
    return f"{world.outages.machine.size:,}" if world.outages.machine.size else ""


def _world_tables(world: World) -> Tables:
    from joulewise.study.store.tables import named

    tasks = _workload_tables(world.workload)["tasks"]
    types = named(world.system.task_types, world.workload.task_type)
    return {**_system_tables(world.system), "tasks": tasks.with_columns(task_type=types)}


def _world_pictures(world: World) -> Pictures:
    return _workload_pictures(world.workload)


def _allocation_facts(allocation: Allocation) -> Facts:
    from joulewise.model.allocation import Status

    return {"tasks": f"{allocation.n_tasks:,}", **counted(allocation.status, Status)}


def _allocation_tables(allocation: Allocation) -> Tables:
    return {"tasks": table_of(allocation, "machine", "pstate", "start_s", "end_s", "status")}


def _outcome_facts(outcome: Outcome) -> Facts:
    from joulewise.optimise.bounds import maximum_utility
    from joulewise.simulate.tasks.measures import measures

    found, most = measures(outcome.world, outcome), maximum_utility(outcome.world)
    return {
        "utility": f"{whole(found['utility'])} of {whole(most)} if nothing had to wait",
        "tasks": f"{outcome.world.workload.n_tasks:,}",
        "counted": f"{found['tasks_arrived']:,}",
        **{name: f"{found[f'tasks_{name}']:,}" for name in ("completed", "dropped", "waiting")},
        "energy": known(energy, found["energy_j"]),
        "mapping": duration(outcome.mapping_s),
    }


def _outcome_tables(outcome: Outcome) -> Tables:
    from joulewise.study.tasks.day import tables_of

    return tables_of(outcome.world, outcome.allocation)


def _outcome_pictures(named: Mapping[str, Outcome], bound: PriceBound | None) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.study.tasks.day import ManagedKind, columns_of

    proofs = {name: _proof(each.world, bound) for name, each in named.items()}
    runs = {name: (columns_of(each, proofs[name]), _outcome_tables(each)) for name, each in named.items()}
    return pictures_of(ManagedKind(), runs, is_proven=bound is not None)


def _proof(world: World, bound: PriceBound | None) -> Proof:
    """What is known of a world: the bound that is given, or what each task alone says."""
    from joulewise.optimise.bounds import maximum_utility
    from joulewise.optimise.tasks.proof import Proof, prove

    return prove(world, "trivial") if bound is None else Proof("prices", maximum_utility(world), bound.value)


def _day_facts(day: Day) -> Facts:
    return {"day": f"{day.number}", **_outcome_facts(day.outcome)}


def _day_tables(day: Day) -> Tables:
    return _outcome_tables(day.outcome)


def _day_pictures(named: Mapping[str, Day], bound: PriceBound | None) -> Pictures:
    return _outcome_pictures({name: day.outcome for name, day in named.items()}, bound)


def _bound_facts(bound: PriceBound) -> Facts:
    return {"utility": f"{whole(bound.value)} at most", **_price_facts(bound.certificate)}


def _bound_tables(bound: PriceBound) -> Tables:
    return _price_tables(bound.certificate)


def _price_facts(prices: Certificate) -> Facts:
    n_types, n_slots = prices.per_s.shape
    return {"proven by": f"prices of {count(n_types, 'machine type')} in {count(n_slots, 'slot')}"}


def _price_tables(certificate: Certificate) -> Tables:
    import polars as pl

    def prices(name: str, by: str) -> pl.DataFrame:
        values = np.atleast_2d(getattr(certificate, name))
        row, column = np.indices(values.shape)
        return pl.DataFrame({by: row.ravel(), "slot": column.ravel(), name: values.ravel()})

    return {"per_s": prices("per_s", "machine_type"), "per_j": prices("per_j", "meter")}


LOOKS = {
    "System": Look("Machines and what runs on them", _system_facts, _system_tables),
    "Supply": Look("Limits of energy and power", _supply_facts, _supply_tables),
    "Workload": Look("Tasks that arrive over time", _workload_facts, _workload_tables, of_one(_workload_pictures)),
    "World": Look("A world of tasks", _world_facts, _world_tables, of_one(_world_pictures)),
    "Allocation": Look("What became of tasks", _allocation_facts, _allocation_tables),
    "Outcome": Look("What a manager did", _outcome_facts, _outcome_tables, _outcome_pictures, bound="PriceBound"),
    "Day": Look("A day as it ended", _day_facts, _day_tables, _day_pictures, bound="PriceBound"),
    "PriceBound": Look("A proven bound", _bound_facts, _bound_tables),
    "Certificate": Look("Prices that prove a bound", _price_facts, _price_tables),
}
