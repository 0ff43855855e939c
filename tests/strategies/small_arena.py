"""Sets of worlds small enough for tests, in the place of those of the package."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest

from joulewise.study.arena import kept, sets
from joulewise.study.arena.rows import N_SLICES, ROWS
from joulewise.study.arena.sets import SETS, WorldSet
from tests.strategies.small import QUICKLY, SYSTEM
from tests.strategies.small_jobs import LOG

TASKS = f"""
name = "arena-tasks-7"
seed = 3
trials = 2
keep = "all"
{QUICKLY}{SYSTEM}
[workload]
generator = "day"
warm_up = "10 min"
day = "6 h"
tasks_per_day = 200

[manager]
policy = "prices"
dropping_threshold = 0.5

[[variant]]
name = "calm"

[[variant]]
name = "a budget"
supply.budget = "30 MJ"
"""
LOGS = f"""
name = "arena-logs-7"
seed = 3
trials = 1
keep = "all"
bound = "trivial"

[scheduler]
policy = "prices"

[[variant]]
name = "one"
workload.trace = "one.swf"  # sha256 {hashlib.sha256(LOG.encode()).hexdigest()}

[[variant]]
name = "other"
workload.trace = "other.swf"  # sha256 {hashlib.sha256(LOG.encode()).hexdigest()}
"""


TEXTS = {"tasks": TASKS, "logs": LOGS}


def put_small_sets(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Put small sets in the place of those of the package; nothing is kept of them, and no logs are there."""
    small = {name: WorldSet(name, SETS[name].system, SETS[name].offers) for name in TEXTS}
    for name in reversed(SETS.copy()):  # they are put back the other way round, in the order in which they were
        monkeypatch.delitem(SETS, name)
    for name, each in small.items():
        (folder / f"{name}.toml").write_text(TEXTS[name])
        monkeypatch.setitem(SETS, name, each)
    monkeypatch.setattr(sets, "_SETS", folder)
    monkeypatch.setattr(kept, "KEPT", folder / "kept.parquet")
    monkeypatch.setenv(sets.LOGS, str(folder / "logs"))


def made_rows(shares: dict[str, list[list[float | None]]]) -> pl.DataFrame:
    """Rows of policies with these shares of a bound of 50: a list for each world, a value for each trial."""
    rows = [
        {
            "policy": policy, "world": f"world {number}", "trial": trial, "utility": share and share / 2,
            "utility_bound": 50.0, "slices": [(share or 0.0) / N_SLICES] * N_SLICES, "event_ms": 0.5,
            "error": "it fails" if share is None else None, "foresight": None,
        }
        for policy, worlds in shares.items()
        for number, trials in enumerate(worlds)
        for trial, share in enumerate(trials)
    ]  # fmt: skip
    return pl.DataFrame(rows, ROWS)
