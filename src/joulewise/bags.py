"""Bags of tasks that are all there at once: fronts of makespan and energy, profit, what-if.

The names are those of the stub beside this module, `bags.pyi`; each is loaded when it is first used.
"""

from joulewise._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
