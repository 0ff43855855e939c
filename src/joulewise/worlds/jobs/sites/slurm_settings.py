"""The settings of a Slurm that decide when jobs start, under its own names in lower case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class SlurmSetting(NamedTuple):
    """A setting: the kind of its values, and what it means; `unit_s` is what a bare number stands for in times.

    `usual` is Slurm's own value where none is given, of those that are obeyed: by the policy multifactor, and
    where jobs are gone through in passes.
    """

    kind: str
    meaning: str
    unit_s: int = 60
    usual: Any = None


DAY_S = 86_400.0

IN_CONF: dict[str, SlurmSetting] = {
    "schedulertype": SlurmSetting(
        "name", "sched/backfill, or sched/builtin without backfilling", usual="sched/backfill"
    ),
    "selecttype": SlurmSetting(
        "name", "what is given to jobs: select/cons_tres parts of nodes, select/linear whole ones"
    ),
    "selecttypeparameters": SlurmSetting("names", "what of nodes is counted: CR_Core, CR_Core_Memory, ..."),
    "prioritytype": SlurmSetting("name", "priority/multifactor, or priority/basic: by submission"),
    "prioritydecayhalflife": SlurmSetting(
        "time from 0", "half-life of what was used, for fair shares; 0: it is never forgotten", usual=7 * DAY_S
    ),
    "prioritycalcperiod": SlurmSetting(
        "time from 0", "how often priorities and fair shares are seen anew; 0: at all instants", usual=300.0
    ),
    "priorityusageresetperiod": SlurmSetting("name", "how often what was used is forgotten"),
    "prioritymaxage": SlurmSetting("time from 0", "age at which the factor of age is 1", usual=7 * DAY_S),
    "priorityfavorsmall": SlurmSetting("flag", "whether small jobs have the larger factor of size", usual=False),
    "priorityflags": SlurmSetting(
        "names",
        "NO_FAIR_TREE: fair shares by usage and not by rank; SMALL_RELATIVE_TO_TIME, MAX_TRES, NO_NORMAL_PART, "
        "NO_NORMAL_QOS, NO_NORMAL_TRES, ...",
        usual=(),
    ),
    "priorityweightage": SlurmSetting(
        "number", "weight of age: how long a job could have started, as a part of prioritymaxage", usual=0
    ),
    "priorityweightassoc": SlurmSetting("number", "weight of the priority of accounts"),
    "priorityweightfairshare": SlurmSetting(
        "number", "weight of fair shares: what a job's user and the accounts above have left of theirs", usual=0
    ),
    "priorityweightjobsize": SlurmSetting(
        "number", "weight of size: the mean of a job's shares of the site's nodes and processors", usual=0
    ),
    "priorityweightpartition": SlurmSetting(
        "number", "weight of the priority of partitions, each as a part of the highest", usual=0
    ),
    "priorityweightqos": SlurmSetting(
        "number", "weight of the priority of qualities of service, each as a part of the highest", usual=0
    ),
    "priorityweighttres": SlurmSetting(
        "weights", "weights of what is asked for, each as a part of what the partition has", usual={}
    ),
    "fairsharedampeningfactor": SlurmSetting(
        "number", "what divides the exponent of fair shares, without a fair tree", usual=1
    ),
    "preempttype": SlurmSetting(
        "name",
        "who gives way: preempt/qos jobs of those that others preempt, preempt/partition_prio of lower tiers, "
        "preempt/none nobody",
    ),
    "preemptmode": SlurmSetting(
        "names", "what becomes of jobs that give way: requeue, suspend (and gang), cancel, off"
    ),
    "preemptexempttime": SlurmSetting("time from 0", "for how long a job does not give way"),
    "jobrequeue": SlurmSetting("flag", "whether jobs may be requeued; those that may not are cancelled"),
    "enforcepartlimits": SlurmSetting("name", "whether jobs beyond limits of partitions are refused: ALL, ANY, NO"),
    "accountingstorageenforce": SlurmSetting("names", "which limits of accounts and qualities of service hold"),
    "overtimelimit": SlurmSetting("time from 0", "how long a job may go on beyond its limit"),
    "killwait": SlurmSetting("time from 0", "how long a job has to end at its limit", 1),
    "maxjobcount": SlurmSetting("number", "most jobs that are known at once"),
    "maxarraysize": SlurmSetting("number", "one more than the largest index in an array of jobs"),
    "defmempercpu": SlurmSetting("number", "MiB for each processor of a job that asks for no memory"),
    "defmempernode": SlurmSetting("number", "MiB on each node of a job that asks for no memory"),
    "maxmempercpu": SlurmSetting("number", "most MiB for each processor of a job"),
    "maxmempernode": SlurmSetting("number", "most MiB on each node of a job"),
}
"""Keys of slurm.conf."""

IN_PARAMETERS: dict[str, SlurmSetting] = {
    "assoc_limit_stop": SlurmSetting("flag", "a job that waits for a limit holds back those behind it"),
    "batch_sched_delay": SlurmSetting("number", "seconds for which starts of batch jobs may be put off"),
    "bf_busy_nodes": SlurmSetting("flag", "backfilling prefers nodes in use"),
    "bf_continue": SlurmSetting("flag", "backfilling goes on with its list after it has let others work"),
    "bf_hetjob_immediate": SlurmSetting("flag", "parts of a heterogeneous job start as soon as all can"),
    "bf_hetjob_prio": SlurmSetting("name", "priority of a heterogeneous job, of those of its parts: min, avg, max"),
    "bf_interval": SlurmSetting("whole", "seconds between backfillings; -1 for none", usual=30),
    "bf_job_part_count_reserve": SlurmSetting("number", "jobs of each partition that get reservations for certain"),
    "bf_licenses": SlurmSetting("flag", "backfilling plans licences"),
    "bf_max_job_array_resv": SlurmSetting("number", "most jobs of an array that get reservations"),
    "bf_max_job_assoc": SlurmSetting("number", "most jobs of a user's account that are tried; 0 for all"),
    "bf_max_job_part": SlurmSetting("number", "most jobs of a partition that are tried; 0 for all"),
    "bf_max_job_start": SlurmSetting("number", "most jobs that a backfilling starts; 0 for all"),
    "bf_max_job_test": SlurmSetting("number", "most jobs that are tried", usual=500),
    "bf_max_job_user": SlurmSetting("number", "most jobs of a user that are tried; 0 for all"),
    "bf_max_job_user_part": SlurmSetting("number", "most jobs of a user in a partition that are tried; 0 for all"),
    "bf_max_time": SlurmSetting("number", "most seconds that a backfilling takes"),
    "bf_min_age_reserve": SlurmSetting("number", "seconds that a job waits before it gets a reservation"),
    "bf_min_prio_reserve": SlurmSetting("number", "priority from which on a job gets a reservation"),
    "bf_one_resv_per_job": SlurmSetting("flag", "a job gets a reservation in one of its partitions alone"),
    "bf_resolution": SlurmSetting("number", "seconds to which planned instants are rounded", usual=60),
    "bf_running_job_reserve": SlurmSetting("flag", "running jobs are planned as whole nodes"),
    "bf_window": SlurmSetting("number", "minutes that are planned ahead", usual=1440),
    "bf_window_linear": SlurmSetting("number", "seconds by which planned ends of jobs are grouped"),
    "default_queue_depth": SlurmSetting("number", "most jobs that are tried when a job arrives or ends", usual=100),
    "defer": SlurmSetting("flag", "no job is tried when it is submitted"),
    "kill_invalid_depend": SlurmSetting("flag", "jobs whose dependencies can never be met are cancelled"),
    "max_array_tasks": SlurmSetting("number", "most jobs in an array"),
    "max_sched_time": SlurmSetting("number", "most seconds that a pass over the queue takes"),
    "pack_serial_at_end": SlurmSetting("flag", "jobs of one processor are put at the end of the list of nodes"),
    "partition_job_depth": SlurmSetting("number", "most jobs of a partition that are tried in a pass; 0 for all"),
    "preempt_reorder_count": SlurmSetting("number", "how often the order of jobs that give way is tried anew"),
    "preempt_strict_order": SlurmSetting("flag", "jobs of least priority give way first, whatever that costs"),
    "preempt_youngest_first": SlurmSetting("flag", "jobs that began last give way first"),
    "reduce_completing_frag": SlurmSetting("flag", "completing jobs hold back those of their partition alone"),
    "sched_interval": SlurmSetting("whole", "seconds between passes over the whole queue; -1 for none", usual=60),
    "sched_max_job_start": SlurmSetting("number", "most jobs that a pass starts; 0 for all"),
    "sched_min_interval": SlurmSetting("number", "fewest microseconds between passes"),
}
"""What SchedulerParameters may hold; PreemptParameters are not among them."""

SETTINGS = {**IN_CONF, **IN_PARAMETERS}
"""What `[slurm]` of a site's file may hold."""

