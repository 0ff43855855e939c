"""Workers that are started through a queue: a real Slurm on this host, and what is told where there is none."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.study import Profile, Progress, Queued, read_profile, run_study
from joulewise.study.running.engines import queued
from joulewise.study.running.engines.profile import QUEUES, Kind
from tests.strategies.same import assert_same_records
from tests.strategies.slurm import WHY_NOT, Slurm, can_run, running_slurm
from tests.strategies.small import QUICKLY, small
from tests.test_project import ROOT

needs_slurm = pytest.mark.skipif(not can_run(), reason=WHY_NOT)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running_slurm(tmp_path_factory.mktemp("slurm"), 4) as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", found.environment["SLURM_CONF"])
        yield found


def profile_of(slurm: Slurm, more: str = "") -> Profile:
    """One that starts up to three workers on the Slurm."""
    path = slurm.folder / "profile.toml"
    path.write_text(f'memory = "1 GB"\nmax_jobs = 3\ninterface = "lo"\nlog_folder = "{slurm.folder}/log"\n{more}')
    return read_profile(path)


@needs_slurm
def test_a_job_that_the_queue_does_not_take_is_told(slurm: Slurm, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the queue does not take the job: .*[Ii]nvalid partition"):
        run_study(small(), tmp_path, engine=Queued(profile_of(slurm, 'queue = "none"\n')))
    assert slurm.jobs() == []


@pytest.mark.thorough("starts processes and takes seconds")
@needs_slurm
def test_jobs_that_end_before_a_worker_is_there_are_told(slurm: Slurm, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\d jobs ended before a worker of them could be reached"):
        run_study(small(), tmp_path, engine=Queued(profile_of(slurm, 'python = "/bin/false"\n')))
    assert slurm.jobs() == []


class Trouble:
    """Drains the node of one worker, and cancels the job of another, as soon as some runs are done."""

    def __init__(self, slurm: Slurm) -> None:
        self.slurm = slurm
        self.cancelled = ""

    def __call__(self, now: Progress) -> None:
        if self.cancelled or now.n_done < 4:
            return
        running = self.slurm.jobs("RUNNING")
        if len(running) > 1:
            drained, self.cancelled = running[0], running[1]
            node = self.slurm.node_of(drained)
            self.slurm.call("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
            self.slurm.call("scancel", self.cancelled)
            self.slurm.call("scancel", drained)


@needs_slurm
@pytest.mark.thorough("starts workers in jobs of a real Slurm")
def test_drained_nodes_and_cancelled_jobs_change_no_record(
    slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued, "_STAY_S", 1.0)
    many = small(lambda text: QUICKLY + text.replace("trials = 2", "trials = 60"))
    expected, trouble = run_study(many, tmp_path / "expected", 1), Trouble(slurm)
    results = run_study(many, tmp_path / "out", on_progress=trouble, engine=Queued(profile_of(slurm)))
    assert trouble.cancelled
    assert_same_records(results.folder, expected.folder)
    assert slurm.jobs() == []
    assert "drain" in slurm.call("sinfo", "-h", "-o", "%T")


def test_a_queue_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        InputError, match=r'kind = "lsf": found no command bsub; run the study where jobs are submitted'
    ):
        Queued(Profile(kind="lsf"))


SUBMITTED = {"slurm": "1", "pbs": "1.server", "lsf": "Job <1> is submitted", "sge": "Your job 1 has been submitted"}


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the commands of a queue, which are found before others."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for name in ("scancel", "qdel", "bkill"):
        add(folder / name, "true")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


def add(path: Path, code: str) -> None:
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("kind", QUEUES)
def test_every_queue_is_asked_once_for_all_jobs_whether_they_ended(
    kind: Kind, commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued, "_ASK_EVERY_S", math.inf)
    queue = QUEUES[kind]
    add(commands / queue.submit, f"echo '{SUBMITTED[kind]}'")
    add(commands / queue.lists[0], f"echo $* >> {tmp_path}/asked; echo JOBID USER; echo ' 12.server somebody'")
    profile = Profile(kind=kind, interface="lo", min_jobs=3, memory="1 GB")
    with pytest.raises(InputError, match="3 jobs ended before a worker of them could be reached"):
        run_study(small(), tmp_path / "out", engine=Queued(profile))
    assert len((tmp_path / "asked").read_text().splitlines()) == 1


@pytest.mark.thorough("starts processes and takes seconds")
def test_a_queue_that_does_not_say_which_jobs_there_are_is_asked_again(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued, "_ASK_EVERY_S", 0.0)
    monkeypatch.setattr(queued, "_ASK_S", 1.0)
    asked = tmp_path / "asked"
    add(commands / "qsub", "echo 1.server")
    add(commands / "qstat", f"echo >> {asked}\ncase $(wc -l < {asked}) in 1) exec sleep 600;; 2) exit 1;; esac")
    with pytest.raises(InputError, match="3 jobs ended before a worker of them could be reached"):
        run_study(small(), tmp_path / "out", engine=Queued(Profile(kind="pbs", interface="lo", min_jobs=3)))
    assert len(asked.read_text().splitlines()) == 3


# --- profiles ---------------------------------------------------------------------------------------------


def test_a_profile_says_all_that_is_wrong_with_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('kind = "slrum"\ncores = 0\nqueues = "x"\nmemory = 4\n')
    with pytest.raises(InputError) as caught:
        read_profile(path)
    told = str(caught.value)
    assert "site.toml: kind: found 'slrum'; must be one of slurm, pbs, lsf, sge; did you mean 'slurm'?" in told
    assert "site.toml: cores: found 0; must be 1 or more" in told
    assert "site.toml: queues: there is no such key" in told
    assert "site.toml: memory: found 4; must be text in quotes" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('memory = "much"', "memory: found 'much'; must be a size"),
        ("min_jobs = 20", "min_jobs: found 20; must not be above max_jobs"),
        ("processes = 2", "processes: found 2; must not be above cores"),
        ('interface = "ib9"', "interface: found 'ib9'; must be a network of this computer, which has "),
        ("= 3", "not valid TOML"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(InputError, match=re.escape(told)):
        read_profile(tmp_path / "site.toml")


def test_a_profile_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_profile(tmp_path / "none.toml")


@pytest.mark.parametrize("kind", QUEUES)
def test_every_queue_makes_a_job_of_a_profile(kind: str, tmp_path: Path) -> None:
    import dask_jobqueue

    (tmp_path / "site.toml").write_text(
        f'kind = "{kind}"\nqueue = "long"\naccount = "physics"\ncores = 4\nmemory = "8 GB"\nwalltime = "02:00"\n'
        'prologue = ["module load python"]\npython = "/opt/python"\n'
    )
    options = read_profile(tmp_path / "site.toml").options()
    cluster = getattr(dask_jobqueue, QUEUES[kind].cluster)
    script = cluster.job_cls("tcp://host:1", name="one", **options).job_script()
    for word in ("long", "physics", "module load python", "/opt/python -m", "--nworkers 4", "export OMP_NUM_THREADS=1"):
        assert word in script


def test_every_key_of_a_profile_is_told() -> None:
    page = (ROOT / "docs" / "how-to" / "many-machines.md").read_text()
    assert [field.name for field in fields(Profile) if f"| `{field.name}` |" not in page] == []


@pytest.mark.thorough("starts processes and takes seconds")
def test_ctrl_c_stays_whose_it_was_when_the_library_is_loaded() -> None:
    code = (
        "import signal; from joulewise.study import Profile\n"
        "from joulewise.study.running.engines.queued import job_script\n"
        "before = signal.getsignal(signal.SIGINT); job_script(Profile(interface='lo'))\n"
        "assert signal.getsignal(signal.SIGINT) is before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
