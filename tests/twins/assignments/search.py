"""The slow twin of a search's plan: every lane run from its first task on, utility read from the same table."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.kernels.assignments.plans import Curves, SearchScene

Lane = list[int]
"""The tasks of a machine, in their order."""


@dataclass(frozen=True)
class Outcome:
    """What a plan comes to: utility, energy, and when each task that runs ends."""

    worth: float
    spent_j: float
    end_s: dict[int, float]


def lanes_of(scene: SearchScene) -> list[Lane]:
    """The lanes of a plan; the last one holds what does not run."""
    plan = scene.plan
    return [plan.lanes.task[m, :n].tolist() for m, n in enumerate(plan.length.tolist())]


def outcome_of(scene: SearchScene) -> Outcome:
    """Run all lanes but the last."""
    facts, places = scene.facts, scene.plan.place.tolist()
    worth, spent_j, end_s = 0.0, 0.0, {}
    for lane in lanes_of(scene)[:-1]:
        free_s = 0.0
        for i in lane:
            kind, choice = facts.tasks.task_type[i], facts.choice[places[i]]
            done_s = max(free_s, float(facts.tasks.arrival_s[i])) + float(facts.exec_s[kind, choice])
            late_s = done_s - float(facts.tasks.arrival_s[i] + facts.tasks.hold_s[i])
            earned = float(facts.tasks.scale[i]) * value_of(scene.curves, int(facts.tasks.shape[i]), late_s)
            if earned < facts.drop_below:
                continue
            free_s = end_s[i] = done_s
            worth, spent_j = worth + earned, spent_j + float(facts.energy_j[kind, choice])
    return Outcome(worth, spent_j, end_s)


def value_of(curves: Curves, shape: int, late_s: float) -> float:
    """The value of a shape so long after the hold, as the table has it."""
    at = min(max(late_s * curves.per_s + curves.n_lead, 0.0), float(curves.n_cells))
    cell = min(int(at), curves.n_cells - 1)
    value, rise = curves.cells[shape * curves.n_cells + cell, :2].tolist()
    return float(value + rise * (at - cell))
