"""Studies of a facility small enough for tests."""

from __future__ import annotations

ROOM = """
name = "facility"

[system]
generator = "facility"
nodes = 4
cracs = 1

[workload]
generator = "flows"
task_types = 3

[optimise]
goal = "reward"
method = "greedy"
"""
"""A room of four nodes, planned as fast as can be."""

TABLED = """
name = "tables"

[system]
node_list = "nodes.csv"
crac_list = "cracs.csv"
node_type_list = "types.csv"
heat = "heat.csv"

[workload]
task_list = "tasks.csv"
speeds = "speeds.csv"

[optimise]
goal = "reward"
"""
"""A facility of tables, which lie beside it."""
