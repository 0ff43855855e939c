"""Machines of several types, as tasks, bags and assignments have them: where they come from, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from joulewise.errors import Problem
from joulewise.study.spec.parameters import shown
from joulewise.study.spec.parts import Part
from joulewise.study.spec.source import Draw, Source
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.gpus import GpuParameters, gpu_system
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.system_tables import SystemTables, read_system
from joulewise.worlds.uncertain import KEYS

if TYPE_CHECKING:
    from joulewise.model import System

TABLES = "tables"
"""The source of what people's own files say of machines, or of tasks."""


def _has_chance(parameters: Any) -> bool:
    """Whether trials of a system that is itself the same in all differ: in failures, or in how certain times are."""
    return parameters.mtbf_s is not None or parameters.draws_chances


def _generated(parameters: SystemParameters, draw: Draw) -> System:
    return generate_system(parameters, draw.seed, draw.trial)


def _by_variation(parameters: CovSystemParameters, draw: Draw) -> System:
    return generate_cov_system(parameters, draw.seed, draw.trial)


def _nine_machines(parameters: NineMachineParameters, draw: Draw) -> System:
    return generate_nine_machines(parameters, draw.seed)


def _gpus(parameters: GpuParameters, _draw: Draw) -> System:
    return gpu_system(parameters)


def _tabled(tables: SystemTables, draw: Draw) -> System:
    return read_system(tables, draw.folder)


MACHINES = (
    Source(
        "oversubscribed",
        "100 machines of 13 types and 100 task types, some for special-purpose machines only (Friese app. E)",
        SystemParameters,
        _generated,
        is_random=lambda _: True,
    ),
    Source(
        "nine-machines",
        "machines of nine desktop types and task types like five benchmarks, a stand-in (Friese 5.3.4, 6.6; Tarplee V)",
        NineMachineParameters,
        _nine_machines,
        is_random=_has_chance,
    ),
    Source(
        "cov",
        "50 machines of 10 types and 50 task types, all drawn with given coefficients of variation (Friese 6.5)",
        CovSystemParameters,
        _by_variation,
        is_random=lambda _: True,
    ),
    Source(
        "gpus",
        "GPUs of four models that train six networks under power limits, as measured",
        GpuParameters,
        _gpus,
        is_random=_has_chance,
    ),
    Source(
        TABLES,
        "execution times, powers and machines from your own files",
        SystemTables,
        _tabled,
        is_random=_has_chance,
        table="etc_s",
    ),
)
"""Every source of machines."""

_BY_NAME = {source.name: source for source in MACHINES}


def build_machines(system: Part, draw: Draw) -> System:
    """The machines of one trial; InputError when tables do not describe them."""
    return cast("System", _BY_NAME[system.source].build(system.parameters, draw))


def tiny_machines() -> System:
    """Two machines, on which any search is done at once."""
    from joulewise.model import System

    etc_s, power_w = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[90.0, 20.0], [80.0, 30.0]])
    return System(("x", "y"), ("a", "b"), np.array([1, 1]), etc_s[:, :, None], power_w[:, :, None])


def failures(system: Part) -> Iterator[Problem]:
    """Machines that fail, where none may."""
    if system.parameters.mtbf_s is not None:
        found = "found machines that fail"
        yield Problem("system.mtbf", found, "the machines of a search never do", "leave out mtbf and mttr")


def chances_refused(system: Part, allowed: str, advice: str) -> Iterator[Problem]:
    """The keys of a system that make it uncertain, where it may not be."""
    for key in KEYS:
        value = getattr(system.parameters, key)
        if value is not None:
            yield Problem(f"system.{key}", f"found {shown(key, value)}", allowed, advice)
