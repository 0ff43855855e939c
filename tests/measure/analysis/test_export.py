"""Tables of the laboratory are read back by the worlds they are written for, and studies run on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.measure.analysis.analysis import Analysis
from joulewise.measure.analysis.export import tables_of, write_tables
from joulewise.measure.analysis.grid import grid_of
from joulewise.measure.analysis.hosts import UNKNOWN_MACHINE, host_of
from joulewise.model.facility import TaskFlows
from joulewise.study import parse_study, run_study
from joulewise.worlds.assignments.chance_tables import read_chances
from joulewise.worlds.facility.flow_tables import FlowTables, read_flows
from joulewise.worlds.facility.site import Site
from joulewise.worlds.facility.site_tables import SiteTables, read_site
from joulewise.worlds.system_tables import SystemTables, read_system
from tests.strategies.made_measure import CLASS, CLOCKS_MHZ, DYNAMIC_W, STATIC_W, TIME_S, made_analysis, slowdown

NAMES = tuple(CLASS)
ROOM = {
    "nodes.csv": 'node,type,m3_per_s\na,"Quad, 3.4 GHz",0.01\nb,"Quad, 3.4 GHz",0.01\n',
    "cracs.csv": "crac,coldest_c\nc,10\n",
    "heat.csv": "taker,source,share\na,c,1\nb,c,1\nc,a,0.5\nc,b,0.5\n",
}
FACILITY = """
name = "measured"
[system]
node_list = "nodes.csv"
crac_list = "cracs.csv"
heat = "heat.csv"
node_type_list = "node_types.csv"
[workload]
task_list = "task_list.csv"
speeds = "speeds.csv"
slowdowns = "slowdowns_by_class.csv"
[optimise]
goal = "reward"
method = "greedy-spread"
"""
SERIAL = """
name = "measured"
[system]
etc_s = "etc_s.csv"
power_w = "power_w.csv"
machines = "machines.csv"
[workload]
tasks = "tasks.csv"
[manager]
policy = "max-max-upt"
"""


@dataclass(frozen=True)
class Cpu:
    """As much of a machine as tables need."""

    model: str = "Quad, 3.4 GHz"
    cores: tuple[int, ...] = tuple(range(8))
    siblings: tuple[tuple[int, ...], ...] = ((0, 4), (1, 5), (2, 6), (3, 7))
    last_level: tuple[str, ...] = ("L3",)


def written(folder: Path, analysis: Analysis, machine: Cpu | None) -> Path:
    paths = write_tables(folder, analysis, machine)  # type: ignore[arg-type]
    assert set((folder / "tables").iterdir()) == set(paths)
    return folder / "tables"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All tables, and a room for two nodes."""
    tables = written(tmp_path, made_analysis(), Cpu())
    for name, text in ROOM.items():
        (tables / name).write_text(text)
    return tables


def site_of(folder: Path) -> Site:
    tables = SiteTables(node_list="nodes.csv", crac_list="cracs.csv", heat="heat.csv", node_type_list="node_types.csv")
    return read_site(tables, folder)


def flows_of(folder: Path, by: str) -> TaskFlows:
    tables = FlowTables(task_list="task_list.csv", speeds="speeds.csv", slowdowns=f"slowdowns_by_{by}.csv")
    return read_flows(tables, site_of(folder), folder)


def test_a_facility_reads_speeds_powers_and_slowdowns(folder: Path) -> None:
    types, flows = site_of(folder).node_types, flows_of(folder, "class")
    assert (types.cores.tolist(), types.n_pstates.tolist(), types.overhead_w.tolist()) == ([4], [4], [STATIC_W])
    assert flows.speed_per_s[:, 0, 0] == pytest.approx([1 / TIME_S[name] for name in NAMES])
    assert flows.power_w[:, 0, 0] == pytest.approx([DYNAMIC_W[name] for name in NAMES])
    assert [flows.class_names[code] for code in flows.memory_class] == list(CLASS.values())
    by_pair = flows_of(folder, "pair")
    assert by_pair.slowdown[0, 0, 1] == pytest.approx(slowdown("canneal", "streamcluster"))
    assert by_pair.slowdown.min() == 0  # a program that is faster in company is not slowed
    assert "bodytrack beside bodytrack" in (folder / "about.md").read_text()


def test_studies_run_on_measured_tables(folder: Path, tmp_path: Path) -> None:
    (folder / "tasks.csv").write_text(
        "arrival_s,task_type\n" + "".join(f"{i},{name}\n" for i, name in enumerate(NAMES))
    )
    planned, mapped = (
        run_study(parse_study(text, "study.toml", folder, check_inputs=True), tmp_path / kind, 1)
        for kind, text in (("facility", FACILITY), ("serial", SERIAL))
    )
    assert planned.failed.is_empty(), planned.failed["error"].to_list()
    assert planned.runs["cores"][0] == 8
    assert 0 < planned.runs["crr_percent"][0] < 100
    assert mapped.runs["tasks_completed"][0] == 4
    assert mapped.runs["energy_j"][0] > STATIC_W * sum(TIME_S.values())


