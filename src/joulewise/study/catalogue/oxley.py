"""Experiments of Oxley et al. on the facility: thermal, power and co-location aware allocation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Differences, Samples, beside, of_the_worst, ordering, per_trial

METHOD, SEEDS, HETEROGENEITY = "optimise.method", "optimise.seeds", "workload.heterogeneity"
GREEDY, ROUNDS, RATES, SPREAD = "greedy", "greedy-rounds", "greedy-rates", "greedy-spread"
GA, GACL, NLP, NLPCL, OURS = "ga", "gacl", "nlp", "nlpcl", "configurations"
PUBLISHED = (GREEDY, ROUNDS, GA, GACL, NLP, NLPCL)
CRR, RR = "crr_percent", "rr_percent"
EARLY, LONG = "GACL, stopped early", "GACL"
STOPPED, ENDED = "NLPCL, stopped", "NLPCL"
_OVER_PERCENT, _NEAR_POINTS, _GAP_PERCENT = 10.0, 0.5, 1.0
_FAR = 1e3
_ROUNDING_W, _ROUNDING_K = 1e-2, 1e-4

_READING = (
    "the heat matrix, arrival rates, deadlines and flows of air follow a paper that we do not have: a seeded generator "
    "takes their place, so the figures compare techniques with each other, not with the published bars; a core at "
    "rest is a task type that slows no other core; the cap is 60 % of the power with all cores on the most CPU-bound "
    'task type; greedy is algorithm 1 to the letter, and beside it, in rounds, what "repeats using the next pairing" '
    "in the text can mean"
)
_IN_TIME = "GA and GACL get about the time that NLPCL takes here, where NLP takes half a second"


def _of(runs: pl.DataFrame, metric: str, method: str, **where: object) -> Samples:
    return per_trial(runs, metric, {METHOD: method, **where})


def _over(winner: str, *losers: str, metric: str = CRR) -> Differences:
    """How far one technique is above each of others."""
    return lambda runs: [
        (f"{winner} over {loser}", _of(runs, metric, winner) - _of(runs, metric, loser)) for loser in losers
    ]


def _aware_gain(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [*_over(GACL, GA)(runs), *_over(NLPCL, NLP)(runs)]


def _overestimated(*methods: str) -> Differences:
    """By how many percent more than ten the reward rate is above the co-located one."""
    return lambda runs: [
        (method, 100 * (_of(runs, RR, method) / _of(runs, CRR, method) - 1) - _OVER_PERCENT) for method in methods
    ]


def _kept(methods: tuple[str, ...], metric: str, rounding: float) -> Differences:
    """The rounding that is allowed, less how far the worst plan goes beyond a limit; no plan at all goes far beyond."""

    def worst_plan(runs: pl.DataFrame, method: str) -> Samples:
        beyond = np.nan_to_num(_of(runs, metric, method), nan=-_FAR)
        return of_the_worst(np.minimum(beyond, 0.0)) + rounding

    return lambda runs: [(method, worst_plan(runs, method)) for method in methods]


def _spread(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How many fewer memory-heavy neighbours NLPCL gives memory-heavy tasks, and that it leaves cores beside them."""
    return [
        (
            "half the neighbours of NLP less those of NLPCL",
            _of(runs, "heavy_neighbours", NLP) / 2 - _of(runs, "heavy_neighbours", NLPCL),
        ),
        ("cores left idle, NLPCL", _of(runs, "n_idle_beside_heavy", NLPCL) - 0.5),
    ]


