"""Bags of tasks, as studies know them."""

from __future__ import annotations

from joulewise.study.bags.front import FrontKind
from joulewise.study.bags.pricing import PricingKind
from joulewise.study.bags.profit import ProfitKind
from joulewise.study.kinds.system import System

SYSTEM = System("bags", (FrontKind(), ProfitKind(), PricingKind()))
