"""Serial tasks under a manager, as studies know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from joulewise.study.kinds.conformance import PolicyCheck
from joulewise.study.kinds.system import System
from joulewise.study.tasks.day import ManagedKind
from joulewise.study.tasks.policies import policies


def _check_policy(spec: str, folder: Path) -> Iterator[PolicyCheck]:
    from joulewise.study.tasks.conformance import check_policy

    return check_policy(spec, folder)


SYSTEM = System("tasks", (ManagedKind(),), {"policies": policies}, _check_policy)