PRIORITY_WEIGHTS: Mapping[str, str] = {
    "age": "priorityweightage",
    "fair_share": "priorityweightfairshare",
    "size": "priorityweightjobsize",
    "partition": "priorityweightpartition",
    "qos": "priorityweightqos",
}
"""The settings that say what a factor of priorities counts, by the name that the scheduler has for it."""

OF_PASSES = (
    "schedulertype", "default_queue_depth", "sched_interval", "bf_max_job_test", "bf_interval", "bf_resolution",
    "bf_window",
)  # fmt: skip
"""The settings by which Slurm goes through jobs."""

OF_PREEMPTION = ("preempttype", "preemptmode", "preemptexempttime", "jobrequeue")
"""The settings that say who gives way to whom, and how."""

CLASSIC_SHARES = ("no_fair_tree", "depth_oblivious")
SMALL_RELATIVE_TO_TIME, MAX_TRES = "small_relative_to_time", "max_tres"
NO_NORMAL_PART = ("no_normal_part", "no_normal_all")
NO_NORMAL_QOS = ("no_normal_qos", "no_normal_all")
NO_NORMAL_TRES = ("no_normal_tres", "no_normal_all")
_KNOWN_FLAGS = {
    "no_fair_tree", "fair_tree", SMALL_RELATIVE_TO_TIME, MAX_TRES, *NO_NORMAL_PART, *NO_NORMAL_QOS, *NO_NORMAL_TRES,
    "no_normal_assoc", "calculate_running",
}  # fmt: skip


def setting_of(slurm: Mapping[str, Any], key: str) -> Any:
    """What a site says of a setting that is obeyed; Slurm's own value where it says nothing."""
    return slurm.get(key, SETTINGS[key].usual)


def not_obeyed(slurm: Mapping[str, Any]) -> list[str]:
    """The settings of a site that change nothing where they might; flags of priorities each by themselves."""
    flags = [f"priorityflags {flag}" for flag in slurm.get("priorityflags", ()) if flag not in _KNOWN_FLAGS]
    obeyed = {key for key in slurm if SETTINGS[key].usual is not None or _says_nothing(key, slurm[key])}
    return [key for key in slurm if key not in obeyed and key not in OF_PREEMPTION] + flags


def _says_nothing(key: str, value: Any) -> bool:
    """Whether a setting that is not modelled asks for nothing, or for what is so anyway."""
    idle = (("priorityweightassoc", 0), ("priorityusageresetperiod", "none"), ("preempt_youngest_first", True))
    return (key, value) in idle
