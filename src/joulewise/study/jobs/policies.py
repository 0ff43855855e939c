"""The policies for parallel jobs that people choose from, as lists show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joulewise.study.kinds.system import Entry

if TYPE_CHECKING:
    from joulewise.policies.jobs.policy import JobPolicy


def job_policies() -> list[Entry]:
    """Every policy for parallel jobs."""
    from joulewise.policies.jobs.table import JOB_POLICIES

    return [
        Entry(
            "job policy",
            (policy.name, policy.title),
            {"name": policy.name, "rule": policy.rule, "summary": policy.summary},
            {"name": policy.name, "title": policy.title, "rule": policy.rule, "summary": policy.summary,
             "nodes held ahead": _held(policy), "source": policy.source, "use": f'scheduler.policy = "{policy.name}"'},
        )
        for policy in JOB_POLICIES.values()
    ]  # fmt: skip


def _held(policy: JobPolicy) -> str:
    """For whom a policy holds nodes ahead, and until when."""
    from joulewise.policies.jobs.policy import ALL_JOBS

    if policy.reservations == 0:
        return "for no job"
    whom = "every job" if policy.reservations == ALL_JOBS else f"{policy.reservations} of the jobs"
    until = {"reservations": "it starts", "place-holders": "the next mapping event"}[policy.commitment]
    return f"for {whom} that cannot start at once, until {until}"
