"""Serial tasks under a manager, as studies know them."""

from __future__ import annotations

from joulewise.study.kinds.system import System
from joulewise.study.tasks.day import ManagedKind
from joulewise.study.tasks.policies import policies

SYSTEM = System("tasks", (ManagedKind(),), {"policies": policies})
