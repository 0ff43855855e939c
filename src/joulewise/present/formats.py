"""Numbers, intervals and study keys as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from joulewise.units import duration, energy, joules, power, seconds, watts

MISSING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
_MAX_DECIMALS = 6


def is_missing(value: object) -> bool:
    """True for None and NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def fixed(value: float | None, decimals: int) -> str:
    """A number with thousands separators, a real minus sign and a given number of decimals."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else f"{_MINUS}\N{INFINITY}"
    text = f"{abs(value):,.{decimals}f}"
    negative = value < 0 and any(digit in text for digit in "123456789")
    return f"{_MINUS}{text}" if negative else text


def number(value: float | None, significant: int = 3) -> str:
    """A number with at least the given significant digits, its whole part complete: 65,051; 53.1; 0.0123."""
    if value is None or not math.isfinite(value) or value == 0:
        return fixed(value, 0)
    if abs(value) >= 1e15 or abs(value) < 1e-6:
        return f"{value:.{significant - 1}e}".replace("-", _MINUS)
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return fixed(value, 0 if float(value).is_integer() else decimals)


def signed(value: float | None, decimals: int) -> str:
    """A difference with its sign always shown."""
    text = fixed(value, decimals)
    shown_positive = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if shown_positive else text


def percent(value: float | None, decimals: int = 1) -> str:
    """A percentage with its sign set off by a thin space."""
    return f"{fixed(value, decimals)}{THIN}%"


def decimals_for(half_width: float | None, fallback: int = 1) -> int:
    """Decimals that show an interval's half-width with two significant digits."""
    if half_width is None or not math.isfinite(half_width) or half_width <= 0:
        return fallback
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(half_width))))


def small(mean: float, half: float) -> str:
    """A mean near zero and half of its interval, both with the same power of ten."""
    power = math.floor(math.log10(max(abs(mean), half)))
    size = 10.0**power
    decimals = max(2, decimals_for(half / size, fallback=2))
    return f"({fixed(mean / size, decimals)} ± {fixed(half / size, decimals)})e{power}".replace("-", _MINUS)


def plain(value: object) -> str:
    """Any swept value in words: numbers with separators, lists with commas, everything else as it stands."""
    if is_missing(value):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return fixed(value, 0)
    if isinstance(value, float):
        return fixed(value, 0) if value.is_integer() else f"{value:,.6g}".replace("-", _MINUS)
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return str(value)


def _celsius(value_c: float) -> str:
    return f"{plain(value_c)} °C"


_QUANTITIES: dict[str, Callable[[float], str]] = {"_s": duration, "_j": energy, "_w": power, "_c": _celsius}
"""How values of a key are written, by the unit at the end of its name."""


def key_name(key: str) -> str:
    """A study key read out from its own last part, less its unit."""
    name = key.rpartition(".")[2]
    return (name[:-2] if name[-2:] in _QUANTITIES else name).replace("_", " ")


def key_value(key: str, value: object) -> str:
    """One value of a study key in words: a quantity in the unit a person would choose, else as `plain` has it."""
    show = _QUANTITIES.get(key[-2:])
    if show and isinstance(value, int | float) and math.isfinite(value):
        return show(value)
    return plain(value)


def energy_unit(most_j: float) -> tuple[str, float]:
    """The unit that suits energies up to this one, with its size in joules: ("GJ", 1e9)."""
    unit = energy(most_j).split()[-1]
    return unit, joules(f"1 {unit}")


def power_unit(most_w: float) -> tuple[str, float]:
    """The unit that suits powers up to this one, with its size in watts: ("kW", 1000)."""
    unit = power(most_w).split()[-1]
    return unit, watts(f"1 {unit}")


def time_unit(most_s: float) -> tuple[str, float]:
    """The unit that suits durations up to this one, with its size in seconds: ("min", 60)."""
    unit = duration(most_s).split()[-1]
    return unit, seconds(f"1 {unit}")


@dataclass(frozen=True)
class Metric:
    """How a metric is shown: its name, the unit of its column, or a formatter that writes the unit."""

    name: str
    unit: str = ""
    show: Callable[[float], str] | None = None


