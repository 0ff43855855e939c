"""Made-up metrics on which every claim on parallel jobs is true, by experiment and run."""

from __future__ import annotations

from functools import partial

from joulewise.study.catalogue import machovec, machovec_map
from tests.strategies.claims import Cells, Metrics, Table


def _policies(run: Cells) -> Metrics:
    """Place-holders, then reservations, then the others."""
    is_upe = run[machovec.POLICY] == machovec.UPE
    if run[machovec.POLICY] in machovec.COMPARED:
        percent = 10.0 if run[machovec.LOAD] == machovec.HIGH else 40.0
    else:
        held = 20.0 if run[machovec.COMMITMENT] == machovec.PLACE_HOLDERS else 0.0
        filtered = {machovec.PER_RESOURCE: 5.0, machovec.PER_TASK: 2.0}.get(run[machovec.VARIANT], 4.0)
        percent = 50.0 + held + filtered
    return {"utility_percent": percent, "energy_j": 10e9 if is_upe else 12e9}


def _budgets(run: Cells) -> Metrics:
    is_high, is_held = run[machovec.LOAD] == machovec.HIGH, run[machovec.COMMITMENT] == machovec.PLACE_HOLDERS
    is_best = run[machovec.POLICY] == (machovec.UPR if is_high else machovec.UTIL)
    return {"energy_j": (15.0 if is_high else 12.0) / 0.7 * 1e9, "utility_percent": 80.0 + 5.0 * is_best * is_held}


def _leniencies(run: Cells, best: float) -> Metrics:
    return {"utility_percent": 80.0 - abs(run[machovec.LENIENCY] - best)}


def _map(run: Cells) -> Metrics:
    filtered, leniency = run[machovec_map.FILTER], run[machovec.LENIENCY]
    earned = {"per-task": 80.0 - abs(leniency - 2.0), "per-resource": 85.0 - abs(leniency - 4.0)}
    return {"utility_percent": earned.get(filtered, 70.0), "energy_j": 12e9 / 0.7}


def _times(run: Cells) -> Metrics:
    factor = 1.02 if run[machovec.PSTATES] == 15 else 1.0
    return {"mapping_event_s": 1e-4, "utility_percent": 60.0 * factor, "energy_j": 1e10}


def _thresholds(run: Cells) -> Metrics:
    return {"utility_percent": 60.0 + run[machovec.THRESHOLD]}


_BY_FIGURE: dict[str, Table] = {
    "budget": _budgets,
    "fig-7": partial(_leniencies, best=2.0),
    "fig-8": partial(_leniencies, best=4.0),
    **dict.fromkeys(("fig-9", "fig-10", "filters"), _policies),
    "time": _times,
    "dropping": _thresholds,
}

JOBS: dict[str, Table] = {
    "machovec-map": _map,
    "machovec-fig-6": lambda _: {"worth_time_correlation": 0.95},
    **{
        f"machovec{world.suffix}-{figure}": table for world in machovec.READINGS for figure, table in _BY_FIGURE.items()
    },
}
