"""A study to start from, below its heading."""

MANAGED_TEMPLATE = """\

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
# preempts = true                                     # polled: a task that earns more may suspend a running one
# energy_filter = "adaptive"                          # choices that use too much of the budget are removed

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "busy"
# workload.tasks_per_day = 50_000
"""
