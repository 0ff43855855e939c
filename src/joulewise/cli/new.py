"""`joulewise new`: write a commented study, or a plan of the laboratory, to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

MEASURE = "measure"
_NEXT = {MEASURE: "measure {} --dry-run"}
_NOUN = {MEASURE: "plan"}
"""What to do with a new file that is no study, and what it is."""

_HEADING = """\
# A Joulewise study. Check it with `joulewise check {file}`, run it with `joulewise run {file}`.
# Durations, powers and energies are text with a unit ("10 min", "66 W", "1.11 GJ").
# A list where one value may stand is a sweep; several lists make every combination.
# `joulewise explain KEY` tells more about any key, `joulewise list keys` names them all.

name = "{name}"               # also the name of the results folder
description = ""
seed = 0                     # the same seed gives the same results, on any number of processors
trials = 3                   # every combination is drawn this many times; intervals come from them
keep = "first"               # detail tables of the first trial ("all", "none")
"""

_MANAGED = """\

[system]
generator = "oversubscribed" # 100 machines of 13 types; or your own tables in place of this line:
# etc_s = "etc.csv"          #   execution times in seconds: task types by machine types
# machines = "machines.csv"  #   machine_type, count
# power_w = "power.csv"      #   powers in watts, shaped like etc_s

[workload]
generator = "day"            # a day of tasks; or your own in place of this section:
tasks_per_day = 33_000
warm_up = "2 h"              # completions count after it, for 24 h
# tasks = "tasks.csv"        #   arrival_s, task_type, and what completing a task is worth

# [supply]                   # limits and costs of energy; left out: none
# budget = "1.11 GJ"         #   for each day; or budget_total for all counted days together
# power_cap = "15 kW"        #   at every instant; or power_cap_by_hour = "caps.csv"
# pue = 1.2                  #   all energy of the facility over that of its machines
# tariff = "prices.csv"      #   what a kWh costs, or emits, by the hour
# tariff_unit = "EUR"

[manager]
policy = ["max-util", "min-min-comp", "max-max-upt"]  # `joulewise list policies`, or "mine.py:function"
dropping_threshold = [0, 0.5]                         # tasks that can only earn less are dropped
mapping_interval = "1 min"                            # time between the mapping events of batch policies
# environment = "polled"                              # only idle machines get tasks, in place of "queued"
# energy_filter = "adaptive"                          # choices that use too much of the budget are removed

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "busy"
# workload.tasks_per_day = 50_000
"""

_BAG = """\

[system]
generator = "nine-machines"  # 36 machines of nine types; also "cov", "gpus"; or tables in place of these two lines:
idle_percent = 5             # power of an idle machine, in percent of what it draws on average
# etc_s = "etc.csv"          #   execution times in seconds: task types by machine types
# machines = "machines.csv"  #   machine_type, count, and idle_w: the power of an idle machine in watts
# power_w = "power.csv"      #   powers in watts, shaped like etc_s

[workload]
generator = "bag"            # tasks that are all there at once; or a table in place of these two lines:
n_tasks = 1000
# bag = "bag.csv"            #   task_type, count
# off_when_done = true       # machines are switched off when they are done, and draw nothing any more
"""

_FRONT = """\
[optimise]
goal = "front"               # the trade-off between energy and makespan
method = ["lp", "annealing"] # `joulewise list methods`; "nsga2" is the genetic algorithm
n_points = 100               # points along the proven bound at which whole allocations are made
moves = 2_000_000            # of annealing
# population = 100           # of nsga2
# generations = 1000
# snapshots = [10, 100]      #   fronts after so many generations are stored too

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "larger"
# workload.n_tasks = 10_000
"""

_PROFIT = """\
# [supply]                   # left out: no limits
# power_cap = "15 kW"        #   on the mean power of the bag
# pue = 1.2                  #   all energy of the facility over that of its machines
# tariff = "prices.csv"      #   what a kWh costs by the hour, in place of cost_per_kwh

[optimise]
goal = "profit"              # the most profit per second
profit_ratio = [1.01, 1.2, 1.5]  # the price over what the least energy costs; or a price:
# price = 10.0
cost_per_kwh = 0.10
recovery = "best"            # whole allocations at many points, the best is kept; "one": at the optimum alone
# deadline = "2 h"
# must_run = true            # an agreement requires the bag to be run even at a loss
# overhead = 0.5             # for each bag, however it is run
# depreciation_per_hour = 1  # of all machines together, computing or not

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "larger"
# workload.n_tasks = 10_000
"""

_UTILITY = """\

