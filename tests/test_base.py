"""The first row of the house: units, errors, random streams, files."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import joulewise as jw
from joulewise.errors import InputError, JoulewiseError, Problem, nearest, raise_if_any, unknown_name
from joulewise.files import locked, replacing, sha256_of, write_atomic
from joulewise.progress import Progress, usual_telling
from joulewise.rng import generator
from joulewise.units import duration, energy, joules, n_bytes, seconds, size, watts

# Units


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (seconds, "10 min", 600.0),
        (seconds, "1.5h", 5400.0),
        (seconds, " 2 days ", 172800.0),
        (seconds, "250 ms", 0.25),
        (seconds, "0 s", 0.0),
        (seconds, "1e3 s", 1000.0),
        (seconds, ".5 s", 0.5),
        (seconds, "-3 s", -3.0),
        (joules, "1.11 GJ", 1.11e9),
        (joules, "1 kWh", 3.6e6),
        (watts, "66 W", 66.0),
        (watts, "2 mW", 0.002),
        (watts, "2 MW", 2e6),
        (n_bytes, "2 TB", 2e12),
        (n_bytes, "1 TiB", 2.0**40),
    ],
)
def test_quantities_are_read(parse: Any, text: str, value: float) -> None:
    assert parse(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("parse", "text", "found"),
    [
        (seconds, "10", "found '10'"),
        (seconds, "", "found ''"),
        (seconds, "min", "found 'min'"),
        (seconds, "10 minutes 3 s", "found '10 minutes 3 s'"),
        (seconds, "nan s", "found 'nan s'"),
        (seconds, "inf s", "found 'inf s'"),
        (seconds, "10 GJ", "found the unit 'GJ'"),
        (joules, "10 s", "found the unit 's'"),
        (watts, "5 w", "found the unit 'w'"),
        (seconds, "1e400 s", "too large"),
    ],
)
def test_wrong_quantities_say_what_is_allowed(parse: Any, text: str, found: str) -> None:
    with pytest.raises(ValueError, match="must be a number and a unit") as caught:
        parse(text)
    assert found in str(caught.value)
    assert "for example" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        (duration(600.0), "10 min"),
        (duration(0.25), "250 ms"),
        (duration(93600.0), "1.083 d"),
        (duration(0.0), "0 ms"),
        (duration(59.0), "59 s"),
        (energy(1.11e9), "1.11 GJ"),
        (size(64e6), "64 MB"),
        (energy(0.5), "0.5 J"),
        (energy(-2e6), "-2 MJ"),
    ],
)
def test_quantities_are_spelled(text: str, spelled: str) -> None:
    assert text == spelled


@given(st.floats(1e-3, 1e9))
def test_spelled_durations_can_be_read_again(value_s: float) -> None:
    assert seconds(duration(value_s)) == pytest.approx(value_s, rel=1e-3)


@given(st.floats(1e-3, 1e15))
def test_spelled_energies_can_be_read_again(value_j: float) -> None:
    assert joules(energy(value_j)) == pytest.approx(value_j, rel=1e-3)


# Errors


def test_a_problem_is_one_line_with_all_its_parts() -> None:
    problem = Problem("workload.tasks", "found -1", "must be 1 or more", "leave it out")
    assert str(problem) == "workload.tasks: found -1; must be 1 or more; leave it out"
    assert str(Problem("here", "found nothing")) == "here: found nothing"


def test_an_input_error_carries_all_problems() -> None:
    problems = Problem("a", "found x"), Problem("b", "found y")
    error = InputError(*problems)
    assert error.problems == problems
    assert str(error) == "a: found x\nb: found y"
    assert isinstance(error, JoulewiseError)


def test_an_input_error_travels_between_processes() -> None:
    error = pickle.loads(pickle.dumps(InputError(Problem("a", "found x"))))
    assert error.problems == (Problem("a", "found x"),)


def test_raise_if_any() -> None:
    raise_if_any([])
    with pytest.raises(InputError, match="a: found x\nb: found y"):
        raise_if_any(Problem(where, found) for where, found in (("a", "found x"), ("b", "found y")))


@pytest.mark.parametrize(
    ("typo", "meant"), [("max-utl", "max-util"), ("MAX-UTIL", "max-util"), ("randon", "random"), ("zzz", None)]
)
def test_typos_find_the_nearest_name(typo: str, meant: str | None) -> None:
    assert nearest(typo, ["random", "max-util", "max-upt"]) == meant


def test_unknown_names_list_the_choices() -> None:
    assert str(unknown_name("policy", "max-utl", ["random", "max-util"])) == (
        "policy: found 'max-utl'; must be one of random, max-util; did you mean 'max-util'?"
    )
    assert str(unknown_name("policy", "zzz", ["random"])) == "policy: found 'zzz'; must be one of random"


# Random streams


def test_a_stream_is_its_own() -> None:
    def draw(*key: Any) -> tuple[float, ...]:
        return tuple(generator(*key).random(3))

    assert draw(0, "etc") == draw(0, "etc")
    keys = [(0, "etc"), (1, "etc"), (0, "power"), (0, 0, "etc"), (0, 1, "etc"), (0, 1), (0, "1"), (0, "et", "c"), (0,)]
    assert len({draw(*key) for key in keys}) == len(keys)


def test_streams_ignore_the_global_state() -> None:
    np.random.seed(1)
    first = generator(0, "x").random()
    np.random.seed(2)
    assert generator(0, "x").random() == first


def test_streams_stay_as_they_are() -> None:
    """Published results hang on these draws: a change needs a new results version."""
    assert generator(0, 0, "system.etc").integers(0, 1000, 4).tolist() == [112, 999, 919, 645]


# Files


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_atomic(path, "één")
    assert path.read_text(encoding="utf-8") == "één"
    write_atomic(path, b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert [each.name for each in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomic(path, "before")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_sha256_is_that_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"abc")
    assert sha256_of(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def _try_to_lock(folder: str, answer: Any) -> None:
    try:
        with locked(Path(folder)):
            answer.put("locked")
    except InputError as error:
        answer.put(str(error))


def _answer_of_another_process(folder: Path) -> str:
    spawn = multiprocessing.get_context("spawn")
    answer = spawn.SimpleQueue()
    process = spawn.Process(target=_try_to_lock, args=(str(folder), answer))
    process.start()
    said = str(answer.get())
    process.join()
    return said


NOTHING: Any = 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jw.run(NOTHING, NOTHING), r"world: found 3; must be a World; .*\nmanager: found 3; must be a Manager"),
        (lambda: jw.jobs.Scheduler(NOTHING), "scheduler.policy: found 3; must be a JobPolicy"),
        (lambda: jw.plot(NOTHING), "plot: found 3; must be a Mapping; give one object, or several by name"),
    ],
)
def test_other_kinds_of_objects_are_refused_with_the_way(call: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with locked(folder):
        assert "another process is writing here" in _answer_of_another_process(folder)
    assert _answer_of_another_process(folder) == "locked"


# --- progress ---------------------------------------------------------------------------------------------


class Handle:
    """What a notebook shows of a cell, and how often."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def update(self, shown: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.lines.append(shown["text/plain"])


def notebook(monkeypatch: pytest.MonkeyPatch, shell: object) -> Handle:
    """A notebook, or whatever has this shell."""
    handle, outer, inner = Handle(), ModuleType("IPython"), ModuleType("IPython.display")

    def display(shown: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert display_id
        handle.update(shown, raw=raw)
        return handle

    outer.get_ipython = lambda: shell  # type: ignore[attr-defined]
    inner.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", outer)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    return handle


def test_a_notebook_shows_progress_as_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    handle, tell = notebook(monkeypatch, SimpleNamespace(kernel=1)), usual_telling()
    for n_done in range(1001):
        tell(Progress(1000, n_done, 0, 2))
    assert handle.lines[0] == "2 of 1,002 runs are there; 2 were there already"
    assert handle.lines[-1] == "1,002 of 1,002 runs are there; 2 were there already"
    assert len(handle.lines) < 100


@pytest.mark.parametrize("shell", [None, object()])
def test_scripts_and_terminals_show_none(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    handle = notebook(monkeypatch, shell)
    usual_telling()(Progress(1, 1, 0, 0))
    assert handle.lines == []
