"""What a section of a study file is, and what fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

SYSTEM, WORKLOAD, SUPPLY, OPTIMISE = "system", "workload", "supply", "optimise"
GOAL = "goal"
"""The key by which kinds of studies that share a section which decides are told apart."""


@dataclass(frozen=True)
class Draw:
    """What a source is built for: the trial of a seed, and the folder of the files that the study names."""

    seed: int
    trial: int
    folder: Path


@dataclass(frozen=True)
class Source:
    """One way to fill a section: parameters, what makes a model of them, if not they, and whether trials differ.

    `n_tasks` says about how many tasks a workload will have, without making it; `check` raises InputError with what is
    wrong in its files whatever the system is, for when there is none. A key `table` of the section stands
    for the source without naming it. Trials of one that `resamples` are other orders of the one sample that there is.
    """

    name: str
    summary: str
    parameters: type
    build: Callable[..., Any] = lambda parameters, _draw: parameters
    is_random: Callable[[Any], bool] = lambda _parameters: False
    resamples: Callable[[Any], bool] = lambda _parameters: False
    n_tasks: Callable[[Any, Draw], float] = lambda _parameters, _draw: 0.0
    check: Callable[[Any, Draw], None] = lambda _parameters, _draw: None
    table: str = ""


@dataclass(frozen=True)
class Section:
    """One section of a study file.

    The key `selector` names its source, or a key of `tables` stands for one; without both, it has one source, of its
    own name. Where nothing is said, it is `default`, if that is a source. `chosen` says what the selector chooses. A
    section that `decides` is the only such one in a study; with it those that it `spares` may be left out.
    """

    name: str
    summary: str
    sources: Mapping[str, Source] = field(default_factory=dict)
    selector: str = ""
    chosen: str = ""
    is_required: bool = True
    decides: bool = False
    spares: tuple[str, ...] = ()
    default: str = ""

    def of(self, sources: Iterable[Source], default: str = "") -> Section:
        """The section, filled by these."""
        return replace(self, sources={source.name: source for source in sources}, default=default)

    @property
    def tables(self) -> dict[str, str]:
        """The keys that stand for a source without naming it."""
        return {source.table: source.name for source in self.sources.values() if source.table}

    @property
    def choices(self) -> list[str]:
        """The names that the key `selector` may have."""
        return [name for name, source in self.sources.items() if self.selector and not source.table]
