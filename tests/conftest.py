"""Settings of all tests: which of them run, in which order, and on how many random cases.

`pytest --thorough 5000 tests/simulate/tasks/test_twins.py` looks at thousands of new cases.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from joulewise.processes import ONE_THREAD

os.environ.update(ONE_THREAD)  # libraries would start threads on all processors, which other tests and processes use
os.environ.pop("COLUMNS", None)  # readline, which pytest loads, leaves it to processes

settings.register_profile(
    "suite",
    max_examples=3,
    derandomize=True,
    deadline=None,  # no test judges a time
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

QUICKLY_COMPILED = {"NUMBA_OPT": "1", "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
"""Half the time for the compiler, a little more for kernels, the same answers; set before anything imports Numba.

It prepares a coloured message for each overload that it tries, which takes 4 to 12 % of its time.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "everything at length, with so many random cases of each property"
    parser.addoption("--thorough", type=int, metavar="CASES", help=about)


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so in the background of a script: children would be deaf
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if n_cases := config.getoption("thorough"):
        suite = settings.get_profile("suite")
        settings.register_profile("thorough", suite, max_examples=n_cases, derandomize=False)
        settings.load_profile("thorough")
    else:
        os.environ.update(QUICKLY_COMPILED)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """One worker at a time imports a module of tests; the others load the bytecode of all that it imported first."""
    with Path(__file__).open() as turn:
        if isinstance(collector, pytest.Module):
            fcntl.flock(turn, fcntl.LOCK_EX)
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests start first, those that use the largest kernels last: benchmarks compile them meanwhile.

    What takes too long for every day is not there at all without `--thorough`.
    """
    if not config.getoption("thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    items.sort(key=lambda item: (item.get_closest_marker("first") is None, "simulate" in item.path.parts))


@pytest.fixture(scope="session", autouse=True)
def _share(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where there are several workers, let them share what `every_kind` makes."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["JOULEWISE_TESTS_SHARE"] = str(tmp_path_factory.getbasetemp().parent)


@pytest.fixture(scope="session")
def small_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the small study, to be read only."""
    from tests.strategies.small import run_small  # most tests need no study

    return run_small(tmp_path_factory.mktemp("small")).folder


@pytest.fixture
def small_copy(small_results: Path, tmp_path: Path) -> Path:
    """The results of the small study, to be changed."""
    return shutil.copytree(small_results, tmp_path / "small")


def pytest_collection_finish() -> None:
    """What was imported stays until the end: no collection of garbage need look at it, and few are needed."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
