"""`joulewise reproduce`: published experiments listed, run again, and judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joulewise.measure.analysis.published import CHAPTER_8
from joulewise.study.catalogue import EXPERIMENTS
from tests.strategies.calling import call

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_experiment_is_listed_with_its_claims(capsys: Capture) -> None:
    rows = json.loads(call(capsys, "reproduce", "--json").out)
    assert [row["id"] for row in rows] == [*EXPERIMENTS, CHAPTER_8.id]
    assert all(row["title"] and row["source"] and row["claims"] for row in rows)
    said = call(capsys, "reproduce", "chapter-9")
    assert said.code == 2
    assert "chapter-8" in said.err


def test_printed_tables_are_judged_without_running_anything(capsys: Capture) -> None:
    said = call(capsys, "reproduce", "chapter-8")
    assert said.code == 0
    assert "Findings: results/reproduce/chapter-8/findings.md" in said.out
    found = json.loads(call(capsys, "reproduce", "chapter-8", "--json").out)
    assert {finding["claim"]: finding["verdict"] for finding in found["findings"]} == dict.fromkeys(
        (f"8.{i}" for i in range(1, 9)), "not testable"
    )
    assert "| 8.7 |" in Path("results/reproduce/chapter-8/findings.md").read_text()
    assert "nothing of chapter-8 is run here" in call(capsys, "reproduce", "chapter-8", "--trials", 3).err
