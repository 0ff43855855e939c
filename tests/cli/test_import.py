"""`joulewise import`: what it writes, what it tells, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joulewise.worlds.jobs.sites.site_file import read_site
from joulewise.worlds.jobs.trace_files import read_trace_table
from tests.strategies.calling import call
from tests.strategies.small_jobs import LOG
from tests.strategies.small_sites import CENTRE, GRES, NODES, SHOWN

Capture = pytest.CaptureFixture[str]
SACCT = Path(__file__).parent.parent / "data" / "sacct.txt"


def test_an_import_tells_everything_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    said = call(capsys, "import", SACCT)
    assert said.code == 0, said.err
    for words in (
        "sacct.txt: 7 jobs", "2026-03-02", "lines about a step of a job", "left out", "Jobs: sacct.parquet",
        "cores (6)", "Changed", "Guessed", "Lost",
    ):  # fmt: skip
        assert words in said.out
    assert read_trace_table("sacct.parquet", tmp_path).jobs.height == 7
    page = Path("sacct.html").read_text()
    for words in ("sacct.txt", "Changed, under", "Lines about a step of a job", "requested_gpus", "<td>6</td>"):
        assert words in " ".join(page.replace(' class="words"', "").split())
    found = json.loads(call(capsys, "import", SACCT, "--out", "other.parquet", "--json").out)
    assert (found["n_logged"], found["n_jobs"], found["file"]) == (7, 6, "other.parquet")
    assert Path(found["page"]).is_file()
    assert (found["read"]["cores"], found["read"]["gpus"]) == (6, 0)
    assert {row["key"]: (row["n"], row["part"]) for row in found["findings"]}["job step"] == (2, "lost")
    assert call(capsys, "import", SACCT).code == 0  # an import takes the place of an earlier one


def test_a_log_in_which_nothing_is_odd_says_so(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "log.swf").write_text("; MaxProcs: 8\n1 0 0 10 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1\n")
    said = call(capsys, "import", tmp_path / "log.swf", "--out", tmp_path / "log.parquet").out
    assert said.count(": nothing") == 3


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.parquet").write_text("something else")
    Path("notes.md").write_text("# no log")
    Path("nothing.swf").write_text("")
    Path("nobody.json").write_text('{"jobs": [{"name": "a"}]}')
    call(capsys, "import", SACCT)
    Path("other.html").write_text("mine")
    for arguments, words in (
        ([SACCT, "--out", "mine.parquet"], "is there already, and no import"),
        ([SACCT, "--out", "."], "found a folder"),
        ([SACCT, "--out", "no/where.parquet"], "there is no such folder"),
        ([SACCT, "--out", "other.parquet"], "other.html: is there already, and no page on an import"),
        (["absent.swf"], "there is no such file"),
        (["notes.md"], "must be one of SWF"),
        (["."], ".: found a folder"),
        (["nothing.swf"], "nothing.swf: is empty"),
        (["nobody.json"], "no jobs that can be read (records that are no jobs: 1, left out)"),
        (["sacct.parquet"], "is an import already"),
    ):
        said = call(capsys, "import", *arguments)
        assert (said.code, said.out) == (2, "")
        assert words in said.err
    assert Path("mine.parquet").read_text() == "something else"


def test_jobs_larger_than_the_machine_are_not_among_those_to_replay(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    said = call(capsys, "import", tmp_path / "log.swf", "--out", tmp_path / "log.parquet")
    assert "8 nodes, 8 processors" in said.out
    assert "4, which need 310.0 % of the machine" in said.out


def test_a_file_that_cannot_be_written_is_not_the_logs_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polars.DataFrame.write_parquet", full)
    said = call(capsys, "import", SACCT)
    assert (said.code, said.out) == (2, "")
    assert "sacct.parquet: cannot be written: No space left on device" in said.err
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_slurm_become_a_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("slurm.conf", CENTRE),
        ("nodes.conf", NODES),
        ("gres.conf", GRES),
        ("nodes.txt", SHOWN.replace("Default=YES", "Default=NO")),
    ):
        Path(name).write_text(text)
    said = call(capsys, "import", "--config", "slurm.conf")
    assert said.code == 0, said.err
    for words in ("larch: what became of slurm.conf", "32 nodes", "not modelled", "TopologyPlugin", "Site: site.toml"):
        assert words in said.out
    assert read_site("site.toml").name == "larch"
    options = ("--config", "nodes.txt", "--config", "slurm.conf", "--out", "both.toml", "--json")
    found = json.loads(call(capsys, "import", *options).out)
    assert (found["site"], found["nodes"], found["partitions"][-1], found["file"]) == (
        "larch",
        34,
        "debug",
        "both.toml",
    )
    assert {row["fate"] for row in found["findings"]} == {"read", "changed", "guessed", "not modelled"}


def test_what_is_refused_of_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_text(CENTRE.replace("Include nodes.conf\n", ""))
    Path("site.toml").write_text("mine")
    for arguments, words in (
        (["--config", "slurm.conf"], "site.toml: is there already, and may have changes of yours"),
        (["--config", "slurm.conf", "--out", "other.toml"], "there are no nodes"),
        (["--config", "slurm.conf", "--out", "."], "found a folder"),
        (["--config", "absent.conf", "--out", "other.toml"], "absent.conf: there is no such file"),
        ([SACCT, "--config", "slurm.conf"], "must be one of them"),
        ([], "found neither a log nor --config"),
    ):
        said = call(capsys, "import", *arguments)
        assert (said.code, said.out) == (2, ""), arguments
        assert words in said.err
    assert Path("site.toml").read_text() == "mine"
    assert not Path("other.toml").exists()
