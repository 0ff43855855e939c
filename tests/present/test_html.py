"""Pages that need no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.present import html


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The scripts that were made, each another one; none is known yet."""
    scripts: list[str] = []

    def make() -> str:
        scripts.append(f"script {len(scripts)}")
        return scripts[-1]

    monkeypatch.setattr(html, "_bundle", make)
    monkeypatch.setattr(html, "libraries", html.libraries.__wrapped__)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return scripts


def test_the_script_of_figures_is_made_once(made: list[str]) -> None:
    assert [html.libraries(), html.libraries()] == ["script 0", "script 0"]
    assert made == ["script 0"]


def test_where_nothing_can_be_kept_the_script_is_made_each_time(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert [html.libraries(), html.libraries()] == ["script 0", "script 1"]
