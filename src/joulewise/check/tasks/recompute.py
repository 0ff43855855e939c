"""What an allocation achieved, computed task by task in plain Python, to hold the fast measures against."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from joulewise.check.worth import utility_of
from joulewise.model import Allocation, Status, World

HOUR_S = 3600.0
J_PER_KWH = 3.6e6
_USED = (Status.RAN, Status.KILLED)

_Fate = tuple[Status | None, bool]
"""The status of a task that arrived in the window, None for others; and whether it completed in the window."""


def recompute(world: World, allocation: Allocation) -> dict[str, float | int]:
    """The metrics of a run that follow from its allocation, under the names `measures` gives them.

    A completion counts in the window (start_s, end_s], or by the share of its run in there when prorated; energy is
    power times the seconds inside the window, times the PUE; a task counts as arrived in [start_s, end_s]. NaN stands
    for what is not there.
    """
    work = world.workload
    status = [Status(code) for code in allocation.status.tolist()]
    arrived = [work.start_s <= at_s <= work.end_s for at_s in work.arrival_s.tolist()]
    runs = _runs(world, allocation)
    window = _window(world, runs)
    done = [run for run in runs if status[run.task] is Status.RAN and run.is_whole]
    pieces = _pieces(runs)
    earned = {run.task: _earned(world, run, pieces.get(run.task, ())) for run in done}
    completed = {run.task for run in done if work.start_s < run.end_s <= work.end_s}
    fates = [(status[task] if arrived[task] else None, task in completed) for task in range(allocation.n_tasks)]
    return {
        "utility": math.fsum(earned.values()),
        **_counts(fates),
        "runs_lost": sum(work.start_s < run.end_s <= work.end_s for run in runs if run.is_lost),
        **_of_pieces(world, runs),
        **(energies := _energies(world, runs, *window)),
        **_machine_time(world, runs, *window, energies["exhausted_s"]),
        **_priorities(world, earned, fates),
        **_groups(world, done, earned),
    }


def _pieces(runs: Sequence[_Spell]) -> dict[int, list[_Spell]]:
    """The stretches after which tasks were suspended, by task."""
    pieces: dict[int, list[_Spell]] = {}
    for run in runs:
        if run.is_cut:
            pieces.setdefault(run.task, []).append(run)
    return pieces


def _of_pieces(world: World, runs: Sequence[_Spell]) -> dict[str, float | int]:
    """How many runs were suspended in the window, if any were."""
    start_s, end_s = world.workload.start_s, world.workload.end_s
    n_preempted = sum(run.is_cut and start_s < run.end_s <= end_s for run in runs)
    return {"runs_preempted": n_preempted} if n_preempted else {}


def run_energy_j(world: World, allocation: Allocation) -> list[float]:
    """The energy of each task's running inside the window; NaN for a task without a run, or without power figures."""
    runs = _runs(world, allocation)
    start_s, end_s = _window(world, runs)
    energy_j = {run.task: 0.0 for run in runs if run.is_whole}
    for run in runs:
        if not run.is_lost:
            energy_j[run.task] += _inside_s(run, start_s, end_s) * run.power_w
    return [energy_j.get(task, math.nan) for task in range(allocation.n_tasks)]


class _Spell(NamedTuple):
    """A machine at a power from an instant to another, with a task or without (-1).

    A task's run may have been lost with the machine, or cut: the task was suspended.
    """

    machine: int
    start_s: float
    end_s: float
    power_w: float
    task: int = -1
    is_lost: bool = False
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing followed it."""
        return not (self.is_lost or self.is_cut)


def _inside_s(run: _Spell, from_s: float, to_s: float) -> float:
    return max(0.0, min(run.end_s, to_s) - max(run.start_s, from_s))


def _window(world: World, runs: Sequence[_Spell]) -> tuple[float, float]:
    """The window's start and end; without an end it is over with the last run or arrival."""
    work = world.workload
    if math.isfinite(work.end_s):
        return work.start_s, work.end_s
    return work.start_s, max([float(work.arrival_s[-1]), *(run.end_s for run in runs)])


def _runs(world: World, allocation: Allocation) -> list[_Spell]:
    """Every run, by machine and then by start, with its power at the meter."""
    names = ("machine", "pstate", "start_s", "end_s")
    tasks = zip(range(allocation.n_tasks), *(getattr(allocation, name).tolist() for name in names), strict=True)
    used = [row for row, code in zip(tasks, allocation.status.tolist(), strict=True) if code in _USED]
    lost, cut = (
        zip(*(getattr(broken, name).tolist() for name in ("task", *names)), strict=True)
        for broken in (allocation.lost, allocation.pieces)
    )
    rows = [*((row, False, False) for row in used), *((row, True, False) for row in lost),
            *((row, False, True) for row in cut)]  # fmt: skip
    return sorted(
        _Spell(machine, start_s, end_s, _power_w(world, task, machine, pstate), task, is_lost, is_cut)
        for (task, machine, pstate, start_s, end_s), is_lost, is_cut in rows
    )


