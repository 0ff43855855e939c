"""Tasks from people's own files, as a manager maps them or as they are known in advance."""

from __future__ import annotations

from joulewise.model import System, Workload
from joulewise.study.spec.machines import TABLES
from joulewise.study.spec.source import Draw, Source
from joulewise.worlds.frames import read_table
from joulewise.worlds.tasks.tables import WorkloadTable, check_tasks, read_workload
from joulewise.worlds.tasks.truth import truth_stream, with_truth


def _tabled(table: WorkloadTable, system: System, draw: Draw) -> Workload:
    return with_truth(read_workload(table, system, draw.folder), table, truth_stream(draw.seed, draw.trial))


TASK_TABLE = Source(
    TABLES,
    "tasks from your own file",
    WorkloadTable,
    _tabled,
    is_random=lambda table: table.time_spread > 0,
    check=lambda table, draw: check_tasks(table, draw.folder),
    n_tasks=lambda table, draw: read_table(table.tasks, draw.folder).frame.height,
    table="tasks",
)
