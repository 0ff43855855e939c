"""Search with proof: bounds and, in time, linear programs and fronts."""

from joulewise.optimise.bounds import maximum_utility, utility_ceiling

__all__ = ["maximum_utility", "utility_ceiling"]
