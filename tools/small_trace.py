"""Write the log of the examples, which nobody ever logged: `python -m tools.small_trace`.

Jobs of the Lublin-Feitelson model on 128 nodes, with users, queues and requested times drawn here. They wait as they
would with EASY on this machine, of which a quarter is out of service for two days.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np

from joulewise.files import write_atomic
from joulewise.model.arrays import Floats
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import Jobs, JobWorld, NodeOutages
from joulewise.policies.jobs.heuristic import find_job_policy
from joulewise.rng import generator
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin

PATH = Path(__file__).parent.parent / "src" / "joulewise" / "examples" / "small.swf.gz"
N_NODES, N_JOBS, N_USERS = 128, 1500, 12
GAP_FACTOR = 0.6
ASKED_S = 300.0
"""Requested times are whole multiples of this."""
TOO_SHORT = 0.03
"""So many jobs ask for less time than they take."""
SHORT_S = 3600.0
DAY_S = 86_400.0
N_OUT, OUT_S = 32, (3 * DAY_S, 5 * DAY_S)
"""So many nodes are out of service, from when to when."""

_HEADER = f"""\
; Version: 2.2
; Computer: made up
; Installation: the examples of Joulewise
; Information: drawn from the model of Lublin and Feitelson by tools/small_trace.py, not logged anywhere
; UnixStartTime: 1767225600
; TimeZoneString: UTC
; MaxJobs: {N_JOBS}
; MaxRecords: {N_JOBS}
; MaxNodes: {N_NODES}
; MaxProcs: {N_NODES}
; Queue: 1 short
; Queue: 2 long
"""


def small_trace() -> str:
    """The log in the Standard Workload Format."""
    clusters = Clusters(("made-up",), np.array([N_NODES]), np.array([1]), np.array([1]))
    parameters = LublinParameters(n_jobs=N_JOBS, gap_factor=GAP_FACTOR)
    system, jobs = generate_lublin(parameters, ClusterSystem(clusters), 0, 0)
    run_s, nodes, submit_s = system.types.time_s, system.types.nodes, jobs.work.arrival_s
    stream = generator(0, "small trace")
    weight = 1 / np.arange(1, N_USERS + 1)
    user = stream.choice(N_USERS, N_JOBS, p=weight / weight.sum()) + 1
    asked_s = _asked_s(run_s, stream)
    queue = np.where(asked_s <= SHORT_S, 1, 2)
    wait_s = _wait_s(system, jobs, asked_s)
    rows = zip(submit_s, wait_s, run_s, nodes, asked_s, user, queue, strict=True)
    lines = [
        f"{i} {at:.0f} {waited:.0f} {ran:.0f} {n} -1 -1 {n} {asked:.0f} -1 1 {who} {1 + who % 3} -1 {where} -1 -1 -1"
        for i, (at, waited, ran, n, asked, who, where) in enumerate(rows, 1)
    ]
    return _HEADER + "\n".join(lines) + "\n"


def _asked_s(run_s: Floats, stream: np.random.Generator) -> Floats:
    """What is asked for: mostly far more than is taken, in round numbers."""
    factor = np.where(stream.random(run_s.size) < TOO_SHORT, 0.7, stream.uniform(1.0, 5.0, run_s.size))
    return np.asarray(np.ceil(run_s * factor / ASKED_S) * ASKED_S)


def _wait_s(system: ClusterSystem, jobs: Jobs, asked_s: Floats) -> Floats:
    """How long jobs wait at the site that nobody has."""
    from_s, to_s = OUT_S
    outage = NodeOutages(*map(np.array, ([0], [N_OUT], [from_s], [to_s], [True], [0.0])))
    types = replace(system.types, planned_s=asked_s, limit_s=asked_s)
    world = JobWorld(system.clusters, types, jobs, outages=outage)
    found = simulate_jobs(world, Scheduler(find_job_policy("easy"))).allocation
    return np.asarray(found.start_s - found.ready_s)


if __name__ == "__main__":
    write_atomic(PATH, gzip.compress(small_trace().encode(), mtime=0))
