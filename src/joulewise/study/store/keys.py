"""Keys of runs and worlds as the numbers that they write in hexadecimal: a third of the memory, and sooner compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_DIGITS = 32


def numbers_of(*columns: str) -> pl.Expr:
    """Columns of keys as numbers; what is no key is none."""
    import polars as pl

    return pl.col(columns).str.to_integer(base=16, dtype=pl.UInt128, strict=False)


def key_of(number: int) -> str:
    """A key as rows and names of files have it."""
    return f"{number:0{_DIGITS}x}"
