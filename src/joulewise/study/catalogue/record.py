"""What an experiment found, when, with what and in how long: the files that pages of findings are written from.

A record lies in the folder of its results and, once a page tells of it, beside the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.files import write_atomic
from joulewise.units import count, duration
from joulewise.verdicts import ClaimFinding

FILE = "findings.json"


@dataclass(frozen=True)
class FindingsRecord:
    """An experiment with its findings; `about` is what its results say of themselves, empty where nothing was run."""

    id: str
    title: str
    source: str
    reading: str
    trials: int
    about: Mapping[str, Any]
    findings: tuple[ClaimFinding, ...]

    @property
    def effort(self) -> str:
        """How much was run, when, with what and in how long, in words."""
        if not self.trials:
            return "nothing is run"
        about = self.about
        took = f"{duration(float(about['seconds']))} of computing"
        versions = f"Joulewise {about['joulewise']} on Python {about['python']} ({about['machine']})"
        engine = f", searched by {about['engine']}" if about["engine"] else ""
        return f"{count(self.trials, 'trial')}, computed on {about['run_at'][:10]} in {took} with {versions}{engine}"

    @property
    def command(self) -> str:
        """What repeats it."""
        return f"joulewise reproduce {self.id}" + (" --gpu" if "GPU" in self.about.get("engine", "") else "")

    def write(self, path: Path) -> None:
        """Write the record into a file."""
        write_atomic(path, json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def read_records(paths: Iterable[Path]) -> dict[str, FindingsRecord]:
    """The records of these files by experiment; files that are not there are left out."""
    records = (_read(path) for path in paths if path.is_file())
    return {record.id: record for record in records}


def _read(path: Path) -> FindingsRecord:
    try:
        raw = json.loads(path.read_text())
        findings = tuple(ClaimFinding(**finding) for finding in raw.pop("findings"))
        return FindingsRecord(**raw, findings=findings)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        advice = "remove it and run `joulewise reproduce` of this experiment again"
        why = f"{type(error).__name__}: {error}"
        raise InputError(Problem(str(path), why, "must be a record of findings", advice)) from error
