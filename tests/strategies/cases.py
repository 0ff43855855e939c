"""How many random cases a property is tested on: a few every day, thousands in a thorough run."""

from __future__ import annotations

from hypothesis import settings

EVERYDAY = settings.get_profile("suite").max_examples


def cases(divided_by: int) -> settings:
    """Only this part of a thorough run's cases, where rows share them or one takes long; a few every day."""
    return settings(max_examples=max(EVERYDAY, settings().max_examples // divided_by))
