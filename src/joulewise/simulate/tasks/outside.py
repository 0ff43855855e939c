"""A user's compiled policy as the managed engine takes it."""

from __future__ import annotations

import numpy as np

from joulewise.errors import raise_if_any
from joulewise.kernels.outside import NO_ANSWER, Outside
from joulewise.kernels.tasks.outside import Sight
from joulewise.kernels.tasks.state import EFFECT, HORIZON, LAST, ManagedState, ManagedWorld
from joulewise.model.arrays import seen
from joulewise.model.world import World
from joulewise.policies.own import Own
from joulewise.simulate.event import place_of
from joulewise.simulate.outside import N_COLUMNS, N_MEMORIES, all_seen, fault_of, no_answer
from joulewise.simulate.tasks.event import filled_of, impossible_problem


def raise_fault(outside: Outside, own: Own, n_machines: int) -> None:
    """Raise InputError when compiled code answered something impossible."""
    fate, number, now_s, row = fault_of(outside)
    where = f"{own.name}, {place_of(number, now_s)}"
    if fate == NO_ANSWER:
        raise_if_any([no_answer(where, outside)])
    if fate:
        raise_if_any([impossible_problem(where, row, fate, n_machines)])


def sight_of(world: World, setting: ManagedWorld, state: ManagedState) -> Sight:
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
        tasks=all_seen(setting.tasks),
        utilities=all_seen(setting.utilities),
        worthless_at_s=seen(world.workload.worthless_at_s),
        first=seen(machines.first),
        machine_type=seen(machines.type_of),
        free_s=seen(machines.free_s),
        n_queued=seen(machines.n_queued),
        is_open=seen(machines.is_there),
        is_filled=seen(filled_of(setting, state)),
        exec_s=seen(exec_s),
        energy_j=seen(world.system.eec_j.copy()),
        options=all_seen(setting.options),
        price_per_s=seen(state.prices.per_s),
        price_per_j=seen(state.prices.per_j),
        memory=np.zeros((n_tasks, N_MEMORIES)),
        answer=np.zeros((n_tasks, N_COLUMNS), np.int64),
    )
