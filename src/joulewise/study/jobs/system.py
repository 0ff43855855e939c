"""Parallel jobs on clusters, as studies know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from joulewise.study.jobs.log_columns import log_columns
from joulewise.study.jobs.policies import job_policies
from joulewise.study.jobs.schedule import JobsKind
from joulewise.study.jobs.site_keys import site_keys
from joulewise.study.kinds.conformance import PolicyCheck
from joulewise.study.kinds.system import System


def _check_policy(spec: str, folder: Path) -> Iterator[PolicyCheck]:
    from joulewise.study.jobs.conformance import check_policy

    return check_policy(spec, folder)


SYSTEM = System(
    "jobs",
    (JobsKind(),),
    {"job-policies": job_policies, "site-keys": site_keys, "log-columns": log_columns},
    _check_policy,
)
