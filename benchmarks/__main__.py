"""`python -m benchmarks [NAME ...] [--json] [--gpu] [--smoke] [--only WHAT] [--seed N] [--trials N] [--workers N]`.

Exits 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import repeat
from multiprocessing import get_context
from typing import Any

from benchmarks.measure import Case, Subject, as_json, as_text
from joulewise.optimise.assignments.gpu import gpu_name

SUBJECTS = {
    "day": "benchmarks.day",
    "cluster": "benchmarks.cluster",
    "manager": "benchmarks.manager",
    "bag": "benchmarks.bag",
    "facility": "benchmarks.facility",
    "fronts": "benchmarks.fronts",
    "laboratory": "benchmarks.laboratory",
}
"""In an order in which two processes that take the next one have different kernels to compile."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all unless named: {', '.join(SUBJECTS)}")
    parser.add_argument("--json", action="store_true", help="one JSON object for each on standard output")
    parser.add_argument("--gpu", action="store_true", help="what is measured on a GPU, in place of the rest")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, no bars: does it still work?")
    parser.add_argument("--only", help="one group of figures")
    parser.add_argument("--seed", type=int, default=0, help="another case")
    parser.add_argument("--trials", type=int, default=8, help="over how many worlds figures of quality are averaged")
    parser.add_argument("--workers", type=int, default=1, help="processes; for smoke runs, as figures need quiet")
    asked = parser.parse_args()
    names = asked.names or list(SUBJECTS)
    _refuse(parser, asked, names)
    holds = True
    for result in _results(names, asked):
        print((as_json if asked.json else as_text)(result), flush=True)
        holds &= all(bar["holds"] for bar in result["bars"])
    return 0 if holds else 1


def _refuse(parser: argparse.ArgumentParser, asked: argparse.Namespace, names: list[str]) -> None:
    """End with a message where a benchmark cannot give what is asked of it."""
    if strangers := [name for name in names if name not in SUBJECTS]:
        parser.error(f"{', '.join(strangers)}: must be one of {', '.join(SUBJECTS)}")
    for name in names if asked.gpu or asked.only else ():
        subject = _subject(name)
        if asked.gpu and not (subject.gpu_groups and gpu_name()):
            parser.error("--gpu: there is no GPU here" if subject.gpu_groups else f"--gpu: {name} has nothing for one")
        groups = subject.chosen(_case(asked), asked.gpu)
        if asked.only and asked.only not in groups:
            parser.error(f"--only {asked.only}: must be one of {', '.join(groups)}")


def _results(names: list[str], asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The result of each benchmark, in order; what is measured has a process of its own, smoke runs share some."""
    if len(names) == 1:
        yield _run(names[0], asked)
        return
    tasks_per_process = None if asked.smoke else 1
    with ProcessPoolExecutor(asked.workers, get_context("spawn"), max_tasks_per_child=tasks_per_process) as pool:
        yield from pool.map(_run, names, repeat(asked))


def _run(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    return _subject(name).run(_case(asked), asked.only, asked.gpu)


def _subject(name: str) -> Subject:
    subject: Subject = import_module(SUBJECTS[name]).SUBJECT
    return subject


def _case(asked: argparse.Namespace) -> Case:
    return Case(asked.seed, asked.smoke, asked.trials)


if __name__ == "__main__":
    sys.exit(main())
