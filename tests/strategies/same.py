"""Whether two results folders hold the same records."""

from __future__ import annotations

from pathlib import Path

from joulewise.study import open_results
from joulewise.study.store.store import Store
from tests.strategies.small import lasting

_OF_THE_WHOLE = ("runs.parquet", "study.json", ".lock")
"""Files that say when and how long something was computed."""


def assert_same_records(one: Path, other: Path) -> None:
    """The same rows but for seconds, and the same proofs and details to the byte."""
    assert lasting(open_results(one).runs).equals(lasting(open_results(other).runs))
    ours, theirs = (Store(folder).contents() for folder in (one, other))
    for name in _OF_THE_WHOLE:
        ours.pop(name, None)
        theirs.pop(name, None)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
