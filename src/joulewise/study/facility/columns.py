"""Every column of the tables that a study of a facility writes."""

from __future__ import annotations

from functools import partial

from joulewise.study.column import CORES, CRACS, FACILITY, NODES, PROGRESS, RATES, RUNS, Column
from joulewise.study.column import metric as metric_of

_metric = partial(metric_of, kinds=FACILITY)
_column = partial(Column, kinds=FACILITY)

FACILITY_COLUMNS = (
    _metric("nodes", "nodes", "nodes of the facility"),
    _metric("cores", "cores", "their cores"),
    _metric("most_reward_per_s", "1/s", "reward rate with every task that arrives done in time: 100 % of rates"),
    _metric("slowed_reward_per_s", "1/s", "co-located reward rate (CRR): what is earned as cores slow each other"),
    _metric("crr_percent", "%", "100 x slowed_reward_per_s / most_reward_per_s"),
    _metric("reward_per_s", "1/s", "reward rate (RR): what would be earned if no core slowed another"),
    _metric("rr_percent", "%", "100 x reward_per_s / most_reward_per_s"),
    _metric(
        "reward_bound_per_s", "1/s",
        "proven: no plan within the limits has a higher co-located reward rate; this and what follows from it is null "
        "where eq. 10 is read as printed",
    ),
    _metric("bound_percent", "%", "100 x reward_bound_per_s / most_reward_per_s"),
    _metric("gap_percent", "%", "100 x (1 - slowed_reward_per_s / reward_bound_per_s)"),
    _metric("total_w", "W", "power of nodes and cooling together"),
    _metric("nodes_w", "W", "power of the nodes"),
    _metric("cooling_w", "W", "power of the CRAC units"),
    _metric("cap_w", "W", "the most that total_w may be"),
    _metric("cap_margin_w", "W", "cap_w - total_w"),
    _metric("redline_margin_k", "K", "how far the node nearest to its redline stays below it"),
    _metric("hottest_inlet_c", "°C", "the warmest air that a node takes in"),
    _metric("supply_mean_c", "°C", "mean supply temperature of the CRAC units"),
    _metric("n_idle_cores", "cores", "cores that do nothing, or that for 99.9 % of their time"),
    _metric(
        "heavy_neighbours", "cores",
        "other cores of the same processor that run tasks of the most memory-bound class beside such a task, mean over "
        "the time of these tasks; null where none runs",
    ),
    _metric(
        "n_idle_beside_heavy", "cores", "those of them on a processor that runs tasks of that class"
    ),
    _metric(
        "value_per_kw", "1/s/kW",
        "reward per second that another kW under the cap would bring at most, by the price that proves the bound",
    ),
    _metric(
        "value_per_k", "1/s/K",
        "reward per second that another degree on all redlines would bring at most, by the prices that prove the bound",
    ),
    _metric("day_plans", "plans", "plans that were made for the day; this and the next are null where there is none"),
    _metric("day_planned_percent", "%", "reward that they plan with, of that of all tasks that arrive at such rates"),
    _metric("day_earned_percent", "%", "reward of the tasks that ended in time, of the same"),
    _metric("earned_of_planned_percent", "%", "100 x day_earned_percent / day_planned_percent"),
    _metric("day_late_percent", "%", "tasks of the day that ended after their deadlines"),
    _metric("day_dropped_percent", "%", "tasks that were sent to no core"),
    _metric("day_peak_w", "W", "the most that nodes and cooling drew, as means of about five minutes"),
    _metric("day_above_cap_percent", "%", "of the day's time, in such means, with more power than cap_w"),
    _metric("day_redline_margin_k", "K", "how far the node nearest to its redline stayed below it, in such means"),
    _column(RUNS, "set_points", "", "what to set, what limits the reward and what more would be worth, in plain words"),
    _column(RUNS, "why_stopped", "", "why the search ended: done, time, generations, ..."),
    _metric("solve_s", "s", "wall-clock time of the search, without the bound", is_measured=True),
    _column(NODES, "node", "", "number of the node, from 0"),
    _column(NODES, "name", "", "its name: that of the node list, or its number before nodes came or went"),
    _column(NODES, "type", "", "name of its node type"),
    _column(NODES, "cores", "cores", "its cores"),
    _column(NODES, "processors", "processors", "its processors; cores of one slow each other"),
    _column(NODES, "x_m", "m", "where it stands, along the row; this and the next two are null where not known"),
    _column(NODES, "y_m", "m", "where it stands, across the rows"),
    _column(NODES, "height_m", "m", "how high it sits in its rack"),
    _column(NODES, "power_w", "W", "its power"),
    _column(NODES, "inlet_c", "°C", "temperature of the air that it takes in"),
    _column(NODES, "redline_c", "°C", "the most that it may be"),
    _column(CRACS, "crac", "", "number of the CRAC unit, from 0"),
    _column(CRACS, "name", "", "its name: that of the list, or its number before any failed"),
    _column(CRACS, "supply_c", "°C", "temperature of the air that it blows"),
    _column(CRACS, "inlet_c", "°C", "temperature of the air that it takes in"),
    _column(CRACS, "heat_w", "W", "heat that it removes"),
    _column(CRACS, "power_w", "W", "its power: heat_w / cop"),
    _column(CRACS, "cop", "", "coefficient of performance at its supply temperature"),
    _column(CORES, "node", "", "number of the node; cores that do nothing have no row"),
    _column(CORES, "processor", "", "number of the processor in the facility, from 0"),
    _column(CORES, "core", "", "number of the core in the facility, from 0"),
    _column(CORES, "task", "", "name of a task type that it spends time on"),
    _column(CORES, "class", "", "memory class of the task type"),
    _column(CORES, "share", "", "share of its time"),
    _column(CORES, "pstate", "", "P-state in which it runs them, 0 the fastest"),
    _column(RATES, "task", "", "name of the task type"),
    _column(RATES, "class", "", "its memory class"),
    _column(RATES, "reward", "", "what one such task earns"),
    _column(RATES, "arrival_per_s", "1/s", "how often such tasks arrive; more than that earn nothing"),
    _column(RATES, "alone_per_s", "1/s", "how often they would be done if no core slowed another"),
    _column(RATES, "slowed_per_s", "1/s", "how often they are done"),
    _column(PROGRESS, "at_s", "s", "time since the search began"),
    _column(PROGRESS, "slowed_reward_per_s", "1/s", "highest co-located reward rate of the plans kept until then"),
    _column(PROGRESS, "crr_percent", "%", "the same in percent of most_reward_per_s"),
)  # fmt: skip
