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
        return {**self.identity(), **self.point.cells()}

    def identity(self) -> dict[str, object]:
        """Those of them that are not the same for all runs of its point."""
        stage = {STAGE: self.stage} if self.stage else {}
        keys = {"run": self.key, "world": self.world_key}
        return {**keys, "trial": self.trial, **stage, "seed": self.seed, "bound": self.bound}
