"""Compiling kernels once per change: a cache keyed by every kernel's source, numba and the processor."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar, cast

import numba

from joulewise.kernels.compiler import AS_DRAFT, OWNS_NOTHING, compiler_name, keep_compiled_in, one_thread_compiles
from joulewise.processes import collecting_seldom, compiling

_F = TypeVar("_F", bound=Callable[..., Any])
_MARKER = "complete"
_SOURCES = Path(__file__).parent
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, **OWNS_NOTHING}
_FOR_KERNELS: dict[str, Any] = {**_OPTIONS, **AS_DRAFT}
_SHARED: dict[str, Any] = {**_FOR_KERNELS, "forceinline": False}  # otherwise it is that of the first caller
INLINED: dict[str, Any] = {**_FOR_KERNELS, "forceinline": True}


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept; numba's own cache misses edits in other files, so ours is keyed by all."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "joulewise" / "kernels" / key_of(_SOURCES)


def key_of(sources: Path) -> str:
    """A name for the compiled code of all sources in a folder, at any depth: it changes with each of them."""
    digest = hashlib.sha256(compiler_name().encode())
    for source in sorted(sources.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


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
    """Compile a function on first use, in one process for all, and keep it on disk where that can be written."""
    with _our_cache():
        compiled: Any = numba.njit(cache=_can_cache(), **_OPTIONS)(function)
    if _can_cache():
        keep_compiled_in(compiled, cache_folder() / function.__module__)
        compiled.compile = _in_turn(compiled.compile, f"{function.__module__}.{function.__qualname__}")
    return cast(_F, compiled)


def _in_turn(compile_it: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Let one process at a time compile a kernel for the same types; the others load what the first one kept."""

    def compile_or_load(types: Any) -> Any:
        lock = hashlib.sha256(f"{name} {types}".encode()).hexdigest()[:16]
        with compiling(), one_thread_compiles(), ExitStack() as held, collecting_seldom():
            with suppress(OSError):  # some disks know no locks
                file = held.enter_context((cache_folder() / f"{lock}.lock").open("w"))
                fcntl.flock(file, fcntl.LOCK_EX)
            return compile_it(types)

    return compile_or_load


def inlined(function: _F) -> _F:
    """Compile a small function that only kernels call."""
    compiled: _F = numba.njit(**INLINED)(function)
    return compiled


def lanes(function: _F) -> _F:
    """Compile a loop over independent numbers that only kernels call, so that it handles several at a time.

    It must meet no NaN; a product and a sum may be rounded once together.
    """
    compiled: _F = numba.njit(fastmath={"contract", "nnan", "nsz"}, **INLINED)(function)
    return compiled


def shared(function: _F) -> _F:
    """Compile a larger function that only kernels call, once for all of its callers."""
    compiled: _F = numba.njit(**_SHARED)(function)
    return compiled


def prepared(compiled: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A kernel's code for arguments of the types of these, whose types it no longer asks for.

    That takes milliseconds for a record of many arrays, too long for what is called at every event.
    """
    prepare: Any = compiled
    code: Callable[..., Any] = prepare.compile(tuple(numba.typeof(argument) for argument in arguments))
    return code


def kernels_are_compiled(kind: str) -> bool:
    """Whether a run of this kind has already compiled its kernels on this machine (else the first takes longer)."""
    return (cache_folder() / f"{kind}.{_MARKER}").exists()


def mark_kernels_compiled(kind: str) -> None:
    """Remember that a run of this kind has compiled what it needs, where that can be written."""
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        (cache_folder() / f"{kind}.{_MARKER}").touch()
