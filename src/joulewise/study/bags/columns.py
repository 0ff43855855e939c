"""Every column of the tables that studies of bags write."""

from __future__ import annotations

from joulewise import units
from joulewise.study.searches.search_columns import FRONT_COLUMNS, SEARCH_COLUMNS, hypervolume_columns
from joulewise.study.spec.column import (
    BOUNDS,
    COUNTS,
    FRONTS,
    MACHINES,
    RUNS,
    SALES,
    Column,
    flag,
    four_figures,
    label,
    metric,
    whole,
)

_BAG = (
    metric("energy_bound_j", "J", "proven: no allocation uses less energy", heading="proven least energy"),
    metric("makespan_bound_s", "s", "proven: no allocation has a shorter makespan", heading="proven least makespan"),
    metric(
        "knee_makespan_s", "s", "makespan at the knee of the front; for profit, of the bound",
        heading="makespan at the knee",
    ),
    metric("mean_power_w", "W", "energy / makespan: of the allocation, or at the knee of a front"),
    metric(
        "vertices", "vertices", "vertices of the proven bound that none beats in both objectives",
        heading="vertices of the bound",
    ),
)  # fmt: skip
"""What every run of a bag has."""

_POINTS = (
    label(FRONTS, "curve",
           "what the point is of: front (found), bound (vertices of the proven bound), snapshot (front after a "
           "number of generations), region (the corners of all that divided tasks can reach), optimum (of the proven "
           "bound of "
           "profit), allocation (found for it)"),
    Column(FRONTS, "point", "", "number of the point on its curve, from 0, by rising energy or around"),
    Column(FRONTS, "generation", "", "number of generations of a snapshot; null on other curves"),
    Column(FRONTS, "energy_j", "J", "energy, idle power until the makespan included; at the meter"),
    Column(FRONTS, "makespan_s", "s", "when the last machine is done"),
    Column(FRONTS, "mean_power_w", "W", "energy_j / makespan_s"),
    Column(FRONTS, "energy_bound_j", "J", "proven: nothing done by then uses less; null on bounds"),
    Column(FRONTS, "gap_percent", "%", "100 x (energy_j / energy_bound_j - 1)"),
    Column(FRONTS, "profit_per_s", "", "profit per second; null in studies of fronts"),
    flag(FRONTS, "is_knee", "whether it is the knee of the curve"),
)  # fmt: skip

_CHOSEN = label(
    FRONTS, "chosen",
    "a to e, from least energy to least makespan, on the points that figures show machine by machine; else null",
)  # fmt: skip

_ALLOCATIONS = (
    Column(MACHINES, "point", "", "number of the point, as in fronts"),
    Column(MACHINES, "machine", "", "number of the machine, from 0 by machine type"),
    label(MACHINES, "machine_type", "name of the machine type"),
    label(MACHINES, "group", "group of the machine type"),
    Column(MACHINES, "tasks", "tasks", "tasks that it runs"),
    Column(MACHINES, "busy_s", "s", "when it is done: it computes without a break"),
    Column(MACHINES, "energy_j", "J", "its energy, idle power until the makespan included"),
    Column(COUNTS, "point", "", "number of the point, as in fronts"),
    Column(COUNTS, "machine", "", "number of the machine"),
    label(COUNTS, "machine_type", "name of the machine type"),
    label(COUNTS, "task_type", "name of the task type"),
    Column(COUNTS, "pstate", "", "P-state, 0 the fastest"),
    Column(COUNTS, "tasks", "tasks", "how many of these tasks the machine runs in that P-state"),
)  # fmt: skip
"""The detail tables of allocations."""

_VERTICES = (
    Column(BOUNDS, "vertex", "", "number of the vertex of the bound, from 0; the last has the least makespan alone"),
    Column(BOUNDS, "weight_w", "W", "from which worth of a second on the vertex is optimal"),
    Column(BOUNDS, "extra_j", "J", "its energy above that of idle machines; null in the last row, as makespan_s"),
    Column(BOUNDS, "makespan_s", "s", "its makespan"),
)
"""The proof of a bound on energy and makespan."""

_FRONT = (
    metric(
        "reference_energy_j", "J", "energy of the reference point: 1.1 x the most on the bound front",
        heading="energy of the reference point",
    ),
    metric(
        "reference_makespan_s", "s", "makespan of the reference point: 1.1 x the most on it",
        heading="makespan of the reference point",
    ),
    metric(
        "least_makespan_s", "s", "least makespan of a point of the front",
        title="least makespan", form=units.duration, rank=70,
    ),
    metric(
        "gap_percent", "%",
        "mean over the points of 100 x (energy / least energy that is proven for the makespan - 1)",
        title="gap %", rank=80, heading="distance to the bound (%)",
    ),
    metric(
        "unused_types", "types", "machine types that have machines but no task at any point",
        heading="machine types never used",
    ),
    metric(
        "unused_types:*", "types",
        "machine types without a task at the point of least energy, the knee and the point of least makespan",
        heading="machine types never used",
    ),
    metric(
        "task_percent:*", "%",
        "100 x tasks on machines of a type / all tasks, mean over the points; a column for each machine type",
        heading="tasks (%)",
    ),
    metric(
        "busy_cov:*", "",
        "standard deviation / mean over machines of the time they compute, at the point of least energy, the knee and "
        "the point of least makespan",
        heading="variation of finishing times",
    ),
    metric("energy_cov:*", "", "the same of the energy of machines", heading="variation of energies"),
)  # fmt: skip

