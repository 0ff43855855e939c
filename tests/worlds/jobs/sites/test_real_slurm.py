"""A real Slurm and the simulator run the same jobs: who starts when, by partition."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import kendalltau

from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.worlds.jobs.sites.import_site import import_site
from joulewise.worlds.jobs.traces import TraceParameters, load_trace
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm

N_JOBS, SPAN_S = 150, 120
GPUS = dict.fromkeys(("n9", "n10", "n11", "n12"), 2)
SETTINGS = """JobCompType=jobcomp/filetxt
JobCompLoc={folder}/done.txt
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,bf_continue
PartitionName=cpu Nodes=n[1-8] Default=YES MaxTime=10 State=UP
PartitionName=gpu Nodes=n[9-12] MaxTime=10 State=UP
PartitionName=wide Nodes=n[1-8] MaxTime=10 State=UP OverSubscribe=EXCLUSIVE PriorityTier=2"""
_COLUMNS = "JobID|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|AllocTRES|Partition|State|User"


class Asked(NamedTuple):
    """What a job asks for, and for how long it runs."""

    partition: str
    options: tuple[str, ...]
    gpus: int
    minutes: int
    seconds: int


def jobs_at_random(draws: Random) -> list[Asked]:
    """Single processors and several nodes, GPUs, and whole nodes of a higher tier."""
    jobs = []
    for _ in range(N_JOBS):
        partition = draws.choices(("cpu", "gpu", "wide"), (0.55, 0.35, 0.1))[0]
        gpus = draws.choice((1, 1, 2)) if partition == "gpu" else 0
        options = {
            "cpu": draws.choice(((1, 1), (1, 2), (1, 4), (2, 2), (2, 4))),
            "gpu": draws.choice(((1, 1), (1, 2))),
            "wide": draws.choice(((1, 1), (2, 2), (3, 3))),
        }[partition]
        asked = (f"--nodes={options[0]}", f"--ntasks={options[1]}", *([f"--gres=gpu:{gpus}"] if gpus else []))
        jobs.append(Asked(partition, asked, gpus, draws.choice((1, 2, 3, 5)), draws.choice((5, 10, 15, 20))))
    return jobs


def run_by_slurm(slurm: Slurm, jobs: list[Asked]) -> list[dict[str, str]]:
    """Have jobs come in equal steps and run; what Slurm says of each when it is done."""
    begin = datetime.now() + timedelta(seconds=10)
    number = {}
    for at, job in enumerate(jobs):
        instant = begin + timedelta(seconds=at * SPAN_S / N_JOBS)
        printed = slurm.call(
            "sbatch", "--parsable", f"--partition={job.partition}", f"--begin={instant:%Y-%m-%dT%H:%M:%S}",
            f"--time={job.minutes}", "--output=/dev/null", f"--wrap=sleep {job.seconds}", *job.options,
        )  # fmt: skip
        number[printed.strip()] = at
    while slurm.jobs():
        time.sleep(1)
    lines = (slurm.folder / "done.txt").read_text().splitlines()
    done = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines]
    return sorted(done, key=lambda job: number[job["JobId"]])


def log_of(done: list[dict[str, str]], jobs: list[Asked]) -> str:
    """What sacct would print."""
    lines = [_COLUMNS]
    for job, asked in zip(done, jobs, strict=True):
        begin, end = (datetime.fromisoformat(job[name]) for name in ("StartTime", "EndTime"))
        tres = f"cpu={job['ProcCnt']},node={job['NodeCnt']}" + (f",gres/gpu={asked.gpus}" if asked.gpus else "")
        cells = [job[name] for name in ("JobId", "SubmitTime", "EligibleTime", "StartTime", "EndTime")]
        ran_s = str(max(int((end - begin).total_seconds()), 1))
        lines.append("|".join(
            (*cells, ran_s, job["TimeLimit"], job["ProcCnt"], job["NodeCnt"], tres, job["Partition"], "COMPLETED", "u")
        ))  # fmt: skip
    return "\n".join(lines) + "\n"


def simulated(folder: Path, log: str) -> Floats:
    """When the simulator starts the jobs of a log on the site of the same folder's slurm.conf, by number."""
    (folder / "log.txt").write_text(log)
    trace = load_trace(TraceParameters(trace=str(folder / "log.txt")), import_site([folder / "slurm.conf"]).site)
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    start_s = simulate_jobs(world, Scheduler(JOB_POLICIES["conservative"], passes="slurm")).allocation.start_s
    return np.asarray(start_s[np.argsort(trace.job_id.cast(int).to_numpy())])


@pytest.mark.thorough("runs jobs for three minutes")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_jobs_start_in_the_order_of_a_real_slurm(tmp_path: Path) -> None:
    """Not in quite the same: what Slurm does within a second decides who is there first, and two runs of it differ."""
    jobs = jobs_at_random(Random(7))
    with running_slurm(tmp_path, 12, 4, SETTINGS.format(folder=tmp_path), GPUS) as slurm:
        done = run_by_slurm(slurm, jobs)
    start_s = np.array([datetime.fromisoformat(job["StartTime"]).timestamp() for job in done])
    found_s, partition = simulated(tmp_path, log_of(done, jobs)), np.array([job.partition for job in jobs])
    agreement = {
        name: float(kendalltau(start_s[partition == name], found_s[partition == name]).statistic)
        for name in ("cpu", "gpu", "wide")
    }
    assert min(agreement.values()) > 0.8, agreement
