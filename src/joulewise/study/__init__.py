"""Studies: a TOML file in, runs over processes, a store of Parquet tables, statistics out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joulewise.progress import Cancelled, CancelToken, Progress
    from joulewise.study.planning import plan
    from joulewise.study.results import Results, open_results
    from joulewise.study.run import Run
    from joulewise.study.running import run_study
    from joulewise.study.study import Study, parse_study, read_study
    from joulewise.study.verifying import Verdict, verify

__all__ = [
    "CancelToken", "Cancelled", "Progress", "Results", "Run", "Study", "Verdict",
    "open_results", "parse_study", "plan", "read_study", "run_study", "verify",
]  # fmt: skip

_HOMES = {
    "joulewise.progress": ("CancelToken", "Cancelled", "Progress"),
    "planning": ("plan",),
    "results": ("Results", "open_results"),
    "run": ("Run",),
    "running": ("run_study",),
    "study": ("Study", "parse_study", "read_study"),
    "verifying": ("Verdict", "verify"),
}
"""Public names by the module they live in; loaded on first use, because some bring in the whole simulator."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home if "." in home else f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