_PROFIT = (
    metric("price", "", "price of the bag", heading="price of the bag"),
    metric("profit_ratio", "", "price / cost of the least energy; null where that costs nothing"),
    metric(
        "cost_per_kwh", "", "what a kWh costs, the mean over the hours of the bag where it changes",
        heading="cost per kWh",
    ),
    metric(
        "profit_per_s", "",
        "(price - all costs) / makespan of the allocation; if nothing runs, what depreciation takes away alone",
        title="mean", form=four_figures, rank=10, heading="profit per second",
    ),
    metric(
        "profit_bound_per_s", "", "proven: no allocation earns more per second",
        title="bound", form=four_figures, rank=20, heading="proven most profit per second",
    ),
    metric(
        "gap_percent", "%",
        "100 x (profit_bound_per_s - profit_per_s) / |profit_bound_per_s|; 0 where they differ by rounding alone, null "
        "where only the bound is 0",
        title="gap %", rank=30, heading="distance to the bound (%)",
    ),
    metric("profit", "", "profit_per_s x makespan_s", heading="profit per bag"),
    metric(
        "energy_j", "J", "energy of the allocation at the meter; null if nothing runs",
        title="energy", form=units.energy, rank=40,
    ),
    metric(
        "makespan_s", "s", "time from one bag to the next; null if nothing runs",
        title="makespan", form=units.duration, rank=50,
    ),
    metric("wait_s", "s", "the part of makespan_s in which all machines wait on purpose", heading="waiting on purpose"),
    metric(
        "optimum_energy_j", "J", "energy where the bound of the profit lies, at the meter",
        heading="energy at the optimum",
    ),
    metric("optimum_makespan_s", "s", "makespan where the bound of the profit lies", heading="makespan at the optimum"),
    metric(
        "on_front_percent", "%",
        "100 if no divided schedule beats that place in both energy and makespan, else 0",
        heading="optimum on the front (% of trials)",
    ),
    metric(
        "pareto_profit_per_s", "", "the most profit per second on the bound front of energy and makespan",
        heading="most on the front",
    ),
    label(
        RUNS, "verdict",
        "what comes out for the bag: profit, break-even, covers part of the depreciation, loss under agreement, better "
        "not to run, deadline missed (by every allocation found) or infeasible",
    ),
    label(RUNS, "reason", "why, in words, where nothing runs or a loss needs explaining; else null"),
)  # fmt: skip

BAG_FRONT_COLUMNS = (
    *SEARCH_COLUMNS, *hypervolume_columns("mean"), *FRONT_COLUMNS, *_BAG, *_FRONT, *_POINTS, _CHOSEN, *_ALLOCATIONS,
    *_VERTICES,
)  # fmt: skip
"""Of the front of energy and makespan."""

PROFIT_COLUMNS = (*SEARCH_COLUMNS, *_BAG, *_PROFIT, *_POINTS, *_ALLOCATIONS, *_VERTICES)
"""Of the most profit."""

_SOLD = (
    metric("customers", "customers", "customers who came", title="customers", form=whole, rank=60),
    metric("sold", "bags", "bags that were bought", title="sold", form=whole, rank=50, heading="bags sold"),
    metric("mean_worth", "", "what a bag done at once is worth to customers on average", heading="mean worth of a bag"),
    metric("mean_price", "", "mean price of what was bought; null if nothing was", heading="mean price paid"),
    metric(
        "mean_wait_s", "s", "mean time from coming until the bag is done, of those who bought",
        title="wait", form=units.duration, rank=70, heading="mean time until done",
    ),
    metric("sold_j", "J", "energy above idle of what was bought, at the meter", heading="energy of bags sold"),
    metric("income", "", "sum of the prices paid"),
    metric("energy_cost", "", "what the energy above idle of these bags costs at the hours at which they run"),
    metric(
        "profit", "", "income - energy_cost; what idle machines cost is the same for all, and left out",
        title="mean", form=four_figures, rank=10,
    ),
    metric(
        "profit_bound", "", "proven: no price, order or schedule earns more, even with every worth known beforehand",
        title="bound", form=four_figures, rank=30, heading="proven most profit, worths known",
    ),
    metric(
        "unseen_bound", "",
        "proven for the mean over trials, not for each: the same for prices that are made without seeing the worth",
        title="unseen", form=four_figures, rank=20, heading="proven most mean profit, worths unseen",
    ),
    metric(
        "gap_percent", "%", "100 x (profit_bound - profit) / profit_bound; null where nothing can be earned",
        title="gap %", rank=40, heading="distance to the bound (%)",
    ),
    Column(SALES, "customer", "", "number of the customer, from 0 in the order of coming"),
    Column(SALES, "arrival_s", "s", "when the customer comes"),
    Column(SALES, "worth", "", "what the bag would be worth, done at once"),
    Column(SALES, "price", "", "price that is asked; null where no bag is for sale"),
    Column(SALES, "schedule", "", "number of the schedule of the bag, as the point in counts"),
    Column(SALES, "start_s", "s", "when the bag starts if it is bought"),
    Column(SALES, "done_s", "s", "when it is done then"),
    flag(SALES, "is_bought", "whether the price is not above what is left of the worth then"),
    Column(SALES, "energy_cost", "", "what the energy of the bag above idle costs then"),
    Column(BOUNDS, "unseen.profit", "", "what is proven of prices that are made without seeing the worth"),
)  # fmt: skip

_OF_A_BAG = ("tasks", "tasks_per_machine", "solve_s", "energy_bound_j", "makespan_bound_s", "vertices")

PRICING_COLUMNS = (
    *(column for column in (*SEARCH_COLUMNS, *_BAG) if column.name in _OF_A_BAG), *_SOLD, *_POINTS, *_ALLOCATIONS,
)  # fmt: skip
"""Of prices for customers."""
