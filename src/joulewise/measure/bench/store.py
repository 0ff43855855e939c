"""The folder of a laboratory: the journal is what was measured; everything else is made of it and can be made again.

`measure.json` marks the folder as ours: the plan it belongs to, the machine, and the runs that the plan asks for now.
What an earlier version of the plan asked for stays in the journal, and out of the tables.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from joulewise._version import __version__
from joulewise.errors import InputError, Problem
from joulewise.files import sha256_of, write_changed
from joulewise.measure.bench.bench import GroupRead
from joulewise.measure.bench.journal import Record, read_journal
from joulewise.measure.bench.observations import COLUMNS
from joulewise.measure.bench.schemas import EVENTS, LaboratoryMarker
from joulewise.measure.machine.machine import Machine
from joulewise.measure.machine.system_files import core_list, text_of
from joulewise.measure.meters.external import external_table, uncovered, with_energy, with_idle_power
from joulewise.measure.meters.meters import meter_now, without_energy, without_idle_power
from joulewise.measure.plan.plan import Plan
from joulewise.measure.plan.schedule import PlannedRun
from joulewise.reading import parsed, read_any_object, read_object, read_text

if TYPE_CHECKING:
    import polars as pl

_MACHINE = TypeAdapter(Machine)
_AGAIN = "remove it and run the plan again: what was measured is in the journal"

SCHEMA_VERSION = 1
"""Raised whenever a file of the folder changes its meaning."""

MARKER, JOURNAL, TABLES_FOLDER = "measure.json", "journal.jsonl", "tables"
RUN, IDLE, WARM_UP, PROGRAM = "run", "idle", "warm-up", "program"
"""Events of the journal."""

MACHINE_ID = Path("/etc/machine-id")
"""Where Linux keeps a name that no other machine has; missing in some containers."""


@dataclass(frozen=True)
class LaboratoryStore:
    """The files of one laboratory."""

    folder: Path

    @property
    def journal_file(self) -> Path:
        return self.folder / JOURNAL

    @property
    def plan_file(self) -> Path:
        return self.folder / "plan.toml"

    def plan_text(self) -> str:
        """The plan as it was given; InputError when it cannot be read."""
        return read_text(self.plan_file, _AGAIN)

    def marker(self) -> dict[str, Any] | None:
        """What the folder says about itself, or None when it says nothing; InputError when it is damaged."""
        path = self.folder / MARKER
        if not path.is_file():
            return None
        version = read_any_object(path, _AGAIN).get("schema_version")
        if version != SCHEMA_VERSION:
            allowed, advice = f"this Joulewise reads version {SCHEMA_VERSION}", "use the Joulewise that wrote it"
            raise InputError(Problem(str(path), f"found schema version {version!r}", allowed, advice))
        marker = read_object(path, LaboratoryMarker, _AGAIN)
        parsed(path, marker["machine"], machine_from, _AGAIN)
        return marker

    def existing(self) -> dict[str, Any]:
        """The marker of a folder that must be a laboratory's."""
        marker = self.marker() if self.folder.is_dir() else None
        if marker is None:
            found = "holds no measurements" if self.folder.is_dir() else "is no folder"
            allowed = "must be a folder that `joulewise measure PLAN` wrote"
            raise InputError(Problem(str(self.folder), found, allowed))
        return marker

    def check_owner(self, plan: Plan, machine: Machine) -> None:
        """InputError when the folder holds anything but measurements of this plan on this machine."""
        advice = "choose another folder with --out, or remove this one"
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(Problem(str(self.folder), "found a file", "the output must be a folder", advice))
        marker = self.marker()
        if marker is None:
            files = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
            if JOURNAL not in files and any(name[0] != "." for name in files):
                found, allowed = "holds files that are no measurements", "the output must be a new or empty folder"
                raise InputError(Problem(str(self.folder), found, allowed, advice))
            return
        if marker["name"] != plan.name:
            found = f"holds the measurements of the plan {marker['name']!r}"
            raise InputError(Problem(str(self.folder), found, f"this plan is {plan.name!r}", advice))
        there, here = _identity(marker), _identity(_of_machine(plan, machine))
        differing = [fact for fact in here if there[fact] and here[fact] and there[fact] != here[fact]]
        if differing:
            found = f"holds measurements of another machine, {marker['machine'].get('model')!r}"
            allowed = f"this one differs in {', '.join(differing)}"
            raise InputError(Problem(str(self.folder), found, allowed, advice))

    def claim(
        self, plan: Plan, machine: Machine, runs: Sequence[PlannedRun], about: Mapping[str, Any], meter: str
    ) -> None:
        """Mark the folder as the plan's, with the runs that it asks for and the meter that reads energy."""
        marker = {
            "schema_version": SCHEMA_VERSION, "joulewise": __version__, "name": plan.name,
            "description": plan.heading.description, **_of_machine(plan, machine),
            "plan_file": plan.file_name, "probes": [], "meter": {}, **about,
            "energy_meter": meter, "runs": [run.key for run in runs],
        }  # fmt: skip
        write_changed(self.folder / MARKER, json.dumps(marker, indent=1, ensure_ascii=False) + "\n")
        write_changed(self.plan_file, plan.source)

    def records(self) -> list[Record]:
        """What the journal holds."""
        return read_journal(self.journal_file, EVENTS)

    def write_tables(self) -> pl.DataFrame:
        """Make observations.parquet and observations.csv of the journal.

        InputError where the table of an external meter cannot be read; what is made then has no energy.
        """
        marker = self.existing()
        try:
            records = self._metered(marker)
        except InputError:
            self._write_tables(_of_one_meter(self.records(), marker), marker)
            raise
        return self._write_tables(records, marker)

    def _write_tables(self, records: Iterable[Record], marker: Mapping[str, Any]) -> pl.DataFrame:
        from joulewise.measure.analysis.outliers import with_outliers

        table = with_outliers(observations(records, marker["runs"]))
        packed = io.BytesIO()
        table.write_parquet(packed, metadata={"schema_version": str(SCHEMA_VERSION)})
        write_changed(self.folder / "observations.parquet", packed.getvalue())
        write_changed(self.folder / "observations.csv", table.write_csv())
        return table

    def _metered(self, marker: Mapping[str, Any]) -> list[Record]:
        """What the journal holds, with energies of one meter: of an external one where the folder names one."""
        meter, records = external_table(marker["meter"]), self.records()
        log = meter.log() if meter else None
        if meter is not None and log is not None:
            parts = {RUN: with_energy, IDLE: with_idle_power}
            completed = {event: partial(part, log=log, name=meter.name) for event, part in parts.items()}
            records = [completed.get(record["event"], _as_is)(record) for record in records]
        return _of_one_meter(records, marker)

    def uncovered(self) -> str:
        """Which runs the table of an external meter tells no energy of, and why; nothing without one."""
        marker = self.existing()
        meter, runs = external_table(marker["meter"]), last_runs(self.records())
        made = [runs[key] for key in marker["runs"] if is_valid(runs.get(key))]
        return uncovered(meter, meter.log(), made) if meter and made else ""

    def idle_readings(self) -> list[Record]:
        """Readings of the idle machine by the meter whose energies count."""
        records = self._metered(self.existing())
        return [record for record in records if record["event"] == IDLE and record["idle_w"] is not None]

    def stamp(self) -> str:
        """What tells measurements from all others: a hash of all that a report is made of."""
        files = [self.folder / name for name in (MARKER, JOURNAL, "observations.csv")]
        hashes = [sha256_of(file) if file.is_file() else "" for file in files]
        facts = [*hashes, self.plan_text(), self.idle_readings(), self.uncovered()]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def idle_powers(self) -> pl.DataFrame:
        """Powers of the idle machine, one row for each time it was read."""
        import polars as pl

        rows = [(record["clock"], record["idle_w"]) for record in self.idle_readings()]
        return pl.DataFrame(rows, {"clock": pl.String, "idle_w": pl.Float64}, orient="row")


