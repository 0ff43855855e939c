"""Alibaba's lists of the pods of a GPU cluster: fractions, pods that never ran, and lists that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.worlds.jobs.trace_files import TraceTable, import_log, read_trace_table
from tools.data import data_folder

HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
PODS = f"""\
{HEADER}
p0,12000,16384,1,1000,,LS,Running,0,500,0
p1,6100,12288,1,460,V100M16|V100M32,LS,Failed,100,220,130
p2,4000,0,0,0,,BE,Succeeded,200,300,200
p3,8000,30517,8,1000,A10,BE,Pending,250,260,
"""


def read(folder: Path, text: str) -> TraceTable:
    (folder / "pods.csv").write_text(text)
    return read_trace_table("pods.csv", folder)


def test_pods_are_jobs_with_fractions_of_gpus(tmp_path: Path) -> None:
    table = read(tmp_path, PODS)
    jobs = table.jobs
    assert jobs.select("job_id", "submit_s", "wait_s", "run_s").rows() == [
        ("p0", 0, 0, 500), ("p1", 100, 30, 90), ("p2", 200, 0, 100), ("p3", 250, None, None),
    ]  # fmt: skip
    assert jobs["requested_cores"].to_list() == [12, 7, 4, 8]
    assert jobs["cores"].to_list() == [12, 7, 4, None]
    assert (jobs["requested_nodes"].to_list(), jobs["nodes"].to_list()) == ([1, 1, 1, 1], [1, 1, 1, None])
    assert jobs["requested_gpus"].to_list() == [1.0, 0.46, None, 8.0]
    assert jobs["gpus"].to_list() == [1.0, 0.46, None, None]
    assert jobs["requested_gpu_kind"].to_list() == [None, "V100M16|V100M32", None, "A10"]
    memory_kb = jobs["requested_memory_kb"] * jobs["requested_cores"]
    assert memory_kb.round().to_list() == [16384 * 1024, 12288 * 1024, None, 30517 * 1024]
    assert (jobs["queue"].to_list(), jobs["status"][3]) == (["LS", "LS", "BE", "BE"], "pending")
    assert table.odd == {"fraction of a processor": 1, "added processors": 1, "ends with the log": 1}


def test_odd_lines_and_cells_are_counted_and_placed(tmp_path: Path) -> None:
    table = read(tmp_path, "".join(f"{line},node\n" for line in PODS.splitlines()) + "p4,1\np5,1\n")
    assert table.about.unread == ("node",)
    assert table.odd["wrong number of cells"] == 2
    assert table.at["wrong number of cells"] == 6
    table = read(tmp_path, PODS.replace("12000", "many").replace("12288", "-1"))
    assert (table.odd["unreadable cell"], table.at["unreadable cell"]) == (2, 2)
    assert table.jobs["requested_cores"].to_list()[0] is None


def test_a_list_without_ends_is_read(tmp_path: Path) -> None:
    header, *lines = PODS.splitlines()
    at = header.split(",").index("deletion_time")
    cells = [line.split(",") for line in lines]
    endless = [",".join((*row[:at], "", *row[at + 1 :])) for row in cells]
    table = read(tmp_path, "\n".join((header, *endless)) + "\n")
    assert (table.jobs["run_s"].null_count(), table.odd.get("ends with the log", 0)) == (len(lines), 0)


def test_lists_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found a list of nodes.*import --config pods\.csv"):
        read(tmp_path, "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\n")
    with pytest.raises(InputError) as caught:
        read(tmp_path, "name,cpu_milli,memory_mib,num_gpu\np0,1,1,1\n")
    assert [problem.found for problem in caught.value.problems] == [
        f"has no column '{name}'" for name in ("creation_time", "deletion_time", "scheduled_time")
    ]
    with pytest.raises(InputError, match="no jobs that can be read"):
        read(tmp_path, HEADER + "\n")


@pytest.mark.data
def test_the_published_list(tmp_path: Path) -> None:
    path = (data_folder() or Path()) / "gpu_cluster" / "alibaba_openb_pod_list_default.csv.gz"
    if not path.is_file():
        pytest.skip("there is no such list")
    table = import_log(path, tmp_path / "pods.parquet")
    jobs = read_trace_table("pods.parquet", tmp_path).jobs
    assert jobs.height == 8152
    assert jobs["run_s"].null_count() == 897
    assert (table.odd["fraction of a processor"], table.odd["added processors"]) == (5603, 3261)
    gpus = jobs["requested_gpus"].drop_nulls()
    assert (gpus.len(), int((gpus < 1).sum()), int((gpus == 8).sum())) == (7064, 3078, 44)
