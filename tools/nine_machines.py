"""Write the stand-in table of nine machines: `python -m tools.nine_machines`.

Every number of the table follows from the few named inputs below and the formulas in `time_s` and `power_w`. The
README in the folder of the table says where the inputs come from, and which of them are estimates of ours.
"""

from __future__ import annotations

from typing import NamedTuple

from joulewise.files import write_atomic
from tools.data import PACKAGE_DATA

PATH = PACKAGE_DATA / "nine_machines.csv"

PSU_EFFICIENCY = 0.87
"""Part of the wall power that reaches the components (estimate)."""
FULL_LOAD = 0.85
"""Power of a processor with all cores busy, as a part of its thermal design power (estimate)."""
UNCORE = 0.3
"""Part of that power that is drawn as soon as one core is busy (estimate)."""


class Machine(NamedTuple):
    """A processor: speeds are relative to the i5-2500K, powers in watts."""

    name: str
    cores: int
    tdp_w: float
    int_rate: float
    fp_rate: float
    single: float
    idle_wall_w: float

    def overclocked(self, clock: str, faster: float, voltage: float) -> Machine:
        """The same processor with all cores faster; dynamic power grows with clock and voltage squared."""
        return self._replace(
            name=f"{self.name} @ {clock}",
            tdp_w=self.tdp_w * faster * voltage**2,
            int_rate=self.int_rate * faster,
            fp_rate=self.fp_rate * faster,
            single=self.single * faster,
        )


class Task(NamedTuple):
    """A benchmark: its time on the i5-2500K, and which speed of a machine shortens which part of it."""

    name: str
    reference_s: float
    int_part: float
    fp_part: float
    single_part: float
    busy_cores: float | None
    activity: float
    gpu_w: float

    @property
    def gpu_part(self) -> float:
        """The part that the processor does not shorten, because the graphics card does it."""
        return 1 - self.int_part - self.fp_part - self.single_part


I7_3960X = Machine("Intel Core i7-3960X", 6, 130, 2.00, 1.92, 1.08, 92)
I7_3770K = Machine("Intel Core i7-3770K", 4, 77, 1.41, 1.26, 1.21, 52)
MACHINES = (
    Machine("AMD A8-3870K", 4, 100, 0.55, 0.55, 0.50, 60),
    Machine("AMD FX-8150", 8, 125, 0.84, 0.77, 0.49, 76),
    Machine("Intel Core i3-2120", 2, 65, 0.64, 0.74, 0.90, 52),
    Machine("Intel Core i5-2400S", 4, 65, 0.78, 0.88, 0.84, 53),
    Machine("Intel Core i5-2500K", 4, 95, 1.00, 1.00, 1.00, 55),
    I7_3960X,
    I7_3960X.overclocked("4.2 GHz", 4.2 / 3.6, 1.08),
    I7_3770K,
    I7_3770K.overclocked("4.3 GHz", 4.3 / 3.7, 1.10),
)
TASKS = (
    Task("C-Ray", 28.0, int_part=0.5, fp_part=0.5, single_part=0, busy_cores=None, activity=1.0, gpu_w=0),
    Task("7-Zip Compression", 100.0, int_part=0.9, fp_part=0, single_part=0.1, busy_cores=None, activity=0.85, gpu_w=0),
    Task("Warsow", 90.0, int_part=0, fp_part=0, single_part=0.15, busy_cores=1.5, activity=0.8, gpu_w=85),
    Task("Unigine Heaven", 260.0, int_part=0, fp_part=0, single_part=0.03, busy_cores=1.0, activity=0.7, gpu_w=105),
    Task(
        "Timed Linux Kernel Compilation",
        110.0,
        int_part=0.92,
        fp_part=0,
        single_part=0.08,
        busy_cores=None,
        activity=0.9,
        gpu_w=0,
    ),
)


def time_s(task: Task, machine: Machine) -> float:
    """Each part of the reference time, divided by the speed that it depends on."""
    parts = (
        task.int_part / machine.int_rate,
        task.fp_part / machine.fp_rate,
        task.single_part / machine.single,
        task.gpu_part,
    )
    return task.reference_s * sum(parts)


def power_w(task: Task, machine: Machine) -> float:
    """Wall power: that of the idle machine, and what processor and graphics card draw beyond it."""
    busy = 1.0 if task.busy_cores is None else min(task.busy_cores / machine.cores, 1.0)
    processor_w = FULL_LOAD * machine.tdp_w * task.activity * (UNCORE + (1 - UNCORE) * busy)
    return machine.idle_wall_w + (processor_w + task.gpu_w) / PSU_EFFICIENCY


def table() -> str:
    """The table as CSV: seconds and watts, both to a tenth."""
    rows = (
        f"{task.name},{machine.name},{time_s(task, machine):.1f},{power_w(task, machine):.1f}"
        for task in TASKS
        for machine in MACHINES
    )
    return "\n".join(("task_type,machine_type,etc_s,power_w", *rows)) + "\n"


def main() -> None:
    """Write the table."""
    write_atomic(PATH, table())


if __name__ == "__main__":
    main()