def _before_gacl(greedy: str) -> Differences:
    """How far a greedy is above GACL that is stopped after the time of greedy, in points and in seconds."""

    def ahead(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
        early, early_s = (_of(runs, metric, GACL, variant=EARLY) for metric in (CRR, "solve_s"))
        return [
            (f"points of {greedy} over GACL", _of(runs, CRR, greedy) - early),
            (f"seconds of GACL less those of {greedy}", early_s - _of(runs, "solve_s", greedy)),
        ]

    return ahead


def _after_greedy(greedy: str) -> Differences:
    """How far GACL with its whole time is above a greedy."""
    return lambda runs: [(f"GACL over {greedy}", _of(runs, CRR, GACL, variant=LONG) - _of(runs, CRR, greedy))]


def _over_gacl(variant: str) -> Differences:
    """How far NLPCL, stopped or at its end, is above GACL and greedy."""
    others = (GACL, {METHOD: GACL, "variant": LONG}), ("greedy", {METHOD: GREEDY})
    return lambda runs: [
        (f"NLPCL over {name}", _of(runs, CRR, NLPCL, variant=variant) - per_trial(runs, CRR, where))
        for name, where in others
    ]


def _in_the_same_time(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How far NLPCL that is stopped is above GACL and greedy, and that it takes a tenth longer than GACL at most."""
    gacl_s, nlpcl_s = _of(runs, "solve_s", GACL, variant=LONG), _of(runs, "solve_s", NLPCL, variant=STOPPED)
    ahead = [(f"points of {name}", samples) for name, samples in _over_gacl(STOPPED)(runs)]
    return [*ahead, ("seconds of GACL and a tenth, less those of NLPCL", 1.1 * gacl_s - nlpcl_s)]


def _not_below(winner: str, loser: str) -> Differences:
    """Half a point more than what one technique earns more than another."""
    return lambda runs: [(f"{winner} not below {loser}", _of(runs, CRR, winner) - _of(runs, CRR, loser) + _NEAR_POINTS)]


def _near_the_bound(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [("1 % less the gap", _GAP_PERCENT - np.abs(_of(runs, "gap_percent", OURS)))]


def _faster(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """A tenth of the time of NLPCL less ours."""
    return [("a tenth less ours", _of(runs, "solve_s", NLPCL) / 10 - _of(runs, "solve_s", OURS))]


_OVERESTIMATES = "the reward rate that ignores co-location overestimates what greedy, GA and NLP earn"
_SOON = "greedy is ahead of GACL in the time that greedy takes"
_LATER = "with more time GACL gives better results than greedy"
_GREEDY_TIME = "our greedy looks for the last core that fits by halving, so that it takes milliseconds and not a minute"
_BY_RATES = "greedy that stops a task type at its arrival rate, which algorithm 1 to the letter does not"
_IN_ROUNDS = "greedy in which, after each core, the next pairing has its turn"
_GREEDY_OR_GACL = (
    Claim("O6", _SOON, "ahead", ordering(_before_gacl(GREEDY), ""), _GREEDY_TIME),
    Claim("O6 (in rounds)", _SOON, "ahead", ordering(_before_gacl(ROUNDS), ""), _IN_ROUNDS),
    Claim("O6 (by rates)", _SOON, "ahead", ordering(_before_gacl(RATES), ""), _BY_RATES),
    Claim("O7", _LATER, "better", ordering(_after_greedy(GREEDY))),
    Claim("O7 (in rounds)", _LATER, "better", ordering(_after_greedy(ROUNDS)), _IN_ROUNDS),
    Claim("O7 (by rates)", _LATER, "better", ordering(_after_greedy(RATES)), _BY_RATES),
)
_NEAR = Claim(
    "J25",
    "configurations come within 1 % of their proven bound",
    "within 1 %",
    ordering(_near_the_bound, " %"),
    standing="ours",
)

FIG_2 = Experiment(
    "oxley-fig-2",
    "Co-located reward rate and reward rate by technique on the small platform",
    "Oxley VI, fig. 2",
    f"{_READING}; {_IN_TIME}",
    "rates-by-technique",
    (
        Claim(
            "O1",
            "techniques that know of co-location earn more: GACL over GA, NLPCL over NLP",
            "significantly more",
            ordering(_aware_gain),
        ),
        Claim(
            "O2",
            _OVERESTIMATES,
            "overestimates",
            ordering(_overestimated(GREEDY, GA, NLP), " %"),
            "read as: by more than 10 %",
        ),
        Claim(
            "O2 (in rounds)",
            _OVERESTIMATES,
            "overestimates",
            ordering(_overestimated(ROUNDS, GA, NLP), " %"),
            f"read as: by more than 10 %; {_IN_ROUNDS}",
        ),
        Claim("O3", "NLPCL earns most", "the best", ordering(_over(NLPCL, GREEDY, ROUNDS, GA, GACL, NLP))),
        Claim(
            "O5",
            "NLP and NLPCL take about an hour on the small platform",
            "1 h",
            beside(lambda runs: [_of(runs, "solve_s", NLP), _of(runs, "solve_s", NLPCL)], " s"),
            "a time of the authors' computer and solver",
        ),
        Claim(
            "O8",
            "all techniques keep the power cap",
            "all",
            ordering(_kept(PUBLISHED, "cap_margin_w", _ROUNDING_W), " W"),
            "but for rounding, 0.01 W; a plan that breaks a limit is refused, and counts as 1,000 W above",
            "constructed",
        ),
        Claim(
            "O8 (redlines)",
            "all techniques keep the redlines",
            "all",
            ordering(_kept(PUBLISHED, "redline_margin_k", _ROUNDING_K), " K"),
            "but for rounding, 0.0001 K; a plan that breaks a limit is refused",
            "constructed",
        ),
        _NEAR,
        Claim(
            "J26",
            "configurations earn no less than NLPCL",
            "no less",
            ordering(_not_below(OURS, NLPCL)),
            "read as: not half a point less",
            "ours",
        ),
        Claim(
            "J27",
            "configurations take less than a tenth of the time of NLPCL",
            "a tenth",
            ordering(_faster, " s"),
            standing="ours",
        ),
    ),
    standing="stand-in",
)

FIG_3 = Experiment(
    "oxley-fig-3",
    "What the cores of five nodes do in the plans of NLPCL and NLP",
    "Oxley VI, fig. 3",
    _READING,
    "cores-of-nodes",
    (
        Claim(
            "O4",
            "NLPCL keeps memory-heavy task types apart, and leaves a core idle beside one",
            "fig. 3",
            ordering(_spread, ""),
            "apart read as: half as many neighbours as in the plan of NLP. Over the whole facility: memory-heavy "
            "neighbours of a memory-heavy task, mean over their time, and cores that do nothing on a processor that "
            "runs memory-heavy tasks, of which at least one is claimed",
        ),
    ),
    standing="stand-in",
)

FIG_4 = Experiment(
    "oxley-fig-4",
    "Co-located reward rate against the time of the search on the medium platform",
    "Oxley VI, fig. 4",
    f"{_READING}; GACL gets 0.1 s or 90 s; NLPCL 90 s, and all the time that it wants, some minutes",
    "rate-over-time",
    (
        *_GREEDY_OR_GACL,
        Claim(
            "O3 (medium)",
            "in the same time GACL earns less than NLPCL",
            "less",
            ordering(_in_the_same_time, ""),
            "both for 90 s",
        ),
        Claim(
            "O3 (medium, to its end)",
            "at its end NLPCL earns more than GACL and greedy",
            "more",
            ordering(_over_gacl(ENDED)),
            "GACL for 90 s",
        ),
        Claim(
            "O5 (medium)",
            "NLPCL takes twelve hours on the medium platform",
            "12 h",
            beside(lambda runs: [_of(runs, "solve_s", NLPCL, variant=ENDED)], " s"),
            "a time of the authors' computer and solver",
        ),
        _NEAR,
    ),
    standing="stand-in",
)

FIG_5 = Experiment(
    "oxley-fig-5",
    "Co-located reward rate against the time of the search on the large platform",
    "Oxley VI, fig. 5",
    f"{_READING}; GACL gets a second or a minute; NLPCL is left out as in the paper, where it was not done after 168 h",
    "rate-over-time",
    (
        *_GREEDY_OR_GACL,
        Claim(
            "O5 (large)",
            "a plan close to the best takes longer than 168 h on the large platform",
            "over 168 h",
            beside(lambda runs: [_of(runs, "solve_s", OURS)], " s, by configurations"),
            "NLPCL, which the claim is of, is not run at this size",
        ),
        _NEAR,
    ),
    standing="stand-in",
)


def _seeded(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much better the genetic algorithm ends than each plan that it is seeded with."""
    values = [value for value in sorted(runs[SEEDS].unique().to_list()) if value != "[]"]
    seeds = [value.strip("[]\"'") for value in values]
    return [(seed, _of(runs, CRR, GACL, **{SEEDS: value}) - _of(runs, CRR, seed)) for value, seed in zip(values, seeds)]


def _greedier(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How far each greedy is above the one before it."""
    return [found for worse, better in pairwise((GREEDY, RATES, SPREAD)) for found in _over(better, worse)(runs)]


SEEDED = Experiment(
    "ours-facility-seeds",
    "GACL with plans of greedy heuristics and of configurations in its first population",
    "Joulewise, after Oxley VII",
    "small platform; the same time for all, that of the seeds not counted",
    "rates-by-technique",
    (
        Claim("J28", "GACL ends higher than the plan it is seeded with", "higher", ordering(_seeded)),
        Claim(
            "J29",
            "greedy that stops at arrival rates earns more than greedy, and one that spreads more than that",
            "more",
            ordering(_greedier),
            "the wish of the paper's last section: a greedy that avoids co-location",
        ),
    ),
    standing="ours",
)


def _at(runs: pl.DataFrame, metric: str, method: str, value: float) -> Samples:
    return _of(runs, metric, method, **{HETEROGENEITY: value})


def _near_at_each(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    values = sorted(runs[HETEROGENEITY].unique().to_list())
    return [
        (f"1 % less the gap, heterogeneity {value:g}", _GAP_PERCENT - np.abs(_at(runs, "gap_percent", OURS, value)))
        for value in values
    ]


def _gains_with_heterogeneity(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much more of all reward techniques earn with each step in which node types differ more."""
    values = sorted(runs[HETEROGENEITY].unique().to_list())
    return [
        (f"{method}, {more:g} over {less:g}", _at(runs, CRR, method, more) - _at(runs, CRR, method, less))
        for method in (GREEDY, RATES, SPREAD, OURS)
        for less, more in pairwise(values)
    ]


HETEROGENEOUS = Experiment(
    "ours-facility-heterogeneity",
    "Co-located reward rate by technique as node types differ more in what they are good at",
    "Joulewise, after Oxley VII",
    "150 nodes of the four types; speeds over node types are raised to the heterogeneity; arrival rates follow speeds",
    "rates-by-number",
    (
        Claim(
            "J30",
            "configurations come within 1 % of their proven bound, however much node types differ",
            "within 1 %",
            ordering(_near_at_each, " %"),
        ),
        Claim(
            "J31",
            "every technique earns a larger part of all reward where node types differ more",
            "larger",
            ordering(_gains_with_heterogeneity),
        ),
    ),
    standing="ours",
)
