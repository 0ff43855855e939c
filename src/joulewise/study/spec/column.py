"""What a column of a results table is, the names of tables, and the columns that all studies have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

RUNS, RECORDS, TRACES, LOSSES = "runs", "records", "traces", "losses"
FRONTS, MACHINES, COUNTS, SALES = "fronts", "machines", "counts", "sales"
CLOUDS, ASSIGNMENTS = "clouds", "assignments"
JOBS, JOB_TRACES, JOB_TYPES, USERS, QUEUES = "jobs", "job_traces", "job_types", "users", "queues"
CLUSTERS, PIECES, PLACES, FINDINGS = "clusters", "pieces", "places", "findings"
LOGGED, WAITS = "logged", "waits"
NODES, CRACS, CORES, RATES, PROGRESS = "nodes", "cracs", "cores", "rates", "progress"
BOUNDS = "bounds"


def one_digit(value: float) -> str:
    """A number with one digit after the point."""
    return f"{value:.1f}"


def two_digits(value: float) -> str:
    """A number with two digits after the point."""
    return f"{round(value, 2) + 0.0:.2f}"  # never -0.00


def whole(value: float) -> str:
    """A number without digits after the point."""
    return f"{value:.0f}"


def three_figures(value: float) -> str:
    """A number with three figures."""
    return f"{value:.3g}"


def four_figures(value: float) -> str:
    """A number with four figures."""
    return f"{value:.4g}"


def five_figures(value: float) -> str:
    """A number with five figures."""
    return f"{value:.5g}"


def amount(value: float) -> str:
    """A sum of money or the like: three figures, and all those before the point."""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


@dataclass(frozen=True)
class Column:
    """One column; `is_metric`: averaged over trials; `is_measured`: it measures the computer, such as a time.

    It `holds` numbers, texts or flags. Not every world has one that `is_optional`. Of one whose `least_is_best`, the
    lowest mean is the best, of others the highest.

    A `*` in its name stands for any text: there is a column for each level, group or machine type that the world has.
    The table of `joulewise run` shows those with a `rank`, the lowest first, under their `title` and in their `form`.
    Tables of a report have them under their `heading`; one without is read out from its own name.
    """

    table: str
    name: str
    unit: str
    meaning: str
    is_metric: bool = False
    is_measured: bool = False
    title: str = ""
    form: Callable[[float], str] = two_digits
    rank: int = 0
    heading: str = ""
    holds: type = float
    is_optional: bool = False
    least_is_best: bool = False


def label(table: str, name: str, meaning: str, *, is_measured: bool = False, is_optional: bool = False) -> Column:
    """A column of texts."""
    return Column(table, name, "", meaning, is_measured=is_measured, holds=str, is_optional=is_optional)


def flag(table: str, name: str, meaning: str) -> Column:
    """A column of truths."""
    return Column(table, name, "", meaning, holds=bool)


def metric(
    name: str,
    unit: str,
    meaning: str,
    *,
    is_measured: bool = False,
    title: str = "",
    form: Callable[[float], str] = two_digits,
    rank: int = 0,
    heading: str = "",
    is_optional: bool = False,
    least_is_best: bool = False,
) -> Column:
    """A number of each run, averaged over trials."""
    return Column(
        RUNS, name, unit, meaning, True, is_measured, title, form, rank, heading, float, is_optional, least_is_best
    )


FIRST_COLUMNS = (
    label(RUNS, "run", "key of the run: a hash of its world, decisions, seed, trial and files"),
    label(RUNS, "world", "key of the world; runs with the same one met the same machines and tasks"),
    label(RUNS, "variant", "name of the variant, null in a study without variants"),
    Column(RUNS, "trial", "", "number of the trial, from 0"),
    label(
        RUNS, "stage",
        "what the trial is for in a study that tunes: tune chose values, judge tells how good what was chosen is",
        is_optional=True,
    ),
    Column(RUNS, "seed", "", "seed of the study"),
    label(
        RUNS, "bound",
        "how bounds are proven: of utility by prices, or trivially (each task alone), of what may be suspended by "
        "preemptive-prices, none where logs are replayed without rules; of bags by the duals of an lp, of their sales "
        "by sales-prices; of fronts of utility by prices at a drop_below, none for objectives of chance; of facilities "
        "by facility-prices",
    ),
    label(RUNS, "status", "done or failed"),
    label(RUNS, "error", "why the run failed, null if it did not"),
)  # fmt: skip
"""What every run has first."""

LAST_COLUMNS = (
    metric(
        "run_s", "s", "wall-clock time of a run: checks, files and compiling too", is_measured=True,
        heading="time of a run, with compiling and checks",
    ),
)  # fmt: skip
"""What every run has last."""

BOUND_COLUMNS = (
    label(BOUNDS, "world", "key of the world that a stored proof is of; `joulewise query` makes this table of them"),
    label(BOUNDS, "kind", "how it proves the bound, as `bound` of the runs says"),
    Column(BOUNDS, "value", "", "what it proves; null where that is a curve, whose vertices have a row each"),
)
"""What every stored proof of a bound has."""
