"""Serial tasks that arrive over time, under a manager.

The names are those of the stub beside this module, `tasks.pyi`; each is loaded when it is first used.
"""

from joulewise._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
