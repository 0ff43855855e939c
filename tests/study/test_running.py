"""Studies run end to end: the same for any number of workers, resumed and reused by key."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partialmethod
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.files import write_atomic
from joulewise.kernels import jit
from joulewise.model import World
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.study import Progress, Results, Run, Study, open_results, parse_study, run_study
from joulewise.study.running import running
from joulewise.study.running.engines.engine import Answer
from joulewise.study.running.engines.here import Here
from joulewise.study.spec.column import TRACES
from joulewise.study.store import merging
from joulewise.study.store.store import Store
from joulewise.study.store.tables import said_table
from joulewise.study.tasks.day import ManagedKind
from tests.strategies.small import HEADING, HEURISTIC, MANAGER, QUICKLY, TEXT, lasting, n_kept, run_small, small


def stored_files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def with_own(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The small study with a heuristic of the user's own."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "mine.py").write_text(HEURISTIC)
    return small(lambda text: text.replace('"random"', '"mine.py:mine", "random"'), folder)


@pytest.fixture(scope="module")
def of_two(with_own: Study, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What two processes make of it."""
    return run_study(with_own, tmp_path_factory.mktemp("two"), workers=2)


def test_results_are_the_same_for_any_number_of_workers(with_own: Study, of_two: Results, tmp_path: Path) -> None:
    one = run_study(with_own, tmp_path, workers=1)
    assert lasting(one.runs).equals(lasting(of_two.runs))
    assert one.details(TRACES).equals(of_two.details(TRACES))
    for run in one.runs.filter(pl.col("trial") == 0)["run"]:
        assert one.records(run).equals(of_two.records(run))


def test_a_heuristic_of_ones_own_runs_in_every_process(of_two: Results) -> None:
    by_policy = of_two.runs.partition_by("manager.policy", as_dict=True)
    mine, upt = by_policy["mine.py:mine",], by_policy["max-max-upt",]
    assert mine["utility"].to_list() == upt["utility"].to_list()
    assert open_results(of_two.folder).about["files"].keys() == {"mine.py"}


def test_the_folder_holds_what_the_design_names(small_results: Path) -> None:
    results = open_results(small_results)
    assert results.runs.height == 8
    assert results.runs["status"].to_list() == ["done"] * 8
    names = {path.name for path in small_results.iterdir()}
    assert {"study.toml", "study.json", "runs.parquet", "records", "traces", "bounds.parquet"} <= names
    assert (small_results / "study.toml").read_text() == TEXT
    assert list((small_results / "fragments").iterdir()) == []
    assert len(list((small_results / "records").iterdir())) == len(list((small_results / "traces").iterdir())) == 4
    assert pl.read_parquet(small_results / "bounds.parquet").height == 2
    assert list((small_results / "bounds").iterdir()) == []


def test_every_parquet_file_says_its_schema_version(small_results: Path) -> None:
    for path in small_results.rglob("*.parquet"):
        assert pl.read_parquet_metadata(path)["schema_version"] == "4"


def test_the_percentage_is_of_the_bound_of_the_world(small_results: Path) -> None:
    runs = open_results(small_results).runs
    percent = 100 * runs["utility"] / runs["maximum_utility"]
    assert percent.to_list() == pytest.approx(runs["utility_percent"].to_list())
    assert runs.group_by("world").agg(pl.col("maximum_utility").n_unique())["maximum_utility"].to_list() == [1, 1]


def test_what_is_stored_is_not_computed_again(small_copy: Path) -> None:
    seen: list[Progress] = []
    first = open_results(small_copy).runs
    larger = small(lambda text: text.replace("trials = 2", "trials = 3").replace('"random"', '"random", "max-util"'))
    runs = run_study(larger, small_copy, 1, seen.append).runs
    assert (seen[0].n_total, seen[0].n_reused) == (3 * 6 - 8, 8)
    old = runs.filter(pl.col("run").is_in(first["run"].implode()))
    assert old.sort("run").equals(first.sort("run"))  # with the times of the first time


def test_runs_that_a_study_no_longer_asks_for_are_set_aside_and_found_again(small_copy: Path) -> None:
    seen: list[Progress] = []
    first = open_results(small_copy)
    fewer = run_study(small(lambda text: text.replace('"random", ', "")), small_copy, 1)
    assert fewer.runs["manager.policy"].unique().to_list() == ["max-max-upt"]
    again = run_study(small(), small_copy, 1, seen.append)
    assert seen[-1].n_total == 0
    assert again.runs.equals(first.runs)


