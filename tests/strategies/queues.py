"""Studies of the package in `tests/plugin`, whose runs take no time; the longest wait is taken to be the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from joulewise.cli.catalogue import lists
from joulewise.study import Study, parse_study
from joulewise.study.kinds.systems import all_kinds, installed

HERE = Path(__file__).parents[1] / "plugin"
TEXT = """
name = "queue"
trials = {trials}
[system]
generator = "counter"
{system}
[workload]
generator = "visitors"
n_visitors = {n_visitors}
[serving]
rule = ["in-order", "shortest"]
"""


def forget() -> None:
    """Look for installed packages anew."""
    installed.cache_clear()
    lists.cache_clear()


def with_queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the package installed as long as a test takes."""
    monkeypatch.syspath_prepend(HERE)
    forget()
    monkeypatch.setattr(type(all_kinds()["serving"]), "has_best", True)
    yield
    forget()


def queue(
    trials: str = '"until 30 %, at most 41"',
    n_visitors: str = "4",
    system: str = "",
    change: Callable[[str], str] = lambda text: text,
) -> Study:
    """A study of queues."""
    return parse_study(change(TEXT.format(trials=trials, n_visitors=n_visitors, system=system)), "queue.toml", Path())
