"""Studies of managed worlds: tasks arrive over time and a manager maps them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.kinds.deciders import Deciders
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.switches import idle_switches
from joulewise.study.searches.agreement import differs
from joulewise.study.searches.bounds import PREEMPTIVE, TRIVIAL, of_bounds
from joulewise.study.spec.column import RECORDS, TRACES
from joulewise.study.spec.machines import MACHINES, TABLES, build_machines, chances_refused
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import build_supply
from joulewise.study.spec.source import Draw
from joulewise.study.store.store import Store, Tables
from joulewise.study.tasks import costs
from joulewise.study.tasks import tables as details
from joulewise.study.tasks.columns import MANAGED_COLUMNS
from joulewise.study.tasks.fitting import USES, asked_by, class_problems, division_problems, fit_problems
from joulewise.study.tasks.manager import ManagerParameters
from joulewise.study.tasks.sources import MANAGER_SECTION, MANAGER_SOURCE, WORKLOADS, policy_of
from joulewise.study.tasks.template import MANAGED_TEMPLATE
from joulewise.units import count
from joulewise.worlds.outages import draw_outages
from joulewise.worlds.supply import check_limits

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import Allocation, World
    from joulewise.optimise.bounds import BoundKind
    from joulewise.optimise.tasks.proof import Proof
    from joulewise.simulate.tasks.manager import Manager
    from joulewise.simulate.tasks.serial import Outcome as Simulated

_KEPT_S = 0.02
"""What it takes to write the detail tables of a run."""
_JUDGE_S = 3.5e-5
"""What it takes to judge a task: all measures by plain Python."""
_KEPT_BYTES, _RECORD_BYTES, _PROOF_BYTES = 25_000, 26, 20_000
_TASK_BYTES = 300
"""What a task takes in memory at most."""
_EVENTS = ("mapping_events", "late_events")
"""What an allocation does not tell."""


class ManagedKind(Kind):
    """Tasks under a manager."""

    name = "managed"
    summary = "tasks arrive over time and a manager maps them to machines"
    section = MANAGER_SECTION
    decision = MANAGER_SOURCE
    systems = MACHINES
    workloads = WORKLOADS
    main = "policy"
    title = "percent of what is possible"
    columns = MANAGED_COLUMNS
    tables = (RECORDS, TRACES)
    template = MANAGED_TEMPLATE
    proven = "utility_bound"
    checking = 0.3

    def bound(self, decision: Part, said: str) -> str:
        """Prices are others where tasks run in pieces."""
        return PREEMPTIVE if said != TRIVIAL and decision.parameters.preempts else said

    def build_world(self, parts: WorldParts, draw: Draw) -> World:
        """The world of one trial; InputError when tables do not describe one."""
        from joulewise.model import World

        system = self.build_system(parts, draw)
        workload = self.build_workload(parts.workload, system, draw)
        supply = build_supply(parts.supply, draw)
        check_limits(supply, system)
        outages = draw_outages(parts.system.parameters, system.n_machines, workload.end_s, draw.seed, draw.trial)
        return World(system, workload, supply, outages)

    def is_timed(self, decision: Part) -> bool:
        """Whether the time that mapping takes is measured."""
        manager: ManagerParameters = decision.parameters
        return manager.mapping_time == "measured"

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
        """Look up the policies, read the tables and hold the limits against the systems of the first trial."""
        systems = dict.fromkeys(parts.system for parts in asked.worlds)
        yield lambda: raise_if_any(problem for system in systems for problem in _chances(system))
        managers = Deciders(asked, partial(policy_of, folder=draw.folder), ManagerParameters.manager)
        yield lambda: raise_if_any(managers.problems)
        yield from (partial(asked.world_of, parts) for parts in asked.worlds if _reads_tables(parts))
        for system, supply in dict.fromkeys((parts.system, parts.supply) for parts in asked.worlds):
            yield partial(_check_supply, supply, system, draw)
        yield from (partial(_check_fit, parts, made, asked, draw) for parts, made in managers.by_world())
        yield lambda: raise_if_any(idle_switches(MANAGER_SECTION.name, USES, managers))

    def draws(self, decision: Part, folder: Path) -> bool:
        """Whether the policy draws machines."""
        policy = policy_of(decision.parameters.policy, folder)
        return policy.picks is not None or policy.rule in ("at-random", "assigned")

    def identity_of(self, name: str) -> str | None:
        """What stands in keys for a heuristic of an installed package."""
        from joulewise.policies.tasks.heuristic import installed_identity

        return installed_identity(name)

    def titles(self, decisions: Sequence[Part], folder: Path) -> dict[str, dict[str, str]]:
        """How reports are to call the study's policies, so that they need not load a user's code again."""
        titles = {}
        for spec in dict.fromkeys(decision.parameters.policy for decision in decisions):
            with suppress(InputError):  # a policy that cannot be loaded fails its runs and goes by its bare name
                policy = policy_of(spec, folder)
                titles[spec] = {"title": policy.title, "mode": policy.mode}
        return titles

    def seconds(self, missing: Sequence[Run], store: Store, folder: Path) -> float:
        """The time of one process for the runs, and for the bound of each world that has none yet."""
        n_tasks, draw = self.task_counts(missing, folder), Draw(0, 0, folder)
        policies = {spec: policy_of(spec, folder) for spec in {run.point.decision.parameters.policy for run in missing}}
        n_pstates = {system: costs.n_pstates_of(system, draw) for system in {run.point.system for run in missing}}
        has_truth = {work: costs.has_true_times(work, draw) for work in {run.point.workload for run in missing}}

        def run_s(run: Run) -> float:
            policy = policies[run.point.decision.parameters.policy]
            return costs.run_s(run.point, policy, *facts_of(run), has_truth=has_truth[run.point.workload])

        def bound_s(run: Run) -> float:
            return costs.bound_s(run.bound, *facts_of(run), has_truth=has_truth[run.point.workload])

        def facts_of(run: Run) -> tuple[float, int]:
            return n_tasks[run.key], n_pstates[run.point.system]

        worlds = {(run.world_key, run.bound): run for run in missing if run.bound != TRIVIAL}
        new = (worlds[bound] for bound in store.unproven(worlds.keys()))
        return sum(map(bound_s, new)) + sum(run_s(run) + _KEPT_S * run.keep for run in missing)

    def judging(self, runs: Sequence[Run], folder: Path) -> float:
        """The time of one process to judge runs, task by task."""
        n_tasks = self.task_counts(runs, folder)
        return _JUDGE_S * sum(n_tasks[run.key] for run in runs)

    def size(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the detail tables of those that are kept, and of the bounds of their worlds."""
        kept = [run for run in runs if run.keep]
        n_tasks = self.task_counts(kept, folder).values()
        n_worlds = len({(run.world_key, run.bound) for run in runs if run.bound != TRIVIAL})
        return _KEPT_BYTES * len(kept) + _RECORD_BYTES * sum(n_tasks) + _PROOF_BYTES * n_worlds

    def memory(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the largest world and of what is made of it."""
        return _TASK_BYTES * max(self.task_counts(runs, folder).values(), default=0.0)

    def compute(self, case: Case) -> Outcome:
        """Simulate the manager in the world; JoulewiseError when its allocation breaks a rule."""
        from joulewise.check.tasks.allocation import check_allocation
        from joulewise.simulate.tasks.serial import simulate

        run, world = case.run, case.world
        outcome = simulate(world, case.decision, run.seed, run.trial)
        broken = check_allocation(world, outcome.allocation, case.decision)
        if broken:
            raise JoulewiseError(f"the allocation breaks {count(len(broken), 'rule')}; the first: {broken[0]}")
        return Outcome(columns_of(outcome, _proof(case)), lambda: tables_of(world, outcome.allocation))

    def derived(self, case: Case, _row: Mapping[str, Any], stored: Tables) -> Outcome:
        """What follows from a stored allocation: all but the events at which it was made."""
        from joulewise.simulate.tasks.serial import Outcome as Simulated

        world, allocation = case.world, details.allocation_of(stored)
        columns = columns_of(Simulated(world, allocation, 0, 0, math.nan), _proof(case))
        return Outcome(
            {name: columns[name] for name in columns if name not in _EVENTS}, lambda: tables_of(world, allocation)
        )

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored proof: its prices must prove the bound."""
        return _bounds(case)

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of an allocation and its measures, task by task."""
        from joulewise.check.tasks.allocation import check_allocation
        from joulewise.check.tasks.recompute import recompute, run_energy_j

        world, table, allocation = case.world, tables[RECORDS], details.allocation_of(tables)
        yield from check_allocation(world, allocation, case.decision)
        yield from differs("records: energy_j", table["energy_j"].to_numpy(), run_energy_j(world, allocation))
        for name, value in recompute(world, allocation).items():
            yield from differs(f"runs: {name}, task by task", row[name], value)

    def foresight(self, case: Case, tables: Tables, part: float) -> str:
        """What started otherwise than if another future came after a part of the tasks, or nothing."""
        from joulewise.simulate.tasks.serial import simulate
        from joulewise.study.tasks.foresight import foresight

        def decide(world: World) -> Allocation:
            return simulate(world, case.decision, case.run.seed, case.run.trial).allocation

        return foresight(case.world, details.allocation_of(tables), part, decide)

    def sentences(self, runs: pl.DataFrame, _axes: Sequence[str]) -> Iterator[str]:
        """Which bound says what is possible."""
        return of_bounds(runs, "tasks")


def _chances(system: Part) -> Iterator[Problem]:
    """Keys of uncertain systems, which managers know nothing of."""
    advice = "workload.time_spread makes times uncertain here"
    return chances_refused(system, 'is for [optimise] with goal = "utility"', advice)


def _reads_tables(parts: WorldParts) -> bool:
    """Whether the world of these needs what the study's files or inline tables say."""
    return TABLES in (parts.system.source, parts.workload.source)


def _check_supply(supply: Part, system: Part, draw: Draw) -> None:
    """InputError when a section describes no supply, or one with which the system of a trial could run nothing."""
    limits = build_supply(supply, draw)
    if limits.is_limited:
        check_limits(limits, build_machines(system, draw))


def _check_fit(parts: WorldParts, managers: Sequence[Manager], asked: Candidates, draw: Draw) -> None:
    """Hold managers against the sections of a world, and against the world itself where tables make it."""
    problems = [*class_problems(parts, managers, draw), *division_problems(parts, managers, draw)]
    world = asked.world_of(parts) if managers and _reads_tables(parts) else None
    of_parts = asked_by(parts)
    for manager in managers:
        problems += fit_problems(of_parts, manager)
        if world is not None:
            from joulewise.simulate.tasks.misfits import misfits

            places = {problem.where for problem in problems}
            problems += [problem for problem in misfits(world, manager) if problem.where not in places]
    raise_if_any(dict.fromkeys(problems))


def columns_of(outcome: Simulated, proof: Proof) -> dict[str, Any]:
    """Every metric of what a manager did, with the yardsticks of its world."""
    from joulewise.simulate.tasks.measures import measures
    from joulewise.worlds.heterogeneity import heterogeneity_metrics, tasks_per_day

    metrics, system = measures(outcome.world, outcome), outcome.world.system
    metrics["maximum_utility"], metrics["utility_bound"] = proof.maximum_utility, proof.utility_bound
    metrics |= _shares(metrics["utility"], proof.maximum_utility, proof.utility_bound)
    return {**metrics, **heterogeneity_metrics(system), "system_tasks_per_day": tasks_per_day(system)}


def tables_of(world: World, allocation: Allocation) -> Tables:
    """Every detail table of a run."""
    tables = {RECORDS: details.records(world, allocation), TRACES: details.trace(world, allocation)}
    return {**tables, **details.broken_tables(world, allocation)}


def _proof(case: Case) -> Proof:
    """The proof of the world's bound: stored if known, else found and stored for the other runs on it."""
    from joulewise.optimise.tasks.proof import Proof, prove

    run, store = case.run, case.store
    known = store.read_proof(run.world_key, run.bound, Proof.from_json)
    if known is not None:
        return known
    kind: BoundKind = "trivial" if run.bound == TRIVIAL else "prices"
    proof = prove(case.world, kind, preempts=run.bound == PREEMPTIVE)
    store.write_proof(run.world_key, run.bound, proof.as_json())
    return proof


def _shares(utility: float, maximum_utility: float, utility_bound: float) -> dict[str, float]:
    """The columns in percent that follow from the utility and its two bounds; NaN where a bound is 0."""
    return {
        "utility_percent": 100 * _share(utility, maximum_utility),
        "possible_percent": 100 * _share(utility, utility_bound),
    }


def _share(part: float, whole: float) -> float:
    """A part of something that may be nothing."""
    return part / whole if whole > 0 else math.nan


def _bounds(case: Case) -> Iterator[str]:
    """What does not hold of the stored proof of a world's bounds."""
    from joulewise.check.tasks.prices import dual_value
    from joulewise.optimise.bounds import maximum_utility, utility_ceiling
    from joulewise.optimise.tasks.proof import Proof

    run, world = case.run, case.world
    stored = case.store.read_proof(run.world_key, run.bound, Proof.from_json)
    if stored is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    prices, preempts, bound = stored.certificate, run.bound == PREEMPTIVE, utility_ceiling(world)
    if prices is not None:
        bound = dual_value(world, prices.per_s, prices.per_j, preempts=preempts)
    for name, anew in (("maximum_utility", maximum_utility(world)), ("utility_bound", bound)):
        yield from differs(f"bounds: {name}", getattr(stored, name), anew)
