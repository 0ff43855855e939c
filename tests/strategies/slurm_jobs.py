"""The same jobs on a real Slurm and in the simulator: partitions, qualities of service with limits, and GPUs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.worlds.jobs.sites.import_site import import_site
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace
from tests.strategies.slurm import Slurm, running_slurm
from tests.strategies.slurm_accounts import keep_accounts, tell_accounts

N_JOBS, SEED = 300, 107
_N_NODES, _N_CPUS = 23, 4
_GPUS = {f"n{number}": 2 for number in range(17, 24)}
_SETTINGS = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
PriorityType=priority/multifactor
PriorityWeightQOS=1000
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,bf_continue
PartitionName=cpu Nodes=n[1-16] Default=YES MaxTime=10 State=UP
PartitionName=gpu Nodes=n[17-23] MaxTime=10 State=UP
PartitionName=wide Nodes=n[1-16] MaxTime=10 State=UP OverSubscribe=EXCLUSIVE PriorityTier=2"""
PARTITIONS = ("cpu", "gpu", "wide")
_USERS = ("games", "man", "lp", "mail", "news", "uucp")
_ACCOUNTS = (
    "add qos urgent Priority=10 MaxJobsPerUser=1",
    "add qos narrow GrpTRES=cpu=16",
    "add qos shared MaxTRESPerUser=gres/gpu=4",
    "add account site Description=- Organization=- QOS=normal,urgent,narrow,shared",
    f"add user {','.join(_USERS)} Account=site",
)
_COLUMNS = (
    "JobID,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,AllocCPUS,ReqCPUS,AllocNodes,ReqNodes,ReqMem,AllocTRES,"
    "ReqTRES,State,User,Account,QOS,Partition,Cluster,Reservation,Constraints"
)
SITE, LOG = ("slurm.conf", "gres.conf", "qos.txt", "accounts.txt"), "log.txt"
"""What an administrator would print of a Slurm, and of its jobs."""

_LATE_IN_SECOND_S = 0.7
"""So much of a second has gone when a job comes: what ends in this second has ended then, as the simulator has it."""

_DRAIN_S = 240.0


class Asked(NamedTuple):
    """What a job asks for, and for how long it runs."""

    partition: str
    options: tuple[str, ...]
    seconds: float


def jobs_at_random(draws: Random) -> list[Asked]:
    """Single processors and several nodes, GPUs, and whole nodes of a higher tier; some with limits."""
    jobs = []
    for _ in range(N_JOBS):
        partition = draws.choices(PARTITIONS, (0.5, 0.4, 0.1))[0]
        nodes, tasks, gpus = {
            "cpu": draws.choice(((1, 1, 0), (1, 2, 0), (1, 4, 0), (2, 2, 0), (2, 4, 0))),
            "gpu": draws.choice(((1, 1, 1), (1, 2, 1), (1, 1, 2))),
            "wide": draws.choice(((1, 1, 0), (2, 2, 0), (3, 3, 0))),
        }[partition]
        qos = draws.choices(("normal", "urgent", "shared" if gpus else "narrow"), (0.5, 0.2, 0.3))[0]
        seconds = round(draws.uniform(8, 36), 1)
        limit_min = draws.choice((1, 2, 3, 5))
        options = (
            f"--nodes={nodes}", f"--ntasks-per-node={tasks // nodes}", f"--qos={qos}", f"--uid={draws.choice(_USERS)}",
            f"--time={limit_min}", *([f"--gres=gpu:{gpus}"] if gpus else []),
        )  # fmt: skip
        jobs.append(Asked(partition, options, seconds))
    return jobs


def run_by_slurm(folders: Sequence[Path], jobs: Sequence[Asked]) -> None:
    """Have a Slurm for each folder run the jobs, side by side, and write there what SITE and LOG say."""
    with ExitStack() as stack:
        started = []
        for _ in folders:
            room = Path(stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True)))
            room.chmod(0o711)  # jobs run as their users, who have to come to their scripts
            started.append(stack.enter_context(running_slurm(room, _N_NODES, _N_CPUS, _SETTINGS, _GPUS, keep_accounts)))
        with ThreadPoolExecutor(len(started)) as threads:
            list(threads.map(partial(_run, jobs=jobs), started, folders))


def _run(slurm: Slurm, folder: Path, jobs: Sequence[Asked]) -> None:
    """Have a job come every second, and tell of all when they have ended."""
    tell_accounts(slurm, _ACCOUNTS)
    begin_s = int(time.time()) + 2
    for second, job in enumerate(jobs, begin_s):
        time.sleep(max(second + _LATE_IN_SECOND_S - time.time(), 0.0))
        slurm.call(
            "sbatch", f"--partition={job.partition}", "--chdir=/", "--output=/dev/null", f"--wrap=sleep {job.seconds}",
            *job.options,
        )  # fmt: skip
    since = f"--starttime={datetime.fromtimestamp(begin_s):%Y-%m-%dT%H:%M:%S}"
    which = ("--allusers", "--allocations", "--state=COMPLETED", since, "--endtime=now")
    sacct = ("sacct", *which, "--parsable2", f"--format={_COLUMNS}")
    slurm.wait(lambda: not slurm.jobs(), _DRAIN_S)
    slurm.wait(lambda: len(slurm.call(*sacct).splitlines()) > len(jobs))
    shown = {
        **{name: (slurm.folder / name).read_text() for name in ("slurm.conf", "gres.conf")},
        "qos.txt": slurm.call("sacctmgr", "show", "qos", "--parsable2"),
        "accounts.txt": slurm.call("sacctmgr", "show", "assoc", "tree", "--parsable2"),
        LOG: slurm.call(*sacct),
    }
    for name, text in shown.items():
        (folder / name).write_text(text.replace(str(slurm.folder), "/slurm").replace(gethostname(), "host"))


class Replay(NamedTuple):
    """A log of Slurm as the simulator replays it, on the site that its own files describe."""

    trace: Trace
    world: JobWorld
    allocation: JobAllocation

    def in_order(self, values: Floats) -> Floats:
        """What is so of each job, by the number that Slurm gave it."""
        return np.asarray(values[np.argsort(self.trace.job_id.cast(int).to_numpy())])

    @property
    def partition(self) -> list[str]:
        """The partition of each job, by number."""
        label = self.world.jobs.labels["partition"]
        return [label.names[int(code)] for code in self.in_order(np.asarray(label.codes, np.float64))]

    @property
    def came_s(self) -> Floats:
        """When each job came, by number."""
        return self.in_order(self.world.jobs.work.arrival_s)

    @property
    def logged_s(self) -> Floats:
        """When Slurm started each job, by number."""
        return self.came_s + self.in_order(self.trace.logged_wait_s)

    @property
    def start_s(self) -> Floats:
        """When the simulator starts each job, by number."""
        return self.in_order(self.allocation.start_s)


def replayed(folder: Path) -> Replay:
    """The jobs of the log of a folder, replayed."""
    trace = load_trace(TraceParameters(trace=str(folder / LOG)), import_site([folder / name for name in SITE]).site)
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    outcome = simulate_jobs(world, Scheduler(JOB_POLICIES["multifactor"], passes="slurm"))
    return Replay(trace, world, outcome.allocation)


def taus(partition: Sequence[str], some_s: Floats, others_s: Floats) -> dict[str, float]:
    """How far two orders of starts agree, by partition: Kendall's tau."""
    where = np.array(partition)
    return {name: float(kendalltau(some_s[where == name], others_s[where == name]).statistic) for name in PARTITIONS}
