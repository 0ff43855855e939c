"""Files of sites: what is written is what is read, and everything wrong is told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, SiteTables
from joulewise.worlds.jobs.sites.site_file import SECTIONS, parse_site, read_site, site_text
from joulewise.worlds.jobs.sites.slurm_settings import SETTINGS
from joulewise.worlds.jobs.sites.written import KINDS
from tests.strategies.small_sites import SITE

names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "name": names,
    "names": st.lists(names, min_size=1, unique=True).map(tuple),
    "flag": st.booleans(),
    "count": st.integers(1, 10**9),
    "limit": st.integers(1, 10**9),
    "number": st.integers(0, 10**9),
    "whole": st.integers(-(10**9), 10**9),
    "memory": st.integers(1, 10**9),
    "power": st.floats(0, 1e9) | st.integers(0, 10**6).map(float),
    "time": st.floats(1e-3, 1e9) | st.integers(1, 10**8).map(float),
    "time from 0": st.floats(0, 1e9) | st.integers(0, 10**8).map(float),
    "instant": st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1))
    | st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
    | st.floats(0, 1e9),
    "things": st.dictionaries(names, st.integers(1, 10**6)),
    "shares": st.dictionaries(names, st.integers(0, 10**6)),
    "weights": st.dictionaries(names, st.floats(-1e14, 1e14) | st.integers(-(10**6), 10**6)),
    "billing": st.dictionaries(st.sampled_from(["cores", "nodes", "gpus", "memory_mib", "a100"]), st.floats(-1e3, 1e3)),
    "amounts": st.dictionaries(st.sampled_from(["cores", "nodes", "gpus", "memory_mib"]), st.integers(1, 10**6)),
    "sharing": st.sampled_from(["shared", "exclusive"]),
    "hours": st.lists(st.sampled_from(["Mon", "Sat-Mon", "Tue 8:00-9:30", "20:00-06:00"]), min_size=1).map(tuple),
    "state": st.sampled_from(["up", "down", "drain", "inactive"]),
    "preemption": st.sampled_from(["off", "requeue", "suspend", "cancel"]),
}

POWERS = ("idle_power_w", "core_power_w", "gpu_power_w")


def test_every_kind_of_values_is_tried() -> None:
    assert set(VALUES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_values_that_are_written_are_read_again(kind: str, data: st.DataObject) -> None:
    import tomllib

    value = data.draw(VALUES[kind])
    written = KINDS[kind].write(value)
    assert KINDS[kind].read(tomllib.loads(f"key = {written}")["key"]) == value


def table(holds: Any) -> st.SearchStrategy[Any]:
    """A table of a section, in which keys may be left out."""
    given = {each.name: VALUES[each.metadata["kind"]] for each in fields(holds)}
    must = {each.name for each in fields(holds) if each.default is MISSING and each.default_factory is MISSING}
    required = {name: given[name] for name in must}
    optional = {name: value for name, value in given.items() if name not in must}
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: holds(**values))


groups = st.lists(table(NodeGroup), min_size=1, max_size=3, unique_by=lambda group: group.name)


@given(groups, st.dictionaries(st.sampled_from(sorted(SETTINGS)), st.none(), max_size=5), st.data())
def test_sites_that_are_written_are_read_again(
    nodes: list[NodeGroup], settings: dict[str, None], data: st.DataObject
) -> None:
    powers = data.draw(st.fixed_dictionaries(dict.fromkeys(POWERS, VALUES["power"])))
    nodes = [replace(group, gpus={"a100": 2}, other={"nvme": 1}, **powers) for group in nodes]
    partitions = data.draw(st.lists(table(Partition), max_size=3, unique_by=lambda partition: partition.name))
    kept = [
        replace(
            each,
            nodes=(nodes[0].name,),
            default=not number,
            qos=None,
            qos_of_jobs=(),
            denied_qos=(),
            denied_accounts=(),
            min_nodes=0,
            default_time_s=None,
            billing={},
            open=each.open if each.state == "up" and each.closed != "up" else (),
            closed=each.closed if each.state == "up" and each.closed != "up" and each.open else "down",
        )
        for number, each in enumerate(partitions)
    ]
    slurm = {name: data.draw(VALUES[SETTINGS[name].kind]) for name in settings}
    site = SiteTables(name="a", nodes=tuple(nodes), partitions=tuple(kept), slurm=slurm)
    assert parse_site(site_text(site, ["said"], {("nodes", nodes[0].name): "n[1-2]"}), "site.toml") == site


def test_a_state_for_hours_of_a_partition_that_has_none_is_refused() -> None:
    with pytest.raises(InputError, match="closed: found 'drain', and no hours; is the state at hours"):
        parse_site(SITE.replace("default = true", 'default = true\nclosed = "drain"'), "site.toml")


def test_a_site_of_all_sections(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    site = read_site("site.toml", tmp_path)
    assert [getattr(site, section.attribute) != () for section in SECTIONS.values()] == [True] * len(SECTIONS)
    assert (site.nodes[0].memory_mib, site.partitions[0].max_time_s) == (512 * 1024, 172_800.0)
    assert site.partitions[1].nodes == ("gpu",)
    assert site.qos[0].max == {"cores": 1000, "gpus": 16, "nodes": 10, "memory_mib": 3 * 2**20, "a100": 8, "matlab": 5}
    first, second = site.reservations
    assert first.end - first.start == timedelta(hours=3)  # type: ignore[operator]
    assert (second.start, second.end) == (30 * 86400.0, 30.5 * 86400.0)
    assert site.slurm["prioritydecayhalflife"] == 14 * 86400.0
    assert parse_site(site_text(site), "site.toml") == site


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("count = 100\n", "", "line 3, nodes 'cpu': has no count; must have one: number of its nodes"),
        ("count = 100", "count = 0", "line 3, nodes 'cpu', count: found 0; must be a whole number of 1 or more"),
        ("cores = 128", "core = 128", "line 3, nodes 'cpu', core: found 'core'; must be one of name, count, cores"),
        ('"512 GiB"', '"512 G"', "memory: found '512 G'; must be a size of 1 MiB or more with its unit"),
        ('name = "gpu"\ncount', 'name = "cpu"\ncount', "line 11, nodes 'cpu', name: found 'cpu' again; each name"),
        ('nodes = "gpu"', 'nodes = "gpus"', "partition 'gpu', nodes: found 'gpus'; must be one of cpu, gpu; did you"),
        ('nodes = "gpu"', "nodes = []", "partition 'gpu', nodes: found []; must be names in quotes, one at least"),
        ("default = true", "", "partition: none of batch, gpu has default = true"),
        ("tier = 10", "default = true", "line 29, partition 'gpu', default: found true, as of 'batch'"),
        ('default_time = "1 h"', 'default_time = "3 d"', "default_time: found 3 d; must not be above max_time, 2 d"),
        ("min_nodes = 1", "min_nodes = 65", "min_nodes: found 65; must not be above max_nodes, 64: no job could start"),
        ("max_nodes = 64\n", "", None),
        ("min_nodes = 1\nmax_nodes = 64\n", "min_nodes = 109\n", "the partition has 108 nodes: no job could start"),
        ('qos = "normal"', 'qos = "norml"', "partition 'gpu', qos: found 'norml'; must be one of normal, scavenger"),
        ('accounts = ["physics"]', 'accounts = ["bio"]', "partition 'gpu', accounts: found 'bio'; must be one of root"),
        ("max_jobs = 100", "max_jobs = 0", "max_jobs: found 0; must be a whole number of 1 or more; it would"),
        ("{cores = 1000,", "{cores = 0,", "cores must be a whole number of 1 or more; it would keep every job"),
        ('accounts = ["physics"]', 'accounts = ["physics"]\ndenied_accounts = ["optics"]', "leave one of the two out"),
        ('qos = "normal"', 'qos = "normal"\nmin_nodes = 11', "by the QOS 'normal': no job could start; lower"),
        ('account = "optics"', 'account = "optic"', "account: found 'optic'; must be one of root, physics"),
        ("max_jobs = 3", "max = {v100 = 3}", "user 'bob', max: found 'v100'; must be one of cores, nodes, gpus"),
        ('users = ["anna"]', 'users = ["anna", "-bob"]', "found anna, -bob; names have a minus before them all"),
        ('max_time = "1 d"', 'max_time = "0 s"', "above 0, for example \"2 h\"; it would keep every job from starting"),
        ("a100 = 8, matlab", "v100 = 8, matlab", "qos 'normal', max: found 'v100'; must be one of cores, nodes, gpus"),
        ('["scavenger"]', '["normal"]', "preempts: found normal preempts normal; jobs may not give way"),
        ('["scavenger"]', '["other"]', "qos 'normal', preempts: found 'other'; must be one of normal, scavenger"),
        ('parent = "physics"', 'parent = "phys"', "parent: found 'phys', which is no account; must be one of root"),
        ("shares = 10", 'parent = "optics"', "must be a tree that ends at 'root'; give one of them another parent"),
        ('name = "optics"', 'name = "root"', "account 'root', parent: found 'physics'; 'root' is a part of nothing"),
        ("{cpu = 4}", "{cpu = 400}", "reservation 'course', nodes: found 400 of 'cpu'; there are 100; reserve fewer"),
        ("{cpu = 4}", "{cp = 4}", "reservation 'course', nodes: found 'cp'; must be one of cpu, gpu"),
        ("T12:00", "T08:00", "end: found 2026-03-01 08:00:00; must be after its start, 2026-03-01 09:00:00"),
        ("T12:00", "T12:00Z", "start and end must be written in the same way"),
        ('"30 d"', '"soon"', "start: found 'soon'; must be a date with its time"),
        ("bf_window", "bf_windw", "slurm.bf_windw: found 'bf_windw'; must be one of"),
        ("4320", '"1 d"', "slurm.bf_window: found '1 d'; must be a whole number of 0 or more"),
        ("{nvme = 2}", "{cores = 2}", "other: found 'cores', which is what every site limits already"),
        ('name = "matlab"', 'name = "nvme"', "licence 'nvme', name: found 'nvme', which is another thing of nodes"),
        ("weight = 20", 'weight = 20\nidle_power = "90 W"', "'cpu', idle_power: has no idle_power and no core_power"),
        ("weight = 20", 'weight = 20\nidle_power = "90 W"', "'gpu', core_power: has no core_power and no gpu_power"),
        ("cores = 128", 'cores = 128\ngpu_power = "90 W"', "found a power of GPUs, and nodes without one"),
        ("cores = 128", "cores = 128\nidle_power = 90", 'a power of 0 or more with its unit, for example "250 W"'),
        ('name = "alder"', "", "name: is missing; must be a name in quotes"),
        ('name = "alder"', 'name = "alder"\nnode = 3', "node: found 'node'; must be one of name, nodes, partition"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(before: str, after: str, told: str | None) -> None:
    assert SITE.count(before) >= 1
    text = SITE.replace(before, after, 1)
    if told is None:
        parse_site(text, "site.toml")
        return
    with pytest.raises(InputError) as error:
        parse_site(text, "site.toml")
    assert told in str(error.value)


def test_all_problems_are_told_at_once_and_a_wrong_table_is_still_known_by_its_name() -> None:
    text = SITE.replace("count = 100", "count = 0").replace("count = 20", "count = 0").replace("{cpu = 4}", "{cpu = 0}")
    with pytest.raises(InputError) as error:
        parse_site(text, "site.toml")
    places = [problem.where for problem in error.value.problems]
    assert places == [
        "site.toml: line 3, nodes 'cpu', count",
        "site.toml: line 38, licence 'matlab', count",
        "site.toml: line 70, reservation 'course', nodes",
    ]


def test_a_site_without_nodes_or_of_something_else() -> None:
    for text, told in (
        ('name = "a"', "there are no nodes; a site has nodes; write one group at least"),
        ('name = "a"\nnodes = 3', "nodes: found no tables; must be [[nodes]]"),
        ('name = "a"\nslurm = 3', "slurm: found no table; must be [slurm]"),
        ("name =", "not valid TOML"),
    ):
        with pytest.raises(InputError) as error:
            parse_site(text, "site.toml")
        assert told in str(error.value)
