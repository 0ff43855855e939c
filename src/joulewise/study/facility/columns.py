"""Every column of the tables that a study of a facility writes."""

from __future__ import annotations

from joulewise.study.column import CORES, CRACS, NODES, PROGRESS, RATES, RUNS, Column, metric, one_digit, three_figures
from joulewise.units import duration, power

FACILITY_COLUMNS = (
    metric("nodes", "nodes", "nodes of the facility"),
    metric("cores", "cores", "their cores"),
    metric("most_reward_per_s", "1/s", "reward rate with every task that arrives done in time: 100 % of rates"),
    metric("slowed_reward_per_s", "1/s", "co-located reward rate (CRR): what is earned as cores slow each other"),
    metric("crr_percent", "%", "100 x slowed_reward_per_s / most_reward_per_s", title="CRR", rank=20),
    metric("reward_per_s", "1/s", "reward rate (RR): what would be earned if no core slowed another"),
    metric("rr_percent", "%", "100 x reward_per_s / most_reward_per_s", title="without slowdown", rank=30),
    metric(
        "reward_bound_per_s", "1/s",
        "proven: no plan within the limits has a higher co-located reward rate; this and what follows from it is null "
        "where eq. 10 is read as printed",
    ),
    metric("bound_percent", "%", "100 x reward_bound_per_s / most_reward_per_s", title="bound", rank=40),
    metric("gap_percent", "%", "100 x (1 - slowed_reward_per_s / reward_bound_per_s)", title="gap %", rank=50),
    metric("total_w", "W", "power of nodes and cooling together", title="power", form=power, rank=70),
    metric("nodes_w", "W", "power of the nodes"),
    metric("cooling_w", "W", "power of the CRAC units", title="cooling", form=power, rank=80),
    metric("cap_w", "W", "the most that total_w may be"),
    metric("cap_margin_w", "W", "cap_w - total_w"),
    metric("redline_margin_k", "K", "how far the node nearest to its redline stays below it"),
    metric("hottest_inlet_c", "°C", "the warmest air that a node takes in"),
    metric(
        "supply_mean_c", "°C", "mean supply temperature of the CRAC units",
        title="supply °C", form=one_digit, rank=90,
    ),
    metric("n_idle_cores", "cores", "cores that do nothing for at least 99.9 % of their time"),
    metric(
        "heavy_neighbours", "cores",
        "other cores of the same processor that run tasks of the most memory-bound class beside such a task, mean over "
        "the time of these tasks; null where none runs",
    ),
    metric(
        "n_idle_beside_heavy", "cores", "those of them on a processor that runs tasks of that class"
    ),
    metric(
        "value_per_kw", "1/s/kW",
        "reward per second that another kW under the cap would bring at most, by the price that proves the bound",
        title="worth of a kW", form=three_figures, rank=100,
    ),
    metric(
        "value_per_k", "1/s/K",
        "reward per second that another degree on all redlines would bring at most, by the prices that prove the bound",
    ),
    metric("day_plans", "plans", "plans that were made for the day; this and the next are null where there is none"),
    metric(
        "day_planned_percent", "%", "reward that the plans expect, in percent of that of all tasks that arrive",
        title="day planned", rank=60,
    ),
    metric(
        "day_earned_percent", "%", "reward of the tasks that ended in time, in percent of the same",
        title="day earned", rank=10,
    ),
    metric("earned_of_planned_percent", "%", "100 x day_earned_percent / day_planned_percent"),
    metric("day_late_percent", "%", "tasks of the day that ended after their deadlines"),
    metric("day_dropped_percent", "%", "tasks that were sent to no core"),
    metric("day_peak_w", "W", "the most that nodes and cooling drew, as means of about five minutes"),
    metric("day_above_cap_percent", "%", "of the day's time, in such means, with more power than cap_w"),
    metric("day_redline_margin_k", "K", "how far the node nearest to its redline stayed below it, in such means"),
    Column(RUNS, "set_points", "", "what to set, what limits the reward and what more would be worth, in plain words"),
    Column(RUNS, "why_stopped", "", "why the search ended: done, time, generations, ..."),
    metric(
        "solve_s", "s", "wall-clock time of the search, without the bound", is_measured=True,
        title="time", form=duration, rank=110,
    ),
    Column(NODES, "node", "", "number of the node, from 0"),
    Column(NODES, "name", "", "its name in the node list, or its number before nodes were added or removed"),
    Column(NODES, "type", "", "name of its node type"),
    Column(NODES, "cores", "cores", "its cores"),
    Column(NODES, "processors", "processors", "its processors; cores of one slow each other"),
    Column(NODES, "x_m", "m", "where it stands, along the row; this and the next two are null where not known"),
    Column(NODES, "y_m", "m", "where it stands, across the rows"),
    Column(NODES, "height_m", "m", "how high it sits in its rack"),
    Column(NODES, "power_w", "W", "its power"),
    Column(NODES, "inlet_c", "°C", "temperature of the air that it takes in"),
    Column(NODES, "redline_c", "°C", "the most that it may be"),
    Column(CRACS, "crac", "", "number of the CRAC unit, from 0"),
    Column(CRACS, "name", "", "its name: that of the list, or its number before any failed"),
    Column(CRACS, "supply_c", "°C", "temperature of the air that it blows"),
    Column(CRACS, "inlet_c", "°C", "temperature of the air that it takes in"),
    Column(CRACS, "heat_w", "W", "heat that it removes"),
    Column(CRACS, "power_w", "W", "its power: heat_w / cop"),
    Column(CRACS, "cop", "", "coefficient of performance at its supply temperature"),
    Column(CORES, "node", "", "number of the node; cores that do nothing have no row"),
    Column(CORES, "processor", "", "number of the processor in the facility, from 0"),
    Column(CORES, "core", "", "number of the core in the facility, from 0"),
    Column(CORES, "task", "", "name of a task type that it spends time on"),
    Column(CORES, "class", "", "memory class of the task type"),
    Column(CORES, "share", "", "share of its time"),
    Column(CORES, "pstate", "", "P-state in which it runs them, 0 the fastest"),
    Column(RATES, "task", "", "name of the task type"),
    Column(RATES, "class", "", "its memory class"),
    Column(RATES, "reward", "", "what one such task earns"),
    Column(RATES, "arrival_per_s", "1/s", "how often such tasks arrive; tasks done beyond that earn nothing"),
    Column(RATES, "alone_per_s", "1/s", "how often they would be done if no core slowed another"),
    Column(RATES, "slowed_per_s", "1/s", "how often they are done"),
    Column(PROGRESS, "at_s", "s", "time since the search began"),
    Column(PROGRESS, "slowed_reward_per_s", "1/s", "highest co-located reward rate of the plans kept until then"),
    Column(PROGRESS, "crr_percent", "%", "the same in percent of most_reward_per_s"),
)  # fmt: skip
