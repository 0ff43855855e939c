"""What a study is: its heading, its kind and its points."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from joulewise.errors import Problem
from joulewise.optimise.bounds import BoundKind
from joulewise.study.kinds.kind import Kind
from joulewise.study.spec.column import Column
from joulewise.study.spec.parameters import OrText
from joulewise.study.spec.parts import Part, Point
from joulewise.study.spec.report import Shown
from joulewise.study.spec.trials import EXAMPLE, MOST_TRIALS, UNTIL, Until
from joulewise.study.spec.tuning import Tuning
from joulewise.study.store.store import Owner
from joulewise.visible import Visible

MAX_RUNS = 1_000_000
"""No study may ask for more runs than this."""

VARIANT = "variant"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


@dataclass(frozen=True)
class Heading:
    """What a study file says about itself, outside its sections."""

    name: Annotated[str, Field(pattern=_NAME, max_length=100)] = field(
        metadata={"help": "name of the study and of its results folder: letters, digits, '.', '_' and '-'"}
    )
    description: Annotated[str, Field(max_length=10_000)] = field(
        default="", metadata={"help": "what the study is for, shown in its report"}
    )
    seed: Annotated[int, Field(ge=0)] = field(
        default=0, metadata={"help": "all randomness follows from it; the same seed gives the same results"}
    )
    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS), OrText(EXAMPLE, UNTIL)] = field(
        default=1,
        metadata={
            "help": "how many worlds are drawn for each point; policies and methods share the draws of a trial; "
            "or how surely the best must be known, and how many there may be at most"
        },
    )
    samples: Annotated[int | None, Field(ge=1, le=10_000)] = field(
        default=None,
        metadata={
            "help": "how many points a Latin hypercube draws where values are ranges, such as "
            "{ from = 1.0, to = 4.0 }; each comes with every combination of the lists"
        },
    )
    keep: Literal["first", "all", "none"] = field(
        default="first",
        metadata={
            "help": "runs whose detail tables are stored: the first trial of each point, all that judge, or none"
        },
    )
    bound: BoundKind | None = field(
        default=None,
        metadata={
            "help": "how utility is bounded over time, once per world: prices (tight, a second or two), or trivial. "
            "Left out: prices, but no bound where logs are replayed without rules, as they tell of no utility"
        },
    )


@dataclass(frozen=True)
class Study(Visible, looks="studies"):
    """A valid study: its kind and heading, its points in a fixed order, the swept columns and the text it came from.

    Where its trials stop by themselves, `until` says when, and the heading how many there are at most. Where values
    are tuned, `tuning` says how, its keys being swept columns. `shown` is what the report shows. `folder` is where the
    files it names are looked up; `warnings` are what was odd in them, and no mistake.
    """

    kind: Kind
    heading: Heading
    points: tuple[Point, ...]
    axes: tuple[str, ...]
    source: str
    file_name: str
    folder: Path
    warnings: tuple[Problem, ...] = ()
    until: Until | None = None
    tuning: Tuning | None = None
    shown: Shown = field(default_factory=Shown)

    @property
    def name(self) -> str:
        return self.heading.name

    @cached_property
    def decisions(self) -> tuple[Part, ...]:
        """What decides at points, each once."""
        return tuple(dict.fromkeys({id(point.decision): point.decision for point in self.points}.values()))

    @cached_property
    def workloads(self) -> tuple[Part, ...]:
        """The workloads of points, each once."""
        return tuple(dict.fromkeys({id(point.workload): point.workload for point in self.points}.values()))

    @cached_property
    def first_columns(self) -> list[Column]:
        """The columns that people see first."""
        return self.kind.shown(self.workloads)

    @cached_property
    def resamples(self) -> bool:
        """Whether trials are resamples of one sample, of which more tell no more surely what it shows."""
        return any(map(self.kind.resamples, self.workloads))

    @cached_property
    def bound(self) -> str:
        """How utility is bounded: as its heading says, or as is usual for its workloads."""
        return self.heading.bound or self.kind.usual_bound(self.workloads)

    @property
    def grows(self) -> bool:
        """Whether what came out says how many trials points have."""
        return self.until is not None or self.tuning is not None

    @property
    def deciding(self) -> list[str]:
        """The metrics of which one may say how many trials points have."""
        return [column.name for column in self.first_columns] + ([self.tuning.metric] if self.tuning else [])

    @property
    def most_runs(self) -> int:
        """How many runs there may be at most."""
        n_points = len(self.points)
        return n_points * self.heading.trials + (self.tuning.n_runs(n_points) if self.tuning else 0)

    @property
    def path(self) -> Path:
        """The whole path of the study file."""
        return self.folder.resolve() / self.file_name

    @property
    def owner(self) -> Owner:
        """What a results folder knows of the study."""
        return Owner(self.name, self.path, self.source)
