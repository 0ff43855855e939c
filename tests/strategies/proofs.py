"""Stored proofs of bounds, altered as somebody may alter them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from joulewise.study.store.store import Store


def alter_texts(store: Store, change: Callable[[str], str]) -> None:
    """Change the text of every proof in the table of a folder, which is whole again afterwards."""
    import polars as pl

    table = store.read_table(store.bounds_file)
    texts = pl.Series("proof", [change(text) for text in table["proof"]], pl.String)
    store.write_table(store.bounds_file, table.with_columns(texts))


def alter_proofs(store: Store, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change what every proof says, likewise."""
    alter_texts(store, lambda text: json.dumps((stored := json.loads(text)) | {"proof": change(stored["proof"])}))
