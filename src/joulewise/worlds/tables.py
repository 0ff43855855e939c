"""Systems and workloads from tables that people write, in CSV or Parquet files."""

from joulewise.worlds.frames import Column
from joulewise.worlds.series import SERIES_COLUMNS
from joulewise.worlds.system_tables import (
    ETC_COLUMNS,
    MACHINE_COLUMNS,
    POWER_COLUMNS,
    SystemTables,
    read_system,
    system_frames,
)
from joulewise.worlds.workload_tables import TASK_COLUMNS, WorkloadTable, read_workload, workload_frame

__all__ = [
    "TABLES",
    "Column",
    "SystemTables",
    "WorkloadTable",
    "read_system",
    "read_workload",
    "system_frames",
    "workload_frame",
]

TABLES: dict[str, tuple[Column, ...]] = {
    "etc_s": ETC_COLUMNS,
    "power_w": POWER_COLUMNS,
    "machines": MACHINE_COLUMNS,
    "tasks": TASK_COLUMNS,
    "power_cap_by_hour": SERIES_COLUMNS,
    "tariff": SERIES_COLUMNS,
}
"""Every column of every table (name, unit, meaning, whether it must be there), by the key of its file."""
