"""Study texts of the served folder: read, changed and made, and never one outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.serve.asking import MOST_TEXT_BYTES
from joulewise.serve.desk import Desk
from joulewise.serve.run.editor import checked
from joulewise.serve.run.texts import Texts
from joulewise.serve.shelf import Shelf
from tests.strategies.small import TEXT


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """The texts of a folder with one study, beside which a secret lies."""
    served = tmp_path / "served"
    (served / "inner").mkdir(parents=True)
    (tmp_path / "secret.toml").write_text("secret = 1")
    (served / "inner" / "study.toml").write_text(TEXT)
    (served / "link.toml").symlink_to(tmp_path / "secret.toml")
    return Texts(Shelf(served, Desk()))


def test_texts_are_read_by_name(texts: Texts) -> None:
    assert texts.names() == ["inner/study.toml"]
    assert texts.read("inner/study.toml").text == TEXT


@pytest.mark.parametrize("name", ["link.toml", "../secret.toml", "inner/../../secret.toml", "/etc/passwd", "", "\0"])
def test_no_name_leads_out(name: str, texts: Texts) -> None:
    for use in (
        texts.read,
        lambda name: texts.save(name, "x = 1", ""),
        lambda name: texts.create("new", f"copy:{name}"),
    ):
        with pytest.raises(InputError):
            use(name)
    assert (texts.root.parent / "secret.toml").read_text() == "secret = 1"


@pytest.mark.parametrize("link", ["inner/study.toml", "inner"])
def test_what_becomes_a_link_is_not_followed(link: str, texts: Texts, tmp_path: Path) -> None:
    first = texts.read("inner/study.toml")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "study.toml").write_text("secret = 1")
    (texts.root / link).rename(tmp_path / "before")
    (texts.root / link).symlink_to(tmp_path / "outside" / link.partition("/")[2])
    for use in (
        lambda: texts.path(first.name),
        lambda: texts.read(first.name),
        lambda: texts.save(first.name, "mine", first.mark),
        lambda: texts.create("new", f"copy:{first.name}"),
    ):
        with pytest.raises(InputError, match="found no study"):
            use()
    assert (tmp_path / "outside" / "study.toml").read_text() == "secret = 1"


def test_what_was_changed_meanwhile_is_not_overwritten(texts: Texts) -> None:
    first = texts.read("inner/study.toml")
    second = texts.save(first.name, "# mine\n", first.mark)
    assert texts.read(first.name).text == "# mine\n"
    with pytest.raises(InputError, match="was changed by somebody else"):
        texts.save(first.name, "# theirs\n", first.mark)
    texts.save(first.name, "# again\n", second.mark)
    with pytest.raises(InputError, match="at most"):
        texts.save(first.name, "#" * (MOST_TEXT_BYTES + 1), texts.read(first.name).mark)
    assert texts.read(first.name).text == "# again\n"


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "a b", "é", "x" * 120, "-x", "x\n"])
def test_names_of_new_studies_are_checked(name: str, texts: Texts) -> None:
    with pytest.raises(InputError, match="must start with"):
        texts.create(name, "kind:managed")


@pytest.mark.parametrize("name", ["pyproject", "pyproject.toml"])
def test_a_new_study_is_not_named_as_what_is_no_study(name: str, texts: Texts) -> None:
    with pytest.raises(InputError, match="another kind of file"):
        texts.create(name, "kind:managed")
    assert not (texts.root / "pyproject.toml").exists()


def test_new_studies_are_right_and_overwrite_nothing(texts: Texts) -> None:
    starts = texts.starts()
    assert {"managed", "jobs", "front", "profit", "facility"} <= starts.kinds.keys()
    assert "first" in starts.examples
    assert not {"heuristic", "measure"} & starts.examples.keys()  # they bring Python, or are no studies
    for start in ("kind:managed", "example:trace", "copy:inner/study.toml"):
        made = texts.create(start.partition(":")[0], start)
        found = checked(made.text, made.path, texts.root, allows_code=False)
        assert found.is_right, found.messages
        assert found.name == made.path.stem
        with pytest.raises(InputError, match="overwrites nothing"):
            texts.create(made.name, start)
    with pytest.raises(InputError, match="must be kind:NAME"):
        texts.create("other", "kind:nothing")


def test_examples_with_python_are_there_where_it_is_allowed(texts: Texts) -> None:
    assert "heuristic" in Texts(texts.shelf, allows_code=True).starts().examples
