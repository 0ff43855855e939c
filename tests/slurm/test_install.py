"""What is installed beside Slurm: the script that holds jobs, on a real one, and the way back."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.slurm.calls import Commands, Patience, ask, tell
from joulewise.slurm.install.written import FILES, LUA, RELEASE, Installation, written
from joulewise.slurm.orders import hold, release, update
from joulewise.slurm.queue import MARK, MARK_USER, QueuedJob, ask_queue, queue_of_text
from joulewise.slurm.state import beat
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm

PATIENCE = Patience(limit_s=20)
NOBODY = 65534


# --- texts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_everything_is_filled_in(name: str) -> None:
    text = written(name, Installation(("cpu", "gpu")))
    assert "@{" not in text


def test_what_a_site_says_stands_in_the_script() -> None:
    site = Installation(("cpu",), users=("ann",), accounts=("a.b",), qos=("gold",), operators=(5,), folder="/x")
    text = written(LUA, site)
    for line in ('MANAGED = {["cpu"] = true}', 'USERS = {["ann"] = true}', 'ACCOUNTS = {["a.b"] = true}',
                 'QOS = {["gold"] = true}', "OPERATORS = {[0] = true, [5] = true}", 'HEARTBEAT = "/x/heartbeat"',
                 "PATIENCE_S = 600"):  # fmt: skip
        assert line in text
    assert f'MARK = "{MARK}"' in text
    assert f'MARK_USER = "{MARK_USER}"' in text
    assert f'"{MARK_USER}"*)' in written(RELEASE, site)


def test_all_that_does_not_belong_into_a_script_is_refused_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Installation(
            (), users=('x"] = true}; os.execute("reboot") --',), accounts=("a b",), operators=(-1,), folder="/x y",
            program="$(reboot)", user="a;b", patience_s=0,
        )  # fmt: skip
    places = {problem.where for problem in caught.value.problems}
    assert places == {"partitions", "users", "accounts", "operators", "folder", "program", "user", "patience"}


def test_no_other_file_is_written() -> None:
    with pytest.raises(InputError, match="is no file that is installed"):
        written("../x", Installation(("cpu",)))


# --- the script that releases, with commands that only note what they are told ---------------------------------

_SQUEUE = """#!/bin/sh
cat <<'END'
1|JobHeldUser|joulewise|
2|JobHeldUser|joulewise: held by its user|
3|JobHeldUser|(null)|
4|JobHeldAdmin|joulewise|
5_7|JobHeldUser|joulewise: waits for power|
6+1|JobHeldUser|joulewise|
7;reboot|JobHeldUser|joulewise|
8|Priority|joulewise|
END
"""
_SCONTROL = '#!/bin/sh\necho "$@" >> "$0.told"\n'


def released(folder: Path, heartbeat: str | None, *options: str) -> list[str]:
    """What the script tells scontrol."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    script = folder / RELEASE
    site = Installation(("cpu",), folder=str(folder), commands=str(commands))
    told = commands / "scontrol.told"
    told.unlink(missing_ok=True)
    for path, text in (
        (commands / "squeue", _SQUEUE),
        (commands / "scontrol", _SCONTROL),
        (script, written(RELEASE, site)),
    ):
        path.write_text(text)
        path.chmod(0o755)
    (folder / "heartbeat").unlink(missing_ok=True)
    if heartbeat is not None:
        (folder / "heartbeat").write_text(heartbeat)
    done = subprocess.run([script, *options], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")
    return told.read_text().splitlines() if told.exists() else []


OURS = ["release 1", "release 5_7", "release 6"]


@pytest.mark.parametrize("heartbeat", [None, "", "x", "0", "08", "$(reboot)", "1000000000", "99999999999", "-5"])
def test_what_we_hold_is_released_when_we_are_not_seen(tmp_path: Path, heartbeat: str | None) -> None:
    assert released(tmp_path, heartbeat) == OURS


def test_nothing_is_released_while_we_are_seen_but_by_hand(tmp_path: Path) -> None:
    assert released(tmp_path, f"{time.time():.0f}\n") == []
    assert released(tmp_path, f"{time.time() - 500:.0f}") == []
    assert released(tmp_path, f"{time.time() - 700:.0f}") == OURS
    assert released(tmp_path, f"{time.time():.0f}\n", "--all") == OURS


# --- on a real Slurm ----------------------------------------------------------------------------------------


@dataclass
class Site:
    """A Slurm with the script in it."""

    slurm: Slurm
    folder: Path

    def seen(self) -> dict[str, QueuedJob]:
        asked = ask_queue()
        text = ask(Commands(self.slurm.environment), asked.command, PATIENCE)
        return {job.key: job for job in queue_of_text(text, asked.mark)}

    def beat(self, now_s: float | None = None) -> None:
        beat(self.folder, time.time() if now_s is None else now_s)
        (self.folder / "heartbeat").chmod(0o644)

    def submit(self, *options: str, user: int = 0) -> QueuedJob:
        words = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--time=5", "--mem=1", *options)
        number = self.call(user, *words, "--wrap=sleep 60").strip()
        return next(job for job in self.seen().values() if number in (str(job.job), job.array, job.part_of))

    def call(self, user: int, *words: str) -> str:
        """What a command of a user prints, complaints too."""
        done = subprocess.run(
            words, env=self.slurm.environment, user=user, capture_output=True, text=True, timeout=20, cwd="/"
        )
        return done.stdout + done.stderr

    def told(self, *orders: object) -> None:
        for order in orders:
            told = tell(Commands(self.slurm.environment), order, PATIENCE)  # type: ignore[arg-type]
            assert told.problem is None, told.problem


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    for place in (folder, *folder.parents):
        if place.owner() == "root" and place != Path("/") and place != Path("/tmp"):
            place.chmod(0o755)  # another user must find the configuration
    given = Installation(("held", "both"), users=("daemon",), accounts=("free",), folder=str(folder), grace_s=10)
    (folder / LUA).write_text(written(LUA, given))
    settings = "\n".join((
        "JobSubmitPlugins=lua", "PartitionName=held Nodes=n1 Default=YES", "PartitionName=open Nodes=n2",
        "PartitionName=both Nodes=ALL",
    ))  # fmt: skip
    with running_slurm(folder, 2, 4, settings) as slurm:
        yield Site(slurm, folder)


@pytest.mark.thorough("starts a Slurm")
@pytest.mark.skipif(not can_run() or shutil.which("setpriv") is None, reason=WHY_NOT)
def test_the_script_on_a_real_slurm(tmp_path: Path) -> None:
    with site(tmp_path) as there:
        without_us(there)
        held_at_submission(there)
        what_users_may_do(there)
        what_we_do(there)
        after_us(there)


def without_us(there: Site) -> None:
    """Nobody is held before Joulewise was seen, nor after a jump of the clock."""
    assert there.submit().held_by is None
    for heartbeat in ("", "x", "nan", "1e999"):
        (there.folder / "heartbeat").write_text(heartbeat)
        assert there.submit("--hold").admin_comment is None
    there.beat(time.time() + 10_000)
    assert there.submit().held_by is None


def held_at_submission(there: Site) -> None:
    there.beat()
    for options in ((), ("-pheld",), ("-popen,both",), ("--array=0-2%2",), ("-pheld", ":", "-popen")):
        job = there.submit(*options)
        assert (job.held_by, job.admin_comment) == ("Joulewise", MARK), options
    assert there.submit("-popen").held_by is None
    assert there.submit("--hold").admin_comment == MARK_USER
    assert there.submit("--account=free").held_by is None
    assert there.submit(user=1).held_by is None  # daemon, who is protected
    assert there.submit(user=NOBODY).held_by == "Joulewise"


def what_users_may_do(there: Site) -> None:
    there.beat()
    ours, theirs, other = there.submit(user=NOBODY), there.submit("--hold", user=NOBODY), there.submit("-popen", "-c4")
    waiting = there.submit("-popen", "-c4", user=NOBODY)
    for verb in ("release", "hold", "uhold"):
        there.call(NOBODY, "scontrol", verb, ours.key)
        assert there.seen()[ours.key].held_by == "Joulewise"
    there.call(NOBODY, "scontrol", "update", f"JobId={ours.key}", "TimeLimit=4", "Partition=both")
    assert (there.seen()[ours.key].limit_s, there.seen()[ours.key].partition) == (240.0, "both")
    assert there.seen()[theirs.key].held_by == "the user"
    there.call(NOBODY, "scontrol", "release", theirs.key)
    there.call(NOBODY, "scontrol", "update", f"JobId={waiting.key}", "Partition=held")
    for job in (theirs, waiting):  # they wait, so that we can take them over before they start
        eligible_at_s = there.seen()[job.key].eligible_at_s
        assert eligible_at_s is not None
        assert 5 < eligible_at_s - time.time() <= 11
        assert there.seen()[job.key].held_by is None
    assert there.seen()[other.key].partition == "open"


def what_we_do(there: Site) -> None:
    there.beat()
    job = there.submit("--hold", user=NOBODY)
    there.call(NOBODY, "scontrol", "release", job.key)
    there.told(*hold([job.key]), update(job.key, admin_comment=f"{MARK}: waits for power"))
    assert there.seen()[job.key].held_by == "Joulewise"
    there.call(0, "scontrol", "hold", job.key)
    assert there.seen()[job.key].held_by == "an administrator"
    there.told(*release([job.key]))
    assert there.seen()[job.key].held_by is None
    there.call(0, "scancel", "--user=root")
    there.call(0, "scancel", "--user=nobody")
    there.call(0, "scancel", "--user=daemon")


def after_us(there: Site) -> None:
    """When we are not seen any more, what we hold is released, and users do as they like."""
    there.beat()
    ours, array, theirs = there.submit(), there.submit("--array=0-1"), there.submit("--hold")
    script = there.folder / RELEASE
    commands = str(Path(str(shutil.which("squeue"))).parent)
    script.write_text(written(RELEASE, Installation(("held",), folder=str(there.folder), commands=commands)))
    environment = {**there.slurm.environment, "PATH": os.environ["PATH"]}
    subprocess.run(["sh", script], env=environment, check=True, timeout=20)
    assert there.seen()[ours.key].held_by == "Joulewise"
    there.beat(time.time() - 700)
    subprocess.run(["sh", script], env=environment, check=True, timeout=20)
    assert {there.seen()[f"{array.array}_{task}"].held_by for task in (0, 1)} == {None}
    assert there.seen()[ours.key].held_by is None
    assert there.seen()[theirs.key].held_by == "the user"
    assert there.submit().held_by is None
