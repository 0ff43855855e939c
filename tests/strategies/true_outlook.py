"""Made-up metrics on which every claim on what chapter 9 of Friese (2015) leaves for later is true."""

from __future__ import annotations

from tests.strategies.claims import Cells, Metrics, Table


def _ours_load(run: Cells) -> Metrics:
    follows = run["manager.follows_load"]
    best = 16.0 if follows else 1.0 if run["workload.tasks_per_day"] == 33_000 else 2.0
    return {"utility": 1000.0 + 50.0 * follows - abs(run["manager.dropping_threshold"] - best)}


def _ours_slope(run: Cells) -> Metrics:
    return {"utility": 800.0 if run["manager.policy"] == "max-max-upt" else 1000.0}


def _ours_hours(run: Cells) -> Metrics:
    is_night, is_ours = run["variant"].startswith("less at night"), run["manager.policy"] == "prices"
    return {"utility": (800.0 - 100.0 * is_night) + 100.0 * is_ours, "possible_percent": 95.0 + is_night}


def _ours_groups(run: Cells) -> Metrics:
    groups, is_slow = run["manager.groups"], run["manager.mapping_time"] == "given"
    lost = 5.0 * groups if not is_slow else -50.0 * groups
    dealt = {"in-turn": 0.0, "least-load": 3.0, "suited": 6.0}[run["manager.dealing"]]
    return {"utility": 1000.0 - lost + dealt, "mapping_s": 1.0 / groups}


def _ours_preemption(run: Cells) -> Metrics:
    gained = 50.0 - run["manager.checkpoint_s"] / 10 if run["manager.preempts"] else 0.0
    return {"utility": 1000.0 + gained}


def _ours_rising(run: Cells) -> Metrics:
    rises, policy = run["variant"] == "rising", run["manager.policy"]
    lead = {"patient-upt": 50.0, "prices": 100.0 + 50.0 * rises}.get(policy, 0.0)
    return {"utility": 1000.0 - 100.0 * rises + lead, "possible_percent": 90.0 - 5.0 * rises}


OUTLOOK: dict[str, Table] = {
    "ours-load": _ours_load,
    "ours-slope": _ours_slope,
    "ours-hours": _ours_hours,
    "ours-groups": _ours_groups,
    "ours-preemption": _ours_preemption,
    "ours-rising": _ours_rising,
}
