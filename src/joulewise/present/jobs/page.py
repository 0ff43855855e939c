"""The page of a study of parallel jobs."""

from __future__ import annotations

from joulewise.present import theme
from joulewise.present.curves import ENERGY_TRACE, UTILITY_TRACE
from joulewise.present.jobs.bars import (
    BUSY,
    COUNTS,
    ENERGY,
    SLOWDOWN,
    WAIT,
    compares,
    earn_apart,
    earned_over_time,
    energy_by_scheduler,
    job_fates,
    scheduler_differences,
    schedulers_against_energy,
    used_over_time,
    utility_by_scheduler,
    waits_by_scheduler,
)
from joulewise.present.jobs.curves import has_curves, jobs_over_time
from joulewise.present.jobs.findings import job_findings
from joulewise.present.jobs.gantt import gantt, has_runs
from joulewise.present.jobs.glossary import GLOSSARY
from joulewise.present.jobs.keys import FILTER, LOAD, PLANNED, POLICY, SCHEDULER
from joulewise.present.jobs.leniency import has_leniencies, over_job_leniency
from joulewise.present.jobs.leniency_map import has_leniency_map, leniency_map
from joulewise.present.jobs.logged import has_logged_waits, logged_waits, wait_differences
from joulewise.present.jobs.tables import job_tables
from joulewise.present.jobs.times import has_plans, has_worths, run_times, utility_by_size
from joulewise.present.jobs.view import (
    CLUSTERS,
    FINDINGS,
    JOB_COLUMNS,
    JOB_TRACES,
    JOB_TYPES,
    JOBS,
    LOGGED,
    PIECES,
    QUEUES,
    USERS,
    WAITS,
    job_view,
)
from joulewise.present.jobs.waits import has_several, has_waits, slowdown_by_user, wait_distribution, waits_by_queue
from joulewise.present.page import Figure, Need, Page
from joulewise.present.records import Key, Records
from joulewise.present.tradeoff import energies_differ


def _differ(records: Records) -> bool:
    return not job_view(records, folds=True)[0].behind_best.is_empty()


_UTILITY = Need("utility of jobs", earn_apart)
_ENERGY = Need("energy of jobs", lambda records: compares(records, ENERGY))
_LOGGED_WAITS = Need("waits that a log tells", has_logged_waits)

_FIGURES = (
    Figure("utility-by-scheduler", "Utility by scheduler", (_UTILITY,), utility_by_scheduler),
    Figure(
        "scheduler-differences", "Distance to the best", (_UTILITY, Need("differences of schedulers", _differ)),
        scheduler_differences,
    ),
    Figure(
        "waits-by-scheduler", "Wait, slowdown and busy cores",
        (Need("waits of schedulers", lambda records: compares(records, WAIT, SLOWDOWN, BUSY)),), waits_by_scheduler,
    ),
    Figure("wait-distribution", "How long jobs wait", (Need("waits of jobs", has_waits),), wait_distribution),
    Figure(
        "waits-by-queue", "Wait and slowdown by queue",
        (Need("queues", lambda records: has_several(records, QUEUES, "queue")),), waits_by_queue,
    ),
    Figure("logged-waits", "Logged and simulated waits", (_LOGGED_WAITS,), logged_waits),
    Figure("wait-differences", "Differences from logged waits", (_LOGGED_WAITS,), wait_differences),
    Figure(
        "slowdown-by-user", "Slowdown by user",
        (Need("users", lambda records: has_several(records, USERS, "user")),), slowdown_by_user,
    ),
    Figure("energy-by-scheduler", "Energy used", (_ENERGY,), energy_by_scheduler),
    Figure(
        "schedulers-against-energy", "Utility against energy",
        (_UTILITY, _ENERGY, Need("energies that differ", energies_differ)), schedulers_against_energy,
    ),
    Figure(
        "job-leniency", "Leniency of the energy filter", (Need("leniencies of jobs", has_leniencies),),
        over_job_leniency,
    ),
    Figure(
        "leniency-map", "Energy filters by leniency and setting",
        (Need("energy filters in several settings", has_leniency_map),), leniency_map,
    ),
    Figure(
        "job-fates", "What became of the jobs",
        (Need("fates of jobs", lambda records: compares(records, *COUNTS)),), job_fates,
    ),
    Figure(
        "clusters-over-time", "Clusters, queue and power over time", (Need("clusters over time", has_curves),),
        jobs_over_time,
    ),
    Figure(
        "job-utility-over-time", "Utility over time",
        (_UTILITY, Need("utility of jobs over time", lambda records: records.keeps(JOB_TRACES, UTILITY_TRACE))),
        earned_over_time,
    ),
    Figure(
        "job-energy-over-time", "Energy over time",
        (Need("schedulers", compares),
         Need("energy of jobs over time", lambda records: records.keeps(JOB_TRACES, ENERGY_TRACE))),
        used_over_time,
    ),
    Figure("gantt", "Which nodes ran what", (Need("runs of jobs", has_runs),), gantt, is_schedule=True),
    Figure("run-times", "Planned and true run times", (Need("plans", has_plans),), run_times),
    Figure("utility-by-size", "Size and utility of job types", (Need("job types", has_worths),), utility_by_size),
)  # fmt: skip

_FILTERS = {
    "none": "no filter",
    "per-task": "filter per task",
    "per-task-adaptive": "adaptive filter per task",
    "per-resource": "filter per resource",
    "per-resource-adaptive": "adaptive filter per resource",
}
_TIMES = {"requested": "requested time", "true": "true time", "recent": "predicted time"}
_KEYS = {
    POLICY: Key("scheduler", stands_alone=True),
    SCHEDULER: Key("scheduler", stands_alone=True),
    FILTER: Key("energy filter", values=_FILTERS, stands_alone=True),
    PLANNED: Key("planned time", values=_TIMES, stands_alone=True),
    LOAD: Key("load", "jobs/day", colours=lambda records: theme.categorical(len(records.values(LOAD)))),
    "system.nodes": Key("size", "nodes"),
}
_FRAMES = dict.fromkeys((JOB_TRACES, JOB_TYPES, USERS, QUEUES, CLUSTERS, PIECES, FINDINGS, LOGGED, WAITS))

PAGES = {
    "jobs": Page(job_findings, job_tables, _FIGURES, GLOSSARY, {JOBS: JOB_COLUMNS, **_FRAMES}, _KEYS),
}
