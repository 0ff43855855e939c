"""Studies: a TOML file in, runs over processes, a store of Parquet tables, statistics out.

Each name is loaded when it is first used, because some bring in the whole simulator. The names are those of the stub,
`__init__.pyi`.
"""

from joulewise._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
