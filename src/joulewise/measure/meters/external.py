"""Energy from the table of an external meter, laid over runs by the time of day."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joulewise.measure.bench.journal import Record
from joulewise.measure.machine.availability import Availability
from joulewise.measure.meters.energy_log import EnergyLog
from joulewise.measure.meters.power_csv import has_rows, read_power_csv
from joulewise.units import count


@dataclass(frozen=True)
class PowerTable:
    """The table of an external meter: its file, and how times and values in it are to be read."""

    csv: str
    zone: str = "UTC"
    ahead_s: float = 0.0
    column: str = ""

    @property
    def name(self) -> str:
        """What tables call the meter."""
        return Path(self.csv).name

    def log(self) -> EnergyLog | None:
        """What it holds; None where it is not there yet. InputError where it cannot be read."""
        path = Path(self.csv)
        if not path.is_file():
            return None
        return read_power_csv(path, column=self.column, zone=self.zone, ahead_s=self.ahead_s)

    def check(self) -> None:
        """InputError where what it holds so far cannot be read; a meter may begin to write it later."""
        if Path(self.csv).is_file() and has_rows(Path(self.csv)):
            self.log()

    def availability(self) -> Availability:
        """That it is read when the runs are made, however much of it is there now."""
        there = "" if Path(self.csv).is_file() else "; it is not there yet"
        return Availability("energy", True, f"{self.csv}, laid over the runs by the time of day{there}")


def external_table(meter: Mapping[str, Any]) -> PowerTable | None:
    """The table that a folder names, if it names one."""
    return PowerTable(**meter) if meter.get("csv") else None


def with_idle_power(record: Record, log: EnergyLog, name: str) -> Record:
    """A reading of the idle machine with what the meter counted meanwhile; as it is where the table does not tell."""
    from_s = datetime.fromisoformat(record["at"]).timestamp()
    power_w = log.mean_w(from_s, from_s + record.get("seconds", 0.0))
    return record if math.isnan(power_w) else {**record, "idle_w": power_w, "energy_meter": name}


def with_energy(record: Record, log: EnergyLog, name: str) -> Record:
    """A run with what the meter counted meanwhile: of each member, and from the first beginning to the last end.

    It is left as it is where the table does not tell anything of it.
    """
    if record["problem"]:
        return record
    started_s = datetime.fromisoformat(record["started"]).timestamp()
    first_s = started_s + min(member["setup_s"] for member in record["members"])
    members = [{**member, "energy_j": _used(log, started_s + member["setup_s"], member["wall_s"])}
               for member in record["members"]]  # fmt: skip
    whole = {"members": members, "energy_j": _used(log, first_s, record["group_s"]), "energy_meter": name}
    is_told = any(math.isfinite(part["energy_j"]) for part in (whole, *members))
    return {**record, **whole} if is_told else record


def uncovered(table: PowerTable, log: EnergyLog | None, runs: Sequence[Record]) -> str:
    """The runs for which a table has no energy, and why, in words; nothing where it has all."""
    if log is None:
        return f"energies: {table.csv} is not there"
    spans = [_span_s(run) for run in runs]
    first_s, last_s = log.covers_s
    n_outside = sum(not first_s <= from_s <= to_s <= last_s for from_s, to_s in spans)
    if not n_outside:
        return ""
    covers = f"covers {_moment(first_s)} to {_moment(last_s)}" if math.isfinite(first_s) else "holds nothing"
    made = f"the runs were made from {_moment(min(spans)[0])} to {_moment(max(to_s for _, to_s in spans))}"
    advice = "`time_zone` and `ahead` of [meter] say how its times are read"
    return f"energies of {n_outside:,} of {count(len(spans), 'run')}: {table.name} {covers}, {made}; {advice}"


def _span_s(run: Record) -> tuple[float, float]:
    started_s = datetime.fromisoformat(run["started"]).timestamp()
    return started_s, started_s + max(member["setup_s"] + member["wall_s"] for member in run["members"])


def _moment(epoch_s: float) -> str:
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _used(log: EnergyLog, from_s: float, seconds: float) -> float:
    return log.between(from_s, from_s + seconds)
