"""Worlds that this process has made: kept for whoever asks next, first for checks of a study and then for its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joulewise.processes import give_back_memory
from joulewise.study.kind import Kind
from joulewise.study.source import Draw
from joulewise.study.spec import Fingerprints, WorldParts

MOST_WORLDS = 2

_worlds: dict[str, Any] = {}
"""Worlds by their keys; consecutive runs share them."""


def kept_world(key: str, make: Callable[[], Any], is_still: Callable[[], bool] = lambda: True) -> Any:
    """The world of a key, made anew unless it is here; kept if the key `is_still` that of what was made.

    The first one made stays, as runs begin with it; another gives its place to the next.
    """
    if key in _worlds:
        return _worlds[key]
    world = make()
    if is_still():
        while len(_worlds) >= MOST_WORLDS:
            _worlds.popitem()
        _worlds[key] = world
    return world


def forget_worlds() -> None:
    """Let go of the worlds of this process, which may be large."""
    _worlds.clear()
    give_back_memory()


class FirstWorlds:
    """The worlds of the first trial of a study while it is checked."""

    def __init__(self, kind: Kind, draw: Draw) -> None:
        self.kind, self.draw = kind, draw
        self._fingerprints = Fingerprints(draw.folder)

    def of(self, parts: WorldParts) -> Any:
        """The world of these sections; InputError when they do not describe one."""
        key = self._key(parts, self._fingerprints)
        return kept_world(
            key,
            lambda: self.kind.build_world(parts, self.draw),
            lambda: self._key(parts, Fingerprints(self.draw.folder)) == key,
        )

    def _key(self, parts: WorldParts, fingerprints: Fingerprints) -> str:
        return fingerprints.of_world(parts, self.draw.seed, self.draw.trial, self.kind.is_random(parts))
