"""The parts of Numba that it keeps for itself, all in this one place: a new version of Numba is tried here first.

Drafts: Numba optimises every function and makes it machine code, by itself and once more in each kernel that calls
it. A draft is code that only kernels call; both are done in the kernels alone.

Records: Numba passes a named tuple as all of its fields, and every array as seven numbers. A record is one pointer to
the fields, which are written down where Python calls a kernel; the compiler is told that they never change.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from joulewise.errors import JoulewiseError

TESTED = ("0.61", "0.69")
"""From the first version of Numba on, and below the second, all of this was seen to work."""

OWNS_NOTHING: dict[str, Any] = {"_nrt": False}
"""Kernels own no memory. Every array comes from the caller, who keeps it alive, so counting references to the arrays in
named tuples (atomic operations in every inner loop otherwise) is left out."""


def check_version(version: str) -> None:
    """JoulewiseError when this version of Numba is too old, and a warning when it has not been tried."""
    first, end, own = (tuple(int(part) for part in text.split(".")[:2]) for text in (*TESTED, version))
    if first <= own < end:
        return
    advice = f"found Numba {version}; tested are {TESTED[0]} up to, but not with, {TESTED[1]}: pip install "
    advice += f"'numba>={TESTED[0]},<{TESTED[1]}'"
    if own < first:
        raise JoulewiseError(advice)
    warnings.warn(advice, RuntimeWarning, stacklevel=2)


check_version(numba.__version__)


def compiler_name() -> str:
    """What compiled code depends on besides its source: the version of Numba, how far it optimises, the processor."""
    config: Any = numba.config
    return f"{numba.__version__} {config.OPT!r} {binding.get_host_cpu_name()}"


def one_thread_compiles() -> AbstractContextManager[object]:
    """Numba's own lock, which it takes again while it compiles: whoever waits for more takes it first."""
    return global_compiler_lock


def keep_compiled_in(compiled: Any, folder: Path) -> None:
    """Keep a function's compiled code in a folder that changes with its source, wherever the source lies."""
    kept = compiled._cache
    folder.mkdir(exist_ok=True)
    kept._cache_path = str(folder)
    kept._cache_file = IndexDataCacheFile(str(folder), kept._impl.filename_base, source_stamp=None)


# Drafts


class _DraftLibrary(JITCodeLibrary):
    """Code that only kernels call: optimised and made machine code in each kernel that calls it, and not before."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """No address: nothing calls a draft from outside."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _DraftLibrary:
        """What would say where constants of Python are; kernels have none."""
        return self

    def set_env(self, name: str, constants: object) -> None:
        """Nothing to do."""


class _DraftCompiler(Compiler):
    """Compiles into a draft."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = state.library or _DraftLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


AS_DRAFT: dict[str, Any] = {
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _DraftCompiler,
}  # fmt: skip
"""Options of `njit` for functions that only kernels call."""


# Records


class Record(types.Type):
    """The type of a named tuple taken by its address."""

    def __init__(self, named_tuple: type, members: dict[str, Any], switches: dict[str, bool]) -> None:
        self.named_tuple, self.members, self.switches = named_tuple, members, switches
        parts = [f"{name}: {m}" for name, m in members.items()] + [f"{name} = {on}" for name, on in switches.items()]
        super().__init__(f"{named_tuple.__module__}.{named_tuple.__qualname__}({', '.join(parts)})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """A short name in symbols: that of the type may have thousands of letters, at every call in the code."""
        return f"{self.named_tuple.__qualname__}_{sha256(self.name.encode()).hexdigest()[:16]}", ()


def take_by_address(named_tuple: type[Any], switches: tuple[str, ...]) -> None:
    """Make a record of a class of named tuples; each value of the switches is a type of its own."""

    def type_of(value: Any, context: Any) -> Record:
        members = {name: typeof_impl(member, context) for name, member in value._asdict().items()}
        members |= dict.fromkeys(switches, types.boolean)
        return Record(named_tuple, members, {name: bool(getattr(value, name)) for name in switches})

    typeof_impl.register(named_tuple)(type_of)


@register_model(Record)
class _RecordModel(models.PrimitiveModel):
    """A pointer to the fields."""

    def __init__(self, manager: Any, kind: Record) -> None:
        fields = [manager.lookup(member).get_value_type() for member in kind.members.values()]
        super().__init__(manager, kind, ir.LiteralStructType(fields).as_pointer())


@infer_getattr
class _RecordAttributes(AttributeTemplate):
    key = Record

    def generic_resolve(self, kind: Record, name: str) -> Any:  # type: ignore[override]
        return kind.members.get(name)


@lower_getattr_generic(Record)
def _field(context: Any, builder: Any, kind: Record, pointer: Any, name: str) -> Any:
    if name in kind.switches:
        return context.get_constant(kind.members[name], kind.switches[name])
    place = list(kind.members).index(name)
    model = context.data_model_manager.lookup(kind.members[name])
    return _unchanging(builder, cgutils.gep_inbounds(builder, pointer, 0, place), model.get_value_type())


def _unchanging(builder: Any, pointer: Any, kind: Any) -> Any:
    """Read what never changes, number by number, because the mark is lost on reads of several at once."""
    if not isinstance(kind, ir.Aggregate):
        read = builder.load(pointer)
        read.set_metadata("invariant.load", builder.module.add_metadata([]))
        return read
    whole = ir.Constant(kind, ir.Undefined)
    for place, part in enumerate(kind.elements):
        read = _unchanging(builder, cgutils.gep_inbounds(builder, pointer, 0, place), part)
        whole = builder.insert_value(whole, read, place)
    return whole


@unbox(Record)
def _from_python(kind: Record, value: Any, c: Any) -> NativeValue:
    """Write the fields where the kernel's caller keeps them until it returns."""
    pointer = cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    failed, cleanups = cgutils.false_bit, []
    for place, member in enumerate(kind.members.values()):
        native = c.unbox(member, c.pyapi.tuple_getitem(value, place))
        c.builder.store(native.value, cgutils.gep_inbounds(c.builder, pointer, 0, place))
        failed = c.builder.or_(failed, native.is_error)
        cleanups.append(native.cleanup)

    def clean_up() -> None:
        for cleanup in filter(None, cleanups):
            cleanup()

    return NativeValue(pointer, is_error=failed, cleanup=clean_up)
