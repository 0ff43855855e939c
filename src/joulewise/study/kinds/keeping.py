"""Worlds that this process has made: kept for whoever asks next, first for checks of a study and then for its runs."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from joulewise.study.kinds.kind import Kind
from joulewise.study.spec.parts import Fingerprints, WorldParts
from joulewise.study.spec.source import Draw

MOST_WORLDS = 2

_worlds: dict[tuple[str, str], Any] = {}
"""Worlds by kind and key, as two kinds make different worlds of the same sections; consecutive runs share them."""
_changing = Lock()


def kept_world(kind: Kind, key: str, make: Callable[[], Any], is_still: Callable[[], bool] = lambda: True) -> Any:
    """The world of a key, made anew unless it is here; kept if the key `is_still` that of what was made.

    The first one made stays, as runs begin with it; another gives its place to the next.
    """
    world = _worlds.get((kind.name, key))
    if world is not None:
        return world
    world = make()
    if is_still():
        with _changing:
            while len(_worlds) >= MOST_WORLDS:
                _worlds.popitem()
            _worlds[kind.name, key] = world
    return world


def forget_worlds() -> None:
    """Let go of the worlds of this process, which may be large."""
    with _changing:
        _worlds.clear()


class FirstWorlds:
    """The worlds of the first trial of a study while it is checked."""

    def __init__(self, kind: Kind, draw: Draw) -> None:
        self.kind, self.draw = kind, draw
        self._fingerprints = self._looked_up()

    def of(self, parts: WorldParts) -> Any:
        """The world of these sections; InputError when they do not describe one."""
        key = self._key(parts, self._fingerprints)
        return kept_world(
            self.kind,
            key,
            lambda: self.kind.build_world(parts, self.draw),
            lambda: self._key(parts, self._looked_up()) == key,
        )

    def _looked_up(self) -> Fingerprints:
        """Identities by what files hold now."""
        return Fingerprints(self.draw.folder, version=self.kind.version)

    def _key(self, parts: WorldParts, fingerprints: Fingerprints) -> str:
        return fingerprints.of_world(parts, self.draw.seed, self.draw.trial, self.kind.is_random(parts))
