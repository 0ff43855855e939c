"""Parallel jobs on clusters, as studies know them."""

from __future__ import annotations

from joulewise.study.jobs.policies import job_policies
from joulewise.study.jobs.schedule import JobsKind
from joulewise.study.kinds.system import System

SYSTEM = System("jobs", (JobsKind(),), {"job-policies": job_policies})
