"""Sites from the files of a Slurm: what is read, changed, guessed and lost, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from joulewise.errors import InputError
from joulewise.worlds.jobs.sites.hostlists import expanded
from joulewise.worlds.jobs.sites.import_site import import_site, imported_text, write_site
from joulewise.worlds.jobs.sites.imported import CHANGED, FATES, GUESSED, LOST, ImportedSite
from joulewise.worlds.jobs.sites.site import Account, Licence, NodeGroup, Partition, Qos, User
from joulewise.worlds.jobs.sites.site_file import parse_site, read_site
from tests.strategies.slurm import WHY_NOT, can_run, running_controller
from tests.strategies.small_sites import ACCOUNTS, CENTRE, GRES, NODE_LIST, NODES, QOS, SHOWN, WHOLE

MINIMAL = "ClusterName=x\nSelectType=select/cons_tres\n"


def imported(folder: Path, *texts: str, **beside: str) -> ImportedSite:
    """What is imported from texts, with others in files beside them."""
    for name, text in beside.items():
        (folder / f"{name}.conf").write_text(text)
    paths = [folder / f"slurm-{number}.conf" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_text(text)
    return import_site(paths)


def told(found: ImportedSite, fate: str) -> list[str]:
    return [f"{row.what}: {row.said}" for row in found.findings if row.fate == fate]


def refused(folder: Path, *texts: str, **beside: str) -> list[str]:
    with pytest.raises(InputError) as error:
        imported(folder, *texts, **beside)
    return list(map(str, error.value.problems))


def test_a_centre(tmp_path: Path) -> None:
    found = imported(tmp_path, CENTRE, nodes=NODES, gres=GRES)
    site = found.site
    assert site.name == "larch"
    assert site.nodes == (
        NodeGroup(
            name="gpu-a100", count=8, cores=64, memory_mib=512_000, gpus={"a100": 4}, other={"nvme": 2}, weight=100
        ),
        NodeGroup(name="gpu-v100", count=4, cores=44, memory_mib=383_000, gpus={"v100": 2}),
        NodeGroup(name="node-250g", count=18, cores=64, memory_mib=256_000, features=("zen3", "ib")),
        NodeGroup(
            name="node-1000g", count=2, cores=64, memory_mib=1_024_000, features=("zen3", "ib", "fat"), weight=50
        ),
    )  # fmt: skip
    cpus, fat, gpus = ("node-250g", "node-1000g"), ("node-1000g",), ("gpu-a100", "gpu-v100")
    usual: dict[str, Any] = {"max_time_s": 172_800.0, "default_time_s": 3600.0}
    assert site.partitions == (
        Partition(name="batch", nodes=cpus, default=True, tier=10, accounts=("physics", "bio"), **usual),
        Partition(name="gpu", nodes=gpus, qos="gpu", max_time_s=86_400.0, default_time_s=3600.0),
        Partition(
            name="fat", nodes=fat, max_nodes=2, min_nodes=2, sharing="exclusive", max_cores_per_node=30, **usual
        ),
        Partition(
            name="scavenge", nodes=(*gpus, *cpus), state="down", priority=7, preemption="cancel", grace_s=120.0,
            max_time_s=43_260.0, default_time_s=3600.0,
        ),
    )  # fmt: skip
    assert site.licences == (Licence(name="matlab", count=20), Licence(name="comsol", count=1))
    assert [qos.name for qos in site.qos] == ["gpu"]
    assert {name: site.slurm[name] for name in ("bf_window", "bf_continue", "overtimelimit", "prioritymaxage")} == {
        "bf_window": 4320,
        "bf_continue": True,
        "overtimelimit": 180.0,
        "prioritymaxage": 216_000.0,
    }


def test_nothing_is_lost_without_a_word(tmp_path: Path) -> None:
    found = imported(tmp_path, CENTRE, nodes=NODES, gres=GRES)
    assert [row.fate for row in found.findings] == sorted((row.fate for row in found.findings), key=FATES.index)
    for fate, words in (
        (CHANGED, "times with seconds of scavenge: rounded up to whole minutes"),
        (CHANGED, "CoreSpecCount or CpuSpecList of gpu[9-12]"),
        (CHANGED, "MemSpecLimit of gpu[9-12]"),
        (GUESSED, "quality of service of gpu: its limits are left open: sacctmgr show qos -P prints them"),
        (LOST, "TopologyPlugin=topology/tree: nodes are chosen without regard to switches"),
        (LOST, "State=FUTURE of new[1-2]: nodes that are not there yet are left out"),
        (LOST, "DefMemPerCPU of gpu: jobs that ask for no memory have none counted"),
        (LOST, "partitions without nodes of later: left out"),
        (LOST, "processors that are parts of a core of gpu[9-12]"),
        (LOST, "other keys of the configuration: SlurmctldHost"),
        (LOST, "other keys of SchedulerParameters: bf_yield_interval"),
        (LOST, "other keys of gres.conf: Cores"),
    ):
        assert any(row.startswith(words) for row in told(found, fate)), words


def test_the_file_is_the_site_with_notes(tmp_path: Path) -> None:
    found = imported(tmp_path, CENTRE, nodes=NODES, gres=GRES)
    write_site(found, tmp_path / "site.toml", ["slurm.conf"])
    text = (tmp_path / "site.toml").read_text()
    assert text == imported_text(found, ["slurm.conf"])
    assert read_site("site.toml", tmp_path) == found.site
    for line in (
        "# From slurm.conf by",
        "# node[001-018]",
        "# not modelled: TopologyPlugin",
        "# minutes that are planned",
    ):
        assert f"\n{line}" in f"\n{text}"


def test_whole_nodes(tmp_path: Path) -> None:
    found = imported(tmp_path, WHOLE)
    short, long = found.site.partitions
    assert (short.sharing, long.sharing, short.default, long.tier) == ("exclusive", "exclusive", True, 5)
    assert (short.max_time_s, long.max_time_s) == (1800.0, None)
    assert any(row.startswith("default partition: no partition has Default=YES") for row in told(found, GUESSED))
    assert any(row.startswith("SelectType=select/linear") for row in told(found, CHANGED))
    assert "OverSubscribe=FORCE of short: no processor is given to two jobs at once" in told(found, LOST)


def test_what_scontrol_shows(tmp_path: Path) -> None:
    found = imported(tmp_path, SHOWN)
    assert found.site.nodes == (NodeGroup(name="p", count=2, cores=4, memory_mib=8000, features=("new", "fast")),)
    assert found.site.partitions == (Partition(name="debug", nodes=("p",), default=True, max_time_s=3600.0),)
    assert any(row.startswith("nodes that are down or drained of p1: counted") for row in told(found, GUESSED))
    assert any(row.startswith("SelectType: is not said") for row in told(found, GUESSED))
    assert any(row.startswith("ExclusiveUser of debug: nodes are shared") for row in told(found, LOST))
    assert any(row.startswith("other keys of NodeName: Arch, CPUAlloc, CPULoad, OS") for row in told(found, LOST))
    asleep = imported(tmp_path, SHOWN.replace("IDLE+DRAIN", "IDLE+POWERED_DOWN"))
    assert not any(row.startswith("nodes that are down") for row in told(asleep, GUESSED))
    nodes = SHOWN[SHOWN.index("NodeName") :]
    alone = imported(tmp_path, nodes)
    assert alone.site.partitions == (Partition(name="debug", nodes=("p",)),)
    assert any(row.startswith("1 partition: only what nodes name is known") for row in told(alone, GUESSED))


def test_what_is_in_force_takes_the_place_of_what_was_asked_for(tmp_path: Path) -> None:
    conf = f"{MINIMAL}NodeName=p[1-2] CPUs=8\nPartitionName=debug Nodes=ALL MaxTime=60\nPartitionName=more Nodes=p1\n"
    both = imported(tmp_path, SHOWN, conf)
    assert [group.cores for group in both.site.nodes] == [4, 4]
    assert {partition.name: partition.default for partition in both.site.partitions} == {"debug": True, "more": False}


@pytest.mark.parametrize(
    ("line", "cores"),
    [
        ("CPUs=12", 12),
        ("Procs=12", 12),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=8", 32),
        ("CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1", 15),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1", 30),
        ("CPUs=16 CpuSpecList=0,2-3", 13),
        ("", 1),
    ],
)
def test_processors_of_a_node(line: str, cores: int, tmp_path: Path) -> None:
    site = imported(tmp_path, f"{MINIMAL}NodeName=a {line}\nPartitionName=p Nodes=a\n").site
    assert site.nodes[0].cores == cores


def test_memory_that_is_not_counted(tmp_path: Path) -> None:
    lines = "NodeName=a RealMemory=100\nPartitionName=p Nodes=a\n"
    found = imported(tmp_path, f"{MINIMAL}SelectTypeParameters=CR_Core\n{lines}")
    assert found.site.nodes[0].memory_mib is None
    assert "RealMemory: memory of nodes is left out: CR_CORE does not count it" in told(found, CHANGED)
    assert imported(tmp_path, f"{MINIMAL}{lines}").site.nodes[0].memory_mib == 100


def test_alike_nodes_in_other_partitions_are_other_groups(tmp_path: Path) -> None:
    text = f"{MINIMAL}NodeName=n[1-4] CPUs=2 Gres=tmp:no_consume:4G,nic:2\nPartitionName=a Nodes=n[1-4]\n"
    found = imported(tmp_path, text + "PartitionName=b Nodes=n2,n4 Default=YES\n")
    assert [(group.name, group.count, group.other) for group in found.site.nodes] == [
        ("n-a", 2, {"nic": 2}),
        ("n-a-b", 2, {"nic": 2}),
    ]
    assert found.notes == {("nodes", "n-a"): "n[1,3]", ("nodes", "n-a-b"): "n[2,4]"}
    assert [partition.nodes for partition in found.site.partitions] == [("n-a", "n-a-b"), ("n-a-b",)]
    assert any(row.startswith("no_consume in Gres of n[1-4]") for row in told(found, LOST))


def test_gpus_of_no_kind(tmp_path: Path) -> None:
    text = f"{MINIMAL}NodeName=n[1-2] Gres=gpu:2\nPartitionName=a Nodes=ALL\n"
    found = imported(tmp_path, text, gres="AutoDetect=nvml\n")
    assert found.site.nodes[0].gpus == {"gpu": 2}
    assert any(row.startswith("GPUs of n[1-2]: their kind is not said") for row in told(found, GUESSED))
    named = imported(tmp_path, text, gres="Name=gpu Type=l40 Count=2\n")
    assert named.site.nodes[0].gpus == {"l40": 2}


def test_a_setting_that_is_there_twice(tmp_path: Path) -> None:
    text = f"{MINIMAL}ClusterName=y\nNodeName=n\nPartitionName=a Nodes=n\n"
    found = imported(tmp_path, text)
    assert found.site.name == "y"
    assert "ClusterName: is there more than once: the last one counts" in told(found, CHANGED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NodeName=n[1-\nPartitionName=a Nodes=n1", "line 3, NodeName: found 'n[1-'; must be names such as"),
        ("NodeName=n[1-2] CPUs=x\nPartitionName=a Nodes=n1", "line 3, CPUs: found 'x'; must be a whole number"),
        ("NodeName=n1\nPartitionName=a Nodes=n[1-3]", "line 4, Nodes: found n[2-3], which no NodeName describes; must"),
        ("NodeName=n1\nNodeName=n1\nPartitionName=a Nodes=n1", "line 4, NodeName: 'n1' is there already: slurm-0.conf"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 MaxTime=soon", "line 4, MaxTime: found 'soon'; must be minutes, m:s"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 MaxTime=0", "line 4, MaxTime: found '0'; must be a time above 0"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 GraceTime=-1", "line 4, GraceTime: found '-1'; must be seconds, m:s"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 MaxNodes=0", "or UNLIMITED; it would keep every job from starting"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 State=ON", "line 4, State: found 'ON'; must be one of UP, DOWN, DRAIN"),
        ("NodeName=n1\nPartitionName=a Nodes=n1 MinNodes=2", "line 4, MinNodes: found 2; the partition has 1 node: no"),
        (
            "NodeName=n1\nPartitionName=a Nodes=n1 MaxTime=5\\\n DefaultTime=9",
            "line 4, DefaultTime: found 9 min; must not be above max_time, 5 min",
        ),
        ("NodeName=n1\nPartitionName=a Nodes=n1 what is this", "line 4: found 'what is this'; must be Key=Value"),
        ("NodeName=n1 Gres=gpu:a:b:c\nPartitionName=a Nodes=n1", "line 3, Gres: found 'gpu:a:b:c'; must be things"),
        (
            "SchedulerParameters=bf_window=x\nNodeName=n1\nPartitionName=a Nodes=n1",
            "line 3, bf_window: found 'x'; must",
        ),
        ("Licenses=a:b\nNodeName=n1\nPartitionName=a Nodes=n1", "line 3, Licenses: found 'b'; must be a whole number"),
        ("Include absent.conf", "line 3: absent.conf: there is no such file; copy it beside the file that includes it"),
        ("Include slurm-0.conf", "line 3: slurm-0.conf includes itself; take the line away"),
        ("PartitionName=a Nodes=ALL", "there are no nodes"),
    ],
)
def test_what_is_refused(text: str, said: str, tmp_path: Path) -> None:
    problems = refused(tmp_path, f"{MINIMAL}{text}\n")
    assert any(said in problem for problem in problems), problems


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    problems = refused(tmp_path, CENTRE.replace("bf_window=4320", "bf_window=x"), nodes=NODES.replace("=256000", "=y"))
    assert len(problems) == 2


def test_limits_and_accounts_of_the_database(tmp_path: Path) -> None:
    found = imported(tmp_path, CENTRE, QOS, ACCOUNTS, nodes=NODES, gres=GRES)
    assert found.site.qos == (
        Qos(
            name="normal", priority=10, preempts=("scavenger",), max_time_s=86_400.0, max_jobs_per_user=20,
            max_submitted_per_user=100, max_per_job={"cores": 512, "nodes": 8},
            max_per_user={"gpus": 4, "memory_mib": 1_572_864},
        ),
        Qos(name="gpu", priority=20, max={"a100": 16, "matlab": 5}, max_per_account={"gpus": 0}),
        Qos(name="scavenger", preemption="requeue", grace_s=300.0, max_submitted=50),
    )  # fmt: skip
    assert found.site.accounts == (
        Account(name="root", users={"root": 1}),
        Account(name="physics", shares=60, users={"anna": 10}),
        Account(name="optics", parent="physics", users={"bob": 2}, max_jobs=5),
        Account(name="geo", shares=40),
    )
    assert found.site.partitions[0].accounts == ("physics",)
    assert parse_site(imported_text(found, ["all"]), "site.toml") == found.site
    for fate, words in (
        (GUESSED, "MaxJobsPU=0 of gpu: which would keep every job from starting: left open"),
        (GUESSED, "cores=0 of scavenger: which would keep every job from starting"),
        (LOST, "UsageFactor of gpu, scavenger: what its jobs use counts once"),
        (LOST, "Flags of gpu"),
        (LOST, "GrpTRESMins of gpu"),
        (LOST, "limit on billing of normal: the site counts no such thing"),
        (LOST, "AllowAccounts of batch: accounts that are not there are left out"),
        (LOST, "Share=parent of optics"),
        (LOST, "other keys of sacctmgr show assoc: QOS, Def QOS"),
    ):
        assert any(row.startswith(words) for row in told(found, fate)), (words, told(found, fate))


LIMITED = """\
Cluster|Account|User|Partition|Share|GrpJobs|GrpTRES|GrpSubmit|MaxJobs|MaxTRES|MaxSubmit|MaxWall|GrpTRESMins
larch|root|||1||cpu=1000||||||
larch| physics|||60|50|gres/gpu=8|200|4|cpu=64|20|1-00:00:00|cpu=9
larch|  physics|anna||10||||2|cpu=64|20|1-00:00:00|
larch|  physics|bob||10||||4|cpu=64|20|1-00:00:00|
larch|  physics|bob|gpu|10||||1||||
"""


def test_a_problem_of_a_user_is_told_where_its_account_is(tmp_path: Path) -> None:
    table = LIMITED.replace("|  physics|bob||", "|  absent|anna||")
    lines = table.splitlines()
    swapped = "\n".join([*lines[:3], lines[4], lines[3], *lines[5:], ""])
    found = [refused(tmp_path, CENTRE, QOS, text, nodes=NODES, gres=GRES) for text in (table, swapped)]
    assert [["line 5" in one for one in found[0]], ["line 4" in one for one in found[1]]] == [[True], [True]], found


def test_limits_of_associations(tmp_path: Path) -> None:
    flags = QOS.replace("cluster|DenyOnLimit|", "cluster|DenyOnLimit,OverPartQOS|")
    found = imported(tmp_path, CENTRE, flags, LIMITED, nodes=NODES, gres=GRES)
    assert found.site.accounts == (
        Account(name="root", max={"cores": 1000}),
        Account(
            name="physics", shares=60, users={"anna": 10, "bob": 10}, max_jobs=50, max={"gpus": 8}, max_submitted=200,
            max_jobs_per_user=4, max_per_job={"cores": 64}, max_submitted_per_user=20, max_time_s=86_400.0,
        ),
    )  # fmt: skip
    assert found.site.users == (User(name="anna", account="physics", max_jobs=2),), "bob has what his account gives"
    assert [qos.over_partition for qos in found.site.qos] == [False, True, False]
    assert any(row.startswith("Partition of associations of bob") for row in told(found, LOST))
    assert any(row.startswith("GrpTRESMins of associations of physics") for row in told(found, LOST))
    assert parse_site(imported_text(found, ["all"]), "site.toml") == found.site


def test_who_may_not_use_a_partition(tmp_path: Path) -> None:
    denied = CENTRE.replace("PartitionName=gpu ", "PartitionName=gpu DenyAccounts=geo,gone DenyQos=scavenger ")
    assert denied != CENTRE
    found = imported(tmp_path, denied, QOS, ACCOUNTS, nodes=NODES, gres=GRES)
    (gpu,) = (each for each in found.site.partitions if each.name == "gpu")
    assert (gpu.denied_accounts, gpu.denied_qos) == (("geo",), ("scavenger",))
    assert "DenyAccounts of gpu: accounts that are not there are left out" in told(found, LOST)
    both = denied.replace("DenyAccounts=", "AllowAccounts=physics DenyAccounts=")
    found = imported(tmp_path, both, QOS, ACCOUNTS, nodes=NODES, gres=GRES)
    assert "DenyAccounts of gpu: left out: AllowAccounts is what holds" in told(found, CHANGED)


def test_nobody_gives_way_where_nothing_says_how(tmp_path: Path) -> None:
    without = CENTRE.replace("PreemptType=preempt/partition_prio\n", "")
    found = imported(tmp_path, without, QOS, ACCOUNTS, nodes=NODES, gres=GRES)
    assert found.site.slurm["preempttype"] == "preempt/none"
    assert any(row.startswith("PreemptType: preempt/none") for row in told(found, GUESSED))


def test_accounts_of_which_parents_are_told_otherwise(tmp_path: Path) -> None:
    flat = "\n".join(line.replace("| ", "|").replace("| ", "|").replace("| ", "|") for line in ACCOUNTS.splitlines())
    found = imported(tmp_path, CENTRE, flat, nodes=NODES)
    assert {account.parent for account in found.site.accounts} == {None}
    assert any(row.startswith("accounts: parents are not told") for row in told(found, GUESSED))
    head, *rows = flat.splitlines()
    parents = {"optics": "physics", "physics": "root", "geo": "root"}
    named = [f"{row}|{parents.get(row.split('|')[1], '')}" for row in rows if not row.split("|")[2]]
    found = imported(
        tmp_path, CENTRE, "\n".join([f"{head}|ParentName", *named, f"{rows[0]}|".replace("larch", "elm")]), nodes=NODES
    )
    assert [account.parent for account in found.site.accounts] == [None, "physics", None]
    assert "accounts of elm: only those of larch are taken" in told(found, LOST)


def test_what_is_refused_of_the_database(tmp_path: Path) -> None:
    for text, said in (
        (
            QOS.replace("scavenger||cluster", "other||cluster"),
            "line 2, Preempt: found 'other'; must be one of normal, gpu",
        ),
        (QOS.replace("cpu=512", "cpu"), "line 2, MaxTRES: found 'cpu,node=8,billing=9'; must be things with numbers"),
        (QOS + "normal|1\n", "line 5: found 2 cells, where the first line names 19; must have as many; print it again"),
        (ACCOUNTS.replace("|60|", "|x|"), "line 4, Share: found 'x'; must be a whole number"),
    ):
        problems = refused(tmp_path, CENTRE, text, nodes=NODES)
        assert any(said in problem for problem in problems), problems


def test_a_list_of_nodes(tmp_path: Path) -> None:
    found = imported(tmp_path, NODE_LIST)
    assert [(group.name, group.count, group.cores, group.memory_mib, group.gpus) for group in found.site.nodes] == [
        ("cpu", 2, 32, 262_144, {}),
        ("G2-384g", 1, 96, 393_216, {"G2": 8}),
        ("G2-768g", 1, 96, 786_432, {"G2": 8}),
        ("gpu", 1, 8, 30_517, {"gpu": 1}),
    ]
    assert parse_site(imported_text(found, ["list"]), "site.toml") == found.site
    assert told(found, CHANGED) == ["cpu_milli: rounded down to whole processors"]
    for text, said in (
        (NODE_LIST.replace("32000", "x", 1), "line 2, cpu_milli: found 'x'; must be a whole number of 0 or more"),
        (NODE_LIST.replace("0001", "0000"), "line 3, sn: found 'openb-node-0000' again; each node may have one line"),
        (NODE_LIST + "a,b\n", "line 7: found 2 cells; must be sn,cpu_milli"),
        (NODE_LIST.partition("\n")[0] + "\n", "there are no nodes"),
    ):
        assert any(said in problem for problem in refused(tmp_path, text))
    assert "it is a site for itself; import it alone" in refused(tmp_path, NODE_LIST, WHOLE)[0]


def test_a_gres_conf_is_known_as_such_also_where_it_names_nodes(tmp_path: Path) -> None:
    conf = MINIMAL + "GresTypes=gpu\nNodeName=n[1-2] CPUs=4 Gres=gpu:a100:2\nPartitionName=all Nodes=ALL\n"
    gres = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\nNodeName=n2 AutoDetect=nvml\n"
    (group,) = imported(tmp_path, conf, gres).site.nodes
    assert (group.count, group.gpus) == (2, {"a100": 2})


def test_files_of_something_else(tmp_path: Path) -> None:
    assert refused(tmp_path, "# notes\n") == [
        "slurm-0.conf: is in no form that is known; must be one of scontrol show, slurm.conf, gres.conf, sacctmgr show "
        "qos -P, sacctmgr show assoc -P, a list of nodes (sn,cpu_milli,memory_mib,gpu,model)"
    ]
    (tmp_path / "latin.conf").write_bytes(b"ClusterName=x\nNodeName=\xe9\n")
    for name, said in (("absent", "there is no such file"), ("latin.conf", "latin.conf: line 2: is not UTF-8 text")):
        with pytest.raises(InputError, match=said):
            import_site([tmp_path / name])


@pytest.mark.thorough("starts a Slurm")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_a_real_slurm_has_understood_the_same(tmp_path: Path) -> None:
    """Its own settings, and what it shows of them, are the same site."""
    settings = CENTRE.replace("Include nodes.conf\n", _with_ports(NODES))
    for elsewhere in (
        "SlurmctldHost=ctl1\n",
        "TopologyPlugin=topology/tree\n",
        "PartitionName=later Nodes=new[1-2]\n",
        "AccountingStorageTRES=gres/gpu\n",
        ",GRES/gpu=3000",
        " QOS=gpu",
        "FAIR_TREE,",  # this Slurm knows it as what is usual, and does not print it
    ):
        assert elsewhere in settings
        settings = settings.replace(elsewhere, "")
    with running_controller(tmp_path, settings) as slurm:
        for what in ("config", "node", "partition"):
            (tmp_path / what).write_text(slurm.call("scontrol", "show", what))
    asked = import_site([tmp_path / "slurm.conf"]).site
    shown = import_site([tmp_path / what for what in ("config", "node", "partition")]).site
    assert (asked.name, asked.nodes, asked.partitions, asked.licences) == (
        shown.name, shown.nodes, shown.partitions, shown.licences,
    )  # fmt: skip
    assert {name: shown.slurm.get(name) for name in asked.slurm} == asked.slurm


def _with_ports(text: str) -> str:
    """Lines of nodes with an address for each, without those that are not there."""
    lines, port = [], 18_000
    for line in text.replace("\\\n", "").replace("(S:0-1)", "").splitlines():
        if "FUTURE" not in line:
            n = 0 if "DEFAULT" in line else len(expanded(line.split()[0].partition("=")[2]))
            lines.append(f"{line} NodeAddr=127.0.0.1 Port=[{port}-{port + n - 1}]" if n else line)
            port += n
    return "".join(f"{line}\n" for line in lines)


def test_the_page_shows_what_is_imported(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "how-to" / "sites.md").read_text(encoding="utf-8")
    (conf,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    site = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0]
    assert imported(tmp_path, conf).site == parse_site(site, "site.toml")