def _power_w(world: World, task: int, machine: int, pstate: int) -> float:
    """The power at the meter of a task by a choice; NaN without power figures."""
    system = world.system
    if system.power_w is None:
        return math.nan
    choice = (world.workload.task_type[task], system.machine_type[machine], pstate)
    return world.supply.pue * float(system.power_w[choice])


def _earned(world: World, run: _Spell, pieces: Sequence[_Spell]) -> float:
    """What a task earned in the window by a run to its end, behind stretches after which it was suspended."""
    work = world.workload
    if work.is_prorated:
        inside_s = math.fsum(_inside_s(stretch, work.start_s, work.end_s) for stretch in (*pieces, run))
        share = inside_s / math.fsum(stretch.end_s - stretch.start_s for stretch in (*pieces, run))
    else:
        share = 1.0 if work.start_s < run.end_s <= work.end_s else 0.0
    return share * utility_of(world.workload, run.task, run.end_s)


def _energies(world: World, runs: Sequence[_Spell], start_s: float, end_s: float) -> dict[str, float]:
    """What was used in the window by runs and without them, of which budget, and its cost."""
    supply, is_known = world.supply, world.system.power_w is not None
    standby = list(_standby(world, runs)) if is_known else []
    draws = [run for run in (*runs, *standby) if _inside_s(run, start_s, end_s) > 0]
    energy_j = math.fsum(_inside_s(run, start_s, end_s) * run.power_w for run in draws)
    n_days = max(1, math.ceil((end_s - start_s) / supply.day_s))
    budget_j = supply.budget_j if supply.is_total else n_days * supply.budget_j
    energies = {
        "energy_j": energy_j,
        "standby_energy_j": math.fsum(_inside_s(run, start_s, end_s) * run.power_w for run in standby),
        "energy_peak_w": max((power_w for _, _, power_w in _steps(draws, start_s, end_s)), default=0.0),
        "energy_cost": _cost(world, draws, start_s, end_s),
        "budget_j": budget_j if math.isfinite(budget_j) else math.nan,
        "budget_percent": 100 * energy_j / budget_j if math.isfinite(budget_j) else math.nan,
        "exhausted_s": _exhausted_s(draws, start_s, min(end_s, start_s + supply.day_s), 0.99 * (budget_j / n_days)),
    }
    return energies if is_known else dict.fromkeys(energies, math.nan)


def _standby(world: World, runs: Sequence[_Spell]) -> Iterator[_Spell]:
    """What each machine draws between its runs: it is idle, then sleeps, and boots to run again; not while down."""
    standby, outages = world.system.standby, world.outages
    if standby is None:
        return
    down = [_Spell(*row, 0.0) for row in zip(outages.machine.tolist(), outages.start_s.tolist(), outages.end_s.tolist(),
                                           strict=True)]  # fmt: skip
    last = [_Spell(machine, math.inf, math.inf, 0.0) for machine in range(world.system.n_machines)]
    timeline = sorted([*runs, *down, *last], key=lambda run: (run.machine, run.start_s, run.end_s))
    for machine, stays in groupby(timeline, key=lambda run: run.machine):
        kind = int(world.system.machine_type[machine])
        idle_w, sleep_w, boot_w, boot_s, sleep_after_s = (
            float(getattr(standby, name)[kind]) for name in ("idle_w", "sleep_w", "boot_w", "boot_s", "sleep_after_s")
        )
        free_s = 0.0
        for stay in stays:
            awake_s = stay.start_s - boot_s if stay.task >= 0 else stay.start_s
            spans = [(idle_w, stay.start_s)]
            if free_s + sleep_after_s < awake_s:
                spans = [(idle_w, free_s + sleep_after_s), (sleep_w, awake_s), (boot_w, stay.start_s)]
            for power_w, until_s in spans:
                yield _Spell(machine, free_s, until_s, world.supply.pue * power_w)
                free_s = until_s
            free_s = stay.end_s


def _steps(draws: Sequence[_Spell], from_s: float, to_s: float) -> Iterator[tuple[float, float, float]]:
    """The power of all draws together as steps (start, end, power) of a window, those without a length left out."""
    edges = sorted(
        edge
        for run in draws
        for edge in ((max(run.start_s, from_s), run.power_w), (min(run.end_s, to_s), -run.power_w))
    )
    power_w = 0.0
    for (at_s, change_w), (next_s, _) in pairwise(edges):
        power_w += change_w
        if next_s > at_s:
            yield at_s, next_s, power_w


