"""Randomness is passed, never global: (seed, stream names) gives a generator."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, *stream: str | int) -> np.random.Generator:
    """The generator of one named stream; other streams never shift what it draws.

    Seed 0 is a seed like any other. Names and numbers are hashed together with their kind, so that the
    stream "1" and the stream 1 differ.
    """
    name = "\x1f".join(f"{type(part).__name__}:{part}" for part in stream)
    words = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([seed, *words.tolist()]))
