"""From a described site to whole numbers on nodes, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from joulewise.model.site import ANY_NUMBER, Site
from joulewise.worlds.jobs.sites.ground import clusters_of, not_replayed, site_of, with_partitions
from joulewise.worlds.jobs.sites.site import (
    Account,
    Licence,
    NodeGroup,
    Partition,
    SiteTables,
)

CPU = NodeGroup(name="cpu", count=10, cores=64, memory_mib=2000, weight=5)
GPU = NodeGroup(name="gpu", count=2, cores=32, gpus={"a100": 4}, other={"nvme": 2})
MIXED = NodeGroup(name="mixed", count=1, cores=16, gpus={"a100": 1, "v100": 3})


def has(site: Site, group: str) -> dict[str, int]:
    """What a node of a group has of each resource."""
    amounts = site.capacity[site.groups.index(group)].tolist()
    return dict(zip(site.resources, amounts, strict=True))


def test_nodes_have_whole_numbers_of_everything() -> None:
    site = site_of(with_partitions(SiteTables(name="s", nodes=(CPU, GPU))))
    assert (site.groups, site.n_nodes.tolist(), site.weight.tolist()) == (("cpu", "gpu"), [10, 2], [5, 1])
    assert has(site, "cpu") == {"cores": 64, "memory_mib": 2000, "gpus": 0, "nvme": 0}
    assert has(site, "gpu") == {"cores": 32, "memory_mib": ANY_NUMBER, "gpus": 4000, "nvme": 2}


def test_kinds_of_gpus_are_counted_only_where_nodes_have_several() -> None:
    site = site_of(with_partitions(SiteTables(name="s", nodes=(GPU, MIXED))))
    assert site.resources == ("cores", "memory_mib", "gpus", "a100", "v100", "nvme")
    assert has(site, "gpu") == {
        "cores": 32, "memory_mib": ANY_NUMBER, "gpus": 4000, "a100": 4000, "v100": 0, "nvme": 2,
    }  # fmt: skip
    assert has(site, "mixed")["gpus"] == 4000
    assert (has(site, "mixed")["a100"], has(site, "mixed")["v100"]) == (1000, 3000)


def test_a_partition_of_a_part_of_each_node_has_its_processors_counted_once_more() -> None:
    half = Partition(name="half", nodes=("cpu", "gpu"), max_cores_per_node=40)
    site = site_of(SiteTables(name="s", nodes=(CPU, GPU), partitions=(half,)))
    assert has(site, "cpu")["cores of half"] == 40
    assert has(site, "gpu")["cores of half"] == 32


def test_partitions_have_groups_tiers_and_ways_to_share() -> None:
    partitions = (
        Partition(name="all", nodes=("cpu", "gpu"), tier=1),
        Partition(name="wide", nodes=("mixed",), tier=3, sharing="exclusive"),
    )
    licences = (Licence(name="matlab", count=3),)
    site = site_of(SiteTables(name="s", nodes=(CPU, GPU, MIXED), partitions=partitions, licences=licences))
    assert np.array_equal(site.in_partition, [[True, True, False], [False, False, True]])
    assert (site.tier.tolist(), site.gives_wholes.tolist()) == ([1, 3], [False, True])
    assert site.is_counted.tolist() == [False, False, True]
    assert (site.licences, site.n_licences.tolist()) == (("matlab",), [3])


def test_a_site_without_partitions_has_one_of_all_nodes() -> None:
    (everything,) = with_partitions(SiteTables(name="s", nodes=(CPU, GPU))).partitions
    assert (everything.name, everything.nodes, everything.default) == ("all", ("cpu", "gpu"), True)
    with_one = SiteTables(name="s", nodes=(CPU, GPU), partitions=(Partition(name="p", nodes=("cpu",)),))
    assert with_partitions(with_one) is with_one


def test_the_processors_of_a_site_are_one_cluster() -> None:
    clusters = clusters_of(SiteTables(name="larch", nodes=(CPU, GPU, MIXED)))
    assert (clusters.names, clusters.n_nodes.tolist(), clusters.n_cores) == (("larch",), [10 * 64 + 2 * 32 + 16], 720)


def test_what_is_not_replayed_of_a_site_is_told() -> None:
    plain = SiteTables(name="s", nodes=(CPU,), partitions=(Partition(name="p", nodes=("cpu",)),))
    assert not_replayed(plain) == []
    limited = Partition(
        name="p", nodes=("cpu",), default_time_s=60.0, priority=2, qos="q", accounts=("a",), qos_of_jobs=("q",),
        preemption="cancel", grace_s=5.0,
    )  # fmt: skip
    full = SiteTables(
        name="s",
        nodes=(CPU,),
        partitions=(limited, Partition(name="plain", nodes=("cpu",))),
        accounts=(Account(name="a"),),
        slurm={
            "bf_busy_nodes": True,
            "preempttype": "preempt/qos",
            "bf_window": 60,
            "prioritymaxage": 60.0,
            "priorityweightassoc": 0,
            "priorityflags": ("max_tres", "incr_only"),
        },
    )
    found = {finding.key.removeprefix("not replayed: "): finding for finding in not_replayed(full)}
    assert {key: finding.n for key, finding in found.items()} == {
        "partitions with preemption": 1, "partitions with grace": 1,
        "settings of Slurm": 2,
    }  # fmt: skip
    assert found["settings of Slurm"].reason == "settings of Slurm of the site (bf_busy_nodes, priorityflags incr_only)"
    assert {finding.part for finding in found.values()} == {"lost"}
    by_tiers = replace(full, slurm={"preempttype": "preempt/partition_prio"})
    assert not_replayed(by_tiers) == []
