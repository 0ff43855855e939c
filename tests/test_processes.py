"""Processes that work for this one."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess

from joulewise.processes import ONE_THREAD, end, for_children


def _begin() -> list[BaseProcess]:
    context = multiprocessing.get_context("spawn")
    with for_children() as children:
        context.Process(target=time.sleep, args=(60.0,)).start()
    return children


def test_each_knows_the_processes_it_has_started_and_leaves_all_else_as_it_was() -> None:
    """Two threads begin at once; who ends its own leaves the other's."""
    before = ({name: os.environ.get(name) for name in ONE_THREAD}, sys.modules["__main__"])
    with ThreadPoolExecutor(2) as pool:
        mine, theirs = pool.map(lambda _: _begin(), range(2))
    assert ({name: os.environ.get(name) for name in ONE_THREAD}, sys.modules["__main__"]) == before
    assert (len(mine), len(theirs)) == (1, 1)
    end(mine)
    assert (mine[0].is_alive(), theirs[0].is_alive()) == (False, True)
    end(theirs)
