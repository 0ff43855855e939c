"""The Slurm in memory against the real one: the same jobs, orders and questions, the same answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from joulewise.slurm.calls import Caller, Commands, Patience, SlurmError, ask, tell
from joulewise.slurm.nodes import NodeNow, ask_nodes, nodes_of_text
from joulewise.slurm.orders import hold, release, requeue_hold, update
from joulewise.slurm.queue import QueuedJob, ask_queue, queue_of_text
from joulewise.slurm.versions import version_of
from joulewise.worlds.jobs.sites.import_site import import_site
from tests.strategies.fake_slurm import FakeNode, FakeSlurm
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm

PATIENCE = Patience(limit_s=20)


def fake() -> FakeSlurm:
    nodes = {name: FakeNode(name, 4) for name in ("n1", "n2")}
    return FakeSlurm(nodes, {"all": ["n1", "n2"], "one": ["n1"]})


def seen(caller: Caller, states: str = "") -> dict[str, QueuedJob]:
    asked = ask_queue(states)
    return {job.key: job for job in queue_of_text(ask(caller, asked.command, PATIENCE), asked.mark)}


def stated(caller: Caller) -> dict[str, NodeNow]:
    asked = ask_nodes()
    return nodes_of_text(ask(caller, asked.command, PATIENCE), asked.mark)


def brief(job: QueuedJob) -> tuple[object, ...]:
    """What the two must have in common."""
    is_held = job.priority == 0
    reason = job.reason if is_held else ""
    return (job.stage, reason, job.held_by, job.partition, job.on_nodes, job.wanted_nodes, job.limit_s, job.restarts,
            job.comment, job.admin_comment, job.cores, job.nodes, job.name)  # fmt: skip


# --- every day ----------------------------------------------------------------------------------------------


def test_jobs_start_by_priority_as_they_fit_and_end_in_time() -> None:
    slurm = fake()
    (first,), (second,), (third,) = (slurm.submit("one", cores=3, runs_s=60, limit_s=limit) for limit in (600, 30, 600))
    assert [seen(slurm)[key].stage for key in (first, second, third)] == ["runs", "waits", "waits"]
    slurm.pass_time(59)
    assert seen(slurm)[first].stage == "runs"
    slurm.pass_time(1)
    assert seen(slurm)[second].start_at_s == slurm.now_s
    slurm.pass_time(30)
    assert first not in seen(slurm)
    assert {key: job.state for key, job in seen(slurm, "all").items()} == {
        first: "COMPLETED",
        second: "TIMEOUT",
        third: "RUNNING",
    }


def test_held_jobs_run_when_they_are_released() -> None:
    slurm = fake()
    keys = slurm.submit("all", tasks=3, is_held=True)
    assert {job.held_by for job in seen(slurm).values()} == {"the user"}
    for order in release(keys[:2]):
        assert tell(slurm, order, PATIENCE).is_certain
    assert [seen(slurm)[key].stage for key in keys] == ["runs", "runs", "waits"]


def test_orders_of_which_the_answer_is_lost_are_done_once() -> None:
    slurm = fake()
    keys = slurm.submit("all", is_held=True)
    slurm.loses_answers = 1
    (order,) = release(keys)
    assert not tell(slurm, order, PATIENCE).is_certain
    assert seen(slurm)[keys[0]].stage == "runs"
    assert slurm.told.count(order.words) == 1


def test_drained_nodes_get_nothing_and_silence_is_an_error() -> None:
    slurm = fake()
    for node in slurm.nodes.values():
        node.is_drained = True
    (key,) = slurm.submit("all")
    assert seen(slurm)[key].reason == "Resources"
    slurm.silent_for = 1
    with pytest.raises(SlurmError, match="did not answer"):
        slurm.run(("squeue",), 1)
    assert version_of(slurm.run(("scontrol", "--version"), 1)).may_act


def test_what_it_shows_is_a_site(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("config", "partition", "node")]
    for path in paths:
        path.write_text(fake().run(("scontrol", "show", path.name, "--oneliner"), 1))
    site = import_site(paths).site
    assert {partition.name for partition in site.partitions} == {"all", "one"}
    assert sum(group.count for group in site.nodes) == 2


# --- against the real one -----------------------------------------------------------------------------------


def submit_to(slurm: Slurm, *options: str) -> None:
    slurm.call("sbatch", "--output=/dev/null", "--job-name=job", "--mem=1", *options, "--wrap=sleep 60")


@pytest.mark.thorough("starts a Slurm")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_it_answers_and_obeys_as_a_real_slurm(tmp_path: Path) -> None:
    settings = "PartitionName=all Nodes=ALL Default=YES State=UP\nPartitionName=one Nodes=n1 State=UP"
    memory = fake()
    with running_slurm(tmp_path, 2, 4, settings) as real:
        commands = Commands(real.environment)

        def both(submitted: Callable[[], object], *options: str) -> None:
            submitted()
            submit_to(real, *options)
            agree()

        def told(*orders: object) -> None:
            for order in orders:
                answers = [tell(caller, order, PATIENCE) for caller in (memory, commands)]  # type: ignore[arg-type]
                assert len({(answer.problem is None, answer.is_certain) for answer in answers}) == 1, answers
            agree()

        def agree() -> None:
            """Slurm's scheduler needs its time; the one in memory none."""
            deadline = time.monotonic() + 20
            while True:
                expected, found = (
                    (stated(one), {key: brief(job) for key, job in seen(one).items()}) for one in (memory, commands)
                )
                if expected == found:
                    return
                assert time.monotonic() < deadline, (expected, found)
                time.sleep(0.2)

        both(lambda: memory.submit("all", is_held=True, limit_s=600, comment="a\nb"), "-H", "-t10", "--comment=a\nb")
        both(lambda: memory.submit("all", cores=4), "-c4", "-t10", "-pall")
        both(lambda: memory.submit("one", tasks=3, is_held=True), "-H", "-t10", "-pone", "--array=0-2")
        both(lambda: memory.submit("one", cores=4), "-c4", "-t10", "-pone")
        told(*release(["3_1"]))
        told(update("1", partitions=["all"], nodes=["n2"], limit_s=1200, admin_comment="joulewise: waits"))
        told(update("1", partitions=["nowhere"]))
        told(update("1", nodes=["n9"]))
        told(update("1", nodes=[]))
        told(*hold(["3_1"]))
        told(*release(["1", "3_0", "999"]))
        told(*requeue_hold(["2"]))
        told(*requeue_hold(["2"]))
        told(*release(["999"]))
        for key in seen(memory):
            memory.cancel(key)
        real.call("scancel", "--user=root")
        both(lambda: memory.submit("all", cores=8, n_nodes=2), "-N2", "-n2", "-c4", "-t10", "-pall")
        assert [job.on_nodes for job in seen(memory).values()] == ["n[1-2]"]
        real.call("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
        memory.nodes["n1"].is_drained = True
        agree()
        assert version_of(ask(commands, ("scontrol", "--version"), PATIENCE)).may_act
