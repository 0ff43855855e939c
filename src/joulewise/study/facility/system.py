"""Facilities, as studies know them."""

from __future__ import annotations

from joulewise.study.facility.plan import FacilityKind
from joulewise.study.kinds.system import System

SYSTEM = System("facility", (FacilityKind(),))
