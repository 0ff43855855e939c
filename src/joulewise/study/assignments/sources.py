"""Where tasks known in advance come from, and what is sought for them."""

from __future__ import annotations

from dataclasses import replace

from joulewise.model import System, Workload
from joulewise.study.assignments.parameters import UtilityFrontParameters
from joulewise.study.spec.source import Draw, Source
from joulewise.study.spec.tabled_tasks import TASK_TABLE
from joulewise.worlds.assignments.known import KnownParameters, generate_known


def _generated(parameters: KnownParameters, system: System, draw: Draw) -> Workload:
    return generate_known(parameters, system, draw.seed, draw.trial)


def _with_start(parameters: UtilityFrontParameters, draw: Draw) -> UtilityFrontParameters:
    """The parameters with the whole path of the population to go on from."""
    start = parameters.start_from
    return parameters if start is None else replace(parameters, start_from=str(draw.folder / start))


WORKLOADS = (
    Source(
        "known",
        "tasks that arrived within an hour or so and are all known in advance (Friese 5.5.1, 7.3.1)",
        KnownParameters,
        _generated,
        is_random=lambda _: True,
        n_tasks=lambda known, _: known.n_tasks,
    ),
    TASK_TABLE,
)
"""Every source of tasks known in advance."""

UTILITY_GOAL = Source(
    "utility",
    "the trade-off between energy and utility of tasks known in advance (Friese 5, 7)",
    UtilityFrontParameters,
    _with_start,
)
