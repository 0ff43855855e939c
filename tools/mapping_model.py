"""How long the published mapper takes by the size of its batch: the model behind fig-2.7, fitted on table G.1.

Table G.1 has the mean time per mapping event of each policy at two loads and dropping threshold 0.5, but not the sizes
of the batches. These are taken from our own runs; then b and c, neither below 0, are those for which
b mean(n) + c mean(n²) is nearest to the published times at the two loads. `python -m tools.mapping_model` prints a
table, policy by policy.
"""

from __future__ import annotations

import math

import numpy as np

from joulewise.kernels.tasks.state import EFFECT, LAST
from joulewise.model import World
from joulewise.model.arrays import Floats
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.managed import start
from joulewise.simulate.tasks.manager import Manager
from joulewise.study.catalogue.friese_2 import BATCH, LOADS
from joulewise.study.catalogue.friese_2_events import PUBLISHED_MS
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

SEED, TRIALS, THRESHOLD = 25, 2, 0.5
_PER_TASK_S = 1e-6
"""Mapping takes this long for each task of a batch, so that its size can be read off the clock."""


def batch_sizes(policy: str, load: int, trial: int) -> Floats:
    """How many tasks had arrived and were neither started, pending nor dropped at each counted event of a run."""
    system = generate_system(SystemParameters(), SEED, trial)
    work = generate_workload(WorkloadParameters(tasks_per_day=load), system, SEED, trial)
    model = (0.0, _PER_TASK_S, 0.0)
    manager = Manager(POLICIES[policy], THRESHOLD, mapping_time="given", mapping_model=model)
    engine = start(World(system, work), manager, SEED, trial)
    instants, events = engine.state.clock.instants, []
    for event in range(math.floor(work.end_s / manager.mapping_interval_s) + 1):
        engine.run(event * manager.mapping_interval_s, is_last=False)
        events.append((instants[LAST], instants[EFFECT]))
    event_s, effect_s = np.array(events).T
    sizes: Floats = np.rint((effect_s - event_s) / _PER_TASK_S)
    return np.asarray(sizes[event_s > work.start_s])


def moments(policy: str, load: int) -> tuple[float, float]:
    """The mean size of a batch and the mean of its square."""
    sizes = np.concatenate([batch_sizes(policy, load, trial) for trial in range(TRIALS)])
    return float(sizes.mean()), float((sizes**2).mean())


def nearest(means: Floats, published_s: Floats) -> tuple[float, float]:
    """The two factors that give the published times, or, where one would be below 0, the other one alone."""
    b, c = np.linalg.solve(means, published_s).tolist()
    alone = (means * published_s[:, None]).sum(axis=0) / (means**2).sum(axis=0)
    return (b, c) if min(b, c) >= 0 else (0.0, float(alone[1])) if b < 0 else (float(alone[0]), 0.0)


def fit(policy: str) -> str:
    """A row of the table."""
    means = [moments(policy, load) for load in LOADS]
    b, c = nearest(np.array(means), 1e-3 * np.array(PUBLISHED_MS[policy]))
    sizes = " | ".join(f"{n:,.1f}, {squared:,.0f}" for n, squared in means)
    published = " / ".join(f"{ms:.2f}" for ms in PUBLISHED_MS[policy])
    return f"| {POLICIES[policy].title} | {sizes} | {published} | {b:.2e} | {c:.2e} |"


def main() -> None:
    """Print the table."""
    print("| policy | mean n, mean n² at 33,000 | at 50,000 | published ms | b, s per task | c, s per squared task |")
    print("|---|---|---|---|---|---|")
    for policy in BATCH:
        print(fit(policy), flush=True)


if __name__ == "__main__":
    main()
