"""Numba's own parts stand in one module, for versions that were tried; compiled code is kept by all sources."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import time
import tomllib
import warnings
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numba
import pytest

from joulewise.errors import JoulewiseError
from joulewise.kernels import jit
from joulewise.kernels.compiler import TESTED, Record, check_version, one_thread_compiles
from tests.strategies.sources import PACKAGE, SOURCES, read_source

ROOT = Path(__file__).parents[2]
PUBLIC = {"numba", "numba.extending"}
"""What Numba documents for others to use."""
INSIDE = {f"numba.{name}" for name in ("core", "np", "misc", "experimental")}


def modules_of(source: Path) -> Iterator[str]:
    """The modules that a source imports, and the parts of Numba that it reaches by name."""
    found = read_source(source)
    yield from (imported.module for imported in found.imports)
    yield from INSIDE & found.names


def is_private(module: str) -> bool:
    return module.split(".")[0] in ("numba", "llvmlite") and module not in PUBLIC


def test_only_one_module_knows_the_inside_of_numba() -> None:
    users = {s.relative_to(PACKAGE).as_posix() for s in SOURCES if any(map(is_private, modules_of(s)))}
    assert users == {"kernels/compiler.py"}


def test_the_installed_numba_is_one_that_was_tried() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version(numba.__version__)


@pytest.mark.parametrize("version", [TESTED[0], f"{TESTED[0]}.0rc1", "0.68.1"])
def test_versions_that_were_tried_are_taken(version: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_version(version)


def test_other_versions_of_numba_are_refused_or_warned_of() -> None:
    with pytest.raises(JoulewiseError, match=r"found Numba 0\.60\.0; .* pip install 'numba>=0\.61,<0\.69'"):
        check_version("0.60.0")
    for version in (TESTED[1], "1.0.0"):
        with pytest.warns(RuntimeWarning, match=f"found Numba {version}"):
            check_version(version)


def test_the_package_asks_for_the_versions_that_were_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"numba>={TESTED[0]},<{TESTED[1]}" in project["dependencies"]


def test_the_key_of_compiled_code_changes_with_a_source_at_any_depth(tmp_path: Path) -> None:
    sources = [tmp_path / "jit.py", tmp_path / "jobs" / "energy.py", tmp_path / "jobs" / "deep" / "er.py"]
    sources[-1].parent.mkdir(parents=True)
    for source in sources:
        source.write_text("before", encoding="utf-8")
    keys = {jit.key_of(tmp_path)}
    for source in sources:
        source.write_text("after", encoding="utf-8")
        keys.add(jit.key_of(tmp_path))
    assert len(keys) == 1 + len(sources)
    (tmp_path / "jobs" / "notes.txt").write_text("no source", encoding="utf-8")
    assert jit.key_of(tmp_path) in keys


def test_the_cache_folder_is_named_by_all_kernels() -> None:
    assert jit.cache_folder().name == jit.key_of(PACKAGE / "kernels")
    assert {source.parent.name for source in (PACKAGE / "kernels").rglob("*.py")} > {"jobs", "tasks", "bags"}


@pytest.mark.thorough("starts processes and takes seconds")
def test_a_second_installation_uses_what_the_first_compiled(tmp_path: Path) -> None:
    """Another checkout or environment has the same sources in another place, with other times."""
    script = "import numpy as np; from joulewise.kernels.bundled import triad; triad(*np.ones((3, 4)), 1); "
    script += "print(sum(triad.stats.cache_hits.values()))"
    hits = []
    for name in ("first", "second"):
        shutil.copytree(PACKAGE, tmp_path / name / "joulewise", ignore=shutil.ignore_patterns("__pycache__"))
        places = {"PYTHONPATH": str(tmp_path / name), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, "-c", script], env=os.environ | places, capture_output=True, check=True)
        hits.append(int(done.stdout))
    assert hits == [0, 1]


def test_a_kernel_is_compiled_by_one_at_a_time() -> None:
    active: list[int] = []

    def compile_it(types: int) -> int:
        active.append(types)
        time.sleep(0.05)
        n_active = len(active)
        active.remove(types)
        return n_active

    assert jit._can_cache()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(jit._in_turn(compile_it, "a kernel"), [1, 1, 1, 1])) == {1}


def test_kernels_that_call_each_other_are_compiled_by_two_threads() -> None:
    """Each waits for the lock of the other's file unless one thread compiles at a time."""
    inner_begins = Event()

    def compile_inner(types: int) -> int:
        inner_begins.set()
        with one_thread_compiles():  # as Numba does
            return types

    def compile_outer(types: int) -> int:
        with one_thread_compiles():
            inner_begins.wait(0.2)
            return int(inner(types))

    inner, outer = jit._in_turn(compile_inner, "inner"), jit._in_turn(compile_outer, "outer")
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(outer, 1), pool.submit(inner, 1)]
        assert [answer.result(60) for answer in answers] == [1, 1]


def test_collecting_garbage_goes_on_as_before_when_two_threads_have_compiled() -> None:
    before = gc.get_threshold()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(jit._in_turn(lambda types: time.sleep(0.02 * types), "slow"), [1, 2]))
    assert gc.get_threshold() == before


def test_a_shared_function_is_not_inlined_because_its_caller_is() -> None:
    shared: Any = jit.shared(lambda x: x + 1)
    assert shared.targetoptions["forceinline"] is False  # not set, it would be that of the first caller


def test_records_of_one_name_in_two_modules_are_two_types() -> None:
    types = [Record(namedtuple("Same", "x", module=module), {"x": numba.float64}, {}) for module in ("one", "two")]
    assert types[0] != types[1]
    assert types[0].mangling_args != types[1].mangling_args
