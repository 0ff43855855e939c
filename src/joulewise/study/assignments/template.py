"""A study to start from, below its heading."""

UTILITY_TEMPLATE = """\

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
