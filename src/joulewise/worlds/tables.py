"""Systems, workloads and bags from tables that people write, in CSV or Parquet files."""

from joulewise.worlds.assignments.chance_tables import SAMPLE_COLUMNS
from joulewise.worlds.bags.bag import BAG_COLUMNS, BagTable, bag_frame, read_bag
from joulewise.worlds.facility.colocation import COLOCATION_COLUMNS
from joulewise.worlds.facility.heat_tables import HEAT_COLUMNS
from joulewise.worlds.facility.tables import CRAC_COLUMNS, NODE_COLUMNS, NODE_TYPE_COLUMNS, PAIR_COLUMNS, SPEED_COLUMNS
from joulewise.worlds.facility.tables import TASK_COLUMNS as FLOW_COLUMNS
from joulewise.worlds.frames import Column
from joulewise.worlds.jobs.cluster_tables import CLUSTER_COLUMNS, JOB_TIME_COLUMNS
from joulewise.worlds.jobs.node_outages import OUTAGE_COLUMNS
from joulewise.worlds.jobs.tables import JOB_COLUMNS
from joulewise.worlds.jobs.trace_files import TRACE_COLUMNS
from joulewise.worlds.series import SERIES_COLUMNS
from joulewise.worlds.system_tables import (
    ETC_COLUMNS,
    MACHINE_COLUMNS,
    POWER_COLUMNS,
    SystemTables,
    read_system,
    system_frames,
)
from joulewise.worlds.tasks.tables import TASK_COLUMNS, WorkloadTable, read_workload, workload_frame

__all__ = [
    "TABLES",
    "BagTable",
    "Column",
    "SystemTables",
    "WorkloadTable",
    "bag_frame",
    "read_bag",
    "read_system",
    "read_workload",
    "system_frames",
    "workload_frame",
]

TABLES: dict[str, tuple[Column, ...]] = {
    "etc_s": ETC_COLUMNS,
    "power_w": POWER_COLUMNS,
    "machines": MACHINE_COLUMNS,
    "samples": SAMPLE_COLUMNS,
    "tasks": TASK_COLUMNS,
    "bag": BAG_COLUMNS,
    "clusters": CLUSTER_COLUMNS,
    "job_times": JOB_TIME_COLUMNS,
    "jobs": JOB_COLUMNS,
    "trace": TRACE_COLUMNS,
    "outages": OUTAGE_COLUMNS,
    "node_list": NODE_COLUMNS,
    "node_type_list": NODE_TYPE_COLUMNS,
    "crac_list": CRAC_COLUMNS,
    "heat": HEAT_COLUMNS,
    "task_list": FLOW_COLUMNS,
    "speeds": SPEED_COLUMNS,
    "slowdowns": PAIR_COLUMNS,
    "colocation": COLOCATION_COLUMNS,
    "power_cap_by_hour": SERIES_COLUMNS,
    "tariff": SERIES_COLUMNS,
}
"""Every column of every table (name, unit, meaning, whether it must be there), by the key of its file."""
