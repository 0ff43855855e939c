"""A user's mistake: one report of all problems, exit code 2, no traceback, existing results untouched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.strategies.calling import call
from tests.strategies.small import TEXT
from tests.study.test_running import stored_files
from tests.study.test_study_file import BAD, BAD_TABLES, TABLES, write_tables

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(small_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the results of a small study."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(TEXT)
    shutil.copytree(small_results, tmp_path / "results" / "small")
    return tmp_path


def test_every_bad_study_is_refused_and_its_results_stay(folder: Path, capsys: Capture) -> None:
    before = stored_files(folder / "results")
    for case, (change, line) in BAD.items():
        (folder / "study.toml").write_text(change(TEXT))
        for verb in ("check", "run"):
            said = call(capsys, verb, "study.toml")
            assert (said.code, said.out) == (2, ""), case
            assert "Traceback" not in said.err, case
            assert line.split("; ")[0] in said.err, case
    assert stored_files(folder / "results") == before


def test_every_bad_table_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TABLES)
    for case, (changed, words) in BAD_TABLES.items():
        write_tables(tmp_path, **changed)
        said = call(capsys, "run", "study.toml")
        assert (said.code, words in said.err) == (2, True), (case, said.err)
    assert not Path("results").exists()


@pytest.mark.parametrize("verb", ["check", "run"])
def test_results_in_place_of_a_study_are_told(verb: str, folder: Path, capsys: Capture) -> None:
    before = stored_files(folder / "results")
    said = call(capsys, verb, "results/small")
    assert said.code == 2
    assert "results/small: is a folder of results\n      must be a study file\n      its study is /" in said.err
    assert stored_files(folder / "results") == before


def test_problems_stand_in_one_list(folder: Path, capsys: Capture) -> None:
    text = TEXT.replace("trials = 2", "trials = -2").replace('"10 min"', "10").replace("random", "randm")
    (folder / "study.toml").write_text(text)
    said = call(capsys, "check", "study.toml")
    assert said.err.startswith("joulewise: 3 problems\n  study.toml: trials: found -2\n      must be 1 or more\n")
    assert "      did you mean 'random'?" in said.err


def other_name(folder: Path) -> None:
    (folder / "study.toml").write_text(TEXT.replace('"small"', '"other"'))


def broken_marker(folder: Path) -> None:
    (folder / "results" / "small" / "study.json").write_text("{")


def no_marker(folder: Path) -> None:
    (folder / "results" / "small" / "study.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (other_name, "holds the results of the study 'small'"),
        (broken_marker, "is damaged"),
        (no_marker, "holds files that are not the results of a study"),
    ],
)
def test_a_folder_that_is_not_the_studys_is_refused(
    spoil: Callable[[Path], None], words: str, folder: Path, capsys: Capture
) -> None:
    spoil(folder)
    before = stored_files(folder)
    for verb in ("check", "run"):
        said = call(capsys, verb, "study.toml", "--out", "results/small")
        assert (said.code, words in said.err) == (2, True), said.err
    assert stored_files(folder) == before


@pytest.mark.parametrize("verb", ["verify", "report"])
@pytest.mark.parametrize("place", ["nowhere", ".", "study.toml"])
def test_a_folder_without_results_is_refused(verb: str, place: str, folder: Path, capsys: Capture) -> None:
    said = call(capsys, verb, place)
    assert said.code == 2
    assert "must be the results folder of a study" in said.err


def test_an_unknown_format_is_refused(folder: Path, capsys: Capture) -> None:
    said = call(capsys, "report", "results/small", "--format", "gif")
    assert said.code == 2
    assert "gif" in said.err
    assert not Path("results/small/report.html").exists()


@pytest.mark.parametrize("workers", ["0", "-1", "100000"])
def test_an_absurd_number_of_workers_is_refused(workers: str, folder: Path, capsys: Capture) -> None:
    said = call(capsys, "run", "study.toml", f"--workers={workers}")
    assert (said.code, "must be from 1 to 1,024" in said.err) == (2, True)
