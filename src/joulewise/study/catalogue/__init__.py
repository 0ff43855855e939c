"""The catalogue of published experiments: `joulewise reproduce ID` runs one and judges its claims."""

from joulewise.study.catalogue import (
    friese_2,
    friese_2_events,
    friese_3,
    friese_3_affinity,
    friese_3_weights,
    friese_4,
    friese_5,
    friese_6,
    friese_7,
    machovec,
    machovec_map,
    ours,
    ours_bags,
    ours_fronts,
    ours_outlook,
    oxley,
    tarplee,
    unprinted,
)
from joulewise.study.catalogue.experiment import Experiment, Illustrations
from joulewise.study.catalogue.judging import Claim
from joulewise.verdicts import ClaimFinding

EXPERIMENTS = {
    experiment.id: experiment
    for chapter in (
        friese_2,
        friese_2_events,
        friese_3,
        friese_3_weights,
        friese_3_affinity,
        friese_4,
        friese_5,
        friese_6,
        friese_7,
        unprinted,
        tarplee,
        machovec,
        machovec_map,
        ours,
        ours_bags,
        ours_fronts,
        ours_outlook,
        oxley,
    )
    for experiment in vars(chapter).values()
    if isinstance(experiment, Experiment)
}

ILLUSTRATIONS = friese_2.ILLUSTRATIONS


def published_level(source: str) -> float | None:
    """The published number of the figure of an experiment whose bundled study is this text; None for other studies."""
    levels = (entry for entry in EXPERIMENTS.values() if entry.level is not None)
    return next((entry.level for entry in levels if entry.study_text() == source), None)


__all__ = ["EXPERIMENTS", "ILLUSTRATIONS", "Claim", "ClaimFinding", "Experiment", "Illustrations", "published_level"]
