"""Every column of the tables that a study of a facility writes."""

from __future__ import annotations

from joulewise.study.spec.column import (
    BOUNDS,
    CORES,
    CRACS,
    NODES,
    PROGRESS,
    RATES,
    RUNS,
    Column,
    label,
    metric,
    one_digit,
    three_figures,
)
from joulewise.units import duration, power

FACILITY_COLUMNS = (
    metric("nodes", "nodes", "nodes of the facility"),
    metric("cores", "cores", "their cores"),
    metric(
        "most_reward_per_s", "1/s", "reward rate with every task that arrives done in time: 100 % of rates",
        heading="reward rate of all that arrives (1/s)",
    ),
    metric(
        "slowed_reward_per_s", "1/s",
        "co-located reward rate (CRR) of the plan: what tasks earn that end in time as cores slow each other, if none "
        "has to wait",
        heading="co-located reward rate (1/s)",
    ),
    metric(
        "crr_percent", "%", "100 x slowed_reward_per_s / most_reward_per_s", title="plan (CRR)", rank=20,
        heading="co-located reward rate (%)",
    ),
    metric(
        "reward_per_s", "1/s", "reward rate (RR): what would be earned if no core slowed another",
        heading="reward rate without interference (1/s)",
    ),
    metric(
        "rr_percent", "%", "100 x reward_per_s / most_reward_per_s", title="without slowdown", rank=30,
        heading="reward rate without interference (%)",
    ),
    metric(
        "reward_bound_per_s", "1/s",
        "proven: no plan within the limits has a higher co-located reward rate; this and what follows from it is null "
        "where eq. 10 is read as printed",
        heading="proven most (1/s)",
    ),
    metric(
        "bound_percent", "%", "100 x reward_bound_per_s / most_reward_per_s", title="bound", rank=40,
        heading="proven most (%)",
    ),
    metric(
        "gap_percent", "%", "100 x (1 - slowed_reward_per_s / reward_bound_per_s)", title="gap %", rank=50,
        heading="distance to the bound (%)",
    ),
    metric(
        "total_w", "W", "power of nodes and cooling together", title="power", form=power, rank=70,
        heading="power of nodes and cooling",
    ),
    metric("nodes_w", "W", "power of the nodes", heading="power of nodes"),
    metric(
        "cooling_w", "W", "power of the CRAC units", title="cooling", form=power, rank=80,
        heading="power of cooling",
    ),
    metric("cap_w", "W", "the most that total_w may be", heading="power cap"),
    metric("cap_margin_w", "W", "cap_w - total_w", heading="below the cap"),
    metric(
        "redline_margin_k", "K", "how far the node nearest to its redline stays below it",
        heading="below the redline (K)",
    ),
    metric("hottest_inlet_c", "°C", "the warmest air that a node takes in", heading="warmest inlet (°C)"),
    metric(
        "supply_mean_c", "°C", "mean supply temperature of the CRAC units",
        title="supply °C", form=one_digit, rank=90, heading="mean supply temperature (°C)",
    ),
    metric("n_idle_cores", "cores", "cores that do nothing for at least 99.9 % of their time", heading="cores at rest"),
    metric(
        "heavy_neighbours", "cores",
        "other cores of the same processor that run tasks of the most memory-bound class beside such a task, mean over "
        "the time of these tasks; null where none runs",
        heading="memory-bound neighbours of a memory-bound task",
    ),
    metric(
        "n_idle_beside_heavy", "cores", "those of them on a processor that runs tasks of that class",
        heading="cores at rest beside a memory-bound task",
    ),
    metric(
        "value_per_kw", "1/s/kW",
        "reward per second that another kW under the cap would bring at most, by the price that proves the bound",
        title="worth of a kW", form=three_figures, rank=100, heading="worth of another kW (1/s)",
    ),
    metric(
        "value_per_k", "1/s/K",
        "reward per second that another degree on all redlines would bring at most, by the prices that prove the bound",
        heading="worth of another degree (1/s)",
    ),
    metric(
        "day_length_s", "s", "length of the simulated day; this and the next are null where there is none",
        form=duration, heading="length of the day",
    ),
    metric("day_plans", "plans", "plans that were made for the day", heading="plans"),
    metric(
        "day_planned_percent", "%",
        "reward that the plans of the day expect if no task has to wait, in percent of that of all tasks that arrive",
        heading="planned for the day (%)",
    ),
    metric(
        "day_earned_percent", "%",
        "reward of the tasks that ended in time in the day, with all waiting, in percent of that of all that arrive",
        title="day earned", rank=10, heading="earned in the day (%)",
    ),
    metric(
        "earned_of_planned_percent", "%", "100 x day_earned_percent / day_planned_percent",
        heading="earned of what was planned (%)",
    ),
    metric("day_late_percent", "%", "tasks of the day that ended after their deadlines", heading="tasks too late (%)"),
    metric("day_dropped_percent", "%", "tasks that were sent to no core", heading="tasks dropped (%)"),
    metric(
        "day_peak_w", "W", "the most that nodes and cooling drew, as means of about five minutes",
        heading="highest power",
    ),
    metric(
        "day_above_cap_percent", "%",
        "of the day's time, in such means, with power above cap_w by more than 0.1 % of it",
        heading="time above the cap (%)",
    ),
    metric(
        "day_redline_margin_k", "K", "how far the node nearest to its redline stayed below it, in such means",
        heading="below the redline (K)",
    ),
    label(RUNS, "set_points", "what to set, what limits the reward and what more would be worth, in plain words"),
    label(RUNS, "why_stopped", "why the search ended whose plan is kept: done, time, generations, ...; where that plan "
          "leaves cores free for chance, it was searched as if more tasks arrived"),
    metric(
        "solve_s", "s", "wall-clock time of planning: all searches and rehearsed days, without the bound and the day",
        is_measured=True,
        title="time", form=duration, rank=110, heading="time to solve",
    ),
    Column(NODES, "node", "", "number of the node, from 0"),
    label(NODES, "name", "its name in the node list, or its number before nodes were added or removed"),
    label(NODES, "type", "name of its node type"),
    Column(NODES, "cores", "cores", "its cores"),
    Column(NODES, "processors", "processors", "its processors; cores of one slow each other"),
    Column(NODES, "x_m", "m", "where it stands, along the row; this and the next two are null where not known"),
    Column(NODES, "y_m", "m", "where it stands, across the rows"),
    Column(NODES, "height_m", "m", "how high it sits in its rack"),
    Column(NODES, "power_w", "W", "its power"),
    Column(NODES, "inlet_c", "°C", "temperature of the air that it takes in"),
    Column(NODES, "redline_c", "°C", "the most that it may be"),
    Column(CRACS, "crac", "", "number of the CRAC unit, from 0"),
    label(CRACS, "name", "its name: that of the list, or its number before any failed"),
    Column(CRACS, "supply_c", "°C", "temperature of the air that it blows"),
    Column(CRACS, "inlet_c", "°C", "temperature of the air that it takes in"),
    Column(CRACS, "heat_w", "W", "heat that it removes"),
    Column(CRACS, "power_w", "W", "its power: heat_w / cop"),
    Column(CRACS, "cop", "", "coefficient of performance at its supply temperature"),
    Column(CORES, "node", "", "number of the node; cores that do nothing have no row"),
    label(CORES, "node_name", "name of the node in the node list", is_optional=True),
    Column(CORES, "processor", "", "number of the processor in the facility, from 0"),
    Column(CORES, "core", "", "number of the core in the facility, from 0"),
    label(CORES, "task", "name of a task type that it spends time on"),
    label(CORES, "class", "memory class of the task type"),
    Column(CORES, "share", "", "share of its time"),
    Column(CORES, "pstate", "", "P-state in which it runs them, 0 the fastest"),
    label(RATES, "task", "name of the task type"),
    label(RATES, "class", "its memory class"),
    Column(RATES, "reward", "", "what one such task earns"),
    Column(RATES, "arrival_per_s", "1/s", "how often such tasks arrive; tasks done beyond that earn nothing"),
    Column(RATES, "alone_per_s", "1/s", "how often they would be done if no core slowed another"),
    Column(
        RATES, "slowed_per_s", "1/s",
        "how often the plan has them done in time, none waiting; what is above arrival_per_s is left free for chance",
    ),
    Column(RATES, "day_per_s", "1/s", "how often they were done in time in the day; null where there is none"),
    Column(PROGRESS, "at_s", "s", "time since the search began", is_measured=True),
    Column(
        PROGRESS, "slowed_reward_per_s", "1/s",
        "highest co-located reward rate of the plans kept until then; the last is that of a plan with less where it "
        "earns more in a day",
    ),
    Column(PROGRESS, "crr_percent", "%", "the same in percent of most_reward_per_s"),
    Column(BOUNDS, "cap", "1/s/W", "price of a watt under the cap, which helps to prove it"),
)  # fmt: skip
