"""The table of the laboratory: one row for each member of each run, with missing values where nothing was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl


class ObservationColumn(NamedTuple):
    """A column of the table: name, unit, kind of its values and meaning."""

    name: str
    unit: str
    kind: type
    meaning: str


COLUMNS = tuple(
    ObservationColumn(*row)
    for row in (
        ("run", "", str, "key of the run: all members of one run have the same"),
        ("group", "", str, "all programs of the run, sorted: canneal + streamcluster, 2 canneal + bodytrack"),
        ("size", "", int, "how many programs ran together; 1 is a baseline"),
        ("way", "", str, "restart: members that end early are started again; once: they are not"),
        ("clock", "", str, "the clock asked for: a frequency, a governor, or 'as is'"),
        ("clock_mhz", "MHz", float, "the frequency asked for; missing where it is not one"),
        ("repetition", "", int, "0, 1, 2, ... of the same experiment"),
        ("place", "", int, "place of the member in its group: 0, 1, ..."),
        ("program", "", str, "name of the member's program"),
        ("cores", "", str, "the cores it was pinned to: 0, or 0-1,4"),
        ("started", "", str, "when the run began, UTC"),
        ("wall_s", "s", float, "from the member's beginning to its first end"),
        ("cpu_s", "s", float, "processor time of its first run, of all its processes, with its set-up"),
        ("setup_s", "s", float, "from the start of the run to its beginning: set-ups, its own and others'"),
        ("company_share", "", float, "share of wall_s in which another ran past its set-up: mean over the others"),
        ("restarts", "", int, "how often it was started again after its first end"),
        ("instructions", "", float, "instructions of its first run in user mode, without a set-up that it tells"),
        ("cycles", "", float, "cycles of its first run in user mode, without such a set-up"),
        ("cache_misses", "", float, "last-level cache misses of its first run in user mode, without such a set-up"),
        ("energy_j", "J", float, "what the meter counted from its beginning to its first end, of all that ran"),
        ("group_s", "s", float, "from the first member's beginning to the last one's first end"),
        ("group_energy_j", "J", float, "what the meter counted meanwhile"),
        ("energy_meter", "", str, "the meter that read energy, if one did (RAPL is not the whole machine)"),
        ("measured_mhz", "MHz", float, "mean frequency that was seen at the pinned cores"),
        ("hottest_c", "°C", float, "hottest temperature that was seen"),
        ("problem", "", str, "why the run does not count; missing where it does"),
        ("notes", "", str, "remarks on a run that counts, separated by ';'"),
        ("is_outlier", "", bool, "far from the other repetitions of the same experiment (see the report for the rule)"),
    )
)


def meters_of(observations: pl.DataFrame) -> str:
    """The meters that read energy, in words; nothing where none did."""
    return ", ".join(observations["energy_meter"].drop_nulls().unique(maintain_order=True))
