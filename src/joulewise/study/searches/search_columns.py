"""The columns that searches of several systems share."""

from __future__ import annotations

from joulewise import units
from joulewise.study.spec.column import RUNS, Column, label, metric, whole

SEARCH_COLUMNS = (
    metric("tasks", "tasks", "tasks of the bag, or known in advance"),
    metric("tasks_per_machine", "tasks", "tasks / machines"),
    metric(
        "knee_energy_j", "J", "energy at the knee of the front; for profit, of the bound",
        heading="energy at the knee",
    ),
    metric(
        "solve_s", "s", "wall-clock time of bound and search", is_measured=True,
        title="time", form=units.duration, rank=90, heading="time to solve",
    ),
)  # fmt: skip
"""What every search for tasks has."""

FRONT_COLUMNS = (
    metric(
        "points", "points", "points of the front that was found", title="points", form=whole, rank=40,
        heading="points of the front",
    ),
    metric(
        "least_energy_j", "J", "least energy of a point of the front",
        title="least energy", form=units.energy, rank=60,
    ),
    metric(
        "generations_per_s", "1/s", "generations per second (nsga2)", is_measured=True,
        heading="generations per second",
    ),
    label(RUNS, "engine", "what searched: one core, several, or a GPU by name", is_measured=True),
)  # fmt: skip
"""What every front has."""


def hypervolume_columns(title: str) -> tuple[Column, ...]:
    """How much of what is possible a front dominates, at its end and on the way there."""
    return (
        metric(
            "hypervolume_percent", "%",
            "100 x area that the front dominates up to the reference point / area that the proven bound dominates; "
            "null for objectives of chance",
            title=title, rank=20, heading="hypervolume (% of the bound's)",
        ),
        metric(
            "hypervolume_percent:*", "%", "the same after that number of generations; a column for each snapshot",
            heading="hypervolume (% of the bound's)",
        ),
    )  # fmt: skip
