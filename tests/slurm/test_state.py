"""What the bridge remembers: nothing is lost that was noted, nothing counted twice, whatever ends it."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.slurm.state import NAME, Decision, Run, State, _prepare, beat, looked_at, opened, run_of
from tests.strategies.bad_disk import PAGE, can_mount, fill, mounted
from tests.strategies.sources import PACKAGE

FIRST = Run("7", 0, 1000.0, 1600.0, 200.0)
SECOND = Run("5_2", 1, 1100.0, math.inf, 50.0)


# --- energy -------------------------------------------------------------------------------------------------


def test_runs_are_counted_by_their_time_however_often_they_are_seen(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        for now_s in (1100, 1150, 1150, 1200):
            state.see_runs([FIRST, SECOND], [], now_s)
        assert state.energy_j(0, 1200) == 200 * 200 + 50 * 100
        assert state.energy_j(1150, 1200) == 250 * 50
        assert state.energy_j(1300, 1300) == 0


def test_a_run_that_is_over_ends_when_slurm_says_so(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([FIRST], [], 1100)
        state.see_runs([], [FIRST._replace(end_at_s=1050.0)], 1300)
        state.see_runs([FIRST], [], 1301)  # an older answer that came late
        assert state.energy_j(0, 2000) == 200 * 50
        assert state.open_runs() == []


def test_a_run_that_nobody_shows_any_more_ended_at_its_limit_or_now(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([FIRST, SECOND], [], 1200)
        state.see_runs([], [], 9000)
        assert state.energy_j(0, 9999) == 200 * 600 + 50 * (9000 - 1100)
        state.see_runs(
            [FIRST], [SECOND._replace(end_at_s=1200.0)], 9001
        )  # it is there again, and the truth of the other
        assert state.open_runs() == [FIRST]
        assert state.energy_j(0, 9001) == 200 * (9001 - 1000) + 50 * 100


def test_a_job_that_runs_again_is_another_run(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([FIRST], [], 1100)
        state.see_runs([run_of("7", 1, 1400, 60, 200)], [], 1410)
        assert state.energy_j(0, 1410) == 200 * (1410 - 1000) + 200 * 10
        assert [run.restarts for run in state.open_runs()] == [1]


def test_measured_energy_takes_the_place_of_the_model(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([], [FIRST._replace(end_at_s=1100.0)], 1200)
        state.measure("7", 0, 1000.0, 5_000.0)
        assert state.energy_j(0, 1200) == pytest.approx(5_000)
        assert state.energy_j(1050, 1200) == pytest.approx(2_500)


def test_a_clock_that_jumps_back_takes_nothing_away(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([FIRST], [], 1100)
        assert state.energy_j(0, 500) == 0
        state.see_runs([], [], 500)
        assert state.energy_j(0, 9999) == 0  # it ended when it began, at the earliest


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), st.integers(0, 3))
def test_the_order_in_which_things_are_seen_does_not_matter(seen: list[tuple[int, bool]], last: int) -> None:
    """At the end all jobs are told as over: whatever was seen before, the energy is that of their times."""
    runs = [Run(str(job), 0, 1000.0 + job, 1600.0, 10.0) for job in range(4)]
    over = [run._replace(end_at_s=1100.0) for run in runs]
    connection = sqlite3.connect(":memory:", isolation_level=None)
    state = prepared(connection)
    for at, (job, is_over) in enumerate(seen):
        state.see_runs([] if is_over else [runs[job]], [over[job]] if is_over else [], 1010.0 + at)
    state.see_runs([], over, 1200.0)
    assert state.energy_j(0, 1200) == pytest.approx(sum(10 * (1100 - run.start_at_s) for run in runs))
    connection.close()


def prepared(connection: sqlite3.Connection) -> State:
    _prepare(connection, Path("memory"))
    return State(connection, Path("memory"))


# --- decisions, utility and texts ---------------------------------------------------------------------------


def test_decisions_are_noted_before_and_settled_after(tmp_path: Path) -> None:
    decision = Decision(1000.0, "7", 0, "release", "most utility per joule")
    with opened(tmp_path) as state:
        numbers = state.decide([decision, decision._replace(job="8")])
        state.settle(numbers[:1], "runs on n1")
    with opened(tmp_path) as state:
        assert state.unsettled() == {numbers[1]: decision._replace(job="8")}
        assert [told.outcome for told in state.last_decisions(9)] == [None, "runs on n1"]


def test_utility_is_earned_once(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.see_runs([], [FIRST._replace(end_at_s=1500.0)], 1600)
        state.earn("7", 0, 1000.0, 3.0)
        state.earn("7", 0, 1000.0, 3.0)
        assert (state.utility(0), state.utility(1501)) == (3.0, 0.0)


def test_texts_are_kept_by_name(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        assert state.recall("policy") is None
        state.remember("policy", "a")
        state.remember("policy", "b")
        assert state.recall("policy") == "b"


def test_what_is_over_is_forgotten(tmp_path: Path) -> None:
    old, new = Decision(1000.0, "7", 0, "release", "x"), Decision(2000.0, "7", 0, "release", "x", "done")
    with opened(tmp_path) as state:
        state.see_runs([SECOND], [FIRST._replace(end_at_s=1100.0)], 1200)
        state.decide([old, old._replace(outcome="done"), new])
        state.forget(1500)
        assert state.energy_j(0, 1200) == 50 * 100
        assert state.last_decisions(9) == [new, old]


def test_it_can_be_looked_at_while_a_daemon_has_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"), looked_at(tmp_path):
        pass
    with opened(tmp_path) as state:
        state.see_runs([FIRST], [], 1100)
        with looked_at(tmp_path) as other:
            assert other.open_runs() == [FIRST]
            state.see_runs([FIRST, SECOND], [], 1100)
            assert len(other.open_runs()) == 2
            with pytest.raises(InputError, match="readonly"):
                other.remember("x", "y")
    with looked_at(tmp_path) as other:
        assert len(other.open_runs()) == 2


def test_the_heartbeat_is_whole_seconds(tmp_path: Path) -> None:
    beat(tmp_path, 1795130496.7)
    assert (tmp_path / "heartbeat").read_text() == "1795130497\n"


# --- what ends it -------------------------------------------------------------------------------------------

_WRITER = """
import sys
from pathlib import Path
from joulewise.slurm.state import Decision, Run, opened
with opened(Path(sys.argv[1])) as state:
    first = int(state.recall("next") or 0)
    print("opened", flush=True)
    for number in range(first, 1_000_000):
        at_s = 1000.0 + number
        decided = state.decide([Decision(at_s, str(number), 0, what, "x") for what in ("hold", "release")])
        state.see_runs([], [Run(str(number), 0, at_s, at_s + 60, 10.0, at_s + 5)], at_s)
        state.settle(decided, "done")
        state.remember("next", str(number + 1))
        print(number, flush=True)
