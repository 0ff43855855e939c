"""What the machines do in stored assignments; runs in a worker of the desk, where worlds are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from joulewise.serve import solving

if TYPE_CHECKING:
    import polars as pl


def machines(asked: solving.Question, run: str, points: Sequence[int]) -> pl.DataFrame:
    """When each machine is done, with how many tasks, and what energy it uses, at some points of the front of a run."""
    import polars as pl

    from joulewise.model.allocation import Status
    from joulewise.optimise.assignments.problem import allocation_of, assignment_facts
    from joulewise.study import open_results
    from joulewise.study.assignments.tables import assignments_of
    from joulewise.study.spec.column import ASSIGNMENTS

    _, point = solving.point_of(asked)
    known = solving.world_of(asked, point.world)
    world, system = known.world, known.world.system
    facts = assignment_facts(world, point.decision.parameters.drop_below)
    table = open_results(asked.folder).details(ASSIGNMENTS, None, [run]).filter(pl.col("point").is_in(list(points)))
    frames = []
    for number in points:
        (assignment,) = assignments_of(table.filter(pl.col("point") == number))
        done = allocation_of(facts, assignment)
        ran = np.flatnonzero(done.status == Status.RAN)
        machine, n = done.machine[ran], system.n_machines
        kind, task = system.machine_type[machine], world.workload.task_type[ran]
        used_j = world.supply.pue * system.eec_j[task, kind, done.pstate[ran]]
        last_s = np.zeros(n)
        np.maximum.at(last_s, machine, done.end_s[ran] - facts.begin_s)
        frames.append(
            pl.DataFrame(
                {
                    "point": [number] * n,
                    "machine": np.arange(n),
                    "machine_type": [system.machine_types[at] for at in system.machine_type],
                    "tasks": np.bincount(machine, minlength=n),
                    "done_s": last_s,
                    "energy_j": np.bincount(machine, used_j, n),
                }
            )
        )
    return pl.concat(frames)
