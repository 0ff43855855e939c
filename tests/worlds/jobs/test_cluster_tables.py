"""Clusters, job types and jobs from tables that people write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.clusters import ClusterSystem
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.worlds.jobs.cluster_tables import ClusterTables, options_of, read_clusters, with_nodes
from joulewise.worlds.jobs.tables import JobTable, read_jobs

CLUSTERS = "cluster,nodes,cores_per_node\nbig,512,32\nsmall,16,8\n"

FIG_2 = {
    1: {1: 100, 2: 70, 4: 50, 16: 25, 32: 30},
    2: {256: 300, 512: 200},
    3: {8: 100, 16: 80, 64: 70},
}
"""Machovec fig. 2: execution times by job type and number of nodes."""

TIMES = "job_type,cluster,nodes,time_s,power_w\n" + "".join(
    f"type-{job_type},big,{nodes},{time_s},{100 * nodes}\n"
    for job_type, row in FIG_2.items()
    for nodes, time_s in row.items()
)


def written(folder: Path, **tables: str) -> dict[str, str]:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return {name: f"{name}.csv" for name in tables}


def tables_of(folder: Path, clusters: str, job_times: str | None = None) -> ClusterTables:
    names = written(folder, clusters=clusters, **({} if job_times is None else {"job_times": job_times}))
    return ClusterTables(clusters=names["clusters"], job_times=names.get("job_times"))


def system_of(folder: Path, clusters: str = CLUSTERS, job_times: str = TIMES) -> ClusterSystem:
    return read_clusters(tables_of(folder, clusters=clusters, job_times=job_times), folder)


def jobs_of(folder: Path, jobs: str, system: ClusterSystem, **others: float) -> tuple[ClusterSystem, Jobs]:
    return read_jobs(JobTable(**written(folder, jobs=jobs), **others), system, folder)  # type: ignore[arg-type]


def problems_of(caught: pytest.ExceptionInfo[InputError]) -> str:
    return str(caught.value)


@pytest.mark.parametrize(
    ("job_type", "nodes", "time_s"),
    [
        (0, 1, 100.0),
        (0, 3, 60.0),
        (0, 10, 37.5),
        (0, 16, 25.0),
        (0, 24, 27.5),  # slower again: too many nodes
        (1, 384, 250.0),
        (2, 12, 90.0),
        (2, 40, 75.0),
    ],
)
def test_times_lie_on_straight_lines_between_those_of_fig_2(
    tmp_path: Path, job_type: int, nodes: int, time_s: float
) -> None:
    system = system_of(tmp_path)
    found = with_nodes(options_of(system.types, job_type), np.array([nodes, nodes]))
    assert found.time_s.tolist() == [pytest.approx(time_s)]
    assert found.power_w.tolist() == [pytest.approx(100 * nodes)]
    assert (found.cluster.tolist(), found.nodes.tolist()) == ([0], [nodes])


def test_options_come_by_cluster_then_pstate_then_nodes(tmp_path: Path) -> None:
    rows = ["small,0,2", "big,1,1", "big,0,4", "big,1,4", "big,0,1"]
    text = "job_type,cluster,pstate,nodes,time_s\n" + "".join(f"a,{row},10\n" for row in rows)
    types = system_of(tmp_path, job_times=text).types
    found = zip(types.cluster.tolist(), types.pstate.tolist(), types.nodes.tolist(), strict=True)
    assert list(found) == [(0, 0, 1), (0, 0, 4), (0, 1, 1), (0, 1, 4), (1, 0, 2)]


@pytest.mark.parametrize(("job_type", "nodes"), [(0, 33), (1, 255), (2, 7)])
def test_nothing_is_known_beyond_the_listed_numbers(tmp_path: Path, job_type: int, nodes: int) -> None:
    options = options_of(system_of(tmp_path).types, job_type)
    assert with_nodes(options, np.array([nodes, nodes])).nodes.size == 0


def test_without_a_number_of_nodes_every_listed_one_is_an_option(tmp_path: Path) -> None:
    system, jobs = jobs_of(tmp_path, "arrival_s,job_type\n0,type-1\n5,type-3\n", system_of(tmp_path))
    world = JobWorld(system.clusters, system.types, jobs)
    assert np.diff(world.types.first).tolist() == [5, 3]
    assert world.types.nodes[:5].tolist() == [1, 2, 4, 16, 32]


def test_the_number_of_nodes_may_depend_on_the_cluster(tmp_path: Path) -> None:
    times = "job_type,cluster,pstate,nodes,time_s\n" + "".join(
        f"t,{cluster},{pstate},{nodes},{(1 + pstate) * time_s}\n"
        for cluster in ("big", "small")
        for pstate in (0, 1)
        for nodes, time_s in ((1, 80), (8, 10))
    )
    base = system_of(tmp_path, job_times=times)
    assert np.isnan(base.types.power_w).all()
    system, jobs = jobs_of(tmp_path, "arrival_s,job_type,cores\n0,t,64\n1,t,\n2,t,9\n", base)
    types = system.types
    first = {
        row: types.nodes[types.first[k] : types.first[k + 1]].tolist() for row, k in enumerate(jobs.work.task_type)
    }
    assert first[0] == [2, 2, 8, 8]  # 64 cores: 2 nodes of 32, or 8 of 8
    assert first[1] == base.types.nodes.tolist()
    assert first[2] == [1, 1, 2, 2]
    k = jobs.work.task_type[0]
    assert types.time_s[types.first[k] : types.first[k + 1]].tolist() == [70, 140, 10, 20]


def test_true_times_stretch_and_plans_do_not(tmp_path: Path) -> None:
    text = "arrival_s,job_type,nodes,stretch\n0,type-1,3,0.5\n0,type-1,3,1\n1,type-1,3,0.5\n"
    system, jobs = jobs_of(tmp_path, text, system_of(tmp_path))
    assert system.types.n_types == 2
    assert jobs.work.task_type.tolist() == [0, 1, 0]
    assert system.types.planned_s.tolist() == [60, 60]
    assert system.types.time_s.tolist() == [30, 60]


def test_jobs_with_times_of_their_own(tmp_path: Path) -> None:
    clusters = read_clusters(tables_of(tmp_path, clusters=CLUSTERS), tmp_path)
    text = (
        "arrival_s,nodes,time_s,planned_s,power_w,user,queue,job,after,think_s\n"
        "0,4,100,200,50,ann,long,a,,\n"
        "7,20,50,,60,bob,,b,a,30\n"
        "9,600,50,60,60,ann,long,c,,\n"
    )
    system, jobs = jobs_of(tmp_path, text, clusters)
    types = system.types
    assert np.diff(types.first).tolist() == [2, 1, 0]  # the last one fits nowhere
    assert types.time_s.tolist() == [100, 100, 50]
    assert types.planned_s.tolist() == [200, 200, 50]
    assert types.power_w.tolist() == [200, 200, 1200]
    assert jobs.conditions is not None
    after, think_s = jobs.conditions.one_before(jobs.n_jobs)
    assert after.tolist() == [-1, 0, -1]
    assert think_s.tolist() == [0, 30, 0]
    assert jobs.labels["user"].names == ("ann", "bob")
    assert jobs.labels["queue"].codes.tolist() == [0, -1, 0]
    JobWorld(system.clusters, types, jobs)


def test_utilities_by_level_hold_for_a_multiple_of_the_mean_time(tmp_path: Path) -> None:
    text = "arrival_s,job_type,nodes,priority,urgency,utility_class\n0,type-1,4,high,medium,A\n"
    _, jobs = jobs_of(tmp_path, text, system_of(tmp_path))
    assert (jobs.work.scale[0], jobs.work.hold_s[0]) == (4.0, 50.0)
    text = "arrival_s,job_type,nodes,utility,max_utility,duration_s\n0,type-1,4,linear,3,600\n"
    _, jobs = jobs_of(tmp_path, text, system_of(tmp_path), end_s=100.0)
    assert jobs.work.utility([0], [300.0]).tolist() == [1.5]
    assert jobs.work.end_s == 100


def test_idle_nodes_from_a_table(tmp_path: Path) -> None:
    clusters = "cluster,nodes,idle_w,sleep_w,sleep_after_s,boot_s,boot_w\na,4,50,5,600,30,90\nb,2,40,,,,\n"
    system = read_clusters(tables_of(tmp_path, clusters=clusters), tmp_path)
    standby = system.clusters.standby
    assert standby is not None
    assert standby.sleep_after_s.tolist() == [600, np.inf]
    assert standby.boot_s.tolist() == [30, 0]
    assert system.clusters.cores_per_node.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("clusters", "found"),
    [
        ("cluster,nodes\na,0\n", "line 2, nodes"),
        ("cluster,nodes\na,1.5\n", "line 2, nodes"),
        ("cluster,nodes\na,\n", "line 2, nodes"),
        ("cluster,nodes\na,1\na,2\n", "each cluster may have one row"),
        ("cluster,cores_per_node\na,1\n", "has no column 'nodes'"),
        ("cluster,nodes,idle_w,sleep_w\na,1,5,9\n", "must not be above idle_w"),
        ("cluster,nodes,colour\na,1,red\n", "colour"),
    ],
)
def test_wrong_clusters_are_located(tmp_path: Path, clusters: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        system_of(tmp_path, clusters)
    assert found in problems_of(caught)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("t,nowhere,0,1,5", "line 3, cluster"),
        ("t,big,0,1000,5", "must be at most the nodes that the cluster has"),
        ("t,big,0,1,5", "each number of nodes may have one row"),
        ("t,big,0,2,0", "line 3, time_s"),
        ("t,big,-1,2,5", "line 3, pstate"),
        ("t,big,200,2,5", "must be at most 127"),
        (",big,0,2,5", "the job type must have a name"),
    ],
)
def test_wrong_times_are_located(tmp_path: Path, row: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        system_of(tmp_path, job_times=f"job_type,cluster,pstate,nodes,time_s\nt,big,0,1,5\n{row}\n")
    assert found in problems_of(caught)


@pytest.mark.parametrize(
    ("jobs", "found"),
    [
        ("arrival_s,job_type,nodes\n0,type-9,1\n", "type-9"),
        ("arrival_s,job_type,nodes\n0,type-1,1\n1,type-1,40\n", "line 3, nodes"),
        ("arrival_s,job_type,nodes\n5,type-1,1\n1,type-1,1\n", "sort the table"),
        ("arrival_s,job_type,time_s,nodes\n0,type-1,5,1\n", "both job_type and time_s"),
        ("arrival_s,nodes\n0,1\n", "neither job_type nor time_s"),
        ("arrival_s,time_s\n0,1\n", "neither nodes nor cores"),
        ("arrival_s,time_s,nodes,cores\n0,1,1,1\n", "both nodes and cores"),
        ("arrival_s,time_s,nodes\n0,0,1\n", "line 2, time_s"),
        ("arrival_s,time_s,nodes,stretch\n0,1,1,2\n", "needs the column job_type"),
        ("arrival_s,job_type,power_w\n0,type-1,2\n", "needs the column time_s"),
        ("arrival_s,time_s,nodes,after\n0,1,1,a\n", "needs the column job"),
        ("arrival_s,time_s,nodes,job,after\n0,1,1,a,b\n1,1,1,b,\n", "must be the name of a job in a row above"),
        ("arrival_s,time_s,nodes,job,after\n0,1,1,a,\n1,1,1,a,\n", "must be unique"),
        ("arrival_s,time_s,nodes,priority\n0,1,1,low\n", "utilities by level need"),
    ],
)
def test_wrong_jobs_are_located(tmp_path: Path, jobs: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        jobs_of(tmp_path, jobs, system_of(tmp_path))
    assert found in problems_of(caught)


def test_job_types_need_times(tmp_path: Path) -> None:
    clusters = read_clusters(tables_of(tmp_path, clusters=CLUSTERS), tmp_path)
    with pytest.raises(InputError, match="job_times"):
        jobs_of(tmp_path, "arrival_s,job_type\n0,t\n", clusters)


def test_a_window_must_end_after_its_start() -> None:
    with pytest.raises(InputError, match=r"workload\.end"):
        JobTable(jobs="x.csv", start_s=5.0, end_s=4.0)
    with pytest.raises(InputError, match=r"workload\.prorated"):
        JobTable(jobs="x.csv", prorated=True)
