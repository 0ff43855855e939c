"""Parquet files of others: what a reader that trusts them would die of is found before it reads them.

Polars trusts what a file says of itself. A count that is damaged makes it ask for more memory than there is, which ends
the process, and other damage makes it print to the terminal. So the counts and places of all pages are held against the
file first. This finds accidents; a file that somebody made to trouble us may still do so. The format is that of Apache
Parquet: structures of Thrift's compact protocol, the last one at the end.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from mmap import ACCESS_READ, mmap
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.reading import one_line

if TYPE_CHECKING:
    import polars as pl

MOST_CELLS = 500_000_000
"""Some gigabytes: what says that it has more values is damaged, or too large for us."""

_NOT_OF_THE_FILE = (errno.EACCES, errno.EPERM, errno.EIO)
"""What the system may say of any file, however good."""


class ParquetError(InputError):
    """That a Parquet file cannot be read, and why."""

    @property
    def why(self) -> str:
        return self.problems[0].found


@contextmanager
def reading_parquet(path: Path, name: str = "") -> Iterator[pl.LazyFrame]:
    """The table of a Parquet file, for a block that reads it: ParquetError where that fails, and nothing is printed.

    With a name, the file must be `sealed` by it. Characters of the path stand for themselves.
    """
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        _check(path, name)
        with _quietly():
            yield pl.scan_parquet(path, glob=False)
    except (OSError, ValueError, MemoryError, PolarsError, PanicException) as error:
        if getattr(error, "errno", None) in _NOT_OF_THE_FILE:
            raise
        raise ParquetError(Problem(str(path), one_line(error), "must be a Parquet file", "get it again")) from None


# --- what is printed ---------------------------------------------------------------------------------------------

_STDERR = 2


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what others print to the terminal when the block fails; where it does not, that is printed afterwards.

    Threads share the terminal, so that nothing is done while there are others.
    """
    with ExitStack() as held:
        if threading.active_count() == 1:
            with suppress(OSError):  # it may be closed, and there may be no room
                held.enter_context(_kept_back())
        yield


@contextmanager
def _kept_back() -> Iterator[None]:
    with TemporaryFile() as printed:
        terminal = os.dup(_STDERR)
        os.dup2(printed.fileno(), _STDERR)
        try:
            yield
        except BaseException:
            printed.truncate(0)
            raise
        finally:
            os.dup2(terminal, _STDERR)
            printed.seek(0)
            with suppress(OSError):
                os.write(terminal, printed.read())
            os.close(terminal)


# --- what a file says of itself ----------------------------------------------------------------------------------

_MAGIC = b"PAR1"
_END = 8
"""The bytes behind the last structure: its length, and the magic."""
_MOST_BITS = 63
_N_ROWS = itemgetter(3)
"""Of a group of rows, how many there are."""

Fields = Mapping[int, Any]
"""A structure of Thrift: values by the numbers of their fields."""


class _Chunk(NamedTuple):
    """A column of a group of rows: where its pages are, and how many values they have."""

    start: int
    end: int
    n_values: int


def _check(path: Path, name: str = "") -> None:
    """ValueError where a file is not sealed by its name, or, without one, where its places and counts do not fit.

    What is sealed is as it was written, to the last byte.
    """
    if path.stat().st_size < len(_MAGIC) + _END:
        raise ValueError("it is too short")
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        try:
            if not name:
                _check_groups(data)
            elif not _is_sealed(data, name):
                raise ValueError("it is not as Joulewise wrote it")
        except (LookupError, TypeError, AttributeError, RecursionError):
            raise ValueError("what it says of itself is damaged") from None


def _check_groups(data: mmap) -> None:
    at = _end_of_pages(data)
    about = _Thrift(data, at).structure()
    groups: Sequence[Fields] = about.get(4, ())
    if about[3] != sum(group[3] for group in groups):
        raise ValueError("its numbers of rows are damaged")
    if about[3] * len(about[2]) > MOST_CELLS:
        raise ValueError(f"it says that it has {about[3]:,} rows")
    for group in filter(_N_ROWS, groups):
        for column in group[1]:
            _check_pages(data, _chunk_of(column[3], _N_ROWS(group)), at)


def _end_of_pages(data: mmap | bytes) -> int:
    """Where the last structure starts."""
    at = len(data) - _END - int.from_bytes(data[-_END : -len(_MAGIC)], "little")
    if data[: len(_MAGIC)] != _MAGIC or data[-len(_MAGIC) :] != _MAGIC or at < len(_MAGIC):
        raise ValueError("its ends are damaged")
    return at


def is_whole(path: Path) -> bool:
    """Whether a file has both ends of a Parquet file, so that it was not cut short."""
    with path.open("rb") as file:
        first, size = file.read(len(_MAGIC)), file.seek(0, os.SEEK_END)
        file.seek(max(size - len(_MAGIC), 0))
        return first == file.read() == _MAGIC and size >= len(_MAGIC) + _END


_SEAL = b"JWSEAL"
_SEAL_BYTES = len(_SEAL) + hashlib.sha256().digest_size
"""A seal stands between the pages and the last structure, where no reader of Parquet looks."""
_PIECE = 1 << 20
"""How many bytes are hashed at once."""


def sealed(data: bytes, name: str) -> bytes:
    """A Parquet file with a hash of it and of its name, so that it is known whether it is still as it was written."""
    at = _end_of_pages(data)
    return data[:at] + _seal(name, (data[:at], data[at:])) + data[at:]


def seal(path: Path, name: str) -> None:
    """Put a seal into a Parquet file, which need not fit into memory."""
    with path.open("r+b") as file:
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            at = _end_of_pages(data)
            end = data[at:]
            found = _seal(name, chain(_pieces(data, at), (end,)))
        file.seek(at)
        file.write(found + end)


def _is_sealed(data: mmap, name: str) -> bool:
    at = _end_of_pages(data)
    pages = _pieces(data, at - _SEAL_BYTES)
    return data[at - _SEAL_BYTES : at] == _seal(name, chain(pages, (data[at:],)))


def _pieces(data: mmap, end: int) -> Iterator[bytes]:
    return (data[start : min(start + _PIECE, end)] for start in range(0, end, _PIECE))


def _seal(name: str, parts: Iterable[bytes]) -> bytes:
    seal = hashlib.sha256(name.encode())
    for part in parts:
        seal.update(part)
    return _SEAL + seal.digest()


def _chunk_of(column: Fields, n_rows: int) -> _Chunk:
    """Where a column is, by what is said of it; one that holds no lists has a value in each row."""
    start = min(filter(None, (column[9], column.get(11))))
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
            if shift > _MOST_BITS:
                raise ValueError("its numbers are damaged")
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
