"""Files and surroundings that nobody would choose: each is told in words, and nothing of a file steers the terminal."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.errors import InputError, Problem
from joulewise.files import replacing
from joulewise.measure.bench.bench import ClockSetting
from joulewise.measure.synthetic.machine import SyntheticMachine
from joulewise.measure.synthetic.synthetic import SyntheticBench
from joulewise.present.results import write_figures
from joulewise.study import open_results, parse_study
from joulewise.worlds import frames
from joulewise.worlds.cov import gamma_values
from joulewise.worlds.frames import read_table
from joulewise.worlds.series import read_series
from tests.strategies.calling import COMMAND, call
from tests.strategies.small import TEXT
from tests.strategies.small_bags import PROFIT
from tests.strategies.small_jobs import LOG

Capture = pytest.CaptureFixture[str]
ESCAPE = "\x1b[31m"


def refused(capsys: Capture, verb: str, path: Path, text: str) -> str:
    """What a verb says of a file that it refuses; nothing of it steers the terminal."""
    path.write_text(text)
    said = call(capsys, verb, path)
    assert (said.code, said.out, "\x1b" in said.err) == (2, "", False), said.err
    return said.err


STUDIES: dict[str, tuple[str, str]] = {
    "variant": (
        TEXT + '[[variant]]\nname = "a\\u001b[31m"\n',
        r"variant.0.name: found control characters in 'a\x1b",
    ),
    "unknown key": (TEXT + '"\\u001b[31m" = 1\n', r"found control characters in '\x1b[31m'"),
    "turned text": (TEXT.replace('"random"', '"\\u202emodnar"'), "found control characters"),
    "nested lists": (f"x = {'[' * 5000}{']' * 5000}\n{TEXT}", "too deep inside each other"),
    "lists that TOML still reads": (f"x = {'[' * 50}{']' * 50}\n{TEXT}", "they may be 12 deep"),
    "digits without an end": (
        TEXT.replace("trials = 2", f"trials = {'9' * 5000}"),
        "study.toml: found a number of thousands of digits\n",
    ),
    "a number of more than 64 bits": (TEXT.replace("trials = 2", f"trials = {10**30}"), "more than 64 bits"),
    "too few tasks": (TEXT.replace("tasks_per_day = 150", "tasks_per_day = 0.1"), "must be 25 or more"),
}


@pytest.mark.parametrize("case", STUDIES)
def test_studies_that_nobody_would_write(tmp_path: Path, capsys: Capture, case: str) -> None:
    text, words = STUDIES[case]
    assert words in refused(capsys, "check", tmp_path / "study.toml", text)


def test_descriptions_may_have_several_lines() -> None:
    text = TEXT.replace("trials = 2", 'trials = 2\ndescription = """\ntwo\n\tlines"""')
    assert parse_study(text, "study.toml", Path()).heading.description == "two\n\tlines"


def test_a_problem_is_one_line_that_steers_nothing() -> None:
    assert str(Problem("a\n", f"found {ESCAPE}", "\u202e")) == r"a\n: found \x1b[31m; \u202e"


def parquet(**columns: Any) -> Callable[[Path], None]:
    return lambda path: pl.DataFrame(columns).write_parquet(path)


TABLES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "a name that steers": ("t.csv", lambda path: path.write_text(f"a,b\nx{ESCAPE},1\n"), r"line 2, a: found 'x\\x1b"),
    "a column that steers": ("t.csv", lambda path: path.write_text(f"a,b{ESCAPE}\nx,1\n"), "in the column"),
    "lists": ("t.parquet", parquet(a=["x"], b=[[1, 2]]), r"t\.parquet: b: found cells of the type List"),
    "durations": ("t.parquet", parquet(a=["x"], b=pl.Series([1]).cast(pl.Duration)), "of the type Duration"),
    "bytes": ("t.parquet", parquet(a=["x"], b=[b"\xff"]), "of the type Binary"),
    "year 30000": ("t.parquet", parquet(a=["x"], b=pl.Series([10**7]).cast(pl.Date)), "beyond the calendar"),
    "half a package": ("t.csv.gz", lambda path: path.write_bytes(gzip.compress(b"a,b\n1,2\n")[:-9]), "be unpacked"),
    "no package": ("t.csv.gz", lambda path: path.write_bytes(b"a,b\n1,2\n"), "unpacked; must"),
    "a bomb": ("t.csv.gz", lambda path: path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 999)), "than 99 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_nobody_would_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    name, write, words = TABLES[case]
    monkeypatch.setattr(frames, "MAX_UNPACKED_BYTES", 99)
    write(tmp_path / name)
    with pytest.raises(InputError, match=words):
        read_table(name, tmp_path)


def test_instants_at_the_end_of_the_calendar(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("timestamp,v\n9999-12-31T23:00-05:00,1\n0001-01-01T00:00+14:00,2\n")
    with pytest.raises(InputError, match="line 2, timestamp: found '9999"):
        read_series("t.csv", tmp_path, None, "key")


LOGS = {
    "thanks that steer": (f"; Version: 2\n; Acknowledge: {ESCAPE}me\n{LOG}", "line 2: found control characters"),
    "JSON without an end": ('{"jobs": [' + '{"a":' * 100_000, "cannot be read"),
    "digits without an end": ('{"jobs": [{"job_id": ' + "1" * 5000 + "}]}", "cannot be read"),
    "a user that steers": (
        '{"jobs": [{"job_id": 1, "time": {"submission": 1}, "user": "\\u001b[31m", "state": {"current": "X"}}]}',
        "log: user: found control characters",
    ),
}


@pytest.mark.parametrize("case", LOGS)
def test_logs_that_nobody_would_keep(tmp_path: Path, capsys: Capture, case: str) -> None:
    text, words = LOGS[case]
    assert words in refused(capsys, "import", tmp_path / "log", text)


def test_logs_from_beyond_the_calendar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(LOG.replace("UnixStartTime: 1000", "UnixStartTime: 999999999999"))
    said = call(capsys, "import", "log")
    assert (said.code, "at an unknown instant" in said.out) == (0, True), said.err


def test_a_ratio_of_energy_that_costs_nothing_is_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "free.csv").write_text("hour,price\n" + "".join(f"{hour},{hour // 24}\n" for hour in range(48)))
    text = PROFIT.replace("cost_per_kwh = 0.1\n", "").replace("[optimise]", '[supply]\ntariff = "free.csv"\n[optimise]')
    with pytest.raises(InputError, match=r"optimise\.profit_ratio: found 0\.8, and the energy of the bag costs"):
        parse_study(text, "study.toml", tmp_path, check_inputs=True)


def test_a_spread_that_is_lost_in_rounding_is_none() -> None:
    import numpy as np

    assert gamma_values(np.random.default_rng(0), 2.0, 1e-200, (3,)).tolist() == [2.0] * 3


def test_idle_power_has_noise_of_its_own_however_often_a_laboratory_is_started() -> None:
    first, again = (SyntheticBench(SyntheticMachine()) for _ in range(2))
    assert first.idle_w(ClockSetting(), 1.0, 0) == again.idle_w(ClockSetting(), 1.0, 0)
    assert first.idle_w(ClockSetting(), 1.0, 0) != again.idle_w(ClockSetting(), 1.0, 1)


def test_a_full_disk_is_told_whoever_was_writing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space left.*table\.parquet"), replacing(tmp_path / "table.parquet"):
        raise pl.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)")
    assert list(tmp_path.iterdir()) == []


def test_figures_follow_no_link_out_of_the_results(small_copy: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (small_copy / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link to another place"):
        write_figures(open_results(small_copy))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.thorough("starts processes and takes seconds")
def test_figures_fail_alone_where_there_is_no_room_for_what_draws_them(tmp_path: Path, small_copy: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    (small_copy / "report.html").unlink(missing_ok=True)
    command = shlex.join([*COMMAND, "run", "study.toml", "--out", str(small_copy), "--workers", "1"])
    limited = ["bash", "-c", f"ulimit -v 20000000; {command}"]
    said = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "max-max-upt" in said.stdout
    assert "`ulimit -v` leaves a process 20.48 GB" in said.stderr
    assert "joulewise report FOLDER" in said.stderr


SHOWN = (
    "from joulewise.cli.streams import prepare_streams\nprepare_streams()\nprint('1 \u2013 2 \xd7 \u221e \xb1 \xe9')"
)


@pytest.mark.parametrize(
    ("code", "shown"), [("ascii", b"1 - 2 x inf +- e\n"), ("latin-1", b"1 - 2 \xd7 inf \xb1 \xe9\n")]
)
def test_output_that_is_not_unicode_is_served(code: str, shown: bytes) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": code}
    assert subprocess.check_output([sys.executable, "-c", SHOWN], env=environment) == shown


def test_closed_output_is_no_fault(tmp_path: Path) -> None:
    for closed in (">&-", ">&- 2>&-"):
        command = f"{' '.join(COMMAND)} list policies {closed}"
        assert subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False).returncode == 0
