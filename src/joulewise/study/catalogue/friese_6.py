"""Experiments of Friese chapter 6."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Differences, Samples, gain, ordering, per_trial

METHOD, PUBLISHED, ANNEALED = "optimise.method", "nsga2", "annealing"
BY_TYPES = ["2 machine types", "6 machine types", "9 machine types"]
BEST_TYPES = ["Intel Core i7-3770K", "Intel Core i7-3770K @ 4.3 GHz"]
AFTER, LAST = "hypervolume_percent:30000", "hypervolume_percent:100000"
_BEYOND_NADIR = 1.1
_KNEE_PERCENT = 50.0
_LITTLE_POINTS = 1.0
_BALANCED = 0.1
_TASKS = "task_percent:"

_SEARCH = (
    "the genetic search as published: 100 chromosomes, seeds Min Energy and Min-Min Completion Time, ranks by the "
    "number of dominators, no archive, mutation probability 0.5 for the text gives none; of the last population the "
    "part that is not dominated; the seed Min Energy spreads the tasks of a machine type evenly"
)
_READING = (
    "machines are switched off when they are done; the variances of the text are coefficients of variation; task types "
    f"are equally likely; {_SEARCH}"
)
_READING_TWO = (
    "the nine-machine table of the text is not public: a stand-in of the same nine processors and five benchmarks, "
    "built from public figures and expanded to 30 task types, takes its place, so numbers may differ, and it is the "
    "same in all trials, so that intervals do not tell what another expansion would give; machines are "
    f"switched off when they are done; {_SEARCH}; 100,000 iterations; beside it annealing from the bound"
)


def _metric(runs: pl.DataFrame, metric: str, variant: str, method: str) -> Samples:
    return per_trial(runs, metric, {"variant": variant, METHOD: method})


def _published(runs: pl.DataFrame, metric: str) -> Samples:
    return per_trial(runs, metric, {METHOD: PUBLISHED})


def _share_of_range(runs: pl.DataFrame, objective: str, unit: str) -> Samples:
    """Where the knee lies between the least of an objective and its most on the bound's front, in percent.

    All of it where the front lies wholly beyond.
    """
    least, knee, reference = (_published(runs, f"{name}_{objective}_{unit}") for name in ("least", "knee", "reference"))
    width = reference / _BEYOND_NADIR - least
    return np.where(width > 0, 100 * (knee - least) / width, 100.0)


def _knee(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much nearer than half-way to the corner of both least values the knee lies."""
    parts = _share_of_range(runs, "energy", "j") + _share_of_range(runs, "makespan", "s")
    return [("50 % less both distances of the knee from the least", _KNEE_PERCENT - parts)]


def _little_gained(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    late = _published(runs, LAST) - _published(runs, AFTER)
    return [("one point less what the last 70,000 gain", _LITTLE_POINTS - late)]


def _balanced(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Finishing times vary by less than 10 % at the least makespan, and by more than that at the least energy."""
    fast, thrifty = (_published(runs, f"busy_cov:{point}") for point in ("least makespan", "least energy"))
    return [("10 % less their variation at the least makespan", 100 * (_BALANCED - fast)),
            ("their variation at the least energy over 10 %", 100 * (thrifty - _BALANCED))]  # fmt: skip


def _energy_less_balanced(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    energies, times = (_published(runs, f"{name}_cov:least makespan") for name in ("energy", "busy"))
    return [("energies over finishing times at the least makespan", 100 * (energies - times))]


def _unused(method: str) -> Differences:
    """How many machine types beyond half a one run nothing at the least energy, with six and with nine types."""
    return lambda runs: [
        (variant, _metric(runs, "unused_types:least energy", variant, method) - 0.5) for variant in BY_TYPES[1:]
    ]


def _more_types(method: str, metric: str) -> Differences:
    """By how many percent fewer machine types are worse."""
    return lambda runs: [
        (f"{few} over {many}", gain(_metric(runs, metric, few, method), _metric(runs, metric, many, method)))
        for few, many in pairwise(BY_TYPES)
    ]


def _best_types(method: str) -> Differences:
    """How many more of the tasks types 8 and 9 run than each of the others."""

    def gains(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
        types = [name.removeprefix(_TASKS) for name in runs.columns if name.startswith(_TASKS)]
        shares = {name: _metric(runs, _TASKS + name, BY_TYPES[-1], method) for name in types}
        others = [name for name in types if name not in BEST_TYPES]
        return [(f"{best} over {other}", shares[best] - shares[other]) for best in BEST_TYPES for other in others]

    return gains


def _by_types(method: str, suffix: str, by: str) -> tuple[Claim, ...]:
    """What the text says of systems with 2, 6 and 9 machine types, judged on the fronts of one search."""
    return (
        Claim(
            f"6.5{suffix}",
            "with six and with nine machine types some run no task at the least energy",
            "fig. 6.7A and 6.8A",
            ordering(_unused(method), " types beyond half a one"),
            by,
        ),
        Claim(
            f"6.6{suffix}",
            "the more machine types, the lower the makespan",
            "fig. 6.6 to 6.8",
            ordering(_more_types(method, "least_makespan_s"), " %"),
            f"compared at the ends of the fronts; {by}",
        ),
        Claim(
            f"6.6 (energy){suffix}",
            "the more machine types, the lower the energy",
            "fig. 6.6 to 6.8",
            ordering(_more_types(method, "least_energy_j"), " %"),
            f"compared at the ends of the fronts: with more types to choose from the least energy cannot rise; {by}",
            "constructed",
        ),
        Claim(
            f"6.7{suffix}",
            "machine types 8 and 9, both i7-3770K, run the most tasks",
            "best to invest in",
            ordering(_best_types(method)),
            f"compared in the share of all tasks, mean over the points of the front, on the stand-in table; {by}",
        ),
    )


FIG_6_3 = Experiment(
    "fig-6.3",
    "Front of energy and makespan of 1000 tasks on 50 machines of 10 types, by iterations, and its machines",
    "Friese 6.5",
    _READING,
    "front",
    (
        Claim(
            "6.1",
            "the front has a definite knee",
            "visible in fig. 6.3",
            ordering(_knee, " %"),
            "read as: the knee lies more than half-way from the straight line between the ends to the corner of both "
            "least values; ranges are those of the bound's front. Some knee every bent front has by construction: what "
            "can fail is how far out it lies, and half-way is our measure, because the text has none",
        ),
        Claim(
            "6.2",
            "little is gained after 30,000 iterations",
            "very little",
            ordering(_little_gained),
            "read as: less than one point of the bound's hypervolume from there to 100,000",
        ),
        Claim(
            "6.3",
            "at the least makespan the finishing times of machines are balanced, at the least energy they are not",
            "fig. 6.4",
            ordering(_balanced, " %"),
            "balanced is read as: a coefficient of variation below 10 %",
        ),
        Claim(
            "6.4",
            "at the least makespan the energies of machines are less balanced than their finishing times",
            "fig. 6.5",
            ordering(_energy_less_balanced, " %"),
            "coefficients of variation",
        ),
    ),
)

FIG_6_8 = Experiment(
    "fig-6.8",
    "Fronts of energy and makespan with 2, 6 and 9 machine types, 36 machines each, and what each machine does",
    "Friese 6.6",
    _READING_TWO,
    "machines-by-type",
    (
        *_by_types(PUBLISHED, "", "by the genetic search, as published"),
        *_by_types(ANNEALED, " (annealing)", "by annealing from the bound, which comes nearer to it"),
    ),
    standing="stand-in",
)
