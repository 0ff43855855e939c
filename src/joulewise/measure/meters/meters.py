"""Energies of one meter alone: what different meters read is never averaged."""

from __future__ import annotations

from collections.abc import Sequence

from joulewise.measure.bench.journal import Record

OTHER_METER = "energy left out, because another meter read it"
"""How the note of a run begins whose energy is not that of the meter that reads now."""


def meter_now(chosen: str, records: Sequence[Record]) -> str:
    """The meter whose energies count: the one that reads now or, where none does, the last one that did."""
    return chosen or next((name for record in reversed(records) if (name := record.get("energy_meter"))), "")


def without_energy(record: Record) -> Record:
    """A run without the energy that another meter read, with a note if there is any; its times are kept."""
    members = [{**member, "energy_j": None} for member in record["members"]]
    had_any = any(part["energy_j"] is not None for part in (record, *record["members"]))
    noted = [f"{OTHER_METER}: {record['energy_meter']}"] if had_any else []
    notes = [*record["notes"], *noted]
    return {**record, "members": members, "energy_j": None, "energy_meter": "", "notes": notes}


def without_idle_power(record: Record) -> Record:
    """A reading of the idle machine without the power that another meter read."""
    return {**record, "idle_w": None}
