"""What the marker and the journal of a laboratory must say: they are read back, and may be damaged or foreign."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from joulewise.reading import Strict

Number = Annotated[float, Field(allow_inf_nan=False)]
Read = Number | None
"""What was read; nothing where it could not be."""


def _instant(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Instant = Annotated[str, AfterValidator(_instant)]


class _Probe(Strict):
    name: str
    is_available: bool
    found: str
    remedy: str


class LaboratoryMarker(Strict):
    """What a folder of measurements says of itself."""

    schema_version: int
    name: str
    description: str
    machine: dict[str, Any]
    machine_id: str
    plan_file: str
    probes: tuple[_Probe, ...] = Field(strict=False)
    meter: dict[str, str | Number | None]
    energy_meter: str
    runs: list[str]


class _StoredMember(Strict):
    program: str
    cores: list[Annotated[int, Field(ge=0, lt=1_000_000)]]
    wall_s: Read
    cpu_s: Read
    setup_s: Read
    company_share: Read
    restarts: int
    instructions: Read
    cycles: Read
    cache_misses: Read
    energy_j: Read


class RunRecord(Strict):
    """A run that was made."""

    key: str
    group: str
    way: str
    clock: str
    clock_mhz: Read
    repetition: int
    started: Instant
    members: Annotated[list[_StoredMember], Field(min_length=1)]
    group_s: Read
    energy_j: Read
    energy_meter: str
    measured_mhz: Read
    hottest_c: Read
    problem: str
    notes: list[str]


class IdleRecord(Strict):
    """A reading of the idle machine."""

    clock: str
    idle_w: Read
    at: Instant
    seconds: Number
    note: str
    energy_meter: str


class WarmUpRecord(Strict):
    """A program that was warmed up."""

    program: str
    seconds: Read
    problem: str


class ProgramRecord(Strict):
    """A bundled program with how it is started."""

    name: str
    kernel: str
    command: list[str]


EVENTS: dict[str, type[Strict]] = {
    "run": RunRecord,
    "idle": IdleRecord,
    "warm-up": WarmUpRecord,
    "program": ProgramRecord,
}
"""What lines of the journal must say, by their event."""
