"""A study to start from, below its heading."""

FACILITY_TEMPLATE = """\

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
# day = "0 s"                # no simulated day; left out: 24 h or so
# population = 200           # of ga and gacl
# generations = 10_000
# seeds = ["greedy-spread"]  #   plans in the first population

# Named combinations, laid over the sections above and run for each of them:
# [[variant]]
# name = "warmer"
# system.redline_c = 27
"""
