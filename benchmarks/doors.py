"""What a researcher meets first: a group of figures for each door."""

from __future__ import annotations

from benchmarks.looks import BARS, looks
from benchmarks.measure import Subject

SUBJECT = Subject("doors", {"looks": looks}, BARS)
