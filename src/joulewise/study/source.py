"""What a section of a study file is, and what fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SYSTEM, WORKLOAD, SUPPLY, MANAGER, OPTIMISE = "system", "workload", "supply", "manager", "optimise"
SCHEDULER = "scheduler"


@dataclass(frozen=True)
class Draw:
    """What a source is built for: the trial of a seed, and the folder of the files that the study names."""

    seed: int
    trial: int
    folder: Path


@dataclass(frozen=True)
class Source:
    """One way to fill a section: its parameter class, what makes a model of it, and whether trials differ.

    `n_tasks` says about how many tasks a workload will have, without making it.
    """

    name: str
    summary: str
    parameters: type
    build: Callable[..., Any]
    is_random: Callable[[Any], bool] = lambda _parameters: False
    n_tasks: Callable[[Any, Draw], float] = lambda _parameters, _draw: 0.0


@dataclass(frozen=True)
class Section:
    """One section of a study file.

    The key `selector` names its source, or a key of `tables` stands for one; without both, it has one source, of its
    own name. Where nothing is said, it is `default`, if that is a source. `chosen` says what the selector chooses. A
    section that `decides` is the only such one in a study; with it those that it `spares` may be left out.
    """

    name: str
    summary: str
    sources: Mapping[str, Source]
    selector: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    chosen: str = ""
    is_required: bool = True
    decides: bool = False
    spares: tuple[str, ...] = ()
    default: str = ""

    @property
    def choices(self) -> list[str]:
        """The names that the key `selector` may have."""
        return [name for name in self.sources if self.selector and name not in self.tables.values()]
