"""What a researcher waits for: the package in a notebook, and the first figure of what is in memory."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measure import Bar, Case

_IMPORT = """
import time
began_s = time.perf_counter()
import joulewise
print(time.perf_counter() - began_s)
"""
_FIGURE = """
import sys, time
import joulewise as jw

seed, tasks_per_day = map(int, sys.argv[1:])
system = jw.generate_system(jw.SystemParameters(), seed, 0)
work = jw.generate_workload(jw.WorkloadParameters(tasks_per_day=tasks_per_day), system, seed, 0)
outcome = jw.run(jw.World(system, work), jw.Manager(jw.find_policy("max-max-upt"), dropping_threshold=0.5))
began_s = time.perf_counter()
outcome.plot().to_dict()
print(time.perf_counter() - began_s)
"""


def looks(case: Case) -> dict[str, float]:
    """`import joulewise`, and the first figure of a day of 20,000 tasks with all that it loads: the best of a few."""
    arguments, times = (str(case.seed), str(round(20_000 * case.part))), 1 if case.smoke else 5
    return {"looks.import_s": _best_s(times, _IMPORT), "looks.first_figure_s": _best_s(times, _FIGURE, *arguments)}


def _best_s(times: int, code: str, *arguments: str) -> float:
    """The seconds that a new interpreter tells, at best of so many times."""
    command = [sys.executable, "-c", code, *arguments]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(times))


BARS = (
    Bar("`import joulewise` in s", "looks.import_s", "at most", 0.3),
    Bar(
        "the first figure of a day of 20,000 tasks, with all that it loads, in s", "looks.first_figure_s", "at most", 3
    ),
)
