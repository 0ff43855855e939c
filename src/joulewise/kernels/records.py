"""Named tuples that kernels take by their address.

Numba passes a named tuple as all of its fields, and every array as seven numbers: a function of ten tuples has a
thousand arguments, copied at each call, which takes the compiler minutes. A record is written once where Python calls
a kernel; inside, one pointer goes around, and a field is read where it is used. Its fields never change (what arrays
hold may), and the compiler is told so. A switch of a record is known when a kernel is compiled: one kernel has code for
what it switches on, another has none. It is True or None, for numba chooses kernels by types, not by values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
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

_T = TypeVar("_T", bound=type[NamedTuple])


class Record(types.Type):
    """The type of a named tuple taken by its address."""

    def __init__(self, named_tuple: type, members: dict[str, Any], switches: dict[str, bool]) -> None:
        self.named_tuple, self.members, self.switches = named_tuple, members, switches
        told = [f"{name}: {m}" for name, m in members.items()] + [f"{name} = {on}" for name, on in switches.items()]
        super().__init__(f"{named_tuple.__qualname__}({', '.join(told)})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """A short name in symbols: that of the type may have thousands of letters, at every call in the code."""
        return f"{self.named_tuple.__qualname__}_{sha256(self.name.encode()).hexdigest()[:16]}", ()


def record(named_tuple: _T) -> _T:
    """Let kernels take this class of named tuples by address."""
    return _by_address(named_tuple, ())


def switched(*switches: str) -> Callable[[_T], _T]:
    """Let kernels take this class of named tuples by address; each value of these switches has kernels of its own."""
    return partial(_by_address, switches=switches)


def _by_address(named_tuple: _T, switches: tuple[str, ...]) -> _T:
    def type_of(value: Any, context: Any) -> Record:
        members = {name: typeof_impl(member, context) for name, member in value._asdict().items()}
        members |= dict.fromkeys(switches, types.boolean)
        return Record(named_tuple, members, {name: bool(getattr(value, name)) for name in switches})

    typeof_impl.register(named_tuple)(type_of)
    return named_tuple


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
    """Read what never changes, number by number, for the mark is lost on reads of several at once."""
    if not isinstance(kind, ir.Aggregate):
        read = builder.load(pointer)
        read.set_metadata("invariant.load", builder.module.add_metadata([]))
        return read
    whole = ir.Constant(kind, ir.Undefined)
    for place, part in enumerate(kind.elements):
        found = _unchanging(builder, cgutils.gep_inbounds(builder, pointer, 0, place), part)
        whole = builder.insert_value(whole, found, place)
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
