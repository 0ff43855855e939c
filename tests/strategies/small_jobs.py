"""Studies of parallel jobs small enough for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from joulewise.study import Results, Study, parse_study, run_study

Change = Callable[[str], str]

CLUSTERS = """
name = "clusters"
trials = 2

[system]
generator = "clusters"
cores = 4000
job_types = 20
special_job_types = 8
size_limits = [2, 4, 32, 256]

[workload]
generator = "parallel-day"
jobs_per_day = 120
warm_up = "1 h"

[supply]
budget = "300 MJ"

[scheduler]
policy = ["easy", "max-upe", "random"]
dropping_threshold = 0.5
"""

LOGGED = """
name = "logged"

[workload]
trace = "log.swf"

[scheduler]
policy = ["easy", "conservative"]
"""

LOG = """\
; MaxNodes: 8
; MaxProcs: 8
; UnixStartTime: 1000
1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 1 -1 -1 -1
2 10 -1 50 8 -1 -1 8 50 -1 1 2 1 -1 1 -1 -1 -1
3 20 -1 80 4 -1 -1 4 80 -1 1 1 2 -1 2 -1 -1 -1
4 30 -1 0 4 -1 -1 4 80 -1 0 3 2 -1 2 -1 -1 -1
5 40 -1 60 2 -1 -1 2 40 -1 1 2 1 -1 1 -1 -1 -1
6 50 -1 5 9 -1 -1 9 60 -1 1 3 1 -1 1 -1 -1 -1
"""
"""A log with a job that never ran, one that is larger than the machine and one that asks for too little."""


TABLED = """
name = "tabled"

[system]
clusters = "clusters.csv"
job_times = "times.csv"

[workload]
jobs = "jobs.csv"

[scheduler]
policy = "easy"
"""

TABLES = {
    "clusters.csv": "cluster,nodes\na,4\nb,8\n",
    "times.csv": "job_type,cluster,nodes,time_s\nt,a,2,60\nt,b,4,30\nt,b,2,60\n",
    "jobs.csv": "arrival_s,job_type,user\n0,t,ann\n5,t,bob\n7,t,ann\n9,t,bob\n",
}
"""Two clusters and a moldable job type; nothing is said of powers."""


def job_study(text: str, change: Change = lambda text: text, folder: Path = Path(), *, check: bool = False) -> Study:
    """A study of parallel jobs, its text changed as asked."""
    return parse_study(change(text), "study.toml", folder, check_inputs=check)


def logged_study(folder: Path, change: Change = lambda text: text, *, check: bool = False) -> Study:
    """The study of a log, which is written beside it."""
    (folder / "log.swf").write_text(LOG)
    return job_study(LOGGED, change, folder, check=check)


def tabled_study(folder: Path, change: Change = lambda text: text, *, check: bool = False) -> Study:
    """The study of tables, which are written beside it."""
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    return job_study(TABLED, change, folder, check=check)


def run_jobs(study: Study, out: Path) -> Results:
    """A study run into a folder."""
    return run_study(study, out, 1)
