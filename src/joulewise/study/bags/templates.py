"""Studies of bags to start from, below their heading."""

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

FRONT_TEMPLATE = (
    _BAG
    + """
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
)

PROFIT_TEMPLATE = (
    _BAG
    + """
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
)

PRICING_TEMPLATE = (
    _BAG[: _BAG.index("\n[workload]")]
    + """
[workload]
generator = "customers"      # each brings a bag like this one:
n_tasks = 1000
customers_per_day = 75
days = 2
values = "uniform"           # what a bag is worth to them, from 0 to twice the mean; or "exponential"
value_ratio = 2              # the mean worth over what the least energy of the bag costs
patience = "24 h"            # so long until a bag is done takes the mean worth away

# [supply]
# tariff = "prices.csv"      # what a kWh costs by the hour, in place of cost_per_kwh
# pue = 1.2                  # all energy of the facility over that of its machines

[optimise]
goal = "pricing"             # the most profit from customers who come one after the other
method = ["alone", "backlog"]
# method = "fixed"           # one price for all:
# profit_ratio = [1.5, 2, 3] #   over what the least energy of the bag costs
cost_per_kwh = 0.10
"""
)
