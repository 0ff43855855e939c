"""People who queue at a counter: one kind of study, with one column of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import Field

from joulewise.rng import generator
from joulewise.study.kinds.case import Case, Outcome
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.system import Entry, System
from joulewise.study.searches.methods import Method
from joulewise.study.spec.column import Column, metric
from joulewise.study.spec.parameters import OneOf
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.source import Draw, Section, Source
from joulewise.study.store.store import NO_BOUND
from joulewise.units import duration
from joulewise.worlds.parameters import explained


def _in_order(times_s: np.ndarray) -> np.ndarray:
    return np.arange(times_s.size)


def _at_once(_parameters: object, _size: float) -> float:
    return 0.0


METHODS = {
    "in-order": Method("In order", "who came first goes first", "ours", _in_order, _at_once, draws=False, keys=()),
    "shortest": Method(
        "Shortest", "who is served soonest goes first", "ours", np.argsort, _at_once, draws=False, keys=()
    ),
}


@dataclass(frozen=True)
class CounterParameters:
    """A counter."""

    pace: Annotated[float, Field(gt=0)] = explained(1.0, "how many times as fast as usual people are served")


@dataclass(frozen=True)
class VisitorParameters:
    """Who comes."""

    n_visitors: Annotated[int, Field(ge=1)] = explained(5, "how many people come, all at once")
    mean_s: Annotated[float, Field(gt=0)] = explained(60.0, "mean time that serving one takes")


@dataclass(frozen=True)
class ServingParameters:
    """Who goes first."""

    rule: Annotated[str, OneOf(tuple(METHODS))] = explained("in-order", "who goes first")


def _drawn(p: VisitorParameters, pace: float, draw: Draw) -> np.ndarray:
    times_s: np.ndarray = generator(draw.seed, draw.trial, "visitors").exponential(p.mean_s, p.n_visitors) / pace
    return times_s


def _always(_parameters: object) -> bool:
    return True


class ServingKind(Kind):
    """How long people wait."""

    name = "serving"
    summary = "people who queue at a counter, and how long they wait"
    section = Section("serving", "who goes first", decides=True)
    decision = Source("serving", "who goes first", ServingParameters)
    systems = (Source("counter", "one counter", CounterParameters, lambda p, _draw: p.pace),)
    workloads = (Source("visitors", "people who come all at once", VisitorParameters, _drawn, _always),)
    main = "rule"
    methods = METHODS
    title = "mean wait"
    has_best = False
    columns = (
        metric("mean_wait_s", "s", "mean time that people wait", title="wait", form=duration, rank=1),
        Column("visits", "visitor", "", "number of the visitor, from 0"),
        Column("visits", "wait_s", "s", "how long that one waits"),
    )
    tables = ("visits",)
    template = (
        '\n[system]\ngenerator = "counter"\n\n[workload]\ngenerator = "visitors"\n\n[serving]\nrule = "shortest"\n'
    )

    def bound(self, _decision: Part, _said: str) -> str:
        """None is proven."""
        return NO_BOUND

    def build_world(self, parts: WorldParts, draw: Draw) -> Any:
        """How long each visitor takes."""
        return self.build_workload(parts.workload, self.build(parts.system, draw), draw)

    def compute(self, case: Case) -> Outcome:
        """Serve them one after the other."""
        wait_s = _waits_s(case)
        table = pl.DataFrame({"visitor": np.arange(wait_s.size), "wait_s": wait_s})
        return Outcome({"mean_wait_s": float(wait_s.mean())}, lambda: {"visits": table})


def _waits_s(case: Case) -> np.ndarray:
    """How long each visitor waits, in the order of their coming."""
    times_s: np.ndarray = case.world
    order = METHODS[case.decision.rule].search(times_s)
    wait_s = np.empty(times_s.size)
    wait_s[order] = np.cumsum(times_s[order]) - times_s[order]
    return wait_s


def _moods() -> list[Entry]:
    row = {"name": "patient", "summary": "waits"}
    return [Entry("mood", ("patient",), row, row)]


SYSTEM = System("counter", (ServingKind(),), {"moods": _moods})
