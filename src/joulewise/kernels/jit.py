"""Compiling kernels once per change: a cache keyed by every kernel's source, numba and the processor."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numba
from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_F = TypeVar("_F", bound=Callable[..., Any])
_MARKER = "complete"
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
# _nrt=False: kernels own no memory. Every array comes from the caller, who keeps it alive, so counting references
# to the arrays in named tuples (atomic operations in every inner loop otherwise) is left out.


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept; numba's own cache misses edits in other files, so ours is keyed by all."""
    digest = hashlib.sha256(f"{numba.__version__} {binding.get_host_cpu_name()}".encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "joulewise" / "kernels" / digest.hexdigest()[:16]


@contextmanager
def _our_cache() -> Iterator[None]:
    """Point numba at our folder while one function is decorated; other users of numba notice nothing."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        config.CACHE_DIR = before


@cache
def _can_cache() -> bool:
    """Whether compiled kernels can be kept; where nothing may be written they are compiled by each process."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=cache_folder()):
            return True
    except OSError:
        return False


def kernel(function: _F) -> _F:
    """Compile a function on first use and keep it on disk where that can be written."""
    with _our_cache():
        compiled: _F = numba.njit(cache=_can_cache(), **_OPTIONS)(function)
    return compiled


class _Draft(JITCodeLibrary):
    """Code that only kernels call: optimised and made machine code in each kernel that calls it, and not before."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """No address: nobody calls a draft from outside."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Draft:
        """Who would be told where constants of Python are, which kernels have none of."""
        return self

    def set_env(self, name: str, constants: object) -> None:
        """Nothing to do."""


class _DraftCompiler(Compiler):
    """Compiles into a draft."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = state.library or _Draft(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


_FOR_KERNELS: dict[str, Any] = {
    **_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _DraftCompiler,
}  # fmt: skip
INLINED: dict[str, Any] = {**_FOR_KERNELS, "forceinline": True}


def inlined(function: _F) -> _F:
    """Compile a small function that only kernels call."""
    compiled: _F = numba.njit(**INLINED)(function)
    return compiled


def lanes(function: _F) -> _F:
    """Compile a loop over independent numbers that only kernels call, so that it handles several at a time.

    It must meet no NaN; a product and a sum may be rounded once together.
    """
    compiled: _F = numba.njit(forceinline=True, fastmath={"contract", "nnan", "nsz"}, **_FOR_KERNELS)(function)
    return compiled


def shared(function: _F) -> _F:
    """Compile a larger function that only kernels call, once for all of its callers."""
    compiled: _F = numba.njit(**_FOR_KERNELS)(function)
    return compiled


def kernels_are_compiled() -> bool:
    """Whether a run has already compiled the kernels on this machine (else the first run takes longer)."""
    return (cache_folder() / _MARKER).exists()


def mark_kernels_compiled() -> None:
    """Remember that a run has compiled what it needs, where that can be written."""
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        (cache_folder() / _MARKER).touch()
