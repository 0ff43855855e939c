"""Whether something can be read or set on this machine, why not, and what would make it so."""

from __future__ import annotations

from typing import NamedTuple


class Availability(NamedTuple):
    """One probe: `found` says what it is or why it is not there, `remedy` what would change that."""

    name: str
    is_available: bool
    found: str
    remedy: str = ""
