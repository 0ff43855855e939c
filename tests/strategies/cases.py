"""How many cases a property is tested on: a few every day, many in a thorough run."""

from __future__ import annotations

import pytest
from hypothesis import settings

FEW, MANY = 2, 30


def cases(divided_by: int) -> settings:
    """Random cases of a property that takes long: a few, or this part of those of a thorough run, but many then."""
    most = settings().max_examples
    return settings(max_examples=max(FEW if most < MANY else MANY, most // divided_by))


def each_seed(n: int) -> pytest.MarkDecorator:
    """A test for each seed below `n`: of the first few every day, of the others in a thorough run."""
    later = pytest.mark.thorough("another seed")
    return pytest.mark.parametrize("seed", [*range(FEW), *(pytest.param(seed, marks=later) for seed in range(FEW, n))])
