"""Write the log of the examples, which nobody ever logged: `python -m tools.small_trace`.

Jobs of the Lublin-Feitelson model on 128 nodes, with users, queues and requested times drawn here.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from joulewise.files import write_atomic
from joulewise.model.arrays import Floats
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.rng import generator
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin

PATH = Path(__file__).parent.parent / "src" / "joulewise" / "examples" / "small.swf.gz"
N_NODES, N_JOBS, N_USERS = 128, 1500, 12
GAP_FACTOR = 0.6
ASKED_S = 300.0
"""Requested times are whole multiples of this."""
TOO_SHORT = 0.03
"""So many jobs ask for less time than they take."""
SHORT_S = 3600.0

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
    rows = zip(submit_s, run_s, nodes, asked_s, user, queue, strict=True)
    lines = [
        f"{i + 1} {at:.0f} -1 {ran:.0f} {n} -1 -1 {n} {asked:.0f} -1 1 {who} {1 + who % 3} -1 {where} -1 -1 -1"
        for i, (at, ran, n, asked, who, where) in enumerate(rows)
    ]
    return _HEADER + "\n".join(lines) + "\n"


def _asked_s(run_s: Floats, stream: np.random.Generator) -> Floats:
    """What is asked for: mostly far more than is taken, in round numbers."""
    factor = np.where(stream.random(run_s.size) < TOO_SHORT, 0.7, stream.uniform(1.0, 5.0, run_s.size))
    return np.asarray(np.ceil(run_s * factor / ASKED_S) * ASKED_S)


if __name__ == "__main__":
    write_atomic(PATH, gzip.compress(small_trace().encode(), mtime=0))
