"""What a system is to studies: its kinds, and the lists that people choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joulewise.study.kinds.conformance import PolicyCheck
from joulewise.study.kinds.kind import Kind


@dataclass(frozen=True)
class Entry:
    """One thing with a name: how people may call it, its row in a list, and all there is to say of it."""

    kind: str
    names: tuple[str, ...]
    row: dict[str, Any]
    facts: dict[str, Any]


@dataclass(frozen=True)
class System:
    """One system: its kinds of studies, which bring their sections, sources, columns, methods and templates.

    `lists` are further things that `joulewise list` lists and `joulewise explain` explains, such as policies.
    `check_policy` holds a policy, named as in studies of a folder, against what is asked of all.
    """

    name: str
    kinds: tuple[Kind, ...]
    lists: Mapping[str, Callable[[], Sequence[Entry]]] = field(default_factory=dict)
    check_policy: Callable[[str, Path], Iterable[PolicyCheck]] | None = None
