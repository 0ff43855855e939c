"""How many random cases a property is tested on: a few every day, thousands in a thorough run."""

from __future__ import annotations

from hypothesis import settings

EVERYDAY = settings.get_profile("suite").max_examples


def cases(everyday: int, divided_by: int = 1) -> settings:
    """So many cases every day, and those of a thorough run: divided where rows share them or one takes long."""
    at_length = settings().max_examples
    return settings(max_examples=everyday if at_length == EVERYDAY else max(everyday, at_length // divided_by))
