"""Studies on disks that are full or read-only from some moment on: clear words, no damage, and the same records when
there is room again."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from joulewise.cli import refusal
from joulewise.present.results import write_report
from joulewise.study import Study, open_results, read_study, run_study
from joulewise.study.running import running
from joulewise.study.running.engines.engine import Engine
from joulewise.study.running.engines.here import Here
from joulewise.study.running.engines.processes import Processes
from joulewise.study.store import journal, merging
from joulewise.study.store.store import Store
from tests.strategies.bad_disk import bad_disk, can_mount, fill, mounted, remount
from tests.strategies.calling import call
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, TEXT

Capture = pytest.CaptureFixture[str]

WORDS = {errno.ENOSPC: "No space left on device", errno.EROFS: "Read-only file system"}
SMALLEST = 'keep = "all"\n' + QUICKLY + TEXT.replace("trials = 2", "trials = 1")
EARLIER, NOW = SMALLEST.replace("[0, 0.5]", "[0]"), SMALLEST.replace("[0, 0.5]", "[0.5]")
"""A study, and what becomes of it: its earlier rows are set aside."""
_FEW = 2
"""Rows of a fragment and of a piece, so that there are several."""


@pytest.fixture(scope="module", autouse=True)
def _in_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "_FRAGMENT_ROWS", _FEW)
        patch.setattr(merging, "PIECE_ROWS", 1)
        patch.setattr(running, "raise_if_too_large", lambda *_: None)  # which would tell it before
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def study(place: Path) -> Study:
    """The study as it is now."""
    (place / "study.toml").write_text(NOW)
    return read_study(place / "study.toml")


@pytest.fixture(scope="module")
def earlier(place: Path) -> Path:
    """What it left when it was another."""
    (place / "study.toml").write_text(EARLIER)
    return run_study(read_study(place / "study.toml"), place / "earlier", 1).folder


@pytest.fixture(scope="module")
def expected(earlier: Path, study: Study, place: Path) -> Path:
    return run_study(study, shutil.copytree(earlier, place / "expected"), 1).folder


def told_of(study: Study, out: Path, engine: Engine | None = None) -> str:
    """What is told of a run that the disk refuses; nothing where it came to its end."""
    refused = None
    try:
        run_study(study, out, engine=engine or Here())
    except Exception as error:
        refused = error
    if refused is None:
        return ""
    problem = refusal(refused)
    assert problem, repr(refused)
    return str(problem)


def assert_goes_on(study: Study, out: Path, expected: Path) -> None:
    """With room again, the study comes to its end with the right records, and nothing else lies about."""
    assert_same_records(run_study(study, out, 1).folder, expected)
    assert [path.name for path in out.rglob("*.tmp")] == []


def refused_at(n: int, code: int, study: Study, earlier: Path, expected: Path, out: Path) -> bool:
    """Whether the disk had to refuse anything after so many things that it took; all is well if it had."""
    shutil.copytree(earlier, out)
    with bad_disk(out, n, code) as disk:
        told = told_of(study, out)
    if disk.refused and (told or disk.refused != ["unlink"]):  # at the very end, that what is temporary is gone already
        assert str(out) in told, (n, disk.refused, told)
        assert ".tmp" not in told, (n, disk.refused, told)
        assert f"cannot be written: {WORDS[code]}" in told, (n, disk.refused, told)
        assert Store(out).marker()
    assert_goes_on(study, out, expected)
    shutil.rmtree(out)
    return bool(disk.refused)


@pytest.mark.parametrize("code", WORDS)
@pytest.mark.parametrize("n", [0, 8, 27, 50])
def test_a_disk_that_refuses_is_told_and_nothing_is_damaged(
    n: int, code: int, study: Study, earlier: Path, expected: Path, tmp_path: Path
) -> None:
    assert refused_at(n, code, study, earlier, expected, tmp_path / "out")


@pytest.mark.thorough("a study for each thing that is written, twice")
@pytest.mark.parametrize("code", WORDS)
def test_whatever_a_disk_refuses_first_is_told_and_nothing_is_damaged(
    code: int, study: Study, earlier: Path, expected: Path, tmp_path: Path
) -> None:
    n = next(n for n in count() if not refused_at(n, code, study, earlier, expected, tmp_path / "out"))
    assert n > 50


@pytest.mark.thorough("draws all figures")
def test_a_report_that_the_disk_refuses_is_told_and_results_stay(expected: Path, tmp_path: Path) -> None:
    out = shutil.copytree(expected, tmp_path / "out")
    with bad_disk(out, 0), pytest.raises(OSError, match=r"No space left on device.*report\.html"):
        write_report(open_results(out))
    assert_same_records(out, expected)


def test_a_folder_whose_first_file_was_never_whole_can_be_used(study: Study, place: Path, tmp_path: Path) -> None:
    (tmp_path / f".study.json.{'0' * 32}.tmp").write_text("{")
    assert run_study(study, tmp_path, 1).failed.is_empty()
    assert list(tmp_path.glob(".*.tmp")) == []


# --- a real disk -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def disk(place: Path) -> Iterator[Path]:
    if not can_mount(place / "probe"):
        pytest.skip("needs root, and a system that lets it mount a disk in memory")
    with mounted(place / "disk", 400):
        yield place / "disk"


def full_with(n_free: int, study: Study, earlier: Path, expected: Path, disk: Path, engine: Engine) -> bool:
    """Whether a disk with so many free pages is too small for the rest of the study; all is well if it is."""
    out = shutil.copytree(earlier, disk / "out")
    filler = fill(disk, n_free)
    try:
        told = told_of(study, out, engine)
        filler.unlink()
        assert told == "" or (str(out) in told and WORDS[errno.ENOSPC] in told and ".tmp" not in told), (n_free, told)
        assert_goes_on(study, out, expected)
        return told != ""
    finally:
        filler.unlink(missing_ok=True)
        shutil.rmtree(out)


@pytest.mark.parametrize("n_free", [0, 9])
def test_a_full_disk_is_told_and_nothing_is_damaged(
    n_free: int, study: Study, earlier: Path, expected: Path, disk: Path
) -> None:
    assert full_with(n_free, study, earlier, expected, disk, Here())


@pytest.mark.thorough("a study for each page that may be free")
def test_wherever_a_disk_gets_full_it_is_told_and_nothing_is_damaged(
    study: Study, earlier: Path, expected: Path, disk: Path
) -> None:
    n_free = next(n for n in count() if not full_with(n, study, earlier, expected, disk, Here()))
    assert n_free > 20


@pytest.mark.thorough("starts processes anew")
@pytest.mark.parametrize("n_free", [0, 3, 6, 9, 12])
def test_processes_meet_a_full_disk_alike(n_free: int, study: Study, earlier: Path, expected: Path, disk: Path) -> None:
    assert full_with(n_free, study, earlier, expected, disk, Processes(2))


def test_a_read_only_disk_is_told_and_read(expected: Path, study: Study, disk: Path, capsys: Capture) -> None:
    out = shutil.copytree(expected, disk / "out")
    remount(disk, "ro")
    try:
        said = call(capsys, "run", study.folder / "study.toml", "--out", out)
        assert (said.code, f"cannot be written: {WORDS[errno.EROFS]}" in said.err) == (2, True), said.err
        assert_same_records(out, expected)
    finally:
        remount(disk, "rw")
        shutil.rmtree(out)


def test_the_command_ends_with_2_where_the_disk_is_full(study: Study, disk: Path, capsys: Capture) -> None:
    filler = fill(disk, 4)
    said = call(capsys, "run", study.folder / "study.toml", "--out", disk / "out", "--workers", "1")
    filler.unlink()
    shutil.rmtree(disk / "out")
    assert said.code == 2
    assert f"cannot be written: {WORDS[errno.ENOSPC]}\n      make room" in said.err
    assert "Traceback" not in said.err
