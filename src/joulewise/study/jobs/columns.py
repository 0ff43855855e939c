"""Every column of the tables that a study of parallel jobs writes."""

from __future__ import annotations

from joulewise.study.searches.meter_columns import METER_COLUMNS
from joulewise.study.spec.column import (
    BOUNDS,
    CLUSTERS,
    FINDINGS,
    JOB_TRACES,
    JOB_TYPES,
    JOBS,
    LOGGED,
    PIECES,
    PLACES,
    QUEUES,
    RUNS,
    USERS,
    WAITS,
    Column,
    flag,
    label,
    metric,
    one_digit,
    three_figures,
)
from joulewise.study.spec.trials import BLOCKS
from joulewise.units import duration, energy

_COUNTED = "of the jobs that arrived in the counted window and had nodes, but for those cancelled"


def _of_labels(table: str, name: str) -> tuple[Column, ...]:
    return (
        label(table, name, f"name of the {name}; null where it is not known"),
        Column(table, "jobs", "jobs", "jobs that arrived in the counted window"),
        Column(table, "jobs_ran", "jobs", "those of them that ran to their end, also after the window"),
        Column(table, "mean_wait_s", "s", "mean wait of those that had nodes and were not cancelled; null if none had"),
        Column(table, "mean_turnaround_s", "s", "mean turnaround of the same"),
        Column(table, "mean_bounded_slowdown", "", "mean bounded slowdown of the same"),
        Column(table, "node_s", "s", "nodes x seconds that they had in the counted window"),
        Column(table, "energy_j", "J", "energy that they used in the counted window, at the meter"),
        Column(table, "utility", "utility", "utility that they earned"),
    )


