"""Joulewise: the most useful work out of every joule.

`import joulewise as jw` is quick: each name is loaded from its room when it is first used. What a first script needs is
here; everything else is by system: `jw.tasks`, `jw.jobs`, `jw.bags`, `jw.assignments`, `jw.facility`, `jw.measure`. The
names are those of the stubs, `__init__.pyi` and its like.
"""

from joulewise._lazy import attach_stub
from joulewise._version import __version__ as __version__

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
