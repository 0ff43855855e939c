"""The table of figures: each row is drawn whenever the records hold what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from joulewise.present.assignments.densities import densities, has_variations
from joulewise.present.assignments.fronts import (
    fronts_by_seeds,
    has_populations,
    has_rates,
    hypervolume_by_generations,
    of_utilities,
    steps_of,
    utility_front,
    utility_per_energy,
    with_end,
)
from joulewise.present.assignments.fuzzy import (
    fuzzy_front,
    fuzzy_fronts_compared,
    has_clouds,
    has_spread,
    several_aims,
    spread_of_points,
)
from joulewise.present.bags.gaps import has_gaps, profit_by_ratio, profit_gap
from joulewise.present.bags.machines import finishing_times, has_machines, machine_energies, machines_by_type
from joulewise.present.bags.profit import feasible_region, profit_on_front, with_optima
from joulewise.present.curves import ENERGY_TRACE, UTILITY_TRACE, energy_over_time, trace_frame, utility_over_time
from joulewise.present.facility.bars import compares_rates, rates_by_technique
from joulewise.present.facility.cores import cores_of_nodes, has_cores
from joulewise.present.facility.floor import has_nodes
from joulewise.present.facility.map import map_of_powers, map_of_temperatures
from joulewise.present.facility.progress import has_progress, rate_over_time
from joulewise.present.facility.sweep import has_sweep, rates_by_number
from joulewise.present.fronts import front_by_generations, fronts
from joulewise.present.intervals import differences
from joulewise.present.jobs.bars import COUNTS as JOB_COUNTS
from joulewise.present.jobs.bars import (
    compares,
    earn_apart,
    earned_over_time,
    energy_by_scheduler,
    job_fates,
    scheduler_differences,
    schedulers_against_energy,
    used_over_time,
    utility_by_scheduler,
    waits_by_scheduler,
)
from joulewise.present.jobs.curves import has_curves, has_trace, jobs_over_time
from joulewise.present.jobs.gantt import gantt, has_runs
from joulewise.present.jobs.leniency import has_leniencies, over_job_leniency
from joulewise.present.jobs.times import has_plans, has_worths, run_times, utility_by_size
from joulewise.present.jobs.view import job_view
from joulewise.present.jobs.waits import has_several, has_waits, slowdown_by_user, wait_distribution, waits_by_queue
from joulewise.present.layout import Drawing
from joulewise.present.plane import BOUND, FOUND, REGION, SNAPSHOT, has_curve
from joulewise.present.records import (
    ENVIRONMENT,
    FILTER,
    FRONT,
    LENIENCY,
    MANAGED,
    RATIO,
    THRESHOLD,
    WEIGHT,
    Records,
)
from joulewise.present.settings import tunes
from joulewise.present.tasks.fates import COUNTS, fates, fates_by_priority, shares
from joulewise.present.tasks.levels import BY_GROUP, BY_PRIORITY, levels_of, utility_by_group, utility_by_priority
from joulewise.present.tasks.policy_bars import (
    completed_by_policy,
    utility_by_policy,
    utility_by_setting,
    utility_by_threshold,
)
from joulewise.present.tasks.sensitivity import over_leniency, over_weight
from joulewise.present.tradeoff import utility_against_energy


@dataclass(frozen=True)
class Figure:
    """One row of the table; `name` is also its file name, `needs` are names of `NEEDS` that must all hold."""

    name: str
    title: str
    needs: tuple[str, ...]
    draw: Callable[[Records], Drawing]


NEEDS: dict[str, Callable[[Records], bool]] = {
    "comparison": lambda records: (
        records.study.kind == MANAGED and records.main is not None and not records.best.is_empty()
    ),
    "thresholds": lambda records: THRESHOLD in records.others,
    "one setting": lambda records: not (records.varies(ENVIRONMENT) or records.varies(FILTER)),
    "environments or filters": lambda records: records.varies(ENVIRONMENT) or records.varies(FILTER),
    "leniencies": lambda records: tunes(records, LENIENCY),
    "weights": lambda records: tunes(records, WEIGHT),
    "utility over time": lambda records: not trace_frame(records, UTILITY_TRACE).is_empty(),
    "energy over time": lambda records: not trace_frame(records, ENERGY_TRACE).is_empty(),
    "differences": lambda records: not records.behind_best.is_empty(),
    "task counts": lambda records: not shares(records).is_empty(),
    "task counts by priority": lambda records: all(levels_of(records, metric) for metric in COUNTS),
    "priority levels": lambda records: len(levels_of(records, BY_PRIORITY.metric)) > 1,
    "machine groups": lambda records: len(levels_of(records, BY_GROUP.metric)) > 1,
    "optima": lambda records: records.measures("optimum_energy_j") and not with_optima(records).is_empty(),
    "bound front": lambda records: has_curve(records, BOUND),
    "region": lambda records: has_curve(records, REGION),
    "front": lambda records: records.study.kind == FRONT and has_curve(records, FOUND),
    "front of utility": of_utilities,
    "utility per energy": has_rates,
    "generations": lambda records: has_curve(records, SNAPSHOT),
    "one population": lambda records: not has_populations(records),
    "several populations": has_populations,
    "hypervolumes by generation": lambda records: len(steps_of(with_end(records))) > 1,
    "samples": has_clouds,
    "means and variances": has_spread,
    "several objectives": several_aims,
    "variations": has_variations,
    "machines": has_machines,
    "profit ratios": lambda records: records.varies(RATIO) and records.measures("profit_bound_per_s"),
    "many trials of a profit": has_gaps,
    "energy": lambda records: records.measures("utility", "energy_j") and records.runs["energy_j"].n_unique() > 1,
    "schedulers": compares,
    "utility of jobs": earn_apart,
    "energy of jobs": lambda records: compares(records, "energy_j"),
    "waits of schedulers": lambda records: compares(records, "mean_wait_s", "mean_bounded_slowdown"),
    "fates of jobs": lambda records: compares(records, *JOB_COUNTS),
    "differences of schedulers": lambda records: not job_view(records, folds=True)[0].behind_best.is_empty(),
    "leniencies of jobs": has_leniencies,
    "utility of jobs over time": lambda records: has_trace(records, UTILITY_TRACE),
    "energy of jobs over time": lambda records: has_trace(records, ENERGY_TRACE),
    "clusters over time": has_curves,
    "runs of jobs": has_runs,
    "waits of jobs": has_waits,
    "queues": lambda records: has_several(records, "queues", "queue"),
    "users": lambda records: has_several(records, "users", "user"),
    "plans": has_plans,
    "job types": has_worths,
    "techniques": compares_rates,
    "progress": has_progress,
    "a number turned": has_sweep,
    "nodes of a facility": has_nodes,
    "cores of a facility": has_cores,
}

FIGURES = (
    Figure("utility-by-policy", "Utility by policy", ("comparison", "one setting"), utility_by_policy),
    Figure(
        "utility-by-threshold",
        "Utility by dropping threshold",
        ("comparison", "thresholds"),
        utility_by_threshold,
    ),
    Figure(
        "utility-by-setting",
        "Utility by environment and energy filter",
        ("comparison", "environments or filters"),
        utility_by_setting,
    ),
    Figure("utility-by-leniency", "Leniency of the energy filter", ("comparison", "leniencies"), over_leniency),
    Figure("utility-by-weight", "Weight of energy", ("comparison", "weights"), over_weight),
    Figure("differences", "Distance to the best", ("comparison", "differences"), differences),
    Figure("utility-against-energy", "Utility against energy", ("comparison", "energy"), utility_against_energy),
    Figure("utility-over-time", "Utility over the day", ("utility over time",), utility_over_time),
    Figure("energy-over-time", "Energy over the day", ("energy over time",), energy_over_time),
    Figure("fates", "What became of the tasks", ("task counts",), fates),
    Figure("completed-by-policy", "Completed tasks", ("comparison", "task counts"), completed_by_policy),
    Figure("utility-by-priority", "Utility by priority level", ("priority levels",), utility_by_priority),
    Figure("utility-by-group", "Utility by machine group", ("machine groups",), utility_by_group),
    Figure("fates-by-priority", "Who was dropped", ("task counts by priority",), fates_by_priority),
    Figure("utility-by-scheduler", "Utility by scheduler", ("utility of jobs",), utility_by_scheduler),
    Figure("energy-by-scheduler", "Energy by scheduler", ("energy of jobs",), energy_by_scheduler),
    Figure("job-leniency", "Leniency of the energy filter", ("leniencies of jobs",), over_job_leniency),
    Figure(
        "scheduler-differences",
        "Distance to the best",
        ("utility of jobs", "differences of schedulers"),
        scheduler_differences,
    ),
    Figure(
        "schedulers-against-energy",
        "Utility against energy",
        ("utility of jobs", "energy of jobs", "energy"),
        schedulers_against_energy,
    ),
    Figure("waits-by-scheduler", "Wait and slowdown by scheduler", ("waits of schedulers",), waits_by_scheduler),
    Figure("job-fates", "What became of the jobs", ("fates of jobs",), job_fates),
    Figure("wait-distribution", "How long jobs wait", ("waits of jobs",), wait_distribution),
    Figure("waits-by-queue", "Wait and slowdown by queue", ("queues",), waits_by_queue),
    Figure("slowdown-by-user", "Slowdown by user", ("users",), slowdown_by_user),
    Figure("clusters-over-time", "Clusters, queue and power over time", ("clusters over time",), jobs_over_time),
    Figure(
        "job-utility-over-time", "Utility over time", ("utility of jobs", "utility of jobs over time"), earned_over_time
    ),
    Figure("job-energy-over-time", "Energy over time", ("schedulers", "energy of jobs over time"), used_over_time),
    Figure("gantt", "Which nodes ran what", ("runs of jobs",), gantt),
    Figure("run-times", "Planned and true run times", ("plans",), run_times),
    Figure("utility-by-size", "Size and utility of job types", ("job types",), utility_by_size),
    Figure("front", "Energy and makespan", ("front", "bound front"), fronts),
    Figure("utility-front", "Utility and energy", ("front of utility",), utility_front),
    Figure("fronts-by-seeds", "What the populations became", ("several populations",), fronts_by_seeds),
    Figure(
        "front-by-generations", "How the search came there", ("generations", "one population"), front_by_generations
    ),
    Figure(
        "hypervolume-by-generations",
        "How fast the search came there",
        ("front of utility", "hypervolumes by generation"),
        hypervolume_by_generations,
    ),
    Figure("utility-per-energy", "Where a joule earns most", ("utility per energy",), utility_per_energy),
    Figure("fuzzy-front", "What may happen", ("samples", "means and variances"), fuzzy_front),
    Figure(
        "fuzzy-fronts-compared",
        "What may happen, by objective",
        ("samples", "means and variances", "several objectives"),
        fuzzy_fronts_compared,
    ),
    Figure("spread-of-points", "How much utility and energy vary", ("means and variances",), spread_of_points),
    Figure("densities", "How much times and powers vary", ("variations",), densities),
    Figure("finishing-times", "Finishing times of the machines", ("machines", "front", "bound front"), finishing_times),
    Figure("machine-energies", "Energies of the machines", ("machines", "front", "bound front"), machine_energies),
    Figure("machines-by-type", "Machines by type", ("machines", "front", "bound front"), machines_by_type),
    Figure("profit-on-front", "Most profit along the front", ("optima", "bound front"), profit_on_front),
    Figure("profit-gap", "Distance to the bound on profit", ("many trials of a profit",), profit_gap),
    Figure("profit-by-ratio", "Profit by profit ratio", ("profit ratios",), profit_by_ratio),
    Figure("rates-by-technique", "Reward rate by technique", ("techniques",), rates_by_technique),
    Figure("rates-by-number", "Reward rate as one number changes", ("a number turned",), rates_by_number),
    Figure("rate-over-time", "Reward rate by time of the search", ("progress",), rate_over_time),
    Figure("cores-of-nodes", "What the cores do", ("cores of a facility",), cores_of_nodes),
    Figure("map-of-temperatures", "How warm the air is", ("nodes of a facility",), map_of_temperatures),
    Figure("map-of-powers", "Where the power goes", ("nodes of a facility",), map_of_powers),
    Figure("feasible-region", "What can be reached, and its profit", ("optima", "region"), feasible_region),
)


def drawable(records: Records) -> list[Figure]:
    """The figures whose needs the records fulfil, in the order of the table."""
    return [figure for figure in FIGURES if all(NEEDS[need](records) for need in figure.needs)]


def drawings(records: Records) -> Iterator[tuple[Figure, Drawing]]:
    """Each figure that can be drawn, with its drawing."""
    return ((figure, figure.draw(records)) for figure in drawable(records))