def _as_is(record: Record) -> Record:
    return record


_LEFT_OUT = {RUN: without_energy, IDLE: without_idle_power}


def _of_one_meter(records: Sequence[Record], marker: Mapping[str, Any]) -> list[Record]:
    """Records without the energies of all meters but one."""
    meter = meter_now(marker.get("energy_meter", ""), records)
    return [
        record if record.get("energy_meter", meter) == meter else _LEFT_OUT[record["event"]](record)
        for record in records
    ]


def _of_machine(plan: Plan, machine: Machine) -> dict[str, Any]:
    """What the folder says of the machine; a synthetic one is the same wherever it is made up."""
    return {"machine": machine_facts(machine), "machine_id": "" if plan.synthetic else text_of(MACHINE_ID)}


def _identity(marker: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a machine the same as before, whichever of its cores may be used now."""
    machine = machine_from(marker["machine"])
    sizes = {cache[:3] for cache in machine.caches}
    return {"model": machine.model, "caches": sizes, "machine-id": marker.get("machine_id")}


def machine_facts(machine: Machine) -> dict[str, Any]:
    """A machine as JSON holds it."""
    return dict(json.loads(json.dumps(asdict(machine))))


def machine_from(facts: Mapping[str, Any]) -> Machine:
    """The machine that JSON holds."""
    return _MACHINE.validate_python(facts)


def run_facts(run: PlannedRun, read: GroupRead) -> dict[str, Any]:
    """A run and what was read of it, as a line of the journal."""
    experiment, whole = run.experiment, asdict(read)
    members = [
        {"program": member.program.name, "cores": list(member.cores), **reading}
        for member, reading in zip(experiment.members, whole.pop("members"))
    ]
    what = {"group": experiment.group, "way": experiment.way, "clock": experiment.clock.label}
    return {"key": run.key, **what, "clock_mhz": experiment.clock.frequency_mhz, "repetition": run.repetition,
            **whole, "members": members}  # fmt: skip


def last_runs(records: Iterable[Record]) -> dict[str, Record]:
    """The record that counts of each run: the last that is valid, or the last."""
    last: dict[str, Record] = {}
    for record in records:
        if record["event"] == RUN and not (record["problem"] and is_valid(last.get(record["key"]))):
            last[record["key"]] = record
    return last


def is_valid(record: Record | None) -> bool:
    """Whether a run was made and counts."""
    return record is not None and not record["problem"]


def observations(records: Iterable[Record], keys: Iterable[str]) -> pl.DataFrame:
    """The table of observations: all members of those runs with these keys that were made."""
    from joulewise.measure.analysis.columns import table

    runs = last_runs(records)
    return table(COLUMNS, [row for key in keys if key in runs for row in _rows(runs[key])])


_OF_MEMBER = ("wall_s", "cpu_s", "setup_s", "company_share", "restarts", "instructions", "cycles", "cache_misses",
              "energy_j", "program")  # fmt: skip
_OF_RUN = ("group", "way", "clock", "clock_mhz", "repetition", "started", "group_s", "measured_mhz", "hottest_c")


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    whole = {
        "run": record["key"],
        "size": len(record["members"]),
        **{name: record[name] for name in _OF_RUN},
        "group_energy_j": record["energy_j"],
        "energy_meter": record["energy_meter"] or None,
        "problem": record["problem"] or None,
        "notes": "; ".join(record["notes"]) or None,
    }
    for place, member in enumerate(record["members"]):
        cores = core_list(member["cores"])
        yield {**whole, **{name: member[name] for name in _OF_MEMBER}, "place": place, "cores": cores}
