"""The small tables of times and powers that come with the package; the README beside them names their sources."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats, frozen


class PackagedTable(NamedTuple):
    """Times and powers as [task type, machine type, P-state]; +inf seconds and 0 W where a task type cannot run."""

    task_types: tuple[str, ...]
    machine_types: tuple[str, ...]
    etc_s: Floats
    power_w: Floats


@cache
def packaged_table(name: str) -> PackagedTable:
    """The table in the file `name`, with one row for each choice; types are in the order of their first rows."""
    text = files("joulewise.worlds").joinpath("data", name).read_bytes()
    frame = pl.read_csv(text)
    task_types, machine_types = (tuple(frame[key].unique(maintain_order=True)) for key in ("task_type", "machine_type"))
    rows = [task_types.index(task_type) for task_type in frame["task_type"]]
    columns = [machine_types.index(machine_type) for machine_type in frame["machine_type"]]
    pstates = frame["pstate"].to_list() if "pstate" in frame.columns else [0] * frame.height
    shape = (len(task_types), len(machine_types), max(pstates) + 1)
    etc_s, power_w = np.full(shape, np.inf), np.zeros(shape)
    etc_s[rows, columns, pstates] = frame["etc_s"].to_numpy()
    power_w[rows, columns, pstates] = frame["power_w"].to_numpy()
    return PackagedTable(task_types, machine_types, frozen(etc_s, np.float64), frozen(power_w, np.float64))
