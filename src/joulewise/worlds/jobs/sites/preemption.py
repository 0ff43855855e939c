"""Who gives way to whom at a site, by the qualities of service of jobs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from joulewise.model.preemption import Preemption
from joulewise.worlds.jobs.sites.ground import few
from joulewise.worlds.jobs.sites.site import PREEMPTIONS, Qos, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding

_OFF, _REQUEUE, _SUSPEND, _CANCEL = PREEMPTIONS
_STAY = {_OFF: "preemption without a way to give way", _SUSPEND: "preemption by suspending"}
"""What is told of qualities of service that others preempt, and whose jobs do not give way."""


def preemption_of(tables: SiteTables, log: pl.DataFrame, findings: list[TraceFinding]) -> Preemption | None:
    """The qualities of service of a log's jobs, and which of them stop which; None where none does.

    What is not replayed of that is noted.
    """
    preempting = [each for each in tables.qos if each.preempts]
    kind = str(tables.slurm.get("preempttype", "preempt/qos")).casefold()
    if kind.endswith("partition_prio"):
        _note(findings, "preemption by partitions", ["preempttype"])
    if not preempting or not kind.endswith("qos"):
        if preempting:
            _note(findings, "preemption by qualities of service", [each.name for each in preempting])
        return None
    modes = {each.name: mode_of(tables, each) for each in tables.qos}
    stopped = dict.fromkeys(name for each in preempting for name in each.preempts)
    for mode, words in _STAY.items():
        names = [name for name in stopped if modes[name] == mode]
        if names:
            _note(findings, words, names)
    gives = {name for name, mode in modes.items() if mode in (_REQUEUE, _CANCEL)}
    stops = np.array([[b.name in a.preempts and b.name in gives for b in tables.qos] for a in tables.qos])
    if not stops.any():
        return None
    numbers = {each.name: number for number, each in enumerate(tables.qos)}
    of_job = log["queue"].cast(pl.String).replace_strict(numbers, default=-1, return_dtype=pl.Int64)
    never_again = tables.slurm.get("jobrequeue") is False
    exempt_s = tables.slurm.get("preemptexempttime", 0.0)
    assert isinstance(exempt_s, int | float)
    return Preemption(
        tuple(numbers),
        of_job.to_numpy(),
        stops,
        np.array([each.priority for each in tables.qos]),
        np.array([each.grace_s for each in tables.qos]),
        np.array([modes[name] == _CANCEL or never_again for name in numbers]),
        float(exempt_s),
    )


def mode_of(tables: SiteTables, qos: Qos) -> str:
    """What becomes of jobs of a quality of service that give way: as it says, or else as Slurm's settings say."""
    if qos.preemption is not None:
        return qos.preemption
    said = tables.slurm.get("preemptmode", ())
    names: Sequence[str] = [name.casefold() for name in said] if isinstance(said, tuple) else []
    return next((mode for mode in PREEMPTIONS if mode in names), _OFF)


def _note(findings: list[TraceFinding], what: str, names: list[str]) -> None:
    reason = f"{what} of the site ({few(names)})"
    findings.append(TraceFinding(f"not replayed: {what}", len(names), reason, "not replayed", "lost"))
