"""Proofs of bounds: gathered from small files into tables, in none of two places at no time, and found wherever."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import joulewise as jw
from joulewise.errors import InputError
from joulewise.progress import Cancelled, CancelToken, Progress
from joulewise.study import run_study, verify
from joulewise.study.running.estimate import estimate
from joulewise.study.store import journal, merging, proofs
from joulewise.study.store.journal import Journal
from joulewise.study.store.merging import merge_proofs
from joulewise.study.store.proofs import OF_PROOFS, gather, tabled
from joulewise.study.store.store import Store
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, run_small, small

KIND = "prices-0.5"
"""Kinds may have dots in their names."""


def key(number: int) -> str:
    """A key as worlds have them, in no order."""
    return f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"


def filled(folder: Path, numbers: range) -> Store:
    """A folder with a small file for each of these proofs."""
    store = Store(folder)
    (folder / "bounds").mkdir(parents=True, exist_ok=True)
    for i in numbers:
        stored = {"schema_version": 4, "world": key(i), "proof": {"value": i}}
        store.proof_file(key(i), KIND).write_text(json.dumps(stored))
    return store


def value(store: Store, number: int) -> int | None:
    proof = store.read_proof(key(number), KIND, dict)
    return None if proof is None else int(proof["value"])


def n_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


@pytest.mark.thorough("damages whole results")
def test_a_folder_of_thousands_of_worlds_ends_with_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_PROOFS_BYTES", 20_000)  # so that there are several parts
    with Journal(filled(tmp_path, range(3_000))) as rows:
        for part in range(2):
            filled(tmp_path, range(3_000 * part, 3_000 * (part + 1)))
            rows.append([{"run": key(i), "status": "done", "error": None} for i in range(5_000)])
    store = Store(tmp_path)
    assert n_files(tmp_path) == 5  # two fragments of rows and two of proofs, and the journal
    assert [value(store, i) for i in (0, 2_999, 3_000, 5_999, 6_000)] == [0, 2_999, 3_000, 5_999, None]
    filled(tmp_path, range(6_000, 7_000))
    merge_proofs(store)
    assert n_files(tmp_path) == 4
    table = store.read_table(store.bounds_file)
    assert table["world"].to_list() == sorted(map(key, range(7_000)))
    assert [value(store, i) for i in range(0, 7_000, 1_000)] == list(range(0, 7_000, 1_000))
    assert store.proven().height == 7_000


def ended(path: Path, missing_ok: bool = False) -> None:
    """As if the process ended here; temporary files of tables that were written are gone already."""
    if path.suffix != ".tmp":
        raise KeyboardInterrupt


@pytest.mark.parametrize("end", [gather, merge_proofs])
def test_what_is_ended_before_files_are_removed_loses_and_doubles_nothing(
    end: Callable[[Store], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path, range(20))
    if end is merge_proofs:
        gather(store)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", ended)
        with pytest.raises(KeyboardInterrupt):
            end(store)
    assert len(tables(store)) == (2 if end is merge_proofs else 1)
    assert [value(store, i) for i in range(20)] == list(range(20))
    merge_proofs(store)
    assert tables(store) == [store.bounds_file]
    assert store.read_table(store.bounds_file).height == 20
    assert n_files(tmp_path) == 1


def tables(store: Store) -> list[Path]:
    return [path for path in (store.bounds_file, *store.fragment_files(OF_PROOFS)) if path.is_file()]


def test_the_newest_of_two_proofs_stays(tmp_path: Path) -> None:
    store = filled(tmp_path, range(3))
    merge_proofs(store)
    for i in (10, 20):
        store.write_proof(key(1), KIND, {"value": i})
        assert value(store, 1) == i
        gather(store)
        assert value(store, 1) == i
    merge_proofs(store)
    assert [value(store, i) for i in range(3)] == [0, 20, 2]


def test_a_reader_looks_again_where_tables_were_merged_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path, range(3))
    gather(store)
    before = proofs._tables(store)
    merge_proofs(store)
    after, look_back = proofs._tables(store), [before]
    monkeypatch.setattr(proofs, "_tables", lambda _: look_back.pop() if look_back else after)
    looks: list[Callable[[], object]] = [
        lambda: value(store, 1) == 1, lambda: not store.unproven([(key(1), KIND)]), lambda: store.proven().height == 3,
    ]  # fmt: skip
    for look in looks:
        tabled.cache_clear()
        look_back[:] = [before]
        assert look()
        assert not look_back


def test_what_is_no_text_stays_what_no_reader_takes_for_a_proof(tmp_path: Path) -> None:
    store = filled(tmp_path, range(2))
    store.proof_file(key(1), KIND).write_bytes(b'{"proof": {"value\xff": 1}}')
    merge_proofs(store)
    assert value(store, 0) == 0
    with pytest.raises(InputError, match=f"bounds.parquet: {key(1)}.{KIND}: is damaged"):
        value(store, 1)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    store = filled(tmp_path, range(1))
    others = [tmp_path / "bounds" / name for name in ("notes.json", f"{key(1)}.lp.parquet", f".{key(0)}.x.json.tmp")]
    for other in others:
        other.touch()
    merge_proofs(store)
    assert all(other.is_file() for other in others)


# --- studies -----------------------------------------------------------------------------------------------------


def quickly(text: str) -> str:
    return QUICKLY + text


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_study_is_resumed_from_fragments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_FRAGMENT_ROWS", 2)
    cancel = CancelToken()

    def stop(progress: Progress) -> None:
        if progress.n_done == 5:
            cancel.cancel()

    with pytest.raises(Cancelled):
        run_study(small(quickly), tmp_path / "one", 1, stop, cancel)
    assert Store(tmp_path / "one").fragment_files(OF_PROOFS)
    progress: list[Progress] = []
    run_study(small(quickly), tmp_path / "one", 1, progress.append)
    assert progress[0].n_reused == 5
    run_small(tmp_path / "other", change=quickly)
    assert_same_records(tmp_path / "one", tmp_path / "other")
    assert {verdict.problems for verdict in verify(tmp_path / "one")} == {()}


def test_a_world_is_proven_once_whatever_is_run_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_small(tmp_path)
    before = (tmp_path / "bounds.parquet").read_bytes()
    monkeypatch.setattr("joulewise.optimise.tasks.proof.prove", None)
    results = run_small(tmp_path, change=lambda text: text.replace("[0, 0.5]", "[0, 0.25, 0.5]"))
    assert results.runs["status"].to_list() == ["done"] * 12
    assert (tmp_path / "bounds.parquet").read_bytes() == before


def test_an_estimate_knows_what_is_proven(tmp_path: Path) -> None:
    run_small(tmp_path)
    store = Store(tmp_path)
    world = store.proven()["world"][0]
    others = [(world, "trivial"), (key(0), "prices")]
    assert store.unproven([(world, "prices"), *others]) == others
    assert estimate(small(lambda text: text.replace("[0, 0.5]", "[0, 0.25, 0.5]")), tmp_path).n_missing == 4


def in_files(folder: Path) -> None:
    """A folder as it was written before there were tables of proofs."""
    store = Store(folder)
    for world, kind, text in store.read_table(store.bounds_file).iter_rows():
        store.proof_file(world, kind).write_text(text)
    store.bounds_file.unlink()


def test_a_folder_with_files_alone_is_read_as_ever(small_copy: Path) -> None:
    asked = "SELECT * FROM bounds"
    rows = jw.query(small_copy, asked)
    in_files(small_copy)
    assert jw.query(small_copy, asked).equals(rows)
    assert {verdict.problems for verdict in verify(small_copy)} == {()}
    assert n_files(small_copy / "bounds") == 2


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("at", [10, -20])
def test_a_damaged_table_is_refused(at: int, small_copy: Path) -> None:
    table = small_copy / "bounds.parquet"
    damage(table, at)
    said = rf"{table}: cannot be read: .*; remove it and run the study again"
    for read in (
        lambda: run_study(small(), small_copy, 1),
        lambda: estimate(small(), small_copy),
        lambda: jw.query(small_copy, "SELECT * FROM bounds"),
        lambda: verify(small_copy),
    ):
        with pytest.raises(InputError, match=said):
            read()
    table.unlink()
    assert run_study(small(), small_copy, 1).runs["status"].to_list() == ["done"] * 8
    assert {verdict.problems for verdict in verify(small_copy)} == {()}


def test_a_table_that_somebody_else_wrote_is_judged(small_copy: Path) -> None:
    path = small_copy / "bounds.parquet"
    lower = pl.col("proof").str.replace('"maximum_utility": ', '"maximum_utility": 1', literal=True)
    pl.read_parquet(path).with_columns(lower).write_parquet(path)
    assert all("bounds: maximum_utility" in verdict.problems[0] for verdict in verify(small_copy))
    with pytest.raises(InputError, match="it is not as Joulewise wrote it"):
        run_study(small(), small_copy, 1)


def test_a_table_with_kinds_that_are_no_texts_is_refused(small_copy: Path) -> None:
    path = small_copy / "bounds.parquet"
    pl.read_parquet(path).with_columns(pl.struct("kind").alias("kind")).write_parquet(path)
    with pytest.raises(InputError, match=f"{path}: cannot be read: "):
        verify(small_copy)


def test_a_table_of_another_folder_is_refused(small_copy: Path) -> None:
    store = Store(small_copy)
    shutil.copy(store.runs_file, store.bounds_file)
    with pytest.raises(InputError, match="it is not as Joulewise wrote it"):
        run_study(small(), small_copy, 1)


def test_a_question_finds_proofs_while_a_study_is_run(small_copy: Path) -> None:
    rows = jw.query(small_copy, "SELECT * FROM bounds")
    in_files(small_copy)
    gather(Store(small_copy))
    assert jw.query(small_copy, "SELECT * FROM bounds").equals(rows)
    assert pl.read_parquet(small_copy / "fragments" / "bounds-000001.parquet").height == rows.height