[system]
generator = "nine-machines"  # also "oversubscribed", "cov", "gpus"; or tables in place of these lines:
counts = [2, 3, 3, 3, 2, 4, 2, 5, 2]
special_counts = [1, 1, 1, 1]
mean_etc = "1.5 min"         # mean execution time, to which all are scaled
# etc_s = "etc.csv"          #   execution times in seconds: task types by machine types
# power_w = "power.csv"      #   powers in watts, shaped like etc_s
# machines = "machines.csv"  #   machine_type, count
# time_cov_range = [0.1, 1.5]   # times are uncertain: gamma distributions with coefficients of variation in this range
# power_cov_range = [0.1, 1.5]  # powers too
# samples = "samples.csv"    # in place of both: times and powers that were observed

[workload]
generator = "known"          # tasks that are all known in advance; or your own in place of these three lines:
n_tasks = 1000
span = "15 min"              # within which they arrive
# tasks = "tasks.csv"        #   arrival_s, task_type, and what completing a task is worth

[optimise]
goal = "utility"             # the trade-off between energy and utility
method = ["annealing", "nsga2"]  # `joulewise list methods`
moves = 2_000_000            # of annealing
generations = 1000           # of nsga2
snapshots = [10, 100]        #   fronts after so many generations are stored too
# seeds = [["min-energy"], ["min-min"], []]  # a sweep: first populations with one heuristic each, or none
# drop_below = 0.5           # tasks that would earn less are dropped
# objective = "percentile"   # of uncertain times and powers (nsga2); also "expected", "mean-completions"
# percentile_utility = 90    #   earned at least in so many percent of the samples
# percentile_energy = 90     #   used at most in so many percent of the samples

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "more"
# workload.n_tasks = 2000
"""

_JOBS = """\

[system]
generator = "clusters"       # 100,000 cores in six clusters, 100 job types; or your own in place of this line:
# clusters = "clusters.csv"  #   cluster, nodes, cores_per_node
# job_times = "times.csv"    #   job_type, cluster, nodes, time_s, power_w
# outages = "outages.csv"    # nodes out of use: cluster, nodes, start_s, end_s; or failures by chance:
# mtbf = "2000 h"            #   of each node, with mttr = "4 h"

[workload]
generator = "parallel-day"   # a day of jobs after a warm-up of 4 h; also "lublin"; or your own in place of these lines:
jobs_per_day = 5_000
# jobs = "jobs.csv"          #   arrival_s, and job_type, or nodes and time_s
# trace = "log.swf.gz"       #   a real log, or what `joulewise import` made of one; [system] may then be left out

# [supply]                   # limits and costs of energy; left out: none
# budget = "12 GJ"           #   for each day
# power_cap = "250 kW"       #   at every instant
# pue = 1.2                  #   all energy of the facility over that of its nodes
# tariff = "prices.csv"      #   what a kWh costs, or emits, by the hour

[scheduler]
policy = ["easy", "conservative", "max-upr", "max-upe"]  # `joulewise list job-policies`, or "mine.py:function"
dropping_threshold = 0.5                   # jobs that can only earn less are dropped
# commitment = "reservations"              # nodes held ahead stay held, in place of "place-holders"
# energy_filter = "per-resource"           # options that use too much of the budget are removed
# leniency = [1, 2, 4]                     #   a sweep
# overrun = "kill"                         # jobs of a trace that run longer than they asked for
# preempts = true                          # a job that earns more may suspend others, with checkpoint = "2 min"

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "busy"
# workload.jobs_per_day = 10_000
"""

_FACILITY = """\

[system]
generator = "facility"       # nodes of the published types in a room with CRAC units
nodes = 150
cracs = 3
node_types = 2               # of four: Fujitsu TX140, IBM x3200, Fujitsu RX100, Acer AT110
redline_c = 25               # warmest air that a node may take in
cap_share = 0.6              # power that may be drawn, as a share of the most that nodes and cooling could draw

[workload]
generator = "flows"          # tasks of benchmark types that arrive for ever
task_types = 8               # of 16: lbm, bwaves, sphinx3, milc, cactusADM, calculix, wrf, tonto, ...

# [supply]
# power_cap = "10 kW"        # the cap in watts, in place of cap_share

