"""Reservations that no job of a log can meet are worth a word."""

from __future__ import annotations

from pathlib import Path

from joulewise.study import parse_study

SITE = """name = "oak"
[[nodes]]
name = "cpu"
count = 2
cores = 8
[[partition]]
name = "batch"
nodes = ["cpu"]
"""
KEPT = '[[reservation]]\nname = "{}"\nstart = {}\nend = {}\nnodes = {{cpu = 2}}\n'
STUDY = 'name = "x"\n[system]\nsite = "site.toml"\n[workload]\ntrace = "log.txt"\n[scheduler]\npolicy = "easy"\n'
LOG = "JobID|Submit|ElapsedRaw|AllocCPUS\n1|2026-01-01T00:00:00|60|1\n2|2026-01-02T00:00:00|60|1\n"


def test_reservations_outside_the_log_are_told(tmp_path: Path) -> None:
    spans = {
        "old": ("2025-12-01", "2025-12-02"),
        "now": ("2026-01-01", "2026-01-02"),
        "late": ("2026-02-01", "2026-02-02"),
    }
    kept = [KEPT.format(name, *(f"{day}T00:00:00" for day in days)) for name, days in spans.items()]
    (tmp_path / "site.toml").write_text(SITE + "".join(kept))
    (tmp_path / "log.txt").write_text(LOG)
    said = [str(warning) for warning in parse_study(STUDY, "study.toml", tmp_path, check_inputs=True).warnings]
    assert len(said) == 2
    assert "found reservations that are over when the log begins (old); they change nothing" in said[0]
    late = "begin after the last job of the log, 2026-01-02T00:00:00 local time (late); they change only what jobs that"
    assert f"{late} still wait or run" in said[1]
