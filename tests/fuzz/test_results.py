"""Results and measurements that were damaged, or come from elsewhere, are told; nothing of ours breaks on them."""

from __future__ import annotations

import atexit
import shutil
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest

from joulewise.cli.measure import analysed
from joulewise.errors import JoulewiseError
from joulewise.measure.bench.laboratory import measure
from joulewise.measure.bench.setting import opened
from joulewise.measure.plan.plan import parse_plan
from joulewise.present.report import draft_of
from joulewise.present.results import records_of
from joulewise.reading import fitting
from joulewise.study import open_results, to_verify
from tests.strategies.damage import damage
from tests.strategies.every_kind import TEXTS, made, remembering
from tests.strategies.fuzzing import FINE, FIXED, LONG, REFUSED, SHORT, fresh_seed, withstand

PLAN = """
name = "made-up"
repetitions = 2
[[program]]
name = "canneal"
[[program]]
name = "bodytrack"
[synthetic]
"""
LABORATORY = "laboratory"
KINDS = (*TEXTS, LABORATORY)

Reader = Callable[[Path], object]


def draft(folder: Path) -> None:
    """All of a report but its pictures."""
    with fitting(folder):
        draft_of(records_of(open_results(folder)))


def judge(folder: Path) -> None:
    to_verify(folder).verdicts()


@cache
def laboratory() -> Path:
    """Measurements of a machine that is made up."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    plan = parse_plan(PLAN, "plan.toml", folder)
    with opened(plan, folder) as setting:
        measure(plan, folder, setting)
    return folder


def withstand_damage(folder: Path, readers: tuple[Reader, ...], seed: int, cases: int) -> Counter[str]:
    """What became of damaged copies of a folder that readers were given."""

    def attempt(draw: Random, scratch: Path) -> None:
        copy = Path(shutil.copytree(folder, scratch / "copy"))
        done = damage(copy, draw)
        try:
            draw.choice(readers)(copy)
        except OSError as error:  # which commands tell as they are
            raise JoulewiseError(done) from error

    return withstand(attempt, seed, cases)


def fuzz_results(kind: str, seed: int, cases: int) -> Counter[str]:
    """Damaged results of a kind of study, or measurements, as reports and verifying meet them."""
    if kind == LABORATORY:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("joulewise.present.measure.report.picture_of", lambda _: "")  # which takes most of the time
            return withstand_damage(laboratory(), (analysed,), seed, cases)
    results = made(kind)
    with remembering(results.study.kind):
        return withstand_damage(results.folder, (draft, judge), seed, cases)


RESULT_FUZZERS = {kind: partial(fuzz_results, kind) for kind in KINDS}
"""What takes a seed and a number of cases, and counts what became of them."""


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_folders_are_read_or_refused(kind: str) -> None:
    outcomes = fuzz_results(kind, FIXED, SHORT // 4)
    assert min(outcomes[FINE], outcomes[REFUSED]) > 0, outcomes


@pytest.mark.thorough("thousands of folders")
@pytest.mark.parametrize("kind", KINDS)
def test_many_more_damaged_folders_are_read_or_refused(kind: str) -> None:
    fuzz_results(kind, FIXED, LONG // len(KINDS))
    fuzz_results(kind, fresh_seed(), LONG // len(KINDS))