def changed_files(folder: Path) -> dict[str, int]:
    """Every file of a folder with the instant of its last change."""
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_running_a_finished_study_again_writes_nothing(small_copy: Path) -> None:
    run_small(small_copy)  # which takes the folder over from where it was copied
    before, seen = changed_files(small_copy), list[Progress]()
    first = open_results(small_copy)
    again = run_study(small(), small_copy, 1, seen.append)
    assert changed_files(small_copy) == before
    assert (seen[-1].n_total, seen[-1].n_reused) == (0, 8)
    assert (again.about, again.runs.equals(first.runs)) == (first.about, True)


def test_a_study_with_another_text_and_the_same_runs_gets_its_new_heading(small_copy: Path) -> None:
    run_study(small(lambda text: text + "# a remark\n"), small_copy, 1)
    assert (small_copy / "study.toml").read_text().endswith("# a remark\n")


def test_results_of_another_machine_say_that_it_computed_them(small_copy: Path) -> None:
    marker = small_copy / "study.json"
    about = json.loads(marker.read_text()) | {"python": "3.99.0", "machine": "another", "study_folder": "/elsewhere"}
    marker.write_text(json.dumps(about))
    found = run_small(small_copy).about
    assert {key: found[key] for key in ("python", "machine", "run_at")} == {
        key: about[key] for key in ("python", "machine", "run_at")
    }
    assert found["study_folder"] != "/elsewhere"


def test_asking_for_more_details_computes_only_the_runs_that_lack_them(small_copy: Path) -> None:
    seen: list[Progress] = []
    run_study(small(lambda text: 'keep = "all"\n' + text), small_copy, 1, seen.append)
    assert seen[-1].n_done == seen[-1].n_total == 4
    assert len(list((small_copy / "records").iterdir())) == 8


def test_variants_of_one_meaning_are_computed_once_and_shown_each(tmp_path: Path) -> None:
    seen: list[Progress] = []
    twins = small(lambda text: text + '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\n')
    runs = run_study(twins, tmp_path, 1, seen.append).runs
    assert (seen[-1].n_total, runs.height) == (8, 16)
    assert runs["variant"].to_list() == ["a"] * 8 + ["b"] * 8


