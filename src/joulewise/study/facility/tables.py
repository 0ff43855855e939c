"""Detail tables of studies of a facility: its nodes, CRAC units, cores and flows, and how a search went on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from joulewise.study.spec.column import CORES, CRACS, NODES, PROGRESS, RATES
from joulewise.study.store.store import Tables
from joulewise.study.store.tables import named

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Counts
    from joulewise.model.facility import Facility, FacilityPlan
    from joulewise.optimise.facility.evaluation import Steady
    from joulewise.optimise.facility.search import FoundPlan
    from joulewise.simulate.facility.day import FacilityDay


def tables(facility: Facility, found: FoundPlan, state: Steady, day: FacilityDay | None) -> Tables:
    """Every detail table of a plan with its steady state and its day, if it has one."""
    return {
        NODES: nodes_table(facility, state),
        CRACS: cracs_table(facility, found.plan, state),
        CORES: cores_table(facility, found.plan),
        RATES: rates_table(facility, state, day),
        PROGRESS: progress_table(facility, found),
    }


def nodes_table(facility: Facility, state: Steady) -> pl.DataFrame:
    """Every node: what it is, where it stands, what it draws and takes in."""
    import polars as pl

    types, room, n = facility.node_types, facility.room, facility.n_nodes
    x_m, y_m, height_m = room.place_m.T if room.place_m.size else np.full((3, n), np.nan)
    table = pl.DataFrame(
        {
            "node": np.arange(n),
            "name": room.node_names,
            "type": named(types.names, facility.node_type),
            "cores": types.cores[facility.node_type],
            "processors": types.processors[facility.node_type],
            "x_m": x_m,
            "y_m": y_m,
            "height_m": height_m,
            "power_w": state.node_w,
            "inlet_c": state.node_inlet_c,
            "redline_c": room.redline_c,
        }
    )
    return table.with_columns(pl.col("x_m", "y_m", "height_m").fill_nan(None))


def cracs_table(facility: Facility, plan: FacilityPlan, state: Steady) -> pl.DataFrame:
    """Every CRAC unit: how cold it blows, what it takes in and removes, and what that costs."""
    import polars as pl

    return pl.DataFrame(
        {
            "crac": np.arange(facility.room.n_cracs),
            "name": facility.room.crac_names,
            "supply_c": plan.supply_c,
            "inlet_c": state.crac_inlet_c,
            "heat_w": state.heat_w,
            "power_w": state.crac_w,
            "cop": facility.room.cop_at(plan.supply_c),
        }
    )


def cores_table(facility: Facility, plan: FacilityPlan) -> pl.DataFrame:
    """What each core does, with a row for each task type that it spends time on."""
    import polars as pl

    core, task = np.nonzero(plan.share)
    flows = facility.tasks
    return pl.DataFrame(
        {
            "node": node_of_core(facility)[core],
            "node_name": np.take(facility.room.node_names, node_of_core(facility)[core]).tolist(),
            "processor": processor_of_core(facility)[core],
            "core": core,
            "task": named(flows.names, task),
            "class": named(flows.class_names, flows.memory_class[task]),
            "share": plan.share[core, task],
            "pstate": plan.pstate[core, task],
        }
    )


def rates_table(facility: Facility, state: Steady, day: FacilityDay | None) -> pl.DataFrame:
    """Every task type: how often it arrives and is done, without and with what slows it, and in a day."""
    import polars as pl

    flows = facility.tasks
    return pl.DataFrame(
        {
            "task": named(flows.names, np.arange(flows.n_types)),
            "class": named(flows.class_names, flows.memory_class),
            "reward": flows.reward,
            "arrival_per_s": flows.rate_per_s,
            "alone_per_s": state.rate_per_s,
            "slowed_per_s": state.slowed_per_s,
            "day_per_s": pl.Series(
                [None] * flows.n_types if day is None else day.by_type()["on_time_per_s"], dtype=pl.Float64
            ),
        }
    )


def progress_table(facility: Facility, found: FoundPlan) -> pl.DataFrame:
    """Each improvement of a search."""
    import polars as pl

    at_s, reward_per_s = np.array(found.history, float).reshape(-1, 2).T
    most = facility.tasks.most_reward_per_s
    return pl.DataFrame(
        {"at_s": at_s, "slowed_reward_per_s": reward_per_s, "crr_percent": 100 * reward_per_s / (most or np.nan)}
    )


def plan_of(facility: Facility, cores: pl.DataFrame, cracs: pl.DataFrame) -> FacilityPlan:
    """The plan that stored tables describe; rows of cores or tasks that there are not are left out."""
    from joulewise.model.facility import FacilityPlan

    flows, shape = facility.tasks, (facility.n_cores, facility.tasks.n_types)
    codes = {name: code for code, name in enumerate(flows.names)}
    cells = cores["core"].to_numpy(), np.array([codes.get(name, -1) for name in cores["task"]], np.int64)
    known = np.all([(cell >= 0) & (cell < n) for cell, n in zip(cells, shape, strict=True)], axis=0)
    at = tuple(cell[known] for cell in cells)
    share, pstate = np.zeros(shape), np.zeros(shape, np.int8)
    share[at], pstate[at] = cores["share"].to_numpy()[known], cores["pstate"].to_numpy()[known]
    return FacilityPlan(share, pstate, cracs["supply_c"].to_numpy())


def node_of_core(facility: Facility) -> Counts:
    """The node that each core is of."""
    return np.repeat(np.arange(facility.n_nodes), np.diff(facility.first_core))


def processor_of_core(facility: Facility) -> Counts:
    """The processor that each core is on, by its number in the facility."""
    types = facility.node_types
    first = np.concatenate(([0], np.cumsum(types.processors[facility.node_type])))
    node = node_of_core(facility)
    within = (np.arange(facility.n_cores) - facility.first_core[node]) // types.sharers[facility.node_type[node]]
    return np.asarray(first[node] + within)
