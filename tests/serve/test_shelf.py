"""Which studies the workbench finds in its folder, and what state they are in."""

from __future__ import annotations

import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.files import locked
from joulewise.serve import shelf
from joulewise.serve.shelf import Shelf
from joulewise.serve.subject import BROKEN, FINISHED, PARTIAL, RUNNING, Subject
from tests.strategies.every_kind import made
from tests.strategies.served import HereDesk, client_of, shelved


def shelf_of(folder: Path) -> Shelf:
    return Shelf(folder, HereDesk())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one study that may be changed."""
    shutil.copytree(made("profit").folder, tmp_path / "all" / "profit")
    return tmp_path / "all"


def only(folder: Path) -> Subject:
    (subject,) = shelf_of(folder).subjects()
    return subject


def test_studies_are_found_by_names_that_are_no_paths(folder: Path) -> None:
    shutil.copytree(folder / "profit", folder / "a b" / "profit")
    shutil.copytree(folder / "profit", folder / "a-b" / "profit")
    names = [subject.name for subject in shelf_of(folder).subjects()]
    assert names == ["a-b-profit", "a-b-profit.2", "profit"]
    assert shelf_of(folder).subject("../all/profit") is None


def test_the_folder_may_be_that_of_a_study(folder: Path) -> None:
    assert only(folder / "profit").name == "profit"


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "there").symlink_to(folder / "profit")
    assert shelf_of(tmp_path / "inside").subjects() == []


@pytest.mark.parametrize("name", ["runs.parquet", "study.toml", "fronts/x.parquet"])
def test_a_link_in_results_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (folder / "profit" / name).unlink(missing_ok=True)
    (folder / "profit" / name).symlink_to(tmp_path / "secret")
    subject = only(folder)
    assert subject.status == BROKEN
    assert "is a link" in subject.state.problem
    with pytest.raises(InputError, match="is a link"):
        _ = subject.study


def test_what_was_read_is_not_read_on_through_a_link(folder: Path, tmp_path: Path) -> None:
    subject = only(folder)
    assert subject.results.n_runs > 0
    front = next((folder / "profit" / "fronts").iterdir())
    (tmp_path / "secret").write_bytes(front.read_bytes())
    front.unlink()
    front.symlink_to(tmp_path / "secret")
    assert subject.status == BROKEN
    with pytest.raises(InputError, match="is a link"):
        _ = subject.results
    (folder / "profit").rename(tmp_path / "elsewhere")
    (folder / "profit").symlink_to(tmp_path / "elsewhere")
    assert subject.status == BROKEN
    with pytest.raises(InputError, match="is a link by now"):
        _ = subject.results


def test_what_is_being_made_keeps_nobody_from_the_rest(folder: Path) -> None:
    subject, begun, may_end = only(folder), threading.Event(), threading.Event()

    def make() -> str:
        begun.set()
        may_end.wait()
        return "made"

    with ThreadPoolExecutor(3) as threads:
        first, second = (threads.submit(subject.kept, "slow", make) for _ in range(2))
        begun.wait()
        try:
            assert threads.submit(lambda: (subject.status, subject.title)).result(60) == (FINISHED, "profit")
            assert subject.kept("other", lambda: 1) == 1
        finally:
            may_end.set()
        assert (first.result(), second.result()) == ("made", "made")
        assert subject.kept("slow", lambda: "made again") == "made"


def test_names_that_are_not_there_are_not_looked_for_again_and_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    monkeypatch.setattr(shelf, "_FRESH_S", 1e9)

    def look(_shelf: Shelf, root: Path) -> tuple[Path, ...]:
        looks.append(root)
        return ()

    monkeypatch.setattr(Shelf, "_results", look)
    found = shelf_of(folder)
    assert [found.subject(name) for name in "abc"] == [None] * 3
    assert len(looks) == 1


def test_names_of_any_language_are_shown_and_those_that_are_none_left_out(tmp_path: Path) -> None:
    for name in ("研究".encode(), b'a"b', b"\xff"):
        shutil.copytree(made("profit").folder, Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)))
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name + b".toml")).write_text("")
    client = client_of(tmp_path)
    for address in ("/", "/compare", "/run", "/run/new", "/api/run/new"):
        assert client.get(address).status == 200, address
    names = [subject.name for subject in client.app.state.bench.shelf.subjects()]
    assert names == ["a-b", "研究"]
    reply = client.get("/studies/研究/files/study.toml")
    assert reply.headers["content-disposition"] == "attachment; filename*=UTF-8''%E7%A0%94%E7%A9%B6.toml"
    client.app.state.bench.close()


def test_a_study_that_is_written_is_running(folder: Path) -> None:
    subject = only(folder)
    assert subject.status == FINISHED
    with locked(folder / "profit"):
        assert subject.status == RUNNING
    assert subject.status == FINISHED


def test_a_study_that_was_ended_is_unfinished(folder: Path) -> None:
    subject = only(folder)
    assert subject.results.n_runs > 0
    marker = json.loads((folder / "profit" / "study.json").read_text())
    (folder / "profit" / "study.json").write_text(json.dumps({**marker, "is_finished": False}))
    assert subject.status == PARTIAL
    with pytest.raises(InputError, match="unfinished"):
        _ = subject.results


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    "harm",
    [
        lambda study: (study / "study.json").write_text("{"),
        lambda study: damage(study / "runs.parquet"),
        lambda study: damage(study / "study.toml"),
        lambda study: next((study / "fronts").iterdir()).write_bytes(b"nothing"),
        lambda study: os.remove(study / "study.toml"),
        lambda study: shutil.rmtree(study),
    ],
)
def test_harm_to_a_study_is_told_in_words(folder: Path, harm: object) -> None:
    client = client_of(folder)
    assert client.get("/studies/profit").status == 200
    assert callable(harm)
    harm(folder / "profit")
    for address in ("/", "/studies/profit", "/studies/profit/profit", "/studies/profit/files/runs.csv", "/compare"):
        reply = client.get(address)
        assert reply.status in (200, 404, 422), (address, reply.text)
        assert "Traceback" not in reply.text
    client.app.state.bench.close()


def test_results_that_cannot_be_read_are_broken(folder: Path) -> None:
    subject = shelf_of(folder).subject("profit")
    assert subject is not None
    assert subject.status == "finished"
    damage(folder / "profit" / "runs.parquet")
    subject.read_headline()
    assert subject.status == "broken"
    assert "runs.parquet" in (subject.headline or "")


def test_study_files_are_found_outside_of_results(folder: Path) -> None:
    (folder / "new.toml").write_text("")
    assert [path.name for path in shelf_of(folder).study_files()] == ["new.toml"]


def test_what_was_read_is_kept_until_files_change() -> None:
    subject = next(each for each in shelf_of(shelved("profit")).subjects())
    assert subject.records is subject.records
    before = subject.records
    subject.forget()
    assert subject.records is not before
