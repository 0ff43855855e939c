"""A plan on a real Slurm: what the simulator says on the same inputs, nothing changed, and room where it says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.slurm.calls import Commands, Patience, tell
from joulewise.slurm.live import live_world
from joulewise.slurm.orders import release, update
from joulewise.slurm.plan import plan_of
from joulewise.slurm.policy import read_policy
from joulewise.slurm.queue import QueuedJob, ask_queue, queue_of_text
from joulewise.slurm.snapshot import snapshot_of
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm

PATIENCE = Patience(limit_s=20)
PARTITIONS = (
    "PartitionName=slow Nodes=n[1-4] Default=YES MaxTime=INFINITE DefaultTime=10 State=UP\n"
    "PartitionName=fast Nodes=n[5-8] MaxTime=INFINITE State=UP"
)
POLICY = """
[slurm]
partitions = ["slow", "fast"]

[scheduler]
policy = "max-upe"

[supply]
power_cap = "1.6 kW"

[[power]]
nodes = "n[1-4]"
idle_power = "100 W"
core_power = "10 W"

[[power]]
feature = "quick"
idle_power = "200 W"
core_power = "40 W"
"""


def submit(slurm: Slurm, *words: str, held: bool = True) -> str:
    hold = ("--hold",) if held else ()
    return slurm.call(
        "sbatch", "--parsable", "--output=/dev/null", "--mem=1", *hold, *words, "--wrap=sleep 300"
    ).strip()  # fmt: skip


def seen(commands: Commands) -> list[QueuedJob]:
    asked = ask_queue()
    return queue_of_text(commands.run(asked.command, 20), asked.mark)


@pytest.mark.thorough("starts a Slurm of 8 nodes")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_a_plan_on_a_real_slurm(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    policy = read_policy(file)
    (tmp_path / "slurm").mkdir()
    with running_slurm(tmp_path / "slurm", 8, 4, PARTITIONS) as slurm:
        commands = Commands(slurm.environment)
        slurm.call("scontrol", "update", "NodeName=n[5-8]", "AvailableFeatures=quick", "ActiveFeatures=quick")
        slurm.call("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test")
        running = [
            submit(slurm, "--time=20", f"--partition={name}", "-n3", "-N1", held=False) for name in ("slow", "fast")
        ]
        slurm.wait(lambda: len(slurm.jobs("RUNNING")) == len(running))
        held = [
            submit(slurm, f"--partition={('slow', 'fast')[n % 2]}", f"-n{1 + n % 4}", "-N1", f"--time={5 + n}")
            for n in range(24)
        ]
        held.append(submit(slurm, "--partition=fast", "-n8", "-N2", "--time=5"))
        held.append(submit(slurm, '--comment={"max_utility": 1e9}', "-n1"))
        for key in held:
            slurm.call("scontrol", "update", f"JobId={key}", "AdminComment=joulewise")
        theirs = submit(slurm, "-n1")

        before = seen(commands)
        snapshot = snapshot_of(commands, PATIENCE)
        plan = plan_of(snapshot, policy)
        assert seen(commands) == before

        live = live_world(snapshot, policy)
        assert live.world is not None
        assert live.world.opening is not None
        start_s = simulate_jobs(live.world, policy.scheduler).allocation.start_s
        expected = {live.jobs[i].key for i in live.waits if start_s[i] == live.world.opening.at_s}
        assert {row.job for row in plan.releases} == expected
        assert expected | {row.job for row in plan.waiting} == set(held)
        assert not plan.left
        assert set(plan.refused) == {held[-1]}
        assert plan.aside == {"held by the user": 1}
        assert all("n4" not in row.nodes for row in plan.releases)
        assert plan.totals.power_after_w is not None
        assert plan.totals.power_after_w <= 1600
        assert theirs in {job.key for job in before}

        done = subprocess.run(
            [sys.executable, "-m", "joulewise", "slurm", "plan", str(file), "--json"],
            env=dict(slurm.environment), capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        assert {row["job"] for row in json.loads(done.stdout)["releases"]} == expected
        assert seen(commands) == before

        for row in plan.releases:  # all that would be released has room where the plan says
            assert tell(commands, update(row.job, nodes=row.nodes), PATIENCE).problem is None
            assert all(tell(commands, order, PATIENCE).problem is None for order in release([row.job]))
        slurm.wait(lambda: set(slurm.jobs("RUNNING")) == expected | set(running))
        on = {job.key: job.on_nodes for job in seen(commands)}
        assert all(on[row.job] == ",".join(row.nodes) for row in plan.releases if len(row.nodes) == 1)
