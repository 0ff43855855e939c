"""The laboratory measures each run once, whatever ends it in between, and says what failed."""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.errors import InputError, Problem
from joulewise.files import remove_leftovers
from joulewise.measure.bench.bench import GroupExperiment, GroupRead
from joulewise.measure.bench.journal import Record, read_journal
from joulewise.measure.bench.laboratory import (
    GIVE_UP_AFTER,
    GIVEN_UP,
    IDLE_WINDOWS,
    LaboratoryOutcome,
    Setting,
    known_seconds,
    measure,
    runs_of,
)
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.bench.setting import opened
from joulewise.measure.bench.store import LaboratoryStore, machine_from
from joulewise.measure.machine.holding import ending_in_order, only_laboratory
from joulewise.measure.machine.places import SHARED_CORES
from joulewise.measure.machine.quiet import Quiet, Ticks
from joulewise.measure.meters.external import PowerTable
from joulewise.measure.meters.meters import OTHER_METER
from joulewise.measure.plan.keys import ProgramSection
from joulewise.progress import Progress
from tests.strategies.small_lab import MACHINE, N_REAL_RUNS, N_RUNS, TEXT, FakeBench, small_plan


def measured(
    folder: Path, bench: FakeBench | None = None, more: str = "", *, is_agreed: bool = False
) -> LaboratoryOutcome:
    return measure(small_plan(more), folder, Setting(MACHINE, bench or FakeBench()), is_agreed=is_agreed)


def test_every_run_is_made_once_and_becomes_rows(tmp_path: Path) -> None:
    bench, seen = FakeBench(), list[Progress]()
    found = measure(small_plan(), tmp_path / "lab", Setting(MACHINE, bench, idle_w=bench.idle_w), seen.append)
    assert (found.n_runs, found.n_valid, found.n_reused, found.problems) == (N_RUNS, N_RUNS, 0, ())
    assert len(set(bench.made)) == len(bench.made) == N_RUNS
    assert bench.warmed == ["a", "b"] or bench.warmed == ["b", "a"]
    assert (seen[-1].n_total, seen[-1].n_done, seen[-1].n_failed) == (N_RUNS, N_RUNS, 0)
    table = pl.read_parquet(tmp_path / "lab" / "observations.parquet")
    assert table.columns == [column.name for column in COLUMNS]
    assert table.height == 3 * (2 * 1 + 3 * 2)
    assert table["energy_j"].null_count() == table.height
    assert set(table.filter(pl.col("group") == "2 a")["cores"]) == {"0", "2"}
    assert pl.read_csv(tmp_path / "lab" / "observations.csv").height == table.height
    assert LaboratoryStore(tmp_path / "lab").idle_powers().rows() == [("as is", 50.0)] * IDLE_WINDOWS
    assert (tmp_path / "lab" / "plan.toml").read_text() == TEXT


def test_a_finished_laboratory_has_nothing_to_do_and_a_changed_plan_only_what_is_new(tmp_path: Path) -> None:
    measured(tmp_path)
    again, more = FakeBench(), FakeBench()
    assert measured(tmp_path, again).n_reused == N_RUNS
    assert (again.made, again.warmed) == ([], [])
    fewer = TEXT.replace("repetitions = 3", "repetitions = 1") + '[[program]]\nname = "c"\ncommand = "true"\n'
    measure(small_plan(text=fewer), tmp_path, Setting(MACHINE, more))
    assert sorted(more.made) == [("2 c", 0), ("a + c", 0), ("b + c", 0), ("c", 0)]
    table = pl.read_parquet(tmp_path / "observations.parquet")
    assert table["run"].n_unique() == 9
    assert len(read_journal(tmp_path / "journal.jsonl")) > N_RUNS


