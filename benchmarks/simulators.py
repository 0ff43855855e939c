"""Another simulator of clusters on our logs: AccaSim 1.1.3, in a process of its own.

It imports a name that Python 3.10 took out of `collections`; the process puts it back first, and changes nothing else.
"""

from __future__ import annotations

import collections
import collections.abc
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.measure import ROOT
from tests.twins.jobs.backfill import Jobs

_LOG, _SYSTEM, _STARTS = "log.swf", "system.json", "sched-log.swf"
_SWF = "{number} {arrival_s:.0f} -1 {time_s:.0f} {cores} -1 -1 {cores} {planned_s:.0f} -1 1 1 1 1 1 1 -1 -1\n"


class Starts(NamedTuple):
    """When jobs start, and the seconds of wall time that the simulation took."""

    start_s: list[float]
    seconds: float


def easy_of_accasim(jobs: Jobs, n_cores: int) -> Starts:
    """EASY of AccaSim on one node of so many cores, which is where it is fastest; times must be whole seconds."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / _LOG).open("w", encoding="utf-8") as log:
            for i, (arrival_s, time_s, planned_s, cores) in enumerate(
                zip(jobs.arrival_s, jobs.time_s, jobs.planned_s, jobs.nodes, strict=True)
            ):
                log.write(_SWF.format(number=i, arrival_s=arrival_s, time_s=time_s, cores=cores, planned_s=planned_s))
        system = {"groups": {"all": {"core": n_cores}}, "resources": {"all": 1}, "start_time": 0}
        (folder / _SYSTEM).write_text(json.dumps({**system, "equivalence": {"processor": {"core": 1}}}))
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.simulators", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        rows = (line.split(";") for line in (folder / _STARTS).read_text(encoding="utf-8").splitlines())
        starts = {int(number): float(start_s) for number, start_s in rows}
    return Starts([starts[i] for i in range(len(jobs.nodes))], float(done.stdout.splitlines()[-1]))


def _simulate(folder: Path) -> float:
    """Let AccaSim work through the log in a folder and write there when jobs start; the seconds that it took."""
    collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling
    from accasim.base.simulator_class import Simulator

    written = {"id": ("id", "str"), "start": ("start_time", "int")}
    simulator = Simulator(
        str(folder / _LOG), str(folder / _SYSTEM), EASYBackfilling(FirstFit()), statistics_output=False,
        show_statistics=False, LOG_LEVEL="ERROR", RESULTS_FOLDER_PATH=str(folder),
        SCHEDULE_OUTPUT={"format": "{id};{start}", "attributes": written},
    )  # fmt: skip
    began = time.perf_counter()
    simulator.start_simulation()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(_simulate(Path(sys.argv[1])))
