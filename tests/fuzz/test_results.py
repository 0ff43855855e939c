"""Results and measurements that were damaged, or come from elsewhere, are told; nothing of ours breaks on them."""

from __future__ import annotations

import atexit
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import pytest

from joulewise.cli.measure import analysed
from joulewise.cli.result import show_summary
from joulewise.measure.bench.laboratory import estimate_left, measure, runs_of
from joulewise.measure.bench.setting import machine_of, opened
from joulewise.measure.bench.store import LaboratoryStore
from joulewise.measure.plan.plan import Plan, parse_plan
from joulewise.present.report import draft_of, picture_of
from joulewise.present.results import records_of
from joulewise.study import Study, open_results, to_verify
from joulewise.study.running.estimate import estimate
from tests.strategies.damage import damage
from tests.strategies.every_kind import TEXTS, made, remembering
from tests.strategies.fuzzing import FIXED, LONG, REFUSED, SHORT, fresh_seed, is_told, withstand
from tests.strategies.small_lab import SYNTHETIC

LABORATORY = "laboratory"
KINDS = (*TEXTS, LABORATORY)

Reader = Callable[[Path], object]


def report(folder: Path) -> None:
    """The whole report, and what `run` and `reproduce` print."""
    results = open_results(folder)
    draft_of(records_of(results)).html()
    with redirect_stdout(StringIO()):
        show_summary(results, None)


def check(study: Study, folder: Path) -> None:
    """What `check` and `run` look at before anything is computed."""
    estimate(study, folder)


def judge(study: Study, folder: Path) -> None:
    to_verify(folder, files=study.folder).verdicts()


def foresee(plan: Plan, folder: Path) -> None:
    """What `measure --dry-run` looks at."""
    records = LaboratoryStore(folder).records()
    runs, left = runs_of(plan, machine_of(plan), records)
    estimate_left(plan, runs, left, records)


def go_on(plan: Plan, folder: Path) -> None:
    """Measure what is left."""
    with opened(plan, folder) as setting:
        measure(plan, folder, setting)


@cache
def laboratory() -> tuple[Plan, Path]:
    """Measurements of a machine that is made up."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    plan = parse_plan(SYNTHETIC, "plan.toml", folder)
    go_on(plan, folder)
    analysed(folder)
    return plan, folder


@dataclass
class Pictures:
    """Draws one of the figures of a case that were not seen before; all would take most of the time."""

    seen: set[str] = field(default_factory=set)
    is_due: bool = True

    def draw(self, spec: dict[str, Any]) -> str:
        text = json.dumps(spec)
        if not self.is_due or text in self.seen:
            return ""
        self.seen.add(text)
        self.is_due = False
        return picture_of(spec)


@contextmanager
def few_pictures() -> Iterator[Pictures]:
    pictures = Pictures()
    with pytest.MonkeyPatch.context() as patch:
        for module in ("report", "measure.report"):
            patch.setattr(f"joulewise.present.{module}.picture_of", pictures.draw)
        yield pictures


def withstand_damage(folder: Path, readers: Sequence[Reader], seed: int, cases: int) -> Counter[str]:
    """What became of damaged copies of a folder, each of which every reader is given."""

    def attempt(draw: Random, scratch: Path) -> None:
        copy = Path(shutil.copytree(folder, scratch / "copy"))
        pictures.is_due = True
        done = damage(copy, draw)
        told = [error for reader in readers for error in told_by(reader, copy, done)]
        if told:
            raise told[0]

    with few_pictures() as pictures:
        return withstand(attempt, seed, cases)


def told_by(reader: Reader, folder: Path, done: str) -> Iterator[BaseException]:
    """What a reader tells of a folder; whatever it must not raise is raised."""
    try:
        reader(folder)
    except BaseException as error:
        if not is_told(error):
            error.add_note(f"{reader}: {done}")
            raise
        yield error


def fuzz_results(kind: str, seed: int, cases: int) -> Counter[str]:
    """Damaged results of a kind of study, or measurements, as all that read them back meet them."""
    if kind == LABORATORY:
        plan, folder = laboratory()
        return withstand_damage(folder, (partial(foresee, plan), analysed, partial(go_on, plan)), seed, cases)
    results = made(kind)
    readers = (partial(check, results.study), report, partial(judge, results.study))
    with remembering(results.study.kind):
        return withstand_damage(results.folder, readers, seed, cases)


RESULT_FUZZERS = {kind: partial(fuzz_results, kind) for kind in KINDS}
"""What takes a seed and a number of cases, and counts what became of them."""


@pytest.mark.thorough("damages whole results")
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_folders_are_read_or_refused(kind: str) -> None:
    outcomes = fuzz_results(kind, FIXED, SHORT // 8)
    assert outcomes[REFUSED] > 0, outcomes


@pytest.mark.thorough("thousands of folders")
@pytest.mark.parametrize("kind", KINDS)
def test_many_more_damaged_folders_are_read_or_refused(kind: str) -> None:
    fuzz_results(kind, FIXED, LONG // len(KINDS))
    fuzz_results(kind, fresh_seed(), LONG // len(KINDS))
