"""What the bridge remembers in one SQLite file: which runs used how much energy, what was decided, what was earned.

The cluster is the truth: a run is known by its job, its restarts and its start, so that nothing is counted twice
however often it is seen, and what is not in the queue any more is closed.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.files import locked, write_atomic

NAME = "slurm.sqlite"
HEARTBEAT = "heartbeat"
VERSION = 1
_OURS = 0x4A6F756C
"""The file says by this number, "Joul", whose it is."""

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    job TEXT NOT NULL, restarts INTEGER NOT NULL, start_at_s REAL NOT NULL,
    end_at_s REAL, is_guessed INTEGER NOT NULL DEFAULT 0, latest_end_at_s REAL NOT NULL, power_w REAL NOT NULL,
    measured_j REAL, utility REAL,
    PRIMARY KEY (job, restarts, start_at_s)
) WITHOUT ROWID;
CREATE INDEX open_runs ON runs (job) WHERE end_at_s IS NULL;
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY, at_s REAL NOT NULL, job TEXT NOT NULL, restarts INTEGER NOT NULL, what TEXT NOT NULL,
    why TEXT NOT NULL, outcome TEXT
);
CREATE INDEX unsettled ON decisions (number) WHERE outcome IS NULL;
"""


class Run(NamedTuple):
    """A time for which a job ran, as the queue tells it, and what its nodes draw for it by the model.

    `latest_end_at_s` is when it ends by its limit at the latest, inf without one; `end_at_s` is None while it runs.
    """

    job: str
    restarts: int
    start_at_s: float
    latest_end_at_s: float
    power_w: float
    end_at_s: float | None = None


class Decision(NamedTuple):
    """What was decided about a job, and why. The outcome is None from before Slurm is told until that is known."""

    at_s: float
    job: str
    restarts: int
    what: str
    why: str
    outcome: str | None = None