METRICS = {
    "utility_percent": Metric("utility", "% of maximum"),
    "utility": Metric("utility earned"),
    "maximum_utility": Metric("maximum utility"),
    "utility_bound": Metric("proven bound"),
    "possible_percent": Metric("utility", "% of the proven bound"),
    "tasks_arrived": Metric("tasks arrived"),
    "tasks_completed": Metric("tasks completed"),
    "tasks_dropped": Metric("tasks dropped"),
    "tasks_waiting": Metric("tasks left waiting"),
    "tasks_killed": Metric("tasks killed"),
    "energy_j": Metric("energy", "", energy),
    "standby_energy_j": Metric("energy without a run", "", energy),
    "energy_cost": Metric("cost of energy"),
    "budget_j": Metric("energy budget", "", energy),
    "budget_percent": Metric("energy", "% of the budget"),
    "exhausted_s": Metric("energy used up at", "", duration),
    "priority_percent": Metric("utility", "% of the level's maximum"),
    "group_percent": Metric("utility", "% of what was earned"),
    "busy_percent": Metric("machines busy", "%"),
    "idle_percent": Metric("machines idle", "%"),
    "runs_lost": Metric("runs lost to outages"),
    "energy_peak_w": Metric("highest power", "W"),
    "system_tma": Metric("task-machine affinity"),
    "system_tdh": Metric("task difficulty homogeneity"),
    "system_mph": Metric("machine performance homogeneity"),
    "mapping_events": Metric("mapping events"),
    "late_events": Metric("late mapping events"),
    "mapping_s": Metric("time spent mapping", "", duration),
    "run_s": Metric("time of a run, with compiling and checks", "", duration),
    "tasks": Metric("tasks"),
    "tasks_per_machine": Metric("tasks per machine"),
    "points": Metric("points of the front"),
    "vertices": Metric("vertices of the bound"),
    "hypervolume_percent": Metric("hypervolume", "% of the bound's"),
    "gap_percent": Metric("distance to the bound", "%"),
    "least_energy_j": Metric("least energy", "", energy),
    "least_makespan_s": Metric("least makespan", "", duration),
    "energy_bound_j": Metric("proven least energy", "", energy),
    "makespan_bound_s": Metric("proven least makespan", "", duration),
    "knee_energy_j": Metric("energy at the knee", "", energy),
    "knee_makespan_s": Metric("makespan at the knee", "", duration),
    "makespan_s": Metric("makespan", "", duration),
    "wait_s": Metric("waiting on purpose", "", duration),
    "reference_energy_j": Metric("energy of the reference point", "", energy),
    "reference_makespan_s": Metric("makespan of the reference point", "", duration),
    "mean_power_w": Metric("mean power", "W"),
    "unused_types": Metric("machine types never used"),
    "task_percent": Metric("tasks", "%"),
    "busy_cov": Metric("variation of finishing times"),
    "energy_cov": Metric("variation of energies"),
    "price": Metric("price of the bag"),
    "cost_per_kwh": Metric("cost per kWh"),
    "profit_ratio": Metric("profit ratio"),
    "profit": Metric("profit per bag"),
    "profit_per_s": Metric("profit per second"),
    "profit_bound_per_s": Metric("proven most profit per second"),
    "pareto_profit_per_s": Metric("most on the front"),
    "on_front_percent": Metric("optimum on the front", "% of trials"),
    "optimum_energy_j": Metric("energy at the optimum", "", energy),
    "optimum_makespan_s": Metric("makespan at the optimum", "", duration),
    "normalised_percent": Metric("hypervolume", "% of the whole box"),
    "most_utility": Metric("most utility"),
    "knee_utility": Metric("utility at the knee"),
    "peak_energy_j": Metric("energy where a joule earns most", "", energy),
    "peak_utility": Metric("utility where a joule earns most"),
    "peak_utility_per_mj": Metric("most utility per energy", "1/MJ"),
    "energy_sd_percent": Metric("spread of energy", "% of its mean"),
    "utility_sd_percent": Metric("spread of utility", "% of its mean"),
    "fresh_percent": Metric("hypervolume on fresh samples", "% of the whole box"),
    "fresh_mean_percent": Metric("hypervolume by means on fresh samples", "% of the whole box"),
    "marker_sds": Metric("objective off the mean of samples", "standard deviations"),
    "dropped_sd_correlation": Metric("rank correlation of tasks dropped and spread of utility"),
    "utility_ceiling": Metric("what tasks are worth at most"),
    "most_utility_energy_j": Metric("energy at the most utility", "", energy),
    "least_energy_utility": Metric("utility at the least energy"),
    "solve_s": Metric("time to solve", "", duration),
    "jobs_arrived": Metric("jobs arrived"),
    "jobs_completed": Metric("jobs completed"),
    "jobs_ran": Metric("jobs that ran"),
    "jobs_running": Metric("jobs running at the end"),
    "jobs_dropped": Metric("jobs dropped"),
    "jobs_killed": Metric("jobs killed"),
    "jobs_waiting": Metric("jobs left waiting"),
    "jobs_impossible": Metric("jobs that fit nowhere"),
    "runs_preempted": Metric("runs preempted"),
    "mean_wait_s": Metric("mean wait", "", duration),
    "median_wait_s": Metric("median wait", "", duration),
    "max_wait_s": Metric("longest wait", "", duration),
    "mean_turnaround_s": Metric("mean turnaround", "", duration),
    "median_turnaround_s": Metric("median turnaround", "", duration),
    "max_turnaround_s": Metric("longest turnaround", "", duration),
    "mean_bounded_slowdown": Metric("mean bounded slowdown"),
    "median_bounded_slowdown": Metric("median bounded slowdown"),
    "max_bounded_slowdown": Metric("highest bounded slowdown"),
    "mean_queue_length": Metric("mean queue", "jobs"),
    "max_queue_length": Metric("longest queue", "jobs"),
    "energy_per_job_j": Metric("energy per job", "", energy),
    "users": Metric("users"),
    "fairness": Metric("fairness to users", "Jain's index"),
    "mapping_event_s": Metric("time per mapping event", "", duration),
    "generations_per_s": Metric("generations per second"),
    "nodes": Metric("nodes"),
    "cores": Metric("cores"),
    "crr_percent": Metric("co-located reward rate", "%"),
    "rr_percent": Metric("reward rate without interference", "%"),
    "bound_percent": Metric("proven most", "%"),
    "slowed_reward_per_s": Metric("co-located reward rate", "1/s"),
    "reward_per_s": Metric("reward rate without interference", "1/s"),
    "reward_bound_per_s": Metric("proven most", "1/s"),
    "most_reward_per_s": Metric("reward rate of all that arrives", "1/s"),
    "total_w": Metric("power of nodes and cooling", "", power),
    "nodes_w": Metric("power of nodes", "", power),
    "cooling_w": Metric("power of cooling", "", power),
    "cap_w": Metric("power cap", "", power),
    "cap_margin_w": Metric("below the cap", "", power),
    "redline_margin_k": Metric("below the redline", "K"),
    "hottest_inlet_c": Metric("warmest inlet", "°C"),
    "supply_mean_c": Metric("mean supply temperature", "°C"),
    "n_idle_cores": Metric("cores at rest"),
    "heavy_neighbours": Metric("memory-bound neighbours of a memory-bound task"),
    "n_idle_beside_heavy": Metric("cores at rest beside a memory-bound task"),
    "day_planned_percent": Metric("planned for the day", "%"),
    "day_earned_percent": Metric("earned in the day", "%"),
    "earned_of_planned_percent": Metric("earned of what was planned", "%"),
    "day_late_percent": Metric("tasks too late", "%"),
    "day_dropped_percent": Metric("tasks dropped", "%"),
    "day_peak_w": Metric("highest power", "", power),
    "day_above_cap_percent": Metric("time above the cap", "%"),
    "day_redline_margin_k": Metric("below the redline", "K"),
    "day_plans": Metric("plans"),
    "first_crr_percent": Metric("co-located reward rate of the first plan", "%"),
    "first_plan_s": Metric("time to the first plan", "", duration),
    "value_per_kw": Metric("worth of another kW", "1/s"),
    "value_per_k": Metric("worth of another degree", "1/s"),
}


def metric_words(metric: str) -> Metric:
    """How a metric is shown; one without an entry is read out from its own name, in the unit at its end."""
    return METRICS.get(metric) or _read_out(metric)


def _read_out(metric: str) -> Metric:
    if ":" in metric or metric.endswith("_per_s"):  # of a level, whose name ends in no unit, or a rate
        return Metric(metric.replace("_", " "))
    if metric.endswith("_percent"):
        return Metric(key_name(metric.removesuffix("_percent")), "%")
    return Metric(key_name(metric), "", _QUANTITIES.get(metric[-2:]))


def metric_title(metric: str) -> str:
    """A metric as a column heading, with its level and unit."""
    stem, _, level = metric.partition(":")
    words = metric_words(stem)
    name = f"{words.name}, {level}" if level else words.name
    return f"{name} ({words.unit})" if words.unit else name


def metric_value(metric: str, value: float | None) -> str:
    """One value of a metric, with a unit where its column heading carries none."""
    show = metric_words(metric).show
    return number(value) if value is None or show is None or not math.isfinite(value) else show(value)