def fail_for_random(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(world: World, manager: Manager, seed: int, trial: int) -> Outcome:
        if manager.policy.name == "random":
            raise ZeroDivisionError("no luck")
        return simulate(world, manager, seed, trial)

    monkeypatch.setattr("joulewise.simulate.tasks.serial.simulate", failing)


def test_a_run_that_fails_is_stored_with_its_error_and_tried_again(
    small_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_for_random(patch)
        results = run_small(tmp_path)
    assert results.failed.height == 4
    assert results.failed["manager.policy"].unique().to_list() == ["random"]
    assert results.failed["error"][0].startswith("ZeroDivisionError: no luck (test_running.py, line ")
    assert set(results.summary()["manager.policy"]) == {"max-max-upt"}
    healed = run_small(tmp_path)
    assert healed.failed.is_empty()
    assert lasting(healed.runs).equals(lasting(open_results(small_results).runs))


def test_an_allocation_that_breaks_a_rule_is_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "joulewise.check.tasks.allocation.check_allocation", lambda *_: ["two tasks at once on machine 1"]
    )
    results = run_small(tmp_path)
    assert results.failed.height == 8
    assert "two tasks at once on machine 1" in results.failed["error"][0]


DYING = """
import multiprocessing, os
import joulewise

if multiprocessing.parent_process() is not None:
    os._exit(9)
""" + HEURISTIC  # fmt: skip


@pytest.mark.thorough("starts processes anew")
def test_a_process_that_dies_takes_no_other_run_with_it(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    text = TEXT.replace('"random"', '"dying.py:mine", "random"').replace("trials = 2", "trials = 1")
    text = QUICKLY + text.replace("[0, 0.5]", "0.5")
    results = run_study(parse_study(text, "study.toml", tmp_path), tmp_path / "out", workers=2)
    assert results.runs.height == 3
    assert results.failed["manager.policy"].unique().to_list() == ["dying.py:mine"]
    assert results.failed["error"].unique().to_list() == ["the process that ran it died; was it out of memory?"]


# --- folders --------------------------------------------------------------------------------------------


def test_a_folder_of_another_study_is_left_alone(small_copy: Path) -> None:
    before = stored_files(small_copy)
    with pytest.raises(InputError, match="holds the results of the study 'small'; this study is 'other'"):
        run_small(small_copy, change=lambda text: text.replace('"small"', '"other"'))
    assert stored_files(small_copy) == before


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("words")
    with pytest.raises(InputError, match="holds files that are not the results of a study"):
        run_small(tmp_path)
    assert stored_files(tmp_path) == {"thesis.tex": b"words"}


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ("{", "is damaged: "),
        ("[]", "must be an object"),
        ('{"name": "small", "schema_version": 99}', "found schema version 99"),
        ('{"name": "small", "schema_version": 4}', "is_finished: is missing"),
    ],
)
def test_a_folder_whose_marker_cannot_be_used_is_left_alone(marker: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(marker)
    with pytest.raises(InputError, match=words):
        run_small(tmp_path)
    assert stored_files(tmp_path) == {"study.json": marker.encode()}


def test_a_file_or_a_forbidden_place_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="found a file"):
        run_small(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be made"):
        run_small(tmp_path / "file" / "below")


def test_the_number_of_workers_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be from 1 to 1,024"):
        run_small(tmp_path, workers=0)


def test_the_time_left_is_the_estimate_until_enough_runs_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are told to take far longer than they do, on a machine that is half as fast as an ordinary one."""
    monkeypatch.setattr(running, "pace", lambda: 2.0)
    monkeypatch.setattr(ManagedKind, "seconds", lambda _kind, runs, *_: 100.0 * len(runs))
    seen: list[Progress] = []
    run_study(small(QUICKLY.__add__), tmp_path, 1, seen.append)
    n, told = seen[0].n_total, {now.n_done: now.left_s for now in seen}
    assert told[0] == 200.0 * n
    assert told[1] == 200.0 * (n - 1)
    assert 0 < (told[n - 1] or 0) < 100
    assert told[n] == 0.0


def test_where_nothing_is_known_of_runs_no_time_is_told_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ManagedKind, "seconds", lambda *_: 0.0)
    seen: list[Progress] = []
    run_study(small(QUICKLY.__add__), tmp_path, 1, seen.append)
    assert (seen[0].left_s, seen[-1].left_s) == (None, 0.0)


def test_two_processes_never_write_one_folder(tmp_path: Path) -> None:
    from joulewise.files import locked

    with locked(tmp_path), pytest.raises(InputError, match="another process is writing here"):
        run_small(tmp_path)


def test_a_disk_that_knows_no_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(InputError, match="cannot be held for one process alone: No locks available; choose a folder"):
        run_small(tmp_path)


def test_results_that_are_not_there_cannot_be_opened(small_copy: Path) -> None:
    with pytest.raises(InputError, match=r"has no study\.json"):
        open_results(small_copy.parent)
    Store(small_copy).runs_file.unlink()
    with pytest.raises(InputError, match="holds an unfinished study"):
        open_results(small_copy)


def test_damaged_files_are_reported(small_copy: Path) -> None:
    store = Store(small_copy)
    store.journal_file.write_text('{"run": "\n')
    with pytest.raises(InputError, match=r"journal\.jsonl: line 1: is damaged"):
        run_small(small_copy)
    store.journal_file.unlink()
    store.runs_file.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"runs\.parquet: cannot be read"):
        open_results(small_copy)
    store.study_file.unlink()
    with pytest.raises(InputError, match=r"study\.toml: cannot be read"):
        open_results(small_copy)


def test_a_world_in_which_nothing_can_be_earned_has_no_percentage(tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,m\na,100\n")
    (tmp_path / "tasks.csv").write_text("arrival_s,task_type\n0,a\n")
    tables = '[system]\netc_s = "etc.csv"\n[workload]\ntasks = "tasks.csv"\nend = "10 s"\n'
    text = HEADING + tables + MANAGER
    runs = run_study(parse_study(text, "study.toml", tmp_path), tmp_path / "out", 1).runs
    assert runs["maximum_utility"].to_list() == [0.0] * 6
    assert runs["utility_percent"].to_list() == [None] * 6


def test_results_read_back_are_those_that_were_returned(tmp_path: Path) -> None:
    written = run_small(tmp_path)
    read = open_results(tmp_path)
    assert read.runs.equals(written.runs)
    assert (read.study.axes, read.study.points) == (written.study.axes, written.study.points)
    assert read.summary().equals(written.summary())
    assert read.compared == "manager.policy"


# --- files and studies that change ----------------------------------------------------------------------


def test_a_file_that_changes_while_the_study_runs_fails_the_runs_that_read_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    study = parse_study(TEXT.replace('"random"', '"mine.py:mine"'), "study.toml", tmp_path)

    def edit(now: Progress) -> None:
        if now.n_done == 1:
            (tmp_path / "mine.py").write_text(HEURISTIC.replace("/ exec_s", ""))

    results = run_study(study, tmp_path / "out", 1, edit)
    assert results.failed["manager.policy"].unique().to_list() == ["mine.py:mine"]
    assert results.failed["error"].unique().to_list() == ["mine.py changed while the study was running; run it again"]
    again = run_study(study, tmp_path / "out", 1)
    assert again.failed.is_empty()


def test_an_interrupted_run_of_an_edited_study_leaves_the_old_results_readable(small_copy: Path) -> None:
    first = open_results(small_copy)

    def interrupt(now: Progress) -> None:
        if now.n_done == 1:
            raise KeyboardInterrupt

    edited = small(lambda text: text.replace("trials = 2", "trials = 3"))
    with pytest.raises(KeyboardInterrupt):
        run_study(edited, small_copy, 1, interrupt)
    read = open_results(small_copy)
    assert read.study.source == first.study.source
    assert read.runs.equals(first.runs)
    assert run_study(edited, small_copy, 1).runs.height == 12


def _edited(text: str) -> str:
    """A study that asks for more of one policy, and for nothing of another."""
    return text.replace("trials = 2", "trials = 3").replace('"random", ', "")


def test_results_are_read_while_others_are_merged(small_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, read = open_results(small_copy).runs, list[pl.DataFrame]()

    def reading(runs: Sequence[Run]) -> pl.DataFrame:
        read.append(open_results(small_copy).runs)
        return said_table(runs)

    monkeypatch.setattr(merging, "said_table", reading)
    assert run_small(small_copy, change=_edited).runs.height == 6
    assert [runs.equals(first) for runs in read] == [True]


class _Ended(BaseException):
    """Stands for the end of a process."""


@pytest.mark.thorough("merges a dozen times")
def test_whatever_ends_a_merge_no_row_is_lost_and_the_next_run_goes_on(
    small_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(running, "merge", _stepping(patch, 0))
        with pytest.raises(_Ended):
            run_small(small_copy, change=_edited)
    for n_steps in count(1):
        folder = shutil.copytree(small_copy, tmp_path / str(n_steps))
        with monkeypatch.context() as patch, suppress(_Ended):
            patch.setattr(running, "merge", _stepping(patch, n_steps))
            run_small(folder, change=_edited)
            break
        assert n_kept(folder) == 10
        if json.loads((folder / "study.json").read_text())["is_finished"]:
            assert open_results(folder).runs.height in (8, 6)
        assert run_small(folder, change=_edited).runs.height == 6
        assert n_kept(folder) == 10
        assert open_results(folder).failed.is_empty()
    assert n_steps > 5


def _stepping(patch: pytest.MonkeyPatch, n_steps: int) -> Callable[..., None]:
    """Merges, and ends when so many files have got their names or gone."""
    left = iter(range(n_steps))

    def step(path: Path, *given: Any, act: Callable[..., Any], **named: Any) -> Any:
        if (given or path.suffix != ".tmp") and next(left, None) is None:
            raise _Ended
        return act(path, *given, **named)

    def merge(*given: Any) -> None:
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, partialmethod(step, act=getattr(Path, name)))
        merging.merge(*given)

    return merge


def test_another_study_file_of_the_same_name_is_refused(small_copy: Path, tmp_path: Path) -> None:
    run_study(small(folder=tmp_path / "moved"), small_copy, 1)
    before = stored_files(small_copy)
    with pytest.raises(InputError, match=r"holds the results of another study of this name.* --out"):
        run_study(small(lambda text: text.replace("= 150", "= 151"), tmp_path / "b"), small_copy, 1)
    assert stored_files(small_copy) == before


def test_runs_that_are_set_aside_still_say_what_they_are(small_copy: Path) -> None:
    run_study(small(lambda text: text.replace('"random", ', "")), small_copy, 1)
    earlier = pl.read_parquet(Store(small_copy).earlier_file)
    assert earlier["manager.policy"].to_list() == ["random"] * 4
    assert sorted(earlier["trial"]) == [0, 0, 1, 1]


@pytest.mark.thorough("starts a script that starts processes")
def test_a_plain_script_needs_no_guard(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(QUICKLY + TEXT.replace("trials = 2", "trials = 1"))
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom joulewise.study import read_study, run_study\n"
        "print('once', run_study(read_study(Path('study.toml')), Path('out'), 2).runs['status'].to_list())\n"
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"once {['done'] * 4}\n", "")


def test_new_files_have_the_permissions_that_the_user_gives(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_kernels_need_no_cache_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "file" / "below")
    jit.mark_kernels_compiled("managed")
    assert not jit.kernels_are_compiled("managed")
    assert not jit._can_cache.__wrapped__()


class Joining(Here):
    """320 workers may come, of which two are there an hour later; from then on, they take two seconds for a run."""

    n_workers = 320
    n_there = 0
    now_s = 0.0

    def answers(self) -> list[Answer]:
        self.now_s += 2 if self.n_there else 3600
        self.n_there = 2
        return super().answers()


def test_workers_that_are_there_are_told_and_the_pace_since_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, seen = Joining(), list[Progress]()
    clock = SimpleNamespace(monotonic=lambda: engine.now_s, perf_counter=time.perf_counter)
    monkeypatch.setattr("joulewise.study.running.running.time", clock)
    run_study(small(lambda text: QUICKLY + text), tmp_path, on_progress=seen.append, engine=engine)
    assert [now.doing for now in seen] == ["", "", *["0.5 runs/s by 2 workers"] * 7]
