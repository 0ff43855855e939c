"""The small day: a study of six machines, run in memory by the code that runs every study; in a worker of the desk."""

from __future__ import annotations

import json
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from joulewise.serve.answer import Plot

if TYPE_CHECKING:
    from joulewise.study.store.store import Store

POLICIES = {
    "max-max-util": "Max-Max Util: what earns most",
    "max-max-upt": "Max-Max UPT: most per second",
    "max-max-upe": "Max-Max UPE: most per joule",
    "prices": "Prices: worth its time and energy",
    "min-min-comp": "Min-Min: done soonest",
    "fcfs-all": "FCFS: first come, first served",
    "random-batch": "Random: draws lots",
}
"""The policies to choose from, and what they go by."""
FILTERS = {"none": "none", "fair-share": "fair share", "adaptive": "adaptive"}
ENVIRONMENTS = {"queued": "have queues", "polled": "are asked when idle"}
MOST_BUDGET_MJ = 100.0
"""The day can use less than this, whatever is chosen."""
FAIR = "fair-share"
"""The energy filter that knows a leniency."""

_FIGURES = ("utility-over-time", "energy-over-time", "task-gantt", "fates")
_TEXT = """\
# A small day to play with: six machines of four types.
name = "play"
seed = {seed}
keep = "all"

[system]
generator = "oversubscribed"
special_counts = [1]
general_counts = [1, 2, 2]
special_task_types = 4
task_types = 30
pstates = 3

[workload]
generator = "day"
tasks_per_day = {tasks}

[supply]
budget = "{budget:g} MJ"

[manager]
policy = {policies}
dropping_threshold = {threshold:g}
environment = "{environment}"
energy_filter = "{energy_filter}"
"""


@dataclass(frozen=True)
class Setting:
    """What can be chosen: who decides, how much work there is, and what may be used for it."""

    policies: tuple[str, ...]
    tasks: int
    threshold: float
    budget_mj: float
    environment: str
    energy_filter: str
    leniency: float
    seed: int

    @property
    def text(self) -> str:
        """The study that it stands for."""
        told = {name: value for name, value in vars(self).items() if name not in ("policies", "budget_mj")}
        text = _TEXT.format(**told, policies=json.dumps(self.policies), budget=self.budget_mj)
        return text + (f"leniency = {self.leniency:g}\n" if self.energy_filter == FAIR else "")


class Played(NamedTuple):
    """What came out: the columns of the run of each policy by its title, and the figures."""

    columns: Mapping[str, Mapping[str, Any]]
    plots: tuple[Plot, ...]


def played(setting: Setting) -> Played:
    """The day as each policy decides it; InputError where what was chosen does not fit together."""
    from joulewise.looks.memory import records_of
    from joulewise.present.page import drawable
    from joulewise.serve.telling import figure_told
    from joulewise.study.kinds.case import Case
    from joulewise.study.parsing.file import parse_study
    from joulewise.study.running.planning import plan
    from joulewise.study.running.worker import world_of
    from joulewise.study.spec.source import Draw
    from joulewise.study.store.store import Store

    study = parse_study(setting.text, "play.toml", Path(), check_inputs=True)
    kind, draw = study.kind, Draw(setting.seed, 0, study.folder)
    titles = kind.titles(study.decisions, study.folder)
    runs = {}
    with tempfile.TemporaryDirectory(prefix="joulewise-") as folder:
        store = Store(Path(folder))
        for run in plan(study):
            world = world_of(run, draw)
            _lend_proof(store, run.world_key, run.bound)
            outcome = kind.compute(Case(run, world, kind.build(run.point.decision, draw), store))
            _keep_proof(store, run.world_key, run.bound)
            policy = str(getattr(run.point.decision.parameters, kind.main))
            runs[titles[policy]["title"]] = (outcome.columns, outcome.tables())
    records = records_of(kind, runs)
    figures = [figure for figure in drawable(records) if figure.name in _FIGURES]
    plots = tuple(figure_told(figure, records) for figure in figures)
    return Played({title: columns for title, (columns, _) in runs.items()}, plots)


_PROOFS: OrderedDict[tuple[str, str], Mapping[str, Any]] = OrderedDict()
"""Proofs of bounds that were found before, by world and bound: most moves leave the world as it is."""
_MOST_PROOFS = 64


def _lend_proof(store: Store, world_key: str, bound: str) -> None:
    proof = _PROOFS.get((world_key, bound))
    if proof is not None:
        store.write_proof(world_key, bound, proof)


def _keep_proof(store: Store, world_key: str, bound: str) -> None:
    found = store.read_proof(world_key, bound, lambda proof: proof)
    if found is not None:
        _PROOFS[world_key, bound] = found
    if len(_PROOFS) > _MOST_PROOFS:
        _PROOFS.popitem(last=False)
