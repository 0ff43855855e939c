"""What tests of engines compare with and run on; each module has a `study` of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joulewise.study import Study, run_study
from tests.strategies.dask_cluster import DaskCluster, dask_cluster


@pytest.fixture(scope="module")
def expected(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the study when nothing disturbs it."""
    return run_study(study, tmp_path_factory.mktemp("expected"), 1).folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers."""
    with dask_cluster(tmp_path_factory.mktemp("cluster"), 2) as found:
        yield found
