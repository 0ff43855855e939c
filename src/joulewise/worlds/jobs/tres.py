"""Slurm's trackable resources as text, such as cpu=4,mem=16G,gres/gpu=2,gres/gpu:a100=2,license/matlab=1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl

_GPU = r"gres/gpu(?::[\w.\-]+)?[=:][0-9]{1,9}"
_ONE_GPU = re.compile(r"gres/gpu(?::([\w.\-]+))?[=:]([0-9]{1,9})")
_LICENCE = r"license/[^,=]+=[0-9]{1,9}"
_KNOWN = re.compile(r"cpu|mem|node|energy|billing|pages|vmem|fs/disk|gres/gpu(:[\w.\-]+)?|license/.+|")
_NAMED_LICENCE = re.compile(r"\s*([^,:=]+?)\s*(?:[:=]([0-9]{1,9}))?\s*")


def amount(name: str, kind: str) -> pl.Expr:
    """How much of a resource that is counted, such as cpu."""
    return pl.col(name).str.extract(rf"(?:^|,){kind}=([0-9]+)").cast(pl.Float64, strict=False)


def gpus(tres: pl.Series) -> tuple[pl.Series, pl.Series]:
    """How many GPUs, and of which kind; empty where none are named."""
    texts = tres.str.extract_all(_GPU).list.join(",")
    return _by_text(texts, _n_gpus, pl.Float64), _by_text(texts, _gpu_kind, pl.String)


def licences(tres: pl.Series, named: pl.Series) -> pl.Series:
    """Licences and how many of each, from a list such as matlab:1,ansys where there is one, else from resources."""
    listed = tres.str.extract_all(_LICENCE).list.join(",").str.replace_all("license/", "", literal=True)
    return _by_text(named, _licences, pl.String).fill_null(_by_text(listed, _licences, pl.String))


def has_others(tres: pl.Series) -> pl.Series:
    """Whether resources of other kinds are named than those that are read."""
    kinds = tres.str.replace_all(r"[=:][0-9][^,]*|=[^,]*", "")
    return _by_text(kinds, lambda text: not all(map(_KNOWN.fullmatch, text.split(","))), pl.Boolean).fill_null(False)


def _by_text(texts: pl.Series, read: Callable[[str], Any], dtype: type[pl.DataType]) -> pl.Series:
    """What a function reads in each text, which is called once for equal ones; empty where there is no text."""
    each = [text for text in texts.drop_nulls().unique().to_list() if text]
    if not each:
        return pl.Series(texts.name, [None], dtype).new_from_index(0, len(texts))
    return texts.replace_strict(each, [read(text) for text in each], default=None, return_dtype=dtype)


def _kinds(text: str) -> tuple[int, Counter[str]]:
    """GPUs in all, and of each kind: Slurm tells both the sum and each kind, or one of them."""
    kinds, n_all = Counter[str](), 0
    for kind, number in _ONE_GPU.findall(text):
        if kind:
            kinds[kind] += int(number)
        else:
            n_all = max(n_all, int(number))
    return max(n_all, kinds.total()), kinds


def _n_gpus(text: str) -> float | None:
    return float(_kinds(text)[0]) or None


def _gpu_kind(text: str) -> str | None:
    """The kind where there is one, else how many there are of each that has a name."""
    n_all, kinds = _kinds(text)
    whole = [kind for kind, n in kinds.items() if n and n == n_all]
    return whole[0] if whole else ",".join(f"{kind}={n}" for kind, n in kinds.items() if n) or None


def _licences(text: str) -> str | None:
    matches = (_NAMED_LICENCE.fullmatch(part) for part in text.split(","))
    return ",".join(f"{match[1]}={match[2] or 1}" for match in matches if match and match[2] != "0") or None