def _exhausted_s(draws: Sequence[_Spell], from_s: float, to_s: float, energy_j: float) -> float:
    """When the draws of a window had used this much energy; NaN if never."""
    left_j = energy_j
    for start_s, end_s, power_w in _steps([run for run in draws if run.start_s < to_s], from_s, to_s):
        step_j = power_w * (end_s - start_s)
        if step_j >= left_j:
            return start_s + left_j / power_w
        left_j -= step_j
    return math.nan


def _cost(world: World, draws: Sequence[_Spell], from_s: float, to_s: float) -> float:
    """Energy by the tariff of each hour; NaN without a tariff."""
    tariff = world.supply.tariff
    return math.nan if tariff is None else math.fsum(_costs(tariff.tolist(), draws, from_s, to_s))


def _costs(tariff: Sequence[float], draws: Sequence[_Spell], from_s: float, to_s: float) -> Iterator[float]:
    for run in draws:
        at_s, end_s = max(run.start_s, from_s), min(run.end_s, to_s)
        while at_s < end_s:
            hour = math.floor(at_s / HOUR_S)
            next_s = min(end_s, (hour + 1) * HOUR_S)
            yield run.power_w * (next_s - at_s) / J_PER_KWH * tariff[hour % len(tariff)]
            at_s = next_s


def _machine_time(
    world: World, runs: Sequence[_Spell], start_s: float, end_s: float, exhausted_s: float
) -> dict[str, float]:
    """The parts of machine time with a run and without one, the latter also while there was energy."""
    until_s = end_s if math.isnan(exhausted_s) else exhausted_s
    with_energy = _busy_and_idle(world, runs, start_s, until_s)
    return {
        **_busy_and_idle(world, runs, start_s, end_s),
        **({"idle_with_energy_percent": with_energy["idle_percent"]} if with_energy else {}),
    }


def _busy_and_idle(world: World, runs: Sequence[_Spell], start_s: float, end_s: float) -> dict[str, float]:
    """The parts of machine time with a run and without one; the rest of it machines were down."""
    outages = world.outages
    machine_s = world.system.n_machines * (end_s - start_s)
    busy_s = math.fsum(_inside_s(run, start_s, end_s) for run in runs)
    down_s = math.fsum(
        max(0.0, min(to_s, end_s) - max(from_s, start_s))
        for from_s, to_s in zip(outages.start_s.tolist(), outages.end_s.tolist(), strict=True)
    )
    if machine_s <= 0:
        return {}
    return {
        "busy_percent": 100 * busy_s / machine_s,
        "idle_percent": 100 * (machine_s - busy_s - down_s) / machine_s,
    }


def _counts(fates: Sequence[_Fate]) -> dict[str, int]:
    """How many tasks arrived in the window, completed in it, or arrived in it and met another fate."""
    arrived = [fate for fate, _ in fates if fate is not None]
    return {
        "tasks_arrived": len(arrived),
        "tasks_completed": sum(is_completed for _, is_completed in fates),
        "tasks_dropped": arrived.count(Status.DROPPED),
        "tasks_killed": arrived.count(Status.KILLED),
        "tasks_waiting": arrived.count(Status.WAITING),
    }


def _priorities(world: World, earned: dict[int, float], fates: Sequence[_Fate]) -> dict[str, float]:
    """The tasks of each priority level; what they earned in percent of what those that arrived were worth at first."""
    work = world.workload
    tag = work.tags.get("priority")
    by_level: dict[str, float] = {}
    for code, name in enumerate(tag.names) if tag is not None else ():
        assert tag is not None
        level = [task for task, of in enumerate(tag.codes.tolist()) if of == code]
        worth = math.fsum(float(work.scale[task]) for task in level if fates[task][0] is not None)
        share = math.fsum(earned.get(task, 0.0) for task in level) / worth if worth > 0 else math.nan
        by_level |= {f"{metric}:{name}": n for metric, n in _counts([fates[task] for task in level]).items()}
        by_level[f"priority_percent:{name}"] = 100 * share
    return by_level


def _groups(world: World, done: Sequence[_Spell], earned: dict[int, float]) -> dict[str, float]:
    """What was earned on the machines of each group, in percent of all."""
    system, total = world.system, math.fsum(earned.values())
    group_of = {run.task: system.machine_group[system.machine_type[run.machine]] for run in done}
    return {
        f"group_percent:{group}": 100
        * (math.fsum(worth for task, worth in earned.items() if group_of[task] == group) / total if total else math.nan)
        for group in system.machine_group
    }
