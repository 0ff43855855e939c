"""A heuristic of one's own: utility per square root of execution time, between Max-Max Util and Max-Max UPT."""

import math

import joulewise as jw


@jw.heuristic(mode="batch", falls_with_time=True, title="Utility per root time")
def utility_per_root_time(utility, completion_s, exec_s, energy_j, wait_s):
    """Like Max-Max UPT, but long tasks are punished less."""
    return utility / math.sqrt(exec_s)
