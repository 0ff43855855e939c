"""A heterogeneous system: task types, machine types with P-states, execution times and powers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints, freeze_fields, frozen
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class Standby:
    """What machines draw, by machine type, while they run nothing.

    A machine draws `idle_w`, and after `sleep_after_s` without a task `sleep_w`; to wake up it needs `boot_s` at
    `boot_w` before its next task can start. Raises InputError with every problem found.
    """

    idle_w: Floats
    sleep_w: Floats
    boot_w: Floats
    boot_s: Floats
    sleep_after_s: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(self.__dataclass_fields__, np.float64))
        raise_if_any(_standby_problems(self))


def _standby_problems(standby: Standby) -> Iterator[Problem]:
    for name in standby.__dataclass_fields__:
        values = getattr(standby, name)
        limit = values >= 0 if name == "sleep_after_s" else (values >= 0) & np.isfinite(values)
        if values.shape != standby.idle_w.shape or not limit.all():
            allowed = "must be 0 or more for each machine type"
            yield Problem(f"system.{name}", f"found {values.tolist()}", allowed)
    if standby.sleep_w.shape == standby.idle_w.shape and (standby.sleep_w > standby.idle_w).any():
        yield Problem("system.sleep_w", f"found {standby.sleep_w.tolist()}", "must not be above idle_w")


@dataclass(frozen=True, eq=False)
class System(Visible, looks="tasks"):
    """Machines of a few types and how long, and at which power, each task type runs on them.

    `etc_s[task type, machine type, P-state]` is the estimated time to compute, `power_w` the average power
    while computing (same shape). +inf in `etc_s` means "cannot run here". P-state 0 is the fastest; a machine
    type with fewer P-states than others has +inf in the rest. Machines are numbered by machine type.
    Raises InputError with every problem found.
    """

    task_types: tuple[str, ...]
    machine_types: tuple[str, ...]
    counts: Counts
    etc_s: Floats
    power_w: Floats | None = None
    machine_group: tuple[str, ...] = ()
    standby: Standby | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, {"counts": np.int64, "etc_s": np.float64, "power_w": np.float64})
        for name in ("task_types", "machine_types"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        groups = tuple(self.machine_group) or ("general",) * len(self.machine_types)
        object.__setattr__(self, "machine_group", groups)
        raise_if_any(_shape_problems(self))
        raise_if_any(_value_problems(self))

    @property
    def n_task_types(self) -> int:
        return len(self.task_types)

    @property
    def n_machine_types(self) -> int:
        return len(self.machine_types)

    @property
    def n_pstates(self) -> int:
        return int(self.etc_s.shape[2])

    @cached_property
    def n_machines(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def machine_type(self) -> Ints:
        """The machine type of each machine."""
        return frozen(np.repeat(np.arange(self.n_machine_types), self.counts), np.int32)

    @cached_property
    def can_run(self) -> Bools:
        """Whether a task type can run on a machine type at all, as [task type, machine type]."""
        return frozen(np.isfinite(self.etc_s[:, :, 0]), np.bool_)

    @cached_property
    def eec_j(self) -> Floats:
        """Estimated energy consumption of each choice; +inf where it cannot run, 0 without power figures."""
        power_w = np.zeros_like(self.etc_s) if self.power_w is None else self.power_w
        possible = np.isfinite(self.etc_s)
        energy_j = np.full(self.etc_s.shape, np.inf)
        np.multiply(self.etc_s, power_w, out=energy_j, where=possible)
        return frozen(energy_j, np.float64)

    def best_types(self, n: int | None) -> Bools:
        """Whether a machine type is among the n that run a task type fastest in P-state 0; None means all.

        Only types that have machines are counted; ties go to the lower machine type. As [task type, machine type].
        """
        fastest_s = np.where(self.counts > 0, self.etc_s[:, :, 0], np.inf)
        place = np.argsort(np.argsort(fastest_s, axis=1, kind="stable"), axis=1)
        return np.isfinite(fastest_s) & (place < (self.n_machine_types if n is None else n))

    @cached_property
    def mean_etc_s(self) -> Floats:
        """Mean execution time of each task type in P-state 0 over the machine types that can run it."""
        fastest = self.etc_s[:, :, 0]
        total = np.where(self.can_run, fastest, 0.0).sum(axis=1)
        return frozen(total / self.can_run.sum(axis=1), np.float64)


def _repeated(names: tuple[str, ...]) -> list[str]:
    return [name for name, n in Counter(names).items() if n > 1]


def _name_problems(where: str, names: tuple[str, ...]) -> Iterator[Problem]:
    if not names:
        yield Problem(where, "found no names", "there must be at least one")
    for name in _repeated(names):
        yield Problem(where, f"found {name!r} more than once", "names must be unique")
    if any(not name.strip() for name in names):
        yield Problem(where, "found an empty name", "every type needs a name")


def _shape_problems(system: System) -> Iterator[Problem]:
    yield from _name_problems("system.task_types", system.task_types)
    yield from _name_problems("system.machine_types", system.machine_types)
    n_tasks, n_machines = system.n_task_types, system.n_machine_types
    etc, power = system.etc_s, system.power_w
    if etc.ndim != 3 or etc.shape[:2] != (n_tasks, n_machines) or etc.shape[-1] < 1:
        wanted = f"({n_tasks}, {n_machines}, P-states)"
        yield Problem("system.etc_s", f"found the shape {etc.shape}", f"must be {wanted}")
    if power is not None and power.shape != etc.shape:
        found = f"found the shape {power.shape}"
        yield Problem("system.power_w", found, f"must be that of etc_s, {etc.shape}")
    if system.counts.shape != (n_machines,):
        found = f"found {system.counts.size} counts"
        yield Problem("system.counts", found, f"must be one for each of the {n_machines} machine types")
    if len(system.machine_group) != n_machines:
        found = f"found {len(system.machine_group)} groups"
        yield Problem("system.machine_group", found, f"must be one for each of the {n_machines} machine types")
    if system.standby is not None and system.standby.idle_w.shape != (n_machines,):
        found = f"found {system.standby.idle_w.size} values"
        yield Problem("system.idle_w", found, f"must be one for each of the {n_machines} machine types")


def _value_problems(system: System) -> Iterator[Problem]:
    etc, power = system.etc_s, system.power_w
    if (system.counts < 0).any() or system.counts.sum() < 1:
        found = f"found {system.counts.tolist()}"
        yield Problem("system.counts", found, "must be 0 or more each, and one machine at least in all")
    yield from _cell_problems(
        "system.etc_s", system, ~(etc > 0), "must be above 0 s, or inf where the task type cannot run"
    )
    yield from _cell_problems(
        "system.etc_s", system, etc < etc[:, :, :1], "P-state 0 must be the fastest and exist where others do"
    )
    if power is not None:
        wrong = np.isfinite(etc) & ~((power >= 0) & np.isfinite(power))
        yield from _cell_problems("system.power_w", system, wrong, "must be 0 W or more, and finite")
    if system.standby is not None:
        below = np.isfinite(etc) & ((0.0 if power is None else power) < system.standby.idle_w[None, :, None])
        yield from _cell_problems(
            "system.power_w", system, below, "must not be below the idle power of the machine type"
        )
    reachable = (np.isfinite(etc[:, :, 0]) & (system.counts > 0)).any(axis=1)
    for task_type in np.flatnonzero(~reachable):
        yield Problem(
            f"system.etc_s: {system.task_types[task_type]}",
            "no machine can run this task type",
            advice="give it a time on some machine type that has machines, or leave the task type out",
        )


def _cell_problems(where: str, system: System, wrong: Bools, allowed: str) -> Iterator[Problem]:
    """One problem that names the first wrong cell and counts the others."""
    cells = np.argwhere(wrong)
    if not cells.size:
        return
    task_type, machine_type, pstate = cells[0]
    values = system.power_w if where.endswith("power_w") and system.power_w is not None else system.etc_s
    cell = f"{system.task_types[task_type]} on {system.machine_types[machine_type]}, P-state {pstate}"
    more = f" (and {len(cells) - 1} more)" if len(cells) > 1 else ""
    yield Problem(f"{where}: {cell}", f"found {values[tuple(cells[0])]}{more}", allowed)