def test_a_serial_system_reads_times_powers_and_samples(folder: Path) -> None:
    system = read_system(SystemTables(etc_s="etc_s.csv", power_w="power_w.csv", machines="machines.csv"), folder)
    assert system.task_types == NAMES
    assert system.n_pstates == len(CLOCKS_MHZ)
    assert system.power_w is not None
    assert system.power_w[:, 0, 0] == pytest.approx([STATIC_W + DYNAMIC_W[name] for name in NAMES])
    assert system.standby is not None
    assert system.standby.idle_w.tolist() == [STATIC_W]
    chances, means = read_chances("samples.csv", system, folder)
    assert means.etc_s == pytest.approx(system.etc_s)
    assert chances.time_s[0, 0, 0].min() < system.etc_s[0, 0, 0] < chances.time_s[0, 0, 0].max()


def test_what_was_not_measured_is_empty_or_not_written_and_told(tmp_path: Path) -> None:
    as_is = made_analysis([None], has_energy=False, has_counters=False)
    folder = written(tmp_path, as_is, None)
    names = {path.name for path in folder.iterdir()}
    assert not names & {"power_w.csv", "samples.csv"}
    speeds, types = (pl.read_csv(folder / name) for name in ("speeds.csv", "node_types.csv"))
    assert speeds["power_w"].null_count() == len(NAMES)
    assert types["overhead_w"].null_count() == 1
    assert types.select("type", "cores").row(0) == (UNKNOWN_MACHINE, 4)
    about = (folder / "about.md").read_text()
    assert "fill them in" in about
    assert "no power_w.csv and no samples.csv" in about
    read_system(SystemTables(etc_s="etc_s.csv", machines="machines.csv"), folder)  # times alone are enough for it
    nothing = replace(as_is, alone=as_is.alone.clear())
    assert written(tmp_path, nothing, None).joinpath("about.md").read_text().count("no tables") == 1


def test_tables_that_cannot_be_written_leave_those_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: object) -> None:
        raise OSError(f"no room for {path}")

    folder = written(tmp_path, made_analysis(), None)
    before = set(folder.iterdir())
    monkeypatch.setattr("joulewise.measure.analysis.export.write_atomic", full)
    with pytest.raises(OSError, match="no room"):
        write_tables(tmp_path, made_analysis([None], has_energy=False))
    assert set(folder.iterdir()) == before


def test_classes_stand_in_for_pairs_and_nothing_for_classes() -> None:
    found = made_analysis()
    by_class = tables_of(found).frames["slowdowns_by_class.csv"]
    assert (by_class.columns, by_class["class"].to_list()) == (["class", "I", "II", "III"], ["I", "II", "III"])
    few = replace(found, pairs=found.pairs.filter(pl.col("beside") != "streamcluster"))
    by_pair = tables_of(few).frames["slowdowns_by_pair.csv"]
    assert by_pair.filter(task_a="canneal", task_b="streamcluster")["slowdown"][0] == pytest.approx(0.32)
    assert any("stands in: canneal beside streamcluster" in note for note in tables_of(few).notes)
    fewer = replace(few, by_class=few.by_class.filter(pl.col("beside") != "III"))
    tables = tables_of(fewer)
    assert not {"slowdowns_by_class.csv", "slowdowns_by_pair.csv"} & set(tables.frames)
    assert sum("not measured are" in note for note in tables.notes) == 2


def test_noise_never_makes_a_slower_clock_faster() -> None:
    found = made_analysis()
    is_odd = (pl.col("program") == "canneal") & (pl.col("clock") == "2200 MHz")
    noisy = replace(
        found,
        alone=found.alone.with_columns(wall_s=pl.when(is_odd).then(pl.col("wall_s") * 0.8).otherwise("wall_s")),
        powers=found.powers.with_columns(dynamic_w=pl.when(is_odd).then(pl.lit(-1.0)).otherwise("dynamic_w")),
    )
    grid = grid_of(noisy)
    assert (np.diff(grid.time_s) >= 0).all()
    assert np.isnan(grid.dynamic_w).sum() == 1
    assert any("canneal" in note and "times fell" in note for note in grid.notes)
    no_first = found.alone.filter(~((pl.col("program") == "bodytrack") & (pl.col("clock") == "3400 MHz")))
    assert grid_of(replace(found, alone=no_first)).programs == NAMES[:3]


@pytest.mark.parametrize(
    ("pinned", "cores", "said"),
    [
        ({"a + b": "0 1", "a": "2"}, 4, "had different ones"),
        ({"a + b": "0 4"}, 8, "logical"),
        ({"a + b": "0-1 2-3"}, 2, "stands for 2 physical"),
        ({"a + b": "0-7 0-7"}, 4, "where the system put them"),
        ({"a + b": "0 1", "a + b + c": "0 1 4"}, 4, "programs of a + b + c shared some"),
    ],
)
def test_a_node_has_the_cores_that_programs_were_pinned_to(pinned: dict[str, str], cores: int, said: str) -> None:
    members = [(group, place, on) for group, text in pinned.items() for place, on in enumerate(text.split())]
    rows = pl.DataFrame(members, ["group", "place", "cores"], orient="row").with_columns(run="group")
    host = host_of(Cpu(), replace(made_analysis([None]), observations=rows))  # type: ignore[arg-type]
    assert host.cores == cores
    assert said in " ".join(host.notes)
