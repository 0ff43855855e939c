"""What an agent sees of a run, whatever runs: entries by what they are of, and what each of them means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

EVENT, PLACE, OPTION = "event", "place", "option"


class Meaning(NamedTuple):
    """What an entry of what is seen says, of which there is one `per` event, kind of machines, place or option."""

    name: str
    per: str
    text: str


class Sight(NamedTuple):
    """The entries of what is seen: of the event, of each of these `kinds` and, by place, of each of the `options`.

    A `kind` is what machines belong to: a machine type, or a cluster.
    """

    meanings: tuple[Meaning, ...]
    kind: str
    kinds: tuple[str, ...]
    options: tuple[str, ...]

    def entries(self, n_places: int) -> Iterator[str]:
        """The name of each entry, in order."""
        yield from self._of(EVENT)
        for kind in self.kinds:
            yield from (f"{kind}: {name}" for name in self._of(self.kind))
        for place in range(n_places):
            yield from (f"place {place}: {name}" for name in self._of(PLACE))
            for option in self.options:
                yield from (f"place {place}, {option}: {name}" for name in self._of(OPTION))

    def n_entries(self, n_places: int) -> int:
        """How many entries there are."""
        return sum(1 for _ in self.entries(n_places))

    def n_choices(self, n_places: int) -> int:
        """How many choices there are, with that to close the event."""
        return n_places * len(self.options) + 1

    def choice(self, number: int) -> str:
        """What a choice other than the last one is."""
        place, option = divmod(number, len(self.options))
        return f"place {place}, {self.options[option]}"

    def _of(self, per: str) -> Iterator[str]:
        return (meaning.name for meaning in self.meanings if meaning.per == per)