"""


def writer(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(folder)],
        env={"PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def killed_at_random(folder: Path, n: int, draw: Random) -> None:
    """Nothing is lost that was told to be noted, and no half of a transaction is there."""
    last = -1
    for _ in range(n):
        with writer(folder) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "opened\n"
            time.sleep(draw.random() * 0.1)
            process.kill()
            told = [int(line) for line in process.stdout.read().splitlines() if line]
        last = max([last, *told])
        with opened(folder) as state:
            n_done = int(state.recall("next") or 0)
            assert n_done in (last + 1, last + 2)  # the very last line may have been lost on its way to us
            last = n_done - 1
            n_runs = round(state.energy_j(0, 1e9) / 50)
            assert n_runs in (n_done, n_done + 1)
            decisions = state.last_decisions(10**6)
            assert len(decisions) % 2 == 0
            by_job = {decision.job for decision in decisions}
            assert by_job >= {str(number) for number in range(n_done)}
            assert len(state.unsettled()) % 2 == 0


def test_nothing_is_lost_or_half_done_when_it_is_killed(tmp_path: Path) -> None:
    killed_at_random(tmp_path, 2, Random(0))


@pytest.mark.thorough("kills a process 30 times")
def test_nothing_is_lost_or_half_done_when_it_is_killed_often(tmp_path: Path) -> None:
    killed_at_random(tmp_path, 30, Random())


def test_two_daemons_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(InputError, match="another process is writing here"), opened(tmp_path):
        pass


# --- files that are not as they should be -------------------------------------------------------------------


def with_data(folder: Path) -> Path:
    with opened(folder) as state:
        state.see_runs([FIRST._replace(job=str(number)) for number in range(300)], [], 1100)
    return folder / NAME


def test_a_file_that_is_none_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("no database " * 1000)
    with pytest.raises(InputError, match="cannot be used: file is not a database; move it away"), opened(tmp_path):
        pass
    assert (tmp_path / NAME).read_text().startswith("no database")


def test_a_database_of_another_program_or_version_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / NAME)
    connection.execute("CREATE TABLE x (y)")
    connection.close()
    with pytest.raises(InputError, match="another program"), opened(tmp_path):
        pass
    (tmp_path / NAME).unlink()
    path = with_data(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match=r"has the form 99.*must have the form 1"), opened(tmp_path):
        pass


def damaged_and_used(folder: Path, draw: Random) -> None:
    """A damaged file is used, or refused with what to do."""
    path = with_data(folder)
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 20, 2000))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path.write_bytes(data[: draw.choice((len(data), len(data), draw.randrange(len(data))))])
    with suppress(InputError), opened(folder) as state:
        state.see_runs([SECOND], [], 1200)
        state.energy_j(0, 1200)
        state.last_decisions(3)
    for leftover in folder.glob(f"{NAME}*"):
        leftover.unlink()


def test_a_damaged_file_is_used_or_refused(tmp_path: Path) -> None:
    for seed in range(20):
        damaged_and_used(tmp_path, Random(seed))


@pytest.mark.thorough("damages 200 files")
def test_damaged_files_are_used_or_refused(tmp_path: Path) -> None:
    draw = Random()
    for _ in range(200):
        damaged_and_used(tmp_path, draw)


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"), opened(tmp_path / "file" / "x"):
        pass


def test_on_a_full_disk_nothing_changes_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    if not can_mount(disk):
        pytest.skip("no disks may be made here")
    with mounted(disk, 200) as is_there:
        assert is_there
        with opened(disk / "state") as state:
            state.see_runs([FIRST], [], 1100)
            filler = fill(disk, 0)
            with pytest.raises(InputError, match=r"full; make room on its disk"):
                state.remember("x", "y" * 50 * PAGE)
            assert state.energy_j(0, 1100) == 200 * 100
            filler.unlink()
            state.see_runs([FIRST, SECOND], [], 1200)
        with opened(disk / "state") as state:
            assert state.recall("x") is None
            assert len(state.open_runs()) == 2
