"""The queue of runs: what it does with orders, and that nothing is lost when it is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.progress import Progress
from joulewise.serve.run.editor import checked
from joulewise.serve.run.orders import Order, Orders, State
from joulewise.serve.run.queue import Limits, Queue
from joulewise.serve.run.telling import status_of
from joulewise.serve.run.texts import StudyText
from joulewise.study import parse_study, run_study
from tests.strategies.small import QUICKLY, TEXT, lasting, n_kept

WAIT_S = 120.0
STUDY = QUICKLY + TEXT
MANY = STUDY.replace("trials = 2", "trials = 150").replace("tasks_per_day = 150", "tasks_per_day = 3000")
N_RUNS = 600


def wait_until(holds: Callable[[], object], limit_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def text_of(root: Path, name: str, text: str = STUDY) -> StudyText:
    """A study text in a folder."""
    path = root / f"{name}.toml"
    path.write_text(text.replace('name = "small"', f'name = "{name}"'))
    return StudyText(path.name, path, path.read_text())


def state_of(order: Order) -> State:
    """How far an order is now."""
    return order.state


def order_in(queue: Queue, study: StudyText) -> Order:
    """Order a study as pages do, which check it first."""
    return queue.order(study, checked(study.text, study.path, queue.root, allows_code=queue.allows_code))


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    """A queue that nobody looks after but the test."""
    made = Queue(tmp_path, Limits(most_waiting=2, grace_s=30.0))
    yield made
    made.close()


# --- orders, without any process ---------------------------------------------------------------------------------


def test_what_is_known_of_an_order_is_on_disk(tmp_path: Path) -> None:
    order = Orders(tmp_path).add("a.toml", "a", "text", "results/a")
    (found,) = Orders(tmp_path).all()
    assert (found.number, found.study, found.name, found.text) == (1, "a.toml", "a", "text")
    assert (found.state, found.progress, found.log) == (State.WAITING, None, "")
    found.tell(progress := Progress(4, 1, 0, 2, now="on it"))
    assert order.progress == progress
    found.end(State.DONE)
    assert state_of(order) is State.DONE
    assert Orders(tmp_path).add("a.toml", "a", "text", "results/a").number == 2
    with pytest.raises(InputError, match="no run with the number 9"):
        Orders(tmp_path).one(9)


def test_orders_that_a_folder_brings_are_not_run(tmp_path: Path) -> None:
    order = Orders(tmp_path / "mine").add("a.toml", "a", "text", "results/a")
    shutil.copytree(order.folder, tmp_path / "theirs" / ".joulewise" / "runs" / "00001")
    theirs = Queue(tmp_path / "theirs")
    assert theirs.orders.all() == []
    order_in(theirs, text_of(tmp_path / "theirs", "one"))
    assert sorted(path.name for path in (tmp_path / "theirs").iterdir()) == [".joulewise", "one.toml"]
    assert not theirs.orders.folder.is_relative_to(tmp_path / "theirs")


def test_states_follow_from_files(tmp_path: Path) -> None:
    order = Orders(tmp_path).add("a.toml", "a", "text", "results/a")
    order.cancel()
    assert state_of(order) is State.CANCELLING
    order.renew()
    with order.held() as lock:
        assert lock is not None
        order.begin()
        assert state_of(order) is State.RUNNING
        with order.held() as other:
            assert other is None
        order.cancel()
        assert state_of(order) is State.CANCELLING
    assert state_of(order) is State.BROKEN
    order.put_back()
    order.renew()
    assert state_of(order) is State.WAITING


DAMAGES = [
    "{",
    "{}",
    "[]",
    "[" * 10_000,
    '{"at_s": 1.0, "n_times": 1, "pid": "1"}',
    '{"at_s": 0, "n_times": 1, "pid": -1}',
]


@pytest.mark.parametrize("name", ["order.json", "end.json", "begun.json", "progress.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_order_with_a_damaged_file_is_broken_and_keeps_no_other_from_running(
    name: str, damage: str, tmp_path: Path
) -> None:
    queue = Queue(tmp_path, Limits(most_running=0))
    order, other = (queue.orders.add(f"{name}.toml", name, "text", f"results/{name}") for name in "ab")
    (order.folder / name).write_text(damage)
    other.cancel()
    queue.look()
    queue.close()
    found, _ = queue.orders.all()
    assert state_of(other) is State.CANCELLED
    assert (state_of(found), found.progress) == (State.WAITING if name == "progress.json" else State.BROKEN, None)
    assert status_of(found)["number"] == 1
    if name == "order.json":
        with pytest.raises(InputError, match="cannot be read"):
            queue.resume(1)


def test_what_goes_wrong_with_one_order_is_logged_once_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = Queue(tmp_path, Limits(most_running=1))
    for name in "ab":
        queue.orders.add(f"{name}.toml", name, "text", f"results/{name}")
    started = []

    def start(_queue: Queue, order: Order) -> None:
        if order.number == 1:
            raise RuntimeError("no luck")
        started.append(order.number)

    monkeypatch.setattr(Queue, "_start", start)
    queue.open()
    wait_until(lambda: len(started) >= 2)
    queue.close()
    assert [record.getMessage() for record in caplog.records] == ["run 1: no luck"]


def test_orders_are_refused_with_words(queue: Queue, tmp_path: Path) -> None:
    first = order_in(queue, text_of(tmp_path, "one"))
    with pytest.raises(InputError, match=r"results/one is being made by run 1"):
        order_in(queue, text_of(tmp_path, "one"))
    for name in ("two", "three"):
        order_in(queue, text_of(tmp_path, name))
    with pytest.raises(InputError, match="3 runs are open; there may be 3"):
        order_in(queue, text_of(tmp_path, "four"))
    with pytest.raises(InputError, match="must be one of"):
        order_in(queue, text_of(tmp_path, "five", STUDY.replace("max-max-upt", "mix-mix-upt")))
    for refused in (queue.resume, queue.forget):
        with pytest.raises(InputError, match="run 1 is waiting"):
            refused(first.number)
    queue.cancel(first.number)
    with pytest.raises(InputError, match="cancel it first"):
        queue.forget(first.number)


def test_a_second_workbench_leaves_processes_to_the_first(queue: Queue, tmp_path: Path) -> None:
    queue.look()
    assert not queue.orders.folder.exists()  # who looks leaves no trace
    second = Queue(tmp_path)
    order = order_in(second, text_of(tmp_path, "one"))
    assert queue._is_keeper()
    second.look()
    assert state_of(order) is State.WAITING
    second.cancel(order.number)
    queue.look()
    assert state_of(order) is State.CANCELLED
    queue.close()
    order.end(State.BROKEN)
    second.resume(order.number)
    second.close()


def test_whose_process_ended_with_its_workbench_waits_again_but_not_for_ever(tmp_path: Path) -> None:
    order = Orders(tmp_path).add("a.toml", "a", "text", "results/a")
    for _ in range(2):
        order.begin()
        order.put_back()
        assert state_of(order) is State.WAITING
    order.begin()
    keeper = Queue(tmp_path, Limits(most_running=0))
    keeper.look()
    keeper.close()
    assert state_of(order) is State.BROKEN
    assert order.ended is not None
    assert "without a word" in order.ended.words


# --- with processes ----------------------------------------------------------------------------------------------


def test_what_is_wrong_by_the_time_it_runs_is_told(queue: Queue, tmp_path: Path) -> None:
    order = order_in(queue, text_of(tmp_path, "one"))
    told = json.loads((order.folder / "order.json").read_text())
    (order.folder / "order.json").write_text(json.dumps({**told, "text": STUDY.replace("random", "mine.py:mine")}))
    queue.look()
    wait_until(lambda: order.ended)
    again = Order(order.number, order.folder)
    assert again.ended is not None
    assert again.ended.state is State.REFUSED
    assert "Python files are not run here" in again.ended.words
    assert "Python files are not run here" in again.log
    wait_until(lambda: not again.is_alive)
    queue.look()
    queue.forget(again.number)
    assert queue.orders.all() == []


def _table(folder: Path) -> pl.DataFrame:
    return lasting(pl.read_parquet(folder / "runs.parquet"))


@pytest.mark.thorough("runs studies in processes of their own")
def test_runs_are_cancelled_and_resumed_one_after_the_other(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    first, second = (order_in(queue, text_of(tmp_path, name, MANY)) for name in ("one", "two"))
    queue.open()
    try:
        wait_until(lambda: n_kept(tmp_path / "results" / "one") >= 3)
        assert state_of(second) is State.WAITING
        queue.cancel(second.number)
        queue.cancel(first.number)
        wait_until(lambda: first.ended and second.ended)
        assert (state_of(first), state_of(second)) == (State.CANCELLED, State.CANCELLED)
        assert first.ended is not None
        assert "finished runs are kept" in first.ended.words
        assert 3 <= n_kept(tmp_path / "results" / "one") < N_RUNS
        queue.resume(first.number)
        wait_until(lambda: first.ended)
        assert state_of(first) is State.DONE, first.log
        assert first.progress is not None
        assert first.progress.n_reused >= 3
        with pytest.raises(InputError, match="nothing to go on with"):
            queue.resume(first.number)
    finally:
        queue.close()
    assert _table(tmp_path / "results" / "one").height == N_RUNS
    assert (tmp_path / "results" / "one" / "report.html").is_file()


@pytest.mark.thorough("runs studies in processes of their own")
@pytest.mark.parametrize(
    ("limits", "why"),
    [(Limits(most_s=2.0), "it took longer than 2 s"), (Limits(most_bytes=1e6), r"of memory, and may take 1 MB")],
)
def test_a_run_that_takes_too_much_is_ended(limits: Limits, why: str, tmp_path: Path) -> None:
    queue = Queue(tmp_path, replace(limits, grace_s=30.0))
    order = order_in(queue, text_of(tmp_path, "one", MANY))
    queue.open()
    try:
        wait_until(lambda: order.ended)
    finally:
        queue.close()
    assert order.ended is not None
    assert order.ended.state is State.CANCELLED
    assert why in order.ended.words
    assert "finished runs are kept" in order.ended.words


SERVER = """
import sys, time
from pathlib import Path
from joulewise.serve.run.queue import Queue

