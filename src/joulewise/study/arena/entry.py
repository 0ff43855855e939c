"""An entry: one file that says what a policy came to on sets of worlds, with all that is needed to run it again."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from joulewise._version import __version__
from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.files import sha256_of, write_atomic
from joulewise.policies.user_files import is_file_spec
from joulewise.reading import Strict, check_object, parsed, read_any_object
from joulewise.study.arena.rows import OF_COMPUTER, ROWS, RUN
from joulewise.study.arena.sets import LOGS, SETS, Place, WorldSet
from joulewise.study.running.planning import plan
from joulewise.study.searches.agreement import differs
from joulewise.units import noun

FORMAT = 2
_AGAIN = "make it again: `joulewise arena POLICY`"
_UNCHANGED = "run it again, and leave its file alone meanwhile"
_LIBRARIES = ("numpy", "numba")


class _Policy(Strict):
    name: str
    sha256: str
    source: str


class _Row(Strict):
    set: str
    policy: str
    world: str
    trial: int = Field(ge=0, lt=2**63)
    utility: float | None
    utility_bound: float | None
    slices: list[float] | None
    event_ms: float | None
    error: str | None
    foresight: str | None


class _File(Strict):
    entry: int
    policy: _Policy
    versions: dict[str, str]
    sets: dict[str, str]
    rows: list[_Row]


@dataclass(frozen=True)
class Entry:
    """What a policy came to.

    `source` is the text of its file, "" for one of our tables; `sets` have the stamp of each set, and `rows` a column
    `set` before those of `ROWS`. `versions` are those of what computed them.
    """

    policy: str
    source: str
    sha256: str
    versions: dict[str, str]
    sets: dict[str, str]
    rows: pl.DataFrame = field(repr=False)

    def write(self, path: Path) -> None:
        """Write the entry into a file."""
        policy = {"name": self.policy, "sha256": self.sha256, "source": self.source}
        about = {"entry": FORMAT, "policy": policy, "versions": self.versions, "sets": self.sets}
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in self.rows.iter_rows(named=True))
        head = json.dumps(about, indent=1, ensure_ascii=False).removesuffix("\n}")
        write_atomic(path, f'{head},\n "rows": [\n  {lines}\n ]\n}}\n')


class Source(NamedTuple):
    """The text of the file of a policy and its hash; "" for one of our tables."""

    text: str
    sha256: str


def source_of(place: Place) -> Source:
    """The source of a policy as it is now; InputError where it is no text."""
    folder, policy = place
    if not is_file_spec(policy):
        return Source("", "")
    try:
        content = _file_of(folder, policy).read_bytes()
    except OSError as error:
        raise InputError(Problem(policy, f"cannot be read: {error.strerror}", advice=_UNCHANGED)) from error
    return Source(parsed(policy, content, bytes.decode, "write it in UTF-8"), _digest(content))


def entry_of(place: Place, source: Source, rows: Sequence[tuple[WorldSet, pl.DataFrame]]) -> Entry:
    """The entry of a policy with these rows, given its source before they were computed.

    InputError where that is another now: nobody knows which of them ran.
    """
    if source_of(place) != source:
        raise InputError(Problem(place[1], "changed while it was run", "must stay as it is", _UNCHANGED))
    table = pl.concat(found.select(pl.lit(each.name).alias("set"), pl.all()) for each, found in rows)
    return Entry(place[1], *source, versions(), {each.name: each.stamp for each, _ in rows}, table)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_of(folder: Path, policy: str) -> Path:
    return folder / policy.partition(":")[0]


def versions() -> dict[str, str]:
    """What computes results here: the package, the sources of its kernels, libraries, Python and the machine."""
    kernels = Path(str(files("joulewise") / "kernels"))
    digest = _digest("".join(map(sha256_of, sorted(kernels.rglob("*.py")))).encode())
    return {
        "joulewise": __version__,
        "kernels": digest[:16],
        **{name: version(name) for name in _LIBRARIES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def read_entry(path: Path) -> Entry:
    """The entry in a file; InputError where it is damaged, or of sets that are not those of this package."""
    found = read_any_object(path, _AGAIN)
    if found.get("entry", FORMAT) != FORMAT:
        allowed = f"this version reads entries of format {FORMAT}"
        raise InputError(Problem(str(path), f"is an entry of format {found['entry']!r}", allowed, _AGAIN))
    check_object(path, found, _File, _AGAIN)
    raise_if_any(_other_sets(path, found["sets"]))
    raise_if_any(_strange_rows(path, found))
    schema = pl.Schema({"set": pl.String(), **ROWS})
    rows = parsed(path, found["rows"], lambda rows: pl.DataFrame(rows, schema), _AGAIN)
    policy = found["policy"]
    return Entry(policy["name"], policy["source"], policy["sha256"], found["versions"], found["sets"], rows)


def _other_sets(path: Path, stamps: dict[str, str]) -> Iterator[Problem]:
    """Sets of an entry that this package does not have, or has in another version."""
    for name, stamp in stamps.items():
        here = f"has {SETS[name].stamp!r}" if name in SETS else f"has the sets {', '.join(SETS)}"
        if name not in SETS or SETS[name].stamp != stamp:
            yield Problem(f"{path}: sets.{name}", f"is of {stamp!r}", f"this package {here}", _AGAIN)
        elif not SETS[name].is_there:
            yield Problem(f"{path}: sets.{name}", "none of its logs is here", advice=f"name their folder by {LOGS}")


def _strange_rows(path: Path, found: dict[str, Any]) -> Iterator[Problem]:
    """Rows of sets or policies that the entry is not of; each run may be there once."""
    seen = set()
    for number, row in enumerate(found["rows"]):
        run = (row["set"], row["world"], row["trial"])
        if row["set"] not in found["sets"] or row["policy"] != found["policy"]["name"]:
            said = f"is of {row['policy']!r} on {row['set']!r}"
            yield Problem(f"{path}: rows.{number}", said, "must be of the policy and the sets of the entry", _AGAIN)
        elif run in seen:
            yield Problem(
                f"{path}: rows.{number}", f"{row['world']!r}, trial {row['trial']}, is there twice", "", _AGAIN
            )
        seen.add(run)


# --- run again ---------------------------------------------------------------------------------------------------


def place_to_run(entry: Entry, path: Path, code: Path | None) -> Place:
    """Where the policy of an entry is taken from: code only from a folder that is trusted, and only what it was.

    InputError else.
    """
    if not is_file_spec(entry.policy):
        return Path(), entry.policy
    where = f"{path}: policy"
    if _digest(entry.source.encode()) != entry.sha256:
        raise InputError(Problem(where, "its source is not that of its hash", "it was altered", _AGAIN))
    if code is None:
        advice = "read the source in it, put that into a folder of yours and name it with --trust-code FOLDER"
        raise InputError(
            Problem(where, f"would run {entry.policy!r}", "nothing that came with an entry is run", advice)
        )
    file = _file_of(code, Path(entry.policy).name)
    if not file.is_file():
        raise InputError(Problem(where, f"found no file {str(file)!r}", "must be there", "put the source there"))
    if sha256_of(file) != entry.sha256:
        found = f"{str(file)!r} has the hash {sha256_of(file)[:12]}"
        raise InputError(
            Problem(where, found, f"the entry is of {entry.sha256[:12]!r}", "take the source of the entry")
        )
    return code, Path(entry.policy).name


def raise_if_rows_are_missing(entry: Entry, path: Path, place: Place) -> None:
    """InputError where an entry lacks rows that its sets ask for, which need not be run to be missed."""
    there = set(entry.rows.select("set", "world", "trial").iter_rows())
    raise_if_any(problem for name in entry.sets for problem in _missing_rows(name, path, place, there))


def _missing_rows(name: str, path: Path, place: Place, there: set[tuple[Any, ...]]) -> Iterator[Problem]:
    """A problem for each world of a set of which some trials are missing."""
    folder, policy = place
    missing: dict[str, list[int]] = {}
    for run in plan(SETS[name].study([policy], folder=folder)):
        world = str(run.point.variant)
        if (name, world, run.trial) not in there:
            missing.setdefault(world, []).append(run.trial)
    for world, trials in missing.items():
        told = f"{noun(len(trials), 'trial')} {', '.join(map(str, trials))}"
        yield Problem(f"{path}: rows", f"of {name}, {world!r}, {told}: missing", "each run of a set has a row", _AGAIN)


def told_of(entry: Entry) -> Iterator[str]:
    """What is other here than where the entry was made."""
    here = versions()
    for name in dict.fromkeys((*here, *entry.versions)):
        there, now = entry.versions.get(name, "none"), here.get(name, "none")
        if there != now:
            yield f"{name}: the entry is of {there}, here is {now}"


@dataclass(frozen=True)
class Held:
    """A row of an entry, and what does not hold of it."""

    set: str
    world: str
    trial: int
    problems: tuple[str, ...]


def held_against(stored: pl.DataFrame, anew: pl.DataFrame) -> list[Held]:
    """What holds of the rows of an entry on a set, given those that come out now; both have a column `set`."""
    keys = ["set", *RUN]
    both = stored.join(anew, on=keys, how="full", coalesce=True, suffix=_ANEW, maintain_order="right_left")
    there = {key: set(table.select(keys).iter_rows()) for key, table in (("stored", stored), ("anew", anew))}
    return [_held(row, tuple(row[key] for key in keys), there) for row in both.iter_rows(named=True)]


_ANEW = " anew"


def _held(row: dict[str, Any], run: tuple[Any, ...], there: dict[str, set[tuple[Any, ...]]]) -> Held:
    missing = {"stored": "it is missing in the entry", "anew": "there is no such run"}
    problems = [words for key, words in missing.items() if run not in there[key]]
    return Held(row["set"], row["world"], row["trial"], tuple(problems or _differences(row)))


def _differences(row: dict[str, Any]) -> Iterator[str]:
    """What is stored otherwise than it comes out; what measures the computer is not compared."""
    for name, kind in ROWS.items():
        if name in RUN or name == OF_COMPUTER:
            continue
        stored, anew = row[name], row[name + _ANEW]
        if kind == pl.String:
            if stored != anew:
                yield f"{name}: {stored!r} is stored, {anew!r} comes out"
        else:
            yield from differs(name, *(value if value is not None else float("nan") for value in (stored, anew)))
