"""The kinds of studies: all that differs between them is a row of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.study import bag_columns, bags, fronts, managed, profits
from joulewise.study.case import Candidates, Case, Outcome, Tables
from joulewise.study.columns import COUNTS, FRONTS, MACHINES, RECORDS, TRACES, Column
from joulewise.study.sources import BAG, BAG_TABLE, FRONT, MANAGER, OPTIMISE, PROFIT, TABLES, Draw
from joulewise.study.spec import Part, Point, WorldParts