JOB_COLUMNS = (
    metric(
        "utility", "utility",
        "sum of the utility of the jobs that completed in the counted window; in a workload that is prorated, of each "
        "completed job by the share of its running that lies in the window",
        heading="utility earned",
    ),
    metric(
        "maximum_utility", "utility",
        "the same sum if nothing had to wait: every job starts on arrival with its fastest option (Machovec et al. "
        "2016 call it the maximum utility)",
        heading="utility if nothing had to wait",
    ),
    metric(
        "utility_percent", "%", "100 x utility / maximum_utility", title="% without waiting", form=one_digit, rank=20,
        heading="utility (% of that without waiting)",
    ),
    metric(
        "utility_bound", "utility", "proven: no policy, even one that knows the future, can earn more",
        heading="proven bound",
    ),
    metric(
        "possible_percent", "%", "100 x utility / utility_bound: how much of what is possible was earned, at least",
        title="% of possible", rank=10, heading="utility (% of what is possible)",
    ),
    metric("jobs_arrived", "jobs", "jobs that arrived in the counted window"),
    metric("jobs_completed", "jobs", "jobs that completed in the counted window, whenever they arrived"),
    metric(
        "jobs_ran", "jobs",
        "jobs that arrived in the counted window and ran to their end, also after it; these and those dropped, killed, "
        "cancelled, waiting and impossible are jobs_arrived together",
        heading="jobs that ran",
    ),
    metric(
        "jobs_running", "jobs", "those of jobs_ran that were running when the counted window ended",
        heading="jobs running at the end",
    ),
    metric(
        "jobs_dropped", "jobs",
        "jobs that arrived in the counted window and were dropped, or refused by a site that limits submissions",
    ),
    metric("jobs_killed", "jobs", "jobs that arrived in it and were killed at the end of the time they asked for"),
    metric(
        "jobs_cancelled", "jobs",
        "jobs that arrived in it and that a site cancelled, for others or as a node failed: they count in no wait, "
        "turnaround or slowdown",
    ),
    metric(
        "jobs_waiting", "jobs",
        "jobs that arrived in it and had no nodes when the simulation ended: never started, or suspended or lost and "
        "not resumed",
        heading="jobs left waiting",
    ),
    metric(
        "jobs_impossible", "jobs",
        "jobs that arrived in it and can never start: they fit on no cluster allowed to them, or a site does not take "
        "them for their time limit or for whose they are",
        heading="jobs that can never start",
    ),
    metric("runs_preempted", "runs", "stretches of running in it that ended because another job took the nodes"),
    metric(
        "runs_lost", "runs",
        "stretches of running in it that ended because a node failed, or because a job of a site gave way and runs "
        "again from its start; the one run of a job that was cancelled is none of them",
        heading="runs lost",
    ),
    metric(
        "mean_wait_s", "s",
        f"mean time in which a job could have run and did not, {_COUNTED}; it counts from arrival, or from when the "
        "job before it, and its think time, were over",
        title="mean wait", form=duration, rank=30, least_is_best=True,
    ),
    metric(
        "median_wait_s", "s", f"median wait, {_COUNTED}", title="median wait", form=duration, rank=32,
        least_is_best=True,
    ),
    metric(
        "p95_wait_s", "s", f"least wait that 95 % of them do not exceed, {_COUNTED}", title="95 % wait", form=duration,
        rank=35, heading="wait that 95 % do not exceed", least_is_best=True,
    ),
    metric("max_wait_s", "s", f"longest wait, {_COUNTED}", heading="longest wait"),
    metric("mean_turnaround_s", "s", f"mean time from when a job could have started to its end, {_COUNTED}"),
    metric("median_turnaround_s", "s", f"median turnaround, {_COUNTED}"),
    metric(
        "p95_turnaround_s", "s", f"least turnaround that 95 % of them do not exceed, {_COUNTED}",
        heading="turnaround that 95 % do not exceed",
    ),
    metric("max_turnaround_s", "s", f"longest turnaround, {_COUNTED}", heading="longest turnaround"),
    metric(
        "mean_bounded_slowdown", "",
        f"mean of max(1, turnaround / max(time that it needs undisturbed, 10 s)), {_COUNTED}",
        title="slowdown", form=three_figures, rank=40, least_is_best=True,
    ),
    metric("median_bounded_slowdown", "", f"median bounded slowdown, {_COUNTED}"),
    metric(
        "p95_bounded_slowdown", "", f"least bounded slowdown that 95 % of them do not exceed, {_COUNTED}",
        heading="bounded slowdown that 95 % do not exceed",
    ),
    metric(
        "max_bounded_slowdown", "", f"highest bounded slowdown, {_COUNTED}", heading="highest bounded slowdown",
    ),
    metric(
        "busy_percent", "%", "100 x core-seconds of running in the counted window / (all cores x its length)",
        title="busy %", rank=50, heading="cores busy (%)",
    ),
    metric(
        "lost_percent", "%",
        "the part of busy_percent that came to nothing: that of runs_lost, and of jobs that were cancelled",
        heading="cores busy for nothing (%)",
    ),
    metric(
        "busy_percent:*", "%", "the same of the nodes of a cluster; a column for each cluster",
        heading="cores busy (%)",
    ),
    metric("makespan_s", "s", "time from the first arrival to the last end"),
    metric(
        "mean_queue_length", "jobs",
        "jobs that could run and do not, mean over the counted window; those that were dropped or fit nowhere never "
        "count",
        heading="mean queue (jobs)",
    ),
    metric(
        "max_queue_length", "jobs", "most jobs that can run and do not at any instant of the counted window",
        heading="longest queue (jobs)",
    ),
    metric(
        "energy_j", "J",
        "energy at the meter in the counted window, of all running and of nodes without a job, times the PUE; this and "
        "all that follows from it is null unless all powers are known",
        title="energy", form=energy, rank=60,
    ),
    metric(
        "standby_energy_j", "J",
        "the part of energy_j that nodes used while idle, asleep or booting, assuming that the nodes freed last are "
        "given out first; of a site, the idle power of all its nodes over the window",
        heading="energy without a run",
    ),
    metric("energy_per_job_j", "J", "energy_j / jobs_completed"),
    *METER_COLUMNS,
    metric("users", "users", "users whose jobs arrived in the counted window; null if users are not known"),
    metric(
        "fairness", "",
        "Jain's index over users of their mean bounded slowdown x: (sum of x)^2 / (users x sum of x^2), 1 if all are "
        "alike, 1 / users if one alone is slowed down; null if users are not known",
        heading="fairness to users (Jain's index)",
    ),
    Column(
        RUNS, BLOCKS, "blocks",
        "blocks that fit side by side into the whole days of a log that is resampled; only where one is",
        is_optional=True,
    ),
    metric("mapping_events", "events", "mapping events that had jobs to map"),
    metric("mapping_s", "s", "wall-clock time of the whole simulation", is_measured=True, heading="time spent mapping"),
    metric("mapping_event_s", "s", "mapping_s / mapping_events", is_measured=True, heading="time per mapping event"),
    Column(JOBS, "job", "", "number of the job in order of arrival, from 0"),
    label(JOBS, "job_id", "what the log calls it, where there is a log", is_optional=True),
    label(JOBS, "job_type", "name of the job type, where types have names", is_optional=True),
    label(JOBS, "user", "user of the job, where users are known; likewise group and queue", is_optional=True),
    label(JOBS, "group", "group of the job", is_optional=True),
    label(JOBS, "queue", "queue of the job", is_optional=True),
    label(JOBS, "partition", "partition of the job", is_optional=True),
    label(JOBS, "priority", "priority level of the job, where the workload has them", is_optional=True),
    label(JOBS, "urgency", "urgency level of the job, where the workload has them", is_optional=True),
    label(JOBS, "utility_class", "utility class of the job, where the workload has them", is_optional=True),
    Column(JOBS, "arrival_s", "s", "instant of arrival"),
    Column(JOBS, "ready_s", "s", "instant at which it could have started; null if the job before it never ended"),
    label(
        JOBS, "fate",
        "ran, killed (at the end of the time it asked for), cancelled (by a site, for another or as a node failed), "
        "dropped (or refused by a site), waiting (never started, or suspended or lost and not resumed) or impossible "
        "(can never start)",
    ),
    Column(JOBS, "option", "", "number of the option it had, in the list of all types; null if it had no nodes"),
    label(JOBS, "cluster", "name of the cluster; null if it had no nodes, as all that follows"),
    Column(JOBS, "pstate", "", "P-state in which it ran, 0 the fastest"),
    Column(JOBS, "nodes", "nodes", "number of its nodes"),
    Column(JOBS, "cores", "cores", "cores of its nodes"),
    Column(JOBS, "planned_s", "s", "time that its option was planned to take, as the world says it"),
    Column(JOBS, "true_s", "s", "time that its option takes if nothing disturbs it"),
    Column(JOBS, "requested_s", "s", "time that was asked for, where there is a log; also of jobs that had no nodes",
           is_optional=True),
    Column(JOBS, "start_s", "s", "instant of its last start"),
    Column(JOBS, "end_s", "s", "instant at which it ended, or was killed or cancelled"),
    Column(JOBS, "wait_s", "s", "time in which it could have run and did not"),
    Column(
        JOBS, "bounded_slowdown", "",
        "max(1, (end_s - ready_s) / max(true_s, 10 s)); by its run if it was killed, null if it was cancelled",
    ),
    Column(JOBS, "starting_utility", "utility", "what it was worth at its arrival"),
    Column(JOBS, "utility", "utility", "utility earned, 0 outside the counted window"),
    Column(
        JOBS, "energy_j", "J",
        "energy of its running in the counted window, at the meter, on a site with powers that on top of idle nodes; "
        "null if not known, and for jobs that wait, also if they used some before they were suspended or lost, which "
        "energy_j of the run has",
    ),
    Column(JOB_TRACES, "at_s", "s", "start of a step of the counted window"),
    Column(JOB_TRACES, "step_s", "s", "length of the step"),
    Column(JOB_TRACES, "nodes_busy", "nodes", "nodes with a job, mean over the step"),
    Column(JOB_TRACES, "busy_percent", "%", "100 x cores with a job / all cores, mean over the step"),
    Column(JOB_TRACES, "running_jobs", "jobs", "jobs that run, mean over the step"),
    Column(JOB_TRACES, "queue_length", "jobs", "jobs that could run and do not, mean over the step"),
    Column(JOB_TRACES, "power_w", "W", "power at the meter, mean over the step; null unless all powers are known"),
    Column(JOB_TRACES, "power_cap_w", "W", "power cap, mean over the step; only with a cap", is_optional=True),
    Column(JOB_TRACES, "utility_cumulative", "utility", "utility earned in the window up to the end of the step"),
    Column(JOB_TRACES, "energy_cumulative_j", "J", "energy used in the window up to the end of the step"),
    Column(JOB_TRACES, "budget_cumulative_j", "J", "budget of the days up to that of the step; null without one"),
    *_of_labels(USERS, "user"),
    *_of_labels(QUEUES, "queue"),
    label(CLUSTERS, "cluster", "name of the cluster"),
    Column(CLUSTERS, "n_nodes", "nodes", "number of its nodes"),
    Column(CLUSTERS, "cores_per_node", "cores", "cores of each node"),
    Column(CLUSTERS, "busy_percent", "%", "100 x node-seconds of running in the window / (nodes x its length)"),
    label(JOB_TYPES, "job_type", "name of the job type; the file is there only where more is known of types"),
    Column(JOB_TYPES, "starting_utility", "utility", "what a job of the type is worth at its arrival"),
    label(JOB_TYPES, "priority", "priority level", is_optional=True),
    label(JOB_TYPES, "urgency", "urgency level", is_optional=True),
    Column(JOB_TYPES, "cores", "cores", "cores that it asks for"),
    Column(JOB_TYPES, "single_s", "s", "time that it would take if it were not parallel"),
    label(FINDINGS, "key", "what is odd in the log, in short; the file is there only if something is"),
    Column(FINDINGS, "n", "jobs", "how many jobs, or lines, are so"),
    label(FINDINGS, "reason", "what is odd with them"),
    label(FINDINGS, "done", "what was done with them"),
    label(FINDINGS, "part", "whether something was changed or guessed by it, or is lost", is_optional=True),
    Column(PIECES, "job", "", "number of the job; the file is there only if a job was preempted or lost its node"),
    label(PIECES, "job_id", "what the log calls it, where there is a log", is_optional=True),
    label(PIECES, "job_type", "name of the job type, where types have names", is_optional=True),
    Column(PIECES, "option", "", "number of the option it had"),
    label(PIECES, "cluster", "name of the cluster"),
    Column(PIECES, "pstate", "", "P-state in which it ran, 0 the fastest"),
    Column(PIECES, "nodes", "nodes", "number of its nodes"),
    Column(PIECES, "start_s", "s", "instant at which the stretch started"),
    Column(PIECES, "end_s", "s", "instant at which it was cut or lost"),
    flag(
        PIECES, "is_lost",
        "true if a node failed, or the job runs again from its start; false if another job took the nodes",
    ),
    Column(PLACES, "job", "", "number of the job; the file is there only on a site whose nodes jobs share"),
    label(PLACES, "job_id", "what the log calls it, where there is a log", is_optional=True),
    label(PLACES, "partition", "partition in which it ran"),
    label(PLACES, "group", "group of nodes"),
    Column(PLACES, "node", "", "number of the node in its group, from 0; null where nodes are only counted"),
    Column(PLACES, "pieces", "", "pieces of the job that run there; of nodes that are only counted, how many nodes"),
    Column(
        PLACES, "stretch", "",
        "which row of the table pieces that was, from 0; null for the last stretch of a job; only where some gave way",
        is_optional=True,
    ),
    label(LOGGED, "by", "what jobs are taken together by: all, size, partition, queue or user; the file is "
          "there only if the log tells waits, and not of its resamples"),
    label(LOGGED, "name", "which jobs: a range of processors, or a name; empty for all, null where it is not known"),
    Column(LOGGED, "jobs", "jobs",
           "jobs that arrived in the counted window, had nodes, were not cancelled and have a logged wait"),
    Column(LOGGED, "mean_logged_wait_s", "s", "mean of the waits that the log tells"),
    Column(LOGGED, "mean_wait_s", "s", "mean of their waits in the replay"),
    Column(LOGGED, "median_logged_wait_s", "s", "median of the waits that the log tells"),
    Column(LOGGED, "median_wait_s", "s", "median of their waits in the replay"),
    Column(LOGGED, "within_minute_percent", "%", "100 x those whose waits differ by a minute at most / jobs"),
    Column(LOGGED, "within_ten_minutes_percent", "%", "the same, by ten minutes"),
    Column(LOGGED, "within_hour_percent", "%", "the same, by an hour"),
    Column(WAITS, "job", "",
           "number of the job, of those that table logged counts; the file is there only if the log tells waits, and "
           "not of its resamples"),
    label(WAITS, "job_id", "what the log calls it"),
    label(WAITS, "partition", "partition of the job, where the log tells", is_optional=True),
    label(WAITS, "queue", "queue of the job, where the log tells", is_optional=True),
    label(WAITS, "user", "user of the job, where the log tells", is_optional=True),
    Column(WAITS, "processors", "", "processors that it asks for in the replay"),
    label(WAITS, "size", "range of processors that this is in"),
    Column(WAITS, "logged_wait_s", "s", "its wait as the log tells it"),
    Column(WAITS, "wait_s", "s", "its wait in the replay"),
    Column(WAITS, "difference_s", "s", "wait_s - logged_wait_s"),
    Column(WAITS, "first_start_s", "s", "the earlier one of its two starts, in the log and in the replay"),
    label(WAITS, "reason", "why they differ, by what ran and waited at that instant; null where they differ by a "
          "minute at most"),
    flag(BOUNDS, "preempts", "whether it holds for jobs that run in pieces"),
)  # fmt: skip
