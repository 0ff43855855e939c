"""What a kind of study is: all that differs between a managed day, a front, a profit and whatever comes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from joulewise.errors import Problem, attempt, raise_if_any
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.searches.bounds import PRICES
from joulewise.study.searches.methods import Method
from joulewise.study.spec.column import FIRST_COLUMNS, LAST_COLUMNS, Column
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import SUPPLY_SECTION, SYSTEM_SECTION, WORKLOAD_SECTION, build_supply
from joulewise.study.spec.source import SYSTEM, WORKLOAD, Draw, Section, Source
from joulewise.study.store.store import Store, Tables
from joulewise.study.store.tables import results_of
from joulewise.worlds.supply import SupplyParameters

if TYPE_CHECKING:
    import polars as pl

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Kind(ABC):
    """One kind of study.

    The `section` that decides, filled by `decision`, makes a study one of this kind. Its system comes from one of
    `systems`, or from that named `unnamed_system` where the study says nothing of it, its workload from one of
    `workloads`. `main` is the key of that section whose values are compared; `methods` has those of them that are ways
    to search, and `values` tells what values of keys mean, by how a study has them, such as `optimise.seeds = ["{}"]`.

    `title` says what the table of results is of, whose columns are those of `columns` with a rank; `has_best`: the
    point where the first of them that all have is best is the best. `tables` are the detail tables that every kept
    run has. `template` is a study to start from, below its heading. `version` is for packages other than ours: another
    one when the same study would give other numbers, so that stored runs are not taken for those of new code.
    `checking` is how many times as long as making a world with its bound it takes to make it again and check that.
    `proven` is where a stored proof says what it proves. `supply_keys` are the fields of the supply that matter to it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    section: ClassVar[Section]
    decision: ClassVar[Source]
    systems: ClassVar[tuple[Source, ...]]
    workloads: ClassVar[tuple[Source, ...]]
    main: ClassVar[str]
    title: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]
    tables: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[str] = ""
    version: ClassVar[str] = ""
    has_best: ClassVar[bool] = True
    checking: ClassVar[float] = 1.0
    proven: ClassVar[str] = "value"
    unnamed_system: ClassVar[str] = ""
    supply_keys: ClassVar[tuple[str, ...]] = tuple(field.name for field in fields(SupplyParameters))
    methods: ClassVar[Mapping[str, Method]] = _NOTHING
    values: ClassVar[Mapping[str, Mapping[str, str]]] = _NOTHING

    # --- what it is made of ------------------------------------------------------------------------------------------

    @property
    def main_axis(self) -> str:
        """The column of the main key."""
        return f"{self.section.name}.{self.main}"

    def sections(self) -> tuple[Section, ...]:
        """The sections of such a study, with the sources that it can use, in the order in which sweeps multiply."""
        return (
            SYSTEM_SECTION.of(self.systems, self.unnamed_system),
            WORKLOAD_SECTION.of(self.workloads),
            SUPPLY_SECTION,
            self.section.of((self.decision,)),
        )

    def uses(self, section: str) -> tuple[Source, ...]:
        """The sources of a section of the world that such a study can use."""
        return {SYSTEM: self.systems, WORKLOAD: self.workloads}.get(section, ())

    def source_of(self, part: Part) -> Source:
        """What a section of such a study is filled by."""
        return self._sources[part.section, part.source]

    @cached_property
    def _sources(self) -> dict[tuple[str, str], Source]:
        return {(section.name, name): source for section in self.sections() for name, source in section.sources.items()}

    def build(self, part: Part, draw: Draw) -> Any:
        """What a section stands for in one trial; InputError when it stands for nothing, as with an unknown policy."""
        return self.source_of(part).build(part.parameters, draw)

    def build_system(self, parts: WorldParts, draw: Draw) -> Any:
        """The system of one trial; InputError where its tables describe none, with the problems of all other files."""
        problems: list[Problem] = []
        system = attempt(problems, self.build, parts.system, draw)
        if problems:
            attempt(problems, self.source_of(parts.workload).check, parts.workload.parameters, draw)
            attempt(problems, build_supply, parts.supply, draw)
        raise_if_any(problems)
        return system

    def build_workload(self, workload: Part, system: Any, draw: Draw) -> Any:
        """The workload of one trial on its system; InputError when tables do not describe one."""
        return self.source_of(workload).build(workload.parameters, system, draw)

    def is_random(self, parts: WorldParts) -> bool:
        """Whether such a world differs from trial to trial."""
        return any(self.source_of(part).is_random(part.parameters) for part in parts)

    def resamples(self, workload: Part) -> bool:
        """Whether trials of a workload are resamples of one sample, so that more of them tell no more of the world."""
        return self.source_of(workload).resamples(workload.parameters)

    def all_columns(self) -> tuple[Column, ...]:
        """The columns of all tables of such a study, those that every study has among them."""
        return (*FIRST_COLUMNS, *self.columns, *LAST_COLUMNS)

    def is_measured(self, table: str, name: str) -> bool:
        """Whether a column measures the computer, so that it differs from time to time."""
        marked = (column.name for column in self.all_columns() if column.table == table and column.is_measured)
        return any(fnmatchcase(name, pattern) for pattern in marked)

    def metrics(self, names: Sequence[str]) -> list[str]:
        """Those of the names of columns that are averaged over trials, in the order of the kind's columns."""
        patterns = dict.fromkeys(column.name for column in self.all_columns() if column.is_metric)
        return [name for pattern in patterns for name in names if fnmatchcase(name, pattern)]

    def in_order(self, names: Sequence[str]) -> list[str]:
        """The columns of a table of runs: what was run, then what came out, in the order of the kind's columns."""
        patterns = [column.name for column in self.all_columns()]
        outcome = results_of(names)
        ranks = {name: next((i for i, each in enumerate(patterns) if fnmatchcase(name, each)), -1) for name in outcome}
        return [*(name for name in names if name not in ranks), *sorted(outcome, key=ranks.__getitem__)]

    def headings(self) -> dict[str, str]:
        """What stands over the metrics in a report, by name; nothing where the name itself is read out."""
        return {column.name.removesuffix(":*"): column.heading for column in self.all_columns() if column.is_metric}

    def shown(self, workloads: Iterable[Part] = ()) -> list[Column]:  # noqa: ARG002 - some tell less of some
        """The columns that people see first, of studies with these workloads."""
        return sorted((column for column in self.columns if column.rank), key=lambda column: column.rank)

    def sense_of(self, metric: str) -> int:
        """1 where the highest mean of a metric is the best, -1 where the lowest is."""
        least = (column.name for column in self.all_columns() if column.least_is_best)
        return -1 if metric in least else 1

    # --- before anything is run --------------------------------------------------------------------------------------

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:  # noqa: ARG002 - for those
        """What must hold before anything is run, as functions that raise InputError; by default, worlds must be."""
        return (partial(asked.world_of, parts) for parts in asked.worlds)

    def warnings(self, asked: Candidates, draw: Draw) -> Iterator[Problem]:  # noqa: ARG002 - for those who have some
        """What is no mistake and worth a word."""
        return iter(())

    def draws(self, decision: Part, folder: Path) -> bool:  # noqa: ARG002 - a policy may stand in a file
        """Whether what decides draws from the trial; by default, whether the method does."""
        method = self.methods.get(self._main_value(decision))
        return method is not None and method.draws

    def settled(self, decision: Part, has_gpu: bool | None) -> Part:  # noqa: ARG002 - for those who use one
        """What decides, as it is computed with or without a GPU, or, given None, here."""
        return decision

    def is_timed(self, decision: Part) -> bool:  # noqa: ARG002 - for those who measure time
        """Whether what is decided depends on how long deciding takes."""
        return False

    def bound(self, decision: Part, said: str) -> str:  # noqa: ARG002 - some have none for some decisions
        """How the bound of a world is proven for what decides there, given how that of the study is."""
        return said

    def usual_bound(self, workloads: Iterable[Part]) -> str:  # noqa: ARG002 - some have none for some workloads
        """How the bounds of a study with these workloads are proven where its heading does not say."""
        return PRICES

    def identity_of(self, name: str) -> str | None:  # noqa: ARG002 - for those who take such code
        """What stands in keys for a name that is installed code; None where it is none."""
        return None

    def seconds(self, missing: Sequence[Run], store: Store, folder: Path) -> float:  # noqa: ARG002 - a guess
        """The time of one process for the runs."""
        return 0.0

    def judging(self, runs: Sequence[Run], folder: Path) -> float:  # noqa: ARG002 - a guess
        """The time of one process to judge runs, beside computing them again."""
        return 0.0

    def size(self, runs: Sequence[Run], folder: Path) -> float:  # noqa: ARG002 - a guess
        """The bytes of the detail tables of those of these runs that are kept, and of the bounds of their worlds."""
        return 0.0

    def memory(self, runs: Sequence[Run], folder: Path) -> float:  # noqa: ARG002 - a guess
        """The bytes that the largest of these runs takes beside those of the process."""
        return 0.0

    def task_counts(self, runs: Sequence[Run], folder: Path) -> dict[str, float]:
        """About how many tasks the workload of each run has, by its key."""
        draw = Draw(0, 0, folder)
        parts = {run.point.workload for run in runs}
        n_tasks = {part: self.source_of(part).n_tasks(part.parameters, draw) for part in parts}
        return {run.key: n_tasks[run.point.workload] for run in runs}

    # --- runs --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def build_world(self, parts: WorldParts, draw: Draw) -> Any:
        """The world of one trial; InputError when its sections do not describe one."""

    @abstractmethod
    def compute(self, case: Case) -> Outcome:
        """What comes out of a run; JoulewiseError when that breaks a rule."""

    # --- stored runs -------------------------------------------------------------------------------------------------

    def hindrance(self, run: Run, row: Mapping[str, Any]) -> str:  # noqa: ARG002 - for those who depend on machines
        """Why a stored run would not come out if it were computed again; nothing if it would."""
        return "what was decided depended on how long deciding took" if self.is_timed(run.point.decision) else ""

    def again(self, case: Case, row: Mapping[str, Any]) -> Outcome:  # noqa: ARG002 - likewise
        """What comes out of a run that nothing hinders to be computed again."""
        return self.compute(case)

    def derived(self, case: Case, row: Mapping[str, Any], stored: Tables) -> Outcome:
        """What follows from the decisions in the detail tables of a run that cannot be computed again."""
        raise NotImplementedError

    def judge_bound(self, case: Case) -> Iterator[str]:  # noqa: ARG002 - some have none
        """What does not hold of the stored proof of the bound of a run's world."""
        return iter(())

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:  # noqa: ARG002 - likewise
        """What does not hold of a run whose columns and detail tables come out, by code of its own; and notes."""
        return iter(())

    def foresight(self, case: Case, tables: Tables, part: float) -> str:
        """What a run with these tables decided by what was still to come after a part of the work, or nothing."""
        raise NotImplementedError

    # --- words -------------------------------------------------------------------------------------------------------

    def titles(self, decisions: Sequence[Part], folder: Path) -> dict[str, dict[str, str]]:  # noqa: ARG002 - likewise
        """How reports are to call what is compared; by default, the methods."""
        names = dict.fromkeys(map(self._main_value, decisions))
        return {name: {"title": self.methods[name].title, "mode": ""} for name in names if name in self.methods}

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:  # noqa: ARG002 - some say nothing
        """What was found, in words."""
        return iter(())

    def _main_value(self, decision: Part) -> str:
        return str(getattr(decision.parameters, self.main))
