"""Energy from the table of an external meter, laid over runs by the time of day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from joulewise.measure.energy_log import EnergyLog
from joulewise.measure.journal import Record
from joulewise.measure.power_csv import read_power_csv


def external_log(meter: Mapping[str, Any]) -> EnergyLog | None:
    """The log of the meter that a folder names; None where it names none, or its table is not there yet."""
    path = meter.get("csv")
    if not path or not Path(path).is_file():
        return None
    return read_power_csv(Path(path), zone=meter["zone"], ahead_s=meter["ahead_s"])


def with_energy(record: Record, log: EnergyLog, name: str) -> Record:
    """A run with what the meter counted meanwhile: of each member, and from the first beginning to the last end."""
    if record["problem"]:
        return record
    started_s = datetime.fromisoformat(record["started"]).timestamp()
    first_s = started_s + min(member["setup_s"] for member in record["members"])
    members = [{**member, "energy_j": _used(log, started_s + member["setup_s"], member["wall_s"])}
               for member in record["members"]]  # fmt: skip
    return {**record, "members": members, "energy_j": _used(log, first_s, record["group_s"]), "energy_meter": name}


def _used(log: EnergyLog, from_s: float, seconds: float) -> float:
    return log.between(from_s, from_s + seconds)
