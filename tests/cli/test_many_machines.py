"""The options of `joulewise run` that say who computes."""

from __future__ import annotations

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
