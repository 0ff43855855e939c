"""Facilities from tables that people write: what is read, and what every mistake is told."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import TaskFlows
from joulewise.model.room import AIR_J_PER_M3_K
from joulewise.worlds.facility.colocation import DOES_NOT_FIT, read_colocation
from joulewise.worlds.facility.flow_tables import FlowTables, read_flows
from joulewise.worlds.facility.heat_tables import links_of_distribution
from joulewise.worlds.facility.rooms import RoomParameters, generate_room
from joulewise.worlds.facility.site import FlowParameters, Site, facility_of, generate_flows
from joulewise.worlds.facility.site_tables import SiteTables, read_site

NODE_TYPES = "type,cores,processors,pstates,overhead_w\nsmall,4,2,2,50\nbig,2,1,1,100\n"
NODES = "node,type,m3_per_s,redline_c,x_m,y_m,height_m\nn1,small,1,25,0,0,0\nn2,big,1,,0,0,1\nn3,small,2,27,0.6,0,0\n"
CRACS = "crac,m3_per_s,coldest_c,hottest_c,cop_0,cop_1,cop_2\neast,2,10,25,0.458,0.0008,0.0068\nwest,2,12,,2,,\n"
SHARES = {
    "n1": {"n1": 0.1, "n2": 0.1, "east": 0.8},
    "n2": {"n1": 0.2, "east": 0.5, "west": 0.3},
    "n3": {"n3": 0.1, "east": 0.2, "west": 0.7},
    "east": {"n1": 0.3, "n2": 0.25, "n3": 0.3, "east": 0.15},
    "west": {"n1": 0.05, "n2": 0.2, "n3": 0.6, "west": 0.15},
}
"""Balanced: what leaves each place is all taken in."""

TASKS = "task_type,rate_per_s,reward,deadline_s,class\nsolve,2,1,,heavy\nrender,4,0.5,2,light\n"
SPEEDS = """task_type,node_type,pstate,speed_per_s,power_w
solve,small,0,1,10
solve,small,1,0.8,6
solve,big,,2,30
render,small,0,3,12
render,small,1,2,7
"""


def listed(shares: dict[str, dict[str, float]]) -> str:
    rows = [f"{taker},{source},{share}\n" for taker, row in shares.items() for source, share in row.items()]
    return "taker,source,share\n" + "".join(rows)


def as_matrix(shares: dict[str, dict[str, float]], *, has_names: bool) -> str:
    order = ("west", "n1", "n3", "east", "n2") if has_names else tuple(shares)
    rows = [[str(shares[taker].get(source, 0.0)) for source in order] for taker in order]
    if not has_names:
        return "".join(f"{','.join(row)}\n" for row in rows)
    named = "".join(f"{taker},{','.join(row)}\n" for taker, row in zip(order, rows, strict=True))
    return f"place,{','.join(order)}\n{named}"


def site_of(folder: Path, parameters: dict[str, float] | None = None, **texts: str) -> Site:
    files = {"node_type_list": NODE_TYPES, "node_list": NODES, "crac_list": CRACS, **texts}
    if "heat_k_per_w" not in files:
        files = {"heat": listed(SHARES), **files}
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    names = {name: f"{name}.csv" for name, text in files.items() if text}
    return read_site(SiteTables(**names, **(parameters or {})), folder)  # type: ignore[arg-type]


def flows_of(folder: Path, site: Site | None = None, **texts: str) -> TaskFlows:
    files = {"task_list": TASKS, "speeds": SPEEDS, **texts}
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    names = {name: f"{name}.csv" for name, text in files.items() if text}
    return read_flows(FlowTables(**names), site or site_of(folder), folder)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "heat", [listed(SHARES), as_matrix(SHARES, has_names=True), as_matrix(SHARES, has_names=False)]
)
def test_a_room_is_read_in_every_form(tmp_path: Path, heat: str) -> None:
    site = site_of(tmp_path, heat=heat)
    room = site.room
    table = np.zeros((5, 5))
    table[room.flow.taker, room.flow.source] = room.flow.share
    names = list(SHARES)
    for taker, row in SHARES.items():
        assert table[names.index(taker)] == pytest.approx([row.get(source, 0.0) for source in names], abs=1e-9)
    assert site.notes == ()
    assert room.node_names + room.crac_names == tuple(names)
    assert room.redline_c.tolist() == [25, 25, 27]
    assert room.hottest_c.tolist() == [25, 25]
    assert room.cop[1](20.0) == pytest.approx(2.0)
    assert room.place_m[1].tolist() == [0, 0, 1]
    assert site.node_types.sharers.tolist() == [2, 2]


def test_flows_are_read_by_class_and_run_on_their_site(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    flows = flows_of(tmp_path, site)
    assert flows.speed_per_s.tolist() == [[[1, 0.8], [2, 0]], [[3, 2], [0, 0]]]
    assert flows.deadline_s.tolist() == [np.inf, 2]
    assert flows.memory_class.tolist() == [0, 2]
    assert flows.slowdown[1, 0, 2] == 0.05
    facility = facility_of(site, flows)
    assert facility.n_cores == 10
    assert facility.cap_w > 0
    table = "class,heavy,light\nheavy,0.9,0.1\nlight,0.2,0\n"
    assert flows_of(tmp_path, site, slowdowns=table).slowdown[0].tolist() == [[0.9, 0.1], [0.2, 0.0]]


def test_slowdowns_by_pair_make_each_task_type_a_class(tmp_path: Path) -> None:
    pairs = """task_a,task_b,node_type,slowdown
