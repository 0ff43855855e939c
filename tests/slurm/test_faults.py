"""A real Slurm whose controller is ended and started again: questions wait for it, orders are done once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from joulewise.slurm.calls import Commands, Patience, SlurmError, ask, tell
from joulewise.slurm.orders import MOST_TOLD, release, update
from joulewise.slurm.queue import QueuedJob, ask_queue, queue_of_text
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm

N_JOBS = 300


def seen(commands: Commands, patience: Patience) -> dict[str, QueuedJob]:
    asked = ask_queue("all")
    return {job.key: job for job in queue_of_text(ask(commands, asked.command, patience), asked.mark)}


def end_controller(slurm: Slurm) -> None:
    """End it as a crash would."""
    (controller,) = (daemon for daemon in slurm.daemons if "slurmctld" in daemon.args)  # type: ignore[operator]
    controller.kill()
    controller.wait(10)
    slurm.daemons.remove(controller)


@pytest.mark.thorough("starts a Slurm twice")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_a_controller_that_is_gone_and_comes_back(tmp_path: Path) -> None:
    short, long = Patience(limit_s=2, tries=1), Patience(limit_s=10, tries=8, first_wait_s=0.5, growth=1.5)
    with running_slurm(tmp_path, 2, 4) as slurm:
        commands = Commands(slurm.environment)
        slurm.call(
            "sbatch", "--hold", "--output=/dev/null", f"--array=1-{N_JOBS}", "--time=5", "--mem=1", "--wrap=true"
        )
        slurm.call("scontrol", "update", "JobId=1_1", "Comment=kept")
        keys = sorted(seen(commands, short))
        assert len(keys) == N_JOBS
        time.sleep(6)  # it writes its state every five seconds
        end_controller(slurm)

        with pytest.raises(SlurmError) as silent:
            ask(commands, ask_queue().command, short)
        assert silent.value.is_silent, silent.value
        told = tell(commands, update(keys[0], limit_s=60), short)
        assert not told.is_certain, told

        back = threading.Timer(1.0, slurm.start, ["slurmctld", "-D", "-f", tmp_path / "slurm.conf"])
        back.start()
        jobs = seen(commands, long)
        back.join()
        assert sorted(jobs) == keys
        assert {job.held_by for job in jobs.values()} == {"the user"}

        orders = list(release(keys))
        assert len(orders) == -(-N_JOBS // MOST_TOLD)
        assert all(tell(commands, order, long).is_certain for order in orders)
        slurm.wait(lambda: all(job.state == "COMPLETED" for job in seen(commands, long).values()))
        assert all(job.restarts == 0 for job in seen(commands, long).values())