queue = Queue(Path(sys.argv[1]))
queue.open()
time.sleep(600)
"""


@pytest.mark.thorough("kills processes in the middle of a study")
@pytest.mark.parametrize("with_run", [False, True], ids=["run-lives-on", "run-dies-too"])
def test_killing_the_workbench_in_the_middle_of_a_run_loses_nothing(with_run: bool, tmp_path: Path) -> None:
    order = order_in(Queue(tmp_path), text_of(tmp_path, "one", MANY))
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path)])
    folder = tmp_path / "results" / "one"
    wait_until(lambda: n_kept(folder) >= 3)
    server.kill()
    server.wait()
    begun = order.begun
    assert begun is not None
    if with_run:
        os.killpg(begun["pid"], signal.SIGKILL)
        wait_until(lambda: not order.is_alive)
        assert state_of(order) is State.BROKEN
    else:
        assert state_of(order) is State.RUNNING
    n_before = n_kept(folder)
    assert 3 <= n_before < N_RUNS

    again = Queue(tmp_path)
    again.open()
    try:
        wait_until(lambda: order.ended)
    finally:
        again.close()
    assert state_of(order) is State.DONE, order.log
    assert order.begun is not None
    assert order.begun["n_times"] == 1 + with_run
    assert order.progress is not None
    assert (order.progress.n_reused >= n_before) is with_run
    study = parse_study(order.text, "one.toml", tmp_path)
    straight = run_study(study, tmp_path / "straight", workers=1)
    assert _table(folder).equals(lasting(straight.runs))


@pytest.mark.thorough("ends a workbench in the middle of a study")
def test_closing_the_workbench_ends_runs_and_the_next_one_goes_on(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    order = order_in(queue, text_of(tmp_path, "one", MANY))
    queue.open()
    wait_until(lambda: n_kept(tmp_path / "results" / "one") >= 3)
    queue.close()
    assert not order.is_alive
    assert state_of(order) is State.BROKEN
    again = Queue(tmp_path)
    again.look()
    try:
        assert state_of(order) is State.RUNNING
    finally:
        again.close()
