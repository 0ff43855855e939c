"""The tables that come with the package are those that the tools make, and systems can be built from them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.worlds.gpus import GPU_TYPES, GpuParameters, gpu_system
from joulewise.worlds.packaged import packaged_table
from tools import gpus, nine_machines
from tools.data import VARIABLE, data_folder

DATA = data_folder()
needs_data = pytest.mark.skipif(
    DATA is None, reason=f"{VARIABLE} names no folder, and there is none beside the checkout"
)


def test_the_stand_in_is_what_its_script_makes() -> None:
    assert files("joulewise.worlds").joinpath("data", "nine_machines.csv").read_text() == nine_machines.table()


def test_the_readme_says_that_it_is_a_stand_in() -> None:
    assert "stand-in" in files("joulewise.worlds").joinpath("data", "README.md").read_text()


def test_games_take_about_as_long_everywhere_and_the_others_do_not() -> None:
    table = packaged_table("nine_machines.csv")
    spread = dict(zip(table.task_types, np.ptp(table.etc_s[:, :, 0], axis=1) / table.etc_s[:, :, 0].min(axis=1)))
    assert [name for name, ratio in spread.items() if ratio < 0.25] == ["Warsow", "Unigine Heaven"]
    assert table.etc_s.shape == table.power_w.shape == (5, 9, 1)


@pytest.mark.data
@needs_data
def test_the_measured_table_is_what_its_script_makes() -> None:
    assert DATA is not None
    assert files("joulewise.worlds").joinpath("data", "gpus.csv").read_text() == gpus.table(DATA)


@pytest.mark.data
@needs_data
def test_the_speeds_of_the_stand_in_are_those_that_spec_published() -> None:
    assert DATA is not None
    results = pl.read_csv(DATA / "speccpu2006" / "speccpu2006_named_nodes.csv", infer_schema_length=None)
    cpu = pl.col("cpu").str.replace(" Extreme Edition", "")
    medians = results.group_by(cpu, "benchmark").agg(pl.col("base_result").median())
    base = {(name, benchmark): result for name, benchmark, result in medians.iter_rows()}
    fields = {"CINT2006rate": "int_rate", "CFP2006rate": "fp_rate", "CINT2006": "single"}
    for machine in nine_machines.MACHINES:
        if "@" in machine.name or machine.name == "AMD A8-3870K":
            continue
        for benchmark, field in fields.items():
            ratio = base[machine.name, benchmark] / base["Intel Core i5-2500K", benchmark]
            assert getattr(machine, field) == pytest.approx(ratio, abs=0.005), (machine.name, benchmark)


def test_the_measured_system() -> None:
    system = gpu_system(GpuParameters(counts=(1, 2, 3, 4), idle_percent=10.0))
    assert system.machine_types == GPU_TYPES
    assert (system.n_task_types, system.n_machines) == (6, 10)
    assert system.power_w is not None
    for task_type, machine_type in np.argwhere(system.can_run):
        n_states = np.isfinite(system.etc_s[task_type, machine_type]).sum()
        assert (np.diff(system.etc_s[task_type, machine_type, :n_states]) >= 0).all()
        assert (np.diff(system.power_w[task_type, machine_type, :n_states]) < 0).all()
    assert system.standby is not None
    assert system.standby.idle_w == pytest.approx(0.1 * system.power_w[:, :, 0].mean(axis=0))


@pytest.mark.parametrize("counts", [(), (1, 1, 1), (1, 1, 1, -1), (0, 0, 0, 0), (10**9, 0, 0, 0)])
def test_counts_that_are_no_counts(counts: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"system\.counts"):
        GpuParameters(counts=counts)


def test_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    assert data_folder() is None
    with pytest.raises(SystemExit, match=VARIABLE):
        gpus.main()