[optimise]
goal = "reward"              # the most reward per second under the cap and the redlines
method = ["configurations", "greedy", "greedy-spread"]  # `joulewise list methods`
# time_limit = "10 s"        # a search gives back the best plan so far
# population = 200           # of ga and gacl
# generations = 10_000
# seeds = ["greedy-spread"]  #   plans in the first population

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "warmer"
# system.redline_c = 27
"""

_MEASURE = """\
# How programs that share a machine slow each other down, measured with kernels that come with Joulewise.
# Nothing has to be installed, set up or run as root; what the machine does not show is said to be missing.
#   joulewise measure {file} --dry-run    the schedule, and how long it takes (some minutes)
#   joulewise measure {file}              Ctrl-C keeps what was measured; the same command goes on
#   joulewise measure --probes                  what can be read here, and what would make more of it so
name = "{name}"
description = "Bundled kernels, from bound by memory to bound by the core, alone and in pairs."
repetitions = 5              # intervals need 2; from 5 on, runs that lie far from the others are left out
# seed = 0                   # the order of runs follows from it
# cores = "separate"         # a physical core for each; "siblings", "any", [0, 2], or [[0, 1], [2, 3]]
# ways = ["restart", "once"] # members that end early are started again; or are not, as published

[[program]]
name = "triad"               # bound by how much memory can deliver
kernel = "triad"             # `footprint = "64 MB"` in place of a size that follows from the caches
seconds = "1.5 s"            # about how long a run takes alone

[[program]]
name = "chase"               # bound by how soon memory answers
kernel = "chase"
seconds = "1.5 s"

[[program]]
name = "stencil"             # as large as the last cache
kernel = "stencil"
seconds = "1.5 s"

[[program]]
name = "matmul"              # bound by the core
kernel = "matmul"
seconds = "1.5 s"

# Your own programs stand beside them, or in their place:
# [[program]]
# name = "solver"
# command = "./solver --input case.dat"
# folder = "runs"            # relative to this file
# warm_up = 1                # unmeasured runs before the first one
# time_limit = "10 min"      # a run that takes longer is ended, and does not count

[together]
pairs = "all"                # each runs alone too; "none", or [["triad", "chase"], ...]
# groups = [["triad", "triad", "chase", "matmul"]]  # larger ones, where the machine has the cores
# sampled = [{{ size = 4, n = 12 }}]                  # chosen so that every effect can be told

# [clock]                    # left out: as the machine is
# frequencies = "all"        # or ["1.6 GHz", "3.4 GHz"]; or governors = ["performance", "powersave"]

# [meter]                    # left out: RAPL, where it can be read
# command = "ipmitool dcmi power reading"   # any command that prints watts
# csv = "meter.csv"          # or the table of an external meter, laid over runs by the time of day

# [idle]
# most_busy = 0.1            # share of the cores that others may use before a run
# wait = "10 s"              # then it runs all the same, with a note
"""

TEMPLATES = {"managed": _HEADING + _MANAGED, "front": _HEADING + _BAG + "\n" + _FRONT,
             "profit": _HEADING + _BAG + "\n" + _PROFIT, "utility": _HEADING + _UTILITY,
             "jobs": _HEADING + _JOBS, "facility": _HEADING + _FACILITY, MEASURE: _MEASURE}  # fmt: skip
"""A study to start from of each kind, and a plan of the laboratory."""

_STUDIES = [kind for kind in TEMPLATES if kind != MEASURE]


def new(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The file to write; study.toml, or measure.toml.", show_default=False),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(help=f"The kind of study: {', '.join(_STUDIES)}; or {MEASURE}, a plan of the laboratory."),
    ] = "managed",
) -> None:
    """Write a commented study or plan to start from."""
    from joulewise.errors import InputError, Problem, unknown_name
    from joulewise.files import write_atomic

    if kind not in TEMPLATES:
        raise InputError(unknown_name("--kind", kind, TEMPLATES))
    path = path or Path("measure.toml" if kind == MEASURE else "study.toml")
    if path.exists():
        allowed = f"a new {_NOUN.get(kind, 'study')} overwrites nothing"
        raise InputError(Problem(str(path), "is there already", allowed, "choose another name"))
    write_atomic(path, TEMPLATES[kind].format(file=path, name=_name(path.stem)))
    print(f"Wrote {path}. Next: joulewise {_NEXT.get(kind, 'check {}').format(path)}")


def _name(stem: str) -> str:
    """A valid study name close to the file's."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip("._-")[:100] or "study"