solve,solve,,0.8
solve,solve,big,0.5
solve,render,,0.1
render,solve,,0.3
render,render,,0
"""
    flows = flows_of(tmp_path, slowdowns=pairs)
    assert flows.class_names == flows.names
    assert flows.slowdown.tolist() == [[[0.8, 0.1], [0.3, 0.0]], [[0.5, 0.1], [0.3, 0.0]]]


def test_published_nodes_need_no_types_and_take_generated_flows(tmp_path: Path) -> None:
    nodes = "node,type\n" + "".join(f"n{at},{'IBM x3200' if at else 'Acer AT110'}\n" for at in range(2))
    heat = "0.1,0,0.9\n0,0,1\n0.42,0.55,0.03\n"
    site = site_of(tmp_path, node_type_list="", node_list=nodes, crac_list="crac,m3_per_s\nunit,\n", heat=heat,
                   parameters={"balance_within": 0.5})  # fmt: skip
    assert site.room.node_m3_per_s[1] == pytest.approx(117.0 / (AIR_J_PER_M3_K * 10))
    assert site.node_types.names == ("IBM x3200", "Acer AT110")
    assert any("% of the air was moved" in note for note in site.notes)
    flows = generate_flows(FlowParameters(), site, 1, 0)
    assert facility_of(site, flows).n_cores == 6
    with pytest.raises(InputError, match="small: found no core_w"):
        generate_flows(FlowParameters(), site_of(tmp_path), 1, 0)


def distribution_of(n_nodes: int) -> tuple[Floats, Floats]:
    """A heat distribution matrix of a generated room, and its flows."""
    room = generate_room(RoomParameters(cracs=2, nodes_per_rack=5), np.linspace(0.1, 0.2, n_nodes), 1, 0)
    rises = Air(room).rise_k_per_w(np.arange(n_nodes))
    return rises, room.m3_per_s


def test_a_heat_distribution_matrix_gives_back_its_inlets(tmp_path: Path) -> None:
    rises, m3_per_s = distribution_of(20)
    nodes = "node,type,m3_per_s\n" + "".join(
        f"n{at},small,{flow!r}\n" for at, flow in enumerate(m3_per_s[:20].tolist())
    )
    matrix = "".join(f"{','.join(map(repr, row))}\n" for row in rises.tolist())
    site = site_of(tmp_path, node_list=nodes, heat_k_per_w=matrix, crac_list="crac,m3_per_s\na,\nb,\n")
    power_w = np.linspace(50, 400, 20)
    inlets_c = Air(site.room).inlets_c(power_w, np.array([18.0, 18.0]))[0]
    assert inlets_c == pytest.approx(18 + rises @ power_w, abs=1e-8)
    assert site.notes == ()
    wrong = rises.copy()
    wrong[0, 19] = -1e-6
    notes = links_of_distribution(wrong, m3_per_s)[1]
    assert "shares below 0" in notes[0]
    with pytest.raises(InputError, match=r"row 1: found .* % of the air of this node to come from nodes"):
        links_of_distribution(rises * 1000, m3_per_s)
    with pytest.raises(InputError, match="the units must blow as much at least"):
        links_of_distribution(rises, np.where(np.arange(22) < 20, m3_per_s, 0.1))


def changed(**rows: dict[str, float]) -> str:
    return listed({**SHARES, **rows})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"heat": changed(n1={"n1": 0.1, "east": 0.8})}, r"taker n1: found shares that add up to 0\.9; must add"),
        ({"heat": changed(n3={"n3": 0.2, "east": 0.2, "west": 0.6})},
         r"source n3: found 2 m3/s that leave it, and 2.2 m3/s taken in from it; must be equal; 0.2 m3/s come from n"),
        ({"heat": changed(n3={"n3": 0.2, "east": 0.2, "west": 0.6})}, r"source west: .* 0.2 m3/s get lost; balance"),
        ({"heat": listed(SHARES) + "n1,n9,0.1\n"}, r"heat.csv: line 19, source: found 'n9'; must be one of"),
        ({"heat": listed(SHARES) + "n1,n2,0.1\n"}, r"line 19, share: found '0.1'; each taker and source may have one"),
        ({"heat": "1,0\n0,1\n"}, r"heat.csv: found 2 rows; must be 5"),
        ({"heat": as_matrix(SHARES, has_names=False).replace("0.1,0.1", "0.1,x", 1)},
         r"heat.csv: row 1, n1, column 2: found 'x'; must be a finite number"),
        ({"heat": as_matrix(SHARES, has_names=True).replace("west", "waste", 1)},
         r"heat.csv: header: .* 'waste', 'west'; must be the names of the 5 places"),
        ({"heat": "-0.1,1.1,0,0,0\n" + as_matrix(SHARES, has_names=False).partition("\n")[2]},
         r"heat.csv: row 1, n1 from n1: found -0.1; a share must be 0 or more"),
        ({"node_list": NODES.replace("27", "9")}, r"node_list.csv: n3: found a redline of 9 °C; must be 10 °C or more"),
        ({"node_list": NODES.replace("27", "300")}, r"line 4, redline_c: found '300'; must be from -20 to 60, in °C"),
        ({"crac_list": CRACS.replace("12,,2", "12,298,2")}, r"line 3, hottest_c: found '298'; must be from -20 to 60"),
        ({"node_list": NODES.replace("big", "bog")}, r"node_list.csv: line 3, type: found 'bog'; .* did you mean"),
        ({"node_list": NODES.replace("n3", "n1")}, r"node_list.csv: line 4, node: found 'n1'; each may have one row"),
        ({"node_list": NODES.replace("n3", "east")}, r"crac_list.csv: east: found a node of this name in node"),
        ({"node_list": NODES.replace("small,1,", "small,,")}, r"line 2, m3_per_s: found nothing; the flow must be"),
        ({"crac_list": CRACS.replace("12,,2,,", "12,,2,-1,")},
         r"crac_list.csv: line 3: found a coefficient of performance of -23 at 25 °C; must be above 0"),
        ({"crac_list": CRACS.replace("10,25", "26,25")}, r"crac_list.csv: line 2: found 26 to 25 °C; the coldest must"),
        ({"node_type_list": NODE_TYPES.replace("4,2", "4,3")}, r"line 2, cores: found '4'; must be the same number on"),
        ({"heat": listed({"n1": {"n1": 1.0}, "n2": {"east": 1.0}, "n3": {"west": 1.0},
                          "east": {"n2": 0.5, "east": 0.5}, "west": {"n3": 1.0}})},
         r"heat flow: n1: found no air that comes from a CRAC unit"),
    ],
)  # fmt: skip
def test_a_wrong_site_is_told_where(tmp_path: Path, texts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        site_of(tmp_path, **texts)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"speeds": SPEEDS.replace("1,0.8,6", "1,1.8,6")}, r"line 3, speed_per_s: found '1.8'; must not be above that"),
        ({"speeds": SPEEDS.replace("1,0.8,6", "1,0.8,16")}, r"line 3, power_w: found '16'; must not be above that"),
        ({"speeds": SPEEDS + "render,big,1,2,7\n"}, r"line 7, pstate: found '1'; must be below the node type's number"),
        ({"speeds": SPEEDS + "render,small,1,2,7\n"}, r"line 7, speed_per_s: .* may have one row"),
        ({"task_list": TASKS.replace("solve,2", "solve,0").replace("render,4", "render,0")},
         r"task_list.csv: rate_per_s: found no task that arrives; one rate at least must be above 0"),
        ({"task_list": TASKS.replace("light", "lite")}, r"line 3, class: found 'lite'; must be one of"),
        ({"task_list": TASKS.replace("render,4,0.5,2", "render,4,0.5,0.2")}, r"render: found a deadline of 0.2 s"),
        ({"task_list": TASKS.replace(",class", ",memory")}, r"task_list.csv: header: found 'memory'"),
        ({"slowdowns": "task_a,task_b,slowdown\nsolve,render,1\n"}, r"has no row for 'solve' beside 'solve' on"),
        ({"slowdowns": "class,heavy,light\nlight,1,2\nheavy,1,2\n"}, r"must be the same classes in one order"),
        ({"slowdowns": "class,heavy,light\nheavy,1,-2\nlight,1,2\n"}, r"line 2, light: found '-2'; must be a finite"),
    ],
)  # fmt: skip
def test_wrong_flows_are_told_where(tmp_path: Path, texts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        flows_of(tmp_path, **texts)


COLOCATION = """gpu,consolidated,job_a,gpus_a,job_b,gpus_b,steps_per_s_a,steps_per_s_b
v100,yes,LM,1,,,10,
v100,yes,LM,2,,,19,
v100,yes,GAN,1,,,4,
v100,yes,LM,1,LM,1,5,5
v100,yes,LM,1,GAN,1,8,2
v100,yes,GAN,1,LM,1,2,8
v100,yes,GAN,1,GAN,1,0,0
v100,no,LM,1,,,1,
k80,yes,LM,1,,,5,
k80,yes,GAN,1,,,1,
k80,yes,LM,1,LM,1,5.5,5.5
k80,yes,LM,1,GAN,1,4,0.5
k80,yes,GAN,1,GAN,1,0.5,0.5
"""


def test_throughputs_of_pairs_are_speeds_and_slowdowns(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv.gz").write_bytes(gzip.compress(COLOCATION.encode()))
    found = read_colocation("pairs.csv.gz", tmp_path)
    assert found.jobs == ("LM", "GAN")
    assert found.gpus == ("v100", "k80")
    assert found.steps_per_s.tolist() == [[10, 5], [4, 1]]
    assert found.slowdown[0] == pytest.approx(np.array([[1.0, 0.25], [1.0, DOES_NOT_FIT]]))
    assert found.slowdown[1] == pytest.approx(np.array([[0.0, 0.25], [1.0, 1.0]]))
    assert found.n_unfit.tolist() == [1, 0]


def test_measured_pairs_become_flows_of_a_site_of_gpus(tmp_path: Path) -> None:
    types = "type,cores,processors,overhead_w,core_w\nv100,4,2,200,125\nk80,2,1,100,75\n"
    nodes = NODES.replace("small", "v100").replace("big", "k80")
    site = site_of(tmp_path, node_type_list=types, node_list=nodes)
    tasks = "task_type,rate_per_s,steps\nGAN,0.01,100\nLM,1,10\n"
    flows = flows_of(tmp_path, site, task_list=tasks, speeds="", colocation=COLOCATION)
    assert flows.speed_per_s[:, :, 0].tolist() == [[0.04, 0.01], [1, 0.5]]
    assert flows.power_w[:, :, 0].tolist() == [[125, 75], [125, 75]]
    assert flows.slowdown[0, 0, 0] == DOES_NOT_FIT
    assert flows.slowdown[0, 1].tolist() == pytest.approx([0.25, 1.0])
    facility_of(site, flows)
    unpowered = replace(site, core_w=np.full((2, 1), np.nan))
    with pytest.raises(InputError, match="v100: found no core_w"):
        flows_of(tmp_path, unpowered, task_list=tasks, speeds="", colocation=COLOCATION)
    with pytest.raises(
        InputError, match=r"task_list.csv: A3C: found no such name in colocation.csv; there are LM, GAN"
    ):
        flows_of(tmp_path, site, task_list=tasks.replace("LM", "A3C"), speeds="", colocation=COLOCATION)
    with pytest.raises(InputError, match=r"has no row for 'GAN' and 'GAN' on 'k80'; every pair must be given"):
        flows_of(
            tmp_path,
            site,
            task_list=tasks,
            speeds="",
            colocation=COLOCATION.replace("k80,yes,GAN,1,GAN", "k80,no,GAN,1,GAN"),
        )
    with pytest.raises(InputError, match=r"line 13, steps_per_s_b: found 'x'; must be a number of 0 or more"):
        flows_of(tmp_path, site, task_list=tasks, speeds="", colocation=COLOCATION.replace("4,0.5", "4,x"))


def test_one_of_two_sources_must_be_named() -> None:
    with pytest.raises(InputError, match=r"system.heat: found None; one of heat and heat_k_per_w must be given"):
        SiteTables(node_list="a.csv", crac_list="b.csv")
    with pytest.raises(InputError, match=r"workload.slowdowns: found 'c.csv'; must be left out with colocation"):
        FlowTables(task_list="a.csv", colocation="b.csv", slowdowns="c.csv")
