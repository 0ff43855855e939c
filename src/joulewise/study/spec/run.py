"""One run of a study."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.study.spec.parts import Point
from joulewise.study.spec.trials import STAGE


@dataclass(frozen=True)
class Run:
    """One run of a study; runs with the same key are the same computation, whatever their variant.

    `files` are those that it reads, with the hash of the content that its key stands for. `stage` says what its trial
    is for in a study that tunes.
    """

    key: str
    world_key: str
    point: Point
    seed: int
    trial: int
    keep: bool
    bound: str
    files: tuple[tuple[str, str], ...] = ()
    stage: str = ""

    def cells(self) -> dict[str, object]:
        """The columns that say what was run."""
        identity = {"run": self.key, "world": self.world_key, "variant": self.point.variant}
        sources = {f"{part.section}.{part.selector}": part.source for part in self.point.parts if part.selector}
        dotted = {key: value for part in self.point.parts for key, value in part.cells().items()}
        stage = {STAGE: self.stage} if self.stage else {}
        return {**identity, "trial": self.trial, **stage, "seed": self.seed, "bound": self.bound, **sources, **dotted}