class State:
    """The open file. Each method is one transaction: done wholly and kept on disk, or not at all."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    # --- energy ---------------------------------------------------------------------------------------------

    def see_runs(self, running: Iterable[Run], over: Iterable[Run], now_s: float) -> None:
        """Take over what the queue shows. Runs that it does not show any more have ended, and nobody knows when:
        at their limit, or now."""
        running, over = list(running), list(over)
        with self._changing() as at:
            at.executemany(_SEE, [(*run[:5], None) for run in running])
            at.executemany(_SEE, [tuple(run) for run in over])
            at.execute("CREATE TEMP TABLE shown (job, restarts, start_at_s, PRIMARY KEY (job, restarts, start_at_s))")
            at.executemany("INSERT OR IGNORE INTO shown VALUES (?, ?, ?)", [run[:3] for run in running])
            at.execute(_CLOSE, (now_s,))
            at.execute("DROP TABLE shown")

    def measure(self, job: str, restarts: int, start_at_s: float, energy_j: float) -> None:
        """Let measured energy of a run take the place of the model's."""
        with self._changing() as at:
            at.execute(f"UPDATE runs SET measured_j = ? WHERE {_THE_RUN}", (energy_j, job, restarts, start_at_s))

    def earn(self, job: str, restarts: int, start_at_s: float, utility: float) -> None:
        """Note what a run has earned, once."""
        with self._changing() as at:
            at.execute(f"UPDATE runs SET utility = ? WHERE {_THE_RUN}", (utility, job, restarts, start_at_s))

    def energy_j(self, since_s: float, now_s: float) -> float:
        """The energy of all runs between two instants: measured where it is, in even shares of its time."""
        return float(self._one(_ENERGY, {"since": since_s, "now": now_s}))

    def utility(self, since_s: float) -> float:
        """What the runs that ended since an instant have earned."""
        return float(self._one("SELECT total(utility) FROM runs WHERE end_at_s >= ?", (since_s,)))

    def open_runs(self) -> list[Run]:
        """The runs that have not ended, as far as is known."""
        return [Run(*row) for row in self._all(f"SELECT {_COLUMNS} FROM runs WHERE end_at_s IS NULL ORDER BY job")]

    # --- decisions ------------------------------------------------------------------------------------------

    def decide(self, decisions: Iterable[Decision]) -> list[int]:
        """Note decisions before Slurm is told of them; their numbers."""
        with self._changing() as at:
            return [int(at.execute(_DECIDE, decision).lastrowid or 0) for decision in decisions]

    def settle(self, numbers: Iterable[int], outcome: str) -> None:
        """Note what became of decisions."""
        with self._changing() as at:
            at.executemany("UPDATE decisions SET outcome = ? WHERE number = ?", [(outcome, one) for one in numbers])

    def unsettled(self) -> dict[int, Decision]:
        """Decisions of which nobody knows whether Slurm was told: the queue shows it."""
        rows = self._all("SELECT number, * FROM decisions WHERE outcome IS NULL ORDER BY number")
        return {number: Decision(*rest) for number, _, *rest in rows}

    def last_decisions(self, n: int) -> list[Decision]:
        """The last decisions, the last one first."""
        return [Decision(*row[1:]) for row in self._all("SELECT * FROM decisions ORDER BY number DESC LIMIT ?", (n,))]

    # --- anything else --------------------------------------------------------------------------------------

    def remember(self, name: str, value: str) -> None:
        """Keep a text by its name."""
        with self._changing() as at:
            at.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def recall(self, name: str) -> str | None:
        """The text of that name, None if there is none."""
        value = self._one("SELECT value FROM meta WHERE name = ?", (name,))
        return None if value is None else str(value)

    def forget(self, before_s: float) -> None:
        """Forget runs that had ended by an instant and decisions of before it, but for those that are not settled."""
        with self._changing() as at:
            at.execute("DELETE FROM runs WHERE end_at_s < ?", (before_s,))
            at.execute("DELETE FROM decisions WHERE at_s < ? AND outcome IS NOT NULL", (before_s,))

    # --- how ------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; InputError where the disk or the file does not let it be."""
        with _in_words(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection

    def _all(self, question: str, values: Sequence[object] | dict[str, object] = ()) -> list[tuple[Any, ...]]:
        with _in_words(self._path):
            return self._connection.execute(question, values).fetchall()

    def _one(self, question: str, values: Sequence[object] | dict[str, object] = ()) -> Any:
        rows = self._all(question, values)
        return rows[0][0] if rows else None


_COLUMNS = "job, restarts, start_at_s, latest_end_at_s, power_w, end_at_s"
_THE_RUN = "job = ? AND restarts = ? AND start_at_s = ?"
_SEE = f"""
INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (job, restarts, start_at_s) DO UPDATE SET latest_end_at_s = excluded.latest_end_at_s,
    end_at_s = excluded.end_at_s, is_guessed = 0
    WHERE excluded.end_at_s IS NOT NULL OR is_guessed OR end_at_s IS NULL
"""
_CLOSE = """
UPDATE runs SET end_at_s = max(start_at_s, min(latest_end_at_s, ?)), is_guessed = 1
WHERE end_at_s IS NULL AND (job, restarts, start_at_s) NOT IN (SELECT * FROM shown)
"""
_DECIDE = "INSERT INTO decisions (at_s, job, restarts, what, why, outcome) VALUES (?, ?, ?, ?, ?, ?)"
_ENERGY = """
SELECT total(coalesce(measured_j / max(until - start_at_s, 1e-9), power_w)
    * max(0.0, min(until, :now) - max(start_at_s, :since)))
FROM (SELECT *, coalesce(end_at_s, :now) AS until FROM runs WHERE end_at_s IS NULL OR end_at_s > :since)
"""


@contextmanager
def opened(folder: Path) -> Iterator[State]:
    """The state in a folder, which is made if there is none, and held for this process alone.

    InputError where another process holds it, the file is none of ours, damaged or of a newer version.
    """
    with locked(folder):
        path = folder / NAME
        with _in_words(path):
            connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _in_words(path):
                _prepare(connection, path)
            yield State(connection, path)
        finally:
            connection.close()


@contextmanager
def looked_at(folder: Path) -> Iterator[State]:
    """The state in a folder to read alone, whether a daemon has it or not; InputError where there is none."""
    path = folder / NAME
    if not path.is_file():
        raise InputError(Problem(str(path), "there is no such file", advice="start joulewise slurm run, or say where"))
    with _in_words(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        with _in_words(path):
            _check(connection, path)
        yield State(connection, path)
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, and look whether an old one is whole."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if not any(_said(connection, name) for name in ("application_id", "user_version", "schema_version")):
        connection.executescript(
            f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_OURS}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    _check(connection, path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """InputError or an error of SQLite where a file is none of ours, of another version or damaged."""
    version = _said(connection, "user_version")
    if _said(connection, "application_id") != _OURS:
        raise InputError(Problem(str(path), "is a database of another program", advice="choose another folder"))
    if version != VERSION:
        found = f"has the form {version} of another version of Joulewise"
        raise InputError(
            Problem(str(path), found, f"must have the form {VERSION}", "use that version, or move it away")
        )
    if _said(connection, "quick_check(1)") != "ok":
        raise sqlite3.DatabaseError("parts of it contradict each other")


def _said(connection: sqlite3.Connection, name: str) -> Any:
    """The first thing that SQLite says of itself by that name."""
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


_ADVICE = "move it away to begin anew: energy used before is not known then, so give what is left of the budget"
_REFUSALS = (
    ("full", "make room on its disk: nothing was changed, and what was noted is kept"),
    ("readonly", "let this process write there"),
    ("unable to open", "let this process write there"),
    ("locked", "end the other program that has it open"),
    ("disk i/o", "look at its disk: nothing was changed by this step"),
)


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """What SQLite refuses in here is told as an InputError that says what to do."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # names of tables may be damaged, too
        advice = next((advice for words, advice in _REFUSALS if words in str(error).lower()), _ADVICE)
        raise InputError(Problem(str(path), f"cannot be used: {error}", advice=advice)) from error


def run_of(job: str, restarts: int, start_at_s: float, limit_s: float | None, power_w: float) -> Run:
    """A run that goes on, which ends at its limit at the latest."""
    return Run(job, restarts, start_at_s, start_at_s + (math.inf if limit_s is None else limit_s), power_w)


def beat(folder: Path, now_s: float) -> None:
    """Say that the daemon lives, to the script that holds jobs and to the timer that releases them."""
    write_atomic(folder / HEARTBEAT, f"{now_s:.0f}\n")