def test_what_fails_is_told_given_up_and_tried_again_by_the_next_start(tmp_path: Path) -> None:
    def fails(experiment: GroupExperiment) -> str:
        return "a: ended with 1" if experiment.group == "a + b" else ""

    found = measured(tmp_path, bench := FakeBench(problem=fails))
    assert found.problems == (("a + b", "a: ended with 1"),)
    assert (found.n_valid, bench.made.count(("a + b", 0))) == (N_RUNS - 3, 1)
    assert sum(group == "a + b" for group, _ in bench.made) == GIVE_UP_AFTER
    table = pl.read_parquet(tmp_path / "observations.parquet")
    assert set(table.filter(pl.col("group") == "a + b")["problem"]) == {"a: ended with 1", GIVEN_UP}
    assert table.filter(problem=GIVEN_UP)["run"].n_unique() == 3 - GIVE_UP_AFTER
    assert measured(tmp_path, again := FakeBench()).n_valid == N_RUNS
    assert {group for group, _ in again.made} == {"a + b"}


def test_a_program_that_cannot_be_warmed_up_is_not_measured(tmp_path: Path) -> None:
    class Cold(FakeBench):
        def warm_up(self, program: object, cores: object) -> str:
            return "no such library" if getattr(program, "name", "") == "b" else ""

    found = measured(tmp_path, bench := Cold())
    assert {group for group, _ in bench.made} == {"a", "2 a"}
    assert dict(found.problems)["a + b"] == "b failed when it was warmed up: no such library"


def test_a_note_is_kept_where_the_machine_was_not_idle(tmp_path: Path) -> None:
    measure(small_plan(), tmp_path, Setting(MACHINE, FakeBench(), lambda _: "busy", idle_w=lambda *_: 9.0))
    assert {record["note"] for record in LaboratoryStore(tmp_path).records() if record["event"] == "idle"} == {"busy"}
    assert set(pl.read_parquet(tmp_path / "observations.parquet")["notes"]) == {"busy"}


@pytest.mark.parametrize("cut", [0, 1, 90, 700, 2000, 5000])
def test_a_journal_that_ends_anywhere_is_gone_on_with(cut: int, tmp_path: Path) -> None:
    measured(tmp_path)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[: -cut or None])
    n_left = len(runs_of(small_plan(), MACHINE, read_journal(journal))[1])
    found = measured(tmp_path, bench := FakeBench())
    assert (len(bench.made), found.n_valid) == (n_left, N_RUNS)
    assert len(read_journal(journal)) >= N_RUNS


@pytest.mark.thorough("starts processes and takes seconds")
def test_killed_at_random_moments_it_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from tests.strategies.small_lab import main; main()", str(tmp_path)]
    random, journal, before = np.random.default_rng(8), tmp_path / "journal.jsonl", b""
    n_valid = 0
    for moment in (*random.uniform(0.0, 0.2, 3), 60.0):
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 30.0
        while (
            process.poll() is None
            and time.monotonic() < deadline
            and (not journal.exists() or journal.stat().st_size <= len(before))
        ):
            time.sleep(0.002)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        runs = [record for record in read_journal(journal) if record["event"] == "run"]
        assert len({record["key"] for record in runs}) == len(runs) >= n_valid
        n_valid, before = len(runs), journal.read_bytes()
    assert n_valid == N_RUNS
    assert pl.read_parquet(tmp_path / "observations.parquet")["run"].n_unique() == N_RUNS


