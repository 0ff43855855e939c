"""What jobs ask of a site, rule by rule and by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from joulewise.model.site import ANY_NUMBER, Demands, Site
from joulewise.worlds.jobs.logs import frame_of
from joulewise.worlds.jobs.sites.demands import demands_on
from joulewise.worlds.jobs.sites.ground import site_of, with_partitions
from joulewise.worlds.jobs.sites.site import Licence, NodeGroup, Partition, SiteTables
from joulewise.worlds.jobs.trace_jobs import Processors, TraceFinding, TraceJobs

GIB = 1024
CPU = NodeGroup(name="cpu", count=4, cores=64, memory_mib=256 * GIB, features=("zen3", "ib"))
FAT = NodeGroup(name="fat", count=2, cores=32, memory_mib=1024 * GIB, features=("zen3", "fat"))
A100 = NodeGroup(name="a100", count=2, cores=32, memory_mib=512 * GIB, gpus={"a100": 4})
V100 = NodeGroup(name="v100", count=2, cores=16, memory_mib=128 * GIB, gpus={"v100": 2})
MIXED = NodeGroup(name="mixed", count=1, cores=16, memory_mib=128 * GIB, gpus={"a100": 1, "v100": 3})
UNKNOWN = NodeGroup(name="unknown", count=1, cores=16, gpus={"gpu": 2})
GPUS = (A100, V100, MIXED, UNKNOWN)


class Made(NamedTuple):
    """A site, what jobs ask of it, and what was odd about them."""

    site: Site
    demands: Demands
    findings: list[TraceFinding]

    def need(self, group: str, job: int = 0) -> dict[str, int]:
        """What a piece of a job takes of a node of a group, without what it does not take."""
        amounts = self.demands.need[self.demands.of_job[job], self.site.groups.index(group)].tolist()
        return {name: amount for name, amount in zip(self.site.resources, amounts, strict=True) if amount}

    def groups(self, job: int = 0) -> dict[str, int]:
        """The groups in which a job may run, with the units that a piece gives there."""
        gives = self.demands.gives[self.demands.of_job[job]].tolist()
        return {name: units for name, units in zip(self.site.groups, gives, strict=True) if units}

    def pieces(self, job: int = 0) -> tuple[int, int]:
        """The units that a job needs, and how many pieces may be on a node."""
        kind = self.demands.of_job[job]
        return int(self.demands.units[kind]), int(self.demands.most[kind])

    @property
    def told(self) -> dict[str, int]:
        return {finding.key: finding.n for finding in self.findings}


def make(
    nodes: tuple[NodeGroup, ...],
    *jobs: dict[str, Any],
    partitions: tuple[Partition, ...] = (),
    licences: tuple[Licence, ...] = (),
    processors: Processors = "allocated",
    requested_s: float = 60.0,
) -> Made:
    """What jobs with these columns of a log ask of a site."""
    tables = with_partitions(SiteTables(name="s", nodes=nodes, partitions=partitions, licences=licences))
    rows = [{"cores": 1, **job} for job in jobs]
    log = frame_of(
        {name: [row.get(name) for row in rows] for name in {name for row in rows for name in row}}, len(rows)
    )
    times = np.full(len(rows), requested_s)
    cores = np.array([row["requested_cores" if processors == "requested" else "cores"] for row in rows])
    findings: list[TraceFinding] = []
    site = site_of(tables)
    made = TraceJobs(np.zeros(len(rows)), times, times, times, cores, log, 0.0)
    return Made(site, demands_on(tables, site, made, processors, findings), findings)


def memory_kb(gib: float, processors: int) -> float:
    """Memory in all as logs have it: of each processor."""
    return gib * GIB * 1024 / processors


def wide(**more: Any) -> tuple[Partition, ...]:
    """One partition of all groups that gives whole nodes."""
    return (Partition(name="wide", nodes=("cpu", "fat"), sharing="exclusive", **more),)


# --- how a job is divided ----------------------------------------------------------------------------------------


def test_on_known_nodes_each_gives_a_like_part() -> None:
    made = make((CPU, FAT), {"cores": 10, "nodes": 3, "requested_memory_kb": memory_kb(30, 10)})
    assert made.pieces() == (3, 1)
    assert made.need("cpu") == made.need("fat") == {"cores": 4, "memory_mib": 10 * GIB}
    assert made.groups() == {"cpu": 1, "fat": 1}


def test_without_known_nodes_processors_lie_wherever_they_are_free() -> None:
    made = make((CPU, FAT), {"cores": 10, "requested_memory_kb": memory_kb(30, 10)})
    assert made.pieces() == (10, ANY_NUMBER)
    assert made.need("cpu") == {"cores": 1, "memory_mib": 3 * GIB}


def test_without_known_nodes_there_is_a_piece_for_each_gpu() -> None:
    made = make((A100,), {"cores": 10, "gpus": 4.0})
    assert made.pieces() == (4, ANY_NUMBER)
    assert made.need("a100") == {"cores": 3, "gpus": 1000}


def test_whole_nodes_of_a_known_number() -> None:
    made = make((CPU, FAT), {"cores": 96, "nodes": 3}, partitions=wide())
    assert made.pieces() == (3, 1)
    assert made.need("cpu") == {"cores": 64, "memory_mib": 256 * GIB}, "all that a node has"
    assert made.groups() == {"cpu": 1, "fat": 1}


def test_whole_nodes_until_there_are_processors_enough() -> None:
    made = make((CPU, FAT), {"cores": 100}, partitions=wide())
    assert made.pieces() == (100, 1)
    assert made.groups() == {"cpu": 64, "fat": 32}


def test_whole_nodes_until_there_is_enough_of_everything() -> None:
    gpu = (Partition(name="gpu", nodes=("a100", "v100"), sharing="exclusive"),)
    made = make((A100, V100), {"cores": 8, "gpus": 8.0}, partitions=gpu)
    assert made.groups() == {"a100": 4, "v100": 2}, "two nodes of 4 GPUs, or four of 2"
    made = make((CPU, FAT), {"cores": 8, "requested_memory_kb": memory_kb(900, 8)}, partitions=wide())
    assert made.groups() == {"cpu": 2, "fat": 32}, "four nodes of 256 GiB, or one of 1 TiB"


def test_whole_nodes_that_others_share_take_all_that_the_nodes_have() -> None:
    partitions = (*wide(), Partition(name="batch", nodes=("cpu",), max_cores_per_node=16))
    made = make((CPU, FAT), {"cores": 2, "nodes": 1, "partition": "wide"}, partitions=partitions)
    assert made.need("cpu") == {"cores": 64, "memory_mib": 256 * GIB, "cores of batch": 16}
    assert made.need("fat") == {"cores": 32, "memory_mib": 1024 * GIB, "cores of batch": 16}, (
        "also where nodes are only counted"
    )


def test_a_partition_may_have_a_part_of_each_node() -> None:
    half = (Partition(name="half", nodes=("cpu", "fat"), max_cores_per_node=24),)
    made = make((CPU, FAT), {"cores": 24, "nodes": 1}, {"cores": 25, "nodes": 1}, partitions=half)
    assert made.need("cpu") == {"cores": 24, "cores of half": 24}
    assert (made.groups(0), made.groups(1)) == ({"cpu": 1, "fat": 1}, {})


def test_jobs_that_ask_for_the_same_are_of_one_class() -> None:
    made = make((CPU,), {"cores": 4}, {"cores": 2}, {"cores": 4})
    assert made.demands.of_job.tolist() == [0, 1, 0]
    assert made.demands.n_classes == 2


# --- what counts of what a log tells -----------------------------------------------------------------------------


def test_what_was_allocated_or_what_was_requested() -> None:
    job = {
        "cores": 64, "requested_cores": 2, "nodes": 2, "requested_nodes": 1, "gpus": 4.0, "requested_gpus": 1.0,
    }  # fmt: skip
    assert make((A100,), job).need("a100") == {"cores": 32, "gpus": 2000}
    assert make((A100,), job, processors="requested").need("a100") == {"cores": 2, "gpus": 1000}
    del job["nodes"], job["gpus"]
    assert make((A100,), job).pieces() == (1, 1), "what is known"


def test_memory_is_what_was_asked_for_in_all_however_many_processors_were_given() -> None:
    job = {"cores": 64, "requested_cores": 2, "nodes": 1, "requested_memory_kb": memory_kb(100, 2)}
    assert make((CPU,), job).need("cpu") == {"cores": 64, "memory_mib": 100 * GIB}
    assert make((CPU,), {"cores": 3, "nodes": 1, "requested_memory_kb": memory_kb(1, 3)}).need("cpu") == {
        "cores": 3, "memory_mib": GIB,
    }  # fmt: skip


def test_a_part_of_a_gpu_counts_in_thousandths() -> None:
    made = make((A100,), {"gpus": 0.46, "nodes": 1}, {"gpus": 0.57})
    assert made.need("a100", 0) == {"cores": 1, "gpus": 460}
    assert (made.need("a100", 1), made.pieces(1)) == ({"cores": 1, "gpus": 570}, (1, ANY_NUMBER))


@pytest.mark.parametrize(
    ("kind", "number", "groups"),
    [
        (None, 2.0, {"a100", "v100", "mixed", "unknown"}),
        ("a100", 2.0, {"a100"}),
        ("a100", 1.0, {"a100", "mixed"}),
        ("v100", 3.0, {"mixed"}),
        ("a100|v100", 2.0, {"a100", "v100", "mixed"}),
        ("a100|h100", 2.0, {"a100"}),
        ("a100=1,v100=2", 3.0, {"mixed"}),
        ("a100=2,v100=1", 3.0, set()),
        ("h100", 1.0, set()),
        ("h100|h200", 1.0, set()),
    ],
)
def test_kinds_of_gpus(kind: str | None, number: float, groups: set[str]) -> None:
    job = {"nodes": 1, "gpus": number, "requested_gpus": number, "requested_gpu_kind": kind}
    assert set(make(GPUS, job).groups()) == groups


def test_gpus_of_a_kind_are_counted_by_kind_where_nodes_have_several() -> None:
    job = {"nodes": 1, "gpus": 2.0, "requested_gpus": 2.0, "requested_gpu_kind": "a100|v100"}
    made = make(GPUS, job, {**job, "requested_gpu_kind": None})
    assert made.need("mixed") == {"cores": 1, "gpus": 2000, "v100": 2000}, "the one that it has most of"
    assert made.need("a100") == {"cores": 1, "gpus": 2000, "a100": 2000}
    assert made.need("mixed", 1) == {"cores": 1, "gpus": 2000}


def test_kinds_of_gpus_do_not_bind_jobs_without_gpus() -> None:
    assert set(make((CPU, A100), {"nodes": 1, "gpu_kind": "a100"}).groups()) == {"cpu", "a100"}


def test_the_kind_that_was_given_counts_where_it_is_not_known_what_was_asked_for() -> None:
    given = {"nodes": 1, "gpus": 1.0, "gpu_kind": "a100"}
    assert set(make(GPUS, given).groups()) == {"a100", "mixed"}
    any_kind = {**given, "requested_gpus": 1.0}
    assert set(make(GPUS, any_kind).groups()) == {"a100", "v100", "mixed", "unknown"}


@pytest.mark.parametrize(
    ("features", "groups"),
    [
        (None, {"cpu", "fat"}),
        ("zen3", {"cpu", "fat"}),
        ("zen3&ib", {"cpu"}),
        ("ib|fat", {"cpu", "fat"}),
        ("fat", {"fat"}),
        ("zen4", set()),
    ],
)
def test_features_choose_groups(features: str | None, groups: set[str]) -> None:
    made = make((CPU, FAT), {"features": features})
    assert (set(made.groups()), bool(made.findings)) == (groups, not groups)


@pytest.mark.parametrize("features", ["zen3&ib|fat", "[rack1|rack2]", "ib*2", "(a|b)&c", "a&"])
def test_odd_features_are_told_and_bind_nobody(features: str) -> None:
    made = make((CPU, FAT), {"features": features}, {"features": features}, {})
    assert set(made.groups()) == {"cpu", "fat"}
    assert made.told == {"odd features": 2}


def test_licences_are_counted_and_those_that_the_site_lacks_are_told() -> None:
    licences = (Licence(name="matlab", count=3), Licence(name="ansys", count=1))
    jobs: tuple[dict[str, Any], ...] = (
        {"licences": "matlab=2,comsol=1"},
        {"licences": "ansys"},
        {},
        {"licences": "odd=,=1"},
    )
    made = make((CPU,), *jobs, licences=licences)
    assert made.demands.licences[made.demands.of_job].tolist() == [[2, 0], [0, 1], [0, 0], [0, 0]]
    assert made.told == {"absent licences": 2}
    assert "(comsol, odd=, =1)" in made.findings[0].reason


# --- who would never start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ({"state": "down"}, "is not up"),
        ({"state": "drain"}, "is not up"),
        ({"state": "inactive"}, "is not up"),
        ({"max_time_s": 59.0}, "has a shorter time limit than they ask for"),
        ({"max_nodes": 1}, "allows fewer nodes"),
        ({"min_nodes": 3}, "asks for more nodes"),
    ],
)
def test_jobs_that_a_partition_would_never_start(partition: dict[str, Any], words: str) -> None:
    partitions = (Partition(name="p", nodes=("cpu",), **partition),)
    made = make((CPU,), {"nodes": 2}, {"nodes": 2}, partitions=partitions)
    assert made.groups() == {}
    (finding,) = made.findings
    assert (finding.n, finding.part) == (2, "lost")
    assert finding.reason == f"jobs that the site would never start: partition p {words}"


def test_limits_of_a_partition_hold_as_they_are() -> None:
    limits = Partition(name="p", nodes=("cpu",), max_time_s=60.0, max_nodes=2, min_nodes=2)
    made = make((CPU,), {"nodes": 2}, {"cores": 4}, partitions=(limits,))
    assert (made.groups(0), made.groups(1), made.findings) == ({"cpu": 1}, {"cpu": 1}, [])


def test_a_job_is_only_in_the_groups_of_its_partition_that_have_room_for_it() -> None:
    partitions = (Partition(name="a", nodes=("cpu",)), Partition(name="b", nodes=("cpu", "fat")))
    big = {"nodes": 1, "cores": 16, "requested_memory_kb": memory_kb(500, 16)}
    made = make((CPU, FAT), {**big, "partition": "b"}, {**big, "partition": "a"}, partitions=partitions)
    assert (made.groups(0), made.groups(1)) == ({"fat": 1}, {})
    assert made.demands.can_start(made.site).tolist() == [True, False]


def test_jobs_of_no_known_partition_go_to_the_usual_one() -> None:
    partitions = (Partition(name="a", nodes=("cpu",)), Partition(name="b", nodes=("cpu", "fat"), default=True))
    jobs: tuple[dict[str, Any], ...] = ({"partition": "a"}, {"partition": "old"}, {"partition": "older"}, {})
    made = make((CPU, FAT), *jobs, partitions=partitions)
    assert made.demands.partition[made.demands.of_job].tolist() == [0, 1, 1, 1]
    assert made.told == {
        "jobs that name no partition": 1,
        "jobs of partitions that the site does not have (old, older)": 2,
    }
    assert {(finding.done, finding.part) for finding in made.findings} == {("sent to the partition b", "guessed")}
    first = make((CPU, FAT), {}, partitions=partitions[:1])
    assert first.demands.partition.tolist() == [0]


MATLAB = (Licence(name="matlab", count=3),)


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"nodes": 1, "cores": 65}, "has 64 processors on a node at most"),
        (
            {"nodes": 2, "gpus": 2.0, "gpu_kind": "a100", "requested_memory_kb": memory_kb(1026, 1)},
            "has 512 GiB of memory on a node at most",
        ),
        ({"nodes": 1, "gpus": 5.0}, "has 4 GPUs on a node at most"),
        ({"nodes": 1, "gpus": 4.0, "gpu_kind": "v100"}, "has 3 v100 GPUs on a node at most"),
        ({"nodes": 1, "gpus": 1.0, "gpu_kind": "h100"}, "has no nodes with the features or GPUs that they ask for"),
        ({"nodes": 1, "cores": 40, "gpus": 1.0}, "has too few nodes with all that they ask for"),
        ({"nodes": 1, "cores": 20, "gpus": 1.0}, ""),
        ({"nodes": 12, "cores": 12}, ""),
        ({"nodes": 13, "cores": 13}, "has too few nodes with all that they ask for"),
        ({"nodes": 6, "gpus": 6.0}, ""),
        ({"nodes": 7, "gpus": 7.0}, "has too few nodes with all that they ask for"),
        ({"cores": 1000}, "has too few nodes with all that they ask for"),
        ({"licences": "matlab=3"}, ""),
        ({"licences": "matlab=4"}, "there are 3 licences matlab"),
    ],
)
def test_of_what_there_is_too_little_is_told(job: dict[str, Any], words: str) -> None:
    made = make((CPU, FAT, *GPUS), job, job, licences=MATLAB)
    assert [(finding.n, finding.key.removeprefix("partition all ")) for finding in made.findings] == (
        [(2, words)] if words else []
    )


def test_of_a_partition_of_whole_nodes_too_little_is_told_too() -> None:
    partitions = (*wide(), Partition(name="batch", nodes=("cpu",), max_cores_per_node=24))
    jobs = (
        {"partition": "wide", "nodes": 1, "cores": 65},
        {"partition": "wide", "cores": 321},
        {"partition": "wide", "cores": 320},
        {"partition": "batch", "nodes": 1, "cores": 25},
    )
    made = make((CPU, FAT), *jobs, partitions=partitions)
    assert made.told == {
        "partition wide has 64 processors on a node at most": 1,
        "partition wide has too few nodes with all that they ask for": 1,
        "partition batch has 24 processors of batch on a node at most": 1,
    }
