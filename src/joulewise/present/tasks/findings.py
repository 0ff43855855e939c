"""The headline of a report on a managed day."""

from __future__ import annotations

from joulewise.present.findings import Finding, best_findings
from joulewise.present.records import Records
from joulewise.present.tasks.keys import POLICY, THRESHOLD


def day_findings(records: Records) -> list[Finding]:
    """The best at each setting with its interval, its lead over the next, and the best without dropping."""
    policies = records.values(POLICY)
    alone = records.label(POLICY, policies[0]) if len(policies) == 1 else "the study"
    return best_findings(records, THRESHOLD, alone)
