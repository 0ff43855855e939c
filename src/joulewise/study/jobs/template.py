"""A study to start from, below its heading."""

JOBS_TEMPLATE = """\

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
