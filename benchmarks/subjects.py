"""What can be measured, by name, and running it; apart from the command, which processes of a pool cannot import."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import repeat
from multiprocessing import get_context
from typing import Any

from benchmarks.measure import Case, Subject

SUBJECTS = {
    "manager": "benchmarks.manager",
    "cluster": "benchmarks.cluster",
    "sites": "benchmarks.sites",
    "day": "benchmarks.day",
    "bag": "benchmarks.bag",
    "facility": "benchmarks.facility",
    "fronts": "benchmarks.fronts",
    "laboratory": "benchmarks.laboratory",
    "estimates": "benchmarks.estimates",
    "studies": "benchmarks.studies",
    "doors": "benchmarks.doors",
    "scaling": "benchmarks.scaling",
    "workbench": "benchmarks.workbench",
}
"""The largest kernels are compiled first."""


def results(names: list[str], asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The result of each benchmark, in order; what is measured has a process of its own, smoke runs share some."""
    if len(names) == 1:
        yield _run(names[0], asked)
        return
    tasks_per_process = None if asked.smoke else 1
    with ProcessPoolExecutor(asked.workers, get_context("spawn"), max_tasks_per_child=tasks_per_process) as pool:
        yield from pool.map(_run, names, repeat(asked))


def _run(name: str, asked: argparse.Namespace) -> dict[str, Any]:
    return subject_of(name).run(case_of(asked), asked.only, asked.gpu)


def subject_of(name: str) -> Subject:
    subject: Subject = import_module(SUBJECTS[name]).SUBJECT
    return subject


def case_of(asked: argparse.Namespace) -> Case:
    return Case(asked.seed, asked.smoke, asked.trials)
