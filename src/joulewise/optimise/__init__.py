"""Search with proof: bounds and, in time, linear programs and fronts."""

from joulewise.optimise.bounds import BOUNDS, maximum_utility, utility_ceiling

__all__ = ["BOUNDS", "maximum_utility", "utility_ceiling"]
