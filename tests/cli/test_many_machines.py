"""The options of `joulewise run` and `joulewise check` that say who computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.strategies.calling import call
from tests.strategies.small import TEXT


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--dask", "tcp://host:1", "--workers", 2), "found --workers and --dask"),
        (("--dask", "tcp://host:1", "--dask-slurm", "site.toml"), "found --dask and --dask-slurm"),
        (("--workers", 2, "--dask-slurm", "site.toml"), "found --workers and --dask-slurm"),
        (("--dask-slurm", "site.toml"), "site.toml: cannot be read"),
        (("--dask", "nowhere.json"), "Dask cluster nowhere.json: found no file of this name, and no address"),
    ],
)
def test_what_cannot_be_is_refused(
    options: tuple[object, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.running.engines.dask._ANSWERS_S", 0.5)
    said = call(capsys, "run", "study.toml", *options)
    assert said.code == 2
    assert told in said.err
    assert "Traceback" not in said.err


SITE = 'kind = "slurm"\nqueue = "short"\ncores = 4\nmin_jobs = 1\nmax_jobs = 20\n'


def test_the_job_of_a_profile_is_shown_and_nothing_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    (tmp_path / "site.toml").write_text(SITE)
    said = call(capsys, "check", "study.toml", "--dask-slurm", "site.toml")
    assert said.code == 0, said.err
    assert "1 to 20 jobs with 4 workers each: 4 to 80 in all." in said.out
    assert 'Warning: kind = "slurm": found no command sbatch' in said.out
    assert "\n#SBATCH -p short\n" in said.out
    found = json.loads(call(capsys, "check", "study.toml", "--dask-slurm", "site.toml", "--json").out)
    assert found["queue"]["script"] in said.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site.toml", "study.toml"]


def test_a_wrong_profile_is_told_by_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.toml").write_text(SITE + "cors = 2\n")
    said = call(capsys, "check", "study.toml", "--dask-slurm", "site.toml")
    assert (said.code, said.out) == (2, "")
    assert "did you mean 'cores'?" in said.err
