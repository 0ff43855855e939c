"""`verify` holds what is stored against the study, and notices what was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.progress import Cancelled, CancelToken
from joulewise.study import open_results, parse_study, run_study, verify
from joulewise.study.column import RECORDS
from joulewise.study.store import Store
from tests.strategies.small import HEURISTIC, TEXT, run_small


def test_what_was_just_run_holds(small_results: Path) -> None:
    seen: list[tuple[int, int]] = []
    verdicts = verify(small_results, lambda done, total: seen.append((done, total)))
    assert [verdict.problems for verdict in verdicts] == [()] * 8
    assert [verdict.has_records for verdict in verdicts] == [True, False] * 4
    assert verdicts[0].title == "random, 0.0, trial 0"
    assert seen[0] == (0, 8)
    assert seen[-1] == (8, 8)


def test_it_can_be_cancelled(small_results: Path) -> None:
    cancel = CancelToken()
    with pytest.raises(Cancelled, match="after 1 of 8 runs were judged; nothing was changed"):
        verify(small_results, lambda done, _: cancel.cancel() if done else None, cancel)


def change_runs(store: Store, _: str) -> None:
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(pl.col("utility") + 1))


def change_percent(store: Store, _: str) -> None:
    table = store.read_table(store.runs_file)
    store.write_table(store.runs_file, table.with_columns(pl.col("possible_percent") + 1))


def change_records(store: Store, run: str) -> None:
    table = store.read_table(store.detail_file(RECORDS, run))
    store.write_table(store.detail_file(RECORDS, run), table.with_columns(pl.col("start_s") - 1))


def drop_records(store: Store, run: str) -> None:
    store.write_table(store.detail_file(RECORDS, run), store.read_table(store.detail_file(RECORDS, run)).head(3))


def change_bounds(store: Store, _: str) -> None:
    for path in (store.folder / "bounds").iterdir():
        stored = json.loads(path.read_text())
        path.write_text(json.dumps(stored | {"proof": stored["proof"] | {"maximum_utility": 1.0}}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_runs, "runs: utility"),
        (change_percent, "runs: possible_percent"),
        (change_records, "start_s"),
        (drop_records, "3 records, but the workload has"),
        (change_bounds, "bounds: maximum_utility"),
    ],
)
def test_what_was_changed_is_noticed(change: Callable[[Store, str], None], words: str, small_copy: Path) -> None:
    run = open_results(small_copy).runs["run"][0]
    change(Store(small_copy), run)
    (verdict,) = [verdict for verdict in verify(small_copy) if verdict.run == run]
    assert any(words in problem for problem in verdict.problems)


def test_inputs_that_changed_since_are_reported(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    study = parse_study(TEXT.replace('"random"', '"mine.py:mine"'), "study.toml", tmp_path)
    run_study(study, tmp_path / "out", 1)
    (tmp_path / "mine.py").write_text(HEURISTIC + "# changed")
    with pytest.raises(InputError, match=r"mine\.py must be as it was"):
        verify(tmp_path / "out")


def test_runs_without_records_are_simulated_again(tmp_path: Path) -> None:
    run_small(tmp_path, change=lambda text: 'keep = "none"\n' + text)
    assert [verdict.problems for verdict in verify(tmp_path)] == [()] * 8
    change_runs(Store(tmp_path), "")
    assert all("runs: utility" in verdict.problems[0] for verdict in verify(tmp_path))


def test_verifying_nothing_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "joulewise.check.tasks.allocation.check_allocation", lambda *_: ["two tasks at once on machine 1"]
    )
    run_small(tmp_path)
    with pytest.raises(InputError, match="holds no run that is done"):
        verify(tmp_path)
