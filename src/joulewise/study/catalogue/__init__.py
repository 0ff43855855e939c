"""The catalogue of published experiments: `joulewise reproduce ID` runs one and judges its claims."""

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.friese_2 import FIG_2_5, FIG_2_6, K_BEST
from joulewise.study.catalogue.friese_3 import FRIESE_3
from joulewise.study.catalogue.judging import Claim, Finding
from joulewise.study.catalogue.ours import OURS

EXPERIMENTS = {experiment.id: experiment for experiment in (FIG_2_5, FIG_2_6, K_BEST, *FRIESE_3, *OURS)}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Finding"]
