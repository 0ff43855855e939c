"""Tasks known in advance, as studies know them."""

from __future__ import annotations

from joulewise.study.assignments.front import UtilityKind
from joulewise.study.kinds.system import System

SYSTEM = System("assignments", (UtilityKind(),))
