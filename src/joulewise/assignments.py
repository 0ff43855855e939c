"""Tasks known in advance, certain or not: fronts of utility and energy.

The names are those of the stub beside this module, `assignments.pyi`; each is loaded when it is first used.
"""

from joulewise._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