def _processes(mark: str) -> list[str]:
    """All processes with this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [path.parent.name] if mark.encode() in path.read_bytes() else []
    return found


@pytest.mark.thorough("starts the laboratory again and again")
def test_killed_while_programs_run_it_leaves_none_and_goes_on_to_the_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from tests.strategies.small_lab import real_main; real_main()", str(tmp_path)]
    random, journal = np.random.default_rng(8), tmp_path / "journal.jsonl"
    for moment in (*random.uniform(0.0, 0.6, 3), 60.0):
        size = journal.stat().st_size if journal.exists() else 0
        process = subprocess.Popen(command, env={**os.environ, "MARK": str(tmp_path)})
        until_s = time.monotonic() + 30.0
        while (not journal.exists() or journal.stat().st_size == size) and time.monotonic() < until_s:
            time.sleep(0.002)
        try:
            assert process.wait(moment) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        until_s = time.monotonic() + 30.0
        while _processes(str(tmp_path)) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert _processes(str(tmp_path)) == []
    runs = [record for record in read_journal(journal) if record["event"] == "run"]
    assert len({record["key"] for record in runs}) == len(runs) == N_REAL_RUNS
    assert {record["problem"] for record in runs} == {""}


def test_what_ends_it_before_the_first_run_is_no_hindrance_later(tmp_path: Path) -> None:
    kernel = TEXT.replace('command = "true"', 'kernel = "triad"')
    calls = iter((KeyboardInterrupt, None))

    def calibrated(section: ProgramSection) -> tuple[str, ...]:
        if stop := next(calls):
            raise stop
        return ("true", section.name)

    setting = Setting(MACHINE, FakeBench(), kernel_command=calibrated)
    alone = replace(MACHINE, siblings=((0,), (1,), (2,), (3,)))
    with pytest.raises(InputError, match="there are 0 logical cores with a sibling"):
        measure(small_plan(text=f'cores = "siblings"\n{kernel}'), tmp_path, replace(setting, machine=alone))
    with pytest.raises(InputError, match="found 'tru', which is not there"):
        measure(small_plan(text=kernel.replace('"true"', '"tru"')), tmp_path, setting)
    with pytest.raises(KeyboardInterrupt):
        measure(small_plan(text=kernel), tmp_path, setting)
    assert measure(small_plan(text=kernel), tmp_path, setting).n_valid == N_RUNS
    (tmp_path / "measure.json").unlink()
    assert measure(small_plan(text=kernel), tmp_path, setting).n_reused == N_RUNS


def test_ctrl_c_and_being_told_to_end_leave_valid_tables(tmp_path: Path) -> None:
    class Interrupted(FakeBench):
        def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
            if len(self.made) == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().run(experiment, repetition)

    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path, Interrupted())
    assert pl.read_parquet(tmp_path / "observations.parquet")["run"].n_unique() == 4
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert measured(tmp_path).n_reused == 4


def test_an_external_meter_reads_the_idle_machine_too(tmp_path: Path) -> None:
    table = tmp_path / "meter.csv"
    meter = PowerTable(str(table), column="Steckdose 2")
    setting = Setting(MACHINE, FakeBench(), idle_w=lambda *_: math.nan, about={"meter": asdict(meter)})
    meter.check()
    assert "not there yet" in meter.availability().found
    assert measure(small_plan(), tmp_path / "lab", setting).n_valid == N_RUNS
    assert LaboratoryStore(tmp_path / "lab").uncovered() == f"energies: {table} is not there"
    now_s = time.time()
    table.write_text("t,Steckdose 2\n" + "".join(f"{now_s + second},30\n" for second in range(-60, 60)))
    store = LaboratoryStore(tmp_path / "lab")
    assert store.write_tables()["energy_j"].null_count() > 0  # runs of another day
    assert [power_w for _, power_w in store.idle_powers().rows()] == pytest.approx([30.0] * IDLE_WINDOWS)
    assert f"energies of {N_RUNS} of {N_RUNS} runs: meter.csv covers " in store.uncovered()
    assert "the runs were made from 2026-01-01 00:00:00 UTC to" in store.uncovered()
    with pytest.raises(InputError, match="Steckdose 3; name it with `column` in the plan's"):
        replace(meter, column="Steckdose 3").check()


METERED = """
name = "metered"
repetitions = {}
[[program]]
name = "a"
command = "true"
[together]
pairs = "none"
[idle]
wait = "0 s"
[meter]
command = "echo {}"
every = "50 ms"
idle = "50 ms"
"""


def test_energies_of_two_meters_are_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.measure.machine.holding.SHARED", tmp_path)
    store = LaboratoryStore(tmp_path / "lab")
    for repetitions, watts in ((2, 5), (3, 700)):
        plan = small_plan(text=METERED.format(repetitions, watts))
        with opened(plan, store.folder) as setting:
            at_once = replace(setting, wait_for_quiet=lambda _: "")
            assert measure(plan, store.folder, at_once).n_valid == repetitions
    table = store.write_tables().sort("repetition")
    assert table["wall_s"].null_count() == 0
    assert table["energy_j"].is_null().to_list() == table["group_energy_j"].is_null().to_list() == [True, True, False]
    assert table["energy_meter"].to_list() == [None, None, "echo 700"]
    assert [OTHER_METER in (notes or "") for notes in table["notes"]] == [True, True, False]
    assert store.idle_powers()["idle_w"].to_list() == pytest.approx([700.0] * IDLE_WINDOWS, rel=0.01)


def test_the_idle_machine_is_read_between_runs_and_not_again_by_the_next_start(tmp_path: Path) -> None:
    class Interrupted(FakeBench):
        def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
            if len(self.made) == 4:
                raise KeyboardInterrupt
            return super().run(experiment, repetition)

    def events() -> list[Record]:
        return [record for record in LaboratoryStore(tmp_path).records() if record["event"] in ("run", "idle")]

    setting = Setting(MACHINE, bench := Interrupted(), idle_w=bench.idle_w, meter="it")
    with pytest.raises(KeyboardInterrupt):
        measure(small_plan(), tmp_path, setting)
    assert [record["event"] for record in events()] == ["idle", *["run"] * 3, "idle", "run"]
    measure(small_plan(), tmp_path, replace(setting, bench=FakeBench()))
    read = [i for i, record in enumerate(events()) if record["event"] == "idle"]
    assert len(read) == IDLE_WINDOWS
    assert min(np.diff(read)) > 1


def test_a_program_that_was_built_anew_is_measured_anew(tmp_path: Path) -> None:
    own = TEXT.replace('"true"\n', '"./own"\n')
    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)
    plan, setting = small_plan(text=own, folder=tmp_path), Setting(MACHINE, FakeBench())
    assert [measure(plan, tmp_path / "lab", setting).n_reused for _ in range(2)] == [0, N_RUNS]
    (tmp_path / "own").write_text("#!/bin/sh\ntrue\n")
    assert measure(plan, tmp_path / "lab", setting).n_reused == 6  # those of the other alone


def test_only_what_was_left_half_written_is_removed(tmp_path: Path) -> None:
    ours = [tmp_path / f".a.{'0f' * 16}.tmp", tmp_path / "tables" / f".b.csv.{'1e' * 16}.tmp"]
    others = [tmp_path / ".mine.tmp", tmp_path / "deep" / "er" / f".c.{'0f' * 16}.tmp"]
    for path in (*ours, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / f".folder.{'2d' * 16}.tmp").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "deep" / "er", target_is_directory=True)
    remove_leftovers(tmp_path)
    assert not any(path.exists() for path in ours)
    assert all(path.exists() for path in others)


def test_the_table_of_a_meter_that_cannot_be_read_hides_nothing(tmp_path: Path) -> None:
    table = tmp_path / "meter.csv"
    table.write_text("time,watts\nx,1\ny,2\n")
    about = {"meter": {"csv": str(table), "zone": "UTC", "ahead_s": 0.0}}

    class Interrupted(FakeBench):
        def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
            if len(self.made) == 4:
                raise KeyboardInterrupt
            return super().run(experiment, repetition)

    with pytest.raises(KeyboardInterrupt):
        measure(small_plan(), tmp_path / "lab", Setting(MACHINE, Interrupted(), about=about))
    assert pl.read_parquet(tmp_path / "lab" / "observations.parquet")["run"].n_unique() == 4
    with pytest.raises(InputError, match=r"meter\.csv, line 2: found the time 'x'"):
        measure(small_plan(), tmp_path / "lab", Setting(MACHINE, FakeBench(), about=about))
    assert pl.read_parquet(tmp_path / "lab" / "observations.parquet")["run"].n_unique() == N_RUNS


def test_a_machine_that_cannot_be_given_back_ends_it(tmp_path: Path) -> None:
    def give_back() -> None:
        raise InputError(Problem("governor", "could not be given back"))

    with pytest.raises(InputError, match="could not be given back"):
        measure(small_plan(), tmp_path, Setting(MACHINE, FakeBench(), give_back=give_back))
    assert pl.read_parquet(tmp_path / "observations.parquet")["run"].n_unique() == 1


def test_days_must_be_agreed_to_before_or_after_warm_ups(tmp_path: Path) -> None:
    days = TEXT.replace('command = "true"', 'command = "true"\nwarm_up = 0\ntakes = "10 h"\ntime_limit = "1 d"')
    bench = FakeBench()
    with pytest.raises(InputError, match=r"15 runs would take about 4\.\d+ d .b counted with the time limit.*--yes"):
        measure(small_plan(text=days.replace('"-x"]', '"-x"]\nwarm_up = 0')), tmp_path, Setting(MACHINE, bench))
    with pytest.raises(InputError, match="15 runs would take"):  # known before b was ever run
        measure(small_plan(text=days), tmp_path, Setting(MACHINE, bench))
    assert (bench.made, bench.warmed, list(tmp_path.iterdir())) == ([], [], [])
    measure(small_plan(text=days), tmp_path, Setting(MACHINE, bench), is_agreed=True)
    assert len(bench.made) == N_RUNS
    assert known_seconds(small_plan(), LaboratoryStore(tmp_path).records()) == {"a": 3.0, "b": 3.0}


def test_a_folder_belongs_to_one_plan_on_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "id").mkdir()
    (tmp_path / "id" / "machine-id").write_text("1234\n")
    monkeypatch.setattr("joulewise.measure.bench.store.MACHINE_ID", tmp_path / "id" / "machine-id")
    tmp_path /= "lab"
    measured(tmp_path)
    with pytest.raises(InputError, match="holds the measurements of the plan 'small'; this plan is 'other'"):
        measure(small_plan(text=TEXT.replace("small", "other")), tmp_path, Setting(MACHINE, FakeBench()))
    with pytest.raises(InputError, match="another machine, 'small'; this one differs in model"):
        measure(small_plan(), tmp_path, Setting(replace(MACHINE, model="x"), FakeBench()))
    fewer = replace(MACHINE, cores=(0, 1, 2), siblings=((0, 1), (2,)))  # by taskset
    assert measure(small_plan(), tmp_path, Setting(fewer, FakeBench())).n_reused > 0
    monkeypatch.setattr("joulewise.measure.bench.store.MACHINE_ID", tmp_path / "plan.toml")
    with pytest.raises(InputError, match="another machine, 'small'; this one differs in machine-id"):
        measured(tmp_path)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "file").touch()
    with pytest.raises(InputError, match="holds files that are no measurements"):
        measured(tmp_path / "else")
    (tmp_path / "measure.json").write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        measured(tmp_path)


@pytest.mark.parametrize("key", ["plan_file", "probes", "meter"])
def test_a_marker_without_what_is_read_of_it_is_refused(tmp_path: Path, key: str) -> None:
    measured(tmp_path)
    marker = json.loads((tmp_path / "measure.json").read_text())
    del marker[key]
    (tmp_path / "measure.json").write_text(json.dumps(marker))
    with pytest.raises(InputError, match=key):
        LaboratoryStore(tmp_path).existing()


def test_two_laboratories_do_not_share_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.measure.machine.holding.SHARED", tmp_path)
    with only_laboratory(tmp_path / "one"):
        told = f"another laboratory is measuring on this machine: process {os.getpid()} for {tmp_path}/one"
        with pytest.raises(InputError, match=told), only_laboratory(tmp_path / "two"):
            pass
    with only_laboratory(tmp_path / "two"), ending_in_order():
        (lock,) = tmp_path.iterdir()
        assert lock.read_text() == f"process {os.getpid()} for {tmp_path}/two\n"


def _fifo(_: Path, place: Path) -> None:
    os.mkfifo(place)


def test_what_others_put_in_the_place_of_the_lock_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.measure.machine.holding.SHARED", tmp_path)
    lock, precious = tmp_path / "joulewise-laboratory.lock", tmp_path / "precious"
    precious.write_text("precious")
    precious.chmod(0o600)
    for put, what in ((os.link, precious), (os.symlink, precious), (_fifo, precious)):
        put(what, lock)
        with pytest.raises(InputError, match="keeps laboratories apart; remove it"), only_laboratory(tmp_path):
            pass
        lock.unlink()
    assert (precious.read_text(), precious.stat().st_mode & 0o777) == ("precious", 0o600)
    lock.write_text("\x1b[2Jme\n")
    with lock.open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=r"machine: \?\[2Jme;"), only_laboratory(tmp_path):
            pass


def test_quiet_is_waited_for_once_in_vain(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    stat = tmp_path / "proc" / "stat"
    ticks = np.zeros((2, 2), dtype=np.int64)
    step = np.array([[3, 1], [3, 1]])  # busy and idle, of two cores

    class Ticking(Quiet):
        def _ticks(self) -> dict[int, Ticks]:
            ticks[:] += step
            lines = [f"cpu{core} {busy} 0 0 {idle} 0 0 0 0 5 5\n" for core, (busy, idle) in enumerate(ticks)]
            stat.write_text(f"cpu  0 0 0 0\n{''.join(lines)}cpu7 9 9 9 9 9 9 9 9 9 9\n")
            return super()._ticks()

    quiet = Ticking(0.1, 0.05, tmp_path, look_s=0.001)
    began = time.monotonic()
    assert quiet.wait() == "others used 75 % of the cores just before"
    assert time.monotonic() - began >= 0.05
    quiet.wait_s = 60.0
    assert quiet.wait()
    step[:] = [[0, 94], [6, 94]]
    assert quiet.wait() == quiet.wait([(0,), (0, 1)]) == ""
    step[:] = [[0, 85], [15, 85]]
    assert quiet.wait([(0,)]) == ""
    quiet.wait_s = 0.0
    assert quiet.wait([(0,), (1,)]) == "others used 15 % of core 1 just before"
    step[:] = [[0, 100], [60, 40]]
    assert quiet.wait([(0,)]) == "others used 30 % of the cores just before"  # also where the run is not
    unknown = Quiet(0.1, 1.0, tmp_path / "none", look_s=0.0)
    assert unknown.wait([(0,)]) == "whether others used the machine just before could not be looked at"


def test_the_marker_names_the_machine_and_the_runs(tmp_path: Path) -> None:
    measured(tmp_path)
    marker = json.loads((tmp_path / "measure.json").read_text())
    assert (machine_from(marker["machine"]), len(marker["runs"])) == (MACHINE, N_RUNS)


def test_members_that_share_a_physical_core_for_want_of_others_are_noted(tmp_path: Path) -> None:
    measured(tmp_path, more='[together]\npairs = "none"\ngroups = [["a", "a", "b"], ["a", "b"]]\n')
    noted = pl.read_parquet(tmp_path / "observations.parquet").filter(notes=SHARED_CORES)
    assert set(noted["group"]) == {"2 a + b"}


def test_a_folder_without_its_journal_can_be_looked_at(tmp_path: Path) -> None:
    measured(tmp_path)
    with_journal = LaboratoryStore(tmp_path).stamp()
    (tmp_path / "journal.jsonl").unlink()
    assert LaboratoryStore(tmp_path).stamp() != with_journal
