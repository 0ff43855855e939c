"""`verify` holds what is stored against the study, and notices what was changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.kernels import jit
from joulewise.progress import Cancelled, CancelToken
from joulewise.study import open_results, parse_study, run_study, to_verify, verify
from joulewise.study.kinds.case import FAILS_AGAIN, NOT_CHECKED
from joulewise.study.spec.column import RECORDS
from joulewise.study.store.store import Store
from tests.strategies.proofs import alter_proofs
from tests.strategies.small import HEURISTIC, TEXT, run_small, timed
from tests.strategies.small_jobs import LOG, LOGGED


def test_what_was_just_run_holds(small_results: Path) -> None:
    seen: list[tuple[int, int]] = []
    verdicts = verify(small_results, lambda done, total: seen.append((done, total)))
    assert [verdict.problems for verdict in verdicts] == [()] * 8
    assert [verdict.has_records for verdict in verdicts] == [True, False] * 4
    assert (list(verdicts[0].point.values()), verdicts[0].trial) == (["random", 0.0], 0)
    assert seen[0] == (0, 8)
    assert seen[-1] == (8, 8)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_days_with_utilities_that_rise_hold(tmp_path: Path) -> None:
    """Runs, records and the bound of policies that wait for the peak, price it, or are blind to it."""
    policies = '["max-util", "min-min-comp", "max-max-upt", "patient-upt", "prices"]'
    text = TEXT.replace('["random", "max-max-upt"]', policies).replace("[0, 0.5]", "0.5")
    text = text.replace("= 150", "= 150\nrising_share = 0.5").replace("trials = 2", "trials = 1")
    results = run_study(parse_study(text, "study.toml", tmp_path), tmp_path)
    assert [verdict.problems for verdict in verify(tmp_path)] == [()] * 5
    assert (results.runs["possible_percent"] < 100).all()
    earned = dict(results.runs.select("manager.policy", "utility").iter_rows())
    assert earned["patient-upt"] != earned["max-max-upt"]


def test_compiled_kernels_are_remembered_by_kind(small_results: Path) -> None:
    assert jit.kernels_are_compiled(open_results(small_results).study.kind.name)
    assert not jit.kernels_are_compiled("no such kind")


def test_it_can_be_cancelled(small_results: Path) -> None:
    cancel = CancelToken()
    with pytest.raises(Cancelled, match="after 1 of 8 runs were judged; nothing was changed"):
        verify(small_results, lambda done, _: cancel.cancel() if done else None, cancel)


def test_half_of_the_tables_of_a_run_are_refused_unless_it_failed(small_copy: Path) -> None:
    store, results = Store(small_copy), open_results(small_copy)
    store.detail_file(RECORDS, results.runs["run"][0]).unlink()
    with pytest.raises(InputError, match=r"is missing; run the study again, which computes what is missing"):
        open_results(small_copy)
    first = pl.int_range(pl.len()) == 0
    said = {"status": "failed", "error": "no room"}
    failed = results.runs.with_columns(pl.when(first).then(pl.lit(v)).otherwise(k).alias(k) for k, v in said.items())
    store.write_table(store.runs_file, failed)
    assert open_results(small_copy).failed.height == 1


@pytest.mark.parametrize("n_bytes", [0, 60])
def test_a_detail_table_that_was_cut_short_is_told_though_nobody_draws_it(small_copy: Path, n_bytes: int) -> None:
    cut = sorted((small_copy / "records").iterdir())[-1]
    cut.write_bytes(cut.read_bytes()[:n_bytes])
    with pytest.raises(InputError, match=rf"{cut.name}: is cut short; must be a Parquet file; remove it and run"):
        open_results(small_copy)


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
    alter_proofs(store, lambda proof: proof | {"maximum_utility": 1.0})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_runs, "runs: utility"),
        (change_percent, "runs: possible_percent"),
        (change_records, "start_s"),
        (drop_records, "records: 3 rows are stored"),
        (change_bounds, "bounds: maximum_utility"),
    ],
)
def test_what_was_changed_is_noticed(change: Callable[[Store, str], None], words: str, small_copy: Path) -> None:
    run = open_results(small_copy).runs["run"][0]
    change(Store(small_copy), run)
    (verdict,) = [verdict for verdict in verify(small_copy) if verdict.run == run]
    assert any(words in problem for problem in verdict.problems)


def own_heuristic(folder: Path, spec: str = "mine.py:mine") -> Path:
    """The results of a study with a heuristic of its own, in the same folder as the file that has it."""
    file = folder / spec.partition(":")[0]
    file.write_text(HEURISTIC)
    study = parse_study(TEXT.replace('"random"', f'"{spec}"'), "study.toml", folder)
    return run_study(study, folder / "out", 1).folder


def test_inputs_that_changed_since_are_reported(tmp_path: Path) -> None:
    folder = own_heuristic(tmp_path)
    (tmp_path / "mine.py").write_text(HEURISTIC + "# changed")
    with pytest.raises(InputError, match=r"mine\.py must be as it was"):
        verify(folder, code=tmp_path)


def test_code_is_run_only_from_a_folder_that_is_trusted(tmp_path: Path) -> None:
    folder = own_heuristic(tmp_path)
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')")
    with pytest.raises(InputError, match=r"would run 'mine\.py:mine'.*--trust-code FOLDER"):
        verify(folder)
    (mine := tmp_path / "mine").mkdir()
    (mine / "mine.py").write_text(HEURISTIC)
    assert [verdict.problems for verdict in verify(folder, code=mine)] == [()] * 8


@pytest.mark.parametrize("spec", ["../mine.py:mine", "{}/mine.py:mine"])
def test_code_outside_the_trusted_folder_is_not_run(spec: str, tmp_path: Path) -> None:
    (inner := tmp_path / "inner").mkdir()
    folder = own_heuristic(inner, spec.format(tmp_path))
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')")
    with pytest.raises(InputError, match="files are taken only from below"):
        verify(folder, code=inner)


def test_links_do_not_lead_out_of_the_trusted_folder(tmp_path: Path) -> None:
    (inner := tmp_path / "inner").mkdir()
    folder = own_heuristic(inner)
    (inner / "mine.py").rename(tmp_path / "mine.py")
    (inner / "mine.py").symlink_to(tmp_path / "mine.py")
    with pytest.raises(InputError, match="files are taken only from below"):
        verify(folder, code=inner)


def test_folders_that_are_not_there_are_told(small_results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such folder"):
        verify(small_results, files=tmp_path / "nowhere")
    with pytest.raises(InputError, match="--files: found beside --trust-code"):
        verify(small_results, code=tmp_path, files=tmp_path)
    with pytest.raises(InputError, match="nowhere: there is no such folder"):
        open_results(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"runs\.parquet: is a file"):
        open_results(small_results / "runs.parquet")


def test_files_are_read_only_below_places_that_were_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.swf").write_text(LOG)
    folder = run_study(parse_study(LOGGED, "study.toml", tmp_path), tmp_path / "out", 1).folder
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    with pytest.raises(InputError, match=r"would read '.*log\.swf'; files are taken only from below .*--files FOLDER"):
        verify(folder)
    assert not any(verdict.problems for verdict in verify(folder, files=tmp_path))
    monkeypatch.chdir(tmp_path)
    assert to_verify(folder).n_runs


def test_swapped_labels_are_noticed(small_copy: Path) -> None:
    store = Store(small_copy)
    runs = store.read_table(store.runs_file)
    swapped = pl.col("manager.policy").replace({"random": "max-max-upt", "max-max-upt": "random"})
    store.write_table(store.runs_file, runs.with_columns(swapped))
    with pytest.raises(InputError, match=r"row 0: runs: manager\.policy: 'max-max-upt' is stored, 'random' was run"):
        verify(small_copy)


def test_swapped_runs_are_noticed(small_copy: Path) -> None:
    store = Store(small_copy)
    runs = store.read_table(store.runs_file)
    came_out = [name for name in runs.columns if "." not in name and name not in ("variant", "trial", "seed")]
    store.write_table(store.runs_file, runs.with_columns(pl.col(came_out).reverse()))
    with pytest.raises(InputError, match="other inputs"):
        verify(small_copy)
    keys = ("run", "world", "bound")
    others = [name for name in came_out if name not in keys]
    store.write_table(store.runs_file, runs.with_columns(pl.col(others).reverse()))
    assert all(verdict.problems for verdict in verify(small_copy))


def test_a_warm_up_task_cannot_change_its_fate(small_copy: Path) -> None:
    store, run = Store(small_copy), open_results(small_copy).runs["run"][0]
    path = store.detail_file(RECORDS, run)
    table = store.read_table(path)
    fates = table["fate"].to_list()
    fates[0] = {"dropped": "waiting", "ran": "dropped"}.get(fates[0], "dropped")
    store.write_table(path, table.with_columns(pl.Series("fate", fates, table["fate"].dtype)))
    (verdict,) = [verdict for verdict in verify(small_copy) if verdict.run == run]
    assert "records: fate" in verdict.problems[0]


def test_what_will_be_computed_again_is_told_beforehand(small_results: Path) -> None:
    work = to_verify(small_results)
    assert work.n_again == 8
    assert work.seconds > 0.0


def test_how_long_it_takes_is_not_what_somebody_wrote(small_copy: Path) -> None:
    store, before_s = Store(small_copy), to_verify(small_copy).seconds
    table = store.read_table(store.runs_file)
    store.write_table(store.runs_file, table.with_columns(run_s=pl.lit(1e9)))
    assert to_verify(small_copy).seconds == before_s


def test_nothing_is_written_to_results(small_copy: Path) -> None:
    (small_copy / "bounds.parquet").unlink()
    before = sorted(small_copy.rglob("*"))
    assert all("bounds: the proof" in verdict.problems[0] for verdict in verify(small_copy))
    assert sorted(small_copy.rglob("*")) == before


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_what_depends_on_a_clock_is_judged_by_what_is_stored(tmp_path: Path) -> None:
    folder = run_small(tmp_path, change=timed).folder
    stored, other = verify(folder)
    assert (stored.problems, other.problems) == ((), ())
    assert stored.notes[0].startswith("mapping_events, late_events not compared")
    assert other.notes[0].startswith(NOT_CHECKED)
    change_records(Store(folder), stored.run)
    assert verify(folder)[0].problems


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_runs_without_records_are_simulated_again(tmp_path: Path) -> None:
    run_small(tmp_path, change=lambda text: 'keep = "none"\n' + text)
    assert [verdict.problems for verdict in verify(tmp_path)] == [()] * 8
    change_runs(Store(tmp_path), "")
    assert all("runs: utility" in verdict.problems[0] for verdict in verify(tmp_path))


TWICE = "two tasks at once on machine 1"


def failing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of which every run failed, and would fail again."""
    monkeypatch.setattr("joulewise.check.tasks.allocation.check_allocation", lambda *_: [TWICE])
    run_small(folder)


def test_runs_that_failed_fail_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(tmp_path, monkeypatch)
    assert [(verdict.problems, verdict.notes) for verdict in verify(tmp_path)] == [((), (FAILS_AGAIN,))] * 8
    assert to_verify(tmp_path).n_again == 8


def test_a_run_that_is_said_to_have_failed_and_does_not_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(tmp_path, monkeypatch)
    monkeypatch.undo()
    assert all("but it comes out; run the study again" in verdict.problems[0] for verdict in verify(tmp_path))


def test_another_reason_to_fail_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(tmp_path, monkeypatch)
    store = Store(tmp_path)
    table = store.read_table(store.runs_file)
    store.write_table(store.runs_file, table.with_columns(error=pl.lit("the disk was full")))
    assert all("'the disk was full' is stored" in verdict.problems[0] for verdict in verify(tmp_path))
