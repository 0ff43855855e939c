"""Write the log of the example of a site, which nobody ever logged: `python -m tools.small_site`.

A week of jobs in the form of Slurm's accounting, for the site that is described beside it: small and large ones, with
GPUs and without, more of them at work than at night, all drawn here.
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.files import write_atomic
from joulewise.model.arrays import Counts, Floats
from joulewise.rng import generator

PATH = Path(__file__).parent.parent / "src" / "joulewise" / "examples" / "site-jobs.txt.gz"
N_JOBS, N_DAYS, N_USERS = 1500, 7, 15
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
ACCOUNTS = ("physics", "biology", "climate")
AT_WORK, AT_NIGHT, WEEKEND = 3.0, 1.0, 0.4
"""How many jobs come in an hour of work and in any other, relative to each other; at a weekend for each of these."""
WORK_HOURS = range(8, 18)
HOUR_S = 3600
SPREAD = 1.4
"""Of the logarithm of run times."""
ASKED_S = 300.0
"""Requested times are whole multiples of this."""
TOO_SHORT = 0.03
"""So many jobs ask for less time than they take."""

COLUMNS = (
    "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|ReqCPUS|AllocNodes|ReqNodes|AllocTRES|ReqTRES|Licenses|State|User|"
    "Account|Partition|Cluster"
)


class Kind(NamedTuple):
    """A kind of jobs: its share of all, and what its jobs choose from.

    `cores` are of each node, or of each GPU in the partition of those, and memory is of each processor.
    """

    share: float
    partition: str
    nodes: tuple[int, ...]
    cores: tuple[int, ...]
    gpus: tuple[str, ...]
    memory_gib: tuple[int, ...]
    median_s: float
    most_s: float
    licences: tuple[str, ...] = ("",)


DAY_S = 24 * HOUR_S
KINDS = (
    Kind(0.43, "batch", (1,), (1, 2, 4, 8, 16, 32), ("",), (2, 4), 4800.0, 2 * DAY_S),
    Kind(0.08, "batch", (2, 4, 8), (32,), ("",), (2, 3), 6000.0, 2 * DAY_S),
    Kind(0.05, "batch", (1,), (8, 16, 32), ("",), (16, 24), 9000.0, 2 * DAY_S),
    Kind(0.04, "batch", (1,), (4, 8), ("",), (4,), 5400.0, 2 * DAY_S, ("solver:1", "solver:2")),
    Kind(0.24, "gpu", (1,), (4, 8), ("", "", "a100", "a100", "v100"), (4, 8), 9000.0, 2 * DAY_S),
    Kind(0.12, "debug", (1,), (1, 4, 8), ("",), (2,), 240.0, HOUR_S / 2),
    Kind(0.04, "wide", (2, 4, 4), (32,), ("",), (2,), 7200.0, DAY_S),
)


def small_site() -> str:
    """The log as `sacct --parsable2` prints one."""
    stream = generator(0, "small site")
    weight = 1 / np.arange(1, N_USERS + 1)
    user = stream.choice(N_USERS, N_JOBS, p=weight / weight.sum())
    kind = stream.choice(len(KINDS), N_JOBS, p=[each.share for each in KINDS])
    submit_s = _submit_s(stream)
    lines = [
        f"{i + 1}|{(MONDAY + timedelta(seconds=float(at_s))):%Y-%m-%dT%H:%M:%S}|{_line(KINDS[k], stream)}"
        f"|COMPLETED|user{who:02}|{ACCOUNTS[who % len(ACCOUNTS)]}|{KINDS[k].partition}|willow"
        for i, (at_s, k, who) in enumerate(zip(submit_s, kind, user, strict=True))
    ]
    return "\n".join([COLUMNS, *lines, ""])


def _submit_s(stream: np.random.Generator) -> Floats:
    """Instants of submission, in whole seconds from the first midnight on."""
    hours = np.arange(N_DAYS * 24)
    rate = np.where(np.isin(hours % 24, WORK_HOURS), AT_WORK, AT_NIGHT)
    rate[hours // 24 >= 5] *= WEEKEND
    hour: Counts = stream.choice(hours, N_JOBS, p=rate / rate.sum())
    return np.sort(np.floor((hour + stream.random(N_JOBS)) * HOUR_S))


def _line(kind: Kind, stream: np.random.Generator) -> str:
    """What a job asks for and how long it takes, as columns."""
    nodes, per_node, gpu, memory, licences = (
        stream.choice(choices) for choices in (kind.nodes, kind.cores, kind.gpus, kind.memory_gib, kind.licences)
    )
    gpus = int(stream.choice((1, 1, 2, 4))) if kind.partition == "gpu" else 0
    cores = int(nodes * per_node * max(gpus, 1))
    run_s = np.clip(np.ceil(stream.lognormal(np.log(kind.median_s), SPREAD)), 5.0, kind.most_s)
    factor = 0.7 if stream.random() < TOO_SHORT else stream.uniform(1.0, 5.0)
    asked_s = min(np.ceil(run_s * factor / ASKED_S) * ASKED_S, kind.most_s)
    tres = f"billing={cores},cpu={cores},mem={cores * memory}G,node={nodes}"
    if gpus:
        tres += f",gres/gpu={gpus}" + (f",gres/gpu:{gpu}={gpus}" if gpu else "")
    return f"{run_s:.0f}|{asked_s / 60:.0f}|{cores}|{cores}|{nodes}|{nodes}|{tres}|{tres}|{licences}"


if __name__ == "__main__":
    write_atomic(PATH, gzip.compress(small_site().encode(), mtime=0))
