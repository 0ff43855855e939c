"""Every column of the tables that studies of tasks known in advance write."""

from __future__ import annotations

from joulewise.study.searches.search_columns import FRONT_COLUMNS, SEARCH_COLUMNS, hypervolume_columns
from joulewise.study.spec.column import (
    ASSIGNMENTS,
    BOUNDS,
    CLOUDS,
    FRONTS,
    Column,
    five_figures,
    flag,
    four_figures,
    label,
    metric,
)

UTILITY_COLUMNS = (
    *SEARCH_COLUMNS,
    *hypervolume_columns("of the bound's"),
    *FRONT_COLUMNS,
    metric(
        "normalised_percent", "%",
        "100 x area that the front dominates up to 1.8 x the least energy of all tasks / area that it would dominate "
        "if all earned what they are worth at most with the least energy (no energy, where they may be dropped); above "
        "100 only where few samples happen to use less than they would in the mean",
        title="of the whole", rank=30, heading="hypervolume (% of the whole box)",
    ),
    metric(
        "normalised_percent:*", "%", "the same after that number of generations",
        heading="hypervolume (% of the whole box)",
    ),
    metric(
        "fresh_percent", "%",
        "the same of the objectives of the search, taken from fresh samples; null at mean times, which have none; this "
        "and all of fresh samples null without chances",
        heading="hypervolume on fresh samples (% of the whole box)",
    ),
    metric(
        "fresh_mean_percent", "%",
        "the same of the points at the means over fresh samples, whatever the objective: what compares objectives",
        title="means on fresh samples", rank=10, heading="hypervolume by means on fresh samples (% of the whole box)",
    ),
    metric(
        "reference_energy_j", "J", "energy of the reference point: 1.8 x the least of all tasks",
        heading="energy of the reference point",
    ),
    metric(
        "utility_ceiling", "utility", "the sum of what tasks are worth at most",
        heading="what tasks are worth at most",
    ),
    metric("utility_bound", "utility", "proven: nothing earns more, whatever its energy", heading="proven bound"),
    metric(
        "most_utility", "utility", "most utility of a point of the front",
        title="most utility", form=five_figures, rank=50,
    ),
    metric("most_utility_energy_j", "J", "energy of that point", heading="energy at the most utility"),
    metric(
        "least_energy_utility", "utility", "utility of the point of least energy",
        heading="utility at the least energy",
    ),
    metric("knee_utility", "utility", "utility at the knee of the front", heading="utility at the knee"),
    metric(
        "peak_energy_j", "J", "energy of the point with the most utility per energy",
        heading="energy where a joule earns most",
    ),
    metric("peak_utility", "utility", "its utility", heading="utility where a joule earns most"),
    metric(
        "peak_utility_per_mj", "utility/MJ", "its utility per energy",
        title="peak per MJ", form=four_figures, rank=70, heading="most utility per energy (1/MJ)",
    ),
    metric(
        "gap_percent", "%",
        "mean over the points of 100 x (1 - utility / most that is proven for the energy); null for chance",
        heading="distance to the bound (%)",
    ),
    metric(
        "marker_sds", "",
        "mean over the points of how far the objectives are from their means over fresh samples, in standard "
        "deviations",
        heading="objective off the mean of samples (standard deviations)",
    ),
    metric(
        "energy_sd_percent", "%",
        "100 x standard deviation of the energy over fresh samples / its mean, mean over the points",
        heading="spread of energy (% of its mean)",
    ),
    metric("utility_sd_percent", "%", "the same of the utility", heading="spread of utility (% of its mean)"),
    metric("tasks_dropped", "tasks", "tasks dropped or left out, mean over points and samples"),
    metric(
        "dropped_sd_correlation", "",
        "rank correlation over the points of the tasks dropped and the standard deviation of the utility",
        heading="rank correlation of tasks dropped and spread of utility",
    ),
    metric(
        "energy_price_per_mj", "utility/MJ", "what a megajoule more brings at the knee, by means over fresh samples",
    ),
    metric(
        "solution_value", "utility",
        "how much more the point that is best by samples earns, less energy at that price, than the one that is best "
        "by mean times and powers: chosen on one half of the fresh samples, mean over the other; may be below 0",
    ),
    metric("solution_value_error", "utility", "half width of its 95 % interval"),
    metric(
        "information_value", "utility",
        "how much more than that point could be earned by choosing once all times and powers are known, on the same "
        "half of the samples",
    ),
    metric("information_value_error", "utility", "half width of its 95 % interval"),
    metric(
        "cautious_energy_j", "J",
        "mean energy of the cautious choice: the point whose utility varies least over fresh samples, of those that "
        "earn the most on average but for the tolerance",
    ),
    metric("cautious_utility", "utility", "its mean utility"),
    metric("cautious_sd_utility", "utility", "standard deviation of its utility"),
    label(FRONTS, "curve", "front (found), bound (vertices of the proven bound) or snapshot"),
    Column(FRONTS, "point", "", "number of the point on its curve, from 0, by rising energy"),
    Column(FRONTS, "generation", "", "number of generations of a snapshot; null on other curves"),
    Column(FRONTS, "energy_j", "J", "energy at the meter, as the objective has it"),
    Column(FRONTS, "utility", "utility", "utility, as the objective has it"),
    Column(FRONTS, "utility_per_mj", "utility/MJ", "utility / energy"),
    Column(FRONTS, "utility_bound", "utility", "proven: nothing earns more with that energy"),
    Column(FRONTS, "gap_percent", "%", "100 x (1 - utility / utility_bound)"),
    flag(FRONTS, "is_knee", "whether it is the knee of the curve"),
    flag(FRONTS, "is_peak", "whether it has the most utility per energy of the curve"),
    flag(FRONTS, "is_cautious", "whether it is the cautious choice of the front"),
    Column(FRONTS, "mean_energy_j", "J", "mean over fresh samples; this and what follows is null on other curves than "
           "front, and without chances"),
    Column(FRONTS, "mean_utility", "utility", "mean over fresh samples"),
    Column(FRONTS, "sd_energy_j", "J", "standard deviation over fresh samples"),
    Column(FRONTS, "sd_utility", "utility", "standard deviation over fresh samples"),
    Column(FRONTS, "correlation", "", "of energy and utility over fresh samples"),
    Column(FRONTS, "tasks_dropped", "tasks", "tasks dropped or left out, mean over samples if any"),
    Column(CLOUDS, "point", "", "number of the point, as in fronts; only with chances"),
    Column(CLOUDS, "sample", "", "number of the fresh sample of all times and powers, from 0"),
    Column(CLOUDS, "energy_j", "J", "energy at the meter in that sample"),
    Column(CLOUDS, "utility", "utility", "utility in that sample"),
    Column(CLOUDS, "tasks_dropped", "tasks", "tasks dropped or left out in that sample"),
    Column(ASSIGNMENTS, "point", "", "number of the point, as in fronts"),
    Column(ASSIGNMENTS, "task", "", "number of the task in order of arrival, from 0"),
    label(ASSIGNMENTS, "task_type", "name of the task type"),
    Column(ASSIGNMENTS, "machine", "", "number of the machine, from 0 by machine type; -1: not to run"),
    label(ASSIGNMENTS, "machine_type", "name of the machine type; null: not to run"),
    Column(ASSIGNMENTS, "pstate", "", "P-state, 0 the fastest"),
    Column(ASSIGNMENTS, "order", "", "place in the global order by which machines take their tasks"),
    Column(BOUNDS, "least_j", "J", "least energy of all tasks that must run"),
    Column(BOUNDS, "most_utility", "utility", "what all tasks are worth at most"),
    Column(BOUNDS, "drop_below", "", "as in the study: when tasks may be dropped"),
    Column(BOUNDS, "slot_s", "s", "length of the steps of time that its prices are for"),
)  # fmt: skip
