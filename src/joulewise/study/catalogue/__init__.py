"""The catalogue of published experiments: `joulewise reproduce ID` runs one and judges its claims."""

from joulewise.study.catalogue import (
    friese_2,
    friese_3,
    friese_4,
    friese_5,
    friese_6,
    friese_7,
    machovec,
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
        friese_3,
        friese_4,
        friese_5,
        friese_6,
        friese_7,
        unprinted,
        tarplee,
        machovec,
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

__all__ = ["EXPERIMENTS", "ILLUSTRATIONS", "Claim", "ClaimFinding", "Experiment", "Illustrations"]
