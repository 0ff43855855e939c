"""Settings of all tests: which of them run, in which order, and on how many random cases.

`pytest --thorough tests/simulate/tasks/test_twins.py` looks at thousands of new cases.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    max_examples=20,
    derandomize=True,
    deadline=None,  # no test judges a time
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=5000, derandomize=False)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="everything at length: takes hours")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("thorough"):
        settings.load_profile("thorough")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long ones start first; what takes too long for every day is not there at all without `--thorough`."""
    if not config.getoption("thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
