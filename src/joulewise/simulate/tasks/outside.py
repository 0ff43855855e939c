"""A user's compiled code as the managed engine takes it: a policy with what it sees, or an objective."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.tasks.outside import NO_ANSWER, Nobody, Outside, Sight, Valuer
from joulewise.kernels.tasks.state import EFFECT, HORIZON, LAST, ManagedState, ManagedWorld
from joulewise.model.arrays import seen
from joulewise.model.world import World
from joulewise.policies.own import Own
from joulewise.policies.tasks.compile import compiled, compiled_policy
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.event import filled_of, impossible_problem, place_of

_N_MEMORIES = 4

_typeof: Any = numba.typeof


def outside_of(world: World, policy: Policy, setting: ManagedWorld, state: ManagedState) -> Outside | Valuer | Nobody:
    """What compiled code of the user the engine asks."""
    if policy.own is not None and policy.own.is_compiled:
        sight = _sight(world, setting, state)
        return Outside(compiled_policy(policy.own, _typeof(sight)), sight, np.zeros(6))
    if policy.objective is None or not policy.objective.sees:
        return Nobody()
    work = world.workload
    return Valuer(compiled(policy.objective), work.arrival_s + work.hold_s + work.shapes.worthless_s[work.shape])


def raise_fault(outside: Outside, own: Own, n_machines: int) -> None:
    """Raise InputError when compiled code answered something impossible."""
    fate, number, now_s, *row = outside.fault.tolist()
    where = f"{own.name}, {place_of(int(number), now_s)}"
    if fate == NO_ANSWER:
        found, allowed = f"raised, or returned {row[0]:g}", "must return how many rows of the answer are filled"
        raise_if_any([Problem(where, found, allowed, "check its indices")])
    if fate:
        raise_if_any([impossible_problem(where, [*map(int, row)], int(fate), n_machines)])


def _sight(world: World, setting: ManagedWorld, state: ManagedState) -> Sight:
    """What compiled code sees of a run: the engine's own arrays, not to be written."""
    instants, machines, n_tasks = state.clock.instants, state.machines, world.workload.n_tasks
    is_option = setting.option_at >= 0
    exec_s = np.full(is_option.shape, np.inf)
    exec_s[is_option] = setting.options.exec_s[setting.option_at[is_option]]
    return Sight(
        now_s=seen(instants[LAST : LAST + 1]),
        effect_s=seen(instants[EFFECT : EFFECT + 1]),
        next_s=seen(instants[HORIZON : HORIZON + 1]),
        left_j=seen(state.ledger.left_j[:1]),
        n_waiting=seen(state.batch.waiting.size),
        task=seen(state.batch.waiting.items),
        tasks=_all_seen(setting.tasks),
        utilities=_all_seen(setting.utilities),
        first=seen(machines.first),
        machine_type=seen(machines.type_of),
        free_s=seen(machines.free_s),
        is_open=seen(machines.is_there),
        is_filled=seen(filled_of(setting, state)),
        exec_s=seen(exec_s),
        energy_j=seen(world.system.eec_j.copy()),
        options=_all_seen(setting.options),
        memory=np.zeros((n_tasks, _N_MEMORIES)),
        answer=np.zeros((n_tasks, 3), np.int64),
    )


def _all_seen(columns: Any) -> Any:
    """The same columns, not to be written."""
    return type(columns)(*map(seen, columns))
