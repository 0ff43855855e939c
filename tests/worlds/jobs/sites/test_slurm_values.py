"""How Slurm writes times, things and weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.worlds.jobs.sites import slurm_values as read
from joulewise.worlds.jobs.sites.slurm_settings import SETTINGS
from joulewise.worlds.jobs.sites.written import RefusedError

n = st.integers(0, 10_000)


@given(n, n, n, n)
def test_all_forms_of_times(d: int, h: int, m: int, s: int) -> None:
    forms = {
        f"{m}": m * 60,
        f"{m}:{s}": m * 60 + s,
        f"{h}:{m}:{s}": h * 3600 + m * 60 + s,
        f"{d}-{h}": d * 86400 + h * 3600,
        f"{d}-{h}:{m}": d * 86400 + h * 3600 + m * 60,
        f"{d}-{h:02d}:{m:02d}:{s:02d}": d * 86400 + h * 3600 + m * 60 + s,
        f"{s} sec": s,
        f"{m} min": m * 60,
    }
    assert {text: read.slurm_seconds(text) for text in forms} == forms
    assert read.slurm_seconds(f"{s}", 1) == s


@pytest.mark.parametrize("text", ["INFINITE", "unlimited", "-1"])
def test_no_limit(text: str) -> None:
    assert read.slurm_seconds(text) == math.inf
    assert read.slurm_limit_s(text) is None
    assert read.slurm_limit(text) is None


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1-", "-2", "1.5", "1-2-3", "1 h", "٣"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(RefusedError, match="must be minutes"):
        read.slurm_seconds(text)


def test_things() -> None:
    assert read.slurm_things("gpu:a100:4(S:0-1),nvme:2,gpu,craynetwork:4K,shard:a100") == [
        ("gpu", "a100", 4),
        ("nvme", "", 2),
        ("gpu", "", 1),
        ("craynetwork", "", 4096),
        ("shard", "a100", 1),
    ]
    assert read.slurm_things("(null)") == []
    for text in ("gpu:a:b:4", ":4"):
        with pytest.raises(RefusedError, match="must be things"):
            read.slurm_things(text)


def test_settings_are_in_lower_case_and_in_seconds() -> None:
    for name, text, value in (
        ("prioritydecayhalflife", "7-0", 604_800.0),
        ("killwait", "30", 30.0),
        ("killwait", "2 sec", 2.0),
        ("overtimelimit", "UNLIMITED", None),
        ("priorityweighttres", "CPU=1000,GRES/gpu=2.5", {"cpu": 1000, "gres/gpu": 2.5}),
        ("priorityflags", "FAIR_TREE,MAX_TRES", ("fair_tree", "max_tres")),
        ("defmempernode", "UNLIMITED", None),
        ("bf_interval", "-1", -1),
        ("priorityfavorsmall", "No", False),
        ("prioritytype", "(null)", None),
    ):
        assert read.slurm_setting(text, SETTINGS[name]) == value
    for name, text in (
        ("bf_window", "x"),
        ("bf_window", "-5"),
        ("priorityfavorsmall", "2"),
        ("priorityweighttres", "a"),
    ):
        with pytest.raises(RefusedError, match="must be"):
            read.slurm_setting(text, SETTINGS[name])
