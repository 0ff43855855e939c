"""What a column of a results table is, and the names of tables and kinds of studies."""

from __future__ import annotations

from dataclasses import dataclass

RUNS, RECORDS, TRACES, LOSSES = "runs", "records", "traces", "losses"
FRONTS, MACHINES, COUNTS = "fronts", "machines", "counts"
CLOUDS, ASSIGNMENTS = "clouds", "assignments"
JOBS, JOB_TRACES, JOB_TYPES, USERS, QUEUES = "jobs", "job_traces", "job_types", "users", "queues"
CLUSTERS, PIECES, FINDINGS = "clusters", "pieces", "findings"
NODES, CRACS, CORES, RATES, PROGRESS = "nodes", "cracs", "cores", "rates", "progress"
MANAGED, FRONT, PROFIT, UTILITY, JOBS_KIND = "managed", "front", "profit", "utility", "jobs"
FACILITY = "facility"
BAGS, SEARCHES, BOTH_FRONTS = f"{FRONT}, {PROFIT}", f"{FRONT}, {PROFIT}, {UTILITY}", f"{FRONT}, {UTILITY}"
"""Of which kinds of studies a column is."""


@dataclass(frozen=True)
class Column:
    """One column; `is_metric`: averaged over trials; `is_measured`: a time of the machine.

    `kinds` names the kinds of studies that have it, "" all of them. A `*` in its name stands for any text: there is a
    column for each level, group or machine type that the world has.
    """

    table: str
    name: str
    unit: str
    meaning: str
    is_metric: bool = False
    is_measured: bool = False
    kinds: str = MANAGED

    def is_of(self, kind: str) -> bool:
        """Whether studies of a kind have it."""
        return not self.kinds or kind in self.kinds.split(", ")


def metric(name: str, unit: str, meaning: str, *, is_measured: bool = False, kinds: str = MANAGED) -> Column:
    """A number of each run, averaged over trials."""
    return Column(RUNS, name, unit, meaning, is_metric=True, is_measured=is_measured, kinds=kinds)
