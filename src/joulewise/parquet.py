"""Parquet files of others: what a reader that trusts them would die of is found before it reads them.

Polars trusts what a file says of itself. A count that is damaged makes it ask for more memory than there is, which ends
the process, and other damage makes it print to the terminal. So the counts and places of all pages are held against the
file first. The format is that of Apache Parquet: structures of Thrift's compact protocol, the last one at the end.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.reading import one_line


class ParquetError(InputError):
    """That a Parquet file cannot be read, and why."""

    @property
    def why(self) -> str:
        return self.problems[0].found


@contextmanager
def reading_parquet(path: Path, name: str = "") -> Iterator[None]:
    """For a block that reads a Parquet file by Polars: ParquetError where that fails, and nothing is printed.

    With a name, the file must be `sealed` by it.
    """
    from polars.exceptions import PanicException, PolarsError

    try:
        _check(path, name)
        with _quietly():
            yield
    except (OSError, ValueError, MemoryError, PolarsError, PanicException) as error:
        raise ParquetError(Problem(str(path), one_line(error), "must be a Parquet file", "get it again")) from None


# --- what is printed ---------------------------------------------------------------------------------------------

_STDERR = 2
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what others print to the terminal when the block fails; where it does not, that is printed afterwards."""
    with _ONE_AT_A_TIME, TemporaryFile() as printed:
        try:
            terminal = os.dup(_STDERR)
        except OSError:  # it is closed, so that nothing can be printed
            yield
            return
        try:
            os.dup2(printed.fileno(), _STDERR)
            yield
        except BaseException:
            printed.truncate(0)
            raise
        finally:
            os.dup2(terminal, _STDERR)
            printed.seek(0)
            os.write(terminal, printed.read())
            os.close(terminal)


# --- what a file says of itself ----------------------------------------------------------------------------------

_MAGIC = b"PAR1"
_END = 8
"""The bytes behind the last structure: its length, and the magic."""

Fields = Mapping[int, Any]
"""A structure of Thrift: values by the numbers of their fields."""


class _Chunk(NamedTuple):
    """A column of a group of rows: where its pages are, and how many values they have."""

    start: int
    end: int
    n_values: int


def _check(path: Path, name: str = "") -> None:
    """ValueError where places and counts of a file do not fit it or each other, or it is not sealed by its name."""
    if path.stat().st_size < len(_MAGIC) + _END:
        raise ValueError("it is too short")
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        try:
            if name and not _is_sealed(data, name):
                raise ValueError("it is not as Joulewise wrote it")
            _check_groups(data)
        except (LookupError, TypeError, RecursionError):
            raise ValueError("what it says of itself is damaged") from None


def _check_groups(data: mmap) -> None:
    at = _end_of_pages(data)
    about = _Thrift(data, at).structure()
    groups: Sequence[Fields] = about.get(4, ())
    if about[3] != sum(group[3] for group in groups):
        raise ValueError("its numbers of rows are damaged")
    for group in groups:
        for column in group[1]:
            _check_pages(data, _chunk_of(column[3], group[3]), at)


def _end_of_pages(data: mmap | bytes) -> int:
    """Where the last structure starts."""
    at = len(data) - _END - int.from_bytes(data[-_END : -len(_MAGIC)], "little")
    if data[: len(_MAGIC)] != _MAGIC or data[-len(_MAGIC) :] != _MAGIC or at < len(_MAGIC):
        raise ValueError("its ends are damaged")
    return at


_SEAL = b"JWSEAL"
_SEAL_BYTES = len(_SEAL) + hashlib.sha256().digest_size
"""A seal stands between the pages and the last structure, where no reader of Parquet looks."""


def sealed(data: bytes, name: str) -> bytes:
    """A Parquet file with a hash of it and of its name, so that it is known whether it is still as it was written."""
    at = _end_of_pages(data)
    return data[:at] + _seal(name, data[:at], data[at:]) + data[at:]


def _is_sealed(data: mmap, name: str) -> bool:
    at = _end_of_pages(data)
    return data[at - _SEAL_BYTES : at] == _seal(name, data[: at - _SEAL_BYTES], data[at:])


def _seal(name: str, *parts: bytes) -> bytes:
    seal = hashlib.sha256(name.encode())
    for part in parts:
        seal.update(part)
    return _SEAL + seal.digest()


def _chunk_of(column: Fields, n_rows: int) -> _Chunk:
    """Where a column is, by what is said of it; one that holds no lists has a value in each row."""
    start = min(column[9], column.get(11) or column[9])
    if len(column[3]) == 1 and column[5] != n_rows:
        raise ValueError("its numbers of values are damaged")
    return _Chunk(start, start + column[7], column[5])


_DATA, _DICTIONARY = (5, 8), 7
"""The fields of a page that say what it holds."""


def _check_pages(data: mmap, chunk: _Chunk, end: int) -> None:
    if not len(_MAGIC) <= chunk.start <= chunk.end <= end:
        raise ValueError("the places of its columns are damaged")
    at, n_values = chunk.start, 0
    while at < chunk.end:
        thrift = _Thrift(data, at)
        page = thrift.structure()
        at, counts = thrift.at + page[3], [page[kind][1] for kind in _DATA if kind in page]
        n_entries = page[_DICTIONARY][1] if _DICTIONARY in page else 0
        if min(page[2], page[3], n_entries, *counts) < 0 or n_entries > page[2] or at > chunk.end:
            raise ValueError("the sizes of its pages are damaged")
        n_values += sum(counts)
    if n_values != chunk.n_values:
        raise ValueError("its numbers of values are damaged")


class _Thrift:
    """Reads values of Thrift's compact protocol, from a place on; texts and fractions are passed over."""

    def __init__(self, data: mmap, at: int) -> None:
        self.data, self.at = data, at

    def structure(self) -> Fields:
        fields, number = dict[int, Any](), 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        return _READERS[kind](self)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def _passed_over(self, n_bytes: int) -> None:
        self.at += n_bytes

    def _list(self) -> list[Any]:
        head = self._byte()
        n = self._length(head >> 4 if head >> 4 < 15 else self._unsigned())
        return [self._item(head & 15) for _ in range(n)]

    def _map(self) -> list[Any]:
        n = self._length(self._unsigned())
        kinds = self._byte() if n else 0
        return [(self._item(kinds >> 4), self._item(kinds & 15)) for _ in range(n)]

    def _item(self, kind: int) -> Any:
        """A value in a list, where true and false take a byte."""
        return self._byte() if kind in (1, 2) else self._value(kind)

    def _length(self, n: int) -> int:
        """A number of values, each of which takes a byte at least."""
        if n > len(self.data) - self.at:
            raise ValueError("its lists are damaged")
        return n


_READERS: Mapping[int, Callable[[_Thrift], Any]] = {
    1: lambda _: True,
    2: lambda _: False,
    3: _Thrift._byte,
    4: _Thrift._signed,
    5: _Thrift._signed,
    6: _Thrift._signed,
    7: lambda thrift: thrift._passed_over(8),
    8: lambda thrift: thrift._passed_over(thrift._unsigned()),
    9: _Thrift._list,
    10: _Thrift._list,
    11: _Thrift._map,
    12: _Thrift.structure,
}
"""What reads a value, by the number of its type."""
